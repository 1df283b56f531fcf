/* SPDX-License-Identifier: MIT */
/*
 * The hard budget: how many bytes of a pool may be resident. Any thread charges and refunds,
 * without a lock. Only reel_budget_overdraw() lets `resident` exceed the hard budget. Each charge
 * has one refund of the same size. Bytes of a pool with a share are charged there as well.
 */
#include "config.h"

#include <errno.h>

#include "os/counter.h"
#include "pool.h"

int reel_budget_charge(struct reel_pool *pool, size_t bytes)
{
	size_t before;

	REEL_ASSERT(bytes > 0);
	if (!reel_counter_claim(&pool->resident, bytes, pool->hard_budget, &before))
		return -EDQUOT;
	if (!pool->share || reel_share_charge(pool->share, bytes))
		return 0;
	atomic_fetch_sub_explicit(&pool->resident, bytes, memory_order_relaxed);
	return -EDQUOT;
}

void reel_budget_overdraw(struct reel_pool *pool, size_t bytes)
{
	REEL_ASSERT(reel_pool_has_store(pool));
	atomic_fetch_add_explicit(&pool->resident, bytes, memory_order_relaxed);
	if (pool->share)
		reel_share_overdraw(pool->share, bytes);
	reel_budget_note_peak(pool);
}

void reel_budget_refund(struct reel_pool *pool, size_t bytes)
{
	size_t before;

	reel_yield_point();
	before = atomic_fetch_sub_explicit(&pool->resident, bytes, memory_order_relaxed);
	REEL_ASSERT(before >= bytes);
	(void)before;
	if (pool->share)
		reel_share_refund(pool->share, bytes);
}

void reel_budget_note_peak(struct reel_pool *pool)
{
	reel_counter_raise(&pool->peak_resident,
			   atomic_load_explicit(&pool->resident, memory_order_relaxed));
}

/* Relaxed, both: the number says how much to write behind, and guards no data. */
void reel_budget_count_use(struct reel_pool *pool, const struct reel_slab *slab)
{
	if (slab->kind >= REEL_SLAB_LARGE)
		atomic_fetch_add_explicit(&pool->unspillable, slab->bytes, memory_order_relaxed);
}

void reel_budget_end_use(struct reel_pool *pool, const struct reel_slab *slab)
{
	size_t before;

	if (slab->kind < REEL_SLAB_LARGE)
		return;
	before = atomic_fetch_sub_explicit(&pool->unspillable, slab->bytes, memory_order_relaxed);
	REEL_ASSERT(before >= slab->bytes);
	(void)before;
}
