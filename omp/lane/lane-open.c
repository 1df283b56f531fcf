/* SPDX-License-Identifier: MIT */
/*
 * Makes lanes: roots, the lanes of a lane, and the lanes of tasks. A lane that is made in a hold is
 * held as deep as its parent. Any thread of a team makes lanes, without a lock.
 */
#include "config.h"

#include "lane.h"

#include <errno.h>
#include <stdlib.h>

#include "observe.h"
#include "ordered-count.h"
#include "os/yield.h"
#include "pool/pool.h"
#include "tape/lane-listener.h"
#include "tape/tape.h"

/*
 * The tape asks its pool for checked mode only at its first push, and a lane may compare loops
 * before that, or never push. So the root asks at once, and its lanes take its flag.
 */
static int open_tapes(reel_lane *lane, reel_pool *pool, unsigned flags)
{
	int error = reel_tape_open(&lane->tape, pool, flags);

	if (!error && lane->tape.pool->flags & REEL_POOL_CHECKED)
		lane->tape.flags |= REEL_CHECKED;
	lane->tape.flags |= REEL_TAPE_LANE;
	if (!error)
		error = reel_tape_open(&lane->notes, pool, 0);
	lane->notes.flags |= REEL_TAPE_SILENT | REEL_TAPE_NOTES;
	return error;
}

/*
 * Holds a new lane as deep as its parent: it was empty when these holds began. A refusal is not
 * reported here, and ends no waits: the caller tries again, or reports that there is no lane.
 */
static int hold_as_parent(reel_lane *lane, const reel_lane *parent)
{
	int error = 0;

	lane->tape.flags = (lane->tape.flags & ~REEL_TAPE_LANE) | REEL_TAPE_SILENT;
	while (!error && lane->holds < parent->holds)
		error = reel_lane_hold(lane);
	lane->tape.flags = (lane->tape.flags & ~REEL_TAPE_SILENT) | REEL_TAPE_LANE;
	return error;
}

/* Called by the tape when it gets an error. */
static void lane_failed(reel_tape *tape)
{
	REEL_ASSERT(tape->flags & REEL_TAPE_LANE && tape->error);
	reel_lane *lane = (reel_lane *)((char *)tape - offsetof(reel_lane, tape));

	reel_lane_end_waits(lane, tape->error);
}

reel_lane *reel_lane_new(reel_lane *parent, reel_pool *pool, unsigned flags)
{
	reel_lane *lane = aligned_alloc(REEL_CACHE_SPACING, sizeof *lane);
	int error;

	if (!lane)
		return NULL;
	memset(lane, 0, sizeof *lane);
	lane->parent = parent;
	lane->root = parent ? parent->root : lane;
	lane->count = 1;
	error = open_tapes(lane, parent ? parent->tape.pool : pool,
			   parent ? parent->tape.flags & REEL_CHECKED : flags);
	if (!error && parent)
		error = hold_as_parent(lane, parent);
	REEL_ASSERT(error || !parent || lane->holds == parent->holds);
	if (!error)
		return lane;
	reel_lane_close(lane);
	return NULL;
}

int reel_lane_open(reel_lane **lane, reel_pool *pool, unsigned flags)
{
	if (flags & ~REEL_CHECKED)
		return -EINVAL;
	reel_listen_to_lanes(lane_failed);
	*lane = reel_lane_new(NULL, pool, flags);
	if (!*lane)
		return -ENOMEM;
	(*lane)->root_number = reel_ordered_next_root();
	REEL_OBSERVE(REEL_EVENT_LANE_OPEN, .lane = *lane);
	return 0;
}

reel_lane *reel_lane_refuse_all(void)
{
	static _Thread_local reel_lane refusing;
	reel_lane *lane = &refusing;

	if (!lane->tape.error) {
		lane->root = lane;
		lane->count = 1;
		lane->tape.flags = lane->notes.flags = REEL_TAPE_SILENT;
		reel_tape_give_up(&lane->tape, -ENOMEM, "no memory for a lane");
		reel_tape_give_up(&lane->notes, -ENOMEM, "no memory for a lane");
	}
	return lane;
}

/* Threads that look for a lane to take may make the same one at once; the first one stays. */
reel_lane *reel_lane_child(reel_lane *parent, int32_t index)
{
	reel_lane *lane = reel_lane_find(parent, index), *there = NULL;
	reel_lane_slot *slot;

	REEL_ASSERT(!lane || (lane->index == index && lane->parent == parent));
	if (lane)
		return lane;
	slot = reel_lane_slot_at(parent, index);
	lane = slot ? reel_lane_new(parent, NULL, 0) : NULL;
	if (!lane)
		return NULL;
	lane->index = index;
	reel_yield_point();
	/* Release: pairs with the acquires here and in reel_lane_find(). */
	if (atomic_compare_exchange_strong_explicit(slot, &there, lane, memory_order_acq_rel,
						    memory_order_acquire))
		return lane;
	reel_lane_close(lane);
	return there;
}
