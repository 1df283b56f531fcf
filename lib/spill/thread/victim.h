/* SPDX-License-Identifier: MIT */
/* Which slab is needed last. Only the offload thread runs these functions. */
#ifndef REEL_LIB_VICTIM_H
#define REEL_LIB_VICTIM_H

#include "spill/owner/offload.h"

/* The slab in this state with the greatest reuse distance above min_distance, or NULL. */
struct reel_slab *reel_victim_next(struct reel_offload *offload, enum reel_slab_state state,
				   double min_distance);
/* Estimated seconds until the slab is needed. */
double reel_reuse_distance(const struct reel_offload *offload, const struct reel_slab *slab);

#define REEL_MIN_DISTANCE (-1.0)

#endif
