/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "os/integer.h"
#include "snapshot.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

/* Larger snapshots are put in pieces, which a store can move side by side. */
#define PIECE_BYTES ((size_t)2 << 20)
#define EMPTY (-1)

/* ---- Puts ---- */

/* Under the lock: it is ahead of a load no more. */
static void end_get(struct reel_snapshots *snapshots, struct reel_slot *slot)
{
	if (slot->fetched)
		snapshots->gets--;
	slot->fetched = slot->reading = false;
}

/* Under the lock: it is in the store, too. One that will be loaded soon stays, if it may. */
static void keep_or_give_buffer(struct reel_snapshots *snapshots, struct reel_slot *slot)
{
	if (slot->announced_loads && snapshots->gets < snapshots->max_gets) {
		slot->fetched = true;
		snapshots->gets++;
	} else {
		reel_snapshot_buffer_give(snapshots, slot->buffer);
		slot->buffer = NULL;
	}
}

/* Under the lock: those pieces that the store has. */
static void drop_extents(struct reel_snapshots *snapshots, unsigned tier,
			 struct reel_extent *extent)
{
	for (unsigned piece = 0; piece < reel_snapshot_pieces(snapshots, tier); piece++)
		reel_store_drop(snapshots->tier[tier].store, extent[piece]);
}

static void drop_pieces_of_failed_put(struct reel_snapshots *snapshots, const struct reel_put *put)
{
	for (unsigned piece = 0; piece < reel_snapshot_pieces(snapshots, put->tier); piece++)
		if (!put->buffer->transfer[piece].error)
			reel_store_drop(snapshots->tier[put->tier].store,
					put->buffer->transfer[piece].extent);
}

static void note_extents(struct reel_snapshots *snapshots, const struct reel_put *put)
{
	for (unsigned piece = 0; piece < reel_snapshot_pieces(snapshots, put->tier); piece++)
		put->extent[piece] = put->buffer->transfer[piece].extent;
}

/* Under the lock. */
static void end_put(struct reel_snapshots *snapshots, const struct reel_put *put)
{
	struct reel_slot *slot = &snapshots->tier[put->tier].slot[put->slot];
	bool failed = atomic_load_explicit(&put->buffer->error, memory_order_relaxed) != 0;

	if (failed) {
		snapshots->failed_puts++;
		drop_pieces_of_failed_put(snapshots, put);
	} else {
		note_extents(snapshots, put);
		snapshots->put_bytes += snapshots->padded_bytes;
	}
	if (put->dropped) {
		if (!failed)
			drop_extents(snapshots, put->tier, put->extent);
		free(put->extent);
		reel_snapshot_buffer_give(snapshots, put->buffer);
	} else if (!failed) {
		slot->stored = true;
		if (!slot->pinned)
			keep_or_give_buffer(snapshots, slot);
	}
}

/* Under the lock: what has been put frees its buffer. */
static void end_puts(struct reel_snapshots *snapshots)
{
	unsigned left = 0;

	for (unsigned i = 0; i < snapshots->puts; i++) {
		if (reel_snapshot_buffer_is_moving(snapshots->put[i].buffer))
			snapshots->put[left++] = snapshots->put[i];
		else
			end_put(snapshots, &snapshots->put[i]);
	}
	snapshots->puts = left;
}

/* Wait for the put that was started first, if there are more than so many. */
static bool await_puts(struct reel_snapshots *snapshots, unsigned most)
{
	struct reel_put put;
	bool waits;

	reel_snapshots_lock(snapshots);
	end_puts(snapshots);
	waits = snapshots->puts > most;
	put = snapshots->put[0];
	reel_snapshots_unlock(snapshots);
	if (!waits)
		return false;
	reel_snapshot_buffer_await(snapshots, put.buffer);
	reel_snapshots_lock(snapshots);
	end_puts(snapshots);
	reel_snapshots_unlock(snapshots);
	return true;
}

/* ---- Slots ---- */

