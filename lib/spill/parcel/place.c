/* SPDX-License-Identifier: MIT */
/*
 * Where parcels lie: a small one in an open bin, which others share, and a larger one in a bin of
 * its own. Any thread runs these functions.
 */
#include "config.h"

#include <errno.h>

#include "os/os.h"
#include "parcel.h"

/* ---- Open bins ---- */

/* A parcel of 0 bytes also has an address. */
static size_t room_of(const struct reel_parcel *parcel)
{
	return parcel->bytes ? parcel->bytes : 1;
}

/* Where a parcel of `bytes` bytes lies in the bin if it is added there. */
static size_t next_offset(const struct reel_bin *bin, size_t bytes)
{
	size_t mask = bytes < 64 ? 15 : 63;

	return (bin->filled + mask) & ~mask;
}

static bool is_small(const struct reel_parcel *parcel)
{
	return parcel->bytes <= parcel->parcels->pool->slab_bytes / 2 && !parcel->alone;
}

/* Requires parcels->lock. */
static bool fits(const struct reel_bin *bin, const struct reel_parcel *parcel)
{
	return bin && next_offset(bin, room_of(parcel)) + room_of(parcel) <= bin->slab->bytes;
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

		if (bin && bin->layout.element == layout.element &&
		    bin->layout.stride == layout.stride)
			return &parcels->open_bins[i];
	}
	return other_slot(parcel);
}

/* Requires parcels->lock. */
static void put_into(struct reel_bin *bin, struct reel_parcel *parcel)
{
	parcel->offset = next_offset(bin, room_of(parcel));
	bin->filled = parcel->offset + room_of(parcel);
	REEL_ASSERT(bin->filled <= bin->slab->bytes);
	parcel->bin = bin;
	bin->live++;
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

/* The bin counts in `retiring`. The caller is taking memory of the pool, so nobody closes it. */
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
	pthread_mutex_lock(&parcels->lock);
	/* It is 0 in the child of a fork that a function of the store has made. */
	parcels->retiring -= parcels->retiring > 0;
	pthread_mutex_unlock(&parcels->lock);
}

/* Requires parcels->lock. */
static struct reel_bin *take_out_idle(struct reel_parcels *parcels)
{
	for (unsigned i = 0; i < parcels->slots; i++) {
		struct reel_bin *bin = parcels->open_bins[i];

		/* One pin belongs to the open bin. */
		if (bin && reel_pins_count(&bin->pins) == 1)
			return take_out(bin->slot);
	}
	return NULL;
}

bool reel_parcels_retire_idle(struct reel_pool_client *client)
{
	struct reel_parcels *parcels = (struct reel_parcels *)client;
	struct reel_bin *idle;
	bool is_found;

	pthread_mutex_lock(&parcels->lock);
	idle = take_out_idle(parcels);
	parcels->retiring += idle != NULL;
	is_found = parcels->retiring > 0;
	pthread_mutex_unlock(&parcels->lock);
	if (idle)
		retire(idle);
	return is_found;
}

/*
 * Puts the parcel into an open bin if it fits there, and returns true. Otherwise makes room for a
 * fresh bin, and puts the parcel there if the caller has one.
 */
static bool put_into_open(struct reel_parcel *parcel, struct reel_layout layout,
			  struct reel_bin *fresh)
{
	struct reel_bin **slot, *full = NULL;
	bool fitted;

	pthread_mutex_lock(&parcel->parcels->lock);
	slot = slot_for(parcel, layout);
	fitted = fits(*slot, parcel);
	if (!fitted) {
		full = take_out(slot);
		parcel->parcels->retiring += full != NULL;
		if (fresh)
			enter(fresh, slot);
	}
	if (*slot)
		put_into(*slot, parcel);
	pthread_mutex_unlock(&parcel->parcels->lock);
	if (full)
		retire(full);
	return fitted;
}

