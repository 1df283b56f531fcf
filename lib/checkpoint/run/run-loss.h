/* SPDX-License-Identifier: MIT */
/* States that are stored with loss, by options.loss of a run. */
#ifndef REEL_LIB_RUN_LOSS_H
#define REEL_LIB_RUN_LOSS_H

#include "run.h"

/* Returns the problem with the option, or NULL. */
const char *reel_loss_problem(const struct reel_loss *loss, size_t state_bytes);
/* Returns true if the states of the tier are packed. */
bool reel_loss_in(const reel_run *run, unsigned tier);
/* Returns the maximum number of bytes of a snapshot, with loss or without. */
size_t reel_loss_room(const reel_run *run);

/* Any number of threads at a time. Returns the bytes of the packed state, or 0: no memory. */
size_t reel_loss_pack(const reel_run *run, unsigned char *packed, const unsigned char *state);
/* Returns 0, or -EBADMSG: the bytes are no packed state. Any number of threads at a time. */
int reel_loss_unpack(const reel_run *run, unsigned char *state, const unsigned char *packed,
		     size_t bytes);

#endif