/* Under the lock. NULL: no memory. */
static struct reel_slot *slot_at(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_snapshot_store *of = &snapshots->tier[tier];
	unsigned slots = of->slots ? of->slots : 16;
	struct reel_slot *slot;

	if (number < of->slots)
		return &of->slot[number];
	if (number > INT_MAX)
		return NULL;
	while (slots <= number)
		slots *= 2;
	slot = realloc(of->slot, slots * sizeof *slot);
	if (!slot)
		return NULL;
	memset(slot + of->slots, 0, (slots - of->slots) * sizeof *slot);
	for (unsigned i = of->slots; i < slots; i++)
		slot[i].state = EMPTY;
	of->slot = slot;
	of->slots = slots;
	return &slot[number];
}

/* Under the lock. NULL: the slot holds something else. */
static struct reel_slot *slot_of(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
				 int64_t state)
{
	struct reel_snapshot_store *of = &snapshots->tier[tier];

	return number < of->slots && of->slot[number].state == state ? &of->slot[number] : NULL;
}

/* Under the lock: one that nobody looks at; rather one that has come. */
static struct reel_slot *find_fetched(struct reel_snapshots *snapshots)
{
	struct reel_slot *found = NULL;

	for (unsigned tier = 0; tier < snapshots->tiers; tier++) {
		for (unsigned i = 0; i < snapshots->tier[tier].slots; i++) {
			struct reel_slot *slot = &snapshots->tier[tier].slot[i];

			if (!slot->fetched || slot->pinned)
				continue;
			found = slot;
			if (!reel_snapshot_buffer_is_moving(slot->buffer))
				return found;
		}
	}
	return found;
}

/* What was read ahead can be read again. False: there is none. */
static bool drop_read_ahead(struct reel_snapshots *snapshots)
{
	struct reel_snapshot_buffer *moving = NULL;
	struct reel_slot *slot;

	reel_snapshots_lock(snapshots);
	slot = find_fetched(snapshots);
	if (slot && reel_snapshot_buffer_is_moving(slot->buffer)) {
		moving = slot->buffer;
	} else if (slot) {
		end_get(snapshots, slot);
		reel_snapshot_buffer_give(snapshots, slot->buffer);
		slot->buffer = NULL;
	}
	reel_snapshots_unlock(snapshots);
	if (moving)
		reel_snapshot_buffer_await(snapshots, moving);
	return slot != NULL;
}

static uint64_t count_given(struct reel_snapshots *snapshots)
{
	uint64_t given;

	reel_snapshots_lock(snapshots);
	given = snapshots->given;
	reel_snapshots_unlock(snapshots);
	return given;
}

/*
 * A buffer by all means: those of puts and of what was read ahead become free. One that
 * anybody gave back since it was asked for, a put that has just ended among them, may do.
 */
static struct reel_snapshot_buffer *demand_buffer(struct reel_snapshots *snapshots, int *error)
{
	struct reel_snapshot_buffer *buffer;
	uint64_t given;

	do {
		given = count_given(snapshots);
		buffer = reel_snapshot_buffer_take(snapshots, error);
	} while (!buffer && (await_puts(snapshots, 0) || drop_read_ahead(snapshots) ||
			     count_given(snapshots) != given));
	return buffer;
}

/* ---- Storing ---- */

static int claim(struct reel_snapshots *snapshots, unsigned tier, unsigned number, int64_t state)
{
	struct reel_slot *slot;
	int error = 0;

	reel_snapshots_lock(snapshots);
	slot = slot_at(snapshots, tier, number);
	if (slot && slot->state == EMPTY && snapshots->tier[tier].store)
		slot->extent = calloc(reel_snapshot_pieces(snapshots, tier), sizeof *slot->extent);
	if (!slot || (snapshots->tier[tier].store && slot->state == EMPTY && !slot->extent))
		error = -ENOMEM;
	else if (slot->state != EMPTY)
		error = -EBADMSG;
	if (!error) {
		slot->state = state;
		slot->serial = ++snapshots->serial;
	}
	reel_snapshots_unlock(snapshots);
	return error;
}

int reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			  int64_t state, void **data)
{
	struct reel_snapshot_buffer *buffer;
	struct reel_slot *slot;
	int error = claim(snapshots, tier, number, state);

	if (error)
		return error;
	if (snapshots->tier[tier].store)
		while (await_puts(snapshots, snapshots->max_puts - 1))
			;
	buffer = demand_buffer(snapshots, &error);
	if (!buffer) {
		reel_snapshot_drop(snapshots, tier, number, state);
		return error;
	}
	reel_snapshots_lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	slot->buffer = buffer;
	slot->pinned = true;
	reel_snapshots_unlock(snapshots);
	*data = reel_snapshot_buffer_data(buffer);
	return 0;
}

/* Where many threads store at once, the list of puts may be full: it stays in memory. */
void reel_snapshot_commit(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_slot *slot;

	reel_snapshots_lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	slot->pinned = false;
	end_puts(snapshots);
	if (snapshots->tier[tier].store && snapshots->puts < REEL_MAX_PUTS) {
		snapshots->put[snapshots->puts++] = (struct reel_put){.buffer = slot->buffer,
								      .extent = slot->extent,
								      .tier = tier,
								      .slot = number};
		reel_snapshot_buffer_start(snapshots, tier, slot->buffer, slot->serial, NULL);
	}
	reel_snapshots_unlock(snapshots);
}

/* ---- Loading ---- */

/* Under the lock. */
static void start_get(struct reel_snapshots *snapshots, unsigned tier, struct reel_slot *slot,
		      struct reel_snapshot_buffer *buffer)
{
	slot->buffer = buffer;
	slot->fetched = slot->reading = true;
	snapshots->gets++;
	reel_snapshot_buffer_start(snapshots, tier, buffer, slot->serial, slot->extent);
}

bool reel_snapshot_read_ahead(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			      int64_t state)
{
	struct reel_slot *slot;
	struct reel_snapshot_buffer *buffer;
	bool absent, room;
	int error;

	reel_snapshots_lock(snapshots);
	end_puts(snapshots);
	slot = slot_of(snapshots, tier, number, state);
	absent = slot && slot->stored && !slot->buffer;
	if (slot && !absent)
		slot->announced_loads++;
	room = snapshots->gets < snapshots->max_gets;
	reel_snapshots_unlock(snapshots);
	if (!absent)
		return true;
	buffer = room ? reel_snapshot_buffer_take(snapshots, &error) : NULL;
	if (!buffer)
		return false;
	reel_snapshots_lock(snapshots);
	slot = slot_of(snapshots, tier, number, state);
	if (slot && slot->stored && !slot->buffer)
		start_get(snapshots, tier, slot, buffer);
	else
		reel_snapshot_buffer_give(snapshots, buffer);
	if (slot)
		slot->announced_loads++;
	reel_snapshots_unlock(snapshots);
	return true;
}

/* Make sure that the slot has a buffer, which may still be on its way. */
static int pin_and_start_read(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			      int64_t state, struct reel_snapshot_buffer **buffer, bool *on_its_way)
{
	struct reel_snapshot_buffer *fresh = NULL;
	struct reel_slot *slot;
	bool there;
	int error = 0;

	reel_snapshots_lock(snapshots);
	slot = slot_of(snapshots, tier, number, state);
	there = slot && slot->buffer;
	if (slot) {
		slot->pinned = true;
		slot->announced_loads -= slot->announced_loads > 0;
	}
	reel_snapshots_unlock(snapshots);
	if (!slot)
		return -EBADMSG;
	if (!there)
		fresh = demand_buffer(snapshots, &error);
	reel_snapshots_lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	if (fresh && !slot->buffer) {
		start_get(snapshots, tier, slot, fresh);
	} else {
		if (fresh)
			reel_snapshot_buffer_give(snapshots, fresh);
		snapshots->fetched += slot->fetched;
	}
	slot->pinned = slot->buffer != NULL;
	*buffer = slot->buffer;
	*on_its_way = slot->reading;
	if (!slot->reading)
		end_get(snapshots, slot);
	reel_snapshots_unlock(snapshots);
	return *buffer ? 0 : error;
}

