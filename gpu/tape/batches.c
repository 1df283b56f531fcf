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
#include "gpu/driver/frames.h"
#include "os/assert.h"
#include "os/integer.h"
#include "os/process.h"
#include "spill/pool/child-pool.h"
#include "spill/pool/default-pool.h"

/* Size of a full batch, unless a slab is larger or the store takes less at once. */
#define BATCH_BYTES ((size_t)2 << 20)

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

/* The driver pins the pool's frames while the pool has them. */
static int open_pool(struct reel_arena *arena, struct reel_batches *batches, reel_store *store)
{
	struct reel_frame_listener *listener;
	reel_pool *parent;
	int error = reel_pool_open_default(&parent);

	if (!error)
		error = reel_frames_open(&listener, arena->gpu.number);
	if (error)
		return error;
	error = reel_pool_open_child(&batches->pool, parent, store,
				     (size_t)batches->slabs * arena->slab_bytes, REEL_FRAMES_STAY,
				     listener);
	if (!error)
		return 0;
	listener->closed(listener);
	return reel_fail(error, "no memory for a pool of an arena's slabs");
}

int reel_batches_open(struct reel_arena *arena, struct reel_batches *batches, reel_store *store)
{
	int error;

	*batches = (struct reel_batches){
		.slabs = full_batch(arena, store),
		.process = getpid(),
	};
	TRY(arena, cuStreamCreate, (&batches->stream, REEL_CU_STREAM_NON_BLOCKING));
	error = open_pool(arena, batches, store);
	if (error)
		arena->gpu.driver->cuStreamDestroy(batches->stream);
	return error;
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
	/*
	 * The device may still use the frames of parcels that are open or pinned. If the wait
	 * fails, it is lost, and copies nothing any more.
	 */
	reel_arena_wait_for(arena, batches->stream);
	for (size_t n = 0; n < batches->count; n++)
		drop_batch(&batches->batch[n]);
	batches->count = 0;
	batches->moving = REEL_MOVE_NONE;
	batches->is_put_off = false;
	batches->is_awaiting = false;
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
	REEL_ASSERT(!error);
	(void)error;
	if (!is_child)
		arena->gpu.driver->cuStreamDestroy(batches->stream);
}

/* ---- The list of batches ---- */

