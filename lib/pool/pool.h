/* SPDX-License-Identifier: MIT */
/*
 * The parts of the pool, from the tape's side down:
 *
 *	magazine.c  takes and gives slabs, with the magazines of this thread
 *	memory.c    finds memory when the budget refuses a slab
 *	supply.c    fills and empties magazines, from shared lists and with fresh frames
 *	trim.c      gives idle memory back to the system
 *	budget.c    counts resident bytes
 *	share.h     counts them for all processes that share a budget
 *	mapping.c   carves frames from address space
 *	page-kind.c chooses huge or small pages by their costs
 *	reclaim.h   gets frames back from tapes, if there is a store
 */
#ifndef REEL_LIB_POOL_H
#define REEL_LIB_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include <reel/pool.h>

#include "freelist.h"
#include "reclaim.h"
#include "share.h"
#include "trace/live.h"

#define REEL_MAGAZINE_SLABS 16

/*
 * Programs have large slabs of a few sizes, in any order. With a list for each quarter of a power
 * of two, and the same list again for sizes sixteen times as large, most find one of their size.
 */
#define REEL_LARGE_LISTS 16

/* Flag of the default pool, which stays open until the process ends. */
#define REEL_POOL_PERMANENT 0x80000000u
/*
 * Flag, in the child of a fork, of its parent's default pool, if that has a store. Tapes without
 * slabs leave this pool for the child's own default pool.
 */
#define REEL_POOL_LEFT_BEHIND 0x40000000u

/* Empty slabs that one thread keeps. */
struct reel_magazine {
	unsigned count;
	struct reel_slab *slab[REEL_MAGAZINE_SLABS];
};

/*
 * The magazines and counters of one thread in one pool. A cache lives as long as the pool: a new
 * thread adopts the cache of a thread that has ended. See reel_cache_retire().
 */
struct reel_cache {
	struct reel_pool *pool;
	struct reel_cache *next;
	/* The owner, named by thread_name() (magazine.c). NULL: the cache is free. */
	_Atomic(const void *) owner;
	/* For all kinds but one. Large slabs have no magazines. */
	struct reel_magazine loaded[REEL_SLAB_LARGE];
	struct reel_magazine previous[REEL_SLAB_LARGE];
	/* Only the owner writes these; reel_pool_get_stats() reads them. */
	_Atomic uint64_t takes;
	_Atomic uint64_t gives;
	_Atomic uint64_t shared_takes;
};

struct reel_mapping;
struct reel_pool_client;

/* Functions of a client: a part of the library above the pool. The pool knows no more of it. */
struct reel_pool_client_verbs {
	/* Around a fork, so that the child finds the client's lock unlocked. */
	void (*lock)(struct reel_pool_client *client);
	void (*unlock)(struct reel_pool_client *client);
	/* In the child, instead of unlock(): its other threads do not exist. */
	void (*orphan)(struct reel_pool_client *client);
	/*
	 * Any thread, when the store frees no frame: give up memory that is kept for later. True:
	 * there was some, and the store may free a frame.
	 */
	bool (*retire_idle)(struct reel_pool_client *client);
	/* When the pool is destroyed. */
	void (*close)(struct reel_pool_client *client);
};

struct reel_pool_client {
	const struct reel_pool_client_verbs *verbs;
};

/*
 * A listener is told of each frame that a pool takes from the system or from its parent, before its
 * first use, and of each that goes back, after its last: the driver of a device keeps these frames
 * in place. A frame that goes back may be one of which the listener was not told. Any thread calls
 * these two functions. Memory that a program lends is no frame of the pool, and no listener hears
 * of it.
 */
struct reel_frame_listener {
	void (*taken)(struct reel_frame_listener *listener, void *frame, size_t bytes);
	void (*returned)(struct reel_frame_listener *listener, void *frame);
	/* When the pool is destroyed: before the frames that it still has are unmapped. */
	void (*closed)(struct reel_frame_listener *listener);
};

struct reel_pool {
	/* Chains of empty slabs whose frames are resident, by kind. */
	struct freelist warm[REEL_SLAB_LARGE];
	/* Empty large slabs, by size: large_list() (supply.c). */
	struct freelist large[REEL_LARGE_LISTS];
	/* Whole slabs that keep their addresses, but whose memory went back to the system. */
	struct freelist cold;
	/* Descriptors without a frame, left over from large slabs. */
	struct freelist frameless;
	/* Slabs whose frames are memory that the program has lent and can take back. */
	struct freelist lent_back;

