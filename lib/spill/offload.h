/* SPDX-License-Identifier: MIT */
/*
 * Offload: a pool with a store has one thread that decides which slabs are
 * written behind, evicted and read back, and that alone calls the store.
 *
 *	tape-io.c     what the offload thread sees of a tape
 *	victim.c     which slabs are needed last
 *	write-back.c      write behind, evict
 *	read-ahead.c   read back
 *	offload.c    the thread; those who wait for a frame
 *	pool-open.c  a pool gets its store and the thread, and loses them
 *
 * The owner's side, which seals, acquires and frees slabs, is tape/slab-owner.c.
 * The owner and the offload thread meet in a slab's state alone (slab.h): who
 * moves it by compare-and-swap owns what the new state gives him. Both sides'
 * changes release what they wrote and acquire what the other wrote.
 */
#ifndef REEL_LIB_OFFLOAD_H
#define REEL_LIB_OFFLOAD_H

#include <pthread.h>
#include <semaphore.h>

#include <reel/extend.h>

#include "os/event.h"
#include "pool/pool.h"
#include "pool/slab.h"
#include "os/yield.h"

#define REEL_REQUESTS 64
#define REEL_TICKETS 24
#define REEL_MAX_VICTIMS 64
/* How many slabs are asked for in advance at first; doubled whenever the owner had to wait. */
#define REEL_MIN_AHEAD 4

/*
 * A tape, as the offload thread sees it. Lives as long as the pool: a closed
 * tape's serves the next one.
 */
struct reel_tape_io {
	struct reel_tape_io *next;
	_Atomic bool in_use;
	/* Told to the store; never the same for two tapes. */
	_Atomic uint64_t id;
	/* Relaxed, for estimates: index of the topmost slab, the highest index, slabs popped. */
	_Atomic uint32_t top;
	_Atomic uint32_t highest;
	_Atomic uint64_t popped;

	/* The owner waits for this slab. */
	_Atomic(struct reel_slab *) awaited;
	struct reel_event arrival;
	/* A ring: slabs that the owner will need, the next one first. */
	struct reel_slab *request[REEL_REQUESTS];
	_Atomic uint32_t requested;
	_Atomic uint32_t served;

	/* Owner only. */
	unsigned slabs_popped_in_row; /* slabs popped since one was sealed */
	unsigned ahead;               /* how many slabs are asked for in advance */
	unsigned hits_in_row;         /* slabs that were there, since the last that was not */

	/* Offload thread only. */
	uint64_t popped_before;
	double rate;       /* slabs popped a second, of late */
};

/* What a slab has beside its descriptor, once it has been sealed on a pool with a store. */
struct reel_slab_io {
	/* Owner, before it seals. Atomic since estimates may read them at any time. */
	_Atomic(struct reel_tape_io *) tape_io;
	_Atomic uint32_t slab_index;
	uint32_t reads;         /* offload thread: attempts to read it */
	size_t filled;          /* owner: bytes worth storing, and how they are laid out */
	struct reel_layout layout;
	/* Offload thread, until it has released LOST. */
	int error;
	uint64_t serial; /* of the put that wrote, or is to write, the copy */
	bool stored;     /* extent holds a copy, of what is now there or of what was */
	size_t stored_bytes;
	struct reel_extent extent;
};

/*
 * reel_ticket_enter() changes the state of a ticket:
 *
 *	from       to         by
 *	FREE       STARTED    offload thread, which then starts the transfer
 *	STARTED    FINISHED   the thread of the store that completes the transfer
 *	FINISHED   FREE       offload thread, which sees to the slab then
 *	STARTED    FREE       offload thread, if there was nothing to transfer
 */
enum reel_ticket_state { REEL_TICKET_FREE, REEL_TICKET_STARTED, REEL_TICKET_FINISHED };

/* One transfer that may be under way. Offload thread only, but for `state`. */
struct reel_ticket {
	reel_transfer transfer;
	struct reel_offload *offload;
	struct reel_slab *slab;
	bool get;
	_Atomic(enum reel_ticket_state) state;
};

/* Slabs in one state, in the order in which they are to be used. */
struct reel_victims {
	unsigned count;
	unsigned next;
	struct {
		struct reel_slab *slab;
		double reuse_distance;
	} of[REEL_MAX_VICTIMS];
};

enum reel_offload_command {
	REEL_OFFLOAD_RUN,
	REEL_OFFLOAD_SETTLE,
	REEL_OFFLOAD_PAUSE,
	REEL_OFFLOAD_STOP
};

struct reel_offload {
	struct reel_pool *pool;
	reel_store *store;
	struct reel_slab_io *slab_io;
	size_t align;
	bool registers; /* the store is told of frames before their first transfer */
	unsigned put_depth;
	pthread_t thread;
	struct reel_event work;
	_Atomic int command;
	sem_t obeyed;
	sem_t resumed;
	/* In the child of a fork: there is no thread, and the store is the parent's. */
	bool orphaned;

	_Atomic(struct reel_tape_io *) tape_ios;
	_Atomic uint64_t last_tape_id;
	_Atomic unsigned tape_ios_in_use;
	/* Slabs that are DIRTY, and CLEAN. */
	_Atomic size_t sealed;
	_Atomic size_t clean;
	/* Slabs discarded or pushed on since, of which the store still has a copy. */
	_Atomic size_t stale;
	/* Raised when a slab is sealed: frames will be needed. */
	_Atomic bool growth_hint;

	/* Threads that need a frame and have not been answered; under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t answered;
	unsigned waiting;
	unsigned waiting_large; /* of these */
	uint64_t asked;
	uint64_t freed;
	uint64_t refused;
	int refusal;

