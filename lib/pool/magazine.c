/* SPDX-License-Identifier: MIT */
/*
 * Each thread has two magazines for each kind of slab, after Bonwick and Adams, "Magazines and
 * Vmem" (USENIX 2001). With one magazine, a thread that takes and gives by turns while it is full
 * or empty would use the shared list each time. A thread takes the slab that it gave last, so that
 * the next forward sweep starts on memory that is in the cache. Any thread runs these functions;
 * only its owner changes a cache, and a cache without an owner has empty magazines.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/annotate.h"
#include "os/cancel.h"
#include "pool.h"
#include "trace/trace.h"

/* Only the owner of the cache writes the counter, so no read-modify-write is needed. */
static uint64_t one_more(_Atomic uint64_t *counter)
{
	uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);

	reel_yield_point();
	return value + 1;
}

/* Relaxed is enough: the release in count_give() also makes the take of the same slab visible. */
static void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, one_more(counter), memory_order_relaxed);
}

/* An address that no other running thread has. */
static const void *thread_name(void)
{
	static _Thread_local char here;

	return &here;
}

static bool is_mine(const struct reel_cache *cache)
{
	/* Relaxed: a thread reads its own name only where it has stored it. */
	return atomic_load_explicit(&cache->owner, memory_order_relaxed) == thread_name();
}

static bool is_empty(const struct reel_cache *cache)
{
	unsigned slabs = 0;

	for (enum reel_slab_kind kind = REEL_SLAB_SMALL; kind < REEL_SLAB_LARGE; kind++)
		slabs += cache->loaded[kind].count + cache->previous[kind].count;
	return slabs == 0;
}

static struct reel_cache *adopt_cache(struct reel_pool *pool)
{
	/* Acquire: pairs with the release in new_cache(). Makes the cache visible. */
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_acquire);

	for (; cache; cache = cache->next) {
		const void *nobody = NULL;

		reel_yield_point();
		/* Acquire: pairs with the release in leave_cache(). Makes the magazines visible. */
		if (atomic_compare_exchange_strong_explicit(&cache->owner, &nobody, thread_name(),
							    memory_order_acquire,
							    memory_order_relaxed))
			return cache;
	}
	return NULL;
}

static void leave_cache(struct reel_cache *cache)
{
	REEL_ASSERT(is_mine(cache) && is_empty(cache));
	/* Release: pairs with the acquire in adopt_cache(). The next owner sees empty magazines. */
	atomic_store_explicit(&cache->owner, NULL, memory_order_release);
}

static struct reel_cache *new_cache(struct reel_pool *pool)
{
	struct reel_cache *cache = calloc(1, sizeof *cache);

	if (!cache)
		return NULL;
	cache->pool = pool;
	atomic_store_explicit(&cache->owner, thread_name(), memory_order_relaxed);
	/* Mutants survive (statement): the exchange fails once and sets `cache->next`. */
	cache->next = atomic_load_explicit(&pool->caches, memory_order_relaxed);
	reel_yield_point();
	/*
	 * Release: pairs with the acquires in adopt_cache(), is_own(), and count_gives() and
	 * add_takes() (pool.c). Makes the cache visible.
	 */
	while (!atomic_compare_exchange_weak_explicit(&pool->caches, &cache->next, cache,
						      memory_order_release, memory_order_relaxed))
		;
	return cache;
}

/* NULL: there is no memory for a cache. This thread then uses the shared lists directly. */
static struct reel_cache *own_cache(struct reel_pool *pool)
{
	struct reel_cache *cache = pthread_getspecific(pool->cache_key);

	REEL_ASSERT(!cache || (cache->pool == pool && is_mine(cache)));
	if (cache)
		return cache;
	cache = adopt_cache(pool);
	REEL_ASSERT(!cache || is_empty(cache));
	if (!cache)
		cache = new_cache(pool);
	if (cache && pthread_setspecific(pool->cache_key, cache)) {
		leave_cache(cache);
		return NULL;
	}
	return cache;
}

