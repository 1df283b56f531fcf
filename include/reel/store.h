/* SPDX-License-Identifier: MIT */
/*
 * Stores keep the slabs of a pool that have no room in memory.
 *
 *	reel_store *store;
 *	struct reel_pool_options options = {.hard_budget = (size_t)1 << 30};
 *
 *	error = reel_store_open(&store, "lz4,file", "/scratch");
 *	options.store = store;                      the pool closes it
 *	error = reel_pool_open(&pool, &options);
 *
 * A store belongs to its opener until a pool or a run takes it, which then closes it. Stores and
 * layers of your own, and each store with all its options, are in reel/extend.h.
 */
#ifndef REEL_STORE_H
#define REEL_STORE_H

#include <reel/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_store reel_store;

/*
 * A store from its description, layers from top to bottom, separated by commas:
 *
 *   file            a file in `directory`
 *   memory=BYTES    memory, at most BYTES (a number and K, M, G or T); a put that leaves at most an
 *                   eighth of its huge pages empty takes these pages whole, up to a seventh more
 *   gpu             memory of the first GPU, three quarters of its free memory (gpu.h)
 *   gpu=BYTES       the same, BYTES of it
 *   lz4             compress the data for the stores behind it
 *   lz4=STRIDE      the same, on second differences of doubles STRIDE elements apart
 *
 * "memory=2G,file" puts to memory first and to the file when that is full; "memory=2G,lz4,file"
 * compresses only the data for the file; "lz4,memory=2G" is compressed memory. Each leaf gets a
 * checksum. NULL is "file".
 *
 * "gpu=4G,memory=2G,file" works without the first store if there is no GPU, or too little memory on
 * it: this is not an error, and reel_error_text(0) gives the reason. If gpu is the last leaf, it is
 * an error.
 *
 * directory: NULL is REEL_SPILL_DIR, else SLURM_TMPDIR, else TMPDIR, from the environment.
 *
 * Returns 0, or as the stores below, or
 *   -EINVAL  the description is not understood
 *   -ENOTSUP a layer that this library was built without
 */
int reel_store_open(reel_store **store, const char *description, const char *directory);

/* Close a store that no pool or run has taken; its contents are gone. NULL is allowed. */
void reel_store_close(reel_store *store);

#ifdef __cplusplus
}
#endif

#endif
