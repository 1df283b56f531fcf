/* SPDX-License-Identifier: MIT */
/*
 * Checks the options of a pool, creates and destroys it, and counts. One thread creates a pool, and
 * one destroys it when no other uses it; any thread asks for figures at any time. A pool has
 * 0 < first_slab_bytes <= slab_bytes <= hard_budget and soft_budget <= hard_budget.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include <reel/extend.h>

#include "os/cancel.h"
#include "os/integer.h"
#include "os/os.h"
#include "pool.h"
#include "trace/profile.h"
#include "trace/trace.h"

#define DEFAULT_SLAB_BYTES ((size_t)2 << 20)
#define DEFAULT_FIRST_SLAB_BYTES ((size_t)64 << 10)
#define SMALL_SLAB_BYTES ((size_t)4 << 10)
#define LARGEST_SLAB_BYTES ((size_t)1 << 30)
/* A limit, so that a few tapes do not use up the descriptors of the pool. */
#define MAX_FIRST_SLABS 1024
/* Two full magazines of one thread hold at most this part of the soft budget. */
#define MAGAZINE_SHARE 32
#define PAGES (REEL_POOL_SMALL_PAGES | REEL_POOL_HUGE_PAGES)
#define FLAGS (REEL_POOL_CHECKED | PAGES | REEL_POOL_OBEY_LIMITS)

size_t reel_pool_slab_bytes(const struct reel_pool_options *options)
{
	return options->slab_bytes ? options->slab_bytes : DEFAULT_SLAB_BYTES;
}

static size_t first_slab_bytes(const struct reel_pool_options *options)
{
	size_t whole = reel_pool_slab_bytes(options), first = DEFAULT_FIRST_SLAB_BYTES;

	if (options->first_slab_bytes)
		return options->first_slab_bytes;
	while (whole / first > MAX_FIRST_SLABS)
		first *= 2;
	return whole % first ? whole : first;
}

/*
 * The lowest slab of a tape, unless the program says how large first slabs are. A program may have
 * a tape for each of its cells or particles, with a few dozen values.
 */
static size_t small_slab_bytes(const struct reel_pool_options *options)
{
	bool divides = first_slab_bytes(options) % SMALL_SLAB_BYTES == 0;

	return options->first_slab_bytes || !divides ||
			       first_slab_bytes(options) == reel_pool_slab_bytes(options)
		       ? 0 : SMALL_SLAB_BYTES;
}

static size_t hard_budget(const struct reel_pool_options *options)
{
	return options->hard_budget ? options->hard_budget : SIZE_MAX;
}

static size_t soft_budget(const struct reel_pool_options *options)
{
	size_t hard = hard_budget(options);

	if (options->soft_budget)
		return options->soft_budget;
	return options->store ? hard - hard / 4 : hard;
}

static const char *store_problem(reel_store *store, size_t bytes)
{
	REEL_UNCANCELLED;
	/* Mutants survive (constant): the store sets all members. */
	struct reel_store_capacity capacity = {0};

	reel_store_get_capacity(store, &capacity);
	if (!capacity.align || capacity.align & (capacity.align - 1))
		return "the store's capacity must name an alignment: a power of two, 1 for none";
	/* Large slabs are mapped, and so begin at pages. */
	if (capacity.align > reel_os_page_bytes())
		return "the store's alignment must be at most a page";
	if (bytes % capacity.align)
		return "slab_bytes must be a multiple of the store's alignment";
	if (capacity.max_bytes && bytes > capacity.max_bytes)
		return "slab_bytes must not be more than the store takes at once: choose smaller "
		       "slabs, or a larger max_bytes of a codec (2 MiB by default), slot_bytes of "
		       "a "
		       "file or of a store on a GPU, or limit of file size";
	return NULL;
}

/*
 * With a store, magazines have small and first slabs only. Idle first slabs are a part of the
 * budget that no store takes, so two full magazines of them have at most an eighth of a slab.
 */
