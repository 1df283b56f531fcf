/* SPDX-License-Identifier: MIT */
/*
 * The state that the owners of slabs share with the offload thread. A pool with a store has one
 * offload thread, which decides which slabs are written behind, evicted and read back; no other
 * thread transfers slabs.
 *
 * The owner and the offload thread meet only in the state of a slab: the thread whose
 * reel_slab_move() succeeds may use the slab as the new state says (slab.h).
 */
#ifndef REEL_LIB_OFFLOAD_H
#define REEL_LIB_OFFLOAD_H

#include <pthread.h>
#include <semaphore.h>

#include <reel/extend.h>

#include "os/clock.h"
#include "os/wakeup.h"
#include "os/memory-pressure.h"
#include "pool/pool.h"
#include "pool/slab.h"
#include "os/yield.h"
#include "trace/trace.h"

#define REEL_REQUESTS 64
#define REEL_TICKETS 32
/* Maximum number of gets of read-ahead. It leaves 16 tickets to puts and to waiting owners. */
#define REEL_MAX_GETS 16
#define REEL_MAX_VICTIMS 64
/* Maximum number of readers of a recording whose needs count when victims are chosen. */
#define REEL_RANKED_READERS 16
/* Initial number of slabs that an owner asks for in advance; doubled when the owner has to wait. */
#define REEL_MIN_AHEAD 4

enum reel_demand_kind {
	/* The slab with the highest index is needed first: a tape, or an announced order. */
	REEL_DEMAND_STACK,
	/* A recording: its slabs are needed when the nearest of its readers needs them. */
	REEL_DEMAND_READERS,
	/* In no known order: `slab_index` says when a slab was used last (ms). */
	REEL_DEMAND_AGE,
	/*
	 * Has no slabs, but requests of slabs that belong to others: a thread has asked for them
	 * and does not wait. When no thread waits, they are read, or refused, as if it did.
	 */
	REEL_DEMAND_HURRIED
};

/*
 * A demand tells the offload thread which slabs their owner needs, and when. It lives as long as
 * the pool: after its owner has given it back, it serves another one.
 */
struct reel_demand {
	struct reel_demand *next;
	_Atomic bool in_use;
	/* Number of the tape in labels. No two tapes of a pool have the same. */
	_Atomic uint64_t id;
	_Atomic(enum reel_demand_kind) kind;
	/* Relaxed, for estimates: index of the top slab, highest index, number of slabs popped. */
	_Atomic uint32_t top;
	_Atomic uint32_t highest;
	_Atomic uint64_t popped;
	/* The readers of a recording. */
	_Atomic(struct reel_demand *) reader[REEL_RANKED_READERS];

	/*
	 * The slab that the owner waits for, or NULL. If there is no room for it, the slab of a
	 * tape overdraws the budget; any other wait is refused, and `refused` is the slab then.
	 */
	_Atomic(struct reel_slab *) awaited;
	struct reel_wakeup arrival;
	_Atomic bool overdraws;
	_Atomic(const struct reel_slab *) refused;
	/* Ring of slabs that the owner will need, the next one first. */
	struct reel_slab *request[REEL_REQUESTS];
	_Atomic uint32_t requested;
	_Atomic uint32_t served;

	/* Owner only. */
	unsigned slabs_popped_in_row; /* number of slabs popped since the last seal */
	unsigned ahead;               /* number of slabs asked for in advance */
	unsigned hits_in_row;         /* number of slabs read in time since the last late one */

	/* Offload thread only. */
	uint64_t popped_before;
	double rate; /* recent number of slabs popped per second */
};

/* A piece of a stored slab: its extent in the store, and the checksum of the bytes there. */
struct reel_piece {
	struct reel_extent extent;
	uint64_t checksum;
};

