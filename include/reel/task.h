/* SPDX-License-Identifier: MIT */
/*
 * Tasks. Each task records on a lane of its own, and another task reverses it.
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
 * The reverse sweep creates the tasks in the opposite order, and waits where the forward sweep
 * began to create them. If a task reads a variable, its reverse adds to the adjoint. If a task
 * writes a variable, its reverse reads the adjoint and sets it to zero. So out and inout become
 * inout, and in becomes mutexinoutset or inout. (libgomp up to version 12 runs mutexinoutset tasks
 * one after the other, in order.) Tasks that add by reel_task_add() run at the same time: in stays
 * in.
 *
 * reel_tasks_reverse() does all this with the dependences that were passed to reel_task_begin():
 * its threads run each task that is ready.
 *
 * Any thread may run a task, in both sweeps, and an untied task may move to another thread at a
 * task scheduling point. Keep the lane in a variable of the task, not of the thread. In checked
 * mode call reel_tape_hand_over() before each point where the task may move. A task may create
 * tasks, in its own lane, and regions.
 *
 * Threads. The thread that has the parent's lane calls reel_task_begin(), reel_task_wait(),
 * reel_task_wait_reverse() and reel_task_reverse(). The task calls reel_task_end().
 *
 * Memory. The lane of a task takes about 1 KiB, and a slab of the pool if the task pushes more than
 * 128 bytes. For many small tasks open the root on a pool with small first slabs.
 */
#ifndef REEL_TASK_H
#define REEL_TASK_H

#include <reel/region.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The use of the variable at an address by a task in the forward sweep. The kind decides how tasks
 * that follow each other with the same kind at an address are reversed. Tasks of different kinds
 * are reversed in the opposite order. A task that names an address twice, with different kinds, has
 * REEL_TASK_INOUT there.
 */
enum reel_dependence_kind {
	/* Reads it; the reverse adds to the adjoint. Reversed in any order, one task at a time. */
	REEL_TASK_IN,
	/* Writes or changes it. Reversed in the opposite order. */
	REEL_TASK_OUT,
	REEL_TASK_INOUT = REEL_TASK_OUT,
	/*
	 * Reads it or adds to it, and the reverse only reads the adjoint, or adds to the adjoint in
	 * a way that is safe for several threads (reel/adjoint.h). Reversed at the same time.
	 */
	REEL_TASK_IN_SHARED,
	/*
	 * Reads it; the reverse adds to the adjoint, only by reel_task_add(). Reversed at the same
	 * time.
	 */
	REEL_TASK_IN_ADD,
	/* Changes that commute (mutexinoutset). Reversed in any order, one task at a time. */
	REEL_TASK_COMMUTES
};

typedef struct reel_dependence {
	const void *address;
	enum reel_dependence_kind kind;
} reel_dependence;

/*
 * Opens the lane of a task that the program creates next, and notes the creation in `parent` (16
 * bytes). `label` is any number by which the program recognises the task. The dependences (NULL, 0:
 * none) are for reel_tasks_reverse(), and are copied.
 *
 * Never NULL. If there is no memory, the lane has the error -ENOMEM.
 */
reel_lane *reel_task_begin(reel_lane *parent, int64_t label, const reel_dependence *dependences,
			   int count);

int64_t reel_task_label(const reel_lane *task);

/*
 * Notes that the tasks of `parent` have ended. Call it after a taskwait or a taskgroup, or where
 * the end of a region waits for the tasks. If no task was begun since the last call, nothing is
 * noted; the reverse sweep calls reel_task_wait_reverse() in any case.
 */
void reel_task_wait(reel_lane *parent);

/*
 * The same place in the reverse sweep: from here on the tasks that ended there can be reversed. All
 * tasks of later waits must have ended.
 */
void reel_task_wait_reverse(reel_lane *parent);

/* The task to reverse next. Never NULL. If there is none, the parent has the error -EBADMSG. */
reel_lane *reel_task_reverse(reel_lane *parent);

/*
 * Number of tasks to reverse down to the wait before. 0 after an error, so that a loop over tasks
 * ends. 0 also before reel_task_wait_reverse(): if that call is left out, no task is reversed. The
 * end of the region, or reel_lane_close() in checked mode, reports the tasks that are left.
 */
int64_t reel_tasks_left(const reel_lane *parent);

/*
 * Ends the reverse of a task. The whole contents of its lane must have been popped. If a task that
 * was reversed has not ended at the next reel_task_wait_reverse(), or where the region ends, the
 * parent gets the error -EINVAL. The memory of the lane goes back to the pool. Unless there is a
 * hold, the lane is closed at the parent's next call.
 */
