/* SPDX-License-Identifier: MIT */
/*
 * Where a slab resides, from its owner's side. All do nothing, and answer that
 * the slab is there and is the owner's, where the pool has no store.
 */
#ifndef REEL_LIB_RESIDENCE_H
#define REEL_LIB_RESIDENCE_H

#include "tape.h"

/* Another slab is put on top of this one, the top slab or the one below it. */
void reel_slab_seal(reel_tape *tape, struct reel_slab *slab);
/* It is popped through and kept by a hold. */
void reel_slab_retain(reel_tape *tape, struct reel_slab *slab);
/*
 * The slab becomes the top: waits until it has its frame. Returns 0, or why the
 * store could not give it back; what is in its frame is not to be looked at then.
 */
int reel_slab_acquire(reel_tape *tape, struct reel_slab *slab);
/* After a step down: ask for the slabs that will be needed next. */
void reel_slab_read_ahead(reel_tape *tape);
/* Make the top slab one to push on; false: it is being written, take another one. */
bool reel_slab_make_writable(reel_tape *tape, struct reel_slab *slab);
/* Whether a push on it has to ask reel_slab_make_writable() first. */
bool reel_slab_has_copy(const struct reel_slab *slab);
/*
 * Whether what lies on it can be read now, and until its owner gives it up. One look: while it is
 * being written it becomes one that is open, or has a copy.
 */
bool reel_slab_is_readable(const struct reel_slab *slab);
/* Whether what lies on it may be read and changed, until its owner pushes or pops. */
bool reel_slab_is_open(const struct reel_slab *slab);
/* Give the slab back to the pool, wherever it is. */
void reel_slab_free(struct reel_pool *pool, struct reel_slab *slab);
/* The tape is empty and ends. */
void reel_tape_io_end(reel_tape *tape);

#endif
