/* SPDX-License-Identifier: MIT */
/* Spans of 512 doubles against one array, in the second-level cache and far above the last. */
#include "config.h"

#include "common/bench.h"

#define IN_CACHE ((size_t)32 << 10)
#define LARGE ((size_t)64 << 20)

static double *array;
static reel_tape tape;

static double write_array(void *context, size_t n)
{
	(void)context;
	for (size_t start = 0; start < n; start += BENCH_ROW)
		for (size_t i = 0; i < BENCH_ROW; i++)
			array[start + i] = bench_value(i);
	return array[n / 2];
}

static double read_array(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t start = n; start > 0; start -= BENCH_ROW)
		for (size_t i = BENCH_ROW; i-- > 0;)
			mix = bench_mix(mix, array[start - BENCH_ROW + i]);
	return (double)mix;
}

static double write_spans(void *context, size_t n)
{
	(void)context;
	bench_push_rows(&tape, n);
	return (double)reel_tape_bytes(&tape);
}

static double read_spans(void *context, size_t n)
{
	(void)context;
	return (double)bench_pop_rows(&tape, n);
}

static double whole_array(void *context, size_t n)
{
	return write_array(context, n) + read_array(context, n);
}

static double whole_spans(void *context, size_t n)
{
	return write_spans(context, n) + read_spans(context, n);
}

static void fill(void *context, size_t n)
{
	write_spans(context, n);
}

static void drain(void *context, size_t n)
{
	read_spans(context, n);
}

void bench_bulk(void)
{
	static const struct measure_variant write[] = {
		{.name = "array, there already", .run = write_array},
		{.name = "reel span", .run = write_spans, .after = drain},
	};
	static const struct measure_variant read[] = {
		{.name = "array, there already", .run = read_array},
		{.name = "reel span", .run = read_spans, .before = fill},
	};
	static const struct measure_variant whole[] = {
		{.name = "array, there already", .run = whole_array},
		{.name = "reel span", .run = whole_spans},
	};
	static const struct bench_case cases[] = {
		{"bulk/write", write, 2, 0, {IN_CACHE, LARGE}, LARGE, 15},
		{"bulk/read", read, 2, 0, {IN_CACHE, LARGE}, LARGE, 15},
		{"bulk/write+read", whole, 2, 0, {IN_CACHE, LARGE}, LARGE, 15},
	};

	if (!bench_wants(cases, COUNT_OF(cases)))
		return;
	array = bench_memory(LARGE * sizeof *array);
	for (size_t c = 0; c < COUNT_OF(cases); c++)
		bench_run(&cases[c]);
	reel_tape_close(&tape);
	bench_memory_free(array, LARGE * sizeof *array);
}
