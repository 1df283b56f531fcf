/* SPDX-License-Identifier: MIT */
/*
 * All parcels of a pool, which the pool knows as a client with a lock that a fork takes. Any thread
 * runs these functions.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "os/integer.h"
#include "parcel.h"

static struct reel_parcels *of_client(struct reel_pool_client *client)
{
	return (struct reel_parcels *)client;
}

static void lock(struct reel_pool_client *client)
{
	pthread_mutex_lock(&of_client(client)->lock);
}

static void unlock(struct reel_pool_client *client)
{
	pthread_mutex_unlock(&of_client(client)->lock);
}

/*
 * In the child, unlocks the pins of all bins: a thread of the parent may have locked them. The
 * slabs are whole, since each change of a state is one atomic step.
 */
static void orphan(struct reel_pool_client *client)
{
	for (struct reel_bin *bin = of_client(client)->bins; bin; bin = bin->next)
		reel_pins_unlock_in_child(&bin->pins);
	of_client(client)->retiring = 0;
	unlock(client);
}

static void close_parcels(struct reel_pool_client *client)
{
	struct reel_parcels *parcels = of_client(client);

	REEL_ASSERT(!parcels->bins);
	pthread_mutex_destroy(&parcels->lock);
	free(parcels);
}

static const struct reel_pool_client_verbs verbs = {
	.lock = lock,
	.unlock = unlock,
	.orphan = orphan,
	.retire_idle = reel_parcels_retire_idle,
	.close = close_parcels,
};

/* Open bins take at most an eighth of a budget, or two slabs. */
static unsigned slots_of(const struct reel_pool *pool)
{
	size_t slots = pool->hard_budget / pool->slab_bytes / 8;

	return slots < 2 ? 2 : (unsigned)reel_min_size(slots, REEL_MAX_OPEN_BINS);
}

/* For parcels that are not the pool's, or not yet. */
static void discard(struct reel_parcels *parcels)
{
	if (parcels->unordered)
		reel_demand_give_silent(reel_offload_of(parcels->pool), parcels->unordered);
	if (parcels->hurried)
		reel_demand_give_silent(reel_offload_of(parcels->pool), parcels->hurried);
	close_parcels(&parcels->client);
}

static struct reel_parcels *new_parcels(struct reel_pool *pool)
{
	struct reel_offload *offload = reel_offload_of(pool);
	struct reel_parcels *parcels = calloc(1, sizeof *parcels);

	if (!parcels)
		return NULL;
	parcels->client.verbs = &verbs;
	parcels->pool = pool;
	parcels->slots = slots_of(pool);
	pthread_mutex_init(&parcels->lock, NULL);
	if (!offload)
		return parcels;
	parcels->unordered = reel_demand_take_silent(offload, REEL_DEMAND_AGE);
	parcels->hurried = reel_demand_take_silent(offload, REEL_DEMAND_HURRIED);
	if (parcels->unordered && parcels->hurried)
		return parcels;
	discard(parcels);
	return NULL;
}

/*
 * If several threads are first at once, one struct stays and the others are freed. The list of
 * pools is locked meanwhile: a fork locks and later unlocks the parcels of each pool, and has to
 * find the same ones both times.
 */
struct reel_parcels *reel_parcels_of(struct reel_pool *pool)
{
	struct reel_pool_client *client = reel_pool_parcels(pool);
	struct reel_parcels *parcels;

	if (client)
		return of_client(client);
	parcels = new_parcels(pool);
	if (!parcels)
		return NULL;
	reel_fork_lock_pools();
	/* Relaxed: a thread that sets it holds the lock. */
	client = atomic_load_explicit(&pool->parcels, memory_order_relaxed);
	/* Release: pairs with the acquire in reel_pool_parcels() (pool.h). */
	if (!client)
		atomic_store_explicit(&pool->parcels, &parcels->client, memory_order_release);
	reel_fork_unlock_pools();
	if (!client)
		return parcels;
	discard(parcels);
	return of_client(client);
}

/* ---- Figures ---- */

static bool is_pinned(const struct reel_bin *bin)
{
	/* One pin of a kept bin is no parcel's. */
	return reel_pins_count(&bin->pins) > bin->kept;
}

static void add_bin(const struct reel_bin *bin, struct reel_parcel_stats *stats)
{
	enum reel_slab_state state;

	stats->parcels += bin->live - bin->kept;
	if (!bin->slab)
		return;
	state = reel_slab_state_of(bin->slab);
	if (!reel_slab_is_away(state))
		stats->resident_bytes += bin->slab->bytes;
	if (reel_slab_needs_copy(state))
		stats->stored_bytes += bin->filled;
	if (is_pinned(bin))
		stats->pinned_bytes += bin->slab->bytes;
}

/* The lock keeps the list of bins; the states may change meanwhile. */
void reel_parcel_get_stats(reel_pool *pool, struct reel_parcel_stats *stats)
{
	struct reel_pool_client *client = reel_pool_parcels(pool);
	struct reel_parcels *parcels = of_client(client);

	*stats = (struct reel_parcel_stats){0};
	if (!client)
		return;
	/* Relaxed: statistics guard no other data. */
	stats->announced = atomic_load_explicit(&parcels->announced, memory_order_relaxed);
	stats->hits = atomic_load_explicit(&parcels->hits, memory_order_relaxed);
	stats->waits = atomic_load_explicit(&parcels->waits, memory_order_relaxed);
	stats->wait_ns = atomic_load_explicit(&parcels->wait_ns, memory_order_relaxed);
	pthread_mutex_lock(&parcels->lock);
	for (const struct reel_bin *bin = parcels->bins; bin; bin = bin->next)
		add_bin(bin, stats);
	pthread_mutex_unlock(&parcels->lock);
}
