/* SPDX-License-Identifier: MIT */
/* The end of copies in the store, and of slabs. Only the offload thread runs these functions. */
#ifndef REEL_LIB_COPY_H
#define REEL_LIB_COPY_H

#include "spill/owner/offload.h"

/* Give a FREE_PENDING slab back to the pool. */
void reel_offload_free_deferred(struct reel_offload *offload, struct reel_slab *slab);
void reel_offload_drop_copy(struct reel_offload *offload, struct reel_slab *slab);
/* Forget failed puts, since the store may take slabs again. */
void reel_offload_forget_failures(struct reel_offload *offload);

/* Drop the stale copies in the store. */
void reel_offload_drop_stale(struct reel_offload *offload);

#endif
