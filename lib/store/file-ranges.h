/* SPDX-License-Identifier: MIT */
/*
 * The free units of a file: a bit for each unit, and a binary tree above the words of bits that
 * knows the longest range of free units below each of its nodes. Finding the lowest range of a
 * given length, and changing one, take a time that is logarithmic in the number of units.
 */
#ifndef REEL_LIB_FILE_RANGES_H
#define REEL_LIB_FILE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define REEL_NO_RANGE UINT64_MAX

/*
 * Numbers of free units, at most UINT32_MAX: at the beginning, at the end, and of the longest
 * range.
 */
struct reel_file_range {
	uint32_t first, last, longest;
};

struct reel_file_ranges {
	uint64_t *free;             /* a bit for each unit */
	struct reel_file_range *node; /* 1: all words; n: the words of nodes 2 n and 2 n + 1 */
	uint64_t words;             /* a power of two, or 0 */
};

void reel_file_ranges_open(struct reel_file_ranges *ranges);
void reel_file_ranges_close(struct reel_file_ranges *ranges);

/* Makes room for this number of units; new units are not free. Returns 0 or -ENOMEM. */
int reel_file_ranges_reserve(struct reel_file_ranges *ranges, uint64_t units);

/*
 * Returns the first unit of the lowest range of `length` free units, at least 1, or REEL_NO_RANGE.
 */
uint64_t reel_file_ranges_find(const struct reel_file_ranges *ranges, uint32_t length);

/* Returns the length of the longest range, at most UINT32_MAX. */
uint32_t reel_file_ranges_longest(const struct reel_file_ranges *ranges);

/* Returns true if none of these units is free. Requires room for them. */
bool reel_file_ranges_are_taken(const struct reel_file_ranges *ranges, uint64_t unit,
				uint64_t length);

void reel_file_ranges_set(struct reel_file_ranges *ranges, uint64_t unit, uint64_t length,
			  bool are_free);

#endif