static int place_small(struct reel_parcel *parcel, struct reel_layout layout)
{
	struct reel_parcels *parcels = parcel->parcels;
	struct reel_bin *fresh;
	int error;

	/* Without a fresh bin first: the bin that was open may leave memory for it. */
	if (put_into_open(parcel, layout, NULL))
		return 0;
	error = reel_bin_open(parcels, REEL_SLAB_WHOLE, parcels->pool->slab_bytes, layout, &fresh);
	if (error)
		return error;
	/* Another thread may have opened a bin meanwhile. Then the fresh one goes back. */
	if (put_into_open(parcel, layout, fresh))
		reel_bin_close(fresh);
	return 0;
}

/* ---- Parcels with a bin of their own ---- */

/* A whole slab, unless more than an eighth of it would be wasted. */
static enum reel_slab_kind kind_of(const struct reel_parcel *parcel)
{
	const struct reel_pool *pool = parcel->parcels->pool;
	size_t pages = reel_supply_large_bytes(room_of(parcel));

	if (parcel->alone || parcel->bytes > pool->slab_bytes)
		return REEL_SLAB_LARGE;
	return pages < pool->slab_bytes && pool->slab_bytes - pages > pool->slab_bytes / 8
		       ? REEL_SLAB_LARGE
		       : REEL_SLAB_WHOLE;
}

static void enter_alone(struct reel_parcel *parcel, struct reel_bin *bin, size_t offset)
{
	parcel->bin = bin;
	parcel->offset = offset;
	/* reel_parcel_get_stats() reads both members. */
	pthread_mutex_lock(&parcel->parcels->lock);
	bin->live++;
	bin->filled = offset + room_of(parcel);
	pthread_mutex_unlock(&parcel->parcels->lock);
}

static int place_alone(struct reel_parcel *parcel, struct reel_layout layout)
{
	struct reel_parcels *parcels = parcel->parcels;
	enum reel_slab_kind kind = kind_of(parcel);
	struct reel_bin *bin;
	/* The frames of a pool with a parent have one size; only the filled part is put. */
	size_t room = room_of(parcel), frame_bytes = parcels->pool->frame_bytes;
	int error = reel_bin_open(parcels, kind, room < frame_bytes ? frame_bytes : room, layout,
				  &bin);

	/* The system limits the number of mappings; a whole slab is a piece of a mapping. */
	if (error == -ENOMEM && kind == REEL_SLAB_LARGE && !parcels->pool->parent &&
	    parcel->bytes <= parcels->pool->slab_bytes)
		error = reel_bin_open(parcels, REEL_SLAB_WHOLE, room_of(parcel), layout, &bin);
	if (error)
		return error;
	enter_alone(parcel, bin, 0);
	return 0;
}

int reel_parcel_place(struct reel_parcel *parcel, struct reel_layout layout)
{
	return is_small(parcel) ? place_small(parcel, layout) : place_alone(parcel, layout);
}

/* ---- Parcels in memory that the program has lent ---- */

/*
 * A store that registers frames would have to know such memory before and after its loan. Short
 * parcels share slabs, so that the store gets few large pieces. Others have a head and a tail of
 * a page at most (transfer.c).
 */
static bool may_lie_in_lent(const struct reel_parcel *parcel)
{
	const struct reel_pool *pool = parcel->parcels->pool;
	const struct reel_offload *offload = reel_offload_of(pool);
	size_t page = reel_os_page_bytes();

	return !pool->parent && !(offload && offload->registers) &&
	       parcel->bytes > pool->slab_bytes / 8 && pool->slab_bytes % page == 0;
}

int reel_parcel_place_lent(struct reel_parcel *parcel, struct reel_layout layout, void *lent)
{
	size_t offset = (uintptr_t)lent % reel_os_page_bytes();
	struct reel_bin *bin;
	int error;

	if (!may_lie_in_lent(parcel))
		return -ENOTSUP;
	error = reel_bin_open(parcel->parcels, REEL_SLAB_LENT,
			      reel_supply_large_bytes(offset + parcel->bytes), layout, &bin);
	if (error)
		return error;
	bin->slab->lent = lent;
	bin->slab->frame = bin->slab->lent - offset;
	enter_alone(parcel, bin, offset);
	return 0;
}

/* ---- Leaving ---- */

void reel_place_leave(struct reel_bin *bin)
{
	struct reel_parcels *parcels = bin->parcels;
	bool last;

	pthread_mutex_lock(&parcels->lock);
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
