/* SPDX-License-Identifier: MIT */
/*
 * The lanes of a lane, in blocks that do not move while threads look for theirs. Any thread of a
 * team finds and makes lanes, without a lock. A lane that is in the table stays there until its
 * parent is closed, and has the index of its entry.
 */
#include "config.h"

#include "lane.h"

#include <stdlib.h>

#include "os/yield.h"

/* Lane i is in the block of the highest bit of i + 1. */
static unsigned block_of(int32_t index)
{
	REEL_ASSERT(index >= 0);
	return 31 - (unsigned)__builtin_clz((uint32_t)index + 1);
}

static uint32_t offset_in(int32_t index, unsigned block)
{
	REEL_ASSERT(block == block_of(index));
	return (uint32_t)index + 1 - ((uint32_t)1 << block);
}

/* Returns the block, which is made if it is not there. Several threads may make it at once. */
static reel_lane_slot *block_at(reel_lane *parent, unsigned block)
{
	_Atomic(reel_lane_slot *) *at = &parent->block[block];
	/* Acquire: pairs with the release below. The zeros of the block are visible. */
	reel_lane_slot *there = atomic_load_explicit(at, memory_order_acquire);
	reel_lane_slot *fresh;

	if (there)
		return there;
	fresh = calloc((size_t)1 << block, sizeof *fresh);
	if (!fresh)
		return NULL;
	reel_yield_point();
	/* Release: pairs with the acquires here and in reel_lane_find(). */
	if (atomic_compare_exchange_strong_explicit(at, &there, fresh, memory_order_acq_rel,
						    memory_order_acquire))
		return fresh;
	free(fresh);
	return there;
}

reel_lane *reel_lane_find(const reel_lane *parent, int32_t index)
{
	unsigned block = block_of(index);
	/* Acquire: pairs with the release in block_at(). */
	reel_lane_slot *slots = atomic_load_explicit(&parent->block[block], memory_order_acquire);

	/*
	 * Acquire: pairs with the release in reel_lane_child() (lane-open.c). The members of the
	 * lane are visible.
	 */
	return slots ? atomic_load_explicit(&slots[offset_in(index, block)], memory_order_acquire)
		     : NULL;
}

reel_lane *reel_lane_next(const reel_lane *parent, int32_t *index)
{
	reel_lane *lane = NULL;

	/* A lane without a region has no lanes, which is the usual case. */
	while (parent->region && !lane && *index < INT32_MAX) {
		unsigned block = block_of(*index);
		/* Acquire: pairs with the release in block_at(). */
		reel_lane_slot *slots =
			atomic_load_explicit(&parent->block[block], memory_order_acquire);

		/* Acquire: pairs with the release in reel_lane_child() (lane-open.c). */
		if (slots)
			lane = atomic_load_explicit(&slots[offset_in((*index)++, block)],
						    memory_order_acquire);
		else
			*index = (int32_t)(((uint32_t)2 << block) - 1);
	}
	return lane;
}

reel_lane_slot *reel_lane_slot_at(reel_lane *parent, int32_t index)
{
	unsigned block = block_of(index);
	reel_lane_slot *slots = block_at(parent, block);

	return slots ? &slots[offset_in(index, block)] : NULL;
}
