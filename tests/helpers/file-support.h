/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests of the file store. A test includes <config.h> first. Data
 * and header of a transfer are functions of a seed.
 */
#ifndef FILE_SUPPORT_H
#define FILE_SUPPORT_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store-file.h"
#include "support.h"

#define BLOCK 4096
#define SLOT ((size_t)4 * BLOCK)
#define TICKETS 8

/* The ways in which a file is read and written. */
static const struct way {
	const char *name;
	unsigned flags;
} ways[] = {
	{"past the page cache", 0},
	{"through the page cache", REEL_FILE_BUFFERED},
};

static _Alignas(BLOCK) unsigned char data[TICKETS][SLOT];
static reel_transfer tickets[TICKETS];
static uint64_t seeds[TICKETS];

/* Here, and not refused where the tests are run in memory. */
static inline struct reel_file_options options_of(const struct way *way)
{
	return (struct reel_file_options){
		.directory = ".",
		.slot_bytes = SLOT,
		.threads = 3,
		.flags = way->flags | REEL_FILE_TMPFS,
	};
}

static inline struct reel_file *file_of(reel_store *store)
{
	return (struct reel_file *)store;
}

/* The number of the largest slot that begins there, if all below are as large. */
static inline uint64_t slot_number(reel_store *store, struct reel_extent extent)
{
	const struct reel_file_slots *slots = &file_of(store)->slots;

	return extent.location * slots->unit_bytes / slots->slot_bytes;
}

static inline reel_store *open_store(struct reel_file_options options)
{
	reel_store *store = NULL;
	int error = reel_store_file_open(&store, &options);

	if (!error)
		return store;
	printf("Bail out! no file store: %d, %s\n", error, reel_error_text(0));
	_exit(EXIT_FAILURE);
}

/* Whether a store can be had that is read and written in this way, and not in another. */
static inline bool way_is_there(const struct way *way)
{
	reel_store *store = open_store(options_of(way));
	struct reel_file *file = file_of(store);
	bool there = file->direct == !(way->flags & REEL_FILE_BUFFERED) && file->align <= BLOCK;

	reel_store_close(store);
	return there;
}

static inline struct reel_store_capacity capacity_of(reel_store *store)
{
	struct reel_store_capacity capacity;

	reel_store_get_capacity(store, &capacity);
	return capacity;
}

static inline void nothing(reel_transfer *transfer)
{
	(void)transfer;
}

/* Make ticket i ready for a put of data that the seed tells. */
static inline void prepare_put(unsigned i, uint64_t seed, size_t bytes)
{
	reel_transfer *ticket = &tickets[i];

	memset(ticket, 0, sizeof *ticket);
	ticket->data = data[i];
	ticket->bytes = bytes;
	ticket->done = nothing;
	seeds[i] = seed;
	fill(ticket->header, sizeof ticket->header, seed << 32);
	for (size_t k = 0; k < bytes / sizeof(uint64_t); k++)
		((uint64_t *)ticket->data)[k] = scramble((seed << 32) + k);
}

/* The data is overwritten first, so that data that comes back was read. */
static inline void prepare_get(unsigned i, uint64_t seed, struct reel_extent extent)
{
	reel_transfer *ticket = &tickets[i];

	memset(ticket, 0, sizeof *ticket);
	memset(data[i], 0xa5, SLOT);
	ticket->data = data[i];
	ticket->bytes = (size_t)extent.bytes;
	ticket->extent = extent;
	ticket->done = nothing;
	seeds[i] = seed;
}

static inline bool came_back(unsigned i)
{
	const reel_transfer *ticket = &tickets[i];

	for (size_t k = 0; k < ticket->bytes / sizeof(uint64_t); k++)
		if (((uint64_t *)ticket->data)[k] != scramble((seeds[i] << 32) + k))
			return false;
	return !ticket->error &&
	       is_filled(ticket->header, sizeof ticket->header, seeds[i] << 32);
}

/* With ticket 0. Returns the error. */
static inline int put_one(reel_store *store, uint64_t seed, struct reel_extent *extent)
{
	prepare_put(0, seed, SLOT);
	reel_store_put_and_wait(store, &tickets[0]);
	*extent = tickets[0].extent;
	return tickets[0].error;
}

static inline bool get_one(reel_store *store, uint64_t seed, struct reel_extent extent)
{
	prepare_get(0, seed, extent);
	reel_store_get_and_wait(store, &tickets[0]);
	return came_back(0);
}

static inline unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int descriptor = 0; descriptor < 2048; descriptor++)
		count += fcntl(descriptor, F_GETFD) >= 0;
	return count;
}

#endif
