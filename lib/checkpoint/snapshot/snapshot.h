/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of states, in the slots of tiers. Each snapshot is a parcel: of the run's pool in a
 * tier in memory, and of a pool on the tier's store in any other tier, whose frames the run's pool
 * lends. So a snapshot of a tier with a store is written as soon as it is committed, and leaves
 * memory; a snapshot that the store refuses stays there. One thread at a time uses a slot,
 * different threads may use different slots at the same time, and any thread may call
 * reel_snapshot_read_ahead() meanwhile.
 */
#ifndef REEL_LIB_SNAPSHOT_H
#define REEL_LIB_SNAPSHOT_H

#include <pthread.h>
#include <stdbool.h>

#include <reel/plan.h>
#include <reel/extend.h>

#include "spill/parcel/parcel.h"

#define REEL_MAX_PUTS 64

struct reel_slot {
	int64_t state;            /* number of the state; -1: the slot is empty */
	size_t bytes;             /* of the snapshot */
	reel_parcel *parcel;      /* NULL: the slot is empty, or its parcel is being opened */
	unsigned announced_loads; /* number of announced loads that did not come yet */
	bool saved;  /* the snapshot is complete, and the parcel is sealed */
	bool pinned; /* between pin and unpin */
};

struct reel_snapshot_tier {
	reel_pool *pool; /* of the tier's store; else the run's */
	struct reel_slot *slot;
	unsigned slots;
};

struct reel_snapshots {
	reel_pool *pool;
	unsigned tiers;
	unsigned max_puts;
	unsigned max_ahead;
	struct reel_snapshot_tier tier[REEL_MAX_TIERS];

	/* Guards the members below, and the slots. No thread waits while it holds this lock. */
	pthread_mutex_t lock;
	int cancel_before;   /* cancel state of the holder before: cancel.h */
	unsigned ahead;      /* number of slots with an announced load */
	size_t memory_bytes; /* of the snapshots in memory tiers */
	size_t peak_bytes;   /* of these, and of the memory of all stores' pools */
	struct reel_run_stats
		before; /* the counts of the pools when the slots were emptied last */
};

/*
 * Opens the snapshots of `tiers` tiers, of at most `bytes` bytes each. `store` has one entry for
 * each tier; NULL: memory. At most `puts` snapshots of a store are written at a time, and `ahead`
 * read before their load comes. On success the snapshots own the stores and close them. Returns 0,
 * -ENOMEM, or -EINVAL: a store asks for data that is aligned to more than a page.
 */
int reel_snapshots_open(struct reel_snapshots *snapshots, reel_pool *pool, size_t bytes,
			unsigned tiers, reel_store *const *store, unsigned puts, unsigned ahead);
/* Empties all slots and sets the counters to 0. No other thread uses the snapshots meanwhile. */
void reel_snapshots_empty(struct reel_snapshots *snapshots);
/* Leaves the stores, which are empty, to the caller again. reel_snapshots_close() comes next. */
void reel_snapshots_leave(struct reel_snapshots *snapshots);
void reel_snapshots_close(struct reel_snapshots *snapshots);
/* Sets the members that count snapshots and their transfers. */
void reel_snapshots_get_stats(struct reel_snapshots *snapshots, struct reel_run_stats *stats);

/*
 * reel_snapshot_reserve() gives an empty slot to state `state`, and *data points to `bytes` bytes
 * of memory for the snapshot. When the caller has filled it, reel_snapshot_commit() starts the put
 * if the tier has a store. reel_snapshot_drop() instead of commit gives the slot up. Returns 0,
 * -EDQUOT or -ENOMEM; -EBADMSG: the slot is not empty.
 */
int reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
			  int64_t state, size_t bytes, void **data);
void reel_snapshot_commit(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/*
 * reel_snapshot_pin() makes *data point to the snapshot of state `state`, which stays in memory
 * until reel_snapshot_unpin(). Waits for the store if the snapshot is not in memory. `is_load`: for
 * a LOAD of the plan, which ends its announcement by reel_snapshot_read_ahead(). Returns 0, the
 * store's error, -EDQUOT or -ENOMEM; -EBADMSG: the slot does not hold this state.
 */
int reel_snapshot_pin(struct reel_snapshots *snapshots, unsigned tier, unsigned slot, int64_t state,
		      bool is_load, const void **data);
void reel_snapshot_unpin(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/*
 * Announces a load of state `state`: starts to read the snapshot if it is in the store only, or
 * keeps it in memory after its put. Returns false if too many are announced, or if the slot does
 * not hold this state yet; the caller tries again later.
 */
bool reel_snapshot_read_ahead(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
			      int64_t state);

/* Returns the number of the state that the slot holds, or -1. */
int64_t reel_snapshot_state(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);
/* Returns the size of the snapshot that the slot holds. */
size_t reel_snapshot_bytes(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/* Empties the slot. Returns 0; or -EBADMSG: the slot does not hold this state. */
int reel_snapshot_drop(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
		       int64_t state);

#endif
