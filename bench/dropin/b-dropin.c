/* SPDX-License-Identifier: MIT */
/*
 * The drop-in for Tapenade's stack, beside a bare bump pointer out of line and a stack that works
 * as the original does.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../dropin/adstack/stack.h"
#include "dropin.h"

#define LARGEST ((size_t)100000000)
#define MIB ((size_t)1 << 20)

#define ALL_STACKS(sweep)                                                                          \
	{.name = "bare bump, out of line", .run = dropin_bump_##sweep},                            \
	{.name = "as the original works", .run = dropin_original_##sweep},                         \
	{.name = "static library", .run = dropin_static_##sweep},                                  \
	{.name = "shared library", .run = dropin_shared_##sweep}

/* Where there is no shared library, its variant is left out. */
static void run_stacks(const char *name, const struct measure_variant *variants, size_t count,
		       const size_t *sizes, size_t quick_largest)
{
	struct measure_variant there[8];
	struct bench_case one = {.name = name, .variants = there, .quick_largest = quick_largest,
				 .rounds = 9};
	bool shared = dropin_shared_open();

	for (size_t v = 0; v < count; v++)
		if (shared || strcmp(variants[v].name, "shared library"))
			there[one.count++] = variants[v];
	memcpy(one.sizes, sizes, sizeof one.sizes);
	bench_run(&one);
}

static void scalars(void)
{
	static const struct measure_variant real8[] = {
		ALL_STACKS(real8), {.name = "header, inline", .run = dropin_inline_real8}};
	static const struct measure_variant controls[] = {
		ALL_STACKS(control), {.name = "header, inline", .run = dropin_inline_control}};
	static const size_t sizes[MAX_SIZES] = {10000, 1000000, LARGEST};
	static const size_t bit_sizes[MAX_SIZES] = {10000, 1000000};

	run_stacks("dropin/real8", real8, COUNT_OF(real8), sizes, 1000000);
	run_stacks("dropin/control1b", controls, COUNT_OF(controls), bit_sizes, 1000000);
}

static void arrays(void)
{
	static const struct measure_variant variants[] = {ALL_STACKS(arrays)};
	static const size_t sizes[MAX_SIZES] = {10000, 1000000, LARGEST};

	run_stacks("dropin/real8array64", variants, COUNT_OF(variants), sizes, 1000000);
}

static void repeat(void)
{
	static const struct measure_variant variants[] = {
		{.name = "bare bump, out of line", .run = dropin_bump_repeat,
		 .before = dropin_bump_begin_level, .after = dropin_bump_end_level},
		{.name = "static library", .run = dropin_static_repeat,
		 .before = dropin_static_begin_level, .after = dropin_static_end_level},
	};
	static const size_t sizes[MAX_SIZES] = {10000, 1000000};

	run_stacks("dropin/repeat", variants, COUNT_OF(variants), sizes, 1000000);
}

static void stencil(void)
{
	static const struct measure_variant variants[] = {
		{.name = "static library", .run = dropin_static_stencil},
		{.name = "header, inline", .run = dropin_inline_stencil},
		{.name = "shared library", .run = dropin_shared_stencil},
		{.name = "as the original works", .run = dropin_original_stencil},
		{.name = "bare bump, out of line", .run = dropin_bump_stencil},
	};
	static const size_t sizes[MAX_SIZES] = {1024, 262144};

	run_stacks("dropin/stencil", variants, COUNT_OF(variants), sizes, 1024);
}

/* ---- A tape larger than its budget ---- */

static reel_pool *spilling, *in_memory;

static void use_pool(void *context, size_t n)
{
	(void)n;
	reel_adstack_set_pool(*(reel_pool **)context);
}

static reel_pool *open_pool(size_t budget)
{
	struct reel_pool_options options = {.hard_budget = budget};
	reel_pool *pool = NULL;

	if (budget && reel_store_open(&options.store, NULL, bench_directory()))
		return NULL;
	return reel_pool_open(&pool, &options) ? NULL : pool;
}

static void report_resident(const struct bench_case *one, size_t n)
{
	struct measure_result results[2] = {{0}};
	reel_pool *pools[] = {in_memory, spilling};
	struct bench_case resident = *one;

	for (size_t v = 0; v < 2; v++) {
		struct reel_pool_stats stats;

		reel_pool_get_stats(pools[v], &stats);
		results[v] = measure_once((double)stats.peak_resident_bytes / (double)MIB);
	}
	resident.name = "dropin/spill/resident";
	bench_report(&resident, n, "MiB", results);
}

/* 1 GiB of values, a seventh of that in quick runs; 64 MiB have room. */
static void spill(void)
{
	static const struct measure_variant variants[] = {
		{.name = "in memory", .run = dropin_static_load, .before = use_pool,
		 .context = &in_memory},
		{.name = "64 MiB in memory", .run = dropin_static_load, .before = use_pool,
		 .context = &spilling},
	};
	static const struct bench_case one = {
		"dropin/spill", variants, COUNT_OF(variants), 0, {0}, 0, 5};
	size_t n = bench_is_quick() ? 20000000 : (size_t)1 << 27;
	struct measure_result results[2];

	if (!bench_starts(&one))
		return;
	in_memory = open_pool(0);
	spilling = open_pool(64 * MIB);
	if (!in_memory || !spilling) {
		fprintf(stderr, "reel-bench: dropin/spill: no file in %s\n", bench_directory());
		return;
	}
	bench_measure(&one, n, results);
	bench_report(&one, n, "ns/value", results);
	report_resident(&one, n);
	reel_adstack_set_pool(NULL);
	reel_pool_close(in_memory);
	reel_pool_close(spilling);
}

void bench_dropin(void)
{
	dropin_bump_open(bench_is_quick() ? 16 * MIB : LARGEST * sizeof(double));
	scalars();
	arrays();
	repeat();
	stencil();
	dropin_bump_close();
	dropin_original_close();
	reel_adstack_reset();
	spill();
}
