/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>

#include "pool.h"

/* Relaxed throughout: the count guards no other memory. */
int reel_budget_charge(struct reel_pool *pool, size_t bytes)
{
	size_t resident = atomic_load_explicit(&pool->resident, memory_order_relaxed);

	do {
		if (bytes > pool->hard_budget - resident)
			return -EDQUOT;
	} while (!atomic_compare_exchange_weak_explicit(&pool->resident, &resident,
							resident + bytes, memory_order_relaxed,
							memory_order_relaxed));
	return 0;
}

void reel_budget_refund(struct reel_pool *pool, size_t bytes)
{
	atomic_fetch_sub_explicit(&pool->resident, bytes, memory_order_relaxed);
}

void reel_budget_note_peak(struct reel_pool *pool)
{
	size_t resident = atomic_load_explicit(&pool->resident, memory_order_relaxed);
	size_t peak = atomic_load_explicit(&pool->peak_resident, memory_order_relaxed);

	while (resident > peak &&
	       !atomic_compare_exchange_weak_explicit(&pool->peak_resident, &peak, resident,
						      memory_order_relaxed, memory_order_relaxed))
		;
}
