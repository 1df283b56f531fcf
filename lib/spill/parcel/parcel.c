/* SPDX-License-Identifier: MIT */
/*
 * Parcels, as programs call them. Any thread runs these functions; the program orders those that
 * change one parcel. An open parcel counts as a pin of its bin, which it gives up when it is
 * sealed.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "os/clock.h"
#include "os/error.h"
#include "os/integer.h"
#include "os/os.h"
#include "parcel.h"
#include "spill/pool/default-pool.h"
#include "store/store.h"

/* ---- The parcels of a pool ---- */

static struct reel_parcels *of_client(struct reel_pool_client *client)
{
	return (struct reel_parcels *)client;
}

static void lock(struct reel_pool_client *client)
{
	pthread_mutex_lock(&of_client(client)->lock);
}

static void unlock(struct reel_pool_client *client)
{
	pthread_mutex_unlock(&of_client(client)->lock);
}

/*
 * In the child, unlocks the pins of all bins: a thread of the parent may have locked them. The
 * slabs are whole, since each change of a state is one atomic step.
 */
static void orphan(struct reel_pool_client *client)
{
	for (struct reel_bin *bin = of_client(client)->bins; bin; bin = bin->next)
		reel_pins_unlock_in_child(&bin->pins);
	unlock(client);
}

/* Parcels without a slab count, too: scratch parcels that are sealed, and those of a lost bin. */
static bool is_in_use(struct reel_pool_client *client)
{
	bool in_use;

	lock(client);
	in_use = of_client(client)->bins || of_client(client)->empty;
	unlock(client);
	return in_use;
}

static void close_parcels(struct reel_pool_client *client)
{
	struct reel_parcels *parcels = of_client(client);

	REEL_ASSERT(!parcels->bins && !parcels->empty);
	pthread_mutex_destroy(&parcels->lock);
	free(parcels);
}

static bool retire_idle(struct reel_pool_client *client)
{
	return reel_parcels_retire_idle(of_client(client));
}

static const struct reel_pool_client_verbs verbs = {
	.lock = lock,
	.unlock = unlock,
	.orphan = orphan,
	.is_in_use = is_in_use,
	.retire_idle = retire_idle,
	.close = close_parcels,
};

/* Open bins take at most an eighth of a budget, but for two. */
static unsigned slots_of(const struct reel_pool *pool)
{
	size_t slots = pool->hard_budget / pool->slab_bytes / 8;

	return slots < 2 ? 2 : (unsigned)reel_min_size(slots, REEL_MAX_OPEN_BINS);
}

static int take_demands(struct reel_parcels *parcels, struct reel_offload *offload)
{
	parcels->unordered = reel_demand_take_silent(offload, REEL_DEMAND_AGE);
	if (!parcels->unordered)
		return -ENOMEM;
	parcels->hurried = reel_demand_take_silent(offload, REEL_DEMAND_HURRIED);
	if (parcels->hurried)
		return 0;
	reel_demand_give_silent(offload, parcels->unordered);
	return -ENOMEM;
}

static struct reel_parcels *new_parcels(struct reel_pool *pool)
{
	struct reel_offload *offload = reel_offload_of(pool);
	struct reel_parcels *parcels = calloc(1, sizeof *parcels);

	if (!parcels)
		return NULL;
	parcels->client.verbs = &verbs;
	parcels->pool = pool;
	parcels->slots = slots_of(pool);
	if (offload && take_demands(parcels, offload)) {
		free(parcels);
		return NULL;
	}
	pthread_mutex_init(&parcels->lock, NULL);
	return parcels;
}

/*
 * If several threads are first at once, one struct stays and the others are freed. The list of
 * pools is locked meanwhile: a fork locks and later unlocks the parcels of each pool, and has to
 * find the same ones both times. NULL: no memory.
 */
static struct reel_parcels *parcels_of(struct reel_pool *pool)
{
	struct reel_pool_client *client = reel_pool_parcels(pool);
	struct reel_parcels *parcels;

