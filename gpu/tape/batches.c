/* SPDX-License-Identifier: MIT */
/*
 * Moves slabs of an arena between the device and its store, in batches. The thread that called a
 * function of reel/arena.h runs these functions and waits for the store. The frames have two
 * halves: while the device copies to or from one half, the store works on the other. `left` of a
 * batch is the number of its items that are in the store; a batch with none left is dropped.
 */
#include "config.h"

#include "batches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena-state.h"
#include "os/assert.h"

/* Size of a full batch, unless a slab is larger or the store takes less at once. */
#define CRATE_BYTES ((size_t)2 << 20)
#define FRAMES (2 * REEL_BATCH_FRAMES_HALF)

/* ---- Opening and closing ---- */

static size_t transfer_bytes(const struct reel_arena *arena, const struct reel_batches *batches,
			     uint32_t slabs)
{
	return ((size_t)slabs * arena->slab_bytes + batches->align - 1) & ~(batches->align - 1);
}

int reel_batches_open(struct reel_arena *arena, struct reel_batches *batches, reel_store *store)
{
	struct reel_store_capacity capacity;
	size_t least, most, bytes;
	void *memory = NULL;

	memset(batches, 0, sizeof *batches);
	reel_store_get_capacity(store, &capacity);
	batches->align = capacity.align ? capacity.align : 1;
	least = transfer_bytes(arena, batches, 1);
	most = least > CRATE_BYTES ? least : CRATE_BYTES;
	if (capacity.max_bytes && capacity.max_bytes < most)
		most = capacity.max_bytes;
	if (most < least)
		return reel_fail(-EINVAL, "the store takes %llu bytes at once, and a slab has %u",
				 (unsigned long long)most, (unsigned)arena->slab_bytes);
	batches->slabs = (uint32_t)(most / arena->slab_bytes);
	while (transfer_bytes(arena, batches, batches->slabs) > most)
		batches->slabs--;
	REEL_ASSERT(batches->slabs > 0);
	bytes = transfer_bytes(arena, batches, batches->slabs);
	TRY(arena->driver, cuMemHostAlloc, (&memory, bytes * FRAMES, REEL_CU_HOST_ALLOC_PORTABLE));
	/* A transfer that is rounded up writes bytes behind its slabs: no old data may be there. */
	memset(memory, 0, bytes * FRAMES);
	batches->memory = memory;
	for (unsigned n = 0; n < FRAMES; n++)
		batches->frame[n].memory = batches->memory + n * bytes;
	batches->store = store;
	return 0;
}

static void drop_batch(struct reel_batches *batches, struct reel_batch *batch)
{
	reel_store_drop(batches->store, batch->extent);
	free(batch->items);
	batch->items = NULL;
}

void reel_batches_empty(struct reel_batches *batches)
{
	for (size_t n = 0; n < batches->count; n++)
		drop_batch(batches, &batches->batch[n]);
	batches->count = 0;
}

void reel_batches_close(struct reel_arena *arena, struct reel_batches *batches, bool within)
{
	reel_batches_empty(batches);
	free(batches->batch);
	if (batches->memory && within)
		arena->driver->cuMemFreeHost(batches->memory);
	reel_store_close(batches->store);
}

/* ---- Transfers ---- */

/* Nothing to do: reel_store_sync() waits for all transfers. */
static void at_end(reel_transfer *transfer)
{
	(void)transfer;
}

static reel_transfer *prepare(struct reel_arena *arena, struct reel_batches *batches, size_t number,
			      const struct reel_batch *batch)
{
	struct reel_batch_frame *frame = &batches->frame[number % FRAMES];
	reel_transfer *transfer = &frame->transfer;

	REEL_ASSERT(batch->slabs <= batches->slabs);
	memset(transfer, 0, sizeof *transfer);
	transfer->data = frame->memory;
	transfer->bytes = transfer_bytes(arena, batches, batch->slabs);
	transfer->label.tape = (uintptr_t)arena;
	transfer->label.serial = batch->serial;
	transfer->done = at_end;
	return transfer;
}

/* Starts to copy between the slabs of a batch and its frame. Notes an error in `is_lost`. */
static int copy(struct reel_arena *arena, struct reel_batches *batches,
		const struct reel_batch *batch, unsigned char *memory, bool to_device)
{
	size_t stride = sizeof *batch->items / sizeof(uint32_t);
	int error = reel_arena_copy(arena, &batch->items[0].slab, stride, batch->slabs, memory,
				    to_device);

	batches->is_lost |= error != 0;
	return error;
}

