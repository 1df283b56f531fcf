/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "crates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arena-state.h"

/* Of a full crate, if a slab is not larger and the store takes as much. */
#define CRATE_BYTES ((size_t)2 << 20)
#define FRAMES (2 * REEL_CRATES_HALF)

/* ---- Opening and closing ---- */

static size_t transfer_bytes(const struct reel_arena *arena, const struct reel_crates *crates,
			     uint32_t slabs)
{
	return ((size_t)slabs * arena->slab_bytes + crates->align - 1) & ~(crates->align - 1);
}

int reel_crates_open(struct reel_arena *arena, struct reel_crates *crates, reel_store *store)
{
	struct reel_store_capacity capacity;
	size_t least, most, bytes;
	void *memory = NULL;

	memset(crates, 0, sizeof *crates);
	reel_store_get_capacity(store, &capacity);
	crates->align = capacity.align ? capacity.align : 1;
	least = transfer_bytes(arena, crates, 1);
	most = least > CRATE_BYTES ? least : CRATE_BYTES;
	if (capacity.max_bytes && capacity.max_bytes < most)
		most = capacity.max_bytes;
	if (most < least)
		return reel_arena_fail(-EINVAL,
				       "the store takes %llu bytes at once, and a slab has %u",
				       (unsigned long long)most, (unsigned)arena->slab_bytes);
	crates->slabs = (uint32_t)(most / arena->slab_bytes);
	while (transfer_bytes(arena, crates, crates->slabs) > most)
		crates->slabs--;
	bytes = transfer_bytes(arena, crates, crates->slabs);
	TRY(arena->driver, cuMemHostAlloc, (&memory, bytes * FRAMES, REEL_CU_HOST_ALLOC_PORTABLE));
	/* What rounds a transfer up is written too, and is not to be of anybody else. */
	memset(memory, 0, bytes * FRAMES);
	crates->memory = memory;
	for (unsigned n = 0; n < FRAMES; n++)
		crates->frame[n].memory = crates->memory + n * bytes;
	crates->store = store;
	return 0;
}

static void drop_crate(struct reel_crates *crates, struct reel_crate *crate)
{
	reel_store_drop(crates->store, crate->extent);
	free(crate->items);
	crate->items = NULL;
}

void reel_crates_empty(struct reel_crates *crates)
{
	for (size_t n = 0; n < crates->count; n++)
		drop_crate(crates, &crates->crate[n]);
	crates->count = 0;
}

void reel_crates_close(struct reel_arena *arena, struct reel_crates *crates, bool within)
{
	reel_crates_empty(crates);
	free(crates->crate);
	if (crates->memory && within)
		arena->driver->cuMemFreeHost(crates->memory);
	reel_store_close(crates->store);
}

/* ---- Transfers ---- */

/* The store is asked whether all are complete. */
static void at_end(reel_transfer *transfer)
{
	(void)transfer;
}

static reel_transfer *prepare(struct reel_arena *arena, struct reel_crates *crates, size_t number,
			      const struct reel_crate *crate)
{
	struct reel_crate_frame *frame = &crates->frame[number % FRAMES];
	reel_transfer *transfer = &frame->transfer;

	memset(transfer, 0, sizeof *transfer);
	transfer->data = frame->memory;
	transfer->bytes = transfer_bytes(arena, crates, crate->slabs);
	transfer->label.tape = (uintptr_t)arena;
	transfer->label.serial = crate->serial;
	transfer->done = at_end;
	return transfer;
}

/* Between a crate's slabs and its frame. What the driver refuses, or ends with, is remembered. */
static int copy(struct reel_arena *arena, struct reel_crates *crates,
		const struct reel_crate *crate, unsigned char *memory, bool to_device)
{
	size_t stride = sizeof *crate->items / sizeof(uint32_t);
	int error = reel_arena_copy(arena, &crate->items[0].slab, stride, crate->slabs, memory,
				    to_device);

	crates->is_lost |= error != 0;
	return error;
}

static int wait_for_device(struct reel_arena *arena, struct reel_crates *crates, int error)
{
	int waited = reel_arena_wait(arena, error);

	crates->is_lost |= waited && !error;
	return waited;
}

/* ---- To the store ---- */

static int make_crate(struct reel_crates *crates, const struct reel_crate_item *items,
		      uint32_t slabs)
{
	struct reel_crate *crate;

	if (crates->count == crates->room) {
		size_t room = 2 * crates->room + 16;
		struct reel_crate *larger = realloc(crates->crate, room * sizeof *larger);

		if (!larger)
			return -ENOMEM;
		crates->crate = larger;
		crates->room = room;
	}
	crate = &crates->crate[crates->count];
	memset(crate, 0, sizeof *crate);
	crate->items = malloc(slabs * sizeof *crate->items);
	if (!crate->items)
		return -ENOMEM;
	memcpy(crate->items, items, slabs * sizeof *crate->items);
	crate->slabs = crate->left = slabs;
	crate->serial = crates->serial++;
	crates->count++;
	return 0;
}

static int make_crates(struct reel_crates *crates, const struct reel_crate_item *items,
		       size_t count)
{
	for (size_t first = 0; first < count; first += crates->slabs) {
		size_t slabs = count - first < crates->slabs ? count - first : crates->slabs;

		if (make_crate(crates, items + first, (uint32_t)slabs))
			return reel_arena_fail(-ENOMEM,
					       "no host memory to note which slabs the store has");
	}
	return 0;
}

