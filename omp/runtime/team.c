/* SPDX-License-Identifier: MIT */
/*
 * Calls a function in several threads of OpenMP. This is the only file that calls the runtime. Any
 * thread calls these functions; ThreadSanitizer does not see into them, so the file is compiled
 * without it.
 */
#include "config.h"

#include "team.h"

#include "os/cancel.h"

/* Without cancellation, since other threads may wait for what a cancelled thread has begun. */
static void run(reel_omp_body *body, void *argument)
{
	REEL_UNCANCELLED;

	body(argument);
}

#ifdef _OPENMP

#include <omp.h>

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
	run(body, argument);
	calls--;
}

/*
 * If a body waits for tasks of its own, OpenMP may run the task of another call in the same thread.
 * That call would wait for others, and keep the body below it from going on. So it does nothing.
 */
static void help(reel_omp_body *body, void *argument)
{
	if (!calls)
		call(body, argument);
}

/*
 * The caller's own call is a task, too. So a taskwait in the body waits for the body's tasks and
 * not for those that are made here, which end after the body.
 */
static void call_in_tasks(int threads, reel_omp_body *body, void *argument)
{
#pragma omp taskgroup
	{
		for (int thread = 1; thread < threads; thread++) {
#pragma omp task default(none) firstprivate(body, argument)
			help(body, argument);
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
#pragma omp parallel num_threads(threads) default(none) shared(body, argument)
	call(body, argument);
}

#else

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
