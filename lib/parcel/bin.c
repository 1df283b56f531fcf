/* SPDX-License-Identifier: MIT */
/*
 * Bins: slabs that several threads may read at once. Any thread runs these functions.
 *
 * While REEL_BIN_HELD is set, the slab is in a state in which its owner may read it, and all who
 * have pinned the bin are its owner together. Who sets or clears the bit holds the lock of the bin.
 * It is cleared only if there is no pin, by one compare-and-swap, so that a pin which finds it set
 * keeps it set. On a pool without a store the bit is always set.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "os/clock.h"
#include "parcel.h"

static bool spills(const struct reel_bin *bin)
{
	return bin->parcels->unordered;
}

/* ---- Opening and closing ---- */

/* Whoever walks the list of bins, or an order, reads `slab` with the lock held. */
static void set_slab(struct reel_bin *bin, struct reel_slab *slab)
{
	pthread_mutex_lock(&bin->parcels->lock);
	bin->slab = slab;
	pthread_mutex_unlock(&bin->parcels->lock);
}

int reel_bin_take_slab(struct reel_bin *bin, size_t bytes)
{
	struct reel_pool *pool = bin->parcels->pool;
	enum reel_slab_kind kind = bytes <= pool->slab_bytes ? REEL_SLAB_WHOLE : REEL_SLAB_LARGE;
	struct reel_slab *slab;
	int error = reel_pool_take(pool, kind, bytes, &slab);

	if (error)
		return error;
	slab->below = NULL;
	slab->slab_index = 0;
	set_slab(bin, slab);
	return 0;
}

void reel_bin_drop_slab(struct reel_bin *bin)
{
	struct reel_slab *slab = bin->slab;

	set_slab(bin, NULL);
	reel_slab_free(bin->parcels->pool, slab);
}

int reel_bin_open(struct reel_parcels *parcels, size_t bytes, struct reel_layout layout,
		  struct reel_bin **opened)
{
	struct reel_bin *bin = calloc(1, sizeof *bin);
	int error;

	if (!bin)
		return -ENOMEM;
	bin->parcels = parcels;
	bin->layout = layout;
	error = reel_bin_take_slab(bin, bytes);
	if (error) {
		free(bin);
		return error;
	}
	pthread_mutex_init(&bin->lock, NULL);
	atomic_store_explicit(&bin->pins, REEL_BIN_HELD | 1, memory_order_relaxed);
	pthread_mutex_lock(&parcels->lock);
	bin->next = parcels->bins;
	if (bin->next)
		bin->next->previous = bin;
	parcels->bins = bin;
	pthread_mutex_unlock(&parcels->lock);
	*opened = bin;
	return 0;
}

void reel_bin_close(struct reel_bin *bin)
{
	struct reel_parcels *parcels = bin->parcels;

	REEL_ASSERT(!bin->live);
	pthread_mutex_lock(&parcels->lock);
	reel_order_leave(bin);
	if (bin->next)
		bin->next->previous = bin->previous;
	if (bin->previous)
		bin->previous->next = bin->next;
	else
		parcels->bins = bin->next;
	pthread_mutex_unlock(&parcels->lock);
	if (bin->slab)
		reel_bin_drop_slab(bin);
	pthread_mutex_destroy(&bin->lock);
	free(bin);
}

/* ---- Pins ---- */

static void note_wait(struct reel_parcels *parcels, uint64_t since)
{
	/* Relaxed: statistics guard no other data. */
	atomic_fetch_add_explicit(&parcels->waits, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&parcels->wait_ns, reel_clock_ns() - since,
				  memory_order_relaxed);
}

/* Relaxed: whoever announces meanwhile finds the bin in memory. */
static bool is_announced(const struct reel_bin *bin)
{
	return atomic_load_explicit(&bin->order, memory_order_relaxed);
}

static void advance(struct reel_bin *bin, bool waited)
{
	if (!is_announced(bin))
		return;
	pthread_mutex_lock(&bin->parcels->lock);
	reel_order_advance(bin, waited);
	pthread_mutex_unlock(&bin->parcels->lock);
}

