/* SPDX-License-Identifier: MIT */
/*
 * Tasks: each one records in a lane of its own, and is reversed by a task.
 *
 *	for (b = 0; b < blocks; b++) {                       forward sweep
 *		reel_lane *task = reel_task_begin(lane, b, NULL, 0);
 *
 *		#pragma omp task depend(inout: x[b]) firstprivate(task, b)
 *		step(reel_lane_tape(task), x, b);
 *	}
 *	#pragma omp taskwait
 *	reel_task_wait(lane);
 *
 *	reel_task_wait_reverse(lane);                        reverse sweep
 *	for (b = blocks; b-- > 0;) {
 *		reel_lane *task = reel_task_reverse(lane);
 *
 *		#pragma omp task depend(inout: x_bar[b]) firstprivate(task, b)
 *		{
 *			step_reverse(reel_lane_tape(task), x, x_bar, b);
 *			reel_task_end(task);
 *		}
 *	}
 *	#pragma omp taskwait
 *
 * The reverse sweep makes the tasks in the opposite order, and waits where the forward sweep
 * began to make them. Where a task read something, its reverse adds to its adjoint; where one
 * wrote, its reverse reads the adjoint and sets it to zero. So out and inout become inout, and
 * in becomes mutexinoutset, or inout. (libgomp up to 12 runs mutexinoutset tasks one after the
 * other, in order.) Tasks that add by reel_task_add() run at the same time: in stays in.
 *
 * reel_tasks_reverse() does the same by itself, from dependences that were given to
 * reel_task_begin(): it runs whatever may run, with as many threads as there are.
 *
 * Who runs a task is of no matter, in either sweep: it may move to another thread at a task
 * scheduling point (untied). Take the lane from a variable of the task, never from one of the
 * thread; in checked mode, call reel_tape_hand_over() before a point where it may move. A task
 * may make tasks, in its own lane, and regions.
 *
 * Threads. reel_task_begin(), _wait() and _reverse() are called by the thread that has the
 * parent's lane, reel_task_end() by the task.
 *
 * Memory. A task's lane takes about 1 KiB, and a slab of the pool if it pushes more than 128
 * bytes: for many small tasks open the root on a pool with small first slabs.
 */
#ifndef REEL_TASK_H
#define REEL_TASK_H

#include <reel/region.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a task did in the forward sweep with what is at an address. Tasks of one kind that follow
 * each other at an address are reversed as the kind says; tasks of different kinds, in the opposite
 * order. A task that gives an address twice, by different kinds, has REEL_TASK_INOUT there.
 */
enum reel_dependence_kind {
	/* Read it: its reverse adds to the adjoint. In any order, one at a time. */
	REEL_TASK_IN,
	/* Wrote, or changed it. In the opposite order. */
	REEL_TASK_OUT,
	REEL_TASK_INOUT = REEL_TASK_OUT,
	/*
	 * Read it, or added to it, and its reverse only reads the adjoint; or adds to that in a way
	 * that is safe for many at a time: reel/adjoint.h. At the same time.
	 */
	REEL_TASK_IN_SHARED,
	/* Read it: its reverse adds to the adjoint, by reel_task_add() alone. At the same time. */
	REEL_TASK_IN_ADD,
	/* Changed it in a way that commutes (mutexinoutset). In any order, one at a time. */
	REEL_TASK_COMMUTES
};

typedef struct reel_dependence {
	const void *address;
	enum reel_dependence_kind kind;
} reel_dependence;

/*
 * The lane of a task that is about to be made, whose creation is noted in `parent`: 16 bytes.
 * `label` is any number that tells the program which task it is. The dependences (NULL, 0:
 * none) are for reel_tasks_reverse(); they are copied.
 *
 * Never NULL; without memory it is a lane that has the error -ENOMEM.
 */
reel_lane *reel_task_begin(reel_lane *parent, int64_t label, const reel_dependence *dependences,
			   int count);

int64_t reel_task_label(const reel_lane *task);

