/* SPDX-License-Identifier: MIT */
/* Tests bits: packed, in order with all other values, across the limits of words and slabs. */
#include <config.h>

#include <errno.h>

#include "helpers/support.h"

enum { WORD = 64, LARGEST = 32 };

static uint64_t low(uint64_t value, unsigned n)
{
	return value & (((uint64_t)1 << n) - 1);
}

/* Pushes `count` single bits, so that the next bits begin anywhere in a word. */
static void push_single_bits(reel_tape *tape, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		reel_push_bit(tape, scramble(i) & 1);
}

static unsigned wrong_single_bits(reel_tape *tape, unsigned count)
{
	unsigned wrong = 0;

	for (unsigned i = count; i-- > 0;)
		wrong += reel_pop_bit(tape) != (scramble(i) & 1);
	return wrong;
}

/* Tests `n` bits after `before` single bits, and returns the number of wrong values. */
typedef unsigned test_at(reel_tape *tape, unsigned before, unsigned n);

/* Runs a test with each n at each place in a word: in the struct, at its end and in slabs. */
static void everywhere(test_at *wrong_at, unsigned flags, const char *holds)
{
	static const unsigned words[] = {0, INLINE_WORDS - 1, INLINE_WORDS, INLINE_WORDS + 7};
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(words); i++)
		for (unsigned before = 0; before < WORD; before++)
			for (unsigned n = 0; n <= LARGEST; n++) {
				reel_tape tape = open_tape(pool, flags);

				push_words(&tape, 0, words[i]);
				push_single_bits(&tape, before);
				wrong += wrong_at(&tape, before, n);
				wrong += wrong_single_bits(&tape, before);
				wrong += wrong_words(&tape, 0, words[i]);
				wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
				reel_tape_close(&tape);
			}
	is_int(wrong, 0, "%s%s", holds, flags ? ", in checked mode" : "");
	close_pool(pool, "bits");
}

static unsigned come_back(reel_tape *tape, unsigned before, unsigned n)
{
	uint64_t value = scramble(n * WORD + before);

	reel_push_bits(tape, value, n);
	return reel_pop_bits(tape, n) != low(value, n);
}

/* Pushes values before, between and after three pieces of bits, which fill up to two words. */
static unsigned keep_their_order(reel_tape *tape, unsigned before, unsigned n)
{
	unsigned wrong;

	reel_push(tape, 1.5);
	reel_push_bits(tape, scramble(1), n);
	reel_push(tape, (char)before);
	reel_push_bits(tape, scramble(2), LARGEST);
	reel_push(tape, 2.5f);
	reel_push(tape, 3.5f);
	reel_push_bits(tape, scramble(3), n);
	reel_push(tape, 4.5);

	wrong = reel_pop(tape, double) != 4.5;
	wrong += reel_pop_bits(tape, n) != low(scramble(3), n);
	wrong += reel_pop(tape, float) != 3.5f;
	wrong += reel_pop(tape, float) != 2.5f;
	wrong += reel_pop_bits(tape, LARGEST) != low(scramble(2), LARGEST);
	wrong += reel_pop(tape, char) != (char)before;
	wrong += reel_pop_bits(tape, n) != low(scramble(1), n);
	wrong += reel_pop(tape, double) != 1.5;
	return wrong;
}

static unsigned up_and_down(reel_tape *tape, unsigned before, unsigned n)
{
	unsigned wrong = 0;

	for (unsigned again = 0; again < 4; again++) {
		reel_push_bits(tape, scramble(before), LARGEST);
		reel_push_bits(tape, scramble(n), n);
		wrong += reel_pop_bits(tape, n) != low(scramble(n), n);
		wrong += reel_pop_bits(tape, LARGEST) != low(scramble(before), LARGEST);
	}
	return wrong;
}

static unsigned come_back_by_rewinding(reel_tape *tape, unsigned before, unsigned n)
{
	reel_mark mark = reel_tape_mark(tape);
	unsigned wrong;

	reel_push_bits(tape, scramble(before), n);
	reel_push(tape, 1.5);
	reel_push_bits(tape, scramble(n), LARGEST);
	wrong = reel_tape_rewind(tape, mark) != 0;
	reel_push_bits(tape, scramble(n), n);
	wrong += reel_tape_rewind(tape, mark) != 0;
	return wrong;
}

