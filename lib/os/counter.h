/* SPDX-License-Identifier: MIT */
/*
 * Counters that several threads change. Relaxed is enough: they hand out disjoint pieces or note a
 * figure, and order no other memory.
 */
#ifndef REEL_LIB_COUNTER_H
#define REEL_LIB_COUNTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/yield.h"

/*
 * Claims n of `limit` pieces and sets *first to the number of the first one. Returns false, and
 * claims nothing, if fewer are left. So the counter never wraps.
 */
static inline bool reel_counter_claim(_Atomic size_t *claimed, size_t n, size_t limit,
				      size_t *first)
{
	*first = atomic_load_explicit(claimed, memory_order_relaxed);
	do {
		/* Mutants survive (boundary): no caller claims 0 pieces. */
		if (*first > limit || n > limit - *first)
			return false;
		reel_yield_point();
	} while (!atomic_compare_exchange_weak_explicit(claimed, first, *first + n,
							memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

/* Raises *most to `now` if it is less. */
static inline void reel_counter_raise(_Atomic uint64_t *most, uint64_t now)
{
	uint64_t seen = atomic_load_explicit(most, memory_order_relaxed);

	/* Mutants survive (boundary): it writes an equal value once more. */
	while (now > seen &&
	       !atomic_compare_exchange_weak_explicit(most, &seen, now, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

#endif