static int wait_for_device(struct reel_arena *arena, struct reel_batches *batches, int error)
{
	int waited = reel_arena_wait(arena, error);

	batches->is_lost |= waited && !error;
	return waited;
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
	batch->slabs = batch->left = slabs;
	batch->serial = batches->serial++;
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

/*
 * Waits for the puts of the batches `first` to `end` and notes their extents. Returns `error`, or
 * the first error of a put.
 */
static int finish_puts(struct reel_batches *batches, size_t first, size_t end, int error)
{
	reel_store_sync(batches->store, -1);
	for (size_t n = first; n < end; n++) {
		const reel_transfer *transfer = &batches->frame[n % FRAMES].transfer;
		struct reel_batch *batch = &batches->batch[n];

		batch->extent = transfer->extent;
		memcpy(batch->header, transfer->header, sizeof batch->header);
		/* A batch whose put failed has no extent to drop. */
		if (transfer->error)
			batch->left = 0;
		if (transfer->error && !error)
			error = reel_fail(transfer->error, "the store takes no slab: %s",
					  strerror(-transfer->error));
	}
	return error;
}

/* Puts the batches from `first` on. Batch n uses frame n % FRAMES. */
static int put_batches(struct reel_arena *arena, struct reel_batches *batches, size_t first,
		       size_t *put)
{
	size_t done = first;
	int error = 0;

	while (*put < batches->count && !error) {
		size_t end = *put + REEL_BATCH_FRAMES_HALF < batches->count
				     ? *put + REEL_BATCH_FRAMES_HALF
				     : batches->count;

		for (size_t n = *put; n < end && !error; n++)
			error = copy(arena, batches, &batches->batch[n],
				     batches->frame[n % FRAMES].memory, false);
		error = wait_for_device(arena, batches, error);
		error = finish_puts(batches, done, *put, error);
		done = *put;
		for (size_t n = *put; n < end && !error; n++, (*put)++)
			reel_store_put(batches->store,
				       prepare(arena, batches, n, &batches->batch[n]));
	}
	return finish_puts(batches, done, *put, error);
}

int reel_batches_put(struct reel_arena *arena, struct reel_batches *batches,
		     const struct reel_batch_item *items, size_t count)
{
	size_t before = batches->count, put = before;
	int error = make_batches(batches, items, count);

	if (!error)
		error = put_batches(arena, batches, before, &put);
	for (size_t n = before; n < batches->count; n++) {
		struct reel_batch *batch = &batches->batch[n];

		for (uint32_t i = 0; i < batch->slabs; i++)
			batch->items[i].slab = 0;
		if (error && n < put && batch->left)
			reel_store_drop(batches->store, batch->extent);
		if (error)
			free(batch->items);
	}
	if (error)
		batches->count = before;
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

/* Starts to get at most one half of the frames, from batch `*next` on. Returns their number. */
static size_t start_gets(struct reel_arena *arena, struct reel_batches *batches, size_t *next,
			 size_t frame, size_t at[REEL_BATCH_FRAMES_HALF])
{
	size_t count = 0;

	for (; *next < batches->count && count < REEL_BATCH_FRAMES_HALF; ++*next) {
		struct reel_batch *batch = &batches->batch[*next];
		reel_transfer *transfer;

		if (!is_wanted(batch))
			continue;
		at[count] = *next;
		transfer = prepare(arena, batches, frame + count++, batch);
		transfer->extent = batch->extent;
		memcpy(transfer->header, batch->header, sizeof batch->header);
		reel_store_get(batches->store, transfer);
	}
	return count;
}

static int copy_in(struct reel_arena *arena, struct reel_batches *batches, size_t frame,
		   const size_t at[REEL_BATCH_FRAMES_HALF], size_t count)
{
	int error = 0;

	for (size_t n = 0; n < count && !error; n++) {
		struct reel_batch_frame *from = &batches->frame[(frame + n) % FRAMES];

		error = from->transfer.error;
		if (error)
			error = reel_fail(error, "a slab does not come back from the store: %s",
					  strerror(-error));
		else
			error = copy(arena, batches, &batches->batch[at[n]], from->memory, true);
	}
	return error;
}

int reel_batches_get(struct reel_arena *arena, struct reel_batches *batches)
{
	size_t at[2][REEL_BATCH_FRAMES_HALF], next = 0, frame = 0;
	size_t count = start_gets(arena, batches, &next, frame, at[0]);
	int error = 0;

	for (unsigned half = 0; count > 0 && !error; half ^= 1) {
		size_t coming;

		reel_store_sync(batches->store, -1);
		/* The device may still read the other half, which start_gets() fills next. */
		error = wait_for_device(arena, batches, 0);
		if (error)
			return error;
		coming = start_gets(arena, batches, &next, frame + REEL_BATCH_FRAMES_HALF,
				    at[half ^ 1]);
		error = copy_in(arena, batches, frame, at[half], count);
		frame += REEL_BATCH_FRAMES_HALF;
		count = coming;
	}
	reel_store_sync(batches->store, -1);
	return wait_for_device(arena, batches, error);
}

void reel_batches_forget(struct reel_batches *batches)
{
	size_t kept = 0;

	for (size_t n = 0; n < batches->count; n++) {
		struct reel_batch *batch = &batches->batch[n];

		for (uint32_t i = 0; i < batch->slabs; i++) {
			if (batch->items[i].slab) {
				batch->items[i].height = UINT32_MAX;
				batch->items[i].slab = 0;
				REEL_ASSERT(batch->left > 0);
				batch->left--;
			}
		}
		if (batch->left)
			batches->batch[kept++] = *batch;
		else
			drop_batch(batches, batch);
	}
	batches->count = kept;
}
