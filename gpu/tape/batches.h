/* SPDX-License-Identifier: MIT */
/*
 * Slabs of an arena in a store. A batch is a number of slabs that one transfer puts to the store.
 * The store keeps a batch until the last of its slabs has come back. The items of a batch say which
 * slabs it has, by warp and height.
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
	uint32_t slab; /* its number on the device during a copy; 0: it stays in the store */
};

struct reel_batch {
	struct reel_extent extent;
	uint64_t header[REEL_HEADER_BYTES / 8];
	uint64_t serial;
	struct reel_batch_item *items;
	uint32_t slabs;
	uint32_t left; /* number of these slabs that are in the store */
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
	uint32_t slabs; /* number of slabs in a full batch */
	size_t align;   /* the size of a transfer is a multiple of this */
	bool is_lost;   /* the driver failed; a copy may be under way, or have ended in part */
	unsigned char *memory;
	struct reel_batch_frame frame[2 * REEL_BATCH_FRAMES_HALF];
};

/* Returns 0, or -EINVAL, -ENOMEM or -EIO, and the store still belongs to the caller. */
int reel_batches_open(struct reel_arena *arena, struct reel_batches *batches, reel_store *store);
/* Closes the store, too. Without the context (`within`), pinned memory is not freed. */
void reel_batches_close(struct reel_arena *arena, struct reel_batches *batches, bool within);

/*
 * Copies these slabs from the device to the store, in batches in this order. If it returns an
 * error, the store has none of them.
 */
int reel_batches_put(struct reel_arena *arena, struct reel_batches *batches,
		     const struct reel_batch_item *items, size_t count);
/* Copies all items that have a slab to the device. After an error no batch has changed. */
int reel_batches_get(struct reel_arena *arena, struct reel_batches *batches);
/* Removes the items that have a slab, since they are on the device again. */
void reel_batches_forget(struct reel_batches *batches);
/* Removes all batches. */
void reel_batches_empty(struct reel_batches *batches);

#endif
