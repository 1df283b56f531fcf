/* SPDX-License-Identifier: MIT */
/*
 * Moves slabs of an arena between the device and its store, in batches. A batch is a parcel of a
 * pool on the store, whose frames the default pool lends. The thread that called a function of
 * reel/arena.h runs these functions. Half of the frames are at the device while the offload thread
 * works on the other half. A batch is dropped when none of its items is in the store any more.
 */
#include "config.h"

#include "batches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena-state.h"
#include "os/assert.h"
#include "os/integer.h"
#include "os/process.h"
#include "spill/pool/child-pool.h"
#include "spill/pool/default-pool.h"

/* Size of a full batch, unless a slab is larger or the store takes less at once. */
#define CRATE_BYTES ((size_t)2 << 20)

/* ---- Frames that the driver knows ---- */

static struct reel_batches *batches_of(struct reel_frame_listener *listener)
{
	return (struct reel_batches *)((char *)listener - offsetof(struct reel_batches, listener));
}

/* If the driver pins no more memory, its copies from and to this frame take longer. */
static void pin_frame(struct reel_frame_listener *listener, void *frame, size_t bytes)
{
	struct reel_batches *batches = batches_of(listener);

	if (!reel_process_is_child(batches->process))
		reel_pinned_add(&batches->pinned, frame, bytes);
}

static void unpin_frame(struct reel_frame_listener *listener, void *frame)
{
	struct reel_batches *batches = batches_of(listener);

	if (!reel_process_is_child(batches->process))
		reel_pinned_remove(&batches->pinned, frame);
}

/* ---- Opening and closing ---- */

static uint32_t full_batch(const struct reel_arena *arena, reel_store *store)
{
	struct reel_store_capacity capacity;
	size_t most = CRATE_BYTES;

	reel_store_get_capacity(store, &capacity);
	if (capacity.max_bytes && capacity.max_bytes < most)
		most = (size_t)capacity.max_bytes;
	/* A larger slab travels in pieces. */
	return most < arena->slab_bytes ? 1 : (uint32_t)(most / arena->slab_bytes);
}

int reel_batches_open(struct reel_arena *arena, struct reel_batches *batches, reel_store *store)
{
	reel_pool *parent;
	int error = reel_pool_open_default(&parent);

	if (error)
		return error;
	*batches = (struct reel_batches){
		.slabs = full_batch(arena, store),
		.listener = {.borrowed = pin_frame, .returned = unpin_frame},
		.process = getpid(),
	};
	reel_pinned_open(&batches->pinned, &arena->gpu);
	error = reel_pool_open_child(&batches->pool, parent, store,
				     (size_t)batches->slabs * arena->slab_bytes,
				     2 * REEL_BATCH_FRAMES_HALF, &batches->listener);
	if (!error)
		return 0;
	reel_pinned_close(&batches->pinned, false);
	return reel_fail(error, "no memory for a pool of an arena's slabs");
}

static void drop_batch(struct reel_batch *batch)
{
	int error;

	if (batch->is_pinned)
		reel_parcel_unpin(batch->parcel);
	error = reel_parcel_close(batch->parcel);

	REEL_ASSERT(!error);
	(void)error;
	free(batch->items);
}

void reel_batches_empty(struct reel_arena *arena, struct reel_batches *batches)
{
	/* The device may still use the frames of parcels that are open or pinned. */
	if (batches->is_lost)
		arena->gpu.driver->cuStreamSynchronize(arena->stream);
	for (size_t n = 0; n < batches->count; n++)
		drop_batch(&batches->batch[n]);
	batches->count = 0;
	batches->is_lost = false;
	reel_pool_settle(batches->pool);
}