	struct reel_slab *table;
	_Atomic size_t table_used;

	_Atomic(struct reel_mapping *) mapping;
	_Atomic(struct reel_cache *) caches;
	pthread_key_t cache_key;

	/*
	 * Where the frames of this pool come from, each of which is a large slab there; NULL: from
	 * the system. Such a pool has large slabs only, and no limit but its parent's budget.
	 */
	struct reel_pool *parent;
	/* In a pool with a parent: the size of each frame. */
	size_t frame_bytes;
	/*
	 * In a pool with a parent: the resident bytes up to which idle frames stay for the next
	 * slab.
	 */
	size_t idle_bytes;
	/* In a pool with a parent: sealed parcels stay until the parent's budget is short. */
	bool frames_stay;
	struct reel_pool *next_sibling; /* in a pool with a parent */
	/* In a pool with a parent: number of threads that trim it, or wait for its store. */
	unsigned visitors;
	_Atomic(struct reel_pool *) children;
	/* NULL: none. It is set once. */
	_Atomic(struct reel_frame_listener *) listener;

	unsigned number; /* in traces; no two pools of a process have the same */
	/*
	 * The pool counts `in_use`: when it was opened, there was a trace, a tracer, or
	 * REEL_STATS=live. Counting that began later would miss slabs that are given back.
	 */
	bool counts_use;
	_Atomic size_t in_use; /* bytes of the slabs in use, in memory or not */
	struct reel_live_object live;

	size_t hard_budget;
	/* The share of a budget of several processes. NULL: the pool has a budget of its own. */
	struct reel_share *share;
	/*
	 * Relaxed: the number says how much to write and to keep, and guards no data. Only the
	 * offload thread changes it, while memory is short (pressure.c).
	 */
	_Atomic size_t soft_budget;
	size_t slab_bytes;
	size_t first_slab_bytes;
	size_t small_slab_bytes; /* 0: no slab of the pool is small */
	/* Spans that lie higher than this on a tape are written past the cache. */
	size_t stream_above;
	unsigned magazine_slabs; /* 0: the pool has no magazines */
	unsigned flags;
	/*
	 * Fresh frames get the pages that cost less (page-kind.h). With a store frames go from slab
	 * to slab, so the costs of their first use weigh little: they are huge.
	 */
	bool chooses_pages;

	/*
	 * Number of runs, child pools and bins of parcels, which refer to the pool also while they
	 * have no slab.
	 */
	_Atomic unsigned users;
	_Atomic size_t resident;
	_Atomic uint64_t peak_resident;
	/*
	 * Resident bytes that the offload thread cannot evict: first slabs, and large slabs while
	 * their owners use them. Whole slabs in use are not counted, since a tape has few.
	 */
	_Atomic size_t unspillable;
	/* Number of frames of large slabs, each a mapping of its own. */
	_Atomic size_t large_frames;
	/* Maximum number of holds that were open on one tape at a time. */
	_Atomic uint64_t max_holds;
	/* Number of threads that trim (trim.c). */
	_Atomic unsigned trimming;
	/* The system has refused to take a frame back: memory is locked, or not whole pages. */
	_Atomic bool frames_are_locked;
	/* Number of chains on warm[REEL_SLAB_WHOLE]; an estimate while threads push and pop. */
	_Atomic size_t warm_chains;
	/* How memory comes back from tapes. NULL: the pool has no store. */
	const struct reel_reclaim *reclaim;
	/* The argument of the functions of `reclaim`. NULL: no store. */
	struct reel_offload *reclaimer;
	/* The parcels of the pool, from the first one on, or NULL. */
	_Atomic(struct reel_pool_client *) parcels;
	/* Statistics. Relaxed: they guard no other data. */
	_Atomic uint64_t fresh_slabs;
	_Atomic uint64_t refused;
	_Atomic uint64_t trimmed_bytes;
	_Atomic uint64_t lost_slabs;
	/* Takes and gives by threads that have no cache, for want of memory. */
	_Atomic uint64_t uncached_takes;
	_Atomic uint64_t uncached_gives;

