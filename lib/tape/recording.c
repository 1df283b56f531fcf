/* SPDX-License-Identifier: MIT */
/*
 * Recordings and their readers. Any thread runs these functions.
 *
 * A recording owns the slabs of a tape that was frozen. Nothing changes it any more, apart from the
 * states of its slabs and the number of its users; the last user frees it. A reader is a tape with
 * a hold that began when it was opened and ends when it is closed: so all the rules of holds
 * (hold.c) keep the slabs of the recording from being freed or overwritten, and a reader pushes to
 * branches of its own. The slabs with `holds` 0 belong to the recording.
 *
 * Of a recording on a pool with a store, a reader pins the slabs that it pops from: the slab of its
 * window, and the one that it left last, whose spans may still be read. Both are noted, so that a
 * reader may pin and unpin a slab more than once.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <reel/recording.h>

#include "os/error.h"
#include "pool/pool.h"
#include "spill/owner/pins.h"
#include "spill/owner/slab-owner.h"
#include "tape.h"

struct reel_recording {
	struct reel_pool *pool;
	_Atomic unsigned users; /* its readers, and one for the program */
	/* The top of the frozen tape, and the other members that its readers begin with. */
	struct reel_position top;
	uint64_t serial;
	uint32_t flags;
	struct reel_layout layout;
	uint64_t first[REEL_INLINE_BYTES / 8];
	/* In checked mode: the notes. */
	struct reel_recording *entries;
	/* Where its slabs are described; NULL: the pool has no store, or there is no slab. */
	struct reel_demand *demand;
	/* One for each slab, in the order of their slab index. */
	struct reel_pins pins[];
};

struct reel_reader {
	struct reel_recording *recording;
	struct reel_slab *pinned[2];
};

/* ---- Pins ---- */

/* The context of acquire() and seal(); `tape` is the reader. */
struct pin {
	reel_tape *tape;
	struct reel_slab *slab;
};

static struct reel_pins *pins_of(const reel_tape *tape, const struct reel_slab *slab)
{
	return &reel_hold_reader(tape)->recording->pins[slab->slab_index];
}

static int acquire(void *context)
{
	struct pin *pin = context;

	return reel_slab_acquire(pin->tape->pool, pin->slab, pin->tape->demand, REEL_FOREVER);
}

/* The slab keeps its contents, so it is stored with the size and layout of its first seal. */
static void seal(void *context)
{
	struct pin *pin = context;
	struct reel_pool *pool = pin->tape->pool;
	const struct reel_slab_io *slab_io = reel_slab_io_of(reel_offload_of(pool), pin->slab);

	reel_slab_seal(pool, pin->slab, reel_hold_reader(pin->tape)->recording->demand,
		       pin->slab->slab_index, slab_io->filled, slab_io->layout);
}

/* Where the slab is noted, or with NULL where one can be noted; NULL: nowhere. */
static struct reel_slab **find(struct reel_reader *reader, const struct reel_slab *slab)
{
	for (unsigned i = 0; i < 2; i++)
		if (reader->pinned[i] == slab)
			return &reader->pinned[i];
	return NULL;
}

int reel_reader_pin(reel_tape *tape, struct reel_slab *slab)
{
	struct reel_reader *reader = reel_hold_reader(tape);
	int error;

	if (find(reader, slab))
		return 0;
	error = reel_pins_add(pins_of(tape, slab), acquire, &(struct pin){tape, slab});
	REEL_ASSERT(error || find(reader, NULL));
	if (!error)
		*find(reader, NULL) = slab;
	return error;
}

void reel_reader_unpin(reel_tape *tape, struct reel_slab *slab)
{
	struct reel_slab **pinned = find(reel_hold_reader(tape), slab);

	if (!pinned)
		return;
	*pinned = NULL;
	reel_pins_drop(pins_of(tape, slab), seal, &(struct pin){tape, slab});
}

/* ---- Recordings ---- */

static uint32_t slabs_below(struct reel_position top)
{
	return top.slab ? top.slab->slab_index + 1 : 0;
}

static void leave(struct reel_recording *recording)
{
	struct reel_slab *slab = recording->top.slab;

	/*
	 * Release: shows the other users' reads to the last one. Acquire: the last one frees
	 * the slabs after all these reads. Both pair with this same operation.
	 */
	if (atomic_fetch_sub_explicit(&recording->users, 1, memory_order_acq_rel) > 1)
		return;
	while (slab) {
		struct reel_slab *below = slab->below;

		REEL_ASSERT(reel_pins_count(&recording->pins[slab->slab_index]) == 0);
		reel_pins_close(&recording->pins[slab->slab_index]);
		reel_tape_uncover(slab);
		reel_slab_free(recording->pool, slab);
		slab = below;
	}
	if (recording->demand)
		reel_demand_give_silent(reel_offload_of(recording->pool), recording->demand);
	free(recording);
}

void reel_recording_close(reel_recording *recording)
{
	if (!recording)
		return;
	reel_recording_close(recording->entries);
	leave(recording);
}

