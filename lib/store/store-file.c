/* SPDX-License-Identifier: MIT */
/*
 * Leaf: a file without a name. The verbs check a transfer and add it to the queue; the threads of
 * the store carry it out. One thread at a time calls the verbs. In the child of a fork every
 * transfer fails, since the threads and the slots are the parent's.
 */
#include "store-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/integer.h"
#include "os/os-file.h"
#include "os/process.h"

#define DEFAULT_THREADS 4
#define MAX_THREADS 64
/* A limit, so that a slot with its alignment is still a size. */
#define MAX_SLOT_SHIFT (SIZE_MAX > UINT32_MAX ? 40 : 30)
/* The largest put unless the options name one: the largest slab of a pool. */
#define DEFAULT_MAX_BYTES ((uint64_t)1 << 30)

/* A transfer has the overhead of some 100 KiB; a few transfers at once hide it. */
#define BEST_DEPTH 4

static int problem_with(const struct reel_file *file, const reel_transfer *transfer)
{
	if (reel_process_is_child(file->owner))
		return -ECHILD;
	if (((uintptr_t)transfer->data | transfer->bytes) & (file->align - 1))
		return -EINVAL;
	return 0;
}

/* Starts a transfer, or ends it with the error. */
static void start(struct reel_file *file, reel_transfer *transfer, int error)
{
	if (error)
		reel_transfer_complete(transfer, error);
	else
		reel_transfer_queue_add(&file->queue, transfer);
}

static void put(reel_store *store, reel_transfer *transfer)
{
	struct reel_file *file = (struct reel_file *)store;
	int error = problem_with(file, transfer);

	if (!error && transfer->bytes > file->most)
		error = -EMSGSIZE;
	transfer->extent = (struct reel_extent){REEL_FILE_NOWHERE, transfer->bytes};
	start(file, transfer, error);
}

static void get(reel_store *store, reel_transfer *transfer)
{
	struct reel_file *file = (struct reel_file *)store;
	int error = problem_with(file, transfer);

	if (!error && (transfer->bytes > file->most ||
		       transfer->extent.location == REEL_FILE_NOWHERE))
		error = -EINVAL;
	start(file, transfer, error);
}

static void drop(reel_store *store, struct reel_extent extent)
{
	struct reel_file *file = (struct reel_file *)store;

	if (!reel_process_is_child(file->owner))
		reel_file_slots_give(&file->slots, extent.location,
				     reel_file_bytes_of(file, extent.bytes));
}

static int sync_all(reel_store *store, int64_t timeout_ns)
{
	struct reel_file *file = (struct reel_file *)store;

	if (reel_process_is_child(file->owner))
		return 0;
	return reel_transfer_queue_wait(&file->queue, timeout_ns);
}

/* Bytes that the file has and may still get, less the bytes that the disk could not write. */
static uint64_t total_bytes(struct reel_file *file)
{
	uint64_t bytes = reel_file_slots_bytes(&file->slots, &file->slots.count);
	uint64_t room = reel_os_file_room(file->descriptor);
	uint64_t limit = reel_os_file_max_bytes();
	uint64_t retired = reel_file_slots_bytes(&file->slots, &file->slots.retired);

	bytes = room < UINT64_MAX - bytes ? bytes + room : UINT64_MAX;
	if (bytes > limit)
		bytes = limit;
	if (bytes > file->max_bytes)
		bytes = file->max_bytes;
	if (bytes == UINT64_MAX)
		return bytes;
	return bytes > retired ? bytes - retired : 0;
}

static void capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	REEL_UNCANCELLED;
	struct reel_file *file = (struct reel_file *)store;

	*capacity = (struct reel_store_capacity){
		.total_bytes = total_bytes(file),
		.used_bytes = reel_file_slots_bytes(&file->slots, &file->slots.used),
		.align = file->align,
		.max_bytes = file->most,
		.best_depth = BEST_DEPTH,
	};
}

static void close_file(reel_store *store)
{
	REEL_UNCANCELLED;
	struct reel_file *file = (struct reel_file *)store;

	if (!reel_process_is_child(file->owner)) {
		reel_transfer_queue_shut(&file->queue);
		reel_file_threads_join(file);
		reel_transfer_queue_close(&file->queue);
	}
	REEL_ASSERT(file->descriptor >= 0);
	reel_file_threads_forget(file);
	reel_file_slots_close(&file->slots);
	reel_file_close(file);
	free(file);
}

