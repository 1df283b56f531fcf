/* SPDX-License-Identifier: MIT */
/*
 * Team sizes: whether all threads carry out a piece of parallel work, or one thread alone. Where
 * the work is small, or where the processors are busy with other programs, the threads lose more
 * time by waiting for each other than they gain.
 *
 * Both sizes are measured where the work is: each place of the program has costs of its own. The
 * size that took less time is used; the other one is tried again now and then, in a small share of
 * the time, so that the choice follows the work and the load of the machine.
 */
#ifndef REEL_OMP_TEAM_SIZE_H
#define REEL_OMP_TEAM_SIZE_H

#include <stdbool.h>
#include <stdint.h>

enum reel_team_size { REEL_ALL_THREADS, REEL_ONE_THREAD, REEL_TEAM_SIZES };

/* The measured costs of one place. All zero before its first piece of work. */
struct reel_team_costs {
	double ns[REEL_TEAM_SIZES], units[REEL_TEAM_SIZES]; /* recent time and work */
	enum reel_team_size better;
	int trial_left; /* number of pieces of work that belong to the present trial */
	double since;   /* time since the last trial of the other size */
	double spacing; /* the time between trials, as a multiple of the time of one */
	double turn_ns, turn_units; /* since the better size changed last */
	double lost;    /* time that the present size would have saved in the turn before */
	bool needs_all; /* the work needs all threads, so that there is nothing to choose */
};

/*
 * Returns the size for the next piece of work, of `units` units, where `threads` are all threads.
 */
enum reel_team_size reel_team_size_next(const struct reel_team_costs *costs, int threads,
					double units);

/* Adds the time that a piece of work took with that size. */
void reel_team_size_add(struct reel_team_costs *costs, enum reel_team_size size, double units,
			double ns);

/* A piece of work that is being measured, by the thread that began it. */
struct reel_team_measure {
	struct reel_team_place *place; /* NULL: not measured */
	enum reel_team_size size;
	uint64_t begin; /* by reel_clock_ns() */
};

/*
 * Begins a piece of work at an address of the program's code, and returns its number of threads:
 * `threads` or 1. NULL is no place, and gets all threads. At a place where several threads begin
 * work at a time, one of them measures. Any thread; constant time.
 */
int reel_team_size_begin(struct reel_team_measure *measure, const void *address, int threads,
			 double units);

/* From now on the place gets all threads. Called between the two others, by the same thread. */
void reel_team_size_need_all(struct reel_team_measure *measure);

/*
 * Ends the piece of work. `threads` is the number of threads that came: another number than was
 * returned is not counted. Called by the thread that began it.
 */
void reel_team_size_end(struct reel_team_measure *measure, int threads, double units);

#endif
