/* SPDX-License-Identifier: MIT */
/*
 * The states of a slab, as the owner of its tape changes and reads them. Without a store all slabs
 * of a tape are open, and these functions change nothing.
 */
#ifndef REEL_LIB_RESIDENCE_H
#define REEL_LIB_RESIDENCE_H

#include "tape.h"

/* Leave the top slab, or the slab below it, to the offload thread before another slab covers it. */
void reel_slab_seal(reel_tape *tape, struct reel_slab *slab);
/* Leave a slab to the offload thread that the tape was popped through and that a hold keeps. */
void reel_slab_retain(reel_tape *tape, struct reel_slab *slab);
/*
 * Make the slab one that the owner may read. Waits until the slab has its frame. Returns 0, or the
 * error of the store; the frame has no valid contents then.
 */
int reel_slab_acquire(reel_tape *tape, struct reel_slab *slab);
/* Request the slabs that the tape will need next. Called after a step down. */
void reel_slab_read_ahead(reel_tape *tape);
/* Make the top slab open, for pushes; false: the store is writing it, so take another slab. */
bool reel_slab_make_writable(reel_tape *tape, struct reel_slab *slab);
/* Whether a push on the slab needs reel_slab_make_writable() first. */
bool reel_slab_has_copy(const struct reel_slab *slab);
/*
 * Whether the owner may read the frame until it seals or frees the slab. Loads the state once: the
 * end of a write may change it from PINNED_WRITING to OPEN or PINNED.
 */
bool reel_slab_is_readable(const struct reel_slab *slab);
/* Whether the owner may read and change the frame until its next push or pop. */
bool reel_slab_is_open(const struct reel_slab *slab);
/* Give the slab back to the pool, whatever its state is. */
void reel_slab_free(struct reel_pool *pool, struct reel_slab *slab);
/* Give the `tape_io` of a tape back that has no slabs any more. */
void reel_tape_io_end(reel_tape *tape);

#endif
