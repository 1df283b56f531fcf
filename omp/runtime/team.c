/* SPDX-License-Identifier: MIT */
/*
 * Calls a function in several threads of OpenMP. This is the only file that calls the runtime. Any
 * thread calls these functions; ThreadSanitizer does not see into them, so the file is compiled
 * without it.
 */
#include "config.h"

#include "team.h"

#include <errno.h>
#include <stdlib.h>

#include "os/cancel.h"
#include "os/error.h"

/*
 * An exception that leaves a construct of OpenMP leaves its team behind, and the other threads work
 * on memory of functions that have ended. In a thread that OpenMP made the exception finds no
 * handler and ends the program; in this thread it would find one. libreel-omp is compiled with
 * -fexceptions, so that this is called on the way.
 */
void reel_omp_end_program(const bool *returned)
{
	if (*returned)
		return;
	reel_report(NULL, -EINVAL,
		    "an exception leaves the body of a task, or a callback, while other threads or "
		    "bodies are at work; the program ends: catch the exception in the body");
	abort();
}

/* Without cancellation, since other threads may wait for work that a cancelled thread has begun. */
static void run(reel_omp_body *body, void *argument)
{
	REEL_UNCANCELLED;

	body(argument);
}

#ifdef _OPENMP

#include <omp.h>

static void run_in_construct(reel_omp_body *body, void *argument)
{
	__attribute__((cleanup(reel_omp_end_program), unused)) bool returned = false;

	run(body, argument);
	returned = true;
}

int reel_omp_threads(int threads)
{
	if (omp_in_parallel())
		return omp_get_num_threads();
	return threads ? threads : omp_get_max_threads();
}

/* Number of calls of this thread that have not returned. */
static _Thread_local int calls;

static void call(reel_omp_body *body, void *argument)
{
	calls++;
	run_in_construct(body, argument);
	calls--;
}

/*
 * The caller's own call is also a task. So a taskwait in the body waits for the body's tasks and
 * not for those that are made here, which end after the body.
 *
 * If a body waits for tasks of its own, OpenMP may run the task of another call in the same thread.
 * That call would wait for others, and keep the body below it from going on. So it does nothing.
 */
static void call_in_tasks(int threads, reel_omp_body *body, void *argument)
{
#pragma omp taskgroup
	{
		for (int thread = 1; thread < threads; thread++) {
#pragma omp task default(none) firstprivate(body, argument)
			if (!calls)
				call(body, argument);
		}
#pragma omp task if (0) default(none) firstprivate(body, argument)
		call(body, argument);
	}
}

void reel_omp_call(int threads, reel_omp_body *body, void *argument)
{
	REEL_UNCANCELLED;

	if (omp_in_parallel()) {
		call_in_tasks(threads, body, argument);
		return;
	}
	if (threads == 1) {
		run(body, argument);
		return;
	}
#pragma omp parallel num_threads(threads) default(none) shared(body, argument)
	call(body, argument);
}

/*
 * The entry point of `cancellation point parallel`, in GCC's runtime and in LLVM's. The directive
 * itself may stand in the construct only. Weak: a runtime may lack it.
 */
__attribute__((weak)) extern bool GOMP_cancellation_point(int construct);
#define PARALLEL 1

bool reel_omp_is_cancellable(void)
{
	return omp_get_cancellation() && omp_in_parallel() && GOMP_cancellation_point;
}

bool reel_omp_is_cancelled(void)
{
	return GOMP_cancellation_point(PARALLEL);
}

#else

bool reel_omp_is_cancellable(void)
{
	return false;
}

bool reel_omp_is_cancelled(void)
{
	return false;
}

int reel_omp_threads(int threads)
{
	(void)threads;
	return 1;
}

/* Without OpenMP: like a team whose threads become free one after the other. */
void reel_omp_call(int threads, reel_omp_body *body, void *argument)
{
	for (int thread = 0; thread < threads; thread++)
		run(body, argument);
}

#endif