/*
 * Note that the tasks that were begun have ended: after a taskwait, or a taskgroup, or where
 * the end of a region is what waits for them. Where none was begun since the last one, nothing
 * is noted; the reverse sweep has reel_task_wait_reverse() there all the same.
 */
void reel_task_wait(reel_lane *parent);

/*
 * The same place in the reverse sweep: the parent's tasks can be reversed from here on. Needs
 * all tasks of later waits to have ended.
 */
void reel_task_wait_reverse(reel_lane *parent);

/* The task to be reversed next. Never NULL; if there is none, the parent has -EBADMSG. */
reel_lane *reel_task_reverse(reel_lane *parent);

/* How many are left to the wait before. None after an error, so a loop over them ends. */
int64_t reel_tasks_left(const reel_lane *parent);

/*
 * The reverse of a task has ended: all that was on its lane has been popped. Its memory goes
 * back to the pool, and its lane ends with the parent's next call, unless there is a hold.
 */
void reel_task_end(reel_lane *task);

/* ---- Additions ---------------------------------------------------------------- */

/*
 * Add: array[i] += values[i] for each i < n, where `address` is a dependence REEL_TASK_IN_ADD of
 * the task. Tasks add at the same time, and the sums are, bit for bit, those of one thread that
 * reverses the tasks in the opposite order: what a task adds before its turn is copied, and
 * added when the tasks that come before it at this address have ended. No thread waits for that.
 *
 *	double left_bar = 0, right_bar = 0;                  the reverse of a task that read
 *	... left_bar += bar, right_bar -= bar ...            x[b - 1] and x[b + 1]
 *	reel_task_add(task, &x[b - 1], &x_bar[b - 1], &left_bar, 1);
 *	reel_task_add(task, &x[b + 1], &x_bar[b + 1], &right_bar, 1);
 *
 * `values` is the caller's again at once. `array` has to stay where it is, and nobody else uses
 * these elements, until all tasks that have this dependence have ended; which tasks that come
 * after them by dependences, and the end of the wait, do wait for. In a reverse sweep by tasks of
 * OpenMP, depend(in) is right where the forward sweep has it.
 *
 * By the thread that runs the task, before reel_task_end(). An error is the task's: -EINVAL, the
 * task has no such dependence; -ENOMEM, no memory for the copy. Costs a look at each of
 * the task's dependences, an atomic operation and n additions; out of turn, an allocation, too.
 */
void reel_task_add(reel_lane *task, const void *address, double *array, const double *values,
		   size_t n);
void reel_task_add_float(reel_lane *task, const void *address, float *array, const float *values,
			 size_t n);

/* ---- All at once ---------------------------------------------------------------- */

/* The reverse of one task. */
typedef void reel_task_body(void *context, reel_lane *task);

/* Of reel_tasks_reverse(): what comes in any order, one at a time, comes in that of one thread. */
#define REEL_TASKS_IN_ORDER 1u

/*
 * reel_task_wait_reverse(), and reverse all tasks down to the wait before: each one when those
 * after it that it had dependences with have been reversed. Outside of a parallel region with a
 * team of its own (`threads`; 0: as OpenMP chooses), inside with the threads of the team that wait
 * at a barrier or a taskwait.
 *
 * A body may reverse its task's own tasks: by this function, and the same threads take those as
 * well; or by tasks of OpenMP, which it waits for by a taskwait or a taskgroup. A thread that finds
 * nothing to do sleeps, and runs no task of OpenMP meanwhile: so a body waits by OpenMP for its own
 * tasks only, and for nothing that another task does later.
 *
 * With REEL_TASKS_IN_ORDER results are, bit for bit, the same for any number of threads; else
 * adjoints that tasks REEL_TASK_IN add to are rounded in the order in which they came. Tasks that
 * are kept in order do not run at the same time: where many read the same, REEL_TASK_IN_ADD has the
 * same bits and needs no order among tasks.
 *
 * Returns 0, or the parent's error.
 *
 * Costs a lock for each task: they should be longer than some microseconds.
 */
int reel_tasks_reverse(reel_lane *parent, reel_task_body *body, void *context, int threads,
		       unsigned flags);

#ifdef __cplusplus
}
#endif

#endif