static unsigned come_back_by_replay(reel_tape *tape, unsigned before, unsigned n)
{
	unsigned wrong = 0;

	reel_push_bits(tape, scramble(n), n);
	reel_tape_hold(tape);
	for (unsigned again = 0; again < 2; again++) {
		reel_tape_replay(tape);
		wrong += reel_pop_bits(tape, n) != low(scramble(n), n);
		wrong += wrong_single_bits(tape, before);
		reel_push_bits(tape, ~scramble(n), LARGEST);
		reel_push(tape, 2.5);
		reel_push_bits(tape, ~scramble(n), LARGEST);
	}
	reel_tape_replay(tape);
	reel_tape_release(tape);
	return wrong + (reel_pop_bits(tape, n) != low(scramble(n), n));
}

/* In a hold popped bits are replaced by others, which stay after the release. */
static unsigned are_replaced_in_a_hold(reel_tape *tape, unsigned before, unsigned n)
{
	unsigned wrong;

	reel_push_bits(tape, scramble(n), n);
	reel_tape_hold(tape);
	wrong = reel_pop_bits(tape, n) != low(scramble(n), n);
	reel_push_bits(tape, ~scramble(before), n);
	reel_push(tape, 2.5);
	reel_push_bits(tape, scramble(before), LARGEST);
	reel_tape_release(tape);
	wrong += reel_pop_bits(tape, LARGEST) != low(scramble(before), LARGEST);
	wrong += reel_pop(tape, double) != 2.5;
	return wrong + (reel_pop_bits(tape, n) != low(~scramble(before), n));
}

static unsigned looks_leave_it(reel_tape *tape, unsigned before, unsigned n)
{
	bool last = scramble(before) & 1;
	unsigned wrong = 0;

	reel_push_bits(tape, scramble(n), n);
	reel_push_bit(tape, last);
	for (unsigned again = 0; again < 3; again++)
		wrong += reel_look(tape, bool) != last;
	wrong += reel_pop_bit(tape) != last;
	if (n == 1)
		wrong += reel_look(tape, bool) != (scramble(n) & 1);
	return wrong + (reel_pop_bits(tape, n) != low(scramble(n), n));
}

static unsigned bytes_come_back(reel_tape *tape, unsigned before, unsigned n)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < n; i++)
		reel_push_bits(tape, (uint8_t)scramble(before + i), 8);
	for (unsigned i = n; i-- > 0;)
		wrong += reel_pop_bits(tape, 8) != (uint8_t)scramble(before + i);
	return wrong;
}

/* Bits are the same if they are pushed and popped as bits, or as a bool. */
static unsigned are_bits_by_any_name(reel_tape *tape, unsigned before, unsigned n)
{
	unsigned wrong;

	(void)n;
	reel_push_bits(tape, (uint8_t)before, 8);
	wrong = reel_pop_bits(tape, 8) != before;
	reel_push(tape, (bool)(before & 1));
	wrong += reel_pop_bits(tape, 1) != (before & 1);
	reel_push_bits(tape, before, 1);
	return wrong + (reel_pop(tape, bool) != (before & 1));
}

static void bits_are_packed(void)
{
	reel_tape tape = {0};
	unsigned wrong = 0;

	for (unsigned i = 1; i <= 1000; i++) {
		reel_push_bits(&tape, i, 10);
		wrong += reel_tape_bytes(&tape) != 10 * i / WORD * 8;
	}
	is_int(wrong, 0, "64 bits take 8 bytes");
	for (unsigned i = 1000; i > 0; i--)
		wrong += reel_pop_bits(&tape, 10) != i;
	is_int(wrong, 0, "ten at a time, they come back");
	reel_tape_close(&tape);
}

static void popping_in_other_pieces(void)
{
	reel_tape tape = {0};

	for (unsigned i = 0; i < 8; i++)
		reel_push_bits(&tape, i, 3);
	is_int(reel_pop_bits(&tape, 24), 001234567, "unchecked bits may be popped in other pieces");
	reel_tape_close(&tape);
}

