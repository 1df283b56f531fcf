/* SPDX-License-Identifier: MIT */
/*
 * The slots of snapshots: store, load, read ahead and drop. The threads that carry actions out run
 * these functions, and one more thread may read ahead. `snapshots->lock` guards the slots, and
 * slot_move() alone changes the phase of a slot. A slot of a tier in memory has a parcel in
 * RESERVED and MEMORY. Any other slot has a buffer in MEMORY, PUTTING, READING, READY and LOADED;
 * `snapshots->gets` counts the slots in READING and READY. No function waits for a transfer while
 * it holds the lock.
 */
#include "config.h"

#include "os/integer.h"
#include "snapshot.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

/* Size of a piece: a store transfers the pieces of a larger snapshot in parallel. */
#define PIECE_BYTES ((size_t)2 << 20)
#define NO_STATE (-1)

/* ---- Phases ---- */

#define TO(phase) (1u << REEL_SLOT_##phase)

/* The table of snapshot.h: the phases that may follow each phase. */
static const uint8_t next_phases[REEL_SLOT_PHASES] = {
	[REEL_SLOT_EMPTY] = TO(RESERVED),
	[REEL_SLOT_RESERVED] = TO(MEMORY) | TO(PUTTING) | TO(EMPTY),
	[REEL_SLOT_MEMORY] = TO(EMPTY),
	[REEL_SLOT_PUTTING] = TO(MEMORY) | TO(STORED) | TO(READY) | TO(LOADED) | TO(EMPTY),
	[REEL_SLOT_STORED] = TO(READING) | TO(EMPTY),
	[REEL_SLOT_READING] = TO(LOADED) | TO(STORED) | TO(EMPTY),
	[REEL_SLOT_READY] = TO(LOADED) | TO(STORED) | TO(EMPTY),
	[REEL_SLOT_LOADED] = TO(STORED) | TO(READY) | TO(EMPTY),
};

static bool is_in(const struct reel_slot *slot, unsigned phases)
{
	return 1u << slot->phase & phases;
}

static bool is_in_store(const struct reel_slot *slot)
{
	return is_in(slot, TO(STORED) | TO(READING) | TO(READY) | TO(LOADED));
}

static bool counts_as_get(const struct reel_slot *slot)
{
	return is_in(slot, TO(READING) | TO(READY));
}

static bool has_right_buffer(const struct reel_slot *slot)
{
	if (slot->parcel)
		return !slot->buffer && is_in(slot, TO(RESERVED) | TO(MEMORY));
	if (is_in(slot, TO(RESERVED)))
		return true;
	return !slot->buffer == is_in(slot, TO(EMPTY) | TO(STORED));
}

static bool has_right_pin(const struct reel_slot *slot)
{
	return slot->pinned ? !is_in(slot, TO(RESERVED) | TO(READY)) : !is_in(slot, TO(LOADED));
}

/*
 * Changes the phase of the slot and counts the gets. The caller sets `slot->buffer` and
 * `slot->pinned` before. Requires `snapshots->lock`.
 */
static void slot_move(struct reel_snapshots *snapshots, struct reel_slot *slot,
		      enum reel_slot_phase to)
{
	REEL_ASSERT(reel_snapshots_are_locked(snapshots));
	REEL_ASSERT(next_phases[slot->phase] >> to & 1);
	REEL_ASSERT(!counts_as_get(slot) || snapshots->gets > 0);
	snapshots->gets -= counts_as_get(slot);
	slot->phase = to;
	snapshots->gets += counts_as_get(slot);
	REEL_ASSERT(has_right_buffer(slot) && has_right_pin(slot));
}

/* ---- Puts ---- */

/*
 * Moves the slot to READY if a load is announced and fewer than `max_gets` buffers are kept or
 * read, else to STORED. Requires `snapshots->lock`.
 */