	/* All pools of the process; see fork.c. */
	struct reel_pool *next_pool;
};

/*
 * With a store, a frame may move from a tape's slab to another slab. The pool then keeps whole
 * slabs in its shared list, where waiting threads find them, and not in the magazines of threads.
 */
static inline bool reel_pool_has_store(const struct reel_pool *pool)
{
	return pool->reclaim != NULL;
}

/* pool.c: the size of a slab under these options. */
size_t reel_pool_slab_bytes(const struct reel_pool_options *options);
/* pool.c: the fault of the options, and its remedy, or NULL. */
const char *reel_pool_problem(const struct reel_pool_options *options);
/*
 * pool.c: create a pool with these options, without their store and not yet in the list of pools.
 * Returns 0 or -ENOMEM. One thread.
 */
int reel_pool_create(struct reel_pool **pool, const struct reel_pool_options *options);
/* Free a pool that no thread uses, that has no slab in use, and whose store is closed. */
void reel_pool_destroy(struct reel_pool *pool);

/*
 * Any thread: a run, a child pool or a bin begins and ends to refer to the pool, which is not
 * closed meanwhile. Relaxed, all: the program orders the close of a pool after all else.
 */
static inline void reel_pool_add_user(struct reel_pool *pool)
{
	atomic_fetch_add_explicit(&pool->users, 1, memory_order_relaxed);
}

static inline void reel_pool_remove_user(struct reel_pool *pool)
{
	unsigned before = atomic_fetch_sub_explicit(&pool->users, 1, memory_order_relaxed);

	REEL_ASSERT(before > 0);
	(void)before;
}

static inline bool reel_pool_has_users(const struct reel_pool *pool)
{
	return atomic_load_explicit(&pool->users, memory_order_relaxed) > 0;
}

/*
 * magazine.c: any thread; wait-free if a magazine of this thread serves, else lock-free. A thread
 * that would be refused finds memory first (memory.c), and may wait for a store.
 */

/*
 * Take an empty slab of this kind (a large slab: of at least `bytes`). Returns 0, -EDQUOT at the
 * hard budget, -ENOMEM, or the reason why the store frees no frame.
 */
int reel_pool_take(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
		   struct reel_slab **taken);
void reel_pool_give(struct reel_pool *pool, struct reel_slab *slab);
/* Give a slab that has no frame. */
void reel_pool_give_frameless(struct reel_pool *pool, struct reel_slab *slab);
/* Count the give of a slab of this kind and size that the offload thread will give later. */
void reel_pool_count_give(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes);
/* Send this thread's magazines to the shared lists. */
void reel_pool_flush(struct reel_pool *pool);
/* The destructor of cache_key. `cache` may be freed with its pool. Locks the list of pools. */
void reel_cache_retire(void *cache);
/* In the child of a fork: free the caches of the other threads. */
void reel_cache_forget_others(struct reel_pool *pool);

/* The stores that a thread may wait for while it looks for memory. */
enum reel_waits {
	REEL_WAITS_FOR_NONE,
	REEL_WAITS_FOR_CHILDREN, /* the stores of the child pools */
	REEL_WAITS_FOR_STORE,    /* these, and the store of the pool itself */
};

/* A slab or a pin that was refused. */
struct reel_shortage {
	int error; /* of the last attempt */
	enum reel_slab_kind kind;
	size_t bytes;
	enum reel_waits waits;
	/* Set by reel_pool_find_memory(): the reason why the store frees no frame, or `error`. */
	int refusal;
	bool asks_again; /* memory may have come since the first sources were asked */
	bool had_room;   /* an attempt was made with room in the budget */
	bool is_last;    /* no source has memory: the next attempt is the last one */
};

/*
 * memory.c: any thread. Finds memory for another attempt: the pool's own store frees a frame, or
 * memory is given up that bins or child pools keep for later, or the store of a child frees some;
 * and likewise from the parent. Returns whether the caller tries again, also for the last time.
 */
bool reel_pool_find_memory(struct reel_pool *pool, struct reel_shortage *shortage);
/*
 * An offload thread calls this once. From then on this thread waits neither for the stores of child
 * pools nor for other processes: memory may come from a transfer that this thread has to end, or
 * from a thread that waits for it.
 */
