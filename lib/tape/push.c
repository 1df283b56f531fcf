/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "tape.h"

void reel_tape_refuse(reel_tape *tape, uint64_t bits)
{
	bits += !bits;
	tape->refused = bits < REEL_OUT_OF_STEP - tape->refused ? tape->refused + bits
								 : REEL_OUT_OF_STEP;
	reel_tape_limits(tape);
}

void *reel_push_slow(reel_tape *tape, const reel_type *type, const char *site)
{
	size_t bytes = REEL_ROUND(type->size);
	char *slot = reel_tape_room(tape, bytes);

	if (slot && reel_check_push(tape, type, 1, site))
		return slot;
	reel_tape_refuse(tape, bytes * 8);
	return NULL;
}
