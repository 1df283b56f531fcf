/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "team.h"

#ifdef _OPENMP

#include <omp.h>

int reel_omp_threads(int threads)
{
	if (omp_in_parallel())
		return omp_get_num_threads();
	return threads ? threads : omp_get_max_threads();
}

static void call_in_tasks(int threads, reel_omp_body *body, void *argument)
{
#pragma omp taskgroup
	{
		for (int thread = 1; thread < threads; thread++) {
#pragma omp task default(none) firstprivate(body, argument)
			body(argument);
		}
		body(argument);
	}
}

void reel_omp_call(int threads, reel_omp_body *body, void *argument)
{
	if (omp_in_parallel()) {
		call_in_tasks(threads, body, argument);
		return;
	}
#pragma omp parallel num_threads(threads) default(none) shared(body, argument)
	body(argument);
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
		body(argument);
}

#endif
