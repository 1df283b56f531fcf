/* SPDX-License-Identifier: MIT */
/*
 * A thread takes slabs from its own magazines and gives them back there. Each thread has two
 * magazines for each kind of slab (Bonwick and Adams, "Magazines and Vmem", USENIX 2001): with two,
 * a thread that takes and gives at the edge of one does not go to the shared list each time. The
 * slab given last is taken first, so that the next forward sweep starts on warm memory.
 *
 * Any thread calls these functions; only its owner touches a cache. A slab is EMPTY while it is in
 * a magazine, and is in one magazine at a time.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/annotate.h"
#include "os/cancel.h"
#include "os/os.h"
#include "pool.h"

/* Only the owner of the cache writes its counters, so no read-modify-write is needed. */
static uint64_t one_more(_Atomic uint64_t *counter)
{
	uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);

	reel_yield_point();
	return value + 1;
}

/* Relaxed is enough: count_give() releases, so a thread that counts the give counts the take. */
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

static struct reel_cache *adopt_cache(struct reel_pool *pool)
{
	/* Acquire: pairs with the release in new_cache(). */
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_acquire);

	for (; cache; cache = cache->next) {
		const void *nobody = NULL;

		reel_yield_point();
		/* Acquire: pairs with the release in leave_cache(). */
		if (atomic_compare_exchange_strong_explicit(&cache->owner, &nobody, thread_name(),
							    memory_order_acquire,
							    memory_order_relaxed)) {
			REEL_ASSERT(cache->pool == pool);
			return cache;
		}
	}
	return NULL;
}

static bool is_mine(const struct reel_cache *cache)
{
	/* Relaxed is enough: a thread finds its own name only where it has stored it. */
	return atomic_load_explicit(&cache->owner, memory_order_relaxed) == thread_name();
}

/* Release: pairs with the acquire in adopt_cache(). The next owner sees the empty magazines. */
static void leave_cache(struct reel_cache *cache)
{
	REEL_ASSERT(is_mine(cache));
	atomic_store_explicit(&cache->owner, NULL, memory_order_release);
}

static struct reel_cache *new_cache(struct reel_pool *pool)
{
	struct reel_cache *cache = calloc(1, sizeof *cache);

	if (!cache)
		return NULL;
	cache->pool = pool;
	atomic_store_explicit(&cache->owner, thread_name(), memory_order_relaxed);
	cache->next = atomic_load_explicit(&pool->caches, memory_order_relaxed);
	reel_yield_point();
	/* Release: pairs with the acquire in adopt_cache() and the other readers of the list. */
	while (!atomic_compare_exchange_weak_explicit(&pool->caches, &cache->next, cache,
						      memory_order_release, memory_order_relaxed))
		;
	return cache;
}

/* Returns NULL if there is no memory for a cache. This thread then uses the shared lists. */
static struct reel_cache *own_cache(struct reel_pool *pool)
{
	struct reel_cache *cache = pthread_getspecific(pool->cache_key);

	REEL_ASSERT(!cache || (cache->pool == pool && is_mine(cache)));
	if (cache)
		return cache;
	cache = adopt_cache(pool);
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
	magazine->slab[magazine->count++] = slab;
}

/* Empties a magazine into a chain whose first slab is the one given last. */
static struct reel_slab *magazine_unload(struct reel_magazine *magazine)
{
	struct reel_slab *chain = NULL;

	for (unsigned i = 0; i < magazine->count; i++) {
		REEL_ASSERT(reel_slab_state_of(magazine->slab[i]) == REEL_SLAB_EMPTY);
		magazine->slab[i]->below = chain;
		chain = magazine->slab[i];
	}
	magazine->count = 0;
	return chain;
}

/* Fills an empty magazine so that the chain's first slab is taken first. */
static void magazine_load(struct reel_magazine *magazine, struct reel_slab *chain)
{
	struct reel_slab *slab;
	unsigned place = 0;

	REEL_ASSERT(!magazine->count);
	for (slab = chain; slab; slab = slab->below)
		magazine->count++;
	REEL_ASSERT(magazine->count <= REEL_MAGAZINE_SLABS);
	for (slab = chain; slab; slab = slab->below)
		magazine->slab[magazine->count - ++place] = slab;
}