static const struct reel_store_verbs verbs = {
	.name = "file",
	.put = put,
	.get = get,
	.drop = drop,
	.sync = sync_all,
	.capacity = capacity,
	.close = close_file,
};

static int check_options(const struct reel_file_options *options)
{
	if (options->slot_bytes > (size_t)1 << MAX_SLOT_SHIFT)
		return reel_fail(-EINVAL, "slot_bytes is %zu; it may be 2^%d at most",
				 options->slot_bytes, MAX_SLOT_SHIFT);
	if (options->threads > MAX_THREADS)
		return reel_fail(-EINVAL, "threads is %u; it may be %d at most", options->threads,
				 MAX_THREADS);
	if (options->flags & ~(REEL_FILE_BUFFERED | REEL_FILE_TMPFS))
		return reel_fail(-EINVAL, "flags is %#x, and has bits that mean nothing",
				 options->flags);
	return 0;
}

/* Sets the largest put of a file that has room for `room` bytes. */
static void set_most(struct reel_file *file, uint64_t room, const struct reel_file_options *options)
{
	if (options->slot_bytes) {
		file->most = reel_round_up(options->slot_bytes, file->align);
		return;
	}
	room -= room % file->slots.unit_bytes + file->header_bytes;
	room = reel_min_u64(room, DEFAULT_MAX_BYTES);
	file->most = (size_t)(room - room % file->align);
}

/* Opens the slots, after reel_file_open() has found their alignment. */
static int open_slots(struct reel_file *file, const struct reel_file_options *options)
{
	size_t bytes = options->slot_bytes ? options->slot_bytes : REEL_DEFAULT_SLOT_BYTES;
	uint64_t limit = reel_os_file_max_bytes();
	uint64_t slot_bytes;
	int error;

	slot_bytes = file->header_bytes +
		     reel_round_up(reel_round_up(bytes, file->align), file->header_bytes);
	file->max_bytes = options->max_bytes ? options->max_bytes : UINT64_MAX;
	if (file->max_bytes < slot_bytes)
		return reel_fail(-EINVAL, "max_bytes is %llu; a slot takes %llu",
				 (unsigned long long)file->max_bytes,
				 (unsigned long long)slot_bytes);
	if (limit < slot_bytes)
		return reel_fail(-EFBIG,
				 "a file may have %llu bytes, a slot takes %llu; "
				 "raise ulimit -f",
				 (unsigned long long)limit, (unsigned long long)slot_bytes);
	error = reel_file_slots_open(&file->slots, file->descriptor, &file->identity, slot_bytes,
				     file->header_bytes, file->max_bytes);
	set_most(file, reel_min_u64(limit, file->max_bytes), options);
	REEL_ASSERT(file->most >= bytes);
	return error;
}

static int open_parts(struct reel_file *file, const struct reel_file_options *options)
{
	int error = open_slots(file, options);

	if (error)
		return error;
	error = reel_transfer_queue_open(&file->queue);
	if (!error)
		error = -pthread_mutex_init(&file->write_back, NULL);
	if (!error)
		error = reel_file_threads_start(file, options->threads ? options->threads
								       : DEFAULT_THREADS);
	if (error)
		reel_file_slots_close(&file->slots);
	/* No thread has left its text. */
	return error == -ENOMEM ? reel_fail(error, "no memory for the file") : error;
}

int reel_store_file_open(reel_store **store, const struct reel_file_options *options)
{
	REEL_UNCANCELLED;
	static const struct reel_file_options defaults;
	struct reel_file *file;
	int error;

	if (!options)
		options = &defaults;
	error = check_options(options);
	if (error)
		return error;
	file = calloc(1, sizeof *file);
	if (!file)
		return reel_fail(-ENOMEM, "no memory for a store");
	file->store.verbs = &verbs;
	file->owner = getpid();
	error = reel_file_open(file, options);
	if (!error) {
		error = open_parts(file, options);
		if (!error) {
			*store = &file->store;
			return 0;
		}
		reel_file_close(file);
	}
	free(file);
	return error;
}