static struct reel_slab *magazine_pop(struct reel_magazine *magazine)
{
	REEL_ASSERT(magazine->count > 0);
	return magazine->slab[--magazine->count];
}

static void magazine_push(struct reel_magazine *magazine, struct reel_slab *slab)
{
	REEL_ASSERT(magazine->count < REEL_MAGAZINE_SLABS);
	REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_EMPTY && slab->frame);
	magazine->slab[magazine->count++] = slab;
}

/*
 * Gives the slabs of a magazine to the shared list, as a chain. Its first slab is the slab given
 * last.
 */
static void magazine_unload(struct reel_pool *pool, enum reel_slab_kind kind,
			    struct reel_magazine *magazine)
{
	struct reel_slab *chain = NULL;

	for (unsigned i = 0; i < magazine->count; i++) {
		magazine->slab[i]->below = chain;
		chain = magazine->slab[i];
	}
	magazine->count = 0;
	if (chain)
		reel_supply_give(pool, kind, chain);
}

/* Fills an empty magazine so that its owner takes the first slab of the chain first. */
static void magazine_load(struct reel_magazine *magazine, struct reel_slab *chain)
{
	struct reel_slab *slab;
	unsigned place = 0;

	REEL_ASSERT(magazine->count == 0);
	for (slab = chain; slab; slab = slab->below)
		magazine->count++;
	REEL_ASSERT(magazine->count <= REEL_MAGAZINE_SLABS);
	for (slab = chain; slab; slab = slab->below)
		magazine->slab[magazine->count - ++place] = slab;
}

static void exchange_magazines(struct reel_cache *cache, enum reel_slab_kind kind)
{
	struct reel_magazine loaded = cache->loaded[kind];

	REEL_ASSERT(loaded.count == 0 || cache->previous[kind].count == 0);
	cache->loaded[kind] = cache->previous[kind];
	cache->previous[kind] = loaded;
}

static int cache_take(struct reel_cache *cache, enum reel_slab_kind kind, struct reel_slab **taken)
{
	struct reel_magazine *loaded = &cache->loaded[kind];
	struct reel_slab *chain;
	int error;

	if (!loaded->count && cache->previous[kind].count)
		exchange_magazines(cache, kind);
	if (!loaded->count) {
		error = reel_supply_take(cache->pool, kind, &chain);
		if (error)
			return error;
		magazine_load(loaded, chain);
		count(&cache->shared_takes);
	}
	*taken = magazine_pop(loaded);
	return 0;
}

static void cache_give(struct reel_cache *cache, struct reel_slab *slab)
{
	enum reel_slab_kind kind = slab->kind;
	unsigned full = cache->pool->magazine_slabs;

	if (cache->loaded[kind].count >= full) {
		magazine_unload(cache->pool, kind, &cache->previous[kind]);
		exchange_magazines(cache, kind);
	}
	REEL_ASSERT(cache->loaded[kind].count < full);
	magazine_push(&cache->loaded[kind], slab);
}

static void uncached_give(struct reel_pool *pool, struct reel_slab *slab)
{
	slab->below = NULL;
	reel_supply_give(pool, slab->kind, slab);
}

/*
 * Each take and give of a slab calls this function. The check of the old state costs a few
 * nanoseconds and finds a tape closed twice, a copied tape or a fault of the list, before two tapes
 * write to one frame.
 * Unreached: the fault, which ends the child of a test by abort(), so that it writes no counts.
 */
static void change_state(struct reel_slab *slab, enum reel_slab_state from,
			 enum reel_slab_state to)
{
	REEL_ASSERT(reel_slab_may_become(from, to));
	/* Relaxed is enough: the shared lists order the contents of the slab. */
	unsigned state = atomic_exchange_explicit(&slab->state, (uint8_t)to, memory_order_relaxed);

	if (state == (unsigned)from)
		return;
	REEL_UNCANCELLED;
	fprintf(stderr,
		"reel: a slab was %s twice: a tape was copied, closed twice or overwritten\n",
		to == REEL_SLAB_OPEN ? "handed out" : "given back");
	abort();
}

