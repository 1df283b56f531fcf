/* SPDX-License-Identifier: MIT */
/*
 * The slow path of bits. The push that fills the word of 32 bits pushes the word onto the stack;
 * the pop that needs the word again pops it. The thread that owns the stack runs these functions.
 * The lowest set bit of `bits` gives the number of waiting bits (reel-adstack.h).
 */
#include "stack.h"

#include <string.h>

unsigned reel_adstack_bit_count(void)
{
	uint64_t word = reel_adstack_tape.bits;

	return word ? 63 - (unsigned)__builtin_ctzll(word) : 0;
}

/* The waiting bits as a number, whose lowest bit was pushed first. */
static uint64_t waiting_bits(unsigned count)
{
	uint64_t word = reel_adstack_tape.bits ^ REEL_ADSTACK_NO_BITS >> count;

	return count ? word >> (64 - count) : 0;
}

/* Sets the waiting bits to the lowest `count` bits of `bits`; the other bits are ignored. */
static void let_wait(uint64_t bits, unsigned count)
{
	reel_adstack_tape.bits = REEL_ADSTACK_NO_BITS >> count;
	if (count)
		reel_adstack_tape.bits |= bits << (64 - count);
}

/* A word that fits below the ceiling needs no function of the tape, as with a scalar. */
static bool word_fits(void)
{
	return !reel_above(reel_adstack_tape.top, sizeof(uint32_t), reel_adstack_tape.ceiling);
}

static bool word_lies_on_top(void)
{
	return !reel_under(reel_adstack_tape.top, sizeof(uint32_t), reel_adstack_tape.floor);
}

static void push_word(uint32_t word)
{
	char *slot = word_fits() ? reel_adstack_tape.top
				 : reel_tape_room(reel_adstack_own(), sizeof word, NULL);

	if (!slot)
		reel_adstack_fail(reel_adstack_tape.error, "push of 32 bits after an error");
	reel_tape_profile(&reel_adstack_tape, sizeof word, NULL);
	memcpy(slot, &word, sizeof word);
	reel_adstack_tape.top = slot + sizeof word;
}

static uint32_t pop_word(enum reel_adstack_type type)
{
	uint32_t word;

	if (word_lies_on_top()) {
		reel_adstack_tape.top -= sizeof word;
		memcpy(&word, reel_adstack_tape.top, sizeof word);
	} else {
		reel_adstack_take(&word, sizeof word, type);
	}
	return word;
}

REEL_COLD static void get_ready_to_push(unsigned n, enum reel_adstack_type type)
{
	const struct adstack_type *known = &reel_adstack_types[type];

	reel_adstack_ready();
	reel_check_push(reel_adstack_own(), &known->type, n, known->push);
}

void reel_adstack_push_bits_slow(unsigned value, unsigned n, enum reel_adstack_type type)
{
	unsigned count;
	uint64_t bits;

	if (!word_fits())
		get_ready_to_push(n, type);
	count = reel_adstack_bit_count();
	bits = waiting_bits(count) | (uint64_t)(value & ((1u << n) - 1)) << count;
	count += n;
	if (count >= REEL_ADSTACK_WORD_BITS) {
		push_word((uint32_t)bits);
		bits >>= REEL_ADSTACK_WORD_BITS;
		count -= REEL_ADSTACK_WORD_BITS;
	}
	let_wait(bits, count);
	if (reel_adstack.counts)
		reel_adstack_count_push(type, 0);
}

static unsigned take_bits(unsigned n, enum reel_adstack_type type)
{
	unsigned count = reel_adstack_bit_count();
	uint64_t bits = waiting_bits(count);

	if (count < n) {
		bits = bits << REEL_ADSTACK_WORD_BITS | pop_word(type);
		count += REEL_ADSTACK_WORD_BITS;
	}
	count -= n;
	let_wait(bits, count);
	return (unsigned)(bits >> count);
}

REEL_COLD static void get_ready_to_pop(unsigned n, enum reel_adstack_type type)
{
	reel_adstack_ready();
	reel_adstack_check_pop(type, n);
	if (reel_adstack.counts)
		reel_adstack_count_pop(type, 0);
}

unsigned reel_adstack_pop_bits_slow(unsigned n, enum reel_adstack_type type)
{
	if (!word_lies_on_top())
		get_ready_to_pop(n, type);
	return take_bits(n, type);
}

unsigned reel_adstack_look_bits(unsigned n, enum reel_adstack_type type)
{
	reel_adstack_look(NULL, 0, type);
	reel_adstack_check_pop(type, n);
	return take_bits(n, type);
}