void reel_batches_close(struct reel_arena *arena, struct reel_batches *batches)
{
	bool is_child = reel_process_is_child(batches->process);
	int error;

	if (!batches->pool)
		return;
	reel_batches_empty(arena, batches);
	free(batches->batch);
	error = reel_pool_close_child(batches->pool, true);
	/* The pool has given all frames back, and a frame of another owner must not be pinned. */
	REEL_ASSERT(!error && (is_child || !batches->pinned.count));
	(void)error;
	reel_pinned_close(&batches->pinned, is_child);
}

/* ---- The device ---- */

/*
 * Starts to copy between the slabs of a batch and its parcel, which is open or pinned. Notes an
 * error in `is_lost`.
 */
static int copy(struct reel_arena *arena, struct reel_batches *batches,
		const struct reel_batch *batch, void *memory, bool to_device)
{
	size_t stride = sizeof *batch->items / sizeof(uint32_t);
	int error = reel_arena_copy(arena, &batch->items[0].slab, stride, batch->slabs, memory,
				    to_device);

	batches->is_lost |= error != 0;
	return error;
}

/* Waits for the copies that were started, also after an error of another kind. */
static int wait_for_device(struct reel_arena *arena, struct reel_batches *batches, int error)
{
	int waited = reel_arena_wait(arena, 0);

	batches->is_lost |= waited != 0;
	return error ? error : waited;
}

/* ---- To the store ---- */

static int make_batch(struct reel_batches *batches, const struct reel_batch_item *items,
		      uint32_t slabs)
{
	struct reel_batch *batch;

	if (batches->count == batches->room) {
		size_t room = 2 * batches->room + 16;
		struct reel_batch *larger = realloc(batches->batch, room * sizeof *larger);

		if (!larger)
			return -ENOMEM;
		batches->batch = larger;
		batches->room = room;
	}
	batch = &batches->batch[batches->count];
	memset(batch, 0, sizeof *batch);
	batch->items = malloc(slabs * sizeof *batch->items);
	if (!batch->items)
		return -ENOMEM;
	memcpy(batch->items, items, slabs * sizeof *batch->items);
	batch->slabs = slabs;
	batches->count++;
	return 0;
}

static int make_batches(struct reel_batches *batches, const struct reel_batch_item *items,
			size_t count)
{
	for (size_t first = 0; first < count; first += batches->slabs) {
		size_t slabs = count - first < batches->slabs ? count - first : batches->slabs;

		if (make_batch(batches, items + first, (uint32_t)slabs))
			return reel_fail(-ENOMEM,
					 "no host memory to note which slabs the store has");
	}
	return 0;
}

/* Puts at most one half of the frames, from batch `*next` on, and moves `*next` behind them. */
static int put_some(struct reel_arena *arena, struct reel_batches *batches, size_t *next)
{
	size_t first = *next, end = reel_min_size(first + REEL_BATCH_FRAMES_HALF, batches->count);
	int error = 0;

	reel_pool_await_puts(batches->pool, REEL_BATCH_FRAMES_HALF);
	while (*next < end && !error) {
		struct reel_batch *batch = &batches->batch[*next];
		void *memory;

		error = reel_parcel_open_alone(&batch->parcel, batches->pool,
					       (size_t)batch->slabs * arena->slab_bytes, &memory);
		if (!error)
			error = copy(arena, batches, batch, memory, false);
		*next += !error;
	}
	/* If there is no room for one more parcel, these have to leave memory first. */
	if (error && !batches->is_lost && *next > first)
		error = 0;
	error = wait_for_device(arena, batches, error);
	for (size_t n = first; n < *next && !error; n++)
		reel_parcel_seal(batches->batch[n].parcel);
	return error;
}

int reel_batches_put(struct reel_arena *arena, struct reel_batches *batches,
		     const struct reel_batch_item *items, size_t count)
{
	size_t before = batches->count, next = before;
	int error = make_batches(batches, items, count);

	while (next < batches->count && !error)
		error = put_some(arena, batches, &next);
	for (size_t n = before; n < batches->count; n++)
		for (uint32_t i = 0; i < batches->batch[n].slabs; i++)
			batches->batch[n].items[i].slab = 0;
	/*
	 * After an error of the driver a copy may be under way, so the parcels stay open until the
	 * arena is reset.
	 */
	while (error && !batches->is_lost && batches->count > before)
		drop_batch(&batches->batch[--batches->count]);
	return error;
}

