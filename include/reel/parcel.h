/* SPDX-License-Identifier: MIT */
/*
 * Parcels: buffers of any size under the budget of a pool, for data that is not a stack. A program
 * fills a parcel, seals it, and may announce the order in which it will read its parcels. Parcels
 * without room in memory go to the store of the pool, and are read ahead.
 *
 *	reel_parcel *parcel;
 *	void *data;
 *	const void *again;
 *
 *	error = reel_parcel_open(&parcel, pool, bytes, NULL, &data);
 *	fill data
 *	error = reel_parcel_seal(parcel);           data is not used any more
 *	...
 *	error = reel_parcel_announce(parcels, n);   parcels[0] is read first
 *	error = reel_parcel_pin(parcel, &again);
 *	read what is there
 *	reel_parcel_unpin(parcel);
 *	reel_parcel_close(parcel);
 *
 * A parcel is open (its contents are written, and stay in memory) or sealed. A sealed parcel is in
 * memory while it is pinned. Otherwise it may be in the store only, if the pool has one; a pool
 * without a store keeps all parcels in memory. Parcels and tapes share the budget of their pool.
 *
 * Threads. Any thread may call any function. Any number of threads may pin one parcel at once. The
 * program orders the other calls on one parcel: no thread pins a parcel while another thread seals,
 * unseals or closes it. A thread waits only for its own parcel or for memory.
 *
 * Memory. Parcels of at most half a slab share slabs, in the order in which they are opened: open
 * parcels that are read together one after the other. There is such a slab for each layout in use
 * (at most 8). It can leave memory when all of its parcels are sealed and none is pinned, and is
 * given back when all are closed. Only smaller parcels can use the rest of a slab: parcels of one
 * size above a third of a slab leave up to a third of it unused.
 *
 * A larger parcel has its own memory: a slab if it fills seven eighths of it, else whole pages. It
 * travels in pieces of a slab. Memory is taken, charged and counted as slabs and whole pages.
 *
 * fork: the child can pin parcels that are in memory, even if they are also in the store. A parcel
 * that is only in the store belongs to the parent: its pin fails with -ECHILD. The child cannot use
 * a parcel on which another thread was working at that moment.
 */
#ifndef REEL_PARCEL_H
#define REEL_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <reel/layout.h>
#include <reel/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_parcel reel_parcel;

/* All zero, or NULL, means all defaults. */
struct reel_parcel_options {
	/* How the values are laid out, for a codec of the store; see reel_tape_set_layout(). */
	struct reel_layout layout;
	/* For options to come: all 0. */
	uint64_t reserved[3];
};

/*
 * Opens a parcel of `bytes` bytes, which may be 0. *data points to its contents, which are
 * undefined. They are aligned to 64 bytes, or to 16 if the parcel is smaller than that. `pool`
 * outlives the parcel; NULL is the default pool.
 *
 * Returns 0, or
 *   -EINVAL  an option is wrong
 *   -EOVERFLOW  no address space holds `bytes`; often a negative size that became a size_t
 *   -EDQUOT  the hard budget is used up by memory that cannot leave; reel_error_text() says how
 *            much of it is open or pinned, or that the parcel never fits into the budget
 *   -ECHILD  the same in the child of a fork, where the store is the parent's
 *   -ENOMEM  no memory
 *   the error of a store that is full, or -ENXIO: the default pool is refused
 *
 * Cost: some 100 ns for a parcel in memory; a wait for the store where the budget is used up.
 */
int reel_parcel_open(reel_parcel **parcel, reel_pool *pool, size_t bytes,
		     const struct reel_parcel_options *options, void **data);

/*
 * Seals an open parcel. Its contents do not change any more, and may leave memory. Returns 0, or
 * -EINVAL: the parcel is sealed already.
 */
int reel_parcel_seal(reel_parcel *parcel);

/*
 * Seals a parcel whose contents have not changed since it was unsealed: the copy in the store stays
 * valid and is not written again. If the contents have changed after all, a later pin may find the
 * old ones. For a parcel that was not unsealed, this is reel_parcel_seal(). Returns as
 * that function.
 */
int reel_parcel_seal_unchanged(reel_parcel *parcel);

/*
 * Seals a parcel if the caller does not know whether its contents have changed since it was
 * unsealed. If the store has a copy, its checksum (CRC-32C) is compared with the checksum of the
 * contents, and the contents are written again if these differ. One change in 2^32 that is not a
 * burst of at most 32 bits goes undetected. A store with its own checks instead gets the contents
 * again. Returns as reel_parcel_seal(). Cost: some 0.03 ns per byte of the whole shared slab, if
 * there is a copy.
 */
int reel_parcel_seal_compared(reel_parcel *parcel);

/*
 * Opens a sealed parcel again, to change its contents. *data points to them. Waits for the
 * store as reel_parcel_pin() does, and until a transfer of the contents has ended.
 *
 * Returns 0; -EINVAL, it is open already; -EBUSY, it is pinned; or as reel_parcel_pin().
 */
