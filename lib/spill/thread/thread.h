/* SPDX-License-Identifier: MIT */
/* The offload thread: its beginning, its rounds, and its end. */
#ifndef REEL_LIB_OFFLOAD_THREAD_H
#define REEL_LIB_OFFLOAD_THREAD_H

#include "spill/owner/offload.h"

/* On success the pool owns the store. Returns 0 or -ENOMEM. */
int reel_offload_open(struct reel_pool *pool, reel_store *store);
/* Stops the thread. Closes the store if `closes_store`, or leaves it open to the caller. */
void reel_offload_close(struct reel_offload *offload, bool closes_store);
/* Any thread: room has come up, which a waiting thread may use. */
void reel_offload_wake(struct reel_offload *offload);
/* Wait until the offload thread has nothing to do. */
void reel_offload_settle(struct reel_offload *offload);
/* Pause the offload thread with no transfer under way, and resume it. */
void reel_offload_pause(struct reel_offload *offload);
void reel_offload_resume(struct reel_offload *offload);
/* In the child of a fork, which must not use the store. */
void reel_offload_orphan(struct reel_offload *offload);

#endif