static void keep_or_give_buffer(struct reel_snapshots *snapshots, struct reel_slot *slot)
{
	REEL_ASSERT(is_in(slot, TO(PUTTING) | TO(LOADED)) && !slot->pinned);
	if (slot->announced_loads && snapshots->gets < snapshots->max_gets) {
		slot_move(snapshots, slot, REEL_SLOT_READY);
	} else {
		reel_snapshot_buffer_give(snapshots, slot->buffer);
		slot->buffer = NULL;
		slot_move(snapshots, slot, REEL_SLOT_STORED);
	}
}

static void drop_extents(struct reel_snapshots *snapshots, unsigned tier,
			 struct reel_extent *extent)
{
	REEL_ASSERT(extent && snapshots->tier[tier].store);
	for (unsigned piece = 0; piece < reel_snapshot_pieces(snapshots, tier); piece++)
		reel_store_drop(snapshots->tier[tier].store, extent[piece]);
}

/* Drops the pieces that the store took before another piece failed. */
static void drop_pieces_of_failed_put(struct reel_snapshots *snapshots, const struct reel_put *put)
{
	REEL_ASSERT(!reel_snapshot_buffer_is_moving(put->buffer));
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

/*
 * Takes the result of a put whose transfers have ended. If the slot was dropped since, the put owns
 * the extents and the buffer, and the slot may hold another state. Requires `snapshots->lock`.
 */
static void end_put(struct reel_snapshots *snapshots, const struct reel_put *put)
{
	struct reel_slot *slot = &snapshots->tier[put->tier].slot[put->slot];
	/* Relaxed is enough: reel_snapshot_buffer_is_moving() has acquired finish() before. */
	bool failed = atomic_load_explicit(&put->buffer->error, memory_order_relaxed) != 0;

	REEL_ASSERT(put->dropped || slot->phase == REEL_SLOT_PUTTING);
	REEL_ASSERT(put->dropped == (slot->buffer != put->buffer));
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
	} else if (failed) {
		slot_move(snapshots, slot, REEL_SLOT_MEMORY);
	} else if (slot->pinned) {
		slot_move(snapshots, slot, REEL_SLOT_LOADED);
	} else {
		keep_or_give_buffer(snapshots, slot);
	}
}

/* Takes the results of all puts that have ended, and keeps the others. Requires the lock. */
static void end_puts(struct reel_snapshots *snapshots)
{
	unsigned left = 0;

	REEL_ASSERT(reel_snapshots_are_locked(snapshots));
	for (unsigned i = 0; i < snapshots->puts; i++) {
		if (reel_snapshot_buffer_is_moving(snapshots->put[i].buffer))
			snapshots->put[left++] = snapshots->put[i];
		else
			end_put(snapshots, &snapshots->put[i]);
	}
	snapshots->puts = left;
}

/* Waits for the oldest put if more than `most` puts are under way; returns whether it waited. */
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

/*
 * Returns slot `number`, or NULL: no memory. The array may move, so pointers to slots are valid
 * until the lock is released.
 */
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
		slot[i].state = NO_STATE;
	of->slot = slot;
	of->slots = slots;
	REEL_ASSERT(slot[number].phase == REEL_SLOT_EMPTY);
	return &slot[number];
}

/* Returns the slot, or NULL if it does not hold state `state`. Requires `snapshots->lock`. */
static struct reel_slot *slot_of(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
				 int64_t state)
{
	struct reel_snapshot_store *of = &snapshots->tier[tier];

	REEL_ASSERT(tier < snapshots->tiers && state != NO_STATE);
	return number < of->slots && of->slot[number].state == state ? &of->slot[number] : NULL;
}

/*
 * Does the same as slot_of(), but returns NULL also if save() was left before the snapshot was
 * complete: such a snapshot is not loaded.
 */
static struct reel_slot *saved_slot_of(struct reel_snapshots *snapshots, unsigned tier,
				       unsigned number, int64_t state)
{
	struct reel_slot *slot = slot_of(snapshots, tier, number, state);

	return slot && !is_in(slot, TO(RESERVED)) ? slot : NULL;
}

