/* SPDX-License-Identifier: MIT */
/*
 * Stores states with loss beside the steps: a STORE copies its state, and a thread of the packer
 * packs the copy into the slot. A run has a packer if it has options.loss. Several threads may
 * store, load and finish at a time.
 */
#ifndef REEL_LIB_RUN_PACKER_H
#define REEL_LIB_RUN_PACKER_H

#include "run.h"

/* Returns 0 or -ENOMEM. */
int reel_packer_open(reel_run *run);
/* The run may be without a packer. */
void reel_packer_close(reel_run *run);

/*
 * Stores the state in the empty slot of the action, now or soon. Returns 0, -ENOMEM or the error of
 * save(): then the slot stays empty.
 */
int reel_packer_store(reel_run *run, const reel_action *store, void *context, const void *state);

/*
 * Returns when no snapshot is on its way to the slot of the action, or to any slot if `action` is
 * NULL. The run may be without a packer.
 */
void reel_packer_finish(reel_run *run, const reel_action *action);

/*
 * Returns the first error with which a snapshot of this sweep did not get into its slot, or 0.
 * *failed is its STORE. The run may be without a packer.
 */
int reel_packer_error(reel_run *run, reel_action *failed);

/* Loads a state from a packed snapshot. Returns 0, -ENOMEM, -EBADMSG, or the error of load(). */
int reel_packer_load(reel_run *run, void *context, void *state, const void *packed, size_t bytes);

/*
 * A sweep begins, and no callback of an earlier one that was left uses memory of the packer. The
 * run may be without one.
 */
void reel_packer_begin(reel_run *run);

#endif
