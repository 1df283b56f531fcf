/* SPDX-License-Identifier: MIT */
/* Where a range of segments is split, and when its lower half is begun. */
#ifndef REEL_OMP_HALVING_RULE_H
#define REEL_OMP_HALVING_RULE_H

#include <math.h>
#include <stdint.h>

/* The upper half of segments first to last - 1 begins here. */
static inline int64_t reel_halving_split(int64_t first, int64_t last)
{
	return first + (last - first) / 2;
}

/*
 * The sweep over segments first to last - 1 is begun when the reverse chain has come down
 * to this one: it then has left to do, above `last`, what the sweep takes to record its
 * last segment. Costs are in the time of a segment's advance.
 */
static inline int64_t reel_halving_start(int64_t first, int64_t last, double record_cost,
					 double reverse_cost)
{
	double sweep = (double)(last - 1 - first) + record_cost;
	double segments = ceil(sweep / reverse_cost);

	return segments < (double)(INT64_MAX / 2) ? last + (int64_t)segments : INT64_MAX;
}

#endif