/* ---- From the store ---- */

static bool is_wanted(const struct reel_batch *batch)
{
	for (uint32_t n = 0; n < batch->slabs; n++)
		if (batch->items[n].slab)
			return true;
	return false;
}

/* Lists at most one half of the frames, from batch `*next` on, and announces them. */
static size_t announce(struct reel_batches *batches, size_t *next,
		       struct reel_batch *at[REEL_BATCH_FRAMES_HALF])
{
	reel_parcel *parcels[REEL_BATCH_FRAMES_HALF];
	size_t count = 0;

	for (; *next < batches->count && count < REEL_BATCH_FRAMES_HALF; ++*next) {
		if (!is_wanted(&batches->batch[*next]))
			continue;
		at[count] = &batches->batch[*next];
		parcels[count] = at[count]->parcel;
		count++;
	}
	/* Without memory to announce them, the pins read them. */
	if (count > 0)
		reel_parcel_announce(parcels, count);
	return count;
}

/* Gets at least one of these batches, and returns in *got how many. */
static int get_some(struct reel_arena *arena, struct reel_batches *batches,
		    struct reel_batch *const *batch, size_t count, size_t *got)
{
	size_t pinned = 0;
	int error = 0;

	while (pinned < count && !error) {
		const void *memory;

		error = reel_parcel_pin(batch[pinned]->parcel, &memory);
		if (error)
			break;
		batch[pinned]->is_pinned = true;
		error = copy(arena, batches, batch[pinned++], (void *)memory, true);
	}
	/* If there is no room for one more pin, these have to be given up first. */
	if (error == -EDQUOT && pinned > 0)
		error = 0;
	error = wait_for_device(arena, batches, error);
	/* After an error of the driver a copy may be under way, so the parcels stay pinned. */
	for (size_t n = 0; n < pinned && !batches->is_lost; n++) {
		reel_parcel_unpin(batch[n]->parcel);
		batch[n]->is_pinned = false;
	}
	*got = pinned;
	return error;
}

int reel_batches_get(struct reel_arena *arena, struct reel_batches *batches)
{
	struct reel_batch *at[2][REEL_BATCH_FRAMES_HALF];
	size_t next = 0, count = announce(batches, &next, at[0]), coming;
	int error = 0;

	for (unsigned half = 0; count > 0 && !error; half ^= 1, count = coming) {
		coming = announce(batches, &next, at[half ^ 1]);
		for (size_t done = 0, got = 0; done < count && !error; done += got)
			error = get_some(arena, batches, &at[half][done], count - done, &got);
	}
	/* A batch that is announced would stay in memory. */
	for (size_t n = 0; n < batches->count && error; n++)
		if (is_wanted(&batches->batch[n]))
			reel_parcel_withdraw(&batches->batch[n].parcel, 1);
	return error;
}

void reel_batches_forget(struct reel_batches *batches)
{
	size_t kept = 0;

	for (size_t n = 0; n < batches->count; n++) {
		struct reel_batch *batch = &batches->batch[n];
		bool is_kept = false;

		for (uint32_t i = 0; i < batch->slabs; i++) {
			if (batch->items[i].slab)
				batch->items[i].height = UINT32_MAX;
			batch->items[i].slab = 0;
			is_kept |= batch->items[i].height < UINT32_MAX;
		}
		if (is_kept)
			batches->batch[kept++] = *batch;
		else
			drop_batch(batch);
	}
	if (batches->count > 0 && kept == 0)
		reel_pool_settle(batches->pool);
	batches->count = kept;
}