/*
 * Large slabs are few and need no magazine. With a store, no thread keeps whole slabs in magazines:
 * each of them has a frame that another thread may wait for. Under a tight budget (`magazine_slabs`
 * is 0) no thread keeps first slabs either, because other threads would have to split further
 * frames.
 */
static bool has_magazines(const struct reel_pool *pool, enum reel_slab_kind kind)
{
	return (kind < REEL_SLAB_WHOLE && pool->magazine_slabs) ||
	       (kind == REEL_SLAB_WHOLE && !reel_pool_has_store(pool));
}

static int take(struct reel_pool *pool, struct reel_cache *cache, enum reel_slab_kind kind,
		size_t bytes, struct reel_slab **taken)
{
	if (kind == REEL_SLAB_LARGE)
		return reel_supply_take_large(pool, bytes, taken);
	if (kind == REEL_SLAB_LENT)
		return reel_supply_take_lent(pool, bytes, taken);
	return cache && has_magazines(pool, kind) ? cache_take(cache, kind, taken)
						  : reel_supply_take_one(pool, kind, taken);
}

static int take_after_shortage(struct reel_pool *pool, struct reel_cache *cache,
			       struct reel_shortage shortage, struct reel_slab **taken)
{
	while (shortage.error && reel_pool_find_memory(pool, &shortage))
		shortage.error = take(pool, cache, shortage.kind, shortage.bytes, taken);
	return shortage.error && shortage.refusal ? shortage.refusal : shortage.error;
}

/* Bytes below 0: they are no longer in use. */
static void trace_use(struct reel_pool *pool, enum reel_slab_kind kind, int64_t bytes)
{
	size_t in_use = 0;

	/* Relaxed is enough, both: figures. */
	if (pool->counts_use)
		in_use = (size_t)bytes + atomic_fetch_add_explicit(&pool->in_use, (size_t)bytes,
								   memory_order_relaxed);
	/* A program may have thousands of short tapes. */
	if (kind >= REEL_SLAB_WHOLE)
		REEL_TRACE(MEMORY, 0, pool->number,
			   (int64_t)atomic_load_explicit(&pool->resident, memory_order_relaxed),
			   (int64_t)in_use);
}

int reel_pool_take(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
		   struct reel_slab **taken)
{
	struct reel_cache *cache = own_cache(pool);
	int error = take(pool, cache, kind, bytes, taken);

	if (error)
		error = take_after_shortage(pool, cache,
					    (struct reel_shortage){.error = error, .kind = kind,
								   .bytes = bytes,
								   .waits = REEL_WAITS_FOR_STORE},
					    taken);
	if (error == -EDQUOT)
		atomic_fetch_add_explicit(&pool->refused, 1, memory_order_relaxed);
	if (error) {
		REEL_TRACE(REFUSE, 0, pool->number, (int64_t)bytes, error);
		return error;
	}
	REEL_ASSERT((*taken)->kind == kind && !(*taken)->frame == (kind == REEL_SLAB_LENT));
	REEL_ASSERT(kind < REEL_SLAB_LARGE || (*taken)->bytes >= bytes);
	if (cache)
		count(&cache->takes);
	else
		atomic_fetch_add_explicit(&pool->uncached_takes, 1, memory_order_relaxed);
	change_state(*taken, REEL_SLAB_EMPTY, REEL_SLAB_OPEN);
	if ((*taken)->frame)
		reel_annotate_allow((*taken)->frame, (*taken)->bytes);
	reel_budget_count_use(pool, *taken);
	trace_use(pool, kind, (int64_t)(*taken)->bytes);
	return 0;
}

static void count_give(struct reel_pool *pool, struct reel_cache *cache)
{
	/*
	 * Release, both: pairs with the acquires in count_gives() (pool.c), which then also counts
	 * the take.
	 */
	if (cache)
		atomic_store_explicit(&cache->gives, one_more(&cache->gives), memory_order_release);
	else
		atomic_fetch_add_explicit(&pool->uncached_gives, 1, memory_order_release);
}

void reel_pool_count_give(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes)
{
	count_give(pool, own_cache(pool));
	trace_use(pool, kind, -(int64_t)bytes);
}