/* Requires bin->lock. */
static int acquire(struct reel_bin *bin)
{
	struct reel_parcels *parcels = bin->parcels;
	bool away = reel_slab_is_away(reel_slab_state_of(bin->slab));
	uint64_t since = away ? reel_clock_ns() : 0;
	int error;

	/* First, so that the bins that come next are read while this thread waits. */
	advance(bin, away);
	error = reel_slab_acquire(parcels->pool, bin->slab, NULL);
	if (away)
		note_wait(parcels, since);
	/* The frame of a lost slab has nothing of value, and other slabs can use it. */
	if (reel_slab_state_of(bin->slab) == REEL_SLAB_LOST) {
		bin->lost = error;
		reel_bin_drop_slab(bin);
	}
	return error;
}

static int hold(struct reel_bin *bin)
{
	REEL_UNCANCELLED;
	int error = 0;

	pthread_mutex_lock(&bin->lock);
	/* Relaxed: who sets the bit holds the lock. */
	if (!(atomic_load_explicit(&bin->pins, memory_order_relaxed) & REEL_BIN_HELD)) {
		error = bin->lost ? bin->lost : acquire(bin);
		if (!error)
			/* Release: pairs with the acquire in reel_bin_pin(). Shows the contents. */
			atomic_fetch_or_explicit(&bin->pins, REEL_BIN_HELD, memory_order_release);
	}
	pthread_mutex_unlock(&bin->lock);
	return error;
}

int reel_bin_pin(struct reel_bin *bin)
{
	uint32_t before;
	int error;

	reel_yield_point();
	/* Acquire: pairs with the release in hold(). Makes the contents of the frame visible. */
	before = atomic_fetch_add_explicit(&bin->pins, 1, memory_order_acquire);
	if (before & REEL_BIN_HELD) {
		advance(bin, false);
		return 0;
	}
	error = hold(bin);
	/* Relaxed: an acquire that failed has left the slab as it was. */
	if (error)
		atomic_fetch_sub_explicit(&bin->pins, 1, memory_order_relaxed);
	return error;
}

/* Without an announced use, a bin is taken to be needed as late as it was used early. */
static void seal(struct reel_bin *bin)
{
	struct reel_parcels *parcels = bin->parcels;

	reel_slab_seal(parcels->pool, bin->slab, parcels->unordered, reel_now_ms(), bin->filled,
		       bin->layout);
	if (is_announced(bin)) {
		pthread_mutex_lock(&parcels->lock);
		reel_order_describe(bin);
		pthread_mutex_unlock(&parcels->lock);
	}
	if (reel_slab_state_of(bin->slab) == REEL_SLAB_DIRTY)
		reel_slab_tell_of_growth(parcels->pool);
}

static void let_go(struct reel_bin *bin)
{
	uint32_t unpinned = REEL_BIN_HELD;

	pthread_mutex_lock(&bin->lock);
	/* Release: pairs with the acquire in reel_bin_pin(), whose hold() acquires the slab anew. */
	if (atomic_compare_exchange_strong_explicit(&bin->pins, &unpinned, 0, memory_order_acq_rel,
						    memory_order_relaxed))
		seal(bin);
	pthread_mutex_unlock(&bin->lock);
}

void reel_bin_unpin(struct reel_bin *bin)
{
	uint32_t before;

	reel_yield_point();
	/* Release: pairs with the acquire in let_go(). The reads of this thread come before. */
	before = atomic_fetch_sub_explicit(&bin->pins, 1, memory_order_release);
	REEL_ASSERT((before & ~REEL_BIN_HELD) > 0);
	if (before == (REEL_BIN_HELD | 1) && spills(bin))
		let_go(bin);
}

int reel_bin_make_writable(struct reel_bin *bin)
{
	int error = 0;

	REEL_ASSERT(atomic_load_explicit(&bin->pins, memory_order_relaxed) > REEL_BIN_HELD);
	if (!spills(bin))
		return 0;
	pthread_mutex_lock(&bin->lock);
	while (!error && !reel_slab_make_writable(bin->parcels->pool, bin->slab))
		error = reel_slab_await_put(bin->parcels->pool, bin->slab);
	pthread_mutex_unlock(&bin->lock);
	return error;
}