static int add_batch(struct reel_batches *batches, const struct reel_batch_item *items,
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

int reel_batches_add(struct reel_batches *batches, const struct reel_batch_item *items,
		     size_t count)
{
	size_t before = batches->count;

	for (size_t first = 0; first < count; first += batches->slabs) {
		size_t slabs = reel_min_size(count - first, batches->slabs);

		if (add_batch(batches, items + first, (uint32_t)slabs)) {
			reel_batches_drop_from(batches, before);
			return reel_fail(-ENOMEM,
					 "no host memory to note which slabs the store has");
		}
	}
	return 0;
}

/* After an error of the driver a copy may be under way: the batches stay until a reset. */
void reel_batches_drop_from(struct reel_batches *batches, size_t first)
{
	REEL_ASSERT(!batches->moving || first >= batches->end);
	while (!batches->is_lost && batches->count > first)
		drop_batch(&batches->batch[--batches->count]);
}

void reel_batches_forget(struct reel_batches *batches)
{
	size_t kept = batches->first;

	REEL_ASSERT(!batches->moving);
	for (size_t n = kept; n < batches->count; n++) {
		struct reel_batch *batch = &batches->batch[n];
		bool is_kept = false;

		for (uint32_t i = 0; i < batch->slabs; i++)
			is_kept |= batch->items[i].height < UINT32_MAX;
		if (is_kept)
			batches->batch[kept++] = *batch;
		else
			drop_batch(batch);
	}
	batches->count = kept;
	if (kept == 0)
		reel_pool_settle(batches->pool);
}

void reel_batches_announce(struct reel_batches *batches)
{
	reel_parcel **parcels = malloc(batches->count * sizeof *parcels);

	for (size_t n = 0; n < batches->count && parcels; n++)
		parcels[n] = batches->batch[batches->count - 1 - n].parcel;
	/* Without memory to announce them, the pins read them. */
	if (parcels)
		reel_parcel_announce(parcels, batches->count);
	free(parcels);
}

/* ---- Moving ---- */

static bool is_wanted(const struct reel_batch *batch)
{
	for (uint32_t n = 0; n < batch->slabs; n++)
		if (batch->items[n].slab)
			return true;
	return false;
}

/* Finds the host memory of a batch: opens its parcel, or pins it. */
static int take_memory(const struct reel_arena *arena, struct reel_batches *batches,
		       struct reel_batch *batch, bool waits)
{
	const void *pinned = NULL;
	int error;

	if (batches->moving == REEL_MOVE_OUT)
		return reel_parcel_open_alone(&batch->parcel, batches->pool,
					      (size_t)batch->slabs * arena->slab_bytes,
					      &batch->memory);
	error = waits ? reel_parcel_pin(batch->parcel, &pinned)
		      : reel_parcel_pin_for(batch->parcel, &pinned, 0);
	batch->is_pinned = !error;
	batch->memory = (void *)pinned;
	return error;
}

/* Starts to copy the slabs of a batch. Notes an error of the driver in `is_lost`. */
static int start_copy(struct reel_arena *arena, struct reel_batches *batches,
		      const struct reel_batch *batch)
{
	size_t stride = sizeof *batch->items / sizeof(uint32_t);
	int error = reel_arena_copy(arena, batches->stream, &batch->items[0].slab, stride,
				    batch->slabs, batch->memory, batches->moving == REEL_MOVE_IN);

	batches->is_lost |= error != 0;
	return error;
}

int reel_batches_begin_out(struct reel_arena *arena, struct reel_batches *batches, size_t first)
{
	int error = 0;

	REEL_ASSERT(!batches->moving);
	batches->moving = REEL_MOVE_OUT;
	batches->is_awaiting = false;
	batches->first = batches->end = first;
	while (batches->end < batches->count && !error) {
		struct reel_batch *batch = &batches->batch[batches->end];

		error = take_memory(arena, batches, batch, true);
		if (!error)
			error = start_copy(arena, batches, batch);
		batches->end += !error;
	}
	if (batches->first == batches->end)
		batches->moving = REEL_MOVE_NONE;
	return error;
}

int reel_batches_begin_in(struct reel_arena *arena, struct reel_batches *batches, size_t end,
			  bool waits)
{
	bool moves = false;
	int error = 0;

	REEL_ASSERT(!batches->moving);
	batches->moving = REEL_MOVE_IN;
	batches->first = batches->end = end;
	while (batches->first > 0 && !error) {
		struct reel_batch *batch = &batches->batch[batches->first - 1];
		bool wanted = is_wanted(batch);

		if (wanted)
			error = take_memory(arena, batches, batch, waits);
		if (wanted && !error && waits)
			error = start_copy(arena, batches, batch);
		moves |= wanted && !error;
		batches->first -= !error;
	}
	batches->is_awaiting = error == -EAGAIN;
	batches->is_put_off = moves && !waits;
	if (!moves)
		batches->moving = REEL_MOVE_NONE;
	return error;
}

int reel_batches_start(struct reel_arena *arena, struct reel_batches *batches)
{
	int error = 0;

	for (size_t n = batches->end; batches->is_put_off && n-- > batches->first && !error;)
		if (is_wanted(&batches->batch[n]))
			error = start_copy(arena, batches, &batches->batch[n]);
	batches->is_put_off = false;
	return error;
}

bool reel_batches_have_arrived(struct reel_arena *arena, const struct reel_batches *batches)
{
	if (batches->moving)
		return !arena->gpu.driver->cuStreamQuery(batches->stream);
	return batches->is_awaiting &&
	       reel_parcel_is_in_memory(batches->batch[batches->first - 1].parcel);
}

int reel_batches_end(struct reel_arena *arena, struct reel_batches *batches)
{
	int error = reel_arena_wait_for(arena, batches->stream);

	REEL_ASSERT(!batches->is_put_off);
	batches->is_lost |= error != 0;
	if (batches->is_lost)
		return error;
	for (size_t n = batches->first; n < batches->end; n++) {
		struct reel_batch *batch = &batches->batch[n];

		if (batch->is_pinned)
			reel_parcel_unpin(batch->parcel);
		else if (batches->moving == REEL_MOVE_OUT)
			reel_parcel_seal(batch->parcel);
		batch->is_pinned = false;
	}
	batches->moving = REEL_MOVE_NONE;
	return 0;
}