/* Without the lock: until what is on its way has come, or has failed. */
static int await_get(struct reel_snapshots *snapshots, struct reel_snapshot_buffer *buffer)
{
	reel_snapshot_buffer_await(snapshots, buffer);
	return atomic_load_explicit(&buffer->error, memory_order_relaxed);
}

/* Under the lock: what came is not the snapshot, and no load to come may find it. */
static void forget_failed_read(struct reel_snapshots *snapshots, struct reel_slot *slot)
{
	reel_snapshot_buffer_give(snapshots, slot->buffer);
	slot->buffer = NULL;
	slot->pinned = false;
	slot->announced_loads = 0;
}

/* One that fails is read once more: the fault may be on the way, not in the store. */
static int complete_get(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			struct reel_snapshot_buffer *buffer)
{
	int error = await_get(snapshots, buffer);
	struct reel_slot *slot;

	if (error) {
		reel_snapshots_lock(snapshots);
		slot = &snapshots->tier[tier].slot[number];
		reel_snapshot_buffer_start(snapshots, tier, buffer, slot->serial, slot->extent);
		reel_snapshots_unlock(snapshots);
		error = await_get(snapshots, buffer);
	}
	reel_snapshots_lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	end_get(snapshots, slot);
	if (error)
		forget_failed_read(snapshots, slot);
	else
		snapshots->got_bytes += snapshots->padded_bytes;
	reel_snapshots_unlock(snapshots);
	return error;
}

int reel_snapshot_pin(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
		      int64_t state, const void **data)
{
	struct reel_snapshot_buffer *buffer;
	bool on_its_way;
	int error = pin_and_start_read(snapshots, tier, number, state, &buffer, &on_its_way);

	if (error)
		return error;
	if (on_its_way)
		error = complete_get(snapshots, tier, number, buffer);
	if (!error)
		*data = reel_snapshot_buffer_data(buffer);
	return error;
}

void reel_snapshot_unpin(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_slot *slot;

	reel_snapshots_lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	slot->pinned = false;
	if (slot->stored)
		keep_or_give_buffer(snapshots, slot);
	reel_snapshots_unlock(snapshots);
}

int64_t reel_snapshot_state(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_snapshot_store *of = &snapshots->tier[tier];
	int64_t state;

	reel_snapshots_lock(snapshots);
	state = number < of->slots ? of->slot[number].state : EMPTY;
	reel_snapshots_unlock(snapshots);
	return state;
}

/* ---- Dropping ---- */

/* Under the lock. Its put is under way, or has ended since: whose place and buffer are then. */
static bool hand_to_put(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	for (unsigned i = 0; i < snapshots->puts; i++) {
		struct reel_put *put = &snapshots->put[i];

		if (put->tier != tier || put->slot != number || put->dropped)
			continue;
		put->dropped = true;
		return true;
	}
	return false;
}

/* Under the lock. */
static void empty(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_slot *slot = &snapshots->tier[tier].slot[number];

	end_get(snapshots, slot);
	if (!hand_to_put(snapshots, tier, number)) {
		if (slot->buffer)
			reel_snapshot_buffer_give(snapshots, slot->buffer);
		if (slot->stored)
			drop_extents(snapshots, tier, slot->extent);
		free(slot->extent);
	}
	*slot = (struct reel_slot){.state = EMPTY};
}

/* Under the lock: the buffer that it is being read to; NULL: it is not. */
static struct reel_snapshot_buffer *reading_of(const struct reel_slot *slot)
{
	return slot->reading && reel_snapshot_buffer_is_moving(slot->buffer) ? slot->buffer : NULL;
}

int reel_snapshot_drop(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
		       int64_t state)
{
	struct reel_snapshot_buffer *reading;
	struct reel_slot *slot;

	do {
		reel_snapshots_lock(snapshots);
		end_puts(snapshots);
		slot = slot_of(snapshots, tier, number, state);
		reading = slot ? reading_of(slot) : NULL;
		if (slot && !reading)
			empty(snapshots, tier, number);
		reel_snapshots_unlock(snapshots);
		if (reading)
			reel_snapshot_buffer_await(snapshots, reading);
	} while (reading);
	return slot ? 0 : -EBADMSG;
}

