/* SPDX-License-Identifier: MIT */
/*
 * How a pool with a store gets memory back from its tapes. The pool calls the functions of this
 * table, and passes the offload thread's state to them, whose members it does not know. A pool
 * without a store has no table.
 */
#ifndef REEL_LIB_RECLAIM_H
#define REEL_LIB_RECLAIM_H

#include <stdbool.h>

#include <reel/pool.h>

struct reel_offload;
struct reel_slab;

struct reel_reclaim {
	/*
	 * Any thread that was refused a slab: wait until it may try again, also when the budget, or
	 * the parent's, has `room` bytes (SIZE_MAX: that does not help). False: no frame will come,
	 * and *error may say why.
	 */
	bool (*await_frame)(struct reel_offload *offload, size_t room, int *error);
	/* Any thread: tell waiting threads that a trim made room under the budget. */
	void (*wake)(struct reel_offload *offload);
	/* Any thread, before the memory of this slab's frame goes back to the system. */
	void (*release_frame)(struct reel_offload *offload, const struct reel_slab *slab);
	/* Before and after a fork, with the list of pools locked: no transfer runs in between. */
	void (*pause)(struct reel_offload *offload);
	void (*resume)(struct reel_offload *offload);
	/* In the child of a fork, which has no offload thread and must not use the store. */
	void (*orphan)(struct reel_offload *offload);
	/* Any thread: add the bytes written and read, and the waits. */
	void (*add_stats)(const struct reel_offload *offload, struct reel_pool_stats *stats);
};

#endif