/* Of crates first to end, which are at the store. The first error, if `error` is none. */
static int finish_puts(struct reel_crates *crates, size_t first, size_t end, int error)
{
	reel_store_sync(crates->store, -1);
	for (size_t n = first; n < end; n++) {
		const reel_transfer *transfer = &crates->frame[n % FRAMES].transfer;
		struct reel_crate *crate = &crates->crate[n];

		crate->extent = transfer->extent;
		memcpy(crate->header, transfer->header, sizeof crate->header);
		/* It has no extent then. */
		if (transfer->error)
			crate->left = 0;
		if (transfer->error && !error)
			error = reel_arena_fail(transfer->error, "the store takes no slab: %s",
						strerror(-transfer->error));
	}
	return error;
}

/* Those from `first` on; the frame of a crate follows from its number. */
static int put_crates(struct reel_arena *arena, struct reel_crates *crates, size_t first,
		      size_t *put)
{
	size_t done = first;
	int error = 0;

	while (*put < crates->count && !error) {
		size_t end = *put + REEL_CRATES_HALF < crates->count ? *put + REEL_CRATES_HALF
								     : crates->count;

		for (size_t n = *put; n < end && !error; n++)
			error = copy(arena, crates, &crates->crate[n],
				     crates->frame[n % FRAMES].memory, false);
		error = wait_for_device(arena, crates, error);
		error = finish_puts(crates, done, *put, error);
		done = *put;
		for (size_t n = *put; n < end && !error; n++, (*put)++)
			reel_store_put(crates->store, prepare(arena, crates, n, &crates->crate[n]));
	}
	return finish_puts(crates, done, *put, error);
}

int reel_crates_put(struct reel_arena *arena, struct reel_crates *crates,
		    const struct reel_crate_item *items, size_t count)
{
	size_t before = crates->count, put = before;
	int error = make_crates(crates, items, count);

	if (!error)
		error = put_crates(arena, crates, before, &put);
	for (size_t n = before; n < crates->count; n++) {
		struct reel_crate *crate = &crates->crate[n];

		for (uint32_t i = 0; i < crate->slabs; i++)
			crate->items[i].slab = 0;
		if (error && n < put && crate->left)
			reel_store_drop(crates->store, crate->extent);
		if (error)
			free(crate->items);
	}
	if (error)
		crates->count = before;
	return error;
}

/* ---- From the store ---- */

static bool is_wanted(const struct reel_crate *crate)
{
	for (uint32_t n = 0; n < crate->slabs; n++)
		if (crate->items[n].slab)
			return true;
	return false;
}

/* Start to get up to half of the frames' crates, from number *next on; returns how many. */
static size_t start_gets(struct reel_arena *arena, struct reel_crates *crates, size_t *next,
			 size_t frame, size_t at[REEL_CRATES_HALF])
{
	size_t count = 0;

	for (; *next < crates->count && count < REEL_CRATES_HALF; ++*next) {
		struct reel_crate *crate = &crates->crate[*next];
		reel_transfer *transfer;

		if (!is_wanted(crate))
			continue;
		at[count] = *next;
		transfer = prepare(arena, crates, frame + count++, crate);
		transfer->extent = crate->extent;
		memcpy(transfer->header, crate->header, sizeof crate->header);
		reel_store_get(crates->store, transfer);
	}
	return count;
}

static int copy_in(struct reel_arena *arena, struct reel_crates *crates, size_t frame,
		   const size_t at[REEL_CRATES_HALF], size_t count)
{
	int error = 0;

	for (size_t n = 0; n < count && !error; n++) {
		struct reel_crate_frame *from = &crates->frame[(frame + n) % FRAMES];

		error = from->transfer.error;
		if (error)
			error = reel_arena_fail(error,
						"a slab does not come back from the store: %s",
						strerror(-error));
		else
			error = copy(arena, crates, &crates->crate[at[n]], from->memory, true);
	}
	return error;
}

int reel_crates_get(struct reel_arena *arena, struct reel_crates *crates)
{
	size_t at[2][REEL_CRATES_HALF], next = 0, frame = 0;
	size_t count = start_gets(arena, crates, &next, frame, at[0]);
	int error = 0;

	for (unsigned half = 0; count > 0 && !error; half ^= 1) {
		size_t coming;

		reel_store_sync(crates->store, -1);
		/* The frames of the other half are read. */
		error = wait_for_device(arena, crates, 0);
		if (error)
			return error;
		coming = start_gets(arena, crates, &next, frame + REEL_CRATES_HALF, at[half ^ 1]);
		error = copy_in(arena, crates, frame, at[half], count);
		frame += REEL_CRATES_HALF;
		count = coming;
	}
	reel_store_sync(crates->store, -1);
	return wait_for_device(arena, crates, error);
}

void reel_crates_forget(struct reel_crates *crates)
{
	size_t kept = 0;

	for (size_t n = 0; n < crates->count; n++) {
		struct reel_crate *crate = &crates->crate[n];

		for (uint32_t i = 0; i < crate->slabs; i++) {
			if (crate->items[i].slab) {
				crate->items[i].height = UINT32_MAX;
				crate->items[i].slab = 0;
				crate->left--;
			}
		}
		if (crate->left)
			crates->crate[kept++] = *crate;
		else
			drop_crate(crates, crate);
	}
	crates->count = kept;
}
