/* SPDX-License-Identifier: MIT */
/*
 * The cases that reel-bench measures. A case is one task at several sizes; its variants are
 * compared with the variant number `base`. A file b-NAME.c has the cases of one subject and a
 * function that hands them to bench_run() one by one.
 */
#ifndef REEL_BENCH_BENCH_H
#define REEL_BENCH_BENCH_H

#include <reel.h>

#include <string.h>

#include "measure.h"

#define MAX_SIZES 8

/*
 * Number of values that a task of microseconds counts as. The reported nanoseconds a value are then
 * microseconds a task.
 */
#define THOUSAND 1000

/* The program's name, for messages. */
extern const char *const bench_program;

struct bench_case {
	const char *name;
	const struct measure_variant *variants;
	size_t count;
	/* Number of the variant that the others are compared with. */
	size_t base;
	/* Ascending, ends with 0; --quick leaves out sizes above quick_largest. */
	size_t sizes[MAX_SIZES];
	size_t quick_largest;
	unsigned rounds;
};

/* Measures a case and reports it, unless the command line leaves it out. */
void bench_run(const struct bench_case *one);
/* Measures it at one size and reports nothing. */
void bench_measure(const struct bench_case *one, size_t n, struct measure_result *results);

/*
 * For a case that does not use bench_run(). bench_starts() returns true if the case is to be
 * measured; with --list it prints the name of a selected case and returns false. bench_report()
 * reports one result a variant, in any unit.
 */
bool bench_starts(const struct bench_case *one);
void bench_report(const struct bench_case *one, size_t n, const char *unit,
		  const struct measure_result *results);

/* Returns true if --only selects one of the cases. Ask before anything is prepared for them. */
bool bench_wants(const struct bench_case *cases, size_t count);
bool bench_is_quick(void);
bool bench_is_listing(void);
/* The directory for the files of cases. */
const char *bench_directory(void);

/*
 * Returns memory on huge pages, all of it touched, or NULL with --list. The program ends if the
 * system has no memory.
 */
void *bench_memory(size_t bytes);
void bench_memory_free(void *memory, size_t bytes);

/* Number of values in a span of the span cases; n is rounded up to whole rows. */
#define BENCH_ROW ((size_t)512)

/* sweeps.c: pushes and pops of a tape, in the shapes that several cases measure. */
uint64_t bench_sweep_cursor(reel_tape *tape, size_t n);
void bench_push_rows(reel_tape *tape, size_t n);
uint64_t bench_pop_rows(reel_tape *tape, size_t n);

void bench_floor(void);
void bench_bulk(void);
void bench_record(void);
void bench_single(void);
void bench_sum(void);
void bench_cold(void);
void bench_open(void);
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
/* Only in reel-bench-dropin, which is linked with the drop-in's static library. */
void bench_dropin(void);

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/*
 * Returns a double between 1 and 2 that depends on i. Two integer operations that vectorise make
 * it, because a conversion from integer to double would take longer than the tape.
 */
static inline double bench_value(size_t i)
{
	uint64_t bits = ((uint64_t)0x3ff << 52) + ((uint64_t)i << 16);
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* The work of a reverse sweep on a value. It takes one cycle; a sum would wait four. */
static inline uint64_t bench_mix(uint64_t mix, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return mix ^ bits;
}

#endif
