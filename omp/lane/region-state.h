/* SPDX-License-Identifier: MIT */
/* The structure of a region, which the threads of its team share. */
#ifndef REEL_OMP_REGION_STATE_H
#define REEL_OMP_REGION_STATE_H

#include <stdalign.h>
#include <stdatomic.h>

#include <reel/region.h>

#include "omp/runtime/team-size.h"

/* Two cache lines: the second is fetched with the first. */
#define REEL_CACHE_SPACING 128

/*
 * move_to() in region.c changes the state. Any other change follows an error, which the parent has:
 *
 *	from      to         by
 *	ENDED     FORWARD    reel_region_begin
 *	ENDED     REVERSE    reel_region_reverse
 *	REVERSE   DEAD       reel_region_reverse, if no region was recorded here
 *	FORWARD   ENDED      reel_region_end
 *	REVERSE   ENDED      reel_region_end
 *	DEAD      ENDED      reel_region_end
 */
enum reel_region_state {
	REEL_REGION_ENDED,   /* not begun, or ended */
	REEL_REGION_FORWARD, /* lanes record */
	REEL_REGION_REVERSE, /* lanes reverse their records */
	REEL_REGION_DEAD,    /* gives out no lane, since its parent has an error */
	REEL_REGION_STATES
};

/* The groups of three levels: 16, 4 and 1. */
#define REEL_BARRIER_GROUPS 21

/* Members of a group wait for `passed`, until the group may go on. */
struct reel_barrier_gate {
	/* The last barrier that the gate has let all of the group pass. */
	_Atomic uint64_t passed;
	const void *span; /* the collective span of that barrier; written before `passed` */
};

/*
 * Threads that are neighbours, for barriers: barrier.c. Numbers are those since the region began.
 */
struct reel_barrier_group {
	/*
	 * Arrivals of its members at all barriers. If the last group has two members, they wait for
	 * this number, and for the gate only where thread 0 acts after it.
	 */
	alignas(REEL_CACHE_SPACING) _Atomic uint64_t arrived;
	/*
	 * In the first group: results of the first calls of actions, at barriers with even numbers
	 * and with odd ones. Thread 0 writes one before it counts its arrival, while others may
	 * still read the other. Relaxed is enough: `arrived` orders them, except after a mistake.
	 */
	_Atomic(const void *) first_span[2];
	/*
	 * Some members come while others wait for `passed`, and would take its line from the others
	 * if `arrived` were in it.
	 */
	alignas(REEL_CACHE_SPACING) struct reel_barrier_gate gate;
};

/* In a trace: the lane that a thread runs, and when the thread took it. */
struct reel_lane_stay {
	bool has_lane;
	int32_t lane;
	uint64_t since;
};

struct reel_region {
	/* A thread that comes for a lane reads these 64 bytes, which each region changes. */
	reel_lane *parent;
	uint64_t visit; /* number of regions of the parent begun so far, in either sweep */
	uint64_t first_phase, phases;
	uint64_t first_loop, loops;
	enum reel_region_state state;
	/* 0: no team has come yet. Relaxed is enough: all threads set it to the same number. */
	_Atomic int32_t lanes;
	bool has_ordered;
	bool refused;            /* too few threads came, so the lanes are as they were */
	_Atomic bool lacks_lane; /* there was no memory for a lane, at least in one phase */
	/*
	 * The first mistake of the program with workers, as in mistake.c, or 0. Sequentially
	 * consistent: reel_region_note_mistake() sets it, is_over() (wait.c) reads it.
	 */
	_Atomic int32_t mistake;

	int64_t rounds; /* above the numbers of all rounds of the regions before */
	/* Relaxed is enough for these four: numbers that guard no memory. */
	_Atomic int32_t threads; /* of the team; 0: no team has come yet */
	_Atomic uint64_t max_threads; /* of the largest team that has come to the region */
	_Atomic int32_t
		workers;      /* begun, if there are fewer threads than lanes or in checked mode */
	_Atomic int64_t left; /* last round in which a thread called reel_worker_leave(), plus 1 */
	/*
	 * For threads that end their part of the region: barrier.c. A thread that has done so: the
	 * number of barriers that it has passed, above 32 bits of its own number plus 1; 0: none
	 * has. And the last barrier at which a thread sleeps.
	 */
	_Atomic uint64_t ended, sleeps_at;

	/*
	 * The number of the shared loop that was begun last, and how many of its chunks are taken
	 * (take_chunks() in loop.c). Relaxed is enough: it orders no iterations of different lanes.
	 */
	alignas(REEL_CACHE_SPACING) _Atomic uint64_t dispatch;
	/*
	 * The number of the newest shared loop of which a chunk was taken. It never falls.
	 * `dispatch` has 24 bits of a loop's number, so a lane that is 2^23 loops behind needs this
	 * number to see that its loop is over. Relaxed is enough, as above.
	 */
	_Atomic uint64_t newest;

	/*
	 * Line of the program that pushed or popped the last collective span. Only thread 0 writes
	 * it, and the thread that ends the region reads it.
	 */
	alignas(REEL_CACHE_SPACING) const char *span_call_site;
	/* Height of the parent's tape where the recording began, and where the reversal ends. */
	uint64_t height;
	/*
	 * Measures the present region, if Reel has chosen its threads. Only the thread that owns
	 * the parent uses it.
	 */
	struct reel_team_measure measure;
	/* In a trace: when the region began, and which lane its thread had then. */
	uint64_t began;
	struct reel_lane_stay outer;

	struct reel_barrier_group group[REEL_BARRIER_GROUPS];
};

#endif
