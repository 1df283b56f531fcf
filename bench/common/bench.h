/* SPDX-License-Identifier: MIT */
/*
 * What reel-bench measures. A case is one task at some sizes; its variants are
 * measured against the one at `base`. A file b-NAME.c has the cases of one
 * subject and a function that hands them to bench_run() one by one.
 */
#ifndef REEL_BENCH_BENCH_H
#define REEL_BENCH_BENCH_H

#include <reel.h>

#include <string.h>

#include "measure.h"

#define MAX_SIZES 8

/*
 * A case whose task takes microseconds counts each task as so many values, so that the nanoseconds
 * a value that are reported are microseconds a task.
 */
#define THOUSAND 1000

/* The program's name, for messages. */
extern const char *const bench_program;

struct bench_case {
	const char *name;
	const struct measure_variant *variants;
	size_t count;
	/* The variant that the others are compared with. */
	size_t base;
	/* Ascending, ends with 0; --quick leaves out those above quick_largest. */
	size_t sizes[MAX_SIZES];
	size_t quick_largest;
	unsigned rounds;
};

/* Measure a case and report it, unless the command line leaves it out. */
void bench_run(const struct bench_case *one);
/* Measure it at one size and report nothing. */
void bench_measure(const struct bench_case *one, size_t n, struct measure_result *results);

/*
 * For a case whose results do not come from bench_run(): whether it is to be
 * measured; where cases are listed it is listed instead. Then its results, one a
 * variant, in a unit of their own.
 */
bool bench_starts(const struct bench_case *one);
void bench_report(const struct bench_case *one, size_t n, const char *unit,
		  const struct measure_result *results);

/* Whether one of the cases is wanted, before anything is prepared for them. */
bool bench_wants(const struct bench_case *cases, size_t count);
bool bench_is_quick(void);
bool bench_is_listing(void);
/* Where cases keep files. */
const char *bench_directory(void);

/* Memory on huge pages, all of it touched; the program ends if there is none. */
void *bench_memory(size_t bytes);
void bench_memory_free(void *memory, size_t bytes);

/* Rows of the span cases; n is rounded up to whole rows. */
#define BENCH_ROW ((size_t)512)

/* sweeps.c: up and down again on a tape, in the shapes that several cases measure. */
uint64_t bench_sweep_cursor(reel_tape *tape, size_t n);
void bench_push_rows(reel_tape *tape, size_t n);
uint64_t bench_pop_rows(reel_tape *tape, size_t n);

void bench_floor(void);
void bench_bulk(void);
void bench_record(void);
void bench_single(void);
void bench_sum(void);
void bench_cold(void);
void bench_threads(void);
void bench_recording(void);
void bench_kernels(void);
void bench_peer(void);
void bench_memory_held(void);
void bench_clad(void);
void bench_cplusplus(void);
void bench_spill(void);
void bench_gpu(void);
void bench_plan(void);
void bench_checkpoint(void);
void bench_lookahead(void);
void bench_adjoint(void);
void bench_omp(void);
void bench_sedov(void);
void bench_instructions(void);
/* Of reel-bench-dropin, which is linked with the drop-in's static library. */
void bench_dropin(void);

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/*
 * A double between 1 and 2 that depends on its place, by two integer operations
 * that vectorise: what is measured is the tape, not a conversion.
 */
static inline double bench_value(size_t i)
{
	uint64_t bits = ((uint64_t)0x3ff << 52) + ((uint64_t)i << 16);
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* What a reverse sweep does with a value: one cycle, where a sum would wait for four. */
static inline uint64_t bench_mix(uint64_t mix, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return mix ^ bits;
}

#endif