static unsigned magazine_slabs(const struct reel_pool_options *options)
{
	size_t share = soft_budget(options) / MAGAZINE_SHARE / 2 / reel_pool_slab_bytes(options);
	size_t pieces = reel_pool_slab_bytes(options) / first_slab_bytes(options);

	if (options->magazine_slabs)
		return options->magazine_slabs;
	share = reel_min_size(share, REEL_MAGAZINE_SLABS);
	if (options->store)
		return (unsigned)reel_min_size(share, pieces / 16);
	return share ? (unsigned)share : 1;
}

const char *reel_pool_problem(const struct reel_pool_options *options)
{
	const char *problem;
	size_t whole, first;

	if (!options)
		return NULL;
	whole = reel_pool_slab_bytes(options);
	first = first_slab_bytes(options);
	if (whole % 64 || whole > LARGEST_SLAB_BYTES)
		return "slab_bytes must be a multiple of 64, from 64 bytes to 1 GiB";
	if (first % 64 || first > whole || whole % first || whole / first > MAX_FIRST_SLABS)
		return "first_slab_bytes must be a multiple of 64 that divides slab_bytes into at "
		       "most 1024";
	if (options->hard_budget > PTRDIFF_MAX && options->hard_budget != SIZE_MAX)
		return "hard_budget is negative, or more than can be addressed; 0 is none";
	if (options->hard_budget && options->hard_budget < whole)
		return "hard_budget must have room for one slab (2 MiB unless slab_bytes says "
		       "else)";
	problem = reel_share_name_problem(options->shared_budget);
	if (problem)
		return problem;
	if (*options->shared_budget && !options->hard_budget)
		return "shared_budget needs a hard_budget: that of all processes together";
	if (options->soft_budget > hard_budget(options))
		return "soft_budget must not be above hard_budget";
	if (options->magazine_slabs > REEL_MAGAZINE_SLABS)
		return "magazine_slabs must be at most 16";
	if (options->flags & ~FLAGS)
		return "flags must be made of REEL_POOL_CHECKED, REEL_POOL_SMALL_PAGES, "
		       "REEL_POOL_OBEY_LIMITS and REEL_POOL_HUGE_PAGES";
	if ((options->flags & PAGES) == PAGES)
		return "flags must have one of REEL_POOL_SMALL_PAGES and REEL_POOL_HUGE_PAGES, or "
		       "none, to choose by the costs";
	if (options->store && !options->hard_budget)
		return "a store needs a hard_budget: without one nothing ever goes there";
	problem = options->store ? store_problem(options->store, whole) : NULL;
	if (problem)
		return problem;
	return reel_reserved_problem(options->reserved, sizeof options->reserved);
}

/*
 * Slabs that lie higher on a tape than the size of the last cache are in no cache when they are
 * pushed on. The limit is half as much again, since values pushed last would still be in the cache
 * when they are popped.
 */
static size_t stream_above(void)
{
	size_t cache = reel_os_cache_bytes(3);

	return cache ? cache + cache / 2 : SIZE_MAX;
}

static void configure_pool(struct reel_pool *pool, const struct reel_pool_options *options)
{
	pool->hard_budget = hard_budget(options);
	atomic_init(&pool->soft_budget, soft_budget(options));
	pool->slab_bytes = reel_pool_slab_bytes(options);
	pool->first_slab_bytes = first_slab_bytes(options);
	pool->small_slab_bytes = small_slab_bytes(options);
	pool->stream_above = stream_above();
	pool->magazine_slabs = magazine_slabs(options);
	pool->flags = options->flags;
	pool->chooses_pages = !(options->flags & PAGES) && !options->store &&
			      reel_os_has_huge_pages();
}

/* Mutants survive: an empty list is zero, except a generation that UBSan sees. */
static void initialise_lists(struct reel_pool *pool)
{
	for (unsigned kind = 0; kind < REEL_SLAB_LARGE; kind++)
		freelist_init(&pool->warm[kind], pool->table);
	for (unsigned n = 0; n < REEL_LARGE_LISTS; n++)
		freelist_init(&pool->large[n], pool->table);
	freelist_init(&pool->cold, pool->table);
	freelist_init(&pool->frameless, pool->table);
	freelist_init(&pool->lent_back, pool->table);
}

