/* SPDX-License-Identifier: MIT */
/*
 * Times, counted by their size: exact up to 64 ns, then in 32 steps for each power of two,
 * so a quantile is right within 3 %. One thread writes; merge to read several.
 */
#ifndef REEL_BENCH_HISTOGRAM_H
#define REEL_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 32
#define HISTOGRAM_PLACES (HISTOGRAM_STEPS * 40)

struct histogram {
	uint64_t count;
	uint64_t most;
	uint64_t at[HISTOGRAM_PLACES];
};

void histogram_add(struct histogram *histogram, uint64_t nanoseconds);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The least time, rounded up to a step, that so large a part of all do not exceed; 0 of none. */
double histogram_quantile(const struct histogram *histogram, double part);

#endif
