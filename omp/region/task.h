/* SPDX-License-Identifier: MIT */
/*
 * What a lane keeps of the tasks that it made: a list in the order in which they were made, which
 * is the order of their notes. A task of the program touches only its own entry.
 */
#ifndef REEL_OMP_TASK_H
#define REEL_OMP_TASK_H

#include <reel/task.h>

#include "lane.h"

struct reel_addend;

/* Adds what a task gives to the adjoint of one address: task-add.c. */
struct reel_adder {
	const void *address;
	struct reel_task *task;
	struct reel_adder *next; /* of an earlier task, whose turn follows this one */
	_Atomic unsigned state;
	struct reel_addend *first, **end; /* addends kept until its turn comes */
};

struct reel_task {
	reel_lane *lane;
	struct reel_task *below; /* the task that was made before */
	/* The task to reverse after it. In a hold, tasks below may have been reversed already. */
	struct reel_task *next;
	int64_t label;
	int32_t born; /* number of holds in which it was made */
	/*
	 * 1 until it has been reversed, plus the number of its adders whose turn has not passed. At
	 * 0 the parent may free the task. Release in reel_task_release(), acquire in has_ended().
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
/*
 * Returns whether a task of the lane is being reversed. Called by the lane's thread, or by another
 * thread while that one sleeps.
 */
bool reel_tasks_run(const reel_lane *parent);
/* All tasks that were reversed have ended, or the lane gets an error. Not in a hold. */
void reel_tasks_check_ended(reel_lane *parent);

/* Like reel_task_reverse(), but returns the task, or NULL. */
struct reel_task *reel_task_take(reel_lane *parent);
/*
 * Returns whether the team can end no task: each lane whose task runs now is stuck, or waits for
 * other tasks of the team, and no task is ready or no thread is left to run it. Any thread may call
 * it while a lane has the team.
 */
bool reel_task_team_is_stuck(struct reel_task_team *team,
			     bool (*lane_is_stuck)(const reel_lane *lane));
/* Lowers task->left. The parent may free the task then. */
void reel_task_release(struct reel_task *task);

/* ---- task-add.c ---- */

/* Gives a new task an adder for each dependence REEL_TASK_IN_ADD. */
void reel_adders_open(struct reel_task *task);
void reel_adders_close(struct reel_task *task);
/* Puts the adders of the tasks that are left to reverse in their order. */
void reel_adders_order(reel_lane *parent);
/* Called at the end of the task: what it kept is added when its turn comes, by any thread. */
void reel_adders_end(struct reel_task *task);

#endif
