/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "annotate.h"
#include "os.h"
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

size_t reel_trim_chain(struct reel_pool *pool, struct reel_slab *chain, size_t keep)
{
	size_t trimmed = 0;

	while (chain && above(pool, keep) && reel_os_drop(chain->frame, chain->bytes)) {
		struct reel_slab *slab = chain;

		chain = slab->below;
		slab->below = NULL;
		count_trimmed(pool, slab->bytes);
		trimmed += slab->bytes;
		freelist_push(&pool->cold, slab);
	}
	if (chain)
		reel_supply_push_warm(pool, chain);
	return trimmed;
}

size_t reel_trim_giant(struct reel_pool *pool, struct reel_slab *slab)
{
	size_t trimmed = slab->bytes;

	reel_annotate_allow(slab->frame, slab->bytes);
	reel_os_unmap(slab->frame, slab->bytes);
	count_trimmed(pool, slab->bytes);
	atomic_fetch_sub_explicit(&pool->unmovable, slab->bytes, memory_order_relaxed);
	slab->frame = NULL;
	slab->bytes = 0;
	freelist_push(&pool->bare, slab);
	return trimmed;
}

size_t reel_pool_trim(reel_pool *pool, size_t keep)
{
	struct reel_slab *idle;
	size_t trimmed = 0;

	reel_pool_flush(pool);
	while (above(pool, keep) && (idle = freelist_pop(&pool->warm[REEL_SLAB_GIANT])))
		trimmed += reel_trim_giant(pool, idle);
	while (above(pool, keep) && (idle = reel_supply_pop_warm(pool))) {
		size_t dropped = reel_trim_chain(pool, idle, keep);

		if (!dropped)
			break;
		trimmed += dropped;
	}
	return trimmed;
}
