/* SPDX-License-Identifier: MIT */
/* Reads back. Only the offload thread runs these functions. */
#ifndef REEL_LIB_READ_AHEAD_H
#define REEL_LIB_READ_AHEAD_H

#include "spill/owner/offload.h"

bool reel_read_round(struct reel_offload *offload);
/* If nothing else moves: read a slab that an owner waits for beyond the budget, or refuse. */
bool reel_read_overdrawn(struct reel_offload *offload);
void reel_read_done(struct reel_offload *offload, struct reel_slab *slab, int error);
/* Returns true if an owner waits for a slab that has no frame yet. */
bool reel_read_is_awaited(struct reel_offload *offload);
/* Returns true if a thread that does not wait has asked for a slab without a frame. */
bool reel_read_is_hurried(struct reel_offload *offload);

#endif
