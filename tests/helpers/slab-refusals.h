/* SPDX-License-Identifier: MIT */
/*
 * Pools also refuse slabs where the system refuses memory (refusals.h). Linked with
 * --wrap=reel_pool_take.
 */
#ifndef TESTS_SLAB_REFUSALS_H
#define TESTS_SLAB_REFUSALS_H

#include "pool/pool.h"
#include "refusals.h"

int __real_reel_pool_take(reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
			  struct reel_slab **slab);
int __wrap_reel_pool_take(reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
			  struct reel_slab **slab);

int __wrap_reel_pool_take(reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
			  struct reel_slab **slab)
{
	return is_refused(REFUSE_MEMORY) ? -EDQUOT : __real_reel_pool_take(pool, kind, bytes, slab);
}

#endif
