/* SPDX-License-Identifier: MIT */
/* What the machine itself takes to write a large array and to read it downwards. */
#include "config.h"

#include "common/bench.h"

#define LARGE ((size_t)64 << 20)

static double *array;

static double run_store(void *context, size_t n)
{
	(void)context;
	for (size_t i = 0; i < n; i++)
		array[i] = bench_value(i);
	return array[n / 2];
}

static double run_load(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, array[i]);
	return (double)mix;
}

#if defined(__SSE2__)
#include <emmintrin.h>

static double run_store_past_cache(void *context, size_t n)
{
	(void)context;
	for (size_t i = 0; i < n; i += 2)
		_mm_stream_pd(&array[i], _mm_set_pd(bench_value(i + 1), bench_value(i)));
	_mm_sfence();
	return array[n / 2];
}
#endif

void bench_floor(void)
{
	static const struct measure_variant variants[] = {
		{.name = "store", .run = run_store},
#if defined(__SSE2__)
		{.name = "store past the cache", .run = run_store_past_cache},
#endif
		{.name = "load, descending", .run = run_load},
	};
	static const struct bench_case one = {
		"floor/stream", variants, COUNT_OF(variants), 0, {LARGE}, LARGE, 9};

	if (!bench_wants(&one, 1))
		return;
	array = bench_memory(LARGE * sizeof *array);
	bench_run(&one);
	bench_memory_free(array, LARGE * sizeof *array);
}
