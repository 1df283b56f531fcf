/* SPDX-License-Identifier: MIT */
/*
 * Locations: heights of the stack that a program notes and returns to, each for the stack of the
 * calling thread. Going down drops the values above. Going up is possible in a repeat level only,
 * to values that the level protects. The original can go up everywhere, and reads wrong values if
 * the program has pushed others over them.
 */
#include "forms.h"
#include "os/integer.h"

#include <errno.h>

enum { PIECE_BYTES = 4096 };

static _Noreturn void fail(uint64_t location, const char *why)
{
	reel_adstack_fail(-EINVAL, "setCurLocation(%llu) with %llu bytes on the stack: %s",
			  (unsigned long long)location, (unsigned long long)reel_adstack_height(),
			  why);
}

/* Waiting bits have no location, so they are not changed. */
static void go_up(uint64_t location)
{
	uint64_t bits = reel_adstack_tape.bits;

	if (!reel_adstack.levels || reel_tape_bytes(reel_adstack_own()))
		fail(location, "popped values are gone; adStack_startRepeat() keeps them");
	reel_adstack_reset_repeat();
	reel_adstack_tape.bits = bits;
	if (reel_adstack_height() < location)
		fail(location, "the place is above the values that the repeat level protects");
}

static void go_down(uint64_t location)
{
	char dropped[PIECE_BYTES];
	uint64_t height = reel_adstack_height();

	while (height > location) {
		uint64_t piece = reel_min_u64(height - location, reel_adstack_topmost_bytes());

		reel_adstack_take(dropped, (size_t)reel_min_u64(piece, PIECE_BYTES), REEL_ADSTACK_Bytes);
		height = reel_adstack_height();
	}
	if (height < location)
		fail(location, "nothing on the stack ends there");
}

static void go_to(uint64_t location)
{
	reel_adstack_ready();
	if (reel_adstack_tape.ledger)
		fail(location, "checked mode compares pops, and this is none");
	if (location > reel_adstack_height())
		go_up(location);
	go_down(location);
}

static uint64_t location(void)
{
	if (reel_adstack.looking)
		reel_adstack_end_look();
	return reel_adstack_height();
}

FORM(unsigned long, getCurLocation, (void), { return (unsigned long)location(); })
FORM(void, setCurLocation, (unsigned long to), { go_to(to); })