void reel_pool_forbid_waits(void);

/* supply.c: any thread, lock-free except for system calls. */

/*
 * Take a chain of 1 to magazine_slabs empty slabs. Returns 0, -EDQUOT or -ENOMEM, without waiting.
 */
int reel_supply_take(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab **chain);
void reel_supply_give(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab *chain);
/* The size of a large slab for `bytes`: whole pages. */
size_t reel_supply_large_bytes(size_t bytes);
/* Take a large slab of at least `bytes`; with a store, of exactly `bytes`, in whole pages. */
int reel_supply_take_large(struct reel_pool *pool, size_t bytes, struct reel_slab **taken);
/* Give a slab a fresh frame of slab->bytes beyond the budget. False: no memory. */
bool reel_supply_overdraw(struct reel_pool *pool, struct reel_slab *slab);
/* A frameless slab. NULL: the table of descriptors is full. */
struct reel_slab *reel_supply_take_frameless(struct reel_pool *pool);
/* A slab without a frame that is charged as one of kind LENT. Returns as reel_supply_take(). */
int reel_supply_take_lent(struct reel_pool *pool, size_t bytes, struct reel_slab **slab);
/*
 * Memory that the program has lent, and that it can use again. Giving it back fails with -ENOMEM if
 * the table of descriptors is full; taking it back returns NULL if there is none.
 */
int reel_supply_give_back(struct reel_pool *pool, void *lent);
void *reel_supply_take_back(struct reel_pool *pool);
/* Pop a chain of whole slabs from the warm list, and push it back. NULL: the list is empty. */
struct reel_slab *reel_supply_pop_warm(struct reel_pool *pool);
void reel_supply_push_warm(struct reel_pool *pool, struct reel_slab *chain);
/* Pop an empty large slab of any size. NULL: there is none. */
struct reel_slab *reel_supply_pop_large(struct reel_pool *pool);
/* A hint, as freelist_is_empty() is. */
bool reel_supply_has_large(const struct reel_pool *pool);
/* Take one slab as reel_supply_take() does; the rest of its chain stays on the warm list. */
int reel_supply_take_one(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab **slab);
/* The size of the pool's table of descriptors. */
size_t reel_supply_table_bytes(void);

/*
 * trim.c: any thread, lock-free except for system calls. Both return the number of bytes that went
 * back to the system. reel_trim_chain() stops at `keep` resident bytes, or if the system refuses a
 * frame, and puts the rest of the chain back on the warm list.
 */
size_t reel_trim_chain(struct reel_pool *pool, struct reel_slab *chain, size_t keep);
size_t reel_trim_large(struct reel_pool *pool, struct reel_slab *slab);
/* Unmap one idle large slab. False: there is none. */
bool reel_trim_idle_large(struct reel_pool *pool);
/* In the child of a fork, which has no other thread that trims. */
void reel_trim_orphan(struct reel_pool *pool);

/*
 * Returns true while a thread gives idle frames back to the system. The frames are on no list then,
 * but count as resident until they are gone, and the thread wakes the offload thread afterwards.
 * Acquire: pairs with the release in end_trim() (trim.c). Makes the frames visible.
 */
static inline bool reel_pool_is_being_trimmed(struct reel_pool *pool)
{
	return atomic_load_explicit(&pool->trimming, memory_order_acquire) > 0;
}

/* budget.c: any thread, lock-free. */

/* Count bytes as resident. Returns 0, or -EDQUOT and counts nothing. */
int reel_budget_charge(struct reel_pool *pool, size_t bytes);
/* Returns true if the budget has room for `bytes`, also if processes share it. */
static inline bool reel_budget_has(struct reel_pool *pool, size_t bytes)
{
	return atomic_load_explicit(&pool->resident, memory_order_relaxed) + bytes <=
		       pool->hard_budget &&
	       (!pool->share || reel_share_has_room(pool->share, bytes));
}

/*
 * Returns true if the budget has room for one more slab, or an idle large slab can make room for
 * it. The answer is an estimate, since other threads charge and refund meanwhile.
 */
static inline bool reel_budget_has_room(struct reel_pool *pool)
{
	return reel_budget_has(pool, pool->slab_bytes) || reel_supply_has_large(pool);
}

