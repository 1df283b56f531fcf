/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of states, in the slots of tiers. The snapshots of a tier lie in memory or in a store.
 * Those in memory are parcels of the pool, which may go to the pool's own store and are read ahead.
 * A buffer carries a snapshot to a tier's store and back. A snapshot that the store refuses stays
 * in its buffer. One thread at a time uses a slot, different threads may use different slots at the
 * same time, and any thread may call reel_snapshot_read_ahead() meanwhile.
 *
 * The phase of a slot says where its snapshot is. slot_move() in snapshot.c changes it, with the
 * lock held; "any" is each phase but READING while the transfer runs.
 *
 *	from       to         in
 *	EMPTY      RESERVED   reel_snapshot_reserve
 *	RESERVED   MEMORY     reel_snapshot_commit (no store, or too many puts)
 *	RESERVED   PUTTING    reel_snapshot_commit
 *	PUTTING    MEMORY     end_put (the put failed)
 *	PUTTING    STORED     end_put
 *	PUTTING    READY      end_put (a load is announced)
 *	PUTTING    LOADED     end_put (the slot is pinned)
 *	STORED     READING    reel_snapshot_read_ahead, reel_snapshot_pin
 *	READING    LOADED     reel_snapshot_pin
 *	READING    STORED     reel_snapshot_pin (the get failed), drop_read_ahead
 *	READY      LOADED     reel_snapshot_pin
 *	READY      STORED     drop_read_ahead
 *	LOADED     STORED     reel_snapshot_unpin
 *	LOADED     READY      reel_snapshot_unpin (a load is announced)
 *	any        EMPTY      reel_snapshot_drop
 */
#ifndef REEL_LIB_SNAPSHOT_H
#define REEL_LIB_SNAPSHOT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include <reel/plan.h>
#include <reel/extend.h>

#include "os/cancel.h"
#include "os/wakeup.h"
#include "spill/parcel.h"
#include "pool/pool.h"
#include "os/yield.h"

#define REEL_MAX_PUTS 64

/* The memory of one snapshot and one ticket for each of the pieces in which it is transferred. */
struct reel_snapshot_buffer {
	struct reel_snapshot_buffer *next;
	struct reel_slab *slab;
	struct reel_wakeup arrival;
	_Atomic unsigned moving; /* number of transfers that are not complete */
	_Atomic int error;       /* error of a transfer that failed, or 0 */
	reel_transfer transfer[];
};

enum reel_slot_phase {
	REEL_SLOT_EMPTY,    /* no snapshot */
	REEL_SLOT_RESERVED, /* no snapshot yet: the caller fills the buffer or the parcel */
	REEL_SLOT_MEMORY,   /* a parcel; or in its buffer only, and no put is under way */
	REEL_SLOT_PUTTING,  /* in its buffer, and a put is under way or its end was not noticed */
	REEL_SLOT_STORED,   /* in the store only */
	REEL_SLOT_READING,  /* in the store; a get is under way or its result was not checked */
	REEL_SLOT_READY,    /* in the store and in its buffer, kept for a load to come */
	REEL_SLOT_LOADED,   /* in the store and in its buffer, and pinned */
	REEL_SLOT_PHASES
};

struct reel_slot {
	int64_t state;                       /* number of the state; -1: the slot is empty */
	uint64_t serial;                     /* number of this snapshot among all ever stored */
	reel_parcel *parcel;                 /* of a tier in memory, else NULL */
	struct reel_snapshot_buffer *buffer; /* NULL: the snapshot is in no buffer */
	struct reel_extent *extent;          /* one extent for each piece; NULL: no store */
	unsigned announced_loads;            /* number of announced loads that did not come yet */
	enum reel_slot_phase phase;
	/*
	 * Set between pin and unpin. A flag beside the phase, since a put or a get of the slot goes
	 * on meanwhile: pinned slots are in MEMORY, PUTTING, STORED, READING, READY or LOADED.
	 */
	bool pinned;
};

struct reel_snapshot_store {
	reel_store *store; /* NULL: memory */
	bool registers;    /* the store wants reel_store_register() before a transfer */
	size_t piece_bytes;
	struct reel_slot *slot;
	unsigned slots;
};

/* A put that was started. If its slot was dropped since, the put owns buffer and extent. */
struct reel_put {
	struct reel_snapshot_buffer *buffer;
	struct reel_extent *extent;
	unsigned tier;
	unsigned slot;
	bool dropped;
};

struct reel_snapshots {
	reel_pool *pool;
	pid_t owner;
	size_t bytes;        /* size of a snapshot */
	size_t padded_bytes; /* size of a snapshot, a multiple of each store's alignment */
	unsigned max_pieces;
	unsigned tiers;
	struct reel_snapshot_store tier[REEL_MAX_TIERS];

	/*
	 * Guards the members below, the slots, and the calls of the stores, which run one at a
	 * time. No thread waits for a transfer while it holds this lock.
	 */
	pthread_mutex_t lock;
	int cancel_before;                      /* cancel state of the holder before: cancel.h */
	struct reel_snapshot_buffer *unused;    /* idle buffers that have memory */
	struct reel_snapshot_buffer *frameless; /* idle buffers without memory */
	unsigned idle_buffers, max_idle_buffers; /* length of `unused`; maximum 0 without a store */
	struct reel_put put[REEL_MAX_PUTS];
	unsigned puts, max_puts;
	unsigned gets, max_gets; /* number of slots in READING or READY */
	uint64_t serial;         /* of the newest snapshot */
	uint64_t given;          /* number of calls of reel_snapshot_buffer_give() */

