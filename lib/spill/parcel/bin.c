/* SPDX-License-Identifier: MIT */
/*
 * Bins: slabs that several threads may read at once. Any thread runs these functions.
 *
 * The threads that have pinned a bin own its slab together (pins.h). On a pool without a store the
 * slab is always held.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "os/clock.h"
#include "parcel.h"
#include "spill/thread/thread.h"
#include "spill/thread/transfer.h"

static bool spills(const struct reel_bin *bin)
{
	return bin->parcels->unordered;
}

/*
 * Returns true if a bin that is requested in advance waits for a frame. It may take the frame of a
 * bin that was closed, or that nothing pins any more.
 */
static bool is_frame_wanted(const struct reel_parcels *parcels)
{
	return parcels->unordered &&
	       atomic_load_explicit(&reel_offload_of(parcels->pool)->wants_frame,
				    memory_order_relaxed);
}

/* ---- Opening and closing ---- */

/* The frame of a lost slab has nothing of value, and other slabs can use it. */
static void drop_slab(struct reel_bin *bin)
{
	struct reel_slab *slab = bin->slab;

	/* Together: an order that ends describes the slabs of its bins anew, and no other slab. */
	pthread_mutex_lock(&bin->parcels->lock);
	reel_order_leave(bin);
	bin->slab = NULL;
	pthread_mutex_unlock(&bin->parcels->lock);
	reel_slab_free(bin->parcels->pool, slab);
}

int reel_bin_open(struct reel_parcels *parcels, enum reel_slab_kind kind, size_t bytes,
		  struct reel_layout layout, struct reel_bin **opened)
{
	struct reel_bin *bin = calloc(1, sizeof *bin);
	int error;

