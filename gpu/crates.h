/* SPDX-License-Identifier: MIT */
/*
 * Slabs of an arena in a store: in crates, runs of slabs that are one transfer each. A crate is
 * there until the last of its slabs has come back. What is in which is known by warp and height.
 */
#ifndef REEL_GPU_CRATES_H
#define REEL_GPU_CRATES_H

#include <reel/store.h>

#include "driver.h"

struct reel_arena;

/* Frames in each half: while one half is at the store, the other is at the device. */
#define REEL_CRATES_HALF 4u

struct reel_crate_item {
	uint32_t warp, height;
	uint32_t slab; /* on the device, where it comes from or goes to; 0: it stays in the store */
};

struct reel_crate {
	struct reel_extent extent;
	uint64_t header[REEL_HEADER_BYTES / 8];
	uint64_t serial;
	struct reel_crate_item *items;
	uint32_t slabs;
	uint32_t left; /* of them, in the store */
};

struct reel_crate_frame {
	reel_transfer transfer;
	unsigned char *memory;
};

struct reel_crates {
	reel_store *store;
	struct reel_crate *crate;
	size_t count, room;
	uint64_t serial;
	uint32_t slabs; /* of a full crate */
	size_t align;	/* of a transfer's bytes */
	bool is_lost;	/* the driver failed: a copy may be under way, or have ended in part */
	unsigned char *memory;
	struct reel_crate_frame frame[2 * REEL_CRATES_HALF];
};

/* The store stays the caller's if that fails. 0, -EINVAL, -ENOMEM or -EIO. */
int reel_crates_open(struct reel_arena *arena, struct reel_crates *crates, reel_store *store);
/* Within the context, or the pinned memory stays. */
void reel_crates_close(struct reel_arena *arena, struct reel_crates *crates, bool within);

/*
 * Copy these slabs from the device to the store, in crates as they stand. 0; or an error, and the
 * store has none of them.
 */
int reel_crates_put(struct reel_arena *arena, struct reel_crates *crates,
		    const struct reel_crate_item *items, size_t count);
/* Copy all items that have got a slab to the device. 0, or an error, and nothing has changed. */
int reel_crates_get(struct reel_arena *arena, struct reel_crates *crates);
/* Items that have a slab are not in the store any more. */
void reel_crates_forget(struct reel_crates *crates);
/* No item is. */
void reel_crates_empty(struct reel_crates *crates);

#endif
