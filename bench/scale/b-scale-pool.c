/* SPDX-License-Identifier: MIT */
/* Slabs taken and given: through magazines, and straight from the shared list. */
#include "config.h"

#include <stdlib.h>

#include "pool/pool.h"
#include "scale.h"

/* Two of the three magazines are kept: each sweep takes one from the list and gives it back. */
#define SWEEP SCALE_SWEEP

struct pairs {
	reel_pool *pool;
	size_t count;
};

static struct reel_slab *take_slab(reel_pool *pool)
{
	struct reel_slab *slab;

	if (reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab))
		abort();
	return slab;
}

static void pairs_by_magazine(void *context, int thread)
{
	struct pairs *pairs = context;

	(void)thread;
	for (size_t i = 0; i < pairs->count; i++)
		reel_pool_give(pairs->pool, take_slab(pairs->pool));
}

static void pairs_in_sweeps(void *context, int thread)
{
	struct pairs *pairs = context;
	struct reel_slab *slab[SWEEP];

	(void)thread;
	for (size_t i = 0; i < pairs->count; i += SWEEP) {
		for (int s = 0; s < SWEEP; s++)
			slab[s] = take_slab(pairs->pool);
		for (int s = SWEEP; s-- > 0;)
			reel_pool_give(pairs->pool, slab[s]);
	}
}

static void pairs_by_list(void *context, int thread)
{
	struct pairs *pairs = context;
	struct reel_slab *chain;

	(void)thread;
	for (size_t i = 0; i < pairs->count; i++) {
		if (reel_supply_take(pairs->pool, REEL_SLAB_WHOLE, &chain))
			abort();
		reel_supply_give(pairs->pool, REEL_SLAB_WHOLE, chain);
	}
}

static const struct {
	void (*run)(void *context, int thread);
	unsigned magazine_slabs;
	size_t pairs;
} ways[] = {
	{pairs_by_magazine, REEL_MAGAZINE_SLABS, 1000000},
	{pairs_in_sweeps, REEL_MAGAZINE_SLABS, 20000 * SWEEP},
	{pairs_by_list, 1, 300000},
};

enum { BY_LIST = 2 };

/* Nanoseconds for a pair of one thread. */
static double time_pairs(size_t way, int threads)
{
	struct pairs pairs = {scale_pool(4096, ways[way].magazine_slabs, threads),
			      ways[way].pairs / (scale.quick ? 10 : 1) / SWEEP * SWEEP};
	struct team_work work = {.run = ways[way].run,
				 .context = &pairs,
				 .tries = scale.tries,
				 .processors = scale.processors};
	double seconds = team_run(&work, threads, &scale.places);

	if (reel_pool_close(pairs.pool))
		abort();
	return 1e9 * seconds / (double)pairs.count;
}

void scale_bench_pool(void)
{
	static const struct measure_variant variants[] = {
		{.name = "one slab, in a magazine"},
		{.name = "48 slabs, up and down"},
		{.name = "straight from the list"},
	};
	double samples[COUNT_OF(variants)][MAX_SCALE_ROUNDS];
	struct measure_result results[COUNT_OF(variants)];

	for (size_t c = 0; c < scale.threads.count; c++) {
		for (unsigned round = 0; round < scale.rounds; round++)
			for (size_t v = 0; v < COUNT_OF(variants); v++)
				samples[v][round] = time_pairs(v, scale.threads.of[c]);
		for (size_t v = 0; v < COUNT_OF(variants); v++)
			results[v] = measure_summary(samples[v], scale.rounds);
		scale_report("scale/pool/pair", variants, COUNT_OF(variants), scale.threads.of[c],
			     "ns/pair", results);
	}
}
