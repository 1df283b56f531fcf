/* SPDX-License-Identifier: MIT */
/*
 * Measuring variants of one task against each other: in one process, in turns,
 * so that a disturbance of the machine meets all of them, and by medians.
 */
#ifndef REEL_BENCH_MEASURE_H
#define REEL_BENCH_MEASURE_H

#include <stddef.h>
#include <stdio.h>

struct measure_variant {
	const char *name;
	/* Does the task once for n values and returns something that depends on all of it. */
	double (*run)(size_t n);
	/* Not run above this n; 0: always run. */
	size_t largest;
};

struct measure_result {
	double median;
	double least;
	double most;
};

/* A sink for results, so that no work is optimised away. */
extern volatile double measure_sink;

double measure_seconds(void);

/*
 * Run all variants `rounds` times, taking turns, each time often enough to be
 * measurable, after one round that is not counted. results[v] is in nanoseconds
 * per value.
 */
void measure_in_turns(const struct measure_variant *variants, size_t count, size_t n,
		      unsigned rounds, struct measure_result *results);

/* One row of a table, with the ratio to results[base], and, if json is not NULL, a line of it. */
void measure_print(FILE *json, const char *name, const struct measure_variant *variants,
		   size_t count, size_t n, const struct measure_result *results, size_t base);

#endif