/* The state of a sealed slab's transfers and copy, beside its descriptor. */
struct reel_slab_io {
	/* Written by the owner before it seals. Atomic, since estimates read them at any time. */
	_Atomic(struct reel_demand *) demand;
	_Atomic uint32_t slab_index;
	size_t filled; /* owner: number of bytes to store; `layout` describes them */
	struct reel_layout layout;
	/* Written by the offload thread; the owner reads `error` of a slab that is LOST. */
	int error;
	struct reel_label label; /* of the last put of this slab */
	bool stored;             /* the store holds a copy, of present or of former values */
	bool is_hurried;         /* a thread that does not wait has asked for the read under way */
	/* Its owner has used it since it came to memory. Relaxed: the state orders it. */
	_Atomic bool was_used;
	size_t stored_bytes;
	struct reel_piece piece;   /* of a copy in one piece */
	struct reel_piece *pieces; /* of a copy in several pieces, one for each; or NULL */
	/* Bytes of the copy's first and last piece, if it lay in lent memory (transfer.c); or 0. */
	size_t head, tail;
	char *staged; /* while they travel: the memory of the head and the tail; or NULL */
	/* While a transfer is under way: pieces started, pieces on their way, the last error. */
	uint32_t started;
	uint32_t moving;
	int failure;
};

/*
 * reel_ticket_enter() changes the state of a ticket:
 *
 *	from       to         by
 *	FREE       STARTED    offload thread, which then starts the transfer
 *	STARTED    FINISHED   the thread of the store that completes the transfer
 *	FINISHED   FREE       offload thread, which then moves the slab
 *	STARTED    FREE       offload thread, if it starts no transfer
 */
enum reel_ticket_state { REEL_TICKET_FREE, REEL_TICKET_STARTED, REEL_TICKET_FINISHED };

/* The transfer of one piece. Only the offload thread uses the members, except `state`. */
struct reel_ticket {
	reel_transfer transfer;
	struct reel_offload *offload;
	struct reel_slab *slab;
	uint32_t piece;
	unsigned attempts; /* number of times that the piece was sent */
	uint64_t since;    /* in a trace: when it was sent last */
	bool get;
	_Atomic(enum reel_ticket_state) state;
};

/* Slabs in one state, in descending order of reuse distance. */
struct reel_victims {
	unsigned count;
	unsigned next;
	struct {
		struct reel_slab *slab;
		double reuse_distance;
	} of[REEL_MAX_VICTIMS];
};

/* Offload thread only. */
struct reel_pressure {
	struct reel_memory_pressure trigger;
	size_t opened;      /* the soft budget that the pool was opened with */
	size_t soft_budget; /* without pressure: the same, or less of a budget that is shared */
	uint64_t looked_at;
	uint64_t raised_at;
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
	bool checks;    /* `store` is a checksum on the store that the pool was opened with */
	bool registers; /* frames are registered with the store before their first transfer */
	unsigned put_depth;
	pthread_t thread;
	struct reel_wakeup work;
	_Atomic int command;
	pthread_mutex_t commanding; /* held by the thread whose command is not obeyed yet */
	sem_t obeyed;
	sem_t resumed;
	/* In the child of a fork there is no offload thread, and the parent has the store. */
	bool orphaned;

	_Atomic(struct reel_demand *) demands;
	_Atomic uint64_t last_tape_id;
	_Atomic unsigned demands_in_use;
	/*
	 * Bytes of the DIRTY slabs and of those that are being put, and number of the CLEAN slabs.
	 */
	_Atomic size_t dirty_bytes;
	_Atomic size_t writing_bytes;
	_Atomic size_t clean;
	/* Error of the last put, or 0. Relaxed: it guards no data. */
	_Atomic int failure;
	/* Number of freed or reopened slabs of which the store has a copy. */
	_Atomic size_t stale;
	/* Set when a slab is sealed: the tape will need frames. */
	_Atomic bool growth_hint;
	/*
	 * In the last round no thread waited, and a slab that was requested in advance found no
	 * frame. Relaxed: a thread that misses it wakes nobody, which costs time only.
	 */
	_Atomic bool wants_frame;

	/* Threads that wait for a frame. Requires `lock`. */
	pthread_mutex_t lock;
	pthread_cond_t answered;
	unsigned waiting;
	size_t least_room;         /* bytes in the budget that help one of these, or SIZE_MAX */
	unsigned waiting_for_puts; /* number of threads in reel_offload_await_puts() */
	uint64_t asked;
	uint64_t freed;
	uint64_t refused;
	int refusal;

