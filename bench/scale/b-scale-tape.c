/* SPDX-License-Identifier: MIT */
/*
 * Each thread's tape up and down, from one pool, and an array each. GB/s count bytes written
 * and bytes read, of all threads together.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "pool/pool.h"
#include "scale.h"

const size_t scale_slab_sizes[] = {4 << 10, 32 << 10, 256 << 10, 2 << 20, 0};

struct own {
	reel_tape tape;
	double *array;
	uint64_t mix;
	/* So that two threads have no cache line, or pair of lines, in common. */
	char distance[128];
};

struct sweeps {
	reel_pool *pool; /* NULL: arrays */
	size_t values;
	size_t row;
	size_t repetitions;
	struct own *own;
};

static void push_rows(reel_tape *tape, size_t values, size_t row)
{
	for (size_t start = 0; start < values; start += row) {
		double *span = reel_push_span(tape, double, row);

		if (!span)
			abort();
		for (size_t i = 0; i < row; i++)
			span[i] = bench_value(i);
	}
}

static uint64_t pop_rows(reel_tape *tape, size_t values, size_t row)
{
	uint64_t mix = 0;

	for (size_t start = 0; start < values; start += row) {
		const double *span = reel_pop_span(tape, double, row);

		if (!span)
			abort();
		for (size_t i = row; i-- > 0;)
			mix = bench_mix(mix, span[i]);
	}
	return mix;
}

/* All tapes are high when the clock starts, so that no slab is fresh after that. */
static void raise_tape(void *context, int thread)
{
	struct sweeps *sweeps = context;
	reel_tape *tape = &sweeps->own[thread].tape;

	if (reel_tape_open(tape, sweeps->pool, 0))
		abort();
	push_rows(tape, sweeps->values, sweeps->row);
}

static void sweep_tape(void *context, int thread)
{
	struct sweeps *sweeps = context;
	struct own *own = &sweeps->own[thread];

	for (size_t i = 0; i < sweeps->repetitions; i++) {
		own->mix ^= pop_rows(&own->tape, sweeps->values, sweeps->row);
		push_rows(&own->tape, sweeps->values, sweeps->row);
	}
}

static void close_tape(void *context, int thread)
{
	reel_tape_close(&((struct sweeps *)context)->own[thread].tape);
}

static void fill_array(void *context, int thread)
{
	struct sweeps *sweeps = context;

	for (size_t i = 0; i < sweeps->values; i++)
		sweeps->own[thread].array[i] = bench_value(i);
}

/* First touched by its thread, so on its node. */
static void get_array(void *context, int thread)
{
	struct sweeps *sweeps = context;

	sweeps->own[thread].array = bench_memory(sweeps->values * sizeof(double));
}

static void sweep_array(void *context, int thread)
{
	struct sweeps *sweeps = context;
	struct own *own = &sweeps->own[thread];

	for (size_t r = 0; r < sweeps->repetitions; r++) {
		for (size_t i = sweeps->values; i-- > 0;)
			own->mix = bench_mix(own->mix, own->array[i]);
		fill_array(sweeps, thread);
	}
}

static void free_array(void *context, int thread)
{
	struct sweeps *sweeps = context;

	bench_memory_free(sweeps->own[thread].array, sweeps->values * sizeof(double));
}

/* So often that it takes tens of milliseconds; a slab costs as much as a few values. */
static size_t repetitions(size_t values, size_t slabs)
{
	return (scale.quick ? (size_t)1000000 : (size_t)15000000) / (values + 200 * slabs) + 1;
}

/* Nanoseconds that a thread takes for one sweep, up and down. magazine_slabs 0: over an array. */
static double time_sweep(int threads, size_t bytes, size_t slab_bytes, unsigned magazine_slabs)
{
	static const struct team_work tapes = {
		.prepare = raise_tape, .run = sweep_tape, .finish = close_tape};
	static const struct team_work arrays = {
		.prepare = get_array, .run = sweep_array, .finish = free_array};
	struct team_work work = magazine_slabs ? tapes : arrays;
	size_t row = slab_bytes / sizeof(double);
	struct sweeps sweeps = {
		.values = bytes / sizeof(double),
		.row = row < BENCH_ROW ? row : BENCH_ROW,
		.repetitions = repetitions(bytes / sizeof(double), bytes / slab_bytes),
		.own = calloc((size_t)threads, sizeof *sweeps.own),
	};
	double seconds;

	if (!sweeps.own)
		abort();
	if (magazine_slabs)
		sweeps.pool = scale_pool(slab_bytes, magazine_slabs, threads);
	work.context = &sweeps;
	work.tries = scale.tries;
	work.processors = scale.processors;
	seconds = team_run(&work, threads, &scale.places);
	measure_sink = (double)sweeps.own[0].mix;
	free(sweeps.own);
	if (sweeps.pool && reel_pool_close(sweeps.pool))
		abort();
	return 1e9 * seconds / (double)sweeps.repetitions;
}

const char *scale_size_text(size_t bytes, char text[16])
{
	static const char units[] = " KMG";
	int unit = 0;

	for (; bytes >= 1024 && bytes % 1024 == 0; bytes /= 1024)
		unit++;
	snprintf(text, 16, unit ? "%zu%c" : "%zu", bytes, units[unit]);
	return text;
}

static const struct measure_variant variants[] = {
	{.name = "an array each"},
	{.name = "a tape each"},
};

static void measure_tapes(int threads, size_t slab_bytes,
			  struct measure_result results[COUNT_OF(variants)])
{
	double samples[COUNT_OF(variants)][MAX_SCALE_ROUNDS];
	double bytes = 2.0 * (double)scale.bytes * threads;

	for (unsigned round = 0; round < scale.rounds; round++) {
		samples[0][round] = bytes / time_sweep(threads, scale.bytes, slab_bytes, 0);
		samples[1][round] = bytes / time_sweep(threads, scale.bytes, slab_bytes,
						       REEL_MAGAZINE_SLABS);
	}
	for (size_t v = 0; v < COUNT_OF(variants); v++)
		results[v] = measure_summary(samples[v], scale.rounds);
}

void scale_bench_tapes(void)
{
	struct measure_result results[COUNT_OF(variants)], first[COUNT_OF(variants)];
	char name[64], size[16];

	for (size_t s = 0; scale_slab_sizes[s]; s++)
		for (size_t c = 0; c < scale.threads.count; c++) {
			int threads = scale.threads.of[c];

			scale_size_text(scale_slab_sizes[s], size);
			snprintf(name, sizeof name, "scale/tape/%s", size);
			measure_tapes(threads, scale_slab_sizes[s], results);
			if (c == 0)
				memcpy(first, results, sizeof first);
			scale_report(name, variants, COUNT_OF(variants), threads, "GB/s", results);
			scale_plot(threads, size, "array",
				   results[0].median / first[0].median * scale.threads.of[0]);
			scale_plot(threads, size, "tape",
				   results[1].median / first[1].median * scale.threads.of[0]);
		}
}
