/* SPDX-License-Identifier: MIT */
/*
 * Moves slabs of an arena between the device and its store, in batches. A batch is a parcel of a
 * pool on the store, whose frames the default pool lends: it stays in its frame, which the driver
 * pins, and goes to the store when the budget of the default pool is short. The thread that called
 * a function of reel/arena.h runs these functions. A batch is dropped when none of its items is in
 * the store any more.
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
#define BATCH_BYTES ((size_t)2 << 20)
/* An event follows the copies of each HALF batches. The device has two halves to copy at a time. */
#define HALF 4u

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
	size_t most = BATCH_BYTES;

	reel_store_get_capacity(store, &capacity);
	if (capacity.max_bytes && capacity.max_bytes < most)
		most = (size_t)capacity.max_bytes;
	/* A larger slab travels in pieces. */
	return most < arena->slab_bytes ? 1 : (uint32_t)(most / arena->slab_bytes);
}

static int open_events(struct reel_arena *arena, struct reel_batches *batches)
{
	for (unsigned half = 0; half < 2; half++)
		TRY(arena, cuEventCreate,
		    (&batches->copied[half],
		     REEL_CU_EVENT_BLOCKING_SYNC | REEL_CU_EVENT_DISABLE_TIMING));
	return 0;
}

static void close_events(struct reel_arena *arena, struct reel_batches *batches)
{
	for (unsigned half = 0; half < 2; half++)
		if (batches->copied[half])
			arena->gpu.driver->cuEventDestroy(batches->copied[half]);
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
	error = open_events(arena, batches);
	if (error) {
		close_events(arena, batches);
		return error;
	}
	reel_pinned_open(&batches->pinned, &arena->gpu);
	error = reel_pool_open_child(&batches->pool, parent, store,
				     (size_t)batches->slabs * arena->slab_bytes, REEL_FRAMES_STAY,
				     &batches->listener);
	if (!error)
		return 0;
	reel_pinned_close(&batches->pinned, false);
	close_events(arena, batches);
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
	if (!is_child)
		close_events(arena, batches);
}

/* ---- Between the device and parcels ---- */

/* Batches of a list that are moved in one direction. */
struct move {
	struct reel_batch **batch;
	size_t count;
	bool to_device;
	/* Batches before `ended` are moved; those from there to `started` are being copied. */
	size_t ended, started;
};

/* Starts to copy the slabs of the next batch. Notes an error of the driver in `is_lost`. */
static int start_copy(struct reel_arena *arena, struct reel_batches *batches, struct move *move)
{
	struct reel_batch *batch = move->batch[move->started];
	size_t bytes = (size_t)batch->slabs * arena->slab_bytes;
	size_t stride = sizeof *batch->items / sizeof(uint32_t);
	const void *pinned = NULL;
	void *opened = NULL;
	int error = move->to_device ? reel_parcel_pin(batch->parcel, &pinned)
				    : reel_parcel_open_alone(&batch->parcel, batches->pool, bytes,
							     &opened);

	if (error)
		return error;
	batch->is_pinned = move->to_device;
	move->started++;
	error = reel_arena_copy(arena, &batch->items[0].slab, stride, batch->slabs,
				move->to_device ? (void *)pinned : opened, move->to_device);
	batches->is_lost |= error != 0;
	return error;
}

/* Starts to copy up to HALF batches, with an event behind them. */
static int start_half(struct reel_arena *arena, struct reel_batches *batches, struct move *move,
		      reel_cu_event copied)
{
	size_t end = reel_min_size(move->started + HALF, move->count);
	int error = 0;

	while (move->started < end && !error)
		error = start_copy(arena, batches, move);
	/* If there is no memory for one more batch, those under way have to end first. */
	if (error && !batches->is_lost && move->started > move->ended)
		error = 0;
	if (!error) {
		error = reel_arena_record(arena, copied);
		batches->is_lost |= error != 0;
	}
	return error;
}

/* Ends the copies of the batches before `end`, which the device has reached. */
static void end_half(struct move *move, size_t end)
{
	for (; move->ended < end; move->ended++) {
		struct reel_batch *batch = move->batch[move->ended];

		if (move->to_device)
			reel_parcel_unpin(batch->parcel);
		else
			reel_parcel_seal(batch->parcel);
		batch->is_pinned = false;
	}
}

/*
 * While the device copies one half, this thread ends the other one and starts it anew. After an
 * error of the driver a copy may be under way, so parcels stay open or pinned until the arena is
 * reset.
 */
static int move_batches(struct reel_arena *arena, struct reel_batches *batches, struct move *move)
{
	int error = 0;

	for (unsigned half = 0; move->ended < move->count && !error; half ^= 1) {
		size_t end = move->started;

		error = start_half(arena, batches, move, batches->copied[half]);
		if (!error && end > move->ended) {
			error = reel_arena_await(arena, batches->copied[half ^ 1]);
			batches->is_lost |= error != 0;
		}
		if (!error)
			end_half(move, end);
	}
	if (error && !batches->is_lost)
		batches->is_lost = reel_arena_wait(arena, 0) != 0;
	if (error && !batches->is_lost && move->to_device)
		end_half(move, move->started);
	return error;
}

static bool is_wanted(const struct reel_batch *batch)
{
	for (uint32_t n = 0; n < batch->slabs; n++)
		if (batch->items[n].slab)
			return true;
	return false;
}

/* Announces the parcels, so that the store reads them ahead, until their pins or an error. */
static int move_to_device(struct reel_arena *arena, struct reel_batches *batches, struct move *move)
{
	reel_parcel **parcels = malloc(move->count * sizeof(reel_parcel *));
	int error;

	if (!parcels)
		return reel_fail(-ENOMEM, "no host memory to list batches of slabs");
	for (size_t n = 0; n < move->count; n++)
		parcels[n] = move->batch[n]->parcel;
	/* Without memory to announce them, the pins read them. */
	reel_parcel_announce(parcels, move->count);
	error = move_batches(arena, batches, move);
	if (error)
		reel_parcel_withdraw(parcels, move->count);
	free(parcels);
	return error;
}

/* Moves all batches that have an item with a slab. */
static int move_wanted(struct reel_arena *arena, struct reel_batches *batches, bool to_device)
{
	struct move move = {.to_device = to_device};
	int error = 0;

	move.batch = malloc((batches->count + 1) * sizeof(struct reel_batch *));
	if (!move.batch)
		return reel_fail(-ENOMEM, "no host memory to list batches of slabs");
	for (size_t n = 0; n < batches->count; n++)
		if (is_wanted(&batches->batch[n]))
			move.batch[move.count++] = &batches->batch[n];
	if (move.count > 0)
		error = to_device ? move_to_device(arena, batches, &move)
				  : move_batches(arena, batches, &move);
	free(move.batch);
	return error;
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

int reel_batches_put(struct reel_arena *arena, struct reel_batches *batches,
		     const struct reel_batch_item *items, size_t count)
{
	size_t before = batches->count;
	int error = make_batches(batches, items, count);

	if (!error)
		error = move_wanted(arena, batches, false);
	for (size_t n = before; n < batches->count; n++)
		for (uint32_t i = 0; i < batches->batch[n].slabs; i++)
			batches->batch[n].items[i].slab = 0;
	while (error && !batches->is_lost && batches->count > before)
		drop_batch(&batches->batch[--batches->count]);
	return error;
}

/* ---- From the store ---- */

int reel_batches_get(struct reel_arena *arena, struct reel_batches *batches)
{
	return move_wanted(arena, batches, true);
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