	if (client)
		return of_client(client);
	parcels = new_parcels(pool);
	if (!parcels)
		return NULL;
	reel_fork_lock_pools();
	/* Relaxed: who sets it has the lock. */
	client = atomic_load_explicit(&pool->parcels, memory_order_relaxed);
	/* Release: pairs with the acquire in reel_pool_parcels() (pool.h). */
	if (!client)
		atomic_store_explicit(&pool->parcels, &parcels->client, memory_order_release);
	reel_fork_unlock_pools();
	if (!client)
		return parcels;
	if (parcels->unordered) {
		reel_demand_give_silent(reel_offload_of(pool), parcels->unordered);
		reel_demand_give_silent(reel_offload_of(pool), parcels->hurried);
	}
	close_parcels(&parcels->client);
	return of_client(client);
}

/* ---- Open bins ---- */

/* A parcel of 0 bytes has an address, too. */
static size_t room_of(const struct reel_parcel *parcel)
{
	return parcel->bytes ? parcel->bytes : 1;
}

/* Where a parcel of so many bytes lies in the bin if it is added there. */
static size_t next_offset(const struct reel_bin *bin, size_t bytes)
{
	size_t mask = bytes < 64 ? 15 : 63;

	return (bin->filled + mask) & ~mask;
}

static bool is_scratch(const struct reel_parcel *parcel)
{
	return parcel->flags & REEL_PARCEL_SCRATCH;
}

static bool is_small(const struct reel_parcel *parcel)
{
	return parcel->bytes <= parcel->parcels->pool->slab_bytes / 2 &&
	       !(parcel->flags & REEL_PARCEL_ALONE);
}

/* Requires parcels->lock. */
static bool fits(const struct reel_bin *bin, const struct reel_parcel *parcel)
{
	return bin && bin->scratch == is_scratch(parcel) &&
	       next_offset(bin, room_of(parcel)) + room_of(parcel) <= bin->slab->bytes;
}

/* Requires parcels->lock. */
static bool is_like(const struct reel_bin *bin, const struct reel_parcel *parcel,
		    struct reel_layout layout)
{
	return bin->scratch == is_scratch(parcel) && bin->layout.element == layout.element &&
	       bin->layout.stride == layout.stride;
}

/*
 * A slot for a layout that no open bin has. If there are more layouts than slots, they share bins:
 * a codec packs them less well, but parcels of many layouts do not take a slab each. Requires
 * parcels->lock.
 */
static struct reel_bin **other_slot(const struct reel_parcel *parcel)
{
	struct reel_parcels *parcels = parcel->parcels;
	struct reel_bin **unused = NULL, **shared = NULL;

	REEL_ASSERT(parcels->slots > 0);
	for (unsigned i = 0; i < parcels->slots && !unused; i++) {
		struct reel_bin **slot = &parcels->open_bins[i];

		if (!*slot)
			unused = slot;
		else if (fits(*slot, parcel))
			shared = slot;
	}
	if (unused || shared)
		return unused ? unused : shared;
	return &parcels->open_bins[parcels->turn++ % parcels->slots];
}

/*
 * The slot of the open bin for this parcel, or for a fresh bin in its place. Requires
 * parcels->lock.
 */
static inline struct reel_bin **slot_for(const struct reel_parcel *parcel,
					 struct reel_layout layout)
{
	struct reel_parcels *parcels = parcel->parcels;

	for (unsigned i = 0; i < parcels->slots; i++) {
		struct reel_bin *bin = parcels->open_bins[i];

		if (bin && is_like(bin, parcel, layout))
			return &parcels->open_bins[i];
	}
	return other_slot(parcel);
}

/* Counts the parcel in its bin, and no longer as empty. Requires parcels->lock. */
static void count_in(struct reel_bin *bin, struct reel_parcel *parcel)
{
	parcel->bin = bin;
	bin->live++;
	if (!(parcel->flags & REEL_PARCEL_EMPTY))
		return;
	parcel->flags &= ~REEL_PARCEL_EMPTY;
	REEL_ASSERT(parcel->parcels->empty > 0);
	parcel->parcels->empty--;
}