void reel_snapshots_empty(struct reel_snapshots *snapshots)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		for (unsigned i = 0; i < snapshots->tier[tier].slots; i++)
			if (snapshots->tier[tier].slot[i].state != EMPTY)
				reel_snapshot_drop(snapshots, tier, i,
						   snapshots->tier[tier].slot[i].state);
	while (await_puts(snapshots, 0))
		;
	snapshots->put_bytes = snapshots->got_bytes = snapshots->failed_puts = 0;
	snapshots->fetched = snapshots->waits = snapshots->wait_ns = 0;
	snapshots->peak_bytes = 0;
}

/* ---- Beginning and end ---- */

static int use_store(struct reel_snapshots *snapshots, unsigned tier, reel_store *store)
{
	struct reel_snapshot_store *of = &snapshots->tier[tier];
	struct reel_store_capacity capacity;
	size_t align;

	reel_store_get_capacity(store, &capacity);
	align = capacity.align ? capacity.align : 1;
	of->store = store;
	of->registers = capacity.registers;
	of->piece_bytes = reel_min_size(PIECE_BYTES, capacity.max_bytes ? capacity.max_bytes
								   : PIECE_BYTES);
	of->piece_bytes = reel_round_up(of->piece_bytes, align);
	snapshots->padded_bytes = reel_round_up(snapshots->padded_bytes, align);
	return reel_store_checksum_open(&of->store, store);
}

static void count_pieces(struct reel_snapshots *snapshots)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		if (snapshots->tier[tier].store &&
		    reel_snapshot_pieces(snapshots, tier) > snapshots->max_pieces)
			snapshots->max_pieces = reel_snapshot_pieces(snapshots, tier);
}

static void leave_stores(struct reel_snapshots *snapshots, reel_store *const *store)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		if (snapshots->tier[tier].store != store[tier])
			reel_store_checksum_leave(snapshots->tier[tier].store);
}

int reel_snapshots_open(struct reel_snapshots *snapshots, reel_pool *pool, size_t bytes,
			unsigned tiers, reel_store *const *store, unsigned puts, unsigned gets)
{
	REEL_UNCANCELLED;

	*snapshots = (struct reel_snapshots){.pool = pool, .owner = getpid(), .bytes = bytes,
					     .tiers = tiers,
					     .padded_bytes = bytes ? bytes : 1,
					     .max_puts = puts, .max_gets = gets};
	for (unsigned tier = 0; tier < tiers; tier++)
		snapshots->tier[tier].store = store[tier];
	for (unsigned tier = 0; tier < tiers; tier++) {
		if (store[tier] && use_store(snapshots, tier, store[tier])) {
			leave_stores(snapshots, store);
			return -ENOMEM;
		}
	}
	count_pieces(snapshots);
	snapshots->max_idle_buffers = snapshots->max_pieces ? puts + gets : 0;
	pthread_mutex_init(&snapshots->lock, NULL);
	return 0;
}

/*
 * Who completed a transfer may still be about to signal: it is under way until he is done,
 * and the stores know when. Nothing is lost by it: all places have been dropped.
 */
static void close_stores(struct reel_snapshots *snapshots)
{
	REEL_UNCANCELLED;

	for (unsigned tier = 0; tier < snapshots->tiers; tier++) {
		reel_store *store = snapshots->tier[tier].store;

		if (store)
			reel_store_sync(store, -1);
		reel_store_close(store);
	}
}

void reel_snapshots_close(struct reel_snapshots *snapshots)
{
	reel_snapshots_empty(snapshots);
	close_stores(snapshots);
	reel_snapshot_buffer_free_all(snapshots);
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		free(snapshots->tier[tier].slot);
	pthread_mutex_destroy(&snapshots->lock);
}
