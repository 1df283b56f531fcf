/* SPDX-License-Identifier: MIT */
/*
 * Shared by several tests of the pool. A test includes <config.h> first.
 *
 * Values are functions of (seed, position), so that a pop is checked without a
 * second tape. Pools are small: their slabs are a page, and four first slabs
 * fill one.
 */
#ifndef POOL_SUPPORT_H
#define POOL_SUPPORT_H

#include <pthread.h>

#include "spill/thread/copy.h"
#include "spill/thread/thread.h"
#include "spill/thread/transfer.h"
#include "spill/thread/victim.h"
#include "os/os.h"
#include "pool/pool.h"
#include "support.h"

#define FIRST_SLABS 4

static inline size_t small_slab(void)
{
	return reel_os_page_bytes();
}

static inline struct reel_pool_options small_options(void)
{
	return (struct reel_pool_options){
		.slab_bytes = small_slab(),
		.first_slab_bytes = small_slab() / FIRST_SLABS,
		.magazine_slabs = 2,
	};
}

static inline struct reel_pool_stats stats_of(reel_pool *pool)
{
	struct reel_pool_stats stats;

	reel_pool_get_stats(pool, &stats);
	return stats;
}

/* Never all ones, which a pop gives that mirrors a refused push. */
static inline uint64_t value_at(uint64_t seed, uint64_t position)
{
	return scramble(seed << 40 ^ position) >> 1;
}

/* Push the values of positions first to first + n. */
static inline void push_values(reel_tape *tape, uint64_t seed, uint64_t first, uint64_t n)
{
	for (uint64_t i = first; i < first + n; i++)
		reel_push(tape, value_at(seed, i));
}

/* Pop them again. Returns whether all were as pushed. */
static inline bool pop_values(reel_tape *tape, uint64_t seed, uint64_t first, uint64_t n)
{
	bool as_pushed = true;

	for (uint64_t i = first + n; i-- > first;)
		as_pushed &= reel_pop(tape, uint64_t) == value_at(seed, i);
	return as_pushed;
}

/* Number of values on a tape that has this number of slabs of its pool's full size. */
static inline uint64_t values_in(const reel_pool *pool, uint64_t whole_slabs)
{
	return (REEL_INLINE_BYTES + FIRST_SLABS * pool->first_slab_bytes +
		whole_slabs * pool->slab_bytes) / sizeof(uint64_t);
}

/* Run body(0) to body(n - 1), passed as pointers to their numbers, in n threads at once. */
static inline void run_threads(unsigned n, void *(*body)(void *))
{
	pthread_t thread[64];
	unsigned number[64];

	for (unsigned i = 0; i < n; i++) {
		number[i] = i;
		if (pthread_create(&thread[i], NULL, body, &number[i]))
			abort();
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

static inline void run_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument))
		abort();
	pthread_join(thread, NULL);
}

/* Of all threads that ever used the pool, or of those that do now. */
static inline unsigned count_caches(struct reel_pool *pool, bool in_use)
{
	unsigned n = 0;

	for (struct reel_cache *cache = pool->caches; cache; cache = cache->next)
		n += !in_use || cache->owner;
	return n;
}

/* Bytes that the process has mapped. */
static inline size_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (!file || fscanf(file, "%zu", &pages) != 1)
		abort();
	fclose(file);
	return pages * reel_os_page_bytes();
}

/* The contents of a list, which stay as they are. */
struct idle {
	uint64_t chains;
	uint64_t slabs;
	uint64_t bytes;
};

/* In place of a kind: slabs of any, of which none has a frame. */
#define NO_FRAME REEL_SLAB_KINDS

static inline bool is_idle(const struct reel_slab *slab, enum reel_slab_kind kind)
{
	return slab->state == REEL_SLAB_EMPTY &&
	       (kind == NO_FRAME ? !slab->frame : slab->frame && slab->kind == kind);
}

/* Only slabs of this kind count. */
static inline struct idle count_idle(struct reel_pool *pool, struct freelist *list,
				     enum reel_slab_kind kind, bool chained)
{
	struct reel_slab **chain = calloc((size_t)stats_of(pool).slabs + 1, sizeof *chain);
	struct idle idle = {0};

	while ((chain[idle.chains] = freelist_pop(list))) {
		struct reel_slab *slab = chain[idle.chains++];

		for (; slab; slab = chained ? slab->below : NULL) {
			if (!is_idle(slab, kind))
				continue;
			idle.slabs++;
			idle.bytes += slab->bytes;
		}
	}
	for (uint64_t i = idle.chains; i-- > 0;)
		freelist_push(list, chain[i]);
	free(chain);
	return idle;
}

/* For a frame. */
static inline bool somebody_waits(struct reel_offload *offload)
{
	bool waiting;

	pthread_mutex_lock(&offload->lock);
	waiting = offload->waiting > 0;
	pthread_mutex_unlock(&offload->lock);
	return waiting;
}

/* Whether nothing is left of tapes that have gone to the store: no count, no ticket, no copy. */
static inline bool offload_is_at_rest(struct reel_offload *offload)
{
	struct reel_store_capacity capacity = {0};
	unsigned busy = 0;

	reel_offload_settle(offload);
	for (size_t i = 0; i < REEL_TICKETS; i++)
		busy += offload->ticket[i].state != REEL_TICKET_FREE;
	reel_store_get_capacity(offload->store, &capacity);
	return !busy && !offload->puts && !offload->gets && !offload->waiting &&
	       !offload->dirty_bytes && !offload->clean && !offload->stale &&
	       !offload->demands_in_use && !capacity.used_bytes;
}

/*
 * Returns true if each slab is in exactly one list, and the slabs have the bytes that are charged.
 * The pool has no tapes, and no other living thread has used it.
 */
static inline bool pool_is_whole(struct reel_pool *pool)
{
	struct reel_pool_stats stats;
	uint64_t slabs = 0, bytes = 0, unspillable = 0;
	/*
	 * First: slabs that were left while they were written are on no list until that has ended.
	 */
	bool at_rest = !reel_offload_of(pool) || offload_is_at_rest(reel_offload_of(pool));

	/* Above the soft budget, frames that come back are given to the system. */
	reel_pool_flush(pool);
	stats = stats_of(pool);
	for (enum reel_slab_kind kind = 0; kind < REEL_SLAB_LARGE; kind++) {
		struct idle idle = count_idle(pool, &pool->warm[kind], kind, true);

		slabs += idle.slabs;
		bytes += idle.bytes;
		unspillable += kind < REEL_SLAB_WHOLE ? idle.bytes : 0;
	}
	for (unsigned n = 0; n < REEL_LARGE_LISTS; n++) {
		struct idle idle = count_idle(pool, &pool->large[n], REEL_SLAB_LARGE, false);

		slabs += idle.slabs;
		bytes += idle.bytes;
	}
	slabs += count_idle(pool, &pool->cold, REEL_SLAB_WHOLE, false).slabs;
	slabs += count_idle(pool, &pool->frameless, NO_FRAME, false).slabs;
	return stats.slabs_in_use == 0 && slabs == stats.slabs && bytes == stats.resident_bytes &&
	       unspillable == pool->unspillable && at_rest;
}

static inline void close_pool_at_rest(reel_pool *pool, const char *after)
{
	ok(pool_is_whole(pool), "the pool is whole after %s", after);
	close_pool(pool, after);
}

#endif