void reel_task_end(reel_lane *task);

/* ---- Additions ---------------------------------------------------------------- */

/*
 * Adds array[i] += values[i] for each i < n. The task has the dependence REEL_TASK_IN_ADD on
 * `address`. Tasks add at the same time, and the sums have the same bits as if one thread reversed
 * the tasks in the opposite order: if a task adds before its turn, the values are copied, and added
 * when the tasks that come before it at this address have ended. No thread waits.
 *
 *	double left_bar = 0, right_bar = 0;                  the reverse of a task that read
 *	... left_bar += bar, right_bar -= bar ...            x[b - 1] and x[b + 1]
 *	reel_task_add(task, &x[b - 1], &x_bar[b - 1], &left_bar, 1);
 *	reel_task_add(task, &x[b + 1], &x_bar[b + 1], &right_bar, 1);
 *
 * The caller may reuse `values` at once. Until all tasks with this dependence have ended, `array`
 * stays where it is, and nothing else uses these elements. Tasks that come later by dependences,
 * and the end of the wait, wait for that. In a reverse sweep by tasks of OpenMP, depend(in) stays
 * depend(in).
 *
 * The thread that runs the task calls it, before reel_task_end(). The task gets the error -EINVAL
 * if it has no such dependence, and -ENOMEM if there is no memory for the copy. Cost: O(dependences
 * of the task), an atomic operation and n additions; before the turn of the task also an
 * allocation.
 */
void reel_task_add(reel_lane *task, const void *address, double *array, const double *values,
		   size_t n);
void reel_task_add_float(reel_lane *task, const void *address, float *array, const float *values,
			 size_t n);

/* ---- All at once ---------------------------------------------------------------- */

/* The reverse of one task. */
typedef void reel_task_body(void *context, reel_lane *task);

/*
 * A flag of reel_tasks_reverse(): tasks that may run in any order, one at a time, run in the order
 * of one thread.
 */
#define REEL_TASKS_IN_ORDER 1u

/*
 * Calls reel_task_wait_reverse(), and reverses all tasks down to the wait before. A task is ready
 * when all later tasks that depend on it have been reversed. Outside a parallel region it starts a
 * team of `threads` threads. Inside a parallel region the threads of the team that wait at a
 * barrier or a taskwait also run the tasks. With 0 threads OpenMP chooses their number, or Reel
 * takes one thread if earlier tasks from the same call site were faster with one. Reel does not do
 * so if the root has ordered sections, in checked mode, or under an observer (reel/observe.h). If a
 * body may leave by an exception, set `threads` to 1, since the exception ends the program if there
 * are several threads.
 *
 * A body may reverse the tasks of its own task. It does so by this function, and the same threads
 * run these tasks; or by tasks of OpenMP, for which it waits by a taskwait or a taskgroup. A thread
 * that finds no ready task sleeps, and runs no task of OpenMP meanwhile. So a body must wait by
 * OpenMP only for its own tasks, and not for anything that another task does later.
 *
 * Exceptions. With one thread, outside of a parallel region, a body may leave by a C++ exception or
 * by longjmp(), also out of reel_tasks_reverse(). The tasks that have not ended are lost: the
 * parent has the error -EINVAL, and no body is called for it any more. With several threads, in a
 * parallel region, or in a body of another task an exception that leaves a body ends the program
 * with a message, as it does when it leaves an OpenMP construct; longjmp() out of a body is an
 * error that is not detected. So catch exceptions in the body. In the forward sweep a task that an
 * exception has left keeps its pushes until then, and its reverse pops them.
 *
 * With REEL_TASKS_IN_ORDER the results have the same bits for any number of threads, except for
 * elements to which tasks of REEL_TASK_IN_SHARED add: these tasks also run at the same time with
 * the flag, and the threads determine the order of their additions. So atomic additions
 * (reel/adjoint.h) round differently from run to run, and so do private copies whose lanes are the
 * numbers of threads. Without the flag the adjoints to which tasks of REEL_TASK_IN add depend on
 * the order of these additions. Tasks in order do not run at the same time. If many tasks read the
 * same variable, use REEL_TASK_IN_ADD, which has the same bits and needs no order.
 *
 * Returns 0, or the parent's error. If the parent has an error when it is called, if a region or a
 * loop between the tasks was not reversed, or if there is no memory to order the tasks, no body is
 * called. Cost: a lock for each task, so a task should take longer than some microseconds.
 */
int reel_tasks_reverse(reel_lane *parent, reel_task_body *body, void *context, int threads,
		       unsigned flags);

#ifdef __cplusplus
}
#endif

#endif