/* Requires parcels->lock. */
static void put_into(struct reel_bin *bin, struct reel_parcel *parcel)
{
	parcel->offset = next_offset(bin, room_of(parcel));
	bin->filled = parcel->offset + room_of(parcel);
	REEL_ASSERT(bin->filled <= bin->slab->bytes);
	count_in(bin, parcel);
	/* The pin of an open bin keeps its slab held. */
	reel_pins_add(&bin->pins, NULL, NULL);
}

/* An open bin has a pin and counts as live, until retire(). Requires parcels->lock. */
static void enter(struct reel_bin *bin, struct reel_bin **slot)
{
	REEL_ASSERT(!*slot && !bin->slot);
	bin->live = 1;
	bin->kept = true;
	bin->slot = slot;
	*slot = bin;
}

/* The caller passes the bin to retire(). Requires parcels->lock. */
static struct reel_bin *take_out(struct reel_bin **slot)
{
	struct reel_bin *bin = *slot;

	REEL_ASSERT(!bin || bin->slot == slot);
	if (bin)
		bin->slot = NULL;
	*slot = NULL;
	return bin;
}

static void retire(struct reel_bin *bin)
{
	struct reel_parcels *parcels = bin->parcels;
	unsigned live;

	reel_bin_unpin(bin);
	pthread_mutex_lock(&parcels->lock);
	REEL_ASSERT(bin->kept && bin->live > 0);
	live = --bin->live;
	bin->kept = false;
	pthread_mutex_unlock(&parcels->lock);
	if (!live)
		reel_bin_close(bin);
}

/* Requires parcels->lock. */
static struct reel_bin *take_out_idle(struct reel_parcels *parcels)
{
	for (unsigned i = 0; i < parcels->slots; i++) {
		struct reel_bin *bin = parcels->open_bins[i];

		/* One pin is that of the open bin. All parcels of a scratch bin are open. */
		if (bin && !bin->scratch && reel_pins_count(&bin->pins) == 1)
			return take_out(bin->slot);
	}
	return NULL;
}

bool reel_parcels_retire_idle(struct reel_parcels *parcels)
{
	struct reel_bin *idle;

	pthread_mutex_lock(&parcels->lock);
	idle = take_out_idle(parcels);
	pthread_mutex_unlock(&parcels->lock);
	if (idle)
		retire(idle);
	return idle;
}

/*
 * Puts the parcel into an open bin if it fits there. Otherwise makes room for a fresh one: while
 * this thread waits for a slab, the bin that was open may leave memory.
 */
static bool put_into_open(struct reel_parcel *parcel, struct reel_layout layout)
{
	struct reel_bin **slot, *full = NULL;
	bool fitted;

	pthread_mutex_lock(&parcel->parcels->lock);
	slot = slot_for(parcel, layout);
	fitted = fits(*slot, parcel);
	if (fitted)
		put_into(*slot, parcel);
	else
		full = take_out(slot);
	pthread_mutex_unlock(&parcel->parcels->lock);
	if (full)
		retire(full);
	return fitted;
}

/* Another thread may have opened a bin meanwhile. Then the fresh one goes back. */
static void use_fresh(struct reel_bin *fresh, struct reel_parcel *parcel, struct reel_layout layout)
{
	struct reel_bin **slot, *full = NULL;
	bool fitted;

	pthread_mutex_lock(&parcel->parcels->lock);
	slot = slot_for(parcel, layout);
	fitted = fits(*slot, parcel);
	if (!fitted) {
		full = take_out(slot);
		enter(fresh, slot);
	}
	put_into(*slot, parcel);
	pthread_mutex_unlock(&parcel->parcels->lock);
	if (fitted)
		reel_bin_close(fresh);
	if (full)
		retire(full);
}

static int place_small(struct reel_parcel *parcel, struct reel_layout layout)
{
	struct reel_parcels *parcels = parcel->parcels;
	struct reel_bin *fresh;
	int error;

	if (put_into_open(parcel, layout))
		return 0;
	error = reel_bin_open(parcels, REEL_SLAB_WHOLE, parcels->pool->slab_bytes, layout, &fresh);
	if (error)
		return error;
	fresh->scratch = is_scratch(parcel);
	use_fresh(fresh, parcel, layout);
	return 0;
}

