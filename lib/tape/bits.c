/* SPDX-License-Identifier: MIT */
/*
 * The bit word, which collects up to 63 bits. The push of the 64th bit pushes the word as a value
 * of 8 bytes, and the pop of that bit pops the value. Bits and other values keep their common
 * order, because both happen within one call at the same number of bits.
 *
 * The owner of the tape runs these functions. The bits of the word above `bit_count` are 0.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "tape.h"

#define WORD_BITS 64
#define LARGEST 32

/* Mutants survive (constant): pushes and pops share the type, and nothing reads its alignment. */
static const reel_type bits_type = {"bits", 1, 1, REEL_BITS};

static uint64_t low(uint64_t word, unsigned n)
{
	return n < WORD_BITS ? word & (((uint64_t)1 << n) - 1) : word;
}

static bool push_word(reel_tape *tape, uint64_t word, const char *call_site)
{
	char *slot = reel_tape_room(tape, sizeof word, call_site);

	if (!slot)
		return false;
	reel_tape_profile(tape, sizeof word, call_site);
	memcpy(slot, &word, sizeof word);
	tape->top = slot + sizeof word;
	REEL_ASSERT(reel_window_is_sound(tape));
	return true;
}

static bool pop_word(reel_tape *tape, uint64_t *word, const char *call_site)
{
	char *slot = reel_tape_topmost(tape, sizeof *word, call_site);

	if (!slot)
		return false;
	memcpy(word, slot, sizeof *word);
	tape->top = slot;
	return true;
}

static bool push_parts(reel_tape *tape, uint64_t value, unsigned n, const char *call_site)
{
	unsigned filling = WORD_BITS - tape->bit_count;
	unsigned rest;

	REEL_ASSERT(value == low(value, n) && tape->bits == low(tape->bits, tape->bit_count));
	if (n < filling) {
		tape->bits = tape->bits << n | value;
		tape->bit_count += n;
		return true;
	}
	rest = n - filling;
	/* A shift by 64 bits would be undefined: `filling` is at most n, which is at most 32. */
	REEL_ASSERT(filling <= LARGEST);
	if (!push_word(tape, tape->bits << filling | value >> rest, call_site))
		return false;
	tape->bits = low(value, rest);
	tape->bit_count = rest;
	return true;
}

void reel_push_bits_slow(reel_tape *tape, uint64_t value, unsigned n, const char *call_site)
{
	if (n > LARGEST)
		reel_tape_fail(tape, -EINVAL, "push of %u bits at %s: at most 32 at once", n,
			       call_site);
	if (reel_tape_takes_pushes(tape) &&
	    reel_check_push(tape, &bits_type, n, call_site)) {
		if (push_parts(tape, low(value, n), n, call_site))
			return;
		reel_check_undo(tape);
	}
	reel_tape_refuse(tape, n);
	reel_tape_report(tape);
}

static bool pop_parts(reel_tape *tape, uint64_t *value, unsigned n, const char *call_site)
{
	unsigned held = tape->bit_count;
	uint64_t word;

	REEL_ASSERT(held < WORD_BITS && tape->bits == low(tape->bits, held));
	if (n <= held) {
		*value = low(tape->bits, n);
		tape->bits >>= n;
		tape->bit_count -= n;
		return true;
	}
	if (!pop_word(tape, &word, call_site))
		return false;
	n -= held;
	*value = low(word, n) << held | low(tape->bits, held);
	tape->bits = word >> n;
	tape->bit_count = WORD_BITS - n;
	return true;
}

uint64_t reel_pop_bits_slow(reel_tape *tape, unsigned n, const char *call_site)
{
	uint64_t value = UINT64_MAX;

	if (reel_tape_pops_refused(tape, n))
		return low(UINT64_MAX, n);
	if (n > LARGEST)
		reel_tape_fail_out_of_step(tape, -EINVAL,
					   "pop of %u bits at %s: at most 32 at once", n,
					   call_site);
	else if (reel_check_compare(tape, &bits_type, n, call_site, true) &&
		 pop_parts(tape, &value, n, call_site))
		return value;
	reel_tape_report(tape);
	return low(UINT64_MAX, n);
}

bool reel_look_bit_slow(reel_tape *tape, const char *call_site)
{
	uint64_t bits = tape->bits;
	uint32_t bit_count = tape->bit_count;
	uint64_t value;

	if (reel_tape_is_copy(tape) || tape->refused ||
	    !reel_check_compare(tape, &bits_type, 1, call_site, false) ||
	    !pop_parts(tape, &value, 1, call_site)) {
		reel_tape_report(tape);
		return true;
	}
	if (!bit_count)
		tape->top += sizeof(uint64_t);
	tape->bits = bits;
	tape->bit_count = bit_count;
	REEL_ASSERT(reel_window_is_sound(tape));
	return value != 0;
}