	uint64_t put_bytes, got_bytes, failed_puts, fetched, waits, wait_ns;
	size_t memory_bytes, peak_bytes; /* of the parcels, and of the buffers that are in use */
};

/*
 * Opens the snapshots of `tiers` tiers. `store` has one entry for each tier; NULL: memory. On
 * success the snapshots own the stores and close them. Returns 0 or -ENOMEM.
 */
int reel_snapshots_open(struct reel_snapshots *snapshots, reel_pool *pool, size_t bytes,
			unsigned tiers, reel_store *const *store, unsigned puts, unsigned gets);
/* Leaves the stores, which are empty, to the caller again. reel_snapshots_close() comes next. */
void reel_snapshots_leave(struct reel_snapshots *snapshots, reel_store *const *store);
/* Empties all slots and sets the counters to 0. No other thread uses the snapshots meanwhile. */
void reel_snapshots_empty(struct reel_snapshots *snapshots);
void reel_snapshots_close(struct reel_snapshots *snapshots);

/*
 * reel_snapshot_reserve() gives an empty slot to state `state`, and *data points to memory for the
 * snapshot. When the caller has filled it, reel_snapshot_commit() starts the put if the tier has a
 * store. reel_snapshot_drop() instead of commit gives the slot up. Returns 0, -EDQUOT or -ENOMEM;
 * -EBADMSG: the slot is not empty.
 */
int reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
			  int64_t state, void **data);
void reel_snapshot_commit(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/*
 * reel_snapshot_pin() makes *data point to the snapshot of state `state`, which stays in memory
 * until reel_snapshot_unpin(). Waits for the store if the snapshot is not in memory. Returns 0, the
 * store's error, -EDQUOT or -ENOMEM; -EBADMSG: the slot does not hold this state.
 */
int reel_snapshot_pin(struct reel_snapshots *snapshots, unsigned tier, unsigned slot, int64_t state,
		      const void **data);
void reel_snapshot_unpin(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/*
 * Announces a load of state `state`: starts to read the snapshot if it is in the store only, or
 * keeps it in memory after its put. Returns false if no buffer is free now; the caller tries again
 * later. Returns true also if the slot does not hold this state.
 */
bool reel_snapshot_read_ahead(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
			      int64_t state);

/* Returns the number of the state that the slot holds, or -1. */
int64_t reel_snapshot_state(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/* Empties the slot. Returns 0; or -EBADMSG: the slot does not hold this state. */
int reel_snapshot_drop(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
		       int64_t state);

/* ---- snapshot-buffer.c: buffers and their transfers ---- */

static inline void reel_snapshots_lock(struct reel_snapshots *snapshots)
{
	int before = reel_cancel_disable();

	pthread_mutex_lock(&snapshots->lock);
	snapshots->cancel_before = before;
}

static inline void reel_snapshots_unlock(struct reel_snapshots *snapshots)
{
	int before = snapshots->cancel_before;

	pthread_mutex_unlock(&snapshots->lock);
	reel_cancel_restore(&before);
	/* A test may schedule another thread here, between a check and a use of the slot. */
	reel_yield_point();
}

/* Whether a thread holds the lock: for assertions. */
static inline bool reel_snapshots_are_locked(struct reel_snapshots *snapshots)
{
	if (pthread_mutex_trylock(&snapshots->lock))
		return true;
	pthread_mutex_unlock(&snapshots->lock);
	return false;
}

/*
 * Takes a buffer with memory. The caller does not hold the lock, since the pool may wait until
 * slabs are written behind. Returns NULL and sets *error if the pool has no memory.
 */
struct reel_snapshot_buffer *reel_snapshot_buffer_take(struct reel_snapshots *snapshots,
						       int *error);
void *reel_snapshot_buffer_data(const struct reel_snapshot_buffer *buffer);

/* Counts the memory of one more snapshot. Requires `snapshots->lock`. */
void reel_snapshots_note_use(struct reel_snapshots *snapshots);

/* Makes a buffer idle. No transfer uses it. Requires `snapshots->lock`. */
void reel_snapshot_buffer_give(struct reel_snapshots *snapshots,
			       struct reel_snapshot_buffer *buffer);
/* Frees the idle buffers, when the stores are closed. */
void reel_snapshot_buffer_free_all(struct reel_snapshots *snapshots);

/*
 * Starts one transfer for each piece of the buffer: gets from the extents, or puts if `extent` is
 * NULL. Requires `snapshots->lock`.
 */
void reel_snapshot_buffer_start(struct reel_snapshots *snapshots, unsigned tier,
				struct reel_snapshot_buffer *buffer, uint64_t serial,
				const struct reel_extent *extent);
bool reel_snapshot_buffer_is_moving(struct reel_snapshot_buffer *buffer);
/* Waits until no transfer uses the buffer. The caller does not hold the lock. */
void reel_snapshot_buffer_await(struct reel_snapshots *snapshots,
				struct reel_snapshot_buffer *buffer);

/* Number of pieces of a snapshot in the store of this tier. */
unsigned reel_snapshot_pieces(const struct reel_snapshots *snapshots, unsigned tier);

#endif