/* ---- Parcels with a bin of their own ---- */

/* A whole slab, unless more than an eighth of it would be wasted. */
static enum reel_slab_kind kind_of(const struct reel_parcel *parcel)
{
	const struct reel_pool *pool = parcel->parcels->pool;
	size_t pages = reel_supply_large_bytes(room_of(parcel));

	if (parcel->flags & REEL_PARCEL_ALONE || parcel->bytes > pool->slab_bytes)
		return REEL_SLAB_LARGE;
	return pages < pool->slab_bytes && pool->slab_bytes - pages > pool->slab_bytes / 8
		       ? REEL_SLAB_LARGE
		       : REEL_SLAB_WHOLE;
}

static int place_alone(struct reel_parcel *parcel, struct reel_layout layout)
{
	struct reel_parcels *parcels = parcel->parcels;
	enum reel_slab_kind kind = kind_of(parcel);
	struct reel_bin *bin;
	/* The frames of a pool with a parent have one size; what is filled of them is put. */
	size_t room = room_of(parcel), frame_bytes = parcels->pool->frame_bytes;
	int error = reel_bin_open(parcels, kind, room < frame_bytes ? frame_bytes : room, layout,
				  &bin);

	/* The system limits the number of mappings; a whole slab is a piece of a mapping. */
	if (error == -ENOMEM && kind == REEL_SLAB_LARGE && !parcels->pool->parent &&
	    parcel->bytes <= parcels->pool->slab_bytes)
		error = reel_bin_open(parcels, REEL_SLAB_WHOLE, room_of(parcel), layout, &bin);
	if (error)
		return error;
	bin->scratch = is_scratch(parcel);
	/* reel_parcel_get_stats() reads what changes here. */
	pthread_mutex_lock(&parcels->lock);
	count_in(bin, parcel);
	bin->filled = room_of(parcel);
	pthread_mutex_unlock(&parcels->lock);
	return 0;
}

/* ---- Opening and closing ---- */

/* Gives the parcel memory, which is pinned once. */
static int place(struct reel_parcel *parcel, struct reel_layout layout)
{
	return is_small(parcel) ? place_small(parcel, layout) : place_alone(parcel, layout);
}

static void *data_of(const struct reel_parcel *parcel)
{
	return parcel->bin->slab->frame + parcel->offset;
}

static int fail_for_room(struct reel_parcels *parcels, const char *what, size_t bytes, int error)
{
	const reel_pool *parent = parcels->pool->parent;
	size_t hard_budget = parent ? parent->hard_budget : parcels->pool->hard_budget;
	const struct reel_offload *offload = reel_offload_of(parcels->pool);
	int failure = offload ? reel_offload_failure(offload) : 0;
	struct reel_parcel_stats stats;

	if (error == -EDQUOT && reel_supply_large_bytes(bytes) > hard_budget)
		return reel_fail(error,
				 "%s of %zu bytes never fits into the hard budget of %zu bytes; "
				 "raise it, or divide the parcel",
				 what, bytes, hard_budget);
	reel_parcel_get_stats(parcels->pool, &stats);
	if (error == -EDQUOT && failure)
		return reel_fail(error,
				 "%s of %zu bytes: the hard budget of %zu bytes is used up, and the "
				 "store takes no more: %s",
				 what, bytes, hard_budget, reel_store_strerror(failure));
	if (error == -EDQUOT)
		return reel_fail(error,
				 "%s of %zu bytes: the hard budget of %zu bytes is used up, and %llu "
				 "bytes of parcels are open or pinned; seal or unpin some, raise it%s",
				 what, bytes, hard_budget,
				 (unsigned long long)stats.pinned_bytes,
				 offload ? "" : ", or give the pool a store (REEL_SPILL_DIR)");
	if (error == -ECHILD)
		return reel_fail(error,
				 "%s of %zu bytes: in the child of a fork the store is its parent's; "
				 "open a pool in the child, and parcels on it",
				 what, bytes);
	return reel_fail(error, "%s of %zu bytes: %s%s", what, bytes, reel_store_strerror(error),
			 error == -ENOMEM ? reel_os_mappings_remedy() : "");
}

