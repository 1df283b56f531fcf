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
	 * Maximum number of runs; 0: one. If other programs take the processors, a run shows no
	 * contention: it is repeated until the threads had all the processor time that they
	 * could use. The run that had most counts.
	 */
	int tries;
	int processors;
};

/*
 * Seconds from the first thread's start to the last one's end. The program ends if the system
 * cannot start `threads` threads.
 */
double team_run(const struct team_work *work, int threads, const struct places *places);

#endif
