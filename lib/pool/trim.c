/* SPDX-License-Identifier: MIT */
/*
 * Gives the memory of idle slabs back to the system. A whole slab keeps its addresses and goes to
 * the cold list; a large slab is unmapped and becomes frameless. Any thread. `trimming` is above 0
 * while a thread holds idle slabs that are on no list, so that no push and no pin is refused for
 * want of them.
 */
#include "config.h"

#include "os/annotate.h"
#include "os/os.h"
#include "pool.h"

static void count_trimmed(struct reel_pool *pool, size_t bytes)
{
	reel_budget_refund(pool, bytes);
	atomic_fetch_add_explicit(&pool->trimmed_bytes, bytes, memory_order_relaxed);
}

static bool above(struct reel_pool *pool, size_t keep)
{
	return atomic_load_explicit(&pool->resident, memory_order_relaxed) > keep;
}

/*
 * The store and the listener let go of a frame before the system takes its pages: a device that has
 * pinned them would go on to use them, and not those that the frame gets later.
 */
static void let_go(struct reel_pool *pool, struct reel_slab *slab)
{
	if (reel_pool_has_store(pool))
		pool->reclaim->release_frame(pool->reclaimer, slab);
	reel_pool_tell_returned(pool, slab->frame);
}

static bool drop(struct reel_pool *pool, struct reel_slab *slab)
{
	REEL_ASSERT(slab->kind == REEL_SLAB_WHOLE && reel_slab_state_of(slab) == REEL_SLAB_EMPTY);
	let_go(pool, slab);
	if (reel_os_drop(slab->frame, slab->bytes))
		return true;
	reel_pool_tell_taken(pool, slab->frame, slab->bytes);
	/* Relaxed: the flag guards no other data. */
	atomic_store_explicit(&pool->frames_are_locked, true, memory_order_relaxed);
	return false;
}

size_t reel_trim_chain(struct reel_pool *pool, struct reel_slab *chain, size_t keep)
{
	size_t trimmed = 0;

	while (chain && above(pool, keep) && drop(pool, chain)) {
		struct reel_slab *slab = chain;

		chain = slab->below;
		REEL_ASSERT(slab->bytes == pool->slab_bytes);
		slab->below = NULL;
		count_trimmed(pool, slab->bytes);
		trimmed += slab->bytes;
		freelist_push(&pool->cold, slab);
	}
	if (chain)
		reel_supply_push_warm(pool, chain);
	return trimmed;
}

static void unmap(struct reel_pool *pool, struct reel_slab *slab)
{
	reel_annotate_allow(slab->frame, slab->bytes);
	reel_os_unmap(slab->frame, slab->bytes);
	/* Relaxed: the number guards no other data. */
	atomic_fetch_sub_explicit(&pool->large_frames, 1, memory_order_relaxed);
}

size_t reel_trim_large(struct reel_pool *pool, struct reel_slab *slab)
{
	size_t trimmed = slab->bytes;

	REEL_ASSERT(slab->kind == REEL_SLAB_LARGE && slab->frame);
	let_go(pool, slab);
	if (!pool->parent)
		unmap(pool, slab);
	count_trimmed(pool, slab->bytes);
	/* After the refund: from here on another thread may borrow the frame. */
	if (pool->parent)
		reel_pool_give(pool->parent, slab->lender);
	slab->frame = NULL;
	slab->bytes = 0;
	freelist_push(&pool->frameless, slab);
	return trimmed;
}

static size_t trim(struct reel_pool *pool, size_t keep)
{
	struct reel_slab *idle;
	size_t trimmed = 0;

	REEL_ASSERT(atomic_load_explicit(&pool->trimming, memory_order_relaxed) > 0);
	while (above(pool, keep) && (idle = reel_supply_pop_large(pool)))
		trimmed += reel_trim_large(pool, idle);
	while (above(pool, keep) && (idle = reel_supply_pop_warm(pool))) {
		size_t dropped = reel_trim_chain(pool, idle, keep);

		if (!dropped)
			break;
		trimmed += dropped;
	}
	return trimmed;
}

/* The pool that this thread trims, or NULL. */
static _Thread_local const struct reel_pool *trimmed_here;

static void begin_trim(struct reel_pool *pool)
{
	trimmed_here = pool;
	/* Relaxed is enough: the release in freelist_pop() makes `trimming` visible. */
	atomic_fetch_add_explicit(&pool->trimming, 1, memory_order_relaxed);
	reel_yield_point();
}

static void end_trim(struct reel_pool *pool)
{
	trimmed_here = NULL;
	reel_yield_point();
	/*
	 * Release: pairs with the acquire in reel_pool_is_being_trimmed(). Makes the frames
	 * visible.
	 */
	atomic_fetch_sub_explicit(&pool->trimming, 1, memory_order_release);
	if (reel_pool_has_store(pool))
		pool->reclaim->wake(pool->reclaimer);
}

/*
 * Acquire: pairs with the release in reel_supply_pop_warm(). A thread that finds nothing idle also
 * sees `trimming` of the thread that took the last slab.
 */
static bool has_idle(struct reel_pool *pool)
{
	return reel_supply_has_large(pool) ||
	       atomic_load_explicit(&pool->warm_chains, memory_order_acquire);
}

void reel_trim_orphan(struct reel_pool *pool)
{
	atomic_store_explicit(&pool->trimming, trimmed_here == pool, memory_order_relaxed);
}

size_t reel_pool_trim(reel_pool *pool, size_t keep)
{
	size_t trimmed;

	reel_pool_flush(pool);
	/* A trim in vain would make refused threads wait for each other. */
	if (!has_idle(pool))
		return 0;
	begin_trim(pool);
	trimmed = trim(pool, keep);
	end_trim(pool);
	return trimmed;
}

bool reel_trim_idle_large(struct reel_pool *pool)
{
	struct reel_slab *idle;

	/*
	 * Without this check each call that finds nothing would wake the offload thread in
	 * end_trim().
	 */
	if (!reel_supply_has_large(pool))
		return false;
	begin_trim(pool);
	idle = reel_supply_pop_large(pool);
	if (idle)
		reel_trim_large(pool, idle);
	end_trim(pool);
	return idle != NULL;
}