static const char *options_problem(const struct reel_parcel_options *options)
{
	const char *problem;

	if (options->flags & ~REEL_PARCEL_SCRATCH)
		return "unknown flags of a parcel";
	problem = reel_reserved_problem(options->reserved, sizeof options->reserved);
	if (problem || !options->layout.element || options->layout.element == REEL_INCOMPRESSIBLE)
		return problem;
	return reel_layout_problem(options->layout);
}

/* Sizes up to this one can be rounded up to whole pages and slabs without a wrap. */
static size_t max_bytes(const struct reel_parcels *parcels)
{
	return PTRDIFF_MAX - parcels->pool->slab_bytes;
}

/* Scratch parcels are not stored, so all of them are alike. */
static const struct reel_layout no_layout;

static int open_in(struct reel_parcels *parcels, size_t bytes,
		   const struct reel_parcel_options *options, struct reel_parcel **opened)
{
	struct reel_parcel *parcel;
	int error;

	if (bytes > max_bytes(parcels))
		return reel_fail(-EOVERFLOW,
				 "a parcel of %zu bytes is larger than the address space; check "
				 "the size, which may have been negative",
				 bytes);
	parcel = calloc(1, sizeof *parcel);
	if (!parcel)
		return reel_fail(-ENOMEM, "no memory for a parcel");
	parcel->parcels = parcels;
	parcel->bytes = bytes;
	parcel->flags = options->flags;
	atomic_store_explicit(&parcel->pins, REEL_PARCEL_IS_OPEN, memory_order_relaxed);
	error = place(parcel, is_scratch(parcel) ? no_layout : options->layout);
	if (error) {
		free(parcel);
		return fail_for_room(parcels, "a parcel", bytes, error);
	}
	REEL_TRACE(PARCEL_OPEN, 0, parcels->pool->number, (int64_t)bytes);
	*opened = parcel;
	return 0;
}

int reel_parcel_open(reel_parcel **opened, reel_pool *pool, size_t bytes,
		     const struct reel_parcel_options *options, void **data)
{
	REEL_UNCANCELLED;
	static const struct reel_parcel_options defaults;
	const char *problem = options ? options_problem(options) : NULL;
	struct reel_parcels *parcels;
	int error;

	if (problem)
		return reel_fail(-EINVAL, "%s", problem);
	error = pool ? 0 : reel_pool_open_default(&pool);
	if (error)
		return error;
	parcels = parcels_of(pool);
	if (!parcels)
		return reel_fail(-ENOMEM, "no memory for a parcel");
	error = open_in(parcels, bytes, options ? options : &defaults, opened);
	if (!error)
		*data = data_of(*opened);
	return error;
}

int reel_parcel_open_alone(reel_parcel **opened, reel_pool *pool, size_t bytes, void **data)
{
	REEL_UNCANCELLED;
	static const struct reel_parcel_options alone = {.flags = REEL_PARCEL_ALONE};
	struct reel_parcels *parcels = parcels_of(pool);
	int error = parcels ? open_in(parcels, bytes, &alone, opened) : -ENOMEM;

	if (!error)
		*data = data_of(*opened);
	return error;
}

/* Moves a parcel on that no other thread uses now. */
static bool move(struct reel_parcel *parcel, int32_t from, int32_t to)
{
	/* Relaxed: the program orders these calls, and the bin orders the contents. */
	return atomic_compare_exchange_strong_explicit(&parcel->pins, &from, to,
						       memory_order_relaxed, memory_order_relaxed);
}

/*
 * Leaves the bin, which is closed with its last parcel, also if it is open for more. `empties`: the
 * parcel is there, but lies nowhere.
 */
static void leave_bin(struct reel_bin *bin, bool empties)
{
	struct reel_parcels *parcels = bin->parcels;
	bool last;

	pthread_mutex_lock(&parcels->lock);
	parcels->empty += empties;
	REEL_ASSERT(bin->live > (bin->slot != NULL));
	bin->live--;
	last = bin->live == (bin->slot != NULL);
	if (last && bin->slot) {
		take_out(bin->slot);
		bin->live = 0;
		bin->kept = false;
	}
	pthread_mutex_unlock(&parcels->lock);
	if (last)
		reel_bin_close(bin);
}

