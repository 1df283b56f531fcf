/* SPDX-License-Identifier: MIT */
/* The first gradient of a program: memory that nobody has touched yet. */
#include "config.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "common/bench.h"

#define LARGE ((size_t)100000000)
#define QUICK ((size_t)10000000)
#define HUGE_PAGE ((size_t)2 << 20)

struct fresh {
	double *values;
	char *mapping;
	size_t bytes;
};

static struct fresh array;
static reel_pool *pool;
static reel_tape tape;

static void map_array(void *context, size_t n)
{
	(void)context;
	array.bytes = n * sizeof(double) + HUGE_PAGE;
	array.mapping = mmap(NULL, array.bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (array.mapping == MAP_FAILED)
		abort();
	array.values = (double *)(void *)(array.mapping +
					  (-(uintptr_t)array.mapping & (HUGE_PAGE - 1)));
}

static void map_huge_array(void *context, size_t n)
{
	map_array(context, n);
#ifdef MADV_HUGEPAGE
	madvise(array.values, n * sizeof(double), MADV_HUGEPAGE);
#endif
}

static void unmap_array(void *context, size_t n)
{
	(void)context;
	(void)n;
	munmap(array.mapping, array.bytes);
}

static double run_array(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = 0; i < n; i++)
		array.values[i] = bench_value(i);
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, array.values[i]);
	return (double)mix;
}

/* The context is the options of the pool. */
static void open_tape(void *context, size_t n)
{
	(void)n;
	if (reel_pool_open(&pool, context) || reel_tape_open(&tape, pool, 0))
		abort();
}

static void close_tape(void *context, size_t n)
{
	(void)context;
	(void)n;
	reel_tape_close(&tape);
	reel_pool_close(pool);
}

static double run_cursor(void *context, size_t n)
{
	(void)context;
	return (double)bench_sweep_cursor(&tape, n);
}

static double run_spans(void *context, size_t n)
{
	(void)context;
	bench_push_rows(&tape, n);
	return (double)bench_pop_rows(&tape, n);
}

void bench_cold(void)
{
	static struct reel_pool_options huge = {.flags = REEL_POOL_HUGE_PAGES};
	static struct reel_pool_options small = {.flags = REEL_POOL_SMALL_PAGES};
	static const struct measure_variant variants[] = {
		{"fresh array, huge pages", run_array, map_huge_array, unmap_array, NULL},
		{"fresh array, small pages", run_array, map_array, unmap_array, NULL},
		{"reel span, fresh pool", run_spans, open_tape, close_tape, NULL},
		{"reel cursor, fresh pool", run_cursor, open_tape, close_tape, NULL},
		{"reel span, huge pages", run_spans, open_tape, close_tape, &huge},
		{"reel span, small pages", run_spans, open_tape, close_tape, &small},
	};
	static const struct bench_case one = {
		"cold/push+pop", variants, COUNT_OF(variants), 0, {QUICK, LARGE}, QUICK, 5};

	bench_run(&one);
}
