/* SPDX-License-Identifier: MIT */
/*
 * Parcels and the bins that they lie in. A bin is a slab with its pins: several small parcels share
 * one, a larger parcel has one of its own.
 *
 *	parcel.c  what programs call
 *	parcels.c all parcels of a pool
 *	place.c   puts a small parcel into an open bin, and a larger one into a bin of its own
 *	bin.c     takes slabs, keeps them in memory while they are pinned, and seals them
 *	order.c   announced orders: requests the bins that are needed next
 *
 * The first pin and the last unpin lock the pins, and acquire or seal the slab (pins.h). A thread
 * locks a bin's pins before it locks all parcels. No thread waits for the store while it holds the
 * latter lock.
 */
#ifndef REEL_LIB_PARCEL_H
#define REEL_LIB_PARCEL_H

#include <reel/parcel.h>

#include "os/cancel.h"
#include "spill/owner/pins.h"
#include "spill/owner/slab-owner.h"
#include "spill/pool/child-pool.h"

/* Maximum number of open bins, one for each layout in use. */
#define REEL_MAX_OPEN_BINS 8

struct reel_order;

struct reel_bin {
	struct reel_parcels *parcels;
	struct reel_slab *slab; /* NULL: it was lost */
	struct reel_pins pins;
	int lost;               /* the store's error, if it could not give the contents back */
	size_t filled;          /* bytes from the beginning of the frame that are in use */
	struct reel_layout layout;
	/* A parcel in it may have been changed: the last unpin compares the frame with its copy. */
	_Atomic bool is_compared;

	/* Requires `parcels->lock`. */
	struct reel_bin *next, *previous;
	unsigned live; /* number of parcels in it, and one if it is `kept` */
	bool kept;     /* it is an open bin, or was: retire() has not given up its pin yet */
	struct reel_bin **slot; /* where it is among the open bins; NULL: it is none of them */
	/* The next announced use. `order` is read without the lock, to see whether there is one. */
	_Atomic(struct reel_order *) order;
	uint32_t index;
};

struct reel_parcel {
	struct reel_parcels *parcels;
	struct reel_bin *bin;
	size_t offset;
	size_t bytes;
	bool alone; /* whatever its size, it has pages of its own */
	/* Number of pins of a sealed parcel, or one of these. */
	_Atomic int32_t pins;
};

#define REEL_PARCEL_IS_OPEN (-1)
#define REEL_PARCEL_IS_CLOSED (-2)

/* All parcels of a pool. Lives as long as the pool. */
struct reel_parcels {
	struct reel_pool_client client;
	struct reel_pool *pool;
	/* Where bins without an announced use are described; NULL: the pool has no store. */
	struct reel_demand *unordered;
	/* Requests the bins of pins that do not wait; requires `lock`. NULL: there is no store. */
	struct reel_demand *hurried;
	pthread_mutex_t lock;
	struct reel_bin *bins;
	/* Small parcels are added to these. The first `slots` are in use, where NULL is no bin. */
	struct reel_bin *open_bins[REEL_MAX_OPEN_BINS];
	unsigned slots;
	unsigned turn;     /* the slot whose bin gives way next, if no slot serves */
	unsigned retiring; /* number of threads that give up the pin of an open bin */
	/* Statistics. Relaxed: they guard no other data. */
	_Atomic uint64_t announced;
	_Atomic uint64_t hits;
	_Atomic uint64_t waits;
	_Atomic uint64_t wait_ns;
};

/* parcels.c: the parcels of a pool, from the first call on. NULL: no memory. Any thread. */
struct reel_parcels *reel_parcels_of(struct reel_pool *pool);

/* place.c: gives the parcel memory, which is pinned once. Returns 0 or as reel_bin_open(). */
int reel_parcel_place(struct reel_parcel *parcel, struct reel_layout layout);
/*
 * Gives the parcel the memory that the program has lent, which is pinned once. Returns as
 * reel_parcel_place(); or -ENOTSUP: the caller has to copy the contents, because the parcel is
 * short, or because the store of the pool cannot write from that memory.
 */
int reel_parcel_place_lent(struct reel_parcel *parcel, struct reel_layout layout, void *lent);
/*
 * Takes a parcel out of its bin, which is closed with its last parcel, also if it is open for more.
 */
void reel_place_leave(struct reel_bin *bin);
/*
 * place.c: gives up the pins of open bins of which nothing is open or pinned. True: there was one,
 * and its slab can be spilled, or another thread gives up such a pin. Any thread, without a lock of
 * parcels.
 */
bool reel_parcels_retire_idle(struct reel_pool_client *parcels);

/* ---- bin.c ---- */

/*
 * Opens a bin with a frame of at least `bytes`, which is pinned once and can be written. Returns as
 * reel_pool_take(), or -ENOMEM.
 */
int reel_bin_open(struct reel_parcels *parcels, enum reel_slab_kind kind, size_t bytes,
		  struct reel_layout layout, struct reel_bin **bin);
/* Frees a bin that no parcel lies in. */
void reel_bin_close(struct reel_bin *bin);
/*
 * Keeps the frame in memory. Waits at most until `until`, a time in ns, or without a limit
 * (REEL_FOREVER). Returns 0; as reel_slab_acquire(); or -EAGAIN: the frame is not in memory, and
 * was requested. If that request finds no room, the next call returns -EDQUOT.
 */
int reel_bin_pin(struct reel_bin *bin, uint64_t until);
void reel_bin_unpin(struct reel_bin *bin);
/* Returns true if the frame is in memory: an estimate, unless the bin is pinned. */
bool reel_bin_is_in_memory(struct reel_bin *bin);
/* Waits until no put of a bin that the caller has pinned is under way. Returns 0 or -ENOMEM. */
int reel_bin_await_put(struct reel_bin *bin);
/* The caller has pinned the bin, awaited its put, and changed the contents: its copy is void. */
void reel_bin_note_change(struct reel_bin *bin);
/*
 * The caller has pinned the bin and awaited its put, and may have changed the contents: when
 * nothing pins it any more, its copy is void if the checksums differ.
 */
void reel_bin_note_use(struct reel_bin *bin);

/* ---- order.c: requires parcels->lock ---- */

/*
 * The bin was pinned: counts the use, and requests the bins that come next. `waited`: the pin had
 * to wait.
 */
void reel_order_advance(struct reel_bin *bin, bool waited);
/* Tells the offload thread when the bin is needed next. */
void reel_order_describe(struct reel_bin *bin);
/* Takes the bin off its order, if it has one. */
void reel_order_leave(struct reel_bin *bin);

#endif
