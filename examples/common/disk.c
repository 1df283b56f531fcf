/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "disk.h"

#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "report.h"

#define DISK_BYTES ((size_t)16 << 20)
#define PIECE_BYTES ((size_t)1 << 20)
#define PIECES (DISK_BYTES / PIECE_BYTES)
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

static void require(const char *directory, int error)
{
	if (error)
		fail("--spill %s cannot be measured: %s", directory, strerror(-error));
}

static void time_transfers(reel_store *store, const char *directory, char *data,
			   struct reel_cost_tier *tier)
{
	reel_transfer transfer[PIECES] = {0};
	double start = wall_time();

	for (size_t k = 0; k < PIECES; k++) {
		transfer[k].data = data + k * PIECE_BYTES;
		transfer[k].bytes = PIECE_BYTES;
		require(directory, reel_store_put_and_wait(store, &transfer[k]));
	}
	tier->write_bandwidth = (double)DISK_BYTES / (wall_time() - start);
	start = wall_time();
	for (size_t k = 0; k < PIECES; k++)
		require(directory, reel_store_get_and_wait(store, &transfer[k]));
	tier->read_bandwidth = (double)DISK_BYTES / (wall_time() - start);
}

void disk_measure(const char *directory, struct reel_cost_tier *tier)
{
	reel_store *store = disk_open(directory);
	void *data;

	if (posix_memalign(&data, PIECE_BYTES, DISK_BYTES))
		fail("no memory to measure the disk");
	memset(data, 1, DISK_BYTES);
	time_transfers(store, directory, data, tier);
	free(data);
	reel_store_close(store);
}