static void exchange_magazines(struct reel_cache *cache, enum reel_slab_kind kind)
{
	struct reel_magazine loaded = cache->loaded[kind];

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
	REEL_ASSERT((*taken)->kind == kind);
	return 0;
}

static void cache_give(struct reel_cache *cache, struct reel_slab *slab)
{
	enum reel_slab_kind kind = slab->kind;
	unsigned full = cache->pool->magazine_slabs;

	REEL_ASSERT(full > 0 && full <= REEL_MAGAZINE_SLABS);
	if (cache->loaded[kind].count >= full) {
		if (cache->previous[kind].count)
			reel_supply_give(cache->pool, kind,
					 magazine_unload(&cache->previous[kind]));
		exchange_magazines(cache, kind);
	}
	magazine_push(&cache->loaded[kind], slab);
}

static int uncached_take(struct reel_pool *pool, enum reel_slab_kind kind,
			 struct reel_slab **taken)
{
	int error = reel_supply_take(pool, kind, taken);

	if (!error && (*taken)->below)
		reel_supply_give(pool, kind, (*taken)->below);
	return error;
}

static void uncached_give(struct reel_pool *pool, struct reel_slab *slab)
{
	REEL_ASSERT(reel_slab_state_of(slab) == REEL_SLAB_EMPTY);
	slab->below = NULL;
	reel_supply_give(pool, slab->kind, slab);
}

/*
 * Every slab changes hands through this function. To compare the old state costs some nanoseconds,
 * also in a release, and finds a tape that was copied or closed twice, or a fault of a list, before
 * two tapes write to one frame.
 */
static void change_state(struct reel_slab *slab, enum reel_slab_state from,
			 enum reel_slab_state to)
{
	REEL_ASSERT(reel_slab_may_become(from, to));
	/* Relaxed is enough: the shared lists order what is in a slab. */
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
 * Large slabs are few, so they go to their list. With a store no thread keeps whole slabs: each of
 * them is a frame for which another thread may wait. Under a tight budget no thread keeps first
 * slabs either, since other threads would split frames for want of them.
 */
static bool has_magazines(const struct reel_pool *pool, enum reel_slab_kind kind)
{
	return (kind == REEL_SLAB_FIRST && pool->magazine_slabs) ||
	       (kind == REEL_SLAB_WHOLE && !pool->reclaim->moves_frames);
}

static int take(struct reel_pool *pool, struct reel_cache *cache, enum reel_slab_kind kind,
		size_t bytes, struct reel_slab **taken)
{
	if (kind == REEL_SLAB_LARGE)
		return reel_supply_take_large(pool, bytes, taken);
	return cache && has_magazines(pool, kind) ? cache_take(cache, kind, taken)
						  : uncached_take(pool, kind, taken);
}

/*
 * A large slab needs memory that other slabs give back to the system, so these must be whole pages.
 */
static bool large_may_fit(struct reel_pool *pool, size_t bytes)
{
	return reel_supply_large_bytes(bytes) <= pool->hard_budget &&
	       pool->slab_bytes % reel_os_page_bytes() == 0 &&
	       /* Relaxed is enough: a hint. */
	       !atomic_load_explicit(&pool->frames_are_locked, memory_order_relaxed);
}

/* Whether to wait until the offload thread evicts a slab, which leaves its frame to this one. */
static bool store_helps(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes, int error)
{
	if (!pool->reclaim->moves_frames)
		return false;
	if (error == -ENOMEM)
		return kind == REEL_SLAB_WHOLE;
	return error == -EDQUOT && (kind != REEL_SLAB_LARGE || large_may_fit(pool, bytes));
}

int reel_pool_take(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
		   struct reel_slab **taken)
{
	struct reel_cache *cache = own_cache(pool);
	int error;

