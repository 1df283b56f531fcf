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

#include "gpu/driver/driver.h"

struct reel_arena;

struct reel_batch_item {
	uint32_t warp;
	uint32_t height; /* UINT32_MAX: the slab has come back and is not in the store */
	uint32_t slab; /* its number on the device while it moves; 0: it stays in the store */
};

struct reel_batch {
	reel_parcel *parcel; /* NULL: its put has failed */
	struct reel_batch_item *items;
	uint32_t slabs;
	bool is_pinned; /* while its slabs are copied to the device */
	void *memory;   /* its frame, while it moves */
};

/* Copies of slabs that were started and not ended. */
enum reel_move { REEL_MOVE_NONE, REEL_MOVE_OUT, REEL_MOVE_IN };

struct reel_batches {
	reel_pool *pool; /* a child of the default pool */
	struct reel_batch *batch;
	size_t count, room;
	uint32_t slabs; /* number of slabs in a full batch */
	/* The batches that move, or have moved last, are those from `first` to `end` - 1. */
	enum reel_move moving;
	size_t first, end;
	bool is_put_off;  /* their copies wait for reel_batches_start() */
	bool is_awaiting; /* the batch before `first` was not in memory when it should have moved */
	reel_cu_stream stream; /* of their copies: a launch, or a copy of tables, waits for none */
	bool is_lost; /* the driver failed; a copy may be under way, or have ended in part */
	pid_t process;
};

/* Returns 0, or -ENOMEM, -EIO or -ENXIO, and the store still belongs to the caller. */
int reel_batches_open(struct reel_arena *arena, struct reel_batches *batches, reel_store *store);
/* Also closes the store. Does nothing if the batches were not opened. */
void reel_batches_close(struct reel_arena *arena, struct reel_batches *batches);

/* Adds batches of these slabs, in this order, at the end. Returns 0, or -ENOMEM and adds none. */
int reel_batches_add(struct reel_batches *batches, const struct reel_batch_item *items,
		     size_t count);
/* Removes the batches from number `first` on. */
void reel_batches_drop_from(struct reel_batches *batches, size_t first);
/* After a move in: removes the batches that have no item in the store any more. */
void reel_batches_forget(struct reel_batches *batches);
/* Removes all batches, after waiting for their copies. `is_lost` is false then. */
void reel_batches_empty(struct reel_arena *arena, struct reel_batches *batches);
/* Has the store read the batches ahead, the last one first. */
void reel_batches_announce(struct reel_batches *batches);

/*
 * Starts to copy batches from the device, from number `first` on. Waits for host memory. Returns 0,
 * or the error that ended the row: the batches before it move.
 */
int reel_batches_begin_out(struct reel_arena *arena, struct reel_batches *batches, size_t first);
/*
 * Starts to copy the items that have a slab to the device, of the batches before number `end`,
 * backwards. Returns as reel_batches_begin_out(). Waits for the store if `waits`. Otherwise returns
 * -EAGAIN at a batch that is not in memory, and puts the copies off.
 */
int reel_batches_begin_in(struct reel_arena *arena, struct reel_batches *batches, size_t end,
			  bool waits);
/* Starts the copies that were put off, if any. Returns 0, or -EIO. */
int reel_batches_start(struct reel_arena *arena, struct reel_batches *batches);
/*
 * Returns true if the copies of a move have ended, or if a batch that was not in memory has come
 * there since.
 */
bool reel_batches_have_arrived(struct reel_arena *arena, const struct reel_batches *batches);
/*
 * Waits for the copies and ends the move. Batches that left the device may go to the store now.
 * After an error their parcels stay open, or pinned.
 */
int reel_batches_end(struct reel_arena *arena, struct reel_batches *batches);

#endif