/* Bytes that the pool can have now: the hard budget, less the shares of other processes. */
static inline size_t reel_budget_bound(const struct reel_pool *pool)
{
	return pool->share ? reel_share_bound(pool->share) : pool->hard_budget;
}

static inline size_t reel_soft_budget(const struct reel_pool *pool)
{
	return atomic_load_explicit(&pool->soft_budget, memory_order_relaxed);
}

/* Count bytes as resident also beyond the hard budget, since a pop is never refused. */
void reel_budget_overdraw(struct reel_pool *pool, size_t bytes);
void reel_budget_refund(struct reel_pool *pool, size_t bytes);
/* Count a large slab as unspillable while its owner uses it, and no longer. */
void reel_budget_count_use(struct reel_pool *pool, const struct reel_slab *slab);
void reel_budget_end_use(struct reel_pool *pool, const struct reel_slab *slab);
/* Note the peak of the resident bytes, after the charged bytes have become memory. */
void reel_budget_note_peak(struct reel_pool *pool);

/*
 * Any thread: tells the listener of a frame that the pool has taken, and of one that goes back.
 * Acquire, both: pairs with the release in reel_pool_listen() (pool.c). Makes the listener visible.
 */
static inline void reel_pool_tell_taken(struct reel_pool *pool, void *frame, size_t bytes)
{
	struct reel_frame_listener *listener =
		atomic_load_explicit(&pool->listener, memory_order_acquire);

	if (listener)
		listener->taken(listener, frame, bytes);
}

static inline void reel_pool_tell_returned(struct reel_pool *pool, void *frame)
{
	struct reel_frame_listener *listener =
		atomic_load_explicit(&pool->listener, memory_order_acquire);

	if (listener)
		listener->returned(listener, frame);
}

/* mapping.c: any thread, lock-free except for system calls. NULL: no memory. */
char *reel_mapping_carve(struct reel_pool *pool, size_t bytes);
/* A mapping for a large slab alone, aligned to huge pages if it is as large as one. */
char *reel_mapping_of_large(struct reel_pool *pool, size_t bytes, bool is_aligned);
void reel_mapping_unmap_all(struct reel_pool *pool);

/*
 * Returns the client that has the pool's parcels, or NULL. Acquire: pairs with the release in
 * reel_parcels_of() (parcels.c). Makes the client visible.
 */
static inline struct reel_pool_client *reel_pool_parcels(struct reel_pool *pool)
{
	return atomic_load_explicit(&pool->parcels, memory_order_acquire);
}

/* fork.c: install the handlers of fork(), once. Returns 0 or -ENOMEM. */
int reel_fork_prepare(void);
/* Add a pool to the list of pools, and remove it. Forks and ending threads walk the list. */
void reel_fork_watch(struct reel_pool *pool);
void reel_fork_unwatch(struct reel_pool *pool);
/* Lock the list and return its first pool. No pool is closed until the list is unlocked. */
struct reel_pool *reel_fork_lock_pools(void);
void reel_fork_unlock_pools(void);

/* children.c: add a pool to the children of its parent, and remove it when no thread visits it. */
void reel_children_add(struct reel_pool *child);
void reel_children_remove(struct reel_pool *child);
/*
 * Any thread: takes the idle frames of a pool's children back. Returns whether there were any.
 * Waits for a fork of another thread, and for no store.
 */
bool reel_children_trim(struct reel_pool *parent);
/*
 * Any thread: waits until the store of a child frees a frame, which the child may keep as an idle
 * one, or until the parent's budget has `room` bytes. False: no child has anything to give. A
 * thread that is refused after that tries once more, since other threads may have given back enough
 * during the wait.
 */
bool reel_children_await_frame(struct reel_pool *parent, size_t room);
/* For the handlers of fork(): last before it, first after it, and for each pool in the child. */
void reel_children_lock_for_fork(void);
void reel_children_unlock_after_fork(void);
void reel_children_orphan(struct reel_pool *pool);

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/*
 * pool.c: any thread, also while others use the pool. Gives the pool this listener, which then
 * belongs to the pool, unless it has one. Returns the listener of the pool; with NULL, that is all
 * it does. The listener does not know the frames that the pool has by then.
 */
struct reel_frame_listener *reel_pool_listen(struct reel_pool *pool,
					     struct reel_frame_listener *listener);

#endif
