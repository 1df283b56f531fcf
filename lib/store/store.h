/* SPDX-License-Identifier: MIT */
/*
 * What the stores share; reel/store.h is the manual.
 *
 *	store.c          transfers on their way through the layers
 *	store-open.c     a stack of stores from its description
 *	store-file.c     leaf: a file without a name
 *	store-memory.c   leaf: memory
 *	store-gpu.c      leaf: a GPU's memory, from libreel-cuda
 *	store-checksum.c layer: a header, and a CRC of all
 *	store-codec.c    layer: compression
 *	store-overflow.c     layer: two stores, one after the other
 *	store-count.c    layer: what goes through
 *	store-fault.c    layer: what may go wrong
 */
#ifndef REEL_LIB_STORE_H
#define REEL_LIB_STORE_H

#include "config.h"

#include <reel/extend.h>

#define REEL_DEFAULT_SLOT_BYTES ((size_t)2 << 20)

/* The beginning of a layer on one store, and verbs of such layers that change nothing. */
struct reel_layer {
	reel_store store;
	reel_store *below;
};

/* 0, or -EINVAL and its words: a layer stands on a store. */
int reel_layer_check(const reel_store *below);
int reel_layer_sync(reel_store *store, int64_t timeout_ns);
int reel_layer_register(reel_store *store, void *memory, size_t bytes);
void reel_layer_unregister(reel_store *store, void *memory, size_t bytes);

/* Take a checksum layer off again: its store is the caller's as before. */
void reel_store_checksum_leave(reel_store *store);

/*
 * The error of a transfer, as a tape or a run returns it: a code that has a meaning of its own
 * there (tape.h, run.h) is replaced. -ENOMEM and -EBADMSG mean the same in both.
 */
int reel_store_error(int error);

/* What an error of a store or of a file means. */
const char *reel_store_strerror(int error);

/* What is wrong with a layout that a codec is to use; NULL: nothing. */
const char *reel_layout_problem(struct reel_layout layout);

/* The word gpu of a description: as reel_store_gpu_open(), of libreel-cuda, with so many bytes. */
int reel_store_gpu_load(reel_store **store, uint64_t bytes);

#endif
