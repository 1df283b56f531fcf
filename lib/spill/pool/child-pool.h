/* SPDX-License-Identifier: MIT */
/*
 * Pools with a parent: one program's buffers on a store of their own, in memory that the parent's
 * budget counts. Snapshots of a tier and slabs of an arena on a GPU are kept so. Their parcels have
 * frames of one size, so that each frame serves the next parcel.
 */
#ifndef REEL_LIB_CHILD_POOL_H
#define REEL_LIB_CHILD_POOL_H

#include <reel/extend.h>
#include <reel/parcel.h>

struct reel_frame_listener;

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/* For `idle_frames` below. */
#define REEL_FRAMES_STAY SIZE_MAX

/*
 * pool-open.c: opens a pool whose frames are large slabs of the parent's, of `frame_bytes` each,
 * for parcels that are opened by reel_parcel_open_alone(). A sealed parcel is written to the store
 * at once and leaves memory, unless it is announced. At most `idle_frames` frames stay for the next
 * parcels. With REEL_FRAMES_STAY sealed parcels and idle frames stay in memory until the parent's
 * budget is short: above three quarters of it, the parcels that were sealed first are written.
 * `listener` may be NULL, or is told of each frame (pool.h). On success the pool owns the store and
 * the listener. Returns 0 or -ENOMEM.
 */
int reel_pool_open_child(reel_pool **pool, reel_pool *parent, reel_store *store, size_t frame_bytes,
			 size_t idle_frames, struct reel_frame_listener *listener);
/* Closes the pool, and its store if `closes_store`. Returns 0, or -EBUSY: it has parcels. */
int reel_pool_close_child(reel_pool *pool, bool closes_store);

/*
 * parcel.c: as reel_parcel_open(), of at most `frame_bytes`. Parcels of such a pool are closed in
 * another order than they are opened in: a small one would keep the slab that it shares with
 * others.
 */
int reel_parcel_open_alone(reel_parcel **parcel, reel_pool *pool, size_t bytes, void **data);

/*
 * pool-open.c: waits until at most `frames` frames are still to be put or are being put. Does not
 * wait for frames that the store has refused.
 */
void reel_pool_await_puts(reel_pool *pool, size_t frames);
/*
 * Waits until no transfer is under way, and drops the copies that closed parcels have left in the
 * store.
 */
void reel_pool_settle(reel_pool *pool);

#endif
