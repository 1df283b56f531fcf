/* SPDX-License-Identifier: MIT */
/*
 * The table of a pool without a store. Nothing takes memory from its tapes: await_no_frame()
 * refuses at once, and the other functions do nothing. Any thread may run them. They keep no state,
 * so all such pools share the table.
 */
#include "config.h"

#include "reclaim.h"

static bool await_no_frame(struct reel_pool *pool, bool needs_eviction, int *error)
{
	(void)pool;
	(void)needs_eviction;
	(void)error;
	return false;
}

static void do_nothing(struct reel_pool *pool)
{
	(void)pool;
}

static void release_nothing(struct reel_pool *pool, const struct reel_slab *slab)
{
	(void)pool;
	(void)slab;
}

static void add_nothing(const struct reel_pool *pool, struct reel_pool_stats *stats)
{
	(void)pool;
	(void)stats;
}

const struct reel_reclaim reel_reclaim_nothing = {
	.await_frame = await_no_frame,
	.wake = do_nothing,
	.release_frame = release_nothing,
	.pause = do_nothing,
	.resume = do_nothing,
	.orphan = do_nothing,
	.add_stats = add_nothing,
};