	if (!bin)
		return -ENOMEM;
	bin->parcels = parcels;
	bin->layout = layout;
	error = reel_pool_take(parcels->pool, kind, bytes, &bin->slab);
	if (error) {
		free(bin);
		return error;
	}
	bin->slab->below = NULL;
	bin->slab->slab_index = 0;
	reel_pool_add_user(parcels->pool);
	reel_pins_open(&bin->pins, REEL_PINS_HELD | 1);
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
	if (bin->slab) {
		if (parcels->hurried)
			reel_demand_forget_refusal(parcels->hurried, bin->slab);
		reel_slab_free(parcels->pool, bin->slab);
	}
	/* A pool with a parent drops the copy in its store at once. */
	if (parcels->pool->parent || is_frame_wanted(parcels))
		reel_offload_wake(reel_offload_of(parcels->pool));
	reel_pool_remove_user(parcels->pool);
	reel_pins_close(&bin->pins);
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

/* Relaxed: a thread that announces meanwhile finds the bin in memory. */
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

struct pin {
	struct reel_bin *bin;
	uint64_t until;
	bool has_advanced;
	bool waited;
};

static int acquire(void *context)
{
	struct pin *pin = context;
	struct reel_bin *bin = pin->bin;
	struct reel_parcels *parcels = bin->parcels;
	bool away;
	uint64_t since;
	int error;

	if (bin->lost) {
		/* The use that was announced does not come. */
		pthread_mutex_lock(&parcels->lock);
		reel_order_leave(bin);
		pthread_mutex_unlock(&parcels->lock);
		return bin->lost;
	}
	away = reel_slab_is_away(reel_slab_state_of(bin->slab));
	since = away ? reel_clock_ns() : 0;
	pin->waited |= away;
	/*
	 * First, so that the bins that come next are read while this thread waits. A bin that is in
	 * memory is acquired first: without its announced use it may be evicted for these. A pin
	 * whose wait has a limit may come to nothing, and then its use is still to come.
	 */
	if (away && !pin->has_advanced && pin->until == REEL_FOREVER) {
		advance(bin, away);
		pin->has_advanced = true;
	}
	error = reel_slab_acquire(parcels->pool, bin->slab, NULL, pin->until);
	if (away && pin->until)
		note_wait(parcels, since);
	if (reel_slab_state_of(bin->slab) == REEL_SLAB_LOST) {
		/*
		 * The read may have failed after this thread stopped waiting for it, with another
		 * error. Now that the slab is LOST, the same call returns the error of the store.
		 */
		error = reel_slab_acquire(parcels->pool, bin->slab, NULL, pin->until);
		bin->lost = error;
		drop_slab(bin);
	}
	if (!error)
		reel_demand_forget_refusal(parcels->hurried, bin->slab);
	return error;
}

/* The read that was refused has waited for the pool's own store. */
static bool find_memory(struct reel_bin *bin, struct reel_shortage *shortage, int error)
{
	shortage->error = error;
	return error == -EDQUOT && reel_pool_find_memory(bin->parcels->pool, shortage);
}

/* Returns -EAGAIN; or -EDQUOT: the bin was asked for before, and there was no room for it. */
static int ask_for(struct reel_bin *bin)
{
	struct reel_parcels *parcels = bin->parcels;
	int error = 0;

	pthread_mutex_lock(&parcels->lock);
	if (bin->slab && reel_slab_is_away(reel_slab_state_of(bin->slab)))
		error = reel_demand_hurry(reel_offload_of(parcels->pool), parcels->hurried,
					  bin->slab);
	pthread_mutex_unlock(&parcels->lock);
	return error ? error : -EAGAIN;
}

int reel_bin_pin(struct reel_bin *bin, uint64_t until)
{
	bool is_limited = until != REEL_FOREVER;
	struct reel_shortage shortage = {.waits = is_limited ? REEL_WAITS_FOR_NONE
							     : REEL_WAITS_FOR_CHILDREN};
	struct pin pin = {.bin = bin, .until = until};
	int error;

	do {
		error = is_limited ? reel_pins_add_until(&bin->pins, acquire, &pin, until)
				   : reel_pins_add(&bin->pins, acquire, &pin);
		if (error == -EAGAIN)
			error = ask_for(bin);
	} while (find_memory(bin, &shortage, error));
	if (!error && !pin.has_advanced)
		advance(bin, pin.waited);
	return error;
}

/* The lock keeps the slab of a bin that is lost meanwhile. */
bool reel_bin_is_in_memory(struct reel_bin *bin)
{
	bool there;

	pthread_mutex_lock(&bin->parcels->lock);
	there = bin->slab && !reel_slab_is_away(reel_slab_state_of(bin->slab));
	pthread_mutex_unlock(&bin->parcels->lock);
	return there;
}

/*
 * Relaxed, as in reel_bin_note_use(): the pins order it. Nobody writes to the frame any more, since
 * this was the last pin.
 */
static void give_up_changed_copy(struct reel_bin *bin)
{
	struct reel_pool *pool = bin->parcels->pool;

	if (!atomic_exchange_explicit(&bin->is_compared, false, memory_order_relaxed))
		return;
	if (reel_slab_has_copy(bin->slab) &&
	    reel_pieces_differ(reel_offload_of(pool), bin->slab))
		reel_slab_make_writable(pool, bin->slab);
}

/* Seals with the present time as the slab's index, by which distance_by_age() (victim.c) ranks. */
static void seal(void *context)
{
	struct reel_bin *bin = context;
	struct reel_parcels *parcels = bin->parcels;

	give_up_changed_copy(bin);
	reel_slab_seal(parcels->pool, bin->slab, parcels->unordered, reel_now_ms(), bin->filled,
		       bin->layout);
	if (is_announced(bin)) {
		pthread_mutex_lock(&parcels->lock);
		reel_order_describe(bin);
		pthread_mutex_unlock(&parcels->lock);
	}
	/* A pool with a parent evicts slabs that are not announced. */
	if (reel_slab_state_of(bin->slab) == REEL_SLAB_DIRTY || parcels->pool->parent)
		reel_slab_tell_of_growth(parcels->pool);
	if (is_frame_wanted(parcels))
		reel_offload_wake(reel_offload_of(parcels->pool));
}

void reel_bin_unpin(struct reel_bin *bin)
{
	reel_pins_drop(&bin->pins, spills(bin) ? seal : NULL, bin);
}

int reel_bin_await_put(struct reel_bin *bin)
{
	int error;

	REEL_ASSERT(reel_pins_count(&bin->pins) > 0);
	if (!spills(bin))
		return 0;
	pthread_mutex_lock(&bin->pins.lock);
	error = reel_slab_await_put(bin->parcels->pool, bin->slab);
	pthread_mutex_unlock(&bin->pins.lock);
	return error;
}

/*
 * While the slab is pinned no put of it begins, so the copy can be given up at once. Of several
 * threads that seal parcels of one bin, one gives it up.
 */
void reel_bin_note_change(struct reel_bin *bin)
{
	bool writable;

	REEL_ASSERT(reel_pins_count(&bin->pins) > 0);
	if (!spills(bin))
		return;
	writable = reel_slab_make_writable(bin->parcels->pool, bin->slab);
	REEL_ASSERT(writable);
	(void)writable;
}

void reel_bin_note_use(struct reel_bin *bin)
{
	REEL_ASSERT(reel_pins_count(&bin->pins) > 0);
	atomic_store_explicit(&bin->is_compared, true, memory_order_relaxed);
}
