/* SPDX-License-Identifier: MIT */
#ifndef REEL_LIB_POOL_TEXT_H
#define REEL_LIB_POOL_TEXT_H

#include <stdint.h>

#include <reel/pool.h>

#include "os/memory-limit.h"

/*
 * Returns the largest budget with which the system does not kill the process, beside the memory of
 * the store of this description (NULL: none).
 */
uint64_t reel_pool_max_budget(const char *store, const struct reel_memory_limit *limit);

/* Sets the budget to `auto`. */
void reel_pool_use_auto(struct reel_pool_options *options, const char *store,
			const struct reel_memory_limit *limit);

/*
 * Sets the budget as the text says, or without one (NULL) as reel_pool_default() says. Returns
 * NULL, or the fault of the text. If the budget is shared, sets `limit` to the node's limit.
 */
const char *reel_pool_read_budget(struct reel_pool_options *options, const char *text,
				  const char *store, struct reel_memory_limit *limit);

#endif
