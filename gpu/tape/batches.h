/* SPDX-License-Identifier: MIT */
/*
 * Slabs of an arena in a store. A batch is a number of slabs that one parcel holds, of a pool on
 * the store. The pool keeps a batch, in memory or in the store, until the last of its slabs has
 * come back. The items of a batch say which slabs it has, by warp and height.
 */
#ifndef REEL_GPU_BATCHES_H
#define REEL_GPU_BATCHES_H

#include <sys/types.h>

#include <reel/parcel.h>

#include "gpu/driver/pinned.h"
#include "pool/pool.h"

struct reel_arena;

struct reel_batch_item {
	uint32_t warp;
	uint32_t height; /* UINT32_MAX: the slab has come back and is not in the store */
	uint32_t slab; /* its number on the device during a copy; 0: it stays in the store */
};

struct reel_batch {
	reel_parcel *parcel; /* NULL: its put has failed */
	struct reel_batch_item *items;
	uint32_t slabs;
	bool is_pinned; /* while its slabs are copied to the device */
};

struct reel_batches {
	reel_pool *pool; /* a child of the default pool */
	struct reel_batch *batch;
	size_t count, room;
	uint32_t slabs; /* number of slabs in a full batch */
	reel_cu_event copied[2]; /* behind the copies of every other HALF batches (batches.c) */
	bool is_lost; /* the driver failed; a copy may be under way, or have ended in part */
	/* The pool's frames, pinned by the driver while the pool has them. */
	struct reel_pinned pinned;
	struct reel_frame_listener listener;
	pid_t process;
};

/* Returns 0, or -ENOMEM or -ENXIO, and the store still belongs to the caller. */
int reel_batches_open(struct reel_arena *arena, struct reel_batches *batches, reel_store *store);
/* Also closes the store. Does nothing if the batches were not opened. */
void reel_batches_close(struct reel_arena *arena, struct reel_batches *batches);

/*
 * Copies these slabs from the device to the store, in batches in this order. If it returns an
 * error, the store has none of them. Slabs that the store refuses stay in memory, and are no error.
 */
int reel_batches_put(struct reel_arena *arena, struct reel_batches *batches,
		     const struct reel_batch_item *items, size_t count);
/* Copies all items that have a slab to the device. After an error no batch has changed. */
int reel_batches_get(struct reel_arena *arena, struct reel_batches *batches);
/* Removes the items that have a slab, since they are on the device again. */
void reel_batches_forget(struct reel_batches *batches);
/* Removes all batches. `is_lost` is false then. */
void reel_batches_empty(struct reel_arena *arena, struct reel_batches *batches);

#endif
