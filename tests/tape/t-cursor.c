/* SPDX-License-Identifier: MIT */
/* Tests cursors: loops that keep the top of the tape in registers. */
#include <config.h>

#include <errno.h>

#include "helpers/support.h"

struct triple {
	double x, y, z;
};

REEL_RECORD(triple, struct triple);

static void push_words_by_cursor(reel_tape *tape, uint64_t from, uint64_t to)
{
	reel_cursor c = reel_push_cursor(tape);

	for (uint64_t i = from; i < to; i++)
		c = reel_cursor_push(tape, c, scramble(i));
	reel_cursor_close(tape, c);
}

static unsigned wrong_words_by_cursor(reel_tape *tape, uint64_t from, uint64_t to)
{
	reel_cursor c = reel_pop_cursor(tape);
	unsigned wrong = 0;

	for (uint64_t i = to; i-- > from;) {
		uint64_t x;

		c = reel_cursor_pop(tape, c, &x);
		wrong += x != scramble(i);
	}
	reel_cursor_close(tape, c);
	return wrong;
}

/* Values that cursors push are popped by calls, and the reverse, with words before and after. */
static void cursors_and_calls_are_the_same(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (unsigned before = 0; before < 60; before++)
		for (unsigned n = 0; n < 60; n++) {
			reel_tape tape = open_tape(pool, flags);

			push_words(&tape, 0, before);
			push_words_by_cursor(&tape, before, before + n);
			push_words(&tape, before + n, before + n + 3);
			wrong += reel_tape_bytes(&tape) != 8 * (before + n + 3);
			wrong += wrong_words_by_cursor(&tape, before, before + n + 3);
			push_words_by_cursor(&tape, before, before + n);
			wrong += wrong_words(&tape, before, before + n);
			wrong += wrong_words_by_cursor(&tape, 0, before);
			wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
			reel_tape_close(&tape);
		}
	is_int(wrong, 0, "what cursors push calls pop, and the other way round%s",
	       flags ? ", in checked mode" : "");
	close_pool(pool, "cursors");
}

static void types_mix(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, flags);
	reel_cursor c = reel_push_cursor(&tape);
	unsigned wrong = 0;

	for (int i = 0; i < 100; i++) {
		c = reel_cursor_push(&tape, c, i);
		c = reel_cursor_push(&tape, c, (float)i * 0.5f);
		c = reel_cursor_push_record(&tape, c, triple, ((struct triple){i, -i, i * 2.0}));
		c = reel_cursor_push(&tape, c, &tape);
	}
	reel_cursor_close(&tape, c);
	c = reel_pop_cursor(&tape);
	for (int i = 100; i-- > 0;) {
		const void *pointer;
		struct triple t;
		float f;
		int number;

		c = reel_cursor_pop(&tape, c, &pointer);
		c = reel_cursor_pop_record(&tape, c, triple, &t);
		c = reel_cursor_pop(&tape, c, &f);
		c = reel_cursor_pop(&tape, c, &number);
		wrong += pointer != &tape || t.x != i || t.y != -i || t.z != i * 2.0;
		wrong += f != (float)i * 0.5f || number != i;
	}
	reel_cursor_close(&tape, c);
	is_int(wrong, 0, "one cursor takes values of many types%s",
	       flags ? ", in checked mode" : "");
	ok(reel_tape_is_empty(&tape), "a cursor leaves nothing");
	reel_tape_close(&tape);
	close_pool(pool, "cursors of many types");
}

static void an_unused_cursor_changes_nothing(void)
{
	reel_tape tape = {0};

	reel_cursor_close(&tape, reel_push_cursor(&tape));
	reel_cursor_close(&tape, reel_pop_cursor(&tape));
	ok(is_zero(&tape), "a cursor opened and closed on an all-zero tape");
	push_words(&tape, 0, 30);
	reel_cursor_close(&tape, reel_push_cursor(&tape));
	reel_cursor_close(&tape, reel_pop_cursor(&tape));
	is_int(wrong_words(&tape, 0, 30), 0, "a cursor opened and closed on a tape with values");
	reel_tape_close(&tape);
}

static void cursors_in_a_hold_overwrite_nothing(unsigned words)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	unsigned wrong = 0;

	push_words(&tape, 0, words);
	reel_tape_hold(&tape);
	for (int again = 0; again < 3; again++) {
		reel_tape_replay(&tape);
		wrong += wrong_words_by_cursor(&tape, words / 2, words);
		push_words_by_cursor(&tape, 200, 240);
		wrong += wrong_words_by_cursor(&tape, 200, 240);
		wrong += wrong_words_by_cursor(&tape, 0, words / 2);
		push_words_by_cursor(&tape, 300, 310);
	}
	reel_tape_replay(&tape);
	reel_tape_release(&tape);
	wrong += wrong_words_by_cursor(&tape, 0, words);
	is_int(wrong, 0, "replayed thrice with cursors: %u words", words);
	reel_tape_close(&tape);
	close_pool(pool, "cursors in a hold");
}

static void a_cursor_stops_at_the_bottom(unsigned flags)
{
	reel_tape tape = open_tape(NULL, flags);
	reel_cursor c;
	double x;

	record_reports();
	reel_push(&tape, 1.5);
	c = reel_pop_cursor(&tape);
	c = reel_cursor_pop(&tape, c, &x);
	is_double(x, 1.5, "the only value comes back by cursor");
	c = reel_cursor_pop(&tape, c, &x);
	ok(all_ones(&x, sizeof x), "one more pop by cursor gives all ones");
	c = reel_cursor_pop(&tape, c, &x);
	reel_cursor_close(&tape, c);
	is_int(reel_tape_error(&tape), -ENODATA,
	       "one more pop by cursor is a pop of an empty tape");
	is_int(reported.calls, 1, "the pop of an empty tape is reported once");
	reel_tape_close(&tape);
}

int main(void)
{
	tap_begin();
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++) {
		cursors_and_calls_are_the_same(flags);
		types_mix(flags);
		a_cursor_stops_at_the_bottom(flags);
	}
	an_unused_cursor_changes_nothing();
	cursors_in_a_hold_overwrite_nothing(10);
	cursors_in_a_hold_overwrite_nothing(100);
	return tap_end();
}
