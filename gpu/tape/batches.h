/* SPDX-License-Identifier: MIT */
/*
 * Slabs of an arena in a store: in batches, runs of slabs that are one transfer each. A batch is
 * there until the last of its slabs has come back. What is in which is known by warp and height.
 */
#ifndef REEL_GPU_BATCHES_H
#define REEL_GPU_BATCHES_H

#include <reel/extend.h>

#include "gpu/driver/driver.h"

struct reel_arena;

/* Frames in each half: while one half is at the store, the other is at the device. */
#define REEL_BATCH_FRAMES_HALF 4u

struct reel_batch_item {
	uint32_t warp, height;
	uint32_t slab; /* on the device, where it comes from or goes to; 0: it stays in the store */
};

struct reel_batch {
	struct reel_extent extent;
	uint64_t header[REEL_HEADER_BYTES / 8];
	uint64_t serial;
	struct reel_batch_item *items;
	uint32_t slabs;
	uint32_t left; /* of them, in the store */
};

struct reel_batch_frame {
	reel_transfer transfer;
	unsigned char *memory;
};

struct reel_batches {
	reel_store *store;
	struct reel_batch *batch;
	size_t count, room;
	uint64_t serial;
	uint32_t slabs; /* of a full batch */
	size_t align;   /* of a transfer's bytes */
	bool is_lost;   /* the driver failed: a copy may be under way, or have ended in part */
	unsigned char *memory;
	struct reel_batch_frame frame[2 * REEL_BATCH_FRAMES_HALF];
};

/* The store stays the caller's if that fails. 0, -EINVAL, -ENOMEM or -EIO. */
int reel_batches_open(struct reel_arena *arena, struct reel_batches *batches, reel_store *store);
/* Within the context, or the pinned memory stays. */
void reel_batches_close(struct reel_arena *arena, struct reel_batches *batches, bool within);

/*
 * Copy these slabs from the device to the store, in batches as they stand. 0; or an error, and the
 * store has none of them.
 */
int reel_batches_put(struct reel_arena *arena, struct reel_batches *batches,
		     const struct reel_batch_item *items, size_t count);
/* Copy all items that have got a slab to the device. 0, or an error, and nothing has changed. */
int reel_batches_get(struct reel_arena *arena, struct reel_batches *batches);
/* Items that have a slab are not in the store any more. */
void reel_batches_forget(struct reel_batches *batches);
/* No item is. */
void reel_batches_empty(struct reel_batches *batches);

#endif
