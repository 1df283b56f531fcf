/* SPDX-License-Identifier: MIT */
/*
 * Stores states with loss beside the steps: a STORE copies its state, and a thread of the packer
 * packs the copy into the slot. A run has a packer if it has options.loss; finish, drop, begin and
 * close do nothing without one. Several threads may store, load, finish and drop at a time.
 */
#ifndef REEL_LIB_RUN_PACKER_H
#define REEL_LIB_RUN_PACKER_H

#include "run.h"

/* Memory of the packer in which a state is packed. */
struct reel_packing;

/* Returns 0 or -ENOMEM. */
int reel_packer_open(reel_run *run);
void reel_packer_close(reel_run *run);
/* A sweep begins, and no callback of an earlier one that was left uses memory of the packer. */
void reel_packer_begin(reel_run *run);

/*
 * The two halves of a STORE: take gets memory, and copies the state into it if need be; store puts
 * the snapshot into the slot of the action, which is empty, now or soon, and gives the memory back.
 * Take returns 0, -ENOMEM or the error of save(). Store returns 0, -EDQUOT or -ENOMEM, of this
 * snapshot or of an earlier one: then this one is not stored, and the STORE may be repeated.
 */
int reel_packer_take(reel_run *run, void *context, const void *state,
		     struct reel_packing **packing);
int reel_packer_store(reel_run *run, const reel_action *store, const void *state,
		      struct reel_packing *packing);

/*
 * Returns when no snapshot is on its way to the slot, or to any slot if `slot` is NULL. Returns 0,
 * or -EDQUOT or -ENOMEM: it is still on its way, and this may be repeated.
 */
int reel_packer_finish(reel_run *run, const reel_action *slot);
/* Drops a snapshot that is on its way to the slot, or to any. Returns false: there is none. */
bool reel_packer_drop(reel_run *run, const reel_action *slot);

/* Loads a state from a packed snapshot. Returns 0, -ENOMEM, -EBADMSG, or the error of load(). */
int reel_packer_load(reel_run *run, void *context, void *state, const void *packed, size_t bytes);

#endif
