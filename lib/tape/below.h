/* SPDX-License-Identifier: MIT */
/*
 * The slabs below the top of a tape. Its owner seals them, acquires them again on the way down, and
 * requests those that it will need next. Without a store these functions do nothing.
 */
#ifndef REEL_LIB_BELOW_H
#define REEL_LIB_BELOW_H

#include "tape.h"

/*
 * Before another slab covers the top slab: leave it to the offload thread, or the slab below it, if
 * the tape keeps the one below its top.
 */
void reel_below_seal(reel_tape *tape);
/* Leave a slab to the offload thread that the tape was popped through and that a hold keeps. */
void reel_below_retain(reel_tape *tape, struct reel_slab *slab);
/* As reel_slab_acquire(), for the slab that is the top slab now. */
int reel_below_acquire(reel_tape *tape, struct reel_slab *slab);
/* Request the slabs that the tape will need next. Called after a step down. */
void reel_below_read_ahead(reel_tape *tape);
/* Give the `demand` of a tape back that has no slabs any more. */
void reel_below_end(reel_tape *tape);

#endif
