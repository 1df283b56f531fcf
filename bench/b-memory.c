/* SPDX-License-Identifier: MIT */
/*
 * Measures the memory that segments in the cache save: the maximum of the bytes that mass and
 * spring has in its pool, with whole slabs and kept states.
 */
#include "config.h"

#include <stdlib.h>

#include "common/bench.h"
#include "kernels/kernel.h"

#define MAX_VARIANTS 8

static uint64_t max_of(struct kernel_case *one, const struct kernel_variant *variant,
		       size_t slab_bytes)
{
	struct reel_pool_options options = {.slab_bytes = slab_bytes};
	struct reel_pool_stats stats;
	reel_pool *pool;
	reel_tape tape;

	if (reel_pool_open(&pool, &options) || reel_tape_open(&tape, pool, 0))
		abort();
	measure_sink = kernel_forward(one, variant, &tape);
	kernel_reverse(one, variant, &tape);
	reel_pool_get_stats(pool, &stats);
	reel_tape_close(&tape);
	reel_pool_close(pool);
	return stats.peak_resident_bytes;
}

/* The variants of the case are the kernel's variants whose record is on the tape. */
static void count_variants(struct bench_case *described, struct kernel_case *one,
			   size_t slab_bytes)
{
	struct measure_variant variants[MAX_VARIANTS];
	struct measure_result results[MAX_VARIANTS];
	const struct kernel_variant *variant = one->kernel->variants;
	const struct kernel_variant *end = variant + one->kernel->variant_count;

	described->variants = variants;
	for (; variant < end; variant++) {
		double bytes;

		if (variant->storage != ON_TAPE)
			continue;
		bytes = (double)max_of(one, variant, slab_bytes);
		results[described->count] = measure_once(bytes);
		if (strcmp(variant->name, "best") == 0)
			described->base = described->count;
		variants[described->count++].name = variant->name;
	}
	bench_report(described, kernel_column_bytes(one) / sizeof(double), "bytes", results);
}

void bench_memory_held(void)
{
	static const struct {
		const char *name;
		size_t slab_bytes;
	} cases[] = {
		{"memory/massspring/pool", 0},
		{"memory/massspring/pool-256K", (size_t)256 << 10},
	};

	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		struct bench_case described = {.name = cases[c].name};
		struct kernel_case one;

		if (!bench_starts(&described))
			continue;
		kernel_case_open(&one, &kernel_massspring, KERNEL_LARGE);
		count_variants(&described, &one, cases[c].slab_bytes);
		kernel_case_close(&one);
	}
}
