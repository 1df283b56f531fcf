/* SPDX-License-Identifier: MIT */
/*
 * How long one take and one give last together: by magazines, by the pool's list, and by lists
 * that a mutex or a spinlock protects. Each alone, by all threads; the clock's own time is in it.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "common/histogram.h"
#include "pool/pool.h"
#include "scale.h"

#define PAIRS 300000

static const struct measure_variant quantiles[] = {
	{.name = "p50"}, {.name = "p99.9"}, {.name = "p99.99"}, {.name = "p99.999"},
	{.name = "worst"},
};
static const double parts[COUNT_OF(quantiles)] = {0.5, 0.999, 0.9999, 0.99999, 1};

/* Shared by all threads: a pool, or a list of its slabs with a lock. */
struct shelf {
	reel_pool *pool;
	struct reel_slab *top;
	pthread_mutex_t mutex;
	_Atomic bool locked;
};

static void lock_mutex(struct shelf *shelf)
{
	pthread_mutex_lock(&shelf->mutex);
}

static void unlock_mutex(struct shelf *shelf)
{
	pthread_mutex_unlock(&shelf->mutex);
}

static void lock_spinning(struct shelf *shelf)
{
	/* Acquire: pairs with the release in unlock_spinning(). */
	while (atomic_exchange_explicit(&shelf->locked, true, memory_order_acquire))
		while (atomic_load_explicit(&shelf->locked, memory_order_relaxed))
			;
}

static void unlock_spinning(struct shelf *shelf)
{
	atomic_store_explicit(&shelf->locked, false, memory_order_release);
}

static struct reel_slab *take_off(struct shelf *shelf)
{
	struct reel_slab *slab = shelf->top;

	shelf->top = slab->below;
	return slab;
}

static void put_on(struct shelf *shelf, struct reel_slab *slab)
{
	slab->below = shelf->top;
	shelf->top = slab;
}

static inline void pair_locked(struct shelf *shelf, void (*lock)(struct shelf *shelf),
			       void (*unlock)(struct shelf *shelf))
{
	struct reel_slab *slab;

	lock(shelf);
	slab = take_off(shelf);
	unlock(shelf);
	lock(shelf);
	put_on(shelf, slab);
	unlock(shelf);
}

static void pair_with_mutex(struct shelf *shelf)
{
	pair_locked(shelf, lock_mutex, unlock_mutex);
}

static void pair_spinning(struct shelf *shelf)
{
	pair_locked(shelf, lock_spinning, unlock_spinning);
}

static void pair_by_magazines(struct shelf *shelf)
{
	struct reel_slab *slab;

	if (reel_pool_take(shelf->pool, REEL_SLAB_WHOLE, 0, &slab))
		abort();
	reel_pool_give(shelf->pool, slab);
}

static void pair_by_list(struct shelf *shelf)
{
	struct reel_slab *chain;

	if (reel_supply_take(shelf->pool, REEL_SLAB_WHOLE, &chain))
		abort();
	reel_supply_give(shelf->pool, REEL_SLAB_WHOLE, chain);
}

static const struct {
	const char *name;
	unsigned magazine_slabs;
	void (*pair)(struct shelf *shelf);
} ways[] = {
	{"scale/tail/magazines", REEL_MAGAZINE_SLABS, pair_by_magazines},
	{"scale/tail/list", 1, pair_by_list},
	{"scale/tail/mutex", 1, pair_with_mutex},
	{"scale/tail/spinlock", 1, pair_spinning},
};

struct times {
	struct shelf shelf;
	void (*pair)(struct shelf *shelf);
	size_t pairs;
	struct histogram *by_thread;
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void time_pairs(void *context, int thread)
{
	struct times *times = context;
	uint64_t begun;

	for (size_t i = 0; i < times->pairs; i++) {
		begun = now();
		times->pair(&times->shelf);
		histogram_add(&times->by_thread[thread], now() - begun);
	}
}

/* A slab for each thread, and one more, from the pool. */
static void fill_shelf(struct shelf *shelf, int threads)
{
	struct reel_slab *chain;

	pthread_mutex_init(&shelf->mutex, NULL);
	for (int i = 0; i <= threads; i++) {
		if (reel_supply_take(shelf->pool, REEL_SLAB_WHOLE, &chain))
			abort();
		put_on(shelf, chain);
	}
}

static void clear_shelf(struct shelf *shelf)
{
	while (shelf->top) {
		struct reel_slab *slab = take_off(shelf);

		slab->below = NULL;
		reel_supply_give(shelf->pool, REEL_SLAB_WHOLE, slab);
	}
	pthread_mutex_destroy(&shelf->mutex);
	if (reel_pool_close(shelf->pool))
		abort();
}

static void measure_round(size_t way, int threads, double samples[COUNT_OF(quantiles)])
{
	struct times times = {
		.shelf.pool = scale_pool(4096, ways[way].magazine_slabs, threads),
		.pair = ways[way].pair,
		.pairs = (scale.quick ? 1000 : PAIRS) / (size_t)threads + 1,
		.by_thread = calloc((size_t)threads, sizeof *times.by_thread),
	};
	struct team_work work = {.run = time_pairs, .context = &times, .processors = 1};

	if (!times.by_thread)
		abort();
	fill_shelf(&times.shelf, threads);
	team_run(&work, threads, &scale.places);
	clear_shelf(&times.shelf);
	for (int t = 1; t < threads; t++)
		histogram_merge(&times.by_thread[0], &times.by_thread[t]);
	for (size_t q = 0; q < COUNT_OF(quantiles); q++)
		samples[q] = histogram_quantile(&times.by_thread[0], parts[q]);
	free(times.by_thread);
}

static void measure_way(size_t way, int threads)
{
	double samples[COUNT_OF(quantiles)], rounds[COUNT_OF(quantiles)][MAX_SCALE_ROUNDS];
	struct measure_result results[COUNT_OF(quantiles)];

	for (unsigned r = 0; r < scale.rounds; r++) {
		measure_round(way, threads, samples);
		for (size_t q = 0; q < COUNT_OF(quantiles); q++)
			rounds[q][r] = samples[q];
	}
	for (size_t q = 0; q < COUNT_OF(quantiles); q++)
		results[q] = measure_summary(rounds[q], scale.rounds);
	scale_report(ways[way].name, quantiles, COUNT_OF(quantiles), threads, "ns", results);
}

void scale_bench_tails(void)
{
	for (size_t c = 0; c < scale.threads.count; c++)
		for (size_t way = 0; way < COUNT_OF(ways); way++)
			measure_way(way, scale.threads.of[c]);
}
