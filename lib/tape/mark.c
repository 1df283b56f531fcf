/* SPDX-License-Identifier: MIT */
/*
 * Marks, rewinding and windows: positions on a tape, which is not popped to reach them. The owner
 * of the tape runs these functions.
 *
 * A position names its slab by address and serial number, because a slab that was freed may be on
 * the tape again. The positions of a checked tape and of its entries go together.
 */
#include "config.h"

#include <errno.h>

#include "spill/owner/slab-owner.h"
#include "tape.h"

/* Mutants survive (constant): without a slab nothing reads the serial. */
struct reel_position reel_tape_position(const reel_tape *tape)
{
	REEL_ASSERT(reel_window_is_sound(tape));
	return (struct reel_position){
		.slab = tape->slab,
		.serial = tape->slab ? tape->slab->serial : 0,
		.offset = reel_window_filled(tape),
		.below = tape->below,
		.bits = tape->bits,
		.refused = tape->refused,
		.bit_count = tape->bit_count,
		.holds = tape->holds,
	};
}

/*
 * The bottom of a slab and the place below it are the same height. This function returns the lower
 * one, because an empty slab may leave the tape without a pop.
 */
struct reel_position reel_tape_return_position(const reel_tape *tape)
{
	struct reel_position position = reel_tape_position(tape);

	while (position.slab && position.offset == 0) {
		REEL_ASSERT(reel_slab_is_linked(position.slab));
		position.offset = position.slab->below_offset;
		position.slab = position.slab->below;
	}
	position.serial = position.slab ? position.slab->serial : 0;
	return position;
}

reel_mark reel_tape_mark(const reel_tape *tape)
{
	const reel_tape *entries = reel_check_entries(tape);

	return (reel_mark){
		.values = reel_tape_return_position(tape),
		.ledger = entries ? reel_tape_return_position(entries) : (struct reel_position){0},
	};
}

static bool on_tape(const reel_tape *tape, struct reel_position position)
{
	struct reel_position top = reel_tape_return_position(tape);
	const struct reel_slab *slab = top.slab;
	uint64_t filled = top.offset;

	while (slab != position.slab) {
		if (!slab)
			return false;
		REEL_ASSERT(reel_slab_is_linked(slab));
		filled = slab->below_offset;
		slab = slab->below;
	}
	if ((slab && slab->serial != position.serial) || position.refused > top.refused)
		return false;
	if (slab == top.slab && position.offset == filled)
		return position.bit_count <= top.bit_count;
	return position.offset <= filled;
}

void reel_tape_restore(reel_tape *tape, struct reel_position position)
{
	while (tape->slab != position.slab)
		reel_tape_leave_slab(tape);
	REEL_ASSERT(!tape->slab || tape->slab->serial == position.serial);
	tape->bits = position.bits;
	tape->bit_count = position.bit_count;
	tape->refused = position.refused;
	if (tape->top)
		reel_tape_enter(tape, position.offset);
}

/* If notes are lost, the tape is rewound without its entries, and its next pop reports the loss. */
static int rewind_to(reel_tape *tape, reel_mark mark)
{
	reel_tape *entries = reel_check_entries(tape);
	bool has_notes = entries && on_tape(entries, mark.ledger);

	REEL_ASSERT(!entries || entries->holds == tape->holds);
	if (mark.values.holds < tape->holds)
		return reel_tape_fail(tape, -EBUSY,
				      "rewind to a mark from outside the innermost hold: "
				      "release the hold first");
	if (!on_tape(tape, mark.values) ||
	    (entries && !has_notes && entries->refused != REEL_OUT_OF_STEP))
		return reel_tape_fail(tape, -EINVAL,
				      "rewind to a mark below which the tape has been popped");
	reel_tape_restore(tape, mark.values);
	if (has_notes)
		reel_tape_restore(entries, mark.ledger);
	return 0;
}

int reel_tape_rewind(reel_tape *tape, reel_mark mark)
{
	int error = rewind_to(tape, mark);

	reel_tape_report(tape);
	return error;
}

int reel_tape_window(const reel_tape *tape, uint64_t height, reel_window *window)
{
	const struct reel_slab *slab = tape->slab;
	uint64_t filled = reel_window_filled(tape);
	uint64_t start = tape->below;

	if (tape->refused == REEL_OUT_OF_STEP)
		return tape->error;
	if (height >= start + filled)
		return -EINVAL;
	/* The offsets of all slabs add up to `below`, so the lowest window starts at height 0. */
	while (height < start) {
		REEL_ASSERT(slab && slab->below_offset <= start);
		filled = slab->below_offset;
		start -= filled;
		slab = slab->below;
	}
	if (slab && !reel_slab_is_open(slab))
		return -EBUSY;
	*window = (reel_window){slab ? slab->frame : (char *)(uintptr_t)tape->first, start, filled};
	return 0;
}