static void end_empty(struct reel_parcels *parcels)
{
	pthread_mutex_lock(&parcels->lock);
	REEL_ASSERT(parcels->empty > 0);
	parcels->empty--;
	pthread_mutex_unlock(&parcels->lock);
}

int reel_parcel_close(reel_parcel *parcel)
{
	if (!parcel)
		return 0;
	if (!move(parcel, 0, REEL_PARCEL_IS_CLOSED)) {
		if (!move(parcel, REEL_PARCEL_IS_OPEN, REEL_PARCEL_IS_CLOSED))
			return reel_fail(-EBUSY, "a parcel cannot be closed while it is pinned");
		reel_bin_unpin(parcel->bin);
	}
	REEL_TRACE(PARCEL_CLOSE, 0, parcel->parcels->pool->number, (int64_t)parcel->bytes);
	if (parcel->bin)
		leave_bin(parcel->bin, false);
	else
		end_empty(parcel->parcels);
	free(parcel);
	return 0;
}

/* ---- Sealing ---- */

/* A scratch parcel has no place while it is sealed. */
static void seal_scratch(struct reel_parcel *parcel)
{
	struct reel_bin *bin = parcel->bin;

	parcel->bin = NULL;
	parcel->flags |= REEL_PARCEL_EMPTY;
	reel_bin_unpin(bin);
	leave_bin(bin, true);
}

/* `note` tells the bin what has become of the contents; NULL: they are as they were. */
static int seal(struct reel_parcel *parcel, void (*note)(struct reel_bin *bin))
{
	if (!move(parcel, REEL_PARCEL_IS_OPEN, 0))
		return reel_fail(-EINVAL, "a parcel is sealed that is not open");
	REEL_TRACE(PARCEL_SEAL, 0, parcel->parcels->pool->number, (int64_t)parcel->bytes);
	if (is_scratch(parcel)) {
		seal_scratch(parcel);
		return 0;
	}
	if (note)
		note(parcel->bin);
	reel_bin_unpin(parcel->bin);
	return 0;
}

int reel_parcel_seal(reel_parcel *parcel)
{
	return seal(parcel, reel_bin_note_change);
}

int reel_parcel_seal_unchanged(reel_parcel *parcel)
{
	return seal(parcel, NULL);
}

int reel_parcel_seal_compared(reel_parcel *parcel)
{
	return seal(parcel, reel_bin_note_use);
}

static int unseal_scratch(struct reel_parcel *parcel)
{
	int error = place(parcel, no_layout);

	return error ? fail_for_room(parcel->parcels, "a scratch parcel", parcel->bytes, error) : 0;
}

static int pin(struct reel_parcel *parcel)
{
	int error = reel_bin_pin(parcel->bin);

	return error ? fail_for_room(parcel->parcels, "a pin", parcel->bytes, error) : 0;
}

static int unseal(struct reel_parcel *parcel)
{
	int error;

	if (is_scratch(parcel))
		return unseal_scratch(parcel);
	error = pin(parcel);
	if (error)
		return error;
	error = reel_bin_await_put(parcel->bin);
	if (error)
		reel_bin_unpin(parcel->bin);
	return error ? reel_fail(error, "no memory to wait for the store with") : 0;
}

int reel_parcel_unseal(reel_parcel *parcel, void **data)
{
	REEL_UNCANCELLED;
	int error;

	if (!move(parcel, 0, REEL_PARCEL_IS_OPEN))
		return atomic_load_explicit(&parcel->pins, memory_order_relaxed) > 0
			       ? reel_fail(-EBUSY, "a parcel cannot be unsealed while it is pinned")
			       : reel_fail(-EINVAL, "a parcel is unsealed that is open");
	error = unseal(parcel);
	if (error)
		move(parcel, REEL_PARCEL_IS_OPEN, 0);
	else
		*data = data_of(parcel);
	return error;
}

/* ---- Pinning ---- */

