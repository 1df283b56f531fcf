/* SPDX-License-Identifier: MIT */
#include "disk.h"

#include <reel/extend.h>

#include "report.h"

/* Of a pool, by default. */
#define SLAB_BYTES ((uint64_t)2 << 20)

reel_store *disk_open(const char *directory)
{
	reel_store *store;

	if (reel_store_open(&store, "file", directory))
		fail("--spill %s: %s", directory, reel_error_text(0));
	return store;
}

/* A larger budget is the remedy only where a slab has no room in this one. */
reel_pool *pool_open(uint64_t budget, uint64_t slab_bytes, const char *directory)
{
	struct reel_pool_options options = {.hard_budget = (size_t)budget,
					    .slab_bytes = (size_t)slab_bytes};
	reel_pool *pool;

	if (directory && budget)
		options.store = disk_open(directory);
	if (!reel_pool_open(&pool, &options))
		return pool;
	if (budget && budget < (slab_bytes ? slab_bytes : SLAB_BYTES))
		fail("--budget of %.3f MB: no pool for the tapes: %s; choose a larger --budget",
		     (double)budget / 1e6, reel_error_text(0));
	fail("no pool for the tapes: %s", reel_error_text(0));
}