static unsigned count_gets(const struct reel_snapshots *snapshots)
{
	unsigned gets = 0;

	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		for (unsigned i = 0; i < snapshots->tier[tier].slots; i++)
			gets += counts_as_get(&snapshots->tier[tier].slot[i]);
	return gets;
}

/*
 * Finds a slot that was read ahead and is not pinned. It prefers a slot whose transfer has ended,
 * so that the caller need not wait. Requires `snapshots->lock`.
 */
static struct reel_slot *find_read_ahead(struct reel_snapshots *snapshots)
{
	struct reel_slot *found = NULL;

	REEL_ASSERT_EXPENSIVE(count_gets(snapshots) == snapshots->gets);
	for (unsigned tier = 0; tier < snapshots->tiers; tier++) {
		for (unsigned i = 0; i < snapshots->tier[tier].slots; i++) {
			struct reel_slot *slot = &snapshots->tier[tier].slot[i];

			if (!counts_as_get(slot) || slot->pinned)
				continue;
			found = slot;
			if (!reel_snapshot_buffer_is_moving(slot->buffer))
				return found;
		}
	}
	return found;
}

/*
 * Gives up the buffer of one slot that was read ahead: the load can read it again. If all such
 * slots are still read, it waits for one of them instead. Returns false if there is none.
 */