static void write_figure(FILE *answer, const char *name, uint64_t value)
{
	if (value != UINT64_MAX)
		fprintf(answer, " %s=%" PRIu64, name, value);
}

/* A line for `reel top`. Budgets without a bound are not written. */
static void write_live(const struct reel_live_object *object, FILE *answer)
{
	struct reel_pool *pool =
		(struct reel_pool *)((const char *)object - offsetof(struct reel_pool, live));
	struct reel_pool_stats stats;

	reel_pool_get_stats(pool, &stats);
	fprintf(answer, "pool number=%u", pool->number);
	if (pool->parent)
		fprintf(answer, " parent=%u", pool->parent->number);
	if (pool->share)
		fprintf(answer, " shared_budget=%s share_bytes=%zu share_short_ms=%" PRIu64,
			pool->share->path, reel_share_claimed(pool->share),
			reel_share_short_ms(pool->share));
	/* Relaxed: statistics guard no other data. */
	write_figure(answer, "in_use_bytes",
		     atomic_load_explicit(&pool->in_use, memory_order_relaxed));
#define WRITE(type, name, text) write_figure(answer, #name, stats.name);
	REEL_POOL_FIGURES(WRITE)
#undef WRITE
	fputc('\n', answer);
}

static _Atomic unsigned pools;

int reel_pool_create(struct reel_pool **created, const struct reel_pool_options *options)
{
	struct reel_pool *pool = aligned_alloc(_Alignof(struct reel_pool), sizeof *pool);

	if (!pool)
		return -ENOMEM;
	*pool = (struct reel_pool){.live.write = write_live};
	/* Relaxed is enough: a number that orders nothing. */
	pool->number = 1 + atomic_fetch_add_explicit(&pools, 1, memory_order_relaxed);
	configure_pool(pool, options);
	REEL_ASSERT(pool->slab_bytes <= pool->hard_budget &&
		    reel_soft_budget(pool) <= pool->hard_budget);
	REEL_ASSERT(pool->slab_bytes % pool->first_slab_bytes == 0 &&
		    pool->magazine_slabs <= REEL_MAGAZINE_SLABS);
	pool->table = reel_os_map(reel_supply_table_bytes(), 1);
	if (!pool->table)
		goto free_pool;
	initialise_lists(pool);
	if (pthread_key_create(&pool->cache_key, reel_cache_retire))
		goto unmap_table;
	if (reel_fork_prepare())
		goto delete_key;
	reel_fork_lock_pools();
	reel_trace_open();
	reel_profile_open();
	reel_fork_unlock_pools();
	*created = pool;
	return 0;

delete_key:
	pthread_key_delete(pool->cache_key);
unmap_table:
	reel_os_unmap(pool->table, reel_supply_table_bytes());
free_pool:
	free(pool);
	return -ENOMEM;
}

struct reel_frame_listener *reel_pool_listen(struct reel_pool *pool,
					     struct reel_frame_listener *listener)
{
	struct reel_frame_listener *before = NULL;

	/*
	 * Release: pairs with the acquires in reel_pool_tell_taken() and reel_pool_tell_returned().
	 * Makes the listener visible. Acquire: pairs with this release of another thread.
	 */
	atomic_compare_exchange_strong_explicit(&pool->listener, &before, listener,
						memory_order_acq_rel, memory_order_acquire);
	return before ? before : listener;
}

/* The pool has all frames that were carved from mappings still, in memory or not. */
static void dismiss_listener(struct reel_pool *pool)
{
	/* Relaxed is enough: no other thread uses the pool. */
	struct reel_frame_listener *listener =
		atomic_load_explicit(&pool->listener, memory_order_relaxed);

	if (listener)
		listener->closed(listener);
}

static void free_caches(struct reel_pool *pool)
{
	/* Relaxed is enough: no other thread uses the pool. */
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_relaxed);

	while (cache) {
		struct reel_cache *next = cache->next;

		free(cache);
		cache = next;
	}
}

