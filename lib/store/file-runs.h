/* SPDX-License-Identifier: MIT */
/*
 * The free units of a file: a bit for each unit, and a binary tree above the words of bits that
 * knows the longest run of free units below each of its nodes. Finding the lowest run of a
 * given length, and changing one, take a time that is logarithmic in the number of units.
 */
#ifndef REEL_LIB_FILE_RUNS_H
#define REEL_LIB_FILE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#define REEL_NO_RUN UINT64_MAX

/* Numbers of free units: at the beginning, at the end, and of the longest run. */
struct reel_file_run {
	uint32_t first, last, longest;
};

struct reel_file_runs {
	uint64_t *free;             /* a bit for each unit */
	struct reel_file_run *node; /* 1: all words; n: those of 2 n and of 2 n + 1 */
	uint64_t words;             /* a power of two, or 0 */
	uint32_t max_run;           /* longer runs count as runs of this length */
};

void reel_file_runs_open(struct reel_file_runs *runs, uint32_t max_run);
void reel_file_runs_close(struct reel_file_runs *runs);

/* Makes room for this number of units; new units are not free. Returns 0 or -ENOMEM. */
int reel_file_runs_reserve(struct reel_file_runs *runs, uint64_t units);

/*
 * Returns the first unit of the lowest run of `length` (1 to max_run) free units, or REEL_NO_RUN.
 */
uint64_t reel_file_runs_find(const struct reel_file_runs *runs, uint32_t length);

/* Returns the length of the longest run, at most max_run. */
uint32_t reel_file_runs_longest(const struct reel_file_runs *runs);

/* Whether none of these units is free. Requires room for them. */
bool reel_file_runs_are_taken(const struct reel_file_runs *runs, uint64_t unit, uint64_t length);

void reel_file_runs_set(struct reel_file_runs *runs, uint64_t unit, uint64_t length,
			bool are_free);

#endif