static bool drop_read_ahead(struct reel_snapshots *snapshots)
{
	struct reel_snapshot_buffer *moving = NULL;
	struct reel_slot *slot;

	reel_snapshots_lock(snapshots);
	slot = find_read_ahead(snapshots);
	if (slot && reel_snapshot_buffer_is_moving(slot->buffer)) {
		moving = slot->buffer;
	} else if (slot) {
		reel_snapshot_buffer_give(snapshots, slot->buffer);
		slot->buffer = NULL;
		slot_move(snapshots, slot, REEL_SLOT_STORED);
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
 * Takes a buffer. If the pool refuses, it waits for puts, gives up buffers that were read ahead,
 * and tries again. It also tries again if a thread gave a buffer back after the refusal, which does
 * not take that buffer into account. Returns NULL and sets *error if none of this helps.
 */
static bool has_made_room(struct reel_snapshots *snapshots, uint64_t given)
{
	return await_puts(snapshots, 0) || drop_read_ahead(snapshots) ||
	       count_given(snapshots) != given;
}

static struct reel_snapshot_buffer *demand_buffer(struct reel_snapshots *snapshots, int *error)
{
	struct reel_snapshot_buffer *buffer;
	uint64_t given;

	do {
		given = count_given(snapshots);
		buffer = reel_snapshot_buffer_take(snapshots, error);
	} while (!buffer && has_made_room(snapshots, given));
	REEL_ASSERT(!buffer == (*error != 0));
	return buffer;
}

/* The same for a snapshot of a tier in memory. */
static int demand_parcel(struct reel_snapshots *snapshots, reel_parcel **parcel, void **data)
{
	uint64_t given;
	int error;

	do {
		given = count_given(snapshots);
		error = reel_parcel_open_alone(parcel, snapshots->pool, snapshots->padded_bytes,
					       data);
	} while (error && has_made_room(snapshots, given));
	return error;
}

/* ---- Storing ---- */

static int claim(struct reel_snapshots *snapshots, unsigned tier, unsigned number, int64_t state)
{
	struct reel_slot *slot;
	int error = 0;

	reel_snapshots_lock(snapshots);
	slot = slot_at(snapshots, tier, number);
	REEL_ASSERT(!slot || (slot->phase == REEL_SLOT_EMPTY) == (slot->state == NO_STATE));
	if (slot && slot->phase == REEL_SLOT_EMPTY && snapshots->tier[tier].store)
		slot->extent = calloc(reel_snapshot_pieces(snapshots, tier), sizeof *slot->extent);
	if (!slot ||
	    (snapshots->tier[tier].store && slot->phase == REEL_SLOT_EMPTY && !slot->extent))
		error = -ENOMEM;
	else if (slot->phase != REEL_SLOT_EMPTY)
		error = -EBADMSG;
	if (!error) {
		slot->state = state;
		slot->serial = ++snapshots->serial;
		slot_move(snapshots, slot, REEL_SLOT_RESERVED);
	}
	reel_snapshots_unlock(snapshots);
	return error;
}

int reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			  int64_t state, void **data)
{
	struct reel_snapshot_buffer *buffer = NULL;
	reel_parcel *parcel = NULL;
	struct reel_slot *slot;
	int error = claim(snapshots, tier, number, state);

	if (error)
		return error;
	if (snapshots->tier[tier].store) {
		while (await_puts(snapshots, snapshots->max_puts - 1))
			;
		buffer = demand_buffer(snapshots, &error);
	} else {
		error = demand_parcel(snapshots, &parcel, data);
	}
	if (error) {
		reel_snapshot_drop(snapshots, tier, number, state);
		return error;
	}
	reel_snapshots_lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	REEL_ASSERT(slot->phase == REEL_SLOT_RESERVED && !slot->buffer && !slot->parcel);
	slot->buffer = buffer;
	slot->parcel = parcel;
	if (parcel)
		reel_snapshots_note_use(snapshots);
	reel_snapshots_unlock(snapshots);
	if (buffer)
		*data = reel_snapshot_buffer_data(buffer);
	return 0;
}

/* If many threads store at once, the list of puts may be full: the snapshot stays in memory. */
void reel_snapshot_commit(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_slot *slot;

	reel_snapshots_lock(snapshots);
	slot = &snapshots->tier[tier].slot[number];
	end_puts(snapshots);
	if (snapshots->tier[tier].store && snapshots->puts < REEL_MAX_PUTS) {
		slot_move(snapshots, slot, REEL_SLOT_PUTTING);
		snapshots->put[snapshots->puts++] = (struct reel_put){.buffer = slot->buffer,
								      .extent = slot->extent,
								      .tier = tier,
								      .slot = number};
		reel_snapshot_buffer_start(snapshots, tier, slot->buffer, slot->serial, NULL);
	} else {
		if (slot->parcel)
			reel_parcel_seal(slot->parcel);
		slot_move(snapshots, slot, REEL_SLOT_MEMORY);
	}
	reel_snapshots_unlock(snapshots);
}

/* ---- Loading ---- */

static void start_get(struct reel_snapshots *snapshots, unsigned tier, struct reel_slot *slot,
		      struct reel_snapshot_buffer *buffer)
{
	slot->buffer = buffer;
	slot_move(snapshots, slot, REEL_SLOT_READING);
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
	/* Without memory to announce it, the load reads it. */
	if (slot && slot->parcel && slot->phase == REEL_SLOT_MEMORY && !slot->pinned)
		reel_parcel_announce(&slot->parcel, 1);
	absent = slot && slot->phase == REEL_SLOT_STORED;
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
	if (slot && slot->phase == REEL_SLOT_STORED)
		start_get(snapshots, tier, slot, buffer);
	else
		reel_snapshot_buffer_give(snapshots, buffer);
	if (slot)
		slot->announced_loads++;
	reel_snapshots_unlock(snapshots);
	return true;
}

/*
 * Pins the slot and starts to read it if it is in the store only. Between the two locked parts
 * another thread may end the put of the slot or read it ahead, but the pin keeps a buffer that is
 * there. *on_its_way: a read was started whose result was not checked.
 */
static int pin_and_start_read(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			      int64_t state, struct reel_snapshot_buffer **buffer, bool *on_its_way)
{
	struct reel_snapshot_buffer *fresh = NULL;
	struct reel_slot *slot;
	bool there;
	int error = 0;

	reel_snapshots_lock(snapshots);
	slot = saved_slot_of(snapshots, tier, number, state);
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
		snapshots->fetched += counts_as_get(slot);
	}
	REEL_ASSERT(slot->buffer || (error && slot->phase == REEL_SLOT_STORED));
	slot->pinned = slot->buffer != NULL;
	*buffer = slot->buffer;
	*on_its_way = slot->phase == REEL_SLOT_READING;
	if (slot->phase == REEL_SLOT_READY)
		slot_move(snapshots, slot, REEL_SLOT_LOADED);
	reel_snapshots_unlock(snapshots);
	return *buffer ? 0 : error;
}

