/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "team.h"

#include "os/cancel.h"

/* A thread that ended here would leave the others waiting for what it had begun. */
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

/* How many calls of this thread have not returned. */
static _Thread_local int calls;

static void call(reel_omp_body *body, void *argument)
{
	calls++;
	run(body, argument);
	calls--;
}

/*
 * Where a body waits for tasks of its own, OpenMP may run a task of another call in the same
 * thread. That one would wait for others, and the body that is below it for ever.
 */
static void help(reel_omp_body *body, void *argument)
{
	if (!calls)
		call(body, argument);
}

/*
 * The caller's own call is a task, too: so a taskwait in the body waits for the body's tasks, and
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

/* As in a team whose threads become free one after the other. */
void reel_omp_call(int threads, reel_omp_body *body, void *argument)
{
	for (int thread = 0; thread < threads; thread++)
		run(body, argument);
}

#endif
