/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "team.h"

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
