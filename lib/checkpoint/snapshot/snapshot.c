/* SPDX-License-Identifier: MIT */
/*
 * The slots of snapshots: store, load, read ahead and drop. The threads that carry actions out run
 * these functions, and one more thread may read ahead. `snapshots->lock` guards the slots. A slot
 * that has a state has a parcel, except while the parcel is being opened. No function waits while
 * it holds the lock.
 */
#include "config.h"

#include "snapshot.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "os/integer.h"

#define NO_STATE (-1)

static void lock(struct reel_snapshots *snapshots)
{
	int before = reel_cancel_disable();

	pthread_mutex_lock(&snapshots->lock);
	snapshots->cancel_before = before;
}

static void unlock(struct reel_snapshots *snapshots)
{
	int before = snapshots->cancel_before;

	pthread_mutex_unlock(&snapshots->lock);
	reel_cancel_restore(&before);
	/* A test may schedule another thread here, between a check and a use of the slot. */
	reel_yield_point();
}

static bool has_store(const struct reel_snapshots *snapshots, unsigned tier)
{
	return snapshots->tier[tier].pool != snapshots->pool;
}

/* ---- Slots ---- */

/*
 * Returns slot `number`, or NULL: no memory. The array may move, so pointers to slots are valid
 * until the lock is released.
 */
static struct reel_slot *slot_at(struct reel_snapshot_tier *tier, unsigned number)
{
	unsigned slots = tier->slots ? tier->slots : 16;
	struct reel_slot *slot;

	if (number < tier->slots)
		return &tier->slot[number];
	if (number > INT_MAX)
		return NULL;
	while (slots <= number)
		slots *= 2;
	slot = realloc(tier->slot, slots * sizeof *slot);
	if (!slot)
		return NULL;
	for (unsigned i = tier->slots; i < slots; i++)
		slot[i] = (struct reel_slot){.state = NO_STATE};
	tier->slot = slot;
	tier->slots = slots;
	return &slot[number];
}

/* Returns the slot, or NULL if it does not hold state `state`. Requires `snapshots->lock`. */
static struct reel_slot *slot_of(struct reel_snapshots *snapshots, unsigned number_of_tier,
				 unsigned number, int64_t state)
{
	struct reel_snapshot_tier *tier = &snapshots->tier[number_of_tier];

	REEL_ASSERT(number_of_tier < snapshots->tiers && state != NO_STATE);
	return number < tier->slots && tier->slot[number].state == state ? &tier->slot[number]
									 : NULL;
}

/*
 * Does the same as slot_of(), but returns NULL also if save() was left before the snapshot was
 * complete: such a snapshot is not loaded.
 */
static struct reel_slot *saved_slot_of(struct reel_snapshots *snapshots, unsigned tier,
				       unsigned number, int64_t state)
{
	struct reel_slot *slot = slot_of(snapshots, tier, number, state);

	REEL_ASSERT(!slot || !slot->saved || slot->parcel);
	return slot && slot->saved ? slot : NULL;
}

/* ---- Memory ---- */

/* Requires `snapshots->lock`. */
static void note_peak(struct reel_snapshots *snapshots)
{
	size_t bytes = snapshots->memory_bytes;

	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		/* Relaxed: statistics guard no other data. */
		if (has_store(snapshots, tier))
			bytes += atomic_load_explicit(&snapshots->tier[tier].pool->resident,
						      memory_order_relaxed);
	if (bytes > snapshots->peak_bytes)
		snapshots->peak_bytes = bytes;
}

/* ---- Storing ---- */

static int claim(struct reel_snapshots *snapshots, unsigned tier, unsigned number, int64_t state,
		 size_t bytes)
{
	struct reel_slot *slot;
	int error = 0;

	lock(snapshots);
	slot = slot_at(&snapshots->tier[tier], number);
	if (!slot)
		error = -ENOMEM;
	else if (slot->state != NO_STATE)
		error = -EBADMSG;
	if (!error) {
		slot->state = state;
		slot->bytes = bytes;
	}
	unlock(snapshots);
	return error;
}

int reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			  int64_t state, size_t bytes, void **data)
{
	reel_parcel *parcel = NULL;
	struct reel_slot *slot;
	reel_pool *pool = snapshots->tier[tier].pool;
	int error = claim(snapshots, tier, number, state, bytes);

	if (error)
		return error;
	if (has_store(snapshots, tier))
		reel_pool_await_puts(pool, snapshots->max_puts - 1);
	error = reel_parcel_open_alone(&parcel, pool, bytes, data);
	if (error) {
		reel_snapshot_drop(snapshots, tier, number, state);
		return error;
	}
	lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	REEL_ASSERT(slot->state == state && !slot->saved && !slot->parcel);
	slot->parcel = parcel;
	if (!has_store(snapshots, tier))
		snapshots->memory_bytes += bytes;
	note_peak(snapshots);
	unlock(snapshots);
	return 0;
}

