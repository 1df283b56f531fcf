/* SPDX-License-Identifier: MIT */
/*
 * Small pools with a store, of which one ends transfers late, for the tests of the offload thread.
 */
#ifndef TESTS_SPILL_SUPPORT_H
#define TESTS_SPILL_SUPPORT_H

#include "late-store.h"
#include "spill/thread/copy.h"
#include "spill/thread/waiting.h"
#include "spill/thread/write-back.h"
#include "spill/thread/thread.h"
#include "pool-support.h"

#define SLAB ((size_t)4096)
#define SLAB_WORDS (SLAB / 8)

static inline struct reel_pool_options spilling(reel_store *store, unsigned hard, unsigned soft)
{
	return (struct reel_pool_options){
		.slab_bytes = SLAB,
		.first_slab_bytes = SLAB / 4,
		.hard_budget = hard * SLAB,
		.soft_budget = soft * SLAB,
		.store = store,
	};
}

static inline void close_all(reel_pool *pool, struct late_store *late, const char *after)
{
	reel_offload_settle(reel_offload_of(pool));
	is_int(late->used, 0, "the store is empty after %s", after);
	is_int(reel_offload_of(pool)->demands_in_use, 0,
	       "no tape is served any more after %s", after);
	close_pool_at_rest(pool, after);
	is_int(late->wrongs, 0, "the store was given nothing wrong by %s", after);
	free(late);
}

/* Twice: the first time may end a look that began before the change that it should see. */
static inline void settle(reel_pool *pool)
{
	reel_offload_settle(reel_offload_of(pool));
	reel_offload_settle(reel_offload_of(pool));
}

#endif
