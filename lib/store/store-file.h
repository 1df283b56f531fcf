/* SPDX-License-Identifier: MIT */
/*
 * The parts of the file store, and what they share.
 *
 *	store-file.c    its verbs
 *	file-open.c     the file: where it is, and how it is read and written
 *	file-slots.c    its slots: each put has a slot, as large as it needs
 *	file-ranges.c   which units of the file are free
 *	file-request.c  one transfer, which may take several reads or writes
 *	file-threads.c  engine: threads
 *	file-ring.c     engine: io_uring
 *
 * A slot is a block with the header of the transfer, then its data.
 */
#ifndef REEL_LIB_STORE_FILE_H
#define REEL_LIB_STORE_FILE_H

#include "os/os-file.h"
#include "transfer-queue.h"
#include "file-slots.h"
#include "store.h"

/* The location of a put that has no slot yet. */
#define REEL_FILE_NOWHERE UINT64_MAX

/*
 * The file is read and written in multiples of this. A file system reads or zeros the rest of a
 * block that is written in part; nearly all file systems have blocks of this size.
 */
#define REEL_FILE_BLOCK ((size_t)4096)

struct reel_file;
struct reel_file_request;

struct reel_file_engine_verbs {
	const char *name;
	/*
	 * Starts to carry out all requests of the file. Returns 0 or -errno, and then nothing
	 * stays.
	 */
	int (*start)(struct reel_file *file);
	/* Called after a transfer was added. NULL: the queue wakes the engine itself. */
	void (*wake)(struct reel_file *file);
	/* Called after the queue was shut. Ends when it is empty, and frees all. */
	void (*stop)(struct reel_file *file);
	/* Frees all in the child of a fork, which has no threads. */
	void (*forget)(struct reel_file *file);
};

struct reel_file {
	reel_store store;
	pid_t owner;
	int descriptor;
	struct reel_os_file_identity identity; /* of the file that was opened as descriptor */
	void *pin;                             /* keeps the identity from another file, or NULL */
	bool direct;         /* past the page cache */
	size_t align;        /* of data */
	size_t header_bytes; /* of a slot's first block */
	size_t most;         /* bytes of the largest put */
	uint64_t max_bytes;
	struct reel_file_slots slots;
	struct reel_transfer_queue queue;
	const struct reel_file_engine_verbs *engine;
	void *engine_state;
	struct reel_file_request *requests; /* the transfers that the engine carries out at once */
	unsigned requests_count;
	/*
	 * Through the page cache: held from the first write of a put until it is on the disk, so
	 * that an error of the page cache belongs to that put.
	 */
	pthread_mutex_t write_back;
};

extern const struct reel_file_engine_verbs reel_file_threads;
extern const struct reel_file_engine_verbs reel_file_ring;

/* Bytes of a slot for `bytes` bytes of data. */
static inline uint64_t reel_file_bytes_of(const struct reel_file *file, uint64_t bytes)
{
	return file->header_bytes + bytes;
}

/* file-open.c: sets all members of the file up to header_bytes. Returns 0, or -errno and a text. */
int reel_file_open(struct reel_file *file, const struct reel_file_options *options);
/* Closes the file, unless the program has closed the descriptor and uses it for another file. */
void reel_file_close(struct reel_file *file);

/* file-request.c: makes the requests of a file. Returns 0 or -ENOMEM. */
int reel_file_requests_open(struct reel_file *file, unsigned count);
void reel_file_requests_close(struct reel_file *file);

#endif
