/* SPDX-License-Identifier: MIT */
/* The same work by a number of threads, from a common start. */
#ifndef REEL_BENCH_TEAM_H
#define REEL_BENCH_TEAM_H

#include "place.h"

struct team_work {
	/* By each thread, before the start and after the end; not measured. NULL: nothing. */
	void (*prepare)(void *context, int thread);
	void (*run)(void *context, int thread);
	void (*finish)(void *context, int thread);
	void *context;
	/*
	 * Where other programs take the processors, contention is not seen: run it again, up
	 * to so often in all, until the threads had what they could use of them, and tell of
	 * the run that had most. 0: once.
	 */
	int tries;
	int processors;
};

/*
 * Seconds from the first thread's start to the last one's end. The program ends if the system
 * has not so many threads.
 */
double team_run(const struct team_work *work, int threads, const struct places *places);

#endif
