/* SPDX-License-Identifier: MIT */
/*
 * What a lane keeps of the tasks that it made: a list, in the order in which they were made,
 * which is that of their notes. The program's tasks touch only their own, and `ended`.
 */
#ifndef REEL_OMP_TASK_H
#define REEL_OMP_TASK_H

#include <reel/task.h>

#include "lane.h"

struct reel_addend;

/* What a task adds to the adjoint of one address: task-add.c. */
struct reel_adder {
	const void *address;
	struct reel_task *task;
	struct reel_adder *next; /* of a task that was made before, whose turn comes after this one */
	_Atomic unsigned state;
	struct reel_addend *first, **end; /* kept until its turn comes */
};

struct reel_task {
	reel_lane *lane;
	struct reel_task *below; /* made before it */
	/* To be reversed after it: in a hold, those below may have been reversed already. */
	struct reel_task *next;
	int64_t label;
	int32_t born; /* in a hold of this depth; 0: in none */
	/*
	 * Until it has been reversed: 1, and 1 for each adder whose turn has not passed. The
	 * parent may free the task when it is 0. Release in reel_task_let_go(), acquire by the
	 * parent.
	 */
	_Atomic int32_t left;
	int32_t adders;
	struct reel_adder *adder; /* behind the dependences */
	int32_t dependences;
	reel_dependence dependence[];
};

int reel_tasks_error(const reel_lane *parent);
uint64_t reel_tasks_bytes(const reel_lane *parent, uint64_t (*bytes_of)(const reel_lane *lane));
int reel_tasks_hold(reel_lane *parent);
int reel_tasks_replay(reel_lane *parent);
int reel_tasks_release(reel_lane *parent);
void reel_tasks_close(reel_lane *parent);

/* The same as reel_task_reverse(), or NULL. */
struct reel_task *reel_task_take(reel_lane *parent);
/* Lower task->left. The task may be gone afterwards. */
void reel_task_let_go(struct reel_task *task);

/* ---- task-add.c ---- */

/* Give a new task an adder for each dependence REEL_TASK_IN_ADD. */
void reel_adders_open(struct reel_task *task);
void reel_adders_close(struct reel_task *task);
/* The order of the adders of the tasks that are left to reverse. */
void reel_adders_order(reel_lane *parent);
/* The task has ended: what it has kept is added when its turn comes, by any thread. */
void reel_adders_end(struct reel_task *task);

#endif