static int await_get(struct reel_snapshots *snapshots, struct reel_snapshot_buffer *buffer)
{
	reel_snapshot_buffer_await(snapshots, buffer);
	/* Relaxed is enough: reel_snapshot_buffer_await() has acquired finish(). */
	return atomic_load_explicit(&buffer->error, memory_order_relaxed);
}

/*
 * Takes the buffer, which does not hold the snapshot, from the slot, so that a later load reads the
 * store again. Requires `snapshots->lock`.
 */
static void forget_failed_read(struct reel_snapshots *snapshots, struct reel_slot *slot)
{
	reel_snapshot_buffer_give(snapshots, slot->buffer);
	slot->buffer = NULL;
	slot->pinned = false;
	slot->announced_loads = 0;
	slot_move(snapshots, slot, REEL_SLOT_STORED);
}

/*
 * Waits for the get of the slot and takes its result. If the get fails, it is tried once more: the
 * bytes in the store may be right although the transfer damaged them.
 */
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
	REEL_ASSERT(slot->phase == REEL_SLOT_READING && slot->buffer == buffer);
	if (error) {
		forget_failed_read(snapshots, slot);
	} else {
		slot_move(snapshots, slot, REEL_SLOT_LOADED);
		snapshots->got_bytes += snapshots->padded_bytes;
	}
	reel_snapshots_unlock(snapshots);
	return error;
}

/* Sets whether the slot is pinned, and *before to whether it was. Returns its parcel, or NULL. */
static reel_parcel *pin_slot(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
			     int64_t state, bool pinned, bool *before)
{
	struct reel_slot *slot;
	reel_parcel *parcel;

	reel_snapshots_lock(snapshots);
	slot = saved_slot_of(snapshots, tier, number, state);
	parcel = slot ? slot->parcel : NULL;
	*before = parcel && slot->pinned;
	if (parcel)
		slot->pinned = pinned;
	reel_snapshots_unlock(snapshots);
	return parcel;
}

/* A slot has one pin of its parcel, also if load() was left before that was given up. */
static int pin_parcel(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
		      int64_t state, const void **data)
{
	bool before;
	reel_parcel *parcel = pin_slot(snapshots, tier, number, state, true, &before);
	int error = parcel ? reel_parcel_pin(parcel, data) : -EBADMSG;

	REEL_ASSERT(!before || !error);
	if (parcel && error)
		pin_slot(snapshots, tier, number, state, false, &before);
	else if (before)
		reel_parcel_unpin(parcel);
	return error;
}

int reel_snapshot_pin(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
		      int64_t state, const void **data)
{
	struct reel_snapshot_buffer *buffer;
	bool on_its_way;
	int error;

	if (!snapshots->tier[tier].store)
		return pin_parcel(snapshots, tier, number, state, data);
	error = pin_and_start_read(snapshots, tier, number, state, &buffer, &on_its_way);

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
	REEL_ASSERT(slot->pinned && is_in(slot, TO(MEMORY) | TO(PUTTING) | TO(LOADED)));
	slot->pinned = false;
	if (slot->parcel)
		reel_parcel_unpin(slot->parcel);
	if (slot->phase == REEL_SLOT_LOADED)
		keep_or_give_buffer(snapshots, slot);
	reel_snapshots_unlock(snapshots);
}

int64_t reel_snapshot_state(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_snapshot_store *of = &snapshots->tier[tier];
	int64_t state;

	reel_snapshots_lock(snapshots);
	state = number < of->slots ? of->slot[number].state : NO_STATE;
	reel_snapshots_unlock(snapshots);
	return state;
}

