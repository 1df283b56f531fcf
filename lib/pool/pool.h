/* SPDX-License-Identifier: MIT */
/*
 * The pool's parts, from the tape's side down:
 *
 *	magazine.c  take and give a slab: this thread's magazines
 *	supply.c    what fills and empties magazines: shared lists, fresh frames
 *	trim.c      idle memory given back to the system
 *	budget.c    what may be resident
 *	mapping.c     address space that frames are carved from
 *	reclaim.h   memory that a store takes from tapes
 */
#ifndef REEL_LIB_POOL_H
#define REEL_LIB_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include <reel/pool.h>

#include "freelist.h"
#include "reclaim.h"

#define REEL_MAGAZINE_SLABS 16

/* A flag of the default pool, which lives as long as the process. */
#define REEL_POOL_PERMANENT 0x80000000u

/* Empty slabs in one thread's hands. Owner only. */
struct reel_magazine {
	unsigned count;
	struct reel_slab *slab[REEL_MAGAZINE_SLABS];
};

/*
 * What a thread keeps of a pool. Lives as long as the pool; when its thread
 * ends, the next new thread registers it. A thread may end while the pool is
 * closed: see reel_cache_retire().
 */
struct reel_cache {
	struct reel_pool *pool;
	struct reel_cache *next;
	/* The thread that has it, see thread_name() of magazine.c; NULL: it is free. */
	_Atomic(const void *) owner;
	/* For REEL_SLAB_FIRST and REEL_SLAB_WHOLE; large slabs go straight to their list. */
	struct reel_magazine loaded[REEL_SLAB_LARGE];
	struct reel_magazine previous[REEL_SLAB_LARGE];
	/* Written by the owner only, read by reel_pool_get_stats(). */
	_Atomic uint64_t takes;
	_Atomic uint64_t gives;
	_Atomic uint64_t shared_takes;
};

struct reel_mapping;

struct reel_pool {
	/* Chains of empty slabs whose frames are resident, by kind. */
	struct freelist warm[REEL_SLAB_KINDS];
	/* Whole slabs whose frames were given back to the system. */
	struct freelist cold;
	/* Descriptors without a frame, left over from large slabs. */
	struct freelist frameless;

	struct reel_slab *table;
	_Atomic size_t table_used;

	_Atomic(struct reel_mapping *) mapping;
	_Atomic(struct reel_cache *) caches;
	pthread_key_t cache_key;

	size_t hard_budget;
	size_t soft_budget;
	size_t slab_bytes;
	size_t first_slab_bytes;
	/* Arrays that lie higher than this on a tape are written past the cache. */
	size_t stream_above;
	unsigned magazine_slabs; /* 0: the pool has no magazines */
	unsigned flags;

	_Atomic size_t resident;
	_Atomic uint64_t peak_resident;
	/* Of that, first slabs and large slabs, which no store takes. */
	_Atomic size_t unspillable;
	/* Maximum number of holds that were open on one tape so far. */
	_Atomic uint64_t max_holds;
	/* Threads that are about to give frames back to the system. */
	_Atomic unsigned trimming;
	/* The system did not take a frame back: it is locked in memory, or not whole pages. */
	_Atomic bool frames_are_locked;
	/* Chains on warm[REEL_SLAB_WHOLE]; an estimate while threads push and pop. */
	_Atomic size_t warm_chains;
	/* How memory comes back from tapes. */
	const struct reel_reclaim *reclaim;
	/* Belongs to the functions of `reclaim`; the pool does not use it. NULL: no store. */
	void *reclaimer;
	/* Counters: relaxed, they order nothing. */
	_Atomic uint64_t fresh_slabs;
	_Atomic uint64_t refused;
	_Atomic uint64_t trimmed_bytes;
	_Atomic uint64_t lost_slabs;
	/* Takes and gives by threads that could get no cache. */
	_Atomic uint64_t uncached_takes;
	_Atomic uint64_t uncached_gives;

	/* All pools of the process; see fork.c. */
	struct reel_pool *next_pool;
};

/* pool.c: what is wrong with the options, and what to do; NULL if nothing is. */
const char *reel_pool_problem(const struct reel_pool_options *options);
/*
 * pool.c: a pool as its options say, but without their store and not in the list of pools yet.
 * Returns 0 or -ENOMEM. One thread.
 */
