/* SPDX-License-Identifier: MIT */
/*
 * A histogram of times: exact below 64 ns, then in 32 steps for each power of two, so the error of
 * a quantile is at most 3 %. Only one thread writes to a histogram; histogram_merge() adds up the
 * histograms of several threads.
 */
#ifndef REEL_BENCH_HISTOGRAM_H
#define REEL_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 32
#define HISTOGRAM_PLACES (HISTOGRAM_STEPS * 40)

struct histogram {
	uint64_t count;
	uint64_t most; /* the longest time, exact, ns */
	uint64_t at[HISTOGRAM_PLACES];
};

void histogram_add(struct histogram *histogram, uint64_t nanoseconds);
void histogram_merge(struct histogram *into, const struct histogram *from);

/*
 * Returns the least time, rounded up to a step, that the part `part` (0 to 1) of all times does not
 * exceed, or 0 if there are no times.
 */
double histogram_quantile(const struct histogram *histogram, double part);

#endif
