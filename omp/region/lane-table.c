/* SPDX-License-Identifier: MIT */
/* The lanes of a lane, at places that do not move while threads look for theirs. */
#include "config.h"

#include "lane.h"

#include <stdlib.h>

#include "os/yield.h"

/* Lane i is in the block of the highest bit of i + 1. */
static unsigned block_of(int32_t index)
{
	return 31 - (unsigned)__builtin_clz((uint32_t)index + 1);
}

static uint32_t place_in(int32_t index, unsigned block)
{
	return (uint32_t)index + 1 - ((uint32_t)1 << block);
}

/* Threads of a team may come for lanes of one block at the same time. */
static reel_lane_slot *block_at(reel_lane *parent, unsigned block)
{
	_Atomic(reel_lane_slot *) *at = &parent->block[block];
	/* Acquire: pairs with the release below. */
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
	reel_lane_slot *places = atomic_load_explicit(&parent->block[block], memory_order_acquire);

	/* Acquire: pairs with the release in reel_lane_child(). */
	return places ? atomic_load_explicit(&places[place_in(index, block)], memory_order_acquire)
		      : NULL;
}

static int32_t first_of(unsigned block)
{
	return (int32_t)(((uint32_t)1 << block) - 1);
}

static reel_lane *next_in(reel_lane_slot *places, unsigned block, int32_t *index)
{
	reel_lane *lane = NULL;

	/* Acquire: pairs with the release in reel_lane_child(). */
	while (!lane && *index < first_of(block + 1))
		lane = atomic_load_explicit(&places[place_in((*index)++, block)],
					    memory_order_acquire);
	return lane;
}

reel_lane *reel_lane_next(const reel_lane *parent, int32_t *index)
{
	reel_lane *lane = NULL;

	/* Most lanes have none: there are some from the first region on. */
	if (!parent->region)
		return NULL;
	for (unsigned block = block_of(*index); !lane && block < REEL_LANE_BLOCKS; block++) {
		/* Acquire: pairs with the release in block_at(). */
		reel_lane_slot *places =
			atomic_load_explicit(&parent->block[block], memory_order_acquire);

		if (places)
			lane = next_in(places, block, index);
		if (!lane)
			*index = first_of(block + 1);
	}
	return lane;
}

/* Threads that look for a lane to take may come for the same one. */
reel_lane *reel_lane_child(reel_lane *parent, int32_t index)
{
	reel_lane *lane = reel_lane_find(parent, index), *there = NULL;
	unsigned block = block_of(index);
	reel_lane_slot *places;

	if (lane)
		return lane;
	places = block_at(parent, block);
	lane = places ? reel_lane_new(parent, NULL, 0) : NULL;
	if (!lane)
		return NULL;
	lane->index = index;
	reel_yield_point();
	/* Release: pairs with the acquires here and in reel_lane_find(). */
	if (atomic_compare_exchange_strong_explicit(&places[place_in(index, block)], &there, lane,
						    memory_order_acq_rel, memory_order_acquire))
		return lane;
	reel_lane_close(lane);
	return there;
}