int reel_pool_create(struct reel_pool **pool, const struct reel_pool_options *options);
/* Free a pool that no thread uses, that has no slab in use, and whose store is closed. */
void reel_pool_destroy(struct reel_pool *pool);

/* magazine.c: any thread; wait-free while this thread's magazines serve, else lock-free. */

/*
 * Take an empty slab of this kind (a large slab: of at least `bytes`). Returns 0,
 * -EDQUOT at the hard budget, or -ENOMEM.
 */
int reel_pool_take(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
		   struct reel_slab **taken);
void reel_pool_give(struct reel_pool *pool, struct reel_slab *slab);
/* The same for a slab that has no frame. */
void reel_pool_give_frameless(struct reel_pool *pool, struct reel_slab *slab);
/* Count the giving of a slab that somebody else will give. */
void reel_pool_count_give(struct reel_pool *pool);
/* Send this thread's magazines to the shared lists. */
void reel_pool_flush(struct reel_pool *pool);
/* The destructor of cache_key. Locks the list of pools; `cache` may be gone with its pool. */
void reel_cache_retire(void *cache);
void reel_cache_forget_others(struct reel_pool *pool);

/* supply.c: any thread, lock-free but for system calls. */

/*
 * A chain of 1 to magazine_slabs empty slabs. Errors as reel_pool_take(), whatever
 * a store could do about them.
 */
int reel_supply_take(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab **chain);
void reel_supply_give(struct reel_pool *pool, enum reel_slab_kind kind, struct reel_slab *chain);
/* What a large slab of so many bytes takes. */
size_t reel_supply_large_bytes(size_t bytes);
int reel_supply_take_large(struct reel_pool *pool, size_t bytes, struct reel_slab **taken);
/* A descriptor without a frame; NULL: the pool has as many slabs as it can have. */
struct reel_slab *reel_supply_take_frameless(struct reel_pool *pool);
/* A chain of whole slabs, from the warm list and back to it. NULL: it is empty. */
struct reel_slab *reel_supply_pop_warm(struct reel_pool *pool);
void reel_supply_push_warm(struct reel_pool *pool, struct reel_slab *chain);
/* One of them; and one whole slab from wherever reel_supply_take() finds it. */
struct reel_slab *reel_supply_take_warm(struct reel_pool *pool);
struct reel_slab *reel_supply_take_one(struct reel_pool *pool);
/* The size of the pool's table of descriptors. */
size_t reel_supply_table_bytes(void);

/*
 * trim.c: any thread, lock-free but for system calls. Both return the bytes that
 * were given back. Of a chain, those slabs are on the warm list again whose
 * frames cannot be given back, or need not, since at most `keep` bytes are resident.
 */
size_t reel_trim_chain(struct reel_pool *pool, struct reel_slab *chain, size_t keep);
size_t reel_trim_large(struct reel_pool *pool, struct reel_slab *slab);

/* budget.c: any thread, lock-free. */

/* Count bytes as resident. Returns 0, or -EDQUOT and counts nothing. */
int reel_budget_charge(struct reel_pool *pool, size_t bytes);
/* Whether one more slab may be resident: an estimate while others charge and refund. */
static inline bool reel_budget_has_room(struct reel_pool *pool)
{
	return atomic_load_explicit(&pool->resident, memory_order_relaxed) + pool->slab_bytes <=
	       pool->hard_budget;
}

/* Count them beyond the hard budget, where a pop needs it. */
void reel_budget_overdraw(struct reel_pool *pool, size_t bytes);
void reel_budget_refund(struct reel_pool *pool, size_t bytes);
/* What was charged last has become memory. */
void reel_budget_note_peak(struct reel_pool *pool);

/* mapping.c: any thread, lock-free but for system calls. NULL: no memory. */
char *reel_mapping_carve(struct reel_pool *pool, size_t bytes);
void reel_mapping_unmap_all(struct reel_pool *pool);

/* fork.c: the handlers, which are installed once; 0 or -ENOMEM. */
int reel_fork_prepare(void);
/* Enter and leave the list of pools, which forks and the ends of threads look through. */
void reel_fork_watch(struct reel_pool *pool);
void reel_fork_unwatch(struct reel_pool *pool);
/* Lock the list and return its first pool: none is closed until the list is unlocked. */
struct reel_pool *reel_fork_lock_pools(void);
void reel_fork_unlock_pools(void);

#endif
