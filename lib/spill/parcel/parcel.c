/* SPDX-License-Identifier: MIT */
/*
 * Parcels, as programs call them. Any thread runs these functions; the program orders those that
 * change one parcel. An open parcel counts as a pin of its bin, which it gives up when it is
 * sealed.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/error.h"
#include "os/integer.h"
#include "os/os.h"
#include "parcel.h"
#include "spill/pool/default-pool.h"
#include "store/store.h"

/* ---- Opening and closing ---- */

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
		return reel_fail(
			error,
			"%s of %zu bytes: the hard budget of %zu bytes is used up, and the "
			"store takes no more: %s",
			what, bytes, hard_budget, reel_store_strerror(failure));
	if (error == -EDQUOT)
		return reel_fail(
			error,
			"%s of %zu bytes: the hard budget of %zu bytes is used up, and %llu "
			"bytes of parcels are open or pinned; seal or unpin some, raise it%s",
			what, bytes, hard_budget, (unsigned long long)stats.pinned_bytes,
			offload ? "" : ", or give the pool a store (REEL_SPILL_DIR)");
	if (error == -ECHILD)
		return reel_fail(
			error,
			"%s of %zu bytes: in the child of a fork the store is its parent's; "
			"open a pool in the child, and parcels on it",
			what, bytes);
	return reel_fail(error, "%s of %zu bytes: %s%s", what, bytes, reel_store_strerror(error),
			 error == -ENOMEM ? reel_os_mappings_remedy() : "");
}

static const char *options_problem(const struct reel_parcel_options *options)
{
	const char *problem =
		reel_reserved_problem(options->reserved, sizeof options->reserved);

	if (problem || !options->layout.element || options->layout.element == REEL_INCOMPRESSIBLE)
		return problem;
	return reel_layout_problem(options->layout);
}

/* `lent`: memory of the program, which the parcel may lie in; or NULL. */
static int open_in(struct reel_parcels *parcels, size_t bytes, struct reel_layout layout,
		   bool alone, void *lent, struct reel_parcel **opened)
{
	struct reel_parcel *parcel;
	int error;

	/* Smaller sizes can be rounded up to whole pages and slabs without a wrap. */
	if (bytes > PTRDIFF_MAX - parcels->pool->slab_bytes)
		return reel_fail(-EOVERFLOW,
				 "a parcel of %zu bytes is larger than the address space; check "
				 "the size, which may have been negative",
				 bytes);
	parcel = calloc(1, sizeof *parcel);
	if (!parcel)
		return reel_fail(-ENOMEM, "no memory for a parcel");
	parcel->parcels = parcels;
	parcel->bytes = bytes;
	parcel->alone = alone;
	atomic_store_explicit(&parcel->pins, REEL_PARCEL_IS_OPEN, memory_order_relaxed);
	error = lent ? reel_parcel_place_lent(parcel, layout, lent) : -ENOTSUP;
	if (error == -ENOTSUP)
		error = reel_parcel_place(parcel, layout);
	if (error) {
		free(parcel);
		return fail_for_room(parcels, "a parcel", bytes, error);
	}
	REEL_TRACE(PARCEL_OPEN, 0, parcels->pool->number, (int64_t)bytes);
	*opened = parcel;
	return 0;
}

static int open_with(const struct reel_parcel_options *options, reel_pool *pool, size_t bytes,
		     void *lent, struct reel_parcel **opened)
{
	const char *problem = options ? options_problem(options) : NULL;
	struct reel_parcels *parcels;
	int error;

	if (problem)
		return reel_fail(-EINVAL, "%s", problem);
	error = pool ? 0 : reel_pool_open_default(&pool);
	if (error)
		return error;
	parcels = reel_parcels_of(pool);
	if (!parcels)
		return reel_fail(-ENOMEM, "no memory for a parcel");
	return open_in(parcels, bytes, options ? options->layout : (struct reel_layout){0}, false,
		       lent, opened);
}

int reel_parcel_open(reel_parcel **opened, reel_pool *pool, size_t bytes,
		     const struct reel_parcel_options *options, void **data)
{
	REEL_UNCANCELLED;
	int error = open_with(options, pool, bytes, NULL, opened);

	if (!error)
		*data = data_of(*opened);
	return error;
}