static bool all_slabs_are_empty(struct reel_pool *pool)
{
	/* Relaxed is enough: no other thread uses the pool. */
	size_t used = atomic_load_explicit(&pool->table_used, memory_order_relaxed);

	for (size_t i = 0; i < used; i++)
		if (reel_slab_state_of(&pool->table[i]) != REEL_SLAB_EMPTY)
			return false;
	return true;
}

void reel_pool_destroy(struct reel_pool *pool)
{
	/* Relaxed is enough: no other thread uses the pool. */
	struct reel_pool_client *parcels =
		atomic_load_explicit(&pool->parcels, memory_order_relaxed);
	struct reel_slab *large;

	REEL_ASSERT(!reel_pool_has_users(pool));
	REEL_ASSERT_EXPENSIVE(all_slabs_are_empty(pool));
	if (parcels)
		parcels->verbs->close(parcels);
	pthread_key_delete(pool->cache_key);
	free_caches(pool);
	while ((large = reel_supply_pop_large(pool)))
		reel_trim_large(pool, large);
	dismiss_listener(pool);
	reel_mapping_unmap_all(pool);
	reel_os_unmap(pool->table, reel_supply_table_bytes());
	/* Last: other processes may use the memory as soon as the share is gone. */
	if (pool->share)
		reel_share_leave(pool->share);
	free(pool);
}

static uint64_t bound(size_t budget)
{
	return budget == SIZE_MAX ? UINT64_MAX : budget;
}

static uint64_t count_gives(struct reel_pool *pool)
{
	/*
	 * Acquire, here and below: pairs with the releases in count_give() and new_cache()
	 * (magazine.c), so that the take of each give that is counted is visible.
	 */
	uint64_t gives = atomic_load_explicit(&pool->uncached_gives, memory_order_acquire);
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_acquire);

	for (; cache; cache = cache->next)
		gives += atomic_load_explicit(&cache->gives, memory_order_acquire);
	reel_yield_point();
	return gives;
}

static void add_takes(struct reel_pool *pool, struct reel_pool_stats *stats)
{
	/* Acquire: pairs with the release in new_cache() (magazine.c). The caches are visible. */
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_acquire);

	for (; cache; cache = cache->next) {
		stats->takes += atomic_load_explicit(&cache->takes, memory_order_relaxed);
		stats->shared_takes +=
			atomic_load_explicit(&cache->shared_takes, memory_order_relaxed);
	}
}

/* Reads all gives before any take, so that no give is counted whose take is not. */
void reel_pool_get_stats(reel_pool *pool, struct reel_pool_stats *stats)
{
	uint64_t gives = count_gives(pool);
	uint64_t uncached = atomic_load_explicit(&pool->uncached_takes, memory_order_relaxed);

	*stats = (struct reel_pool_stats){
		.hard_budget = bound(pool->hard_budget),
		.soft_budget = bound(reel_soft_budget(pool)),
		.slab_bytes = pool->slab_bytes,
		.first_slab_bytes = pool->first_slab_bytes,
		.resident_bytes = atomic_load_explicit(&pool->resident, memory_order_relaxed),
		.peak_resident_bytes =
			atomic_load_explicit(&pool->peak_resident, memory_order_relaxed),
		.slabs = atomic_load_explicit(&pool->table_used, memory_order_relaxed),
		.takes = uncached,
		.shared_takes = uncached,
		.fresh_slabs = atomic_load_explicit(&pool->fresh_slabs, memory_order_relaxed),
		.refused = atomic_load_explicit(&pool->refused, memory_order_relaxed),
		.trimmed_bytes = atomic_load_explicit(&pool->trimmed_bytes, memory_order_relaxed),
		.lost_slabs = atomic_load_explicit(&pool->lost_slabs, memory_order_relaxed),
	};
	add_takes(pool, stats);
	if (reel_pool_has_store(pool))
		pool->reclaim->add_stats(pool->reclaimer, stats);
	REEL_ASSERT(stats->takes >= gives);
	stats->slabs_in_use = stats->takes - gives;
}

const char *reel_pool_implementation(void)
{
	return REEL_FREELIST_IMPLEMENTATION;
}