int reel_parcel_unseal(reel_parcel *parcel, void **data);

/*
 * Makes a sealed parcel of the `bytes` bytes at `data`, which is not NULL. They stay there, count
 * against the budget, and are put to the store from there when their turn comes. Until
 * reel_parcel_take_back() has returned `data`, the program neither changes these bytes nor frees
 * them; it may read them. A short parcel, of at most an eighth of a slab, is copied at once, and so
 * is one of a pool whose store keeps its frames registered with a device. Returns as
 * reel_parcel_open(), and -EINVAL: `data` is NULL. Cost: some 200 ns; a wait for the store where
 * the budget is used up.
 */
int reel_parcel_lend(reel_parcel **parcel, reel_pool *pool, void *data, size_t bytes,
		     const struct reel_parcel_options *options);

/*
 * Returns memory that was lent and is the program's again, since its parcel was closed or its
 * contents have left memory; or NULL: there is none now. Each loan is returned once, or ends with
 * the pool. Call this after each reel_parcel_lend(), until it returns NULL: the budget does not
 * count this memory any more. If `pool` is NULL, it is the default pool. Any thread may call. Cost:
 * some 10 ns.
 */
void *reel_parcel_take_back(reel_pool *pool);

/*
 * Announces that these sealed parcels will be pinned in this order, parcels[0] first. They are then
 * read ahead, and leave memory in the opposite order. An announcement ends when its last parcel has
 * been pinned. A parcel may occur several times, and several announcements may be under way, for
 * example one for each thread; the last announcement of a parcel counts. Pinning a parcel out of
 * turn ends the announcements of the parcels before it.
 *
 * Returns 0, or
 *   -EINVAL  a parcel is open, or belongs to another pool than the first one
 *   -ENOMEM  no memory: nothing is read ahead
 *
 * Cost: O(n).
 */
int reel_parcel_announce(reel_parcel *const *parcels, size_t n);

/*
 * Withdraws announcements: for each of these parcels, the next pin of its slab. The slab is then
 * not read ahead for that pin, and leaves memory like a slab without an announcement. Parcels that
 * share a slab are announced together, so withdraw all of them, or pin none of them late. Cost:
 * O(n).
 */
void reel_parcel_withdraw(reel_parcel *const *parcels, size_t n);

/*
 * Keeps the contents of a sealed parcel in memory, where *data points to them, until each call has
 * been matched by a call of reel_parcel_unpin(). Waits if they are in the store.
 *
 * Returns 0, or
 *   -EINVAL  the parcel is open
 *   -EDQUOT  the hard budget is used up by open or pinned parcels, or by slabs that a full store
 *            refuses; nothing has changed
 *   -ENOMEM  no memory to wait with
 *   the store's error: the contents are lost; -EBADMSG, they differ from the put
 *
 * Cost: some 10 ns if another pin keeps the contents in memory, some 50 ns if they are in memory
 * otherwise.
 */
int reel_parcel_pin(reel_parcel *parcel, const void **data);
void reel_parcel_unpin(reel_parcel *parcel);

/*
 * Pins like reel_parcel_pin(), but waits for at most `milliseconds`; 0: not at all. Returns as that
 * function; or -EAGAIN: the contents are not in memory, but were requested, so that a later call
 * finds them. A program that handles signals or other threads while it waits calls this in a loop,
 * with some tens of milliseconds. If a request finds no room, the next call returns -EDQUOT.
 */
int reel_parcel_pin_for(reel_parcel *parcel, const void **data, uint32_t milliseconds);

/*
 * Returns true if the contents are in memory, so that a pin would not wait. That may change at any
 * time, unless the parcel is open or pinned.
 */
bool reel_parcel_is_in_memory(const reel_parcel *parcel);

/* Ends a parcel. Returns 0, or -EBUSY: it is pinned, and nothing was done. NULL is allowed. */
int reel_parcel_close(reel_parcel *parcel);

/* The size that the parcel was opened with. */
size_t reel_parcel_bytes(const reel_parcel *parcel);

/*
 * These figures cover all parcels of a pool, including snapshots that runs keep in memory (run.h).
 * Bytes in memory count the slabs and pages of the parcels; a shared slab counts once.
 */
struct reel_parcel_stats {
	uint64_t parcels;         /* open or sealed */
	uint64_t resident_bytes;  /* in memory */
	uint64_t stored_bytes;    /* in the store, before compression; some also in memory */
	uint64_t pinned_bytes;    /* in memory because a parcel there is open or pinned */
	uint64_t announced;       /* announced pins so far; neighbours in a slab with the first */
	uint64_t hits;            /* announced pins that found the contents in memory */
	uint64_t waits;           /* pins so far that waited for the store */
	uint64_t wait_ns;         /* and for how long, together */
	uint64_t reserved[4];     /* 0 */
};

/* Cost: O(parcels), while others open and close none. */
void reel_parcel_get_stats(reel_pool *pool, struct reel_parcel_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
