/* SPDX-License-Identifier: MIT */
/*
 * The functions that stores share. reel/store.h and reel/extend.h are the manuals.
 *
 *	store.c          transfers on their way through the layers
 *	store-open.c     a stack of stores from its description
 *	store-file.c     leaf: a file without a name
 *	store-memory.c   leaf: memory
 *	store-gpu.c      leaf: a GPU's memory, from libreel-cuda
 *	store-checksum.c layer: a header, and a CRC of all
 *	store-codec.c    layer: compression
 *	store-overflow.c layer: a second store, for puts that the first one refuses
 */
#ifndef REEL_LIB_STORE_H
#define REEL_LIB_STORE_H

#include "config.h"

#include <pthread.h>

#include <reel/extend.h>

#define REEL_DEFAULT_SLOT_BYTES ((size_t)2 << 20)

/*
 * The beginning of a layer on one store. The functions below are verbs of layers that change
 * nothing.
 */
struct reel_layer {
	reel_store store;
	reel_store *below;
};

/* Returns 0, or -EINVAL and its text if there is no store below. */
int reel_layer_check(const reel_store *below);
reel_store *reel_layer_below(reel_store *store);
void reel_layer_drop(reel_store *store, struct reel_extent extent);
int reel_layer_sync(reel_store *store, int64_t timeout_ns);
int reel_layer_register(reel_store *store, void *memory, size_t bytes);
void reel_layer_unregister(reel_store *store, void *memory, size_t bytes);

/*
 * Opens a lock for the verbs of a store below, which one thread at a time may call. It is
 * recursive, since a transfer may be complete, and start anew, within a verb. Returns 0 or -ENOMEM.
 */
int reel_layer_lock_open(pthread_mutex_t *lock);

/* Takes a checksum layer off a store, which is the caller's as before. */
void reel_store_checksum_leave(reel_store *store);
/*
 * The checksum of a transfer that ended well, as a checksum layer left it in the header. Behind a
 * store that verifies by itself it is the value that this store left there.
 */
uint64_t reel_transfer_checksum(const reel_transfer *transfer);
/* Returns the checksum that a put of this transfer would have. Reads all of its data. */
uint64_t reel_checksum_of_put(const reel_transfer *transfer);

/*
 * Returns the error of a transfer as tapes and runs return it. A code that means something else
 * there (tape.h, run.h) is replaced; -ENOMEM and -EBADMSG mean the same in both.
 */
int reel_store_error(int error);

/* Returns the meaning of an error of a store or of a file. */
const char *reel_store_strerror(int error);

/* Returns the fault of a layout for a codec, or NULL. */
const char *reel_layout_problem(struct reel_layout layout);

/* Opens the store for the word gpu of a description: loads libreel-cuda and opens a GPU store. */
int reel_store_gpu_load(reel_store **store, uint64_t bytes);

/*
 * store-open.c: returns how many bytes the stores of a description may keep in memory, or 0 if it
 * is not understood, which reel_store_open() then says.
 */
uint64_t reel_store_memory_bytes(const char *description);

#endif
