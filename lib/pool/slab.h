/* SPDX-License-Identifier: MIT */
/*
 * A slab: a descriptor of 64 bytes, which lives as long as its pool, and a frame of memory, which
 * holds the values and may leave the slab and come back. Lists touch descriptors only.
 *
 * Without a store a slab is EMPTY or OPEN. With a store, the owner of the slab and the offload
 * thread of the pool hand it to each other by its state. Only these changes are allowed:
 *
 *	from             to               by       in
 *	EMPTY            OPEN             owner    reel_pool_take
 *	OPEN             EMPTY            owner    reel_pool_give
 *	OPEN             DIRTY            owner    reel_slab_seal
 *	DIRTY            OPEN             owner    reel_slab_acquire, reel_slab_free
 *	DIRTY            WRITING          offload  reel_write_round
 *	WRITING          CLEAN            offload  reel_write_done
 *	WRITING          DIRTY            offload  reel_write_done (the put failed)
 *	WRITING          PINNED_WRITING   owner    reel_slab_acquire
 *	WRITING          FREE_PENDING     owner    reel_slab_free
 *	PINNED_WRITING   PINNED           offload  reel_write_done
 *	PINNED_WRITING   OPEN             offload  reel_write_done (the put failed)
 *	PINNED_WRITING   WRITING          owner    reel_slab_seal
 *	PINNED_WRITING   FREE_PENDING     owner    reel_slab_free
 *	CLEAN            PINNED           owner    reel_slab_acquire
 *	CLEAN            EVICTING         offload  reel_evict
 *	CLEAN            OPEN             owner    reel_slab_free
 *	PINNED           CLEAN            owner    reel_slab_seal
 *	PINNED           OPEN             owner    reel_slab_make_writable, reel_slab_free
 *	EVICTING         STORED           offload  reel_evict_frame
 *	EVICTING         FREE_PENDING     owner    reel_slab_free
 *	EVICTING         LOST             owner    reel_slab_acquire (in the child of a fork)
 *	STORED           READ_QUEUED      both     reel_demand_request, reel_slab_acquire,
 *	                                           reel_read_round
 *	STORED           OPEN             owner    reel_slab_free
 *	STORED           LOST             owner    reel_slab_acquire (in the child of a fork)
 *	READ_QUEUED      READING          offload  reel_read_round
 *	READ_QUEUED      OPEN             owner    reel_slab_free
 *	READ_QUEUED      STORED           both     reel_slab_acquire (refused, or no more time),
 *	                                           reel_read_overdrawn (refused)
 *	READ_QUEUED      LOST             owner    reel_slab_acquire (in the child of a fork)
 *	READING          CLEAN            offload  reel_read_done
 *	READING          LOST             offload  reel_read_done
 *	READING          STORED           offload  reel_read_done (read ahead, and failed)
 *	READING          READ_QUEUED      offload  reel_read_round (no memory for it)
 *	READING          FREE_PENDING     owner    reel_slab_free
 *	LOST             OPEN             owner    reel_slab_free
 *	FREE_PENDING     EMPTY            offload  reel_offload_free_deferred
 *
 * An EMPTY slab belongs to a magazine, to a shared list or to the thread that moves it between
 * them. Every other slab has an owner: a tape, a recording, a bin of parcels, or a child pool that
 * has borrowed its frame.
 */
#ifndef REEL_LIB_SLAB_H
#define REEL_LIB_SLAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/annotate.h"
#include "os/assert.h"
#include "os/yield.h"

enum reel_slab_state {
	REEL_SLAB_EMPTY,
	REEL_SLAB_OPEN,           /* the owner pushes and pops here, or keeps it as spare */
	REEL_SLAB_DIRTY,          /* sealed; in memory only */
	REEL_SLAB_WRITING,        /* a put is under way; readable */
	REEL_SLAB_PINNED_WRITING, /* a put is under way, and the owner reads here */
	REEL_SLAB_CLEAN,          /* in memory and in the store */
	REEL_SLAB_PINNED,         /* in memory and in the store, and the owner uses it */
	REEL_SLAB_EVICTING,       /* losing its frame */
	REEL_SLAB_STORED,         /* in the store only, without a frame */
	REEL_SLAB_READ_QUEUED,    /* in the store only, and the owner needs it soon */
	REEL_SLAB_READING,        /* a get is under way */
	REEL_SLAB_LOST,           /* the store could not return it */
	REEL_SLAB_FREE_PENDING,   /* its owner freed it while the offload thread used it */
	REEL_SLAB_STATES
};

