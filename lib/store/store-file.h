/* SPDX-License-Identifier: MIT */
/*
 * The parts of the file store, and their struct.
 *
 *	store-file.c    its verbs
 *	file-open.c     the file: where it is, and how it is read and written
 *	file-slots.c    its slots: each put has a slot, as large as it needs
 *	file-ranges.c   which units of the file are free
 *	file-request.c  one transfer, which may take several reads or writes
 *	file-threads.c  the threads that carry transfers out
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

struct reel_file_workers;

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
	struct reel_file_workers *workers;
	/*
	 * Through the page cache: held from the first write of a put until it is on the disk, so
	 * that an error of the page cache belongs to that put.
	 */
	pthread_mutex_t write_back;
};

/* Bytes of a slot for `bytes` bytes of data. */
static inline uint64_t reel_file_bytes_of(const struct reel_file *file, uint64_t bytes)
{
	return file->header_bytes + bytes;
}

/* file-open.c: sets all members of the file up to header_bytes. Returns 0, or -errno and a text. */
int reel_file_open(struct reel_file *file, const struct reel_file_options *options);
/* Closes the file, unless the program has closed the descriptor and uses it for another file. */
void reel_file_close(struct reel_file *file);

/*
 * file-threads.c: starts the threads, at most `count`, which carry out the transfers of the queue.
 * Returns 0 or -errno, and then nothing stays.
 */
int reel_file_threads_start(struct reel_file *file, unsigned count);
/* Called after the queue was shut: waits until it is empty and all threads have ended. */
void reel_file_threads_join(struct reel_file *file);
/* Frees the memory of the threads, also in the child of a fork, which has no threads. */
void reel_file_threads_forget(struct reel_file *file);

#endif
