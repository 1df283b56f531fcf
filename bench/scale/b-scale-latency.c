/* SPDX-License-Identifier: MIT */
/* How long single takes and gives last: quantiles, with the clock's own time in them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/histogram.h"
#include "pool/pool.h"
#include "scale.h"

#define SWEEP SCALE_SWEEP

enum operation { CLOCK, TAKE, GIVE, LIST_TAKE, LIST_GIVE, OPERATIONS };

static const char *const names[OPERATIONS] = {
	"scale/latency/clock", "scale/latency/take", "scale/latency/give",
	"scale/latency/list-take", "scale/latency/list-give",
};

static const struct measure_variant quantiles[] = {
	{.name = "p50"}, {.name = "p99"}, {.name = "p99.9"}, {.name = "p99.999"}, {.name = "worst"},
};
static const double parts[COUNT_OF(quantiles)] = {0.5, 0.99, 0.999, 0.99999, 1};

struct latencies {
	reel_pool *pool;      /* through magazines */
	reel_pool *list_pool; /* chains of one slab */
	size_t sweeps;
	struct histogram (*by_thread)[OPERATIONS];
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void time_magazines(struct latencies *latencies, struct histogram *histograms)
{
	struct reel_slab *slab[SWEEP];
	uint64_t begun;

	for (int s = 0; s < SWEEP; s++) {
		begun = now();
		if (reel_pool_take(latencies->pool, REEL_SLAB_WHOLE, 0, &slab[s]))
			abort();
		histogram_add(&histograms[TAKE], now() - begun);
	}
	for (int s = SWEEP; s-- > 0;) {
		begun = now();
		reel_pool_give(latencies->pool, slab[s]);
		histogram_add(&histograms[GIVE], now() - begun);
	}
}

static void time_list(struct latencies *latencies, struct histogram *histograms)
{
	struct reel_slab *chain;
	uint64_t begun;

	for (int s = 0; s < SWEEP; s++) {
		begun = now();
		if (reel_supply_take(latencies->list_pool, REEL_SLAB_WHOLE, &chain))
			abort();
		histogram_add(&histograms[LIST_TAKE], now() - begun);
		begun = now();
		reel_supply_give(latencies->list_pool, REEL_SLAB_WHOLE, chain);
		histogram_add(&histograms[LIST_GIVE], now() - begun);
		begun = now();
		histogram_add(&histograms[CLOCK], now() - begun);
	}
}

static void time_all(void *context, int thread)
{
	struct latencies *latencies = context;

	for (size_t i = 0; i < latencies->sweeps; i++) {
		time_magazines(latencies, latencies->by_thread[thread]);
		time_list(latencies, latencies->by_thread[thread]);
	}
}

/* One round: a sample of each quantile of each operation. */
static void measure_round(int threads, double samples[OPERATIONS][COUNT_OF(quantiles)])
{
	struct latencies latencies = {
		.pool = scale_pool(4096, REEL_MAGAZINE_SLABS, threads),
		.list_pool = scale_pool(4096, 1, threads),
		.sweeps = (scale.quick ? 100 : 20000) / (size_t)threads + 1,
		.by_thread = calloc((size_t)threads, sizeof *latencies.by_thread),
	};
	struct team_work work = {.run = time_all, .context = &latencies, .processors = 1};

	if (!latencies.by_thread)
		abort();
	team_run(&work, threads, &scale.places);
	for (int t = 1; t < threads; t++)
		for (int o = 0; o < OPERATIONS; o++)
			histogram_merge(&latencies.by_thread[0][o], &latencies.by_thread[t][o]);
	for (int o = 0; o < OPERATIONS; o++)
		for (size_t q = 0; q < COUNT_OF(quantiles); q++)
			samples[o][q] = histogram_quantile(&latencies.by_thread[0][o], parts[q]);
	free(latencies.by_thread);
	if (reel_pool_close(latencies.pool) || reel_pool_close(latencies.list_pool))
		abort();
}

void scale_bench_latency(void)
{
	static double samples[MAX_SCALE_ROUNDS][OPERATIONS][COUNT_OF(quantiles)];
	double rounds[MAX_SCALE_ROUNDS];
	struct measure_result results[COUNT_OF(quantiles)];

	for (size_t c = 0; c < scale.threads.count; c++) {
		for (unsigned r = 0; r < scale.rounds; r++)
			measure_round(scale.threads.of[c], samples[r]);
		for (int o = 0; o < OPERATIONS; o++) {
			for (size_t q = 0; q < COUNT_OF(quantiles); q++) {
				for (unsigned r = 0; r < scale.rounds; r++)
					rounds[r] = samples[r][o][q];
				results[q] = measure_summary(rounds, scale.rounds);
			}
			scale_report(names[o], quantiles, COUNT_OF(quantiles), scale.threads.of[c],
				     "ns", results);
		}
	}
}