	/* Offload thread only. */
	struct reel_ticket ticket[REEL_TICKETS];
	char *stages; /* one for each ticket (transfer.c); NULL: none was needed yet */
	uint64_t last_put; /* serial number of the last put */
	unsigned puts;     /* number of pieces that are put now, and got */
	unsigned gets;
	struct reel_victims dirty_victims;
	struct reel_victims clean_victims;
	bool has_waiters;      /* a thread waits for a frame or a slab, or `is_hurried` */
	bool is_hurried;       /* no thread waits, but one has asked for a slab */
	bool frames_needed;    /* a push waits, or a slab was sealed since the last round */
	bool lacks_frame;      /* there is no frame, and only a transfer can free one */
	bool made_room;        /* a large slab was evicted since the last answer */
	bool lacks_room;       /* an owner waits for a large slab, for which there is no room */
	uint64_t asked_before; /* `asked` at the beginning of the round */
	/* Number of failed puts while a thread waits, since the last successful put. */
	unsigned failed_puts_in_row;
	uint64_t ranked_at;
	uint64_t ranking_ns; /* duration of the last ranking */
	struct reel_pressure pressure;

	/* Statistics. Relaxed: they guard no other data. */
#define REEL_COUNTER(type, name, text) _Atomic type name;
	REEL_POOL_STORE_FIGURES(REEL_COUNTER)
#undef REEL_COUNTER
};

/* NULL: the pool has no store. */
static inline struct reel_offload *reel_offload_of(const struct reel_pool *pool)
{
	return pool->reclaimer;
}

/* Returns true if the slab may go to the store. First slabs stay in memory. */
static inline bool reel_slab_spills(const struct reel_pool *pool, const struct reel_slab *slab)
{
	return reel_offload_of(pool) && slab->kind >= REEL_SLAB_WHOLE;
}

/* Number of descriptors in use. Relaxed: a slab that is new is in no state that matters here. */
static inline size_t reel_slab_count(const struct reel_offload *offload)
{
	return atomic_load_explicit(&offload->pool->table_used, memory_order_relaxed);
}

static inline struct reel_slab_io *reel_slab_io_of(const struct reel_offload *offload,
						       const struct reel_slab *slab)
{
	REEL_ASSERT(slab >= offload->pool->table &&
		    slab < offload->pool->table + reel_slab_count(offload));
	return &offload->slab_io[slab - offload->pool->table];
}

/*
 * An estimate, unless the state of the slab lets this thread use the slab. Acquire: pairs with the
 * releases in reel_slab_seal() (slab-owner.c) and describe() (order.c). Makes a new demand visible.
 */
static inline struct reel_demand *reel_demand_of(const struct reel_offload *offload,
						 const struct reel_slab *slab)
{
	return atomic_load_explicit(&reel_slab_io_of(offload, slab)->demand,
				    memory_order_acquire);
}

/* Returns true if the offload thread calls. */
static inline bool reel_offload_is_this_thread(const struct reel_offload *offload)
{
	return pthread_equal(offload->thread, pthread_self());
}

/* The error of the last put, or 0. */
static inline int reel_offload_failure(const struct reel_offload *offload)
{
	return atomic_load_explicit(&offload->failure, memory_order_relaxed);
}

static inline bool reel_slab_is_away(enum reel_slab_state state)
{
	return state == REEL_SLAB_EVICTING || state == REEL_SLAB_STORED ||
	       state == REEL_SLAB_READ_QUEUED || state == REEL_SLAB_READING;
}

/* Returns true if a slab in this state relies on its copy in the store. */
static inline bool reel_slab_needs_copy(enum reel_slab_state state)
{
	return state == REEL_SLAB_CLEAN || state == REEL_SLAB_PINNED || reel_slab_is_away(state);
}

/* Milliseconds on the clock, for slabs that are demanded by age. They wrap after 49 days. */
static inline uint32_t reel_now_ms(void)
{
	return (uint32_t)(reel_clock_ns() / 1000000);
}

/* slab-owner.c: counts a wait of this kind that began at `since`. Any thread. */
void reel_offload_note_stall(struct reel_offload *offload, enum reel_trace_kind kind,
			     uint64_t since);
/* Returns the time that the calling thread has waited for the stores of all pools so far. */
uint64_t reel_offload_waited_ns(void);

#endif