/* How a slab gets its frame; each kind has lists of its own. */
enum reel_slab_kind {
	REEL_SLAB_SMALL, /* a small slab: a piece of a first slab, for the lowest slab of a tape */
	REEL_SLAB_FIRST, /* a piece of a frame, for the first slabs of a tape */
	REEL_SLAB_WHOLE, /* a frame of the pool's slab size */
	REEL_SLAB_LARGE, /* a mapping of its own, for spans that would waste much of a whole slab */
	REEL_SLAB_LENT,  /* as LARGE, but its first frame is memory of the program */
	REEL_SLAB_KINDS
};

struct reel_slab {
	/*
	 * The next entry of the shared list. Nothing else uses this member: a late pop may read it
	 * while the slab belongs to another thread.
	 */
#if REEL_POOL_CK
	void *next;
#else
	_Atomic uint32_t next;
#endif
	char *frame;
	size_t bytes;
	/* On a tape, the slab below; in a chain, the next empty slab. */
	struct reel_slab *below;
	/* Number of bytes filled in the slab below when this slab was put on top of it. */
	uint64_t below_offset;
	union {
		/* Serial number of this stay on a tape. A mark compares it. */
		uint64_t serial;
		/* In a pool with a parent: the parent's slab, whose frame this is. */
		struct reel_slab *lender;
		/*
		 * In a slab of kind LENT: where the memory that the program has lent begins in the
		 * frame; NULL: the frame is the pool's.
		 */
		char *lent;
	};
	/* Number of holds that were open when the slab was put on the tape. */
	uint32_t holds;
	/* Number of slabs of the tape below this one. */
	uint32_t slab_index;
	_Atomic uint8_t state;
	uint8_t kind;
	uint16_t place;   /* in a profile: number and flags (room.c of lib/tape) */
	uint32_t strides; /* in a profile: those that are counted, and a number of this stay */
};

/* Returns true if the table above allows this change. */
bool reel_slab_may_become(enum reel_slab_state from, enum reel_slab_state to);

static inline enum reel_slab_state reel_slab_state_of(const struct reel_slab *slab)
{
	/*
	 * Acquire: pairs with the release in reel_slab_move(). Makes the writes of the other thread
	 * visible.
	 */
	return (enum reel_slab_state)atomic_load_explicit(&slab->state, memory_order_acquire);
}

/*
 * Moves a slab that another thread may also move. False: the other thread was first. Acquire and
 * release: pairs with reel_slab_move() in the other thread. Makes the writes of each of them
 * visible.
 */
static inline bool reel_slab_move(struct reel_slab *slab, enum reel_slab_state from,
				  enum reel_slab_state to)
{
	uint8_t expected = (uint8_t)from;

	REEL_ASSERT(reel_slab_may_become(from, to));
	reel_yield_point();
	return atomic_compare_exchange_strong_explicit(&slab->state, &expected, (uint8_t)to,
						       memory_order_acq_rel, memory_order_acquire);
}

/*
 * Changes the state of a slab that no other thread moves. Relaxed is enough: the list or the move
 * that hands the slab on has a release.
 */
static inline void reel_slab_become(struct reel_slab *slab, enum reel_slab_state to)
{
	REEL_ASSERT(reel_slab_may_become(reel_slab_state_of(slab), to));
	atomic_store_explicit(&slab->state, (uint8_t)to, memory_order_relaxed);
}

/*
 * Returns true if the frame is memory of the program. Requires a state of the slab that lets the
 * calling thread use the frame.
 */
static inline bool reel_slab_is_lent(const struct reel_slab *slab)
{
	return slab->kind == REEL_SLAB_LENT && slab->lent;
}

/* AddressSanitizer reports uses of the frame from now on. */
static inline void reel_slab_forbid(const struct reel_slab *slab)
{
	if (!reel_slab_is_lent(slab))
		reel_annotate_forbid(slab->frame, slab->bytes);
}

_Static_assert(sizeof(struct reel_slab) <= 64, "a descriptor fills at most one cache line");

#endif
