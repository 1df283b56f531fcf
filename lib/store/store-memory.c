/* SPDX-License-Identifier: MIT */
/*
 * Leaf: memory. Each put is a block of its own, and its address is the location. All transfers are
 * complete before the verb returns, so no lock is needed: one thread at a time calls the verbs.
 * `used_bytes` is the sum of all blocks in the list. A put that leaves at most an eighth of its
 * huge pages empty maps them, and takes a third of the time that it takes on small pages.
 */
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/assert.h"
#include "os/integer.h"
#include "os/os.h"

/* malloc() aligns to at least this. Locations count in this unit, so that they stay short. */
#define UNIT 8

/* The block of one put. */
struct piece {
	struct piece *next, *previous;
	uint64_t header[REEL_HEADER_BYTES / 8];
	size_t bytes;
	unsigned char *data; /* `small`, or a mapping of its own */
	unsigned char small[];
};

struct memory {
	reel_store store;
	uint64_t max_bytes;
	uint64_t used_bytes;
	struct piece *pieces;
};

static struct piece *at(uint64_t location)
{
	return (struct piece *)(uintptr_t)(location * UNIT);
}

static void link_piece(struct memory *memory, struct piece *piece)
{
	piece->previous = NULL;
	piece->next = memory->pieces;
	if (piece->next)
		piece->next->previous = piece;
	memory->pieces = piece;
}

static void unlink_piece(struct memory *memory, struct piece *piece)
{
	REEL_ASSERT(piece->previous || memory->pieces == piece);
	if (piece->next)
		piece->next->previous = piece->previous;
	if (piece->previous)
		piece->previous->next = piece->next;
	else
		memory->pieces = piece->next;
}

static size_t huge_pages(size_t bytes)
{
	return reel_round_up(bytes, REEL_HUGE_PAGE);
}

/*
 * Mappings of whole huge pages lie side by side. The system counts these as one, and allows a
 * process some 65,000. A piece that is dropped leaves a hole. Where no mapping is left, malloc()
 * may still find memory.
 */
static struct piece *new_piece(size_t bytes)
{
	size_t pages = huge_pages(bytes);
	unsigned char *large =
		pages - bytes < pages / 8 ? reel_os_map(pages, REEL_HUGE_PAGE) : NULL;
	struct piece *piece = malloc(sizeof *piece + (large ? 0 : bytes));

	if (large && piece)
		reel_os_want_huge_pages(large, pages);
	else if (large)
		reel_os_unmap(large, pages);
	if (piece)
		piece->data = large ? large : piece->small;
	return piece;
}

static void free_piece(struct piece *piece)
{
	if (piece->data != piece->small)
		reel_os_unmap(piece->data, huge_pages(piece->bytes));
	free(piece);
}

static int keep(struct memory *memory, reel_transfer *transfer)
{
	struct piece *piece;

	if (transfer->bytes > memory->max_bytes - memory->used_bytes)
		return -ENOSPC;
	piece = new_piece(transfer->bytes);
	if (!piece)
		return -ENOMEM;
	memcpy(piece->header, transfer->header, sizeof piece->header);
	memcpy(piece->data, transfer->data, transfer->bytes);
	piece->bytes = transfer->bytes;
	REEL_ASSERT((uintptr_t)piece % UNIT == 0);
	link_piece(memory, piece);
	memory->used_bytes += piece->bytes;
	transfer->extent.location = (uintptr_t)piece / UNIT;
	transfer->extent.bytes = transfer->bytes;
	return 0;
}

static void memory_put(reel_store *store, reel_transfer *transfer)
{
	reel_transfer_complete(transfer, keep((struct memory *)store, transfer));
}

static void memory_get(reel_store *store, reel_transfer *transfer)
{
	const struct piece *piece = at(transfer->extent.location);
	int error = transfer->bytes == piece->bytes ? 0 : -EINVAL;

	(void)store;
	if (!error) {
		memcpy(transfer->header, piece->header, sizeof piece->header);
		memcpy(transfer->data, piece->data, piece->bytes);
	}
	reel_transfer_complete(transfer, error);
}

static void memory_drop(reel_store *store, struct reel_extent extent)
{
	struct memory *memory = (struct memory *)store;
	struct piece *piece = at(extent.location);

	REEL_ASSERT(memory->used_bytes >= piece->bytes);
	unlink_piece(memory, piece);
	memory->used_bytes -= piece->bytes;
	free_piece(piece);
}

static int memory_sync(reel_store *store, int64_t timeout_ns)
{
	(void)store;
	(void)timeout_ns;
	return 0;
}

static void memory_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	const struct memory *memory = (struct memory *)store;

	*capacity = (struct reel_store_capacity){
		.total_bytes = memory->max_bytes,
		.used_bytes = memory->used_bytes,
		.align = 1,
		.best_depth = 1,
	};
}

static void memory_close(reel_store *store)
{
	struct memory *memory = (struct memory *)store;

	while (memory->pieces) {
		struct piece *piece = memory->pieces;

		memory->pieces = piece->next;
		free_piece(piece);
	}
	free(memory);
}

static const struct reel_store_verbs verbs = {
	.name = "memory",
	.put = memory_put,
	.get = memory_get,
	.drop = memory_drop,
	.sync = memory_sync,
	.capacity = memory_capacity,
	.close = memory_close,
};

int reel_store_memory_open(reel_store **store, uint64_t max_bytes)
{
	struct memory *memory = calloc(1, sizeof *memory);

	if (!memory)
		return reel_fail(-ENOMEM, "no memory for a store in memory");
	memory->store.verbs = &verbs;
	memory->max_bytes = max_bytes;
	*store = &memory->store;
	return 0;
}
