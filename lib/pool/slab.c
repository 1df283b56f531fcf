/* SPDX-License-Identifier: MIT */
/*
 * Which states of a slab may follow each other, for assertions. Any thread may ask. This table
 * agrees with the one at the head of slab.h, and t-slab compares the two.
 */
#include "config.h"

#include "slab.h"

#define TO(state) (1u << REEL_SLAB_##state)

/* A bit for each state that may follow. */
static const uint16_t next_states[] = {
	[REEL_SLAB_EMPTY] = TO(OPEN),
	[REEL_SLAB_OPEN] = TO(EMPTY) | TO(DIRTY),
	[REEL_SLAB_DIRTY] = TO(OPEN) | TO(WRITING),
	[REEL_SLAB_WRITING] = TO(CLEAN) | TO(DIRTY) | TO(PINNED_WRITING) | TO(FREE_PENDING),
	[REEL_SLAB_PINNED_WRITING] = TO(PINNED) | TO(OPEN) | TO(WRITING) | TO(FREE_PENDING),
	[REEL_SLAB_CLEAN] = TO(PINNED) | TO(EVICTING) | TO(OPEN),
	[REEL_SLAB_PINNED] = TO(CLEAN) | TO(OPEN),
	[REEL_SLAB_EVICTING] = TO(STORED) | TO(FREE_PENDING) | TO(LOST),
	[REEL_SLAB_STORED] = TO(READ_QUEUED) | TO(OPEN) | TO(LOST),
	[REEL_SLAB_READ_QUEUED] = TO(READING) | TO(OPEN) | TO(STORED) | TO(LOST),
	[REEL_SLAB_READING] = TO(CLEAN) | TO(LOST) | TO(STORED) | TO(READ_QUEUED) |
			      TO(FREE_PENDING),
	[REEL_SLAB_LOST] = TO(OPEN),
	[REEL_SLAB_FREE_PENDING] = TO(EMPTY),
};

_Static_assert(sizeof next_states / sizeof *next_states == REEL_SLAB_STATES,
	       "each state has a row");

bool reel_slab_may_become(enum reel_slab_state from, enum reel_slab_state to)
{
	REEL_ASSERT((unsigned)from < REEL_SLAB_STATES);
	return next_states[from] >> to & 1;
}