int reel_parcel_open_alone(reel_parcel **opened, reel_pool *pool, size_t bytes, void **data)
{
	REEL_UNCANCELLED;
	struct reel_parcels *parcels = reel_parcels_of(pool);
	int error = parcels ? open_in(parcels, bytes, (struct reel_layout){0}, true, NULL,
				      opened)
			    : -ENOMEM;

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
	reel_place_leave(parcel->bin);
	free(parcel);
	return 0;
}

/* ---- Sealing ---- */

/* `note` tells the bin whether the contents may have changed; NULL: they are as they were. */
static int seal(struct reel_parcel *parcel, void (*note)(struct reel_bin *bin))
{
	if (!move(parcel, REEL_PARCEL_IS_OPEN, 0))
		return reel_fail(-EINVAL, "a parcel is sealed that is not open");
	REEL_TRACE(PARCEL_SEAL, 0, parcel->parcels->pool->number, (int64_t)parcel->bytes);
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

int reel_parcel_lend(reel_parcel **opened, reel_pool *pool, void *data, size_t bytes,
		     const struct reel_parcel_options *options)
{
	REEL_UNCANCELLED;
	struct reel_parcel *parcel;
	int error;

	if (!data)
		return reel_fail(-EINVAL, "memory is lent at the address NULL");
	error = open_with(options, pool, bytes, data, &parcel);
	if (error)
		return error;
	if (data_of(parcel) != data) {
		memcpy(data_of(parcel), data, bytes);
		error = reel_supply_give_back(parcel->parcels->pool, data);
	}
	if (error) {
		reel_parcel_close(parcel);
		return reel_fail(error, "no memory for a parcel");
	}
	*opened = parcel;
	return seal(parcel, NULL);
}

void *reel_parcel_take_back(reel_pool *pool)
{
	return pool || !reel_pool_open_default(&pool) ? reel_supply_take_back(pool) : NULL;
}

static int pin(struct reel_parcel *parcel, uint64_t until)
{
	int error = reel_bin_pin(parcel->bin, until);

	if (error == -EAGAIN)
		return reel_fail(error, "the parcel is not in memory yet");
	return error ? fail_for_room(parcel->parcels, "a pin", parcel->bytes, error) : 0;
}

int reel_parcel_unseal(reel_parcel *parcel, void **data)
{
	REEL_UNCANCELLED;
	int error;

	if (!move(parcel, 0, REEL_PARCEL_IS_OPEN))
		return atomic_load_explicit(&parcel->pins, memory_order_relaxed) > 0
			       ? reel_fail(-EBUSY, "a parcel cannot be unsealed while it is pinned")
			       : reel_fail(-EINVAL, "a parcel is unsealed that is open");
	error = pin(parcel, REEL_FOREVER);
	if (!error && reel_bin_await_put(parcel->bin)) {
		reel_bin_unpin(parcel->bin);
		error = reel_fail(-ENOMEM, "no memory to wait for the store with");
	}
	if (error)
		move(parcel, REEL_PARCEL_IS_OPEN, 0);
	else
		*data = data_of(parcel);
	return error;
}

/* ---- Pinning ---- */

/* Relaxed, here and below: a count for checks; the bin orders the contents. */
static int pin_until(struct reel_parcel *parcel, const void **data, uint64_t until)
{
	int error;

	if (atomic_load_explicit(&parcel->pins, memory_order_relaxed) < 0)
		return reel_fail(-EINVAL, "a parcel is pinned that is open: seal it first");
	error = pin(parcel, until);
	if (error)
		return error;
	atomic_fetch_add_explicit(&parcel->pins, 1, memory_order_relaxed);
	REEL_TRACE(PARCEL_PIN, 0, parcel->parcels->pool->number, (int64_t)parcel->bytes);
	*data = data_of(parcel);
	return 0;
}

int reel_parcel_pin(reel_parcel *parcel, const void **data)
{
	return pin_until(parcel, data, REEL_FOREVER);
}

int reel_parcel_pin_for(reel_parcel *parcel, const void **data, uint32_t milliseconds)
{
	return pin_until(parcel, data,
			 milliseconds ? reel_clock_ns() + milliseconds * UINT64_C(1000000) : 0);
}

bool reel_parcel_is_in_memory(const reel_parcel *parcel)
{
	return reel_bin_is_in_memory(parcel->bin);
}

void reel_parcel_unpin(reel_parcel *parcel)
{
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
