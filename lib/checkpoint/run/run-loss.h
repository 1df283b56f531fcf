/* SPDX-License-Identifier: MIT */
/* States that are stored with loss, by options.loss of a run. */
#ifndef REEL_LIB_RUN_LOSS_H
#define REEL_LIB_RUN_LOSS_H

#include "run.h"

/* Memory of the run in which a thread packs or unpacks a state. */
struct reel_loss_space;

/* Returns the problem with the option, or NULL. */
const char *reel_loss_problem(const struct reel_loss *loss, size_t state_bytes);
/* Returns true if the states of the tier are packed. */
bool reel_loss_in(const reel_run *run, unsigned tier);
/* Returns the maximum number of bytes of a snapshot, with loss or without. */
size_t reel_loss_room(const reel_run *run);

/*
 * Packs a state: *packed points to *bytes bytes, which are the snapshot, until reel_loss_give().
 * Returns 0, -ENOMEM, or the error of save(): then there is nothing to give.
 */
int reel_loss_save(reel_run *run, void *context, const void *state, struct reel_loss_space **space,
		   const void **packed, size_t *bytes);
void reel_loss_give(struct reel_loss_space *space);

/* Loads a state from a packed snapshot. Returns 0, -ENOMEM, -EBADMSG, or the error of load(). */
int reel_loss_load(reel_run *run, void *context, void *state, const void *packed, size_t bytes);

/* A sweep begins, which no callback of an earlier one that was left uses memory of. */
void reel_loss_begin(reel_run *run);
void reel_loss_close(reel_run *run);

#endif
