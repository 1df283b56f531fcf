/* SPDX-License-Identifier: MIT */
/* Runs the same work in several threads, which start together. */
#ifndef REEL_BENCH_TEAM_H
#define REEL_BENCH_TEAM_H

#include "place.h"

struct team_work {
	/*
	 * Each thread calls all three. `prepare` before the common start and `finish` after the
	 * thread's end are not measured; both may be NULL.
	 */
	void (*prepare)(void *context, int thread);
	void (*run)(void *context, int thread);
	void (*finish)(void *context, int thread);
	void *context;
	/*
	 * Maximum number of runs; 0: one. If other programs take the processors, a run shows no
	 * contention. So it is repeated until the threads had nearly all the processor time that
	 * they could use. The run with the most processor time counts.
	 */
	int tries;
	int processors; /* number of processors that the threads may use */
};

/*
 * Returns the seconds from the first thread's start to the last thread's end. The program ends if
 * the system cannot start `threads` threads.
 */
double team_run(const struct team_work *work, int threads, const struct places *places);

#endif