void reel_snapshot_commit(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_slot *slot;

	lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	REEL_ASSERT(!slot->saved && slot->parcel);
	reel_parcel_seal(slot->parcel);
	slot->saved = true;
	unlock(snapshots);
}

/* ---- Loading ---- */

/* Without memory to announce it, the load reads it. Requires `snapshots->lock`. */
static void announce(const struct reel_slot *slot)
{
	REEL_ASSERT(slot->saved && slot->parcel);
	reel_parcel_announce(&slot->parcel, 1);
}

/* Requires `snapshots->lock`. */
static void set_announced_loads(struct reel_snapshots *snapshots, struct reel_slot *slot,
				unsigned loads)
{
	REEL_ASSERT(snapshots->ahead >= (slot->announced_loads > 0));
	snapshots->ahead -= slot->announced_loads > 0;
	snapshots->ahead += loads > 0;
	slot->announced_loads = loads;
}

bool reel_snapshot_read_ahead(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			      int64_t state)
{
	struct reel_slot *slot;
	bool may_wait;

	lock(snapshots);
	slot = saved_slot_of(snapshots, tier, number, state);
	may_wait = slot && (slot->announced_loads || snapshots->ahead < snapshots->max_ahead);
	if (may_wait && !slot->announced_loads)
		announce(slot);
	if (may_wait)
		set_announced_loads(snapshots, slot, slot->announced_loads + 1);
	REEL_ASSERT(snapshots->ahead <= snapshots->max_ahead);
	unlock(snapshots);
	return may_wait;
}

/*
 * Notes that the parcel was pinned. If load() was left by an exception, the slot has a pin already,
 * and one is enough. A pin for a LOAD is one of those that were announced. While another LOAD is
 * announced, the snapshot stays in memory: each pin ends the parcel's announcement, so it is
 * announced again.
 */
static void note_pin(struct reel_snapshots *snapshots, unsigned tier, unsigned number, bool is_load)
{
	struct reel_slot *slot;

	lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	REEL_ASSERT(slot->saved && slot->parcel);
	if (slot->pinned)
		reel_parcel_unpin(slot->parcel);
	slot->pinned = true;
	if (is_load && slot->announced_loads)
		set_announced_loads(snapshots, slot, slot->announced_loads - 1);
	if (slot->announced_loads)
		announce(slot);
	note_peak(snapshots);
	unlock(snapshots);
}

int reel_snapshot_pin(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
		      int64_t state, bool is_load, const void **data)
{
	const struct reel_slot *slot;
	reel_parcel *parcel;
	int error;

	lock(snapshots);
	slot = saved_slot_of(snapshots, tier, number, state);
	parcel = slot ? slot->parcel : NULL;
	unlock(snapshots);
	error = parcel ? reel_parcel_pin(parcel, data) : -EBADMSG;
	if (!error)
		note_pin(snapshots, tier, number, is_load);
	return error;
}

void reel_snapshot_unpin(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_slot *slot;

	lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	REEL_ASSERT(slot->pinned && slot->saved);
	slot->pinned = false;
	reel_parcel_unpin(slot->parcel);
	unlock(snapshots);
}

int64_t reel_snapshot_state(struct reel_snapshots *snapshots, unsigned number_of_tier,
			    unsigned number)
{
	struct reel_snapshot_tier *tier = &snapshots->tier[number_of_tier];
	int64_t state;

	lock(snapshots);
	state = number < tier->slots ? tier->slot[number].state : NO_STATE;
	unlock(snapshots);
	return state;
}

size_t reel_snapshot_bytes(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	size_t bytes;

	lock(snapshots);
	REEL_ASSERT(snapshots->tier[tier].slot[number].state != NO_STATE);
	bytes = snapshots->tier[tier].slot[number].bytes;
	unlock(snapshots);
	return bytes;
}

/* ---- Dropping ---- */

static void close_parcel(struct reel_snapshots *snapshots, unsigned tier, struct reel_slot *slot)
{
	int error;

	if (slot->pinned)
		reel_parcel_unpin(slot->parcel);
	error = reel_parcel_close(slot->parcel);
	REEL_ASSERT(!error);
	(void)error;
	if (has_store(snapshots, tier))
		return;
	REEL_ASSERT(snapshots->memory_bytes >= slot->bytes);
	snapshots->memory_bytes -= slot->bytes;
}

/*
 * Empties the slot, also one that is not saved, or is pinned: the thread of a callback may be
 * cancelled meanwhile.
 */
