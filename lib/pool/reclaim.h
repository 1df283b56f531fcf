/* SPDX-License-Identifier: MIT */
/*
 * How a pool gets memory back from the tapes that use it, if it has a store. The pool calls this
 * table and does not know who stands behind it; a pool without a store has the empty one, which
 * does nothing.
 */
#ifndef REEL_LIB_RECLAIM_H
#define REEL_LIB_RECLAIM_H

#include <stdbool.h>

#include <reel/pool.h>

struct reel_slab;

struct reel_reclaim {
	/*
	 * A frame may leave a tape's slab for another one. The pool then keeps whole frames in its
	 * shared list, where those who wait find them, and not in the magazines of threads.
	 */
	bool moves_frames;
	/*
	 * Any thread that was refused a slab: wait until it may be tried again. With `is_large`
	 * more than one frame is needed. False: no frame will come, and *error may say why.
	 */
	bool (*await_frame)(struct reel_pool *pool, bool is_large, int *error);
	/* Any thread: memory was given back to the system, so there is room under the budget. */
	void (*wake)(struct reel_pool *pool);
	/* Any thread: the memory of this slab's frame is about to be given back to the system. */
	void (*release_frame)(struct reel_pool *pool, const struct reel_slab *slab);
	/*
	 * Around a fork, with the list of pools locked: no transfer is under way between the two.
	 */
	void (*pause)(struct reel_pool *pool);
	void (*resume)(struct reel_pool *pool);
	/* In the child of a fork, which has no other thread and must leave the store alone. */
	void (*orphan)(struct reel_pool *pool);
	/* Any thread: add what was written, read and waited for. */
	void (*add_stats)(const struct reel_pool *pool, struct reel_pool_stats *stats);
};

extern const struct reel_reclaim reel_reclaim_nothing;

#endif
