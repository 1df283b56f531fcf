/* SPDX-License-Identifier: MIT */
/* Mistakes of a program in a region, and lanes without memory. */
#ifndef REEL_OMP_MISTAKE_H
#define REEL_OMP_MISTAKE_H

#include "omp/lane/lane.h"

/* Mistakes of a program with workers. The texts are in mistake.c. */
enum reel_mistake_kind {
	REEL_MISTAKE_NONE,
	REEL_MISTAKE_TAKEN_TWICE, /* two threads came for one lane in one phase */
	REEL_MISTAKE_NOT_TAKEN,   /* a thread did not take lanes until none was left */
	REEL_MISTAKE_NO_PHASE,    /* a thread came for lanes after it had got the last one */
	REEL_MISTAKE_WORKERS,     /* there are more workers than threads */
	REEL_MISTAKE_CANCELLED,   /* OpenMP has cancelled the region while a thread waits in it */
	REEL_MISTAKE_ENDED,       /* a thread has ended its part before a barrier */
	REEL_MISTAKES
};

/* Notes that there is no memory for a lane, which is an error of the region; whether that is so. */
void reel_region_note_no_memory(reel_region *region);
static inline bool reel_region_lacks_lane(const reel_region *region)
{
	/* Relaxed is enough: the threads that noted it have come to a barrier, or have joined. */
	return atomic_load_explicit(&region->lacks_lane, memory_order_relaxed);
}

/*
 * Notes a mistake of the program, for the thread that ends the region to report: the parent belongs
 * to that thread. From now on no lane is given out, and no thread waits in the region. Any thread
 * of the team.
 */
void reel_region_note_mistake(reel_region *region, enum reel_mistake_kind kind, int32_t lane);

/* Makes the mistake an error of the parent. The threads have joined. */
void reel_region_report_mistake(const reel_region *region);

static inline bool reel_region_has_mistake(const reel_region *region)
{
	/* Relaxed is enough: a thread that does not see it yet goes on as before it. */
	return atomic_load_explicit(&region->mistake, memory_order_relaxed) != 0;
}

#endif
