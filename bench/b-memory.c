/* SPDX-License-Identifier: MIT */
/*
 * What block replay is for: the most bytes that mass and spring has on its tape,
 * and the most that the tape's pool held for them, whole slabs counted.
 */
#include "config.h"

#include <stdlib.h>

#include "common/bench.h"
#include "kernels/kernel.h"

#define MAX_VARIANTS 8

struct most {
	uint64_t on_tape;
	uint64_t in_pool;
};

/* The tape is longest between the sweeps, also in a replay: its last block is a whole one. */
static struct most max_of(struct kernel_case *one, const struct kernel_variant *variant,
			   size_t slab_bytes)
{
	struct reel_pool_options options = {.slab_bytes = slab_bytes};
	struct reel_pool_stats stats;
	struct most most;
	reel_pool *pool;
	reel_tape tape;

	if (reel_pool_open(&pool, &options) || reel_tape_open(&tape, pool, 0))
		abort();
	measure_sink = kernel_forward(one, variant, &tape);
	most.on_tape = reel_tape_bytes(&tape);
	kernel_reverse(one, variant, &tape);
	reel_pool_get_stats(pool, &stats);
	most.in_pool = stats.peak_resident_bytes;
	reel_tape_close(&tape);
	reel_pool_close(pool);
	return most;
}

/* The case's variants are those of the kernel whose record is on the tape. */
static void count_variants(struct bench_case *described, struct kernel_case *one,
			   bool whole_slabs, size_t slab_bytes)
{
	struct measure_variant variants[MAX_VARIANTS];
	struct measure_result results[MAX_VARIANTS];
	const struct kernel_variant *variant = one->kernel->variants;
	const struct kernel_variant *end = variant + one->kernel->variant_count;

	described->variants = variants;
	for (; variant < end; variant++) {
		struct most most;
		double bytes;

		if (variant->storage != ON_TAPE)
			continue;
		most = max_of(one, variant, slab_bytes);
		bytes = (double)(whole_slabs ? most.in_pool : most.on_tape);
		results[described->count] = (struct measure_result){bytes, bytes, bytes, 0};
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
		bool whole_slabs;
		size_t slab_bytes;
	} cases[] = {
		{"memory/massspring/tape", false, 0},
		{"memory/massspring/pool", true, 0},
		{"memory/massspring/pool-256K", true, (size_t)256 << 10},
	};

	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		struct bench_case described = {.name = cases[c].name};
		struct kernel_case one;

		if (!bench_starts(&described))
			continue;
		kernel_case_open(&one, &kernel_massspring, KERNEL_LARGE);
		count_variants(&described, &one, cases[c].whole_slabs, cases[c].slab_bytes);
		kernel_case_close(&one);
	}
}