/* Without memory for one of them NULL. */
static struct reel_recording *new_recording(const reel_tape *tape)
{
	struct reel_offload *offload = reel_offload_of(tape->pool);
	/* Slabs at the top that have nothing on them do not count. */
	struct reel_position top = reel_tape_return_position(tape);
	struct reel_recording *recording =
		calloc(1, sizeof *recording + slabs_below(top) * sizeof *recording->pins);

	if (!recording)
		return NULL;
	recording->pool = tape->pool;
	atomic_store_explicit(&recording->users, 1, memory_order_relaxed);
	if (offload && top.slab)
		recording->demand = reel_demand_take_silent(offload, REEL_DEMAND_READERS);
	if (offload && top.slab && !recording->demand) {
		leave(recording);
		return NULL;
	}
	return recording;
}

/* Seals the slabs that are not sealed, and describes them as slabs of the recording. */
static void take_slabs(struct reel_recording *recording, reel_tape *tape)
{
	uint64_t filled = recording->top.offset;

	for (struct reel_slab *slab = tape->slab; slab; slab = slab->below) {
		REEL_ASSERT(slab->holds == 0 && reel_slab_is_linked(slab));
		reel_pins_open(&recording->pins[slab->slab_index], 0);
		if (reel_slab_spills(recording->pool, slab))
			reel_slab_seal(recording->pool, slab, recording->demand, slab->slab_index,
				       (size_t)filled, recording->layout);
		filled = slab->below_offset;
	}
	if (recording->demand) {
		reel_demand_place_at_end(recording->demand, slabs_below(recording->top));
		reel_slab_tell_of_growth(recording->pool);
	}
	tape->slab = NULL;
	tape->below = 0;
	reel_tape_trace(tape, 0);
	/* reel_tape_close() takes a tape for a copy whose window is in a slab that it gave away. */
	tape->top = reel_window_base(tape);
}

static void take_contents(struct reel_recording *recording, reel_tape *tape)
{
	recording->top = reel_tape_return_position(tape);
	while (tape->slab != recording->top.slab)
		reel_tape_leave_slab(tape);
	recording->top.below = tape->below;
	recording->serial = tape->serial;
	recording->flags = tape->flags & (REEL_CHECKED | REEL_TAPE_SILENT | REEL_TAPE_NOTES);
	recording->layout = tape->layout;
	memcpy(recording->first, tape->first, sizeof tape->first);
	take_slabs(recording, tape);
}

int reel_tape_freeze(reel_tape *tape, reel_recording **recording)
{
	struct reel_recording *opened;
	reel_tape *entries;
	int error;

	if (!tape->error && !tape->top)
		reel_tape_start(tape);
	if (tape->error) {
		reel_tape_report(tape);
		return tape->error;
	}
	if (tape->hold)
		return reel_fail(
			-EBUSY, "freeze refused: %s",
			reel_hold_is_open(tape)
				? "a hold is open on the tape; release it first"
				: "the tape is a reader; open another one of its recording");
	opened = new_recording(tape);
	if (!opened)
		return reel_fail(-ENOMEM, "freeze refused: out of memory");
	entries = reel_check_entries(tape);
	error = entries ? reel_tape_freeze(entries, &opened->entries) : 0;
	if (error) {
		leave(opened);
		return error;
	}
	take_contents(opened, tape);
	reel_tape_close(tape);
	*recording = opened;
	return 0;
}

/* ---- Readers ---- */

/* After a failure the caller undoes the rest by reel_tape_close(). */
static bool begin(reel_tape *tape, struct reel_recording *recording)
{
	struct reel_reader *reader = calloc(1, sizeof *reader);

	if (!reader)
		return false;
	reader->recording = recording;
	if (!reel_hold_begin_reader(tape, reader, recording->top)) {
		free(reader);
		return false;
	}
	/* Relaxed: the caller's use keeps the recording. */
	atomic_fetch_add_explicit(&recording->users, 1, memory_order_relaxed);
	if (recording->demand)
		tape->demand = reel_demand_take_reader(reel_offload_of(tape->pool),
						       recording->demand);
	return !recording->demand || tape->demand;
}

int reel_reader_open(reel_tape *tape, reel_recording *recording)
{
	*tape = (reel_tape){
		.pool = recording->pool,
		.flags = recording->flags,
		.layout = recording->layout,
		.serial = recording->serial,
	};
	memcpy(tape->first, recording->first, sizeof tape->first);
	tape->top = reel_window_base(tape);
	if (begin(tape, recording) &&
	    (!recording->entries ||
	     (!reel_check_start(tape) &&
	      !reel_reader_open(reel_check_entries(tape), recording->entries)))) {
		reel_tape_replay(tape);
		return 0;
	}
	reel_tape_close(tape);
	return reel_fail(-ENOMEM, "a reader could not be opened: out of memory");
}

void reel_reader_end(reel_tape *tape)
{
	struct reel_reader *reader = reel_hold_reader(tape);

	for (unsigned i = 0; i < 2; i++)
		if (reader->pinned[i])
			reel_reader_unpin(tape, reader->pinned[i]);
	if (reader->recording->demand && tape->demand)
		reel_demand_leave_readers(reader->recording->demand, tape->demand);
	leave(reader->recording);
	free(reader);
}
