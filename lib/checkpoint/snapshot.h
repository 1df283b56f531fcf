/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of states, in the slots of tiers. A tier is memory, or a store, to and from
 * which a snapshot travels in a buffer:
 *
 *	reserve, commit    a state is saved to a buffer, which is then put
 *	(put)              the slot's snapshot is in the store, its buffer is free again
 *	fetch              a buffer is got, ahead of the load
 *	load, release      the snapshot is looked at, in its buffer
 *	drop               the slot is empty
 *
 * What a store refuses stays in its buffer. A slot is one thread's at a time; different
 * ones may be used at the same time.
 */
#ifndef REEL_LIB_SNAPSHOT_H
#define REEL_LIB_SNAPSHOT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include <reel/plan.h>
#include <reel/extend.h>

#include "os/cancel.h"
#include "os/event.h"
#include "pool/pool.h"
#include "os/yield.h"

#define REEL_MAX_PUTS 64

/* The memory of one snapshot, and its tickets: a large one is put in pieces. */
struct reel_snapshot_buffer {
	struct reel_snapshot_buffer *next;
	struct reel_slab *slab;
	struct reel_event arrival;
	_Atomic unsigned moving; /* transfers that are not complete */
	_Atomic int error;       /* of one that has failed */
	reel_transfer transfer[];
};

struct reel_slot {
	int64_t state;                       /* -1: the slot is empty */
	uint64_t serial;                     /* which of all that were ever stored */
	struct reel_snapshot_buffer *buffer; /* NULL: the snapshot is in the store only */
	struct reel_extent *extent;          /* of each piece */
	unsigned announced_loads;            /* loads that are to come: it need not leave memory */
	bool stored;
	bool fetched; /* in memory ahead of its load */
	bool reading; /* it is on its way, or has come and was not looked at */
	bool pinned;  /* between load and release, or reserve and commit */
};

struct reel_snapshot_store {
	reel_store *store; /* NULL: memory */
	bool registers;    /* the store is told of buffers before their first transfer */
	size_t piece_bytes;
	struct reel_slot *slot;
	unsigned slots;
};

/* A put that has been started; its slot may have been dropped since. */
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
	size_t bytes;        /* of a snapshot */
	size_t padded_bytes; /* the same, as the stores want them */
	unsigned max_pieces;
	unsigned tiers;
	struct reel_snapshot_store tier[REEL_MAX_TIERS];

	/* Guards all below, the slots, and the stores' verbs; never held in a wait. */
	pthread_mutex_t lock;
	int cancel_before;                   /* of the thread that holds it: see cancel.h */
	struct reel_snapshot_buffer *unused; /* with memory */
	struct reel_snapshot_buffer *frameless;
	unsigned idle_buffers, max_idle_buffers; /* none without a store */
	struct reel_put put[REEL_MAX_PUTS];
	unsigned puts, max_puts;
	unsigned gets, max_gets; /* slots that are fetched */
	uint64_t serial;
	uint64_t given; /* how often a buffer was */

	uint64_t put_bytes, got_bytes, failed_puts, fetched, waits, wait_ns;
	size_t memory_bytes, peak_bytes; /* of buffers that are in use */
};

/* `store`: one for each tier, or NULL. They are the snapshots' on success: 0 or -ENOMEM. */
int reel_snapshots_open(struct reel_snapshots *snapshots, reel_pool *pool, size_t bytes,
			unsigned tiers, reel_store *const *store, unsigned puts, unsigned gets);
/* Empty all slots, and set the counters to 0. */
void reel_snapshots_empty(struct reel_snapshots *snapshots);
void reel_snapshots_close(struct reel_snapshots *snapshots);

/*
 * Memory for a snapshot of state `state`, for an empty slot; and put it, if the tier is
 * a store, or drop it. 0, -EDQUOT or -ENOMEM; -EBADMSG: the slot is not empty.
 */
int reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
			  int64_t state, void **data);
void reel_snapshot_commit(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/*
 * The snapshot of state `state`; and let go of it. 0, the store's error, -EDQUOT or
 * -ENOMEM; -EBADMSG: the slot does not hold this state.
 */
int reel_snapshot_pin(struct reel_snapshots *snapshots, unsigned tier, unsigned slot, int64_t state,
		      const void **data);
void reel_snapshot_unpin(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/*
 * A load of it is to come: begin to read it, or keep it when it is let go of. False: there
 * is no buffer for it now. True too where it is not there.
 */
bool reel_snapshot_read_ahead(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
			      int64_t state);

/* The state that the slot holds, or -1. */
int64_t reel_snapshot_state(struct reel_snapshots *snapshots, unsigned tier, unsigned slot);

/* 0; or -EBADMSG: the slot does not hold this state. */
int reel_snapshot_drop(struct reel_snapshots *snapshots, unsigned tier, unsigned slot,
		       int64_t state);

/* ---- snapshot-buffer.c: buffers, and their way to the stores and back ---- */

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
	/* Between a check and a use that are not under one lock. */
	reel_yield_point();
}

/* Without the lock: the pool may have to write slabs behind first. NULL: *error says why. */
struct reel_snapshot_buffer *reel_snapshot_buffer_take(struct reel_snapshots *snapshots,
						       int *error);
void *reel_snapshot_buffer_data(const struct reel_snapshot_buffer *buffer);

/* Under the lock. */
void reel_snapshot_buffer_give(struct reel_snapshots *snapshots,
			       struct reel_snapshot_buffer *buffer);
/* At the end, of those that have been given. */
void reel_snapshot_buffer_free_all(struct reel_snapshots *snapshots);

/* Under the lock: put it, or get it from where its pieces are; NULL: put. */
void reel_snapshot_buffer_start(struct reel_snapshots *snapshots, unsigned tier,
				struct reel_snapshot_buffer *buffer, uint64_t serial,
				const struct reel_extent *extent);
bool reel_snapshot_buffer_is_moving(struct reel_snapshot_buffer *buffer);
/* Without the lock: until it is not. */
void reel_snapshot_buffer_await(struct reel_snapshots *snapshots,
				struct reel_snapshot_buffer *buffer);

/* In how many pieces a snapshot is in this tier's store. */
unsigned reel_snapshot_pieces(const struct reel_snapshots *snapshots, unsigned tier);

#endif
