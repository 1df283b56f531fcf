/* SPDX-License-Identifier: MIT */
/* Threads that wait for a frame or for puts, and their answers. */
#ifndef REEL_LIB_WAITING_H
#define REEL_LIB_WAITING_H

#include "spill/owner/offload.h"

/* While no other thread uses the pool. In the child of a fork they are not closed. */
void reel_offload_open_waiting(struct reel_offload *offload);
void reel_offload_close_waiting(struct reel_offload *offload);

/*
 * Wait until slabs have left memory, or the budget has `room` bytes (SIZE_MAX: that does not help);
 * the budget of a pool with a parent is the parent's. False: there will be neither, and *error may
 * say why. Any thread but the offload thread.
 */
bool reel_offload_await_frame(struct reel_offload *offload, size_t room, int *error);
/*
 * Wait while more than `most` bytes are on their way to the store, unless it has refused the last
 * put. Any thread but the offload thread.
 */
void reel_offload_await_puts(struct reel_offload *offload, size_t most);
/* A put has ended: wake the threads that wait for puts. */
void reel_offload_note_put(struct reel_offload *offload);
/* Offload thread only: returns true if a thread waits for a frame, at the beginning of a round. */
bool reel_offload_has_waiting(struct reel_offload *offload);
/*
 * Offload thread only. Wakes the threads that wait for a frame: because one is there, or to refuse,
 * since none will come. False: neither is known yet. A thread that asks after
 * reel_offload_has_waiting() is not refused in this round.
 */
bool reel_offload_answer(struct reel_offload *offload, bool nothing_moves);

#endif