static void more_than_32_bits_are_refused(unsigned flags)
{
	static const unsigned too_many[] = {33, 63, 64, 65, 1u << 31, ~0u};

	for (size_t i = 0; i < COUNT(too_many); i++) {
		unsigned n = too_many[i];
		reel_tape tape = open_tape(NULL, flags);

		record_reports();
		push_words(&tape, 0, 20);
		push_single_bits(&tape, 50);
		reel_push_bits(&tape, 1, n);
		is_int(reel_tape_error(&tape), -EINVAL, "a push of %u bits is an error", n);
		is_int(reel_tape_refused(&tape), ((uint64_t)n + 7) / 8, "refused bits are counted");
		ok(reel_pop_bits(&tape, n) == (n < WORD ? low(~(uint64_t)0, n) : ~(uint64_t)0),
		   "a pop of refused bits gives all ones");
		is_int(wrong_single_bits(&tape, 50) + wrong_words(&tape, 0, 20), 0,
		       "all before comes back");
		is_int(reported.calls, 1, "the refusal was reported once");
		is_int(reel_tape_clear_error(&tape), -EINVAL, "the tape can go on");
		reel_tape_close(&tape);
	}
}

static void a_pop_of_more_than_32_bits_is_an_error(void)
{
	reel_tape tape = {0};

	record_reports();
	push_single_bits(&tape, 50);
	ok(reel_pop_bits(&tape, 33) == low(~(uint64_t)0, 33), "a pop of 33 bits gives all ones");
	is_int(reel_tape_error(&tape), -EINVAL, "a pop of 33 bits is an error");
	ok(reel_pop_bits(&tape, 5) == 31, "a tape out of step gives nothing else");
	reel_tape_close(&tape);
}

static void push_word_or_bits(reel_tape *tape, unsigned i)
{
	if (i % 3)
		reel_push_bits(tape, scramble(i), 32);
	else
		reel_push(tape, scramble(i));
}

static bool pops_word_or_bits(reel_tape *tape, unsigned i)
{
	if (i % 3)
		return reel_pop_bits(tape, 32) == low(scramble(i), 32);
	return reel_pop(tape, uint64_t) == scramble(i);
}

/*
 * Two pushes of bits make a word, and the notes of both also take memory. An array with one note
 * before them moves the ends of slabs.
 */
static unsigned wrong_after_a_refusal(unsigned slabs, unsigned words)
{
	reel_pool *pool = open_pool(tiny_budget(slabs));
	reel_tape tape = open_tape(pool, REEL_CHECKED);
	uint64_t array[8] = {0};
	unsigned pushed = 0, wrong = 0;

	reel_push_array(&tape, array, words);
	while (!reel_tape_error(&tape))
		push_word_or_bits(&tape, pushed++);
	wrong += pops_word_or_bits(&tape, --pushed);
	while (pushed-- > 0)
		wrong += !pops_word_or_bits(&tape, pushed);
	reel_pop_array(&tape, array, words);
	wrong += !reel_tape_is_empty(&tape) || reel_tape_error(&tape) != -EDQUOT;
	reel_tape_close(&tape);
	return wrong + (reel_pool_close(pool) != 0);
}

static void what_was_refused_is_not_noted(void)
{
	unsigned wrong = 0;

	record_reports();
	for (unsigned slabs = 2; slabs <= 16; slabs++)
		for (unsigned words = 1; words <= 8; words++)
			wrong += wrong_after_a_refusal(slabs, words);
	is_int(wrong, 0, "after a refused push all before it comes back, in checked mode");
}

int main(void)
{
	static const struct {
		test_at *wrong_at;
		const char *holds;
	} tests[] = {
		{come_back, "0 to 32 bits come back from every place"},
		{keep_their_order, "bits and values keep their common order"},
		{up_and_down, "bits come and go at every place"},
		{come_back_by_rewinding, "a rewind brings bits back"},
		{come_back_by_replay, "a replay brings bits back"},
		{are_replaced_in_a_hold, "bits replaced in a hold stay after it"},
		{looks_leave_it, "a look leaves the bit"},
		{bytes_come_back, "bytes come back from every place"},
		{are_bits_by_any_name, "bits, bytes and bools are the same bits"},
	};

	tap_begin();
	for (size_t i = 0; i < COUNT(tests); i++) {
		everywhere(tests[i].wrong_at, 0, tests[i].holds);
		everywhere(tests[i].wrong_at, REEL_CHECKED, tests[i].holds);
	}
	bits_are_packed();
	popping_in_other_pieces();
	tap_case("more than 32");
	more_than_32_bits_are_refused(0);
	more_than_32_bits_are_refused(REEL_CHECKED);
	a_pop_of_more_than_32_bits_is_an_error();
	what_was_refused_is_not_noted();
	return tap_end();
}
