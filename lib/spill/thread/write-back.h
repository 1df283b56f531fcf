/* SPDX-License-Identifier: MIT */
/* Write behind, and eviction. Only the offload thread runs these functions. */
#ifndef REEL_LIB_WRITE_BACK_H
#define REEL_LIB_WRITE_BACK_H

#include "spill/owner/offload.h"

/* Returns whether anything was done. */
bool reel_write_round(struct reel_offload *offload);
/* Evict a clean slab whose reuse distance is greater than min_distance. */
bool reel_evict(struct reel_offload *offload, double min_distance);
/*
 * Evicts a clean slab as reel_evict() does. Sets *carrier to the slab that has its frame now, if it
 * is the frame of a large slab of `bytes`, else to NULL.
 */
bool reel_evict_for(struct reel_offload *offload, double min_distance, size_t bytes,
		    struct reel_slab **carrier);
void reel_write_done(struct reel_offload *offload, struct reel_slab *slab, int error);

/*
 * Take the frame off a slab that is in state `from` and in the store. It moves to the carrier, and
 * from there to the warm list.
 */
void reel_evict_frame(struct reel_offload *offload, struct reel_slab *slab,
		      struct reel_slab *carrier, enum reel_slab_state from);

#endif