	do
		error = take(pool, cache, kind, bytes, taken);
	while (error && store_helps(pool, kind, bytes, error) &&
	       pool->reclaim->await_frame(pool, kind == REEL_SLAB_LARGE, &error));
	if (error == -EDQUOT)
		atomic_fetch_add_explicit(&pool->refused, 1, memory_order_relaxed);
	if (error)
		return error;
	if (cache)
		count(&cache->takes);
	else
		atomic_fetch_add_explicit(&pool->uncached_takes, 1, memory_order_relaxed);
	change_state(*taken, REEL_SLAB_EMPTY, REEL_SLAB_OPEN);
	REEL_ASSERT((*taken)->frame && (*taken)->kind == kind);
	REEL_ASSERT(kind != REEL_SLAB_LARGE || (*taken)->bytes >= bytes);
	reel_annotate_allow((*taken)->frame, (*taken)->bytes);
	return 0;
}

static void count_give(struct reel_pool *pool, struct reel_cache *cache)
{
	/*
	 * Release, both: pairs with the acquires in count_gives() (pool.c), which then sees the
	 * take.
	 */
	if (cache)
		atomic_store_explicit(&cache->gives, one_more(&cache->gives), memory_order_release);
	else
		atomic_fetch_add_explicit(&pool->uncached_gives, 1, memory_order_release);
}

void reel_pool_count_give(struct reel_pool *pool)
{
	count_give(pool, own_cache(pool));
}

void reel_pool_give(struct reel_pool *pool, struct reel_slab *slab)
{
	struct reel_cache *cache = own_cache(pool);

	REEL_ASSERT(slab->frame && slab->bytes);
	reel_annotate_forbid(slab->frame, slab->bytes);
	change_state(slab, REEL_SLAB_OPEN, REEL_SLAB_EMPTY);
	count_give(pool, cache);
	if (cache && has_magazines(pool, slab->kind))
		cache_give(cache, slab);
	else
		uncached_give(pool, slab);
}

void reel_pool_give_frameless(struct reel_pool *pool, struct reel_slab *slab)
{
	REEL_ASSERT(!slab->frame);
	reel_pool_count_give(pool);
	change_state(slab, REEL_SLAB_OPEN, REEL_SLAB_EMPTY);
	freelist_push(&pool->frameless, slab);
}

static void flush(struct reel_cache *cache)
{
	for (enum reel_slab_kind kind = REEL_SLAB_FIRST; kind < REEL_SLAB_LARGE; kind++) {
		if (cache->previous[kind].count)
			reel_supply_give(cache->pool, kind,
					 magazine_unload(&cache->previous[kind]));
		if (cache->loaded[kind].count)
			reel_supply_give(cache->pool, kind,
					 magazine_unload(&cache->loaded[kind]));
		REEL_ASSERT(!cache->loaded[kind].count && !cache->previous[kind].count);
	}
}

void reel_pool_flush(struct reel_pool *pool)
{
	struct reel_cache *cache = pthread_getspecific(pool->cache_key);

	if (cache)
		flush(cache);
}

/* Whether the pool has this cache and this thread owns it. */
static bool is_own(struct reel_pool *pool, const struct reel_cache *searched)
{
	/* Acquire: pairs with the release in new_cache(). */
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_acquire);

	while (cache && cache != searched)
		cache = cache->next;
	return cache && is_mine(cache);
}

/*
 * A thread ends. Its pool may be closed before this call or during it: a program does not know when
 * OpenMP ends a thread, and pthread_key_delete() waits for no destructor. So `retiring` is not used
 * before it was found in a pool of the list, which is locked:
 *
 *	it is found and is mine    the pool is closed after the lock is released, and the flush is done
 *	it is not found            the pool has left the list; its memory is not touched
 *	it is another thread's     new memory has the same address
 *
 * The flush calls no store: the magazines of a pool with a store have first slabs only.
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
 * Runs in the child of a fork. The other threads are gone, perhaps in the middle of a change to
 * their magazines, so this function does not look into these. Relaxed is enough: this thread is
 * alone and starts all threads to come.
 */
void reel_cache_forget_others(struct reel_pool *pool)
{
	struct reel_cache *own = pthread_getspecific(pool->cache_key);
	struct reel_cache *cache = atomic_load_explicit(&pool->caches, memory_order_relaxed);

	for (; cache; cache = cache->next) {
		unsigned lost = 0;

		if (cache == own || !atomic_load_explicit(&cache->owner, memory_order_relaxed))
			continue;
		for (enum reel_slab_kind kind = REEL_SLAB_FIRST; kind < REEL_SLAB_LARGE; kind++) {
			lost += cache->loaded[kind].count + cache->previous[kind].count;
			cache->loaded[kind].count = 0;
			cache->previous[kind].count = 0;
		}
		atomic_fetch_add_explicit(&pool->lost_slabs, lost, memory_order_relaxed);
		atomic_store_explicit(&cache->owner, NULL, memory_order_relaxed);
	}
}
