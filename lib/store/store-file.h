/* SPDX-License-Identifier: MIT */
/*
 * The file store, and what its parts share.
 *
 *	store-file.c    its verbs
 *	file-open.c     the file: where it is, and how it is read and written
 *	file-slots.c    its slots: each put has one, as large as it needs
 *	file-runs.c     which units of the file are free
 *	transfer-queue.c    the transfers that wait
 *	file-request.c  one transfer, which may take several reads or writes
 *	file-threads.c  engine: threads
 *	file-ring.c     engine: io_uring
 *
 * A slot is a block with the transfer's header, then its data.
 */
#ifndef REEL_LIB_STORE_FILE_H
#define REEL_LIB_STORE_FILE_H

#include "transfer-queue.h"
#include "file-slots.h"
#include "store.h"

/* An extent that no slot of the file has: that of a put which has none yet. */
#define REEL_FILE_NOWHERE UINT64_MAX

/*
 * What the file is read and written in multiples of. A file system reads or
 * zeros the rest of a block that is written in part, and nearly all have these.
 */
#define REEL_FILE_BLOCK ((size_t)4096)

struct reel_file;

struct reel_file_engine_verbs {
	const char *name;
	/* So many transfers at once. 0, or -errno: then nothing is left of it. */
	int (*start)(struct reel_file *file, unsigned transfers);
	/* A transfer was added to the queue. NULL: the queue wakes the engine itself. */
	void (*wake)(struct reel_file *file);
	/* The queue was shut: end when it is empty, and free all. */
	void (*stop)(struct reel_file *file);
	/* In the child of a fork, which has no threads: free all. */
	void (*forget)(struct reel_file *file);
};

struct reel_file {
	reel_store store;
	pid_t owner;
	int descriptor;
	bool direct;         /* past the page cache */
	size_t align;        /* of data */
	size_t header_bytes; /* of a slot's first block */
	size_t slot_bytes;   /* of data in the largest slot */
	uint64_t max_bytes;
	struct reel_file_slots slots;
	struct reel_transfer_queue queue;
	const struct reel_file_engine_verbs *engine;
	void *engine_state;
	/*
	 * Without direct: held from a put's first write until it is on the disk, so
	 * that an error of the page cache is told to the put that it belongs to.
	 */
	pthread_mutex_t write_back;
};

extern const struct reel_file_engine_verbs reel_file_threads;
extern const struct reel_file_engine_verbs reel_file_ring;

/* The bytes of a slot for this data. */
static inline uint64_t reel_file_bytes_of(const struct reel_file *file, uint64_t bytes)
{
	return file->header_bytes + bytes;
}

/* file-open.c: sets descriptor, direct and align. 0, or -errno and a problem told. */
int reel_file_open(struct reel_file *file, const struct reel_file_options *options);

#endif