	/* Offload thread only. */
	struct reel_ticket ticket[REEL_TICKETS];
	uint64_t last_put; /* how many there were */
	unsigned puts;     /* under way, and gets */
	unsigned gets;
	struct reel_victims dirty_victims;
	struct reel_victims clean_victims;
	bool has_waiters;      /* somebody waits */
	bool frames_needed;    /* a push waits, or a slab was sealed since the last round */
	bool lacks_frame;      /* and no frame is there, or can be freed but by a transfer */
	uint64_t asked_before; /* who asked later has not been considered yet */
	int failure;           /* why the last put failed, or 0 */
	/* Puts for somebody who waits, since the last that succeeded. */
	unsigned failed_puts_in_row;
	uint64_t ranked_at;
	uint64_t ranking_ns;     /* what the last ranking took */

	/* Counters: relaxed, they order nothing. */
	_Atomic uint64_t written_bytes;
	_Atomic uint64_t stored_bytes;
	_Atomic uint64_t read_bytes;
	_Atomic uint64_t failed_puts;
	_Atomic uint64_t failed_gets;
	_Atomic uint64_t stalls;
	_Atomic uint64_t stall_ns;
};

/* NULL: the pool has no store. */
static inline struct reel_offload *reel_offload_of(const struct reel_pool *pool)
{
	return pool->reclaimer;
}

static inline struct reel_slab_io *reel_slab_io_of(const struct reel_offload *offload,
						       const struct reel_slab *slab)
{
	return &offload->slab_io[slab - offload->pool->table];
}

/* Relaxed: an estimate, unless the slab's state is the caller's. */
static inline struct reel_tape_io *reel_tape_io_of(const struct reel_offload *offload,
						 const struct reel_slab *slab)
{
	return atomic_load_explicit(&reel_slab_io_of(offload, slab)->tape_io,
				    memory_order_relaxed);
}

/* offload.c: on success the store is the pool's. 0 or -ENOMEM. */
int reel_offload_open(struct reel_pool *pool, reel_store *store);
void reel_offload_close(struct reel_offload *offload);
/*
 * Wait until a frame may be had, or with `is_large` more room than that of one. False:
 * none can be, *error says why. Any thread but the offload thread.
 */
bool reel_offload_await_frame(struct reel_offload *offload, bool is_large, int *error);
/* Wait until the offload thread has nothing to do. */
void reel_offload_settle(struct reel_offload *offload);
/* A frame's memory is about to be given back to the system. Any thread. */
void reel_offload_unregister_frame(struct reel_offload *offload, const struct reel_slab *slab);
/* Stop it with no transfer under way, and let it go on. */
void reel_offload_pause(struct reel_offload *offload);
void reel_offload_resume(struct reel_offload *offload);
/* In the child of a fork. */
void reel_offload_orphan(struct reel_offload *offload);
/* Somebody has waited since then. */
void reel_offload_note_stall(struct reel_offload *offload, uint64_t since);

/* The following are the offload thread's. */

/* offload.c */
void reel_ticket_enter(struct reel_ticket *ticket, enum reel_ticket_state state);
/* A ticket to put or get with, which is STARTED; NULL: none is free. */
struct reel_ticket *reel_offload_ticket(struct reel_offload *offload, struct reel_slab *slab,
					bool get);
/* Of a slab whose state is the offload thread's: its label, and its frame as data. */
void reel_offload_prepare(struct reel_offload *offload, struct reel_ticket *ticket);
/* Let go of a slab that its tape has left meanwhile. */
void reel_offload_free_deferred(struct reel_offload *offload, struct reel_slab *slab);
void reel_offload_drop_copy(struct reel_offload *offload, struct reel_slab *slab);
/* The store may take slabs again. */
void reel_offload_forget_failures(struct reel_offload *offload);

/*
 * victim.c: of the slabs in this state that a ranking found, the one that is needed
 * last; NULL: there is none that is needed later than in so many seconds.
 */
struct reel_slab *reel_victim_next(struct reel_offload *offload, enum reel_slab_state state,
				   double min_distance);
/* Drop what the store has of slabs that are not there any more. */
void reel_victim_drop_stale(struct reel_offload *offload);
/* Seconds until the slab is needed, by estimate. */
double reel_reuse_distance(const struct reel_offload *offload, const struct reel_slab *slab);

#define REEL_MIN_DISTANCE (-1.0)

/* write-back.c: whether anything was done. */
bool reel_write_round(struct reel_offload *offload);
/* Free the frame of a stored slab that is needed later than in so many seconds. */
bool reel_evict(struct reel_offload *offload, double min_distance);
void reel_write_done(struct reel_offload *offload, struct reel_ticket *ticket);

/* Give a slab's frame away; it stays in the store. */
void reel_evict_frame(struct reel_offload *offload, struct reel_slab *slab,
		      struct reel_slab *carrier, enum reel_slab_state from);

/* read-ahead.c */
bool reel_read_round(struct reel_offload *offload);
/* Nothing else moves: read a slab that an owner waits for beyond the budget. */
bool reel_read_overdrawn(struct reel_offload *offload);
void reel_read_done(struct reel_offload *offload, struct reel_ticket *ticket);
/* Whether an owner waits for a slab that has no frame yet. */
bool reel_read_is_awaited(struct reel_offload *offload);
/* Whether its owner waits for this slab. */
bool reel_read_is_awaited_for(const struct reel_offload *offload, const struct reel_slab *slab);

/* tape-io.c: NULL: no memory. */
struct reel_tape_io *reel_tape_io_take(struct reel_offload *offload);
void reel_tape_io_give(struct reel_offload *offload, struct reel_tape_io *tape_io);
void reel_tape_io_free_all(struct reel_offload *offload);

#endif
