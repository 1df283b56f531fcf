/* SPDX-License-Identifier: MIT */
/*
 * The tasks that a lane made: a list in the order in which they were made, which is the order of
 * their notes. A task of the program touches only its own entry.
 */
#ifndef REEL_OMP_LANE_TASK_H
#define REEL_OMP_LANE_TASK_H

#include <reel/task.h>
#include <stdlib.h>

#include "lane.h"

/* Numbers that a task adds to an array; they are kept here until its turn comes. */
struct reel_addend {
	struct reel_addend *next;
	void *array;
	size_t n, size; /* elements, and bytes of one */
	double values[];
};

/* Adds a task's contributions to the adjoint of one address: task-add.c. */
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

/* Drops the additions that the adder has kept. */
static inline void reel_adder_clear(struct reel_adder *adder)
{
	for (struct reel_addend *addend = adder->first, *next; addend; addend = next) {
		next = addend->next;
		free(addend);
	}
	adder->first = NULL;
	adder->end = &adder->first;
}

/* Relaxed is enough: no task runs. */
static inline void reel_task_set_left(struct reel_task *task)
{
	REEL_ASSERT(task->adders >= 0 && task->adders <= task->dependences);
	atomic_store_explicit(&task->left, 1 + task->adders, memory_order_relaxed);
}

/* Lowers task->left. The parent may free the task then. */
void reel_task_release(struct reel_task *task);
/* Drops the tasks on top of the list that have been reversed. */
void reel_tasks_drop_ended(reel_lane *parent);
/*
 * Returns whether a task of the lane is being reversed. Called by the lane's thread, or by another
 * thread while that one sleeps.
 */
bool reel_tasks_run(const reel_lane *parent);
/* All tasks that were reversed have ended, or the lane gets an error. Not in a hold. */
void reel_tasks_check_ended(reel_lane *parent);

#endif
