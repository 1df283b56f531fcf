/* SPDX-License-Identifier: MIT */
/*
 * Measures variants of one task in one process, in turns, so that a disturbance of the machine
 * affects all of them. The results are medians.
 */
#ifndef REEL_BENCH_MEASURE_H
#define REEL_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#define MEASURE_MAX_ROUNDS 64

struct measure_variant {
	const char *name;
	/* Does the task once for n values. Returns a number that depends on all of them. */
	double (*run)(void *context, size_t n);
	/* Called before and after each run, not measured; may be NULL. */
	void (*before)(void *context, size_t n);
	void (*after)(void *context, size_t n);
	void *context;
};

/*
 * Times of the rounds in nanoseconds a value. The spread is between quartiles, because a single
 * disturbed round does not change a median.
 */
struct measure_result {
	double median;
	double lower; /* lower quartile */
	double upper; /* upper quartile */
	double most;
	double faults; /* page faults a run, the median of the rounds */
};

/* A sink for results, so that no work is optimised away. */
extern volatile double measure_sink;

double measure_seconds(void);

/* Returns the median, the quartiles and the maximum of `values`, which it sorts. */
struct measure_result measure_summary(double *values, size_t count);

/* Returns the result of a value that is the same in each round, such as a number of bytes. */
struct measure_result measure_once(double value);

/*
 * Runs each variant once, not measured, and then measures all of them in turns, `rounds` times.
 * A measurement repeats the task until it has 2 million values.
 */
void measure_in_turns(const struct measure_variant *variants, size_t count, size_t n,
		      unsigned rounds, struct measure_result *results);

#endif