static int fail_to_pin(const struct reel_parcel *parcel)
{
	/* Relaxed: a count for checks; the bin orders the contents. */
	if (atomic_load_explicit(&parcel->pins, memory_order_relaxed) < 0)
		return reel_fail(-EINVAL, "a parcel is pinned that is open: seal it first");
	return is_scratch(parcel)
		       ? reel_fail(-ENODATA, "the contents of a scratch parcel are gone")
		       : 0;
}

/* The caller has pinned the bin. */
static void count_pin(struct reel_parcel *parcel, const void **data)
{
	/* Relaxed, as in fail_to_pin(). */
	atomic_fetch_add_explicit(&parcel->pins, 1, memory_order_relaxed);
	REEL_TRACE(PARCEL_PIN, 0, parcel->parcels->pool->number, (int64_t)parcel->bytes);
	*data = data_of(parcel);
}

int reel_parcel_pin(reel_parcel *parcel, const void **data)
{
	int error = fail_to_pin(parcel);

	if (!error)
		error = pin(parcel);
	if (!error)
		count_pin(parcel, data);
	return error;
}

int reel_parcel_pin_for(reel_parcel *parcel, const void **data, uint32_t milliseconds)
{
	int error = fail_to_pin(parcel);
	uint64_t until = milliseconds ? reel_clock_ns() + milliseconds * UINT64_C(1000000) : 0;

	if (error)
		return error;
	error = reel_bin_pin_until(parcel->bin, until);
	if (!error)
		count_pin(parcel, data);
	if (error == -EAGAIN)
		return reel_fail(error, "the parcel is not in memory yet");
	return error ? fail_for_room(parcel->parcels, "a pin", parcel->bytes, error) : 0;
}

bool reel_parcel_is_in_memory(const reel_parcel *parcel)
{
	return parcel->bin && reel_bin_is_in_memory(parcel->bin);
}

void reel_parcel_unpin(reel_parcel *parcel)
{
	/* Relaxed, as in fail_to_pin(). */
	int32_t before = atomic_fetch_sub_explicit(&parcel->pins, 1, memory_order_relaxed);

	REEL_ASSERT(before > 0);
	(void)before;
	reel_bin_unpin(parcel->bin);
}

/* ---- Figures ---- */

size_t reel_parcel_bytes(const reel_parcel *parcel)
{
	return parcel->bytes;
}

static bool is_pinned(const struct reel_bin *bin)
{
	/* One pin of a kept bin is no parcel's. */
	return reel_pins_count(&bin->pins) > bin->kept;
}

static void add_bin(const struct reel_bin *bin, struct reel_parcel_stats *stats)
{
	enum reel_slab_state state;

	stats->parcels += bin->live - bin->kept;
	if (!bin->slab)
		return;
	state = reel_slab_state_of(bin->slab);
	if (!reel_slab_is_away(state))
		stats->resident_bytes += bin->slab->bytes;
	if (reel_slab_needs_copy(state))
		stats->stored_bytes += bin->filled;
	if (is_pinned(bin))
		stats->pinned_bytes += bin->slab->bytes;
}

/* The lock keeps the list of bins; the states may change meanwhile. */
void reel_parcel_get_stats(reel_pool *pool, struct reel_parcel_stats *stats)
{
	struct reel_pool_client *client = reel_pool_parcels(pool);
	struct reel_parcels *parcels = of_client(client);

	*stats = (struct reel_parcel_stats){0};
	if (!client)
		return;
	/* Relaxed: statistics guard no other data. */
	stats->announced = atomic_load_explicit(&parcels->announced, memory_order_relaxed);
	stats->hits = atomic_load_explicit(&parcels->hits, memory_order_relaxed);
	stats->waits = atomic_load_explicit(&parcels->waits, memory_order_relaxed);
	stats->wait_ns = atomic_load_explicit(&parcels->wait_ns, memory_order_relaxed);
	pthread_mutex_lock(&parcels->lock);
	stats->parcels = parcels->empty;
	for (const struct reel_bin *bin = parcels->bins; bin; bin = bin->next)
		add_bin(bin, stats);
	pthread_mutex_unlock(&parcels->lock);
}