void reel_pool_give(struct reel_pool *pool, struct reel_slab *slab)
{
	struct reel_cache *cache = own_cache(pool);

	REEL_ASSERT(slab->frame);
	reel_slab_forbid(slab);
	change_state(slab, REEL_SLAB_OPEN, REEL_SLAB_EMPTY);
	count_give(pool, cache);
	trace_use(pool, slab->kind, -(int64_t)slab->bytes);
	reel_budget_end_use(pool, slab);
	if (cache && has_magazines(pool, slab->kind))
		cache_give(cache, slab);
	else
		uncached_give(pool, slab);
}

void reel_pool_give_frameless(struct reel_pool *pool, struct reel_slab *slab)
{
	REEL_ASSERT(!slab->frame);
	reel_pool_count_give(pool, slab->kind, slab->bytes);
	change_state(slab, REEL_SLAB_OPEN, REEL_SLAB_EMPTY);
	freelist_push(&pool->frameless, slab);
}

static void flush(struct reel_cache *cache)
{
	REEL_ASSERT(is_mine(cache));
	for (enum reel_slab_kind kind = REEL_SLAB_SMALL; kind < REEL_SLAB_LARGE; kind++) {
		magazine_unload(cache->pool, kind, &cache->previous[kind]);
		magazine_unload(cache->pool, kind, &cache->loaded[kind]);
	}
	REEL_ASSERT(is_empty(cache));
}

void reel_pool_flush(struct reel_pool *pool)
{
	struct reel_cache *cache = pthread_getspecific(pool->cache_key);

	if (cache)
		flush(cache);
}

/* Returns true if the pool has this cache, and this thread owns it. */
static bool is_own(struct reel_pool *pool, const struct reel_cache *searched)
{
	/* Acquire: pairs with the release in new_cache(). */
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_acquire);

	while (cache && cache != searched)
		cache = cache->next;
	return cache && is_mine(cache);
}

/*
 * Runs when a thread ends. Another thread may have closed the pool, or may close it at the same
 * time: a program does not know when OpenMP ends a thread, and pthread_key_delete() waits for no
 * destructor. This function therefore locks the list of pools, and uses `retiring` only if a pool
 * of the list has this cache:
 *
 *	found        the pool is closed only after the lock is released, with the flush done
 *	not found    the pool has left the list, and this function does not touch its memory
 *	another one  new memory at the same address has a different `owner`
 *
 * The flush under the lock calls no store: in a pool with a store, magazines have small and first
 * slabs only, whose frames never go back to the system.
 */
void reel_cache_retire(void *retiring)
{
	struct reel_pool *pool = reel_fork_lock_pools();

	while (pool && !is_own(pool, retiring))
		pool = pool->next_pool;
	if (pool) {
		flush(retiring);
		reel_yield_point();
		leave_cache(retiring);
	}
	reel_fork_unlock_pools();
}

/*
 * Runs in the child of a fork. The other threads do not exist there. The fork may have come in the
 * middle of a change to their magazines, so this function counts their slabs as lost and does not
 * read them. Relaxed is enough: the child has one thread, and pthread_create() orders the threads
 * to come.
 */
void reel_cache_forget_others(struct reel_pool *pool)
{
	struct reel_cache *own = pthread_getspecific(pool->cache_key);
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_relaxed);

	REEL_ASSERT(!own || is_mine(own));
	for (; cache; cache = cache->next) {
		unsigned lost = 0;

		if (cache == own || !atomic_load_explicit(&cache->owner, memory_order_relaxed))
			continue;
		for (enum reel_slab_kind kind = REEL_SLAB_SMALL; kind < REEL_SLAB_LARGE; kind++) {
			lost += cache->loaded[kind].count + cache->previous[kind].count;
			cache->loaded[kind].count = 0;
			cache->previous[kind].count = 0;
		}
		atomic_fetch_add_explicit(&pool->lost_slabs, lost, memory_order_relaxed);
		atomic_store_explicit(&cache->owner, NULL, memory_order_relaxed);
	}
}
