/* SPDX-License-Identifier: MIT */
/*
 * The kernels: nine programs of the literature on automatic differentiation,
 * each with its adjoint written by hand over several shapes of the tape.
 *
 *	struct kernel_case one;
 *
 *	kernel_case_open(&one, &kernel_gravity, KERNEL_PAPER);
 *	objective = kernel_primal(&one);
 *	objective = kernel_gradient(&one, &kernel_gravity.variants[v], &tape);
 *	kernel_inputs(&one, inputs);                    the gradient is there
 *	kernel_case_close(&one);
 *
 * The variants of a kernel compute the same gradient:
 *
 *	plain      values pushed and popped one by one, the record of a tool
 *	best       the same record in the shape that suits the kernel best
 *	least      the smallest record, where that is smaller
 *	segments   the record of `best`, segment by segment on a run's tape, which
 *	           stays in the cache
 *	soa-fresh  the record of `best` as one array a field, by malloc() and
 *	           free() in each gradient
 *	soa-warm   the same arrays allocated once, staggered in the cache
 *	soa-page   the same, each at the beginning of a page
 *
 * `best` and the columns go through the same loops in the same order, so that
 * they differ by where the record lies alone; with two exceptions. In nn, lenet5
 * and massspring `best` prefetches, see prefetch_below(), and the columns, which
 * stand for compilers' output, do not. In massspring a row is one array on the
 * tape and four columns. Where loops work on tiles, rows are rounded up to whole
 * tiles on the tape and in the columns alike.
 *
 * They leave the tape as they found it. A push that is refused ends the program:
 * a benchmark without its memory has nothing to say.
 */
#ifndef REEL_BENCH_KERNELS_KERNEL_H
#define REEL_BENCH_KERNELS_KERNEL_H

#include <reel.h>

#include <stdbool.h>
#include <stddef.h>

#include "columns.h"
#include "memory.h"

/* Tiny is for tests; a large tape is several times the last-level cache. */
enum kernel_size { KERNEL_TINY, KERNEL_PAPER, KERNEL_LARGE };

/* Values that the objective is differentiated by; a gradient overwrites the adjoint. */
struct kernel_input {
	const char *name;
	double *values;
	double *adjoint;
	size_t count;
};

#define KERNEL_MAX_INPUTS 16

enum kernel_storage { ON_TAPE, IN_FRESH_COLUMNS, IN_WARM_COLUMNS, IN_PAGE_COLUMNS };

/* Where a variant leaves its records: on the tape or in the columns. */
struct records {
	reel_tape *tape;
	const struct columns *columns;
};

struct kernel_variant {
	const char *name;
	enum kernel_storage storage;
	/* The primal with its records; returns the objective. */
	double (*forward)(void *data, const struct records *records);
	/* From the adjoint 1 of the objective to the adjoints of all inputs. */
	void (*reverse)(void *data, const struct records *records);
};

struct kernel {
	const char *name;
	/* The data, allocated in `memory`, with values that are the same each time. */
	void *(*setup)(struct memory *memory, enum kernel_size size);
	/* The objective, without any record. */
	double (*primal)(void *data);
	/* Fills in the inputs and returns their number. */
	size_t (*inputs)(void *data, struct kernel_input *inputs);
	/* Fills in the bytes of each column of the record and returns their number. */
	size_t (*columns)(const void *data, size_t *bytes);
	const struct kernel_variant *variants;
	size_t variant_count;
};

extern const struct kernel *const kernels[];
extern const size_t kernel_count;

extern const struct kernel kernel_gravity, kernel_nn, kernel_logsum, kernel_matdescent,
	kernel_mttkrp, kernel_somier, kernel_lenet5, kernel_pathfinder, kernel_massspring;

/* NULL if there is none of that name. */
const struct kernel *kernel_find(const char *name);
const struct kernel_variant *kernel_find_variant(const struct kernel *kernel, const char *name);

/* One kernel at one size, with the memory that it and its warm columns keep. */
struct kernel_case {
	const struct kernel *kernel;
	void *data;
	struct memory memory;
	struct columns fresh;
	struct columns warm;
	struct columns on_pages;
};

void kernel_case_open(struct kernel_case *one, const struct kernel *kernel,
		      enum kernel_size size);
void kernel_case_close(struct kernel_case *one);

double kernel_primal(struct kernel_case *one);
size_t kernel_inputs(struct kernel_case *one, struct kernel_input *inputs);

/* The two sweeps, to be called in turn; between them the tape has its full length. */
double kernel_forward(struct kernel_case *one, const struct kernel_variant *variant,
		      reel_tape *tape);
void kernel_reverse(struct kernel_case *one, const struct kernel_variant *variant,
		    reel_tape *tape);

/* Both sweeps. Returns the objective. */
double kernel_gradient(struct kernel_case *one, const struct kernel_variant *variant,
		       reel_tape *tape);

/* The bytes of the columns that hold a record at this size. */
size_t kernel_column_bytes(struct kernel_case *one);

/* ---- For the kernels ---- */

_Noreturn void kernel_refused(const reel_tape *tape, const char *site);

/* Spans that are there, or the program ends. */
#define demand_push_span(tape, type, n)                                                            \
	((type *)kernel_demand((tape), reel_push_span((tape), type, (n)), REEL_HERE))
#define demand_pop_span(tape, type, n)                                                             \
	((const type *)kernel_demand_const((tape), reel_pop_span((tape), type, (n)), REEL_HERE))

static inline void *kernel_demand(const reel_tape *tape, void *span, const char *site)
{
	if (REEL_UNLIKELY(!span))
		kernel_refused(tape, site);
	return span;
}

static inline const void *kernel_demand_const(const reel_tape *tape, const void *span,
					      const char *site)
{
	if (REEL_UNLIKELY(!span))
		kernel_refused(tape, site);
	return span;
}

/* Into the second-level cache. */
#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch((address), 0, 2)
#else
#define PREFETCH(address) ((void)(address))
#endif

/*
 * The reverse sweep goes down the tape, but up within a row: the hardware sees a
 * stream that breaks off at each row and does not prefetch the next. Where a row
 * is one array and the tape is larger than the cache, this is worth a third of
 * the reverse sweep; elsewhere it costs. The row below has this one's size.
 */
static inline void prefetch_below(const void *row, size_t bytes)
{
	for (size_t offset = 0; offset < bytes; offset += 64)
		PREFETCH((const char *)row - bytes + offset);
}

static inline bool is_larger_than_cache(const reel_tape *tape)
{
	return reel_tape_bytes(tape) > ((uint64_t)1 << 20);
}

static inline double *column_of(const struct records *records, size_t number)
{
	return records->columns->column[number];
}

/* A row of n values in chunks, so that a span has a length that suits the cache. */
static inline size_t chunk_count(size_t n, size_t chunk)
{
	return (n + chunk - 1) / chunk;
}

static inline size_t chunk_length(size_t n, size_t chunk, size_t number)
{
	return n - number * chunk < chunk ? n - number * chunk : chunk;
}

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#endif
