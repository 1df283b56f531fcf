/* SPDX-License-Identifier: MIT */
/*
 * Measuring variants of one task against each other: in one process, in turns,
 * so that a disturbance of the machine meets all of them, and by medians.
 */
#ifndef REEL_BENCH_MEASURE_H
#define REEL_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#define MEASURE_MAX_ROUNDS 64

struct measure_variant {
	const char *name;
	/* Does the task once for n values and returns something that depends on all of it. */
	double (*run)(void *context, size_t n);
	/* Around each run and not measured; NULL: nothing to do. */
	void (*before)(void *context, size_t n);
	void (*after)(void *context, size_t n);
	void *context;
};

/* In nanoseconds per value; faults are pages per run, the median of the rounds. */
struct measure_result {
	double median;
	double lower; /* quartiles: one disturbed round says nothing of a median */
	double upper;
	double most;
	double faults;
};

/* A sink for results, so that no work is optimised away. */
extern volatile double measure_sink;

double measure_seconds(void);

/* The median, the quartiles and the most of `values`, which it sorts. */
struct measure_result measure_summary(double *values, size_t count);

/* The result of a value that is the same in each round, such as a number of bytes. */
struct measure_result measure_once(double value);

/*
 * Run all variants `rounds` times, taking turns, each time often enough to be
 * measurable, after one round that is not counted.
 */
void measure_in_turns(const struct measure_variant *variants, size_t count, size_t n,
		      unsigned rounds, struct measure_result *results);

#endif
