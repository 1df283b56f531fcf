/* SPDX-License-Identifier: MIT */
/*
 * The slow path of a push: the inline push comes here if the tape is new, its window is full, a
 * hold keeps the window, an error sticks or the tape is checked. The owner of the tape runs these
 * functions. `refused` counts the bits of refused pushes, whose pops give all ones.
 *
 * A push can wait twice: for a frame; and, after pops that have emptied the top slab, for a read,
 * since it leaves that slab first and goes on with the one below, which may be in the store.
 */
#include "config.h"

#include "tape.h"

void reel_tape_refuse(reel_tape *tape, uint64_t bits)
{
	REEL_ASSERT(tape->error != 0);
	bits += !bits;
	/* Mutants survive (boundary): an equal sum is REEL_OUT_OF_STEP as well. */
	tape->refused = bits < REEL_OUT_OF_STEP - tape->refused ? tape->refused + bits
								 : REEL_OUT_OF_STEP;
	reel_tape_limits(tape);
	REEL_ASSERT(tape->floor == REEL_FALSE_FLOOR);
}

void *reel_push_slow(reel_tape *tape, const reel_type *type, const char *call_site)
{
	size_t bytes = REEL_ROUND(type->size);
	char *slot = reel_tape_room(tape, bytes, call_site);

	if (slot && reel_check_push(tape, type, 1, call_site)) {
		reel_tape_profile(tape, bytes, call_site);
		return slot;
	}
	reel_tape_refuse(tape, bytes * 8);
	reel_tape_report(tape);
	return NULL;
}
