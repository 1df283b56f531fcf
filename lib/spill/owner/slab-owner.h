/* SPDX-License-Identifier: MIT */
/*
 * The states of a slab, as its owner changes and reads them. The owner is the thread that owns the
 * tape, or a thread that has locked the parcel. Without a store all slabs in use are open, and
 * these functions change nothing.
 */
#ifndef REEL_LIB_SLAB_OWNER_H
#define REEL_LIB_SLAB_OWNER_H

#include "demand.h"

/*
 * Leave a slab to the offload thread, which may write and evict it. `slab_index` says how soon the
 * slab is needed (reel_reuse_distance()), `filled` how many bytes to store. Only for slabs that
 * spill.
 */
void reel_slab_seal(struct reel_pool *pool, struct reel_slab *slab, struct reel_demand *demand,
		    uint32_t slab_index, size_t filled, struct reel_layout layout);
/*
 * After a seal: above the soft budget, wake the offload thread, since more frames will be needed.
 */
void reel_slab_tell_of_growth(struct reel_pool *pool);
/*
 * Make the slab one that the owner may read. Waits until the slab has its frame, at most until
 * `until`, a time in ns, or without a limit (REEL_FOREVER). The owner of a tape waits in its
 * `demand`, and its slab may overdraw the budget; other owners pass NULL.
 * Returns 0; the error of the store, the frame has no valid contents then; or, the slab is as it
 * was: -EAGAIN, the time has come; without a tape also -EDQUOT, all of the budget is in use, or
 * -ENOMEM.
 */
int reel_slab_acquire(struct reel_pool *pool, struct reel_slab *slab, struct reel_demand *demand,
		      uint64_t until);
/*
 * Wait until no put of a slab that the owner may read is under way. In the child of a fork none is.
 * Returns 0 or -ENOMEM.
 */
int reel_slab_await_put(struct reel_pool *pool, struct reel_slab *slab);
/* Make a slab open that the owner may read; false: the store is writing it. */
bool reel_slab_make_writable(struct reel_pool *pool, struct reel_slab *slab);
/* Returns true if a write to the slab needs reel_slab_make_writable() first. */
bool reel_slab_has_copy(const struct reel_slab *slab);
/*
 * Returns true if the owner may read the frame until it seals or frees the slab. Loads the state
 * once: the end of a write may change it from PINNED_WRITING to OPEN or PINNED.
 */
bool reel_slab_is_readable(const struct reel_slab *slab);
/* Returns true if the owner may read and change the frame until its next push or pop. */
bool reel_slab_is_open(const struct reel_slab *slab);
/* Give the slab back to the pool, whatever its state is. */
void reel_slab_free(struct reel_pool *pool, struct reel_slab *slab);

#endif