/* ---- Dropping ---- */

/*
 * Hands the buffer and the extents of the slot to its put, which frees them when it ends. Returns
 * false if the slot has no put. Requires `snapshots->lock`.
 */
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

/* Returns the buffer that a get of the slot fills at this moment, or NULL. Requires the lock. */
static struct reel_snapshot_buffer *reading_of(const struct reel_slot *slot)
{
	return slot->phase == REEL_SLOT_READING && reel_snapshot_buffer_is_moving(slot->buffer) ?
		       slot->buffer : NULL;
}

static void close_parcel(struct reel_snapshots *snapshots, struct reel_slot *slot)
{
	int error;

	if (slot->pinned)
		reel_parcel_unpin(slot->parcel);
	error = reel_parcel_close(slot->parcel);
	REEL_ASSERT(!error && snapshots->memory_bytes >= snapshots->padded_bytes);
	(void)error;
	slot->parcel = NULL;
	snapshots->memory_bytes -= snapshots->padded_bytes;
	snapshots->given++;
}

/*
 * Empties the slot in any phase: the thread of a callback may be cancelled while its slot is
 * RESERVED or pinned. Requires `snapshots->lock`.
 */
static void empty(struct reel_snapshots *snapshots, unsigned tier, unsigned number)
{
	struct reel_slot *slot = &snapshots->tier[tier].slot[number];
	bool has_put = hand_to_put(snapshots, tier, number);

	REEL_ASSERT(has_put == (slot->phase == REEL_SLOT_PUTTING));
	REEL_ASSERT(!reading_of(slot));
	if (slot->parcel)
		close_parcel(snapshots, slot);
	if (!has_put) {
		if (slot->buffer)
			reel_snapshot_buffer_give(snapshots, slot->buffer);
		if (is_in_store(slot))
			drop_extents(snapshots, tier, slot->extent);
		free(slot->extent);
	}
	slot->buffer = NULL;
	slot->pinned = false;
	slot_move(snapshots, slot, REEL_SLOT_EMPTY);
	*slot = (struct reel_slot){.state = NO_STATE};
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
			if (snapshots->tier[tier].slot[i].phase != REEL_SLOT_EMPTY)
				reel_snapshot_drop(snapshots, tier, i,
						   snapshots->tier[tier].slot[i].state);
	while (await_puts(snapshots, 0))
		;
	REEL_ASSERT_EXPENSIVE(count_gets(snapshots) == 0);
	REEL_ASSERT(!snapshots->puts && !snapshots->gets && !snapshots->memory_bytes);
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
	REEL_ASSERT(of->piece_bytes > 0);
	return reel_store_checksum_open(&of->store, store);
}

static void count_pieces(struct reel_snapshots *snapshots)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++)
		if (snapshots->tier[tier].store &&
		    reel_snapshot_pieces(snapshots, tier) > snapshots->max_pieces)
			snapshots->max_pieces = reel_snapshot_pieces(snapshots, tier);
}

/* Takes the checksums off again, so that a caller whose open failed still owns its stores. */
void reel_snapshots_leave(struct reel_snapshots *snapshots, reel_store *const *store)
{
	for (unsigned tier = 0; tier < snapshots->tiers; tier++) {
		if (snapshots->tier[tier].store != store[tier])
			reel_store_checksum_leave(snapshots->tier[tier].store);
		snapshots->tier[tier].store = NULL;
	}
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
			reel_snapshots_leave(snapshots, store);
			return -ENOMEM;
		}
	}
	count_pieces(snapshots);
	snapshots->max_idle_buffers = snapshots->max_pieces ? puts + gets : 0;
	pthread_mutex_init(&snapshots->lock, NULL);
	return 0;
}

/*
 * Closes the stores. Each store is synced first, until all its threads have returned from finish():
 * one of them may still be about to signal a buffer, which is freed next.
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