int reel_snapshot_drop(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
		       int64_t state)
{
	struct reel_slot *slot;

	lock(snapshots);
	slot = slot_of(snapshots, tier, number, state);
	if (slot) {
		set_announced_loads(snapshots, slot, 0);
		if (slot->parcel)
			close_parcel(snapshots, tier, slot);
		*slot = (struct reel_slot){.state = NO_STATE};
	}
	unlock(snapshots);
	return slot ? 0 : -EBADMSG;
}

/* ---- Statistics ---- */

static void add_counters(struct reel_snapshots *snapshots, struct reel_run_stats *stats)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++) {
		struct reel_parcel_stats parcels;
		struct reel_pool_stats pool;

		if (!has_store(snapshots, tier))
			continue;
		reel_pool_get_stats(snapshots->tier[tier].pool, &pool);
		reel_parcel_get_stats(snapshots->tier[tier].pool, &parcels);
		stats->put_bytes += pool.written_bytes;
		stats->got_bytes += pool.read_bytes;
		stats->failed_puts += pool.failed_puts;
		stats->fetched += parcels.hits;
		stats->waits += pool.stalls;
		stats->wait_ns += pool.stall_ns;
	}
}

void reel_snapshots_get_stats(struct reel_snapshots *snapshots, struct reel_run_stats *stats)
{
	struct reel_run_stats now = {0};
	const struct reel_run_stats *before = &snapshots->before;

	add_counters(snapshots, &now);
	lock(snapshots);
	stats->put_bytes = now.put_bytes - before->put_bytes;
	stats->got_bytes = now.got_bytes - before->got_bytes;
	stats->failed_puts = now.failed_puts - before->failed_puts;
	stats->fetched = now.fetched - before->fetched;
	stats->waits = now.waits - before->waits;
	stats->wait_ns = now.wait_ns - before->wait_ns;
	stats->peak_snapshot_bytes = snapshots->peak_bytes;
	REEL_ASSERT(stats->put_bytes <= now.put_bytes && stats->waits <= now.waits);
	unlock(snapshots);
}

void reel_snapshots_empty(struct reel_snapshots *snapshots)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		for (unsigned i = 0; i < snapshots->tier[tier].slots; i++)
			if (snapshots->tier[tier].slot[i].state != NO_STATE)
				reel_snapshot_drop(snapshots, tier, i,
						   snapshots->tier[tier].slot[i].state);
	REEL_ASSERT(!snapshots->ahead && !snapshots->memory_bytes);
	/*
	 * The puts of dropped snapshots end here, so that they count for this run and not the next.
	 */
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		if (has_store(snapshots, tier))
			reel_pool_settle(snapshots->tier[tier].pool);
	snapshots->before = (struct reel_run_stats){0};
	add_counters(snapshots, &snapshots->before);
	snapshots->peak_bytes = 0;
}

/* ---- Beginning and end ---- */

static void close_pools(struct reel_snapshots *snapshots, bool closes_stores)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++) {
		int error =
			has_store(snapshots, tier)
				? reel_pool_close_child(snapshots->tier[tier].pool, closes_stores)
				: 0;

		REEL_ASSERT(!error);
		(void)error;
		snapshots->tier[tier].pool = snapshots->pool;
	}
}

int reel_snapshots_open(struct reel_snapshots *snapshots, reel_pool *pool, size_t bytes,
			unsigned tiers, reel_store *const *store, unsigned puts, unsigned ahead)
{
	REEL_UNCANCELLED;

	REEL_ASSERT(tiers <= REEL_MAX_TIERS && puts > 0 && puts <= REEL_MAX_PUTS);
	*snapshots = (struct reel_snapshots){.pool = pool, .tiers = tiers, .max_puts = puts,
					     .max_ahead = ahead};
	for (unsigned tier = 0; tier < tiers; tier++)
		snapshots->tier[tier].pool = pool;
	for (unsigned tier = 0; tier < tiers; tier++) {
		int error = store[tier] ? reel_pool_open_child(&snapshots->tier[tier].pool, pool,
							       store[tier], bytes ? bytes : 1,
							       puts + ahead, NULL)
					: 0;

		if (error) {
			close_pools(snapshots, false);
			return error;
		}
	}
	pthread_mutex_init(&snapshots->lock, NULL);
	return 0;
}

void reel_snapshots_leave(struct reel_snapshots *snapshots)
{
	close_pools(snapshots, false);
}

void reel_snapshots_close(struct reel_snapshots *snapshots)
{
	reel_snapshots_empty(snapshots);
	close_pools(snapshots, true);
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		free(snapshots->tier[tier].slot);
	pthread_mutex_destroy(&snapshots->lock);
}
