/* SPDX-License-Identifier: MIT */
/* Tests marks, rewinding, and windows on values below the top. */
#include <config.h>

#include <errno.h>

#include "helpers/support.h"

/* Pushes the words [from, to), and a bit before every seventh word. */
static void push_mixed(reel_tape *tape, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		if (i % 7 == 0)
			reel_push_bits(tape, scramble(i), 5);
		reel_push(tape, scramble(i));
	}
}

static unsigned wrong_mixed(reel_tape *tape, uint64_t from, uint64_t to)
{
	unsigned wrong = 0;

	for (uint64_t i = to; i-- > from;) {
		wrong += reel_pop(tape, uint64_t) != scramble(i);
		if (i % 7 == 0)
			wrong += reel_pop_bits(tape, 5) != (scramble(i) & 31);
	}
	return wrong;
}

static void rewinds_go_any_distance(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (unsigned below = 0; below < 90; below++)
		for (unsigned above = 0; above < 90; above += 1 + above / 4) {
			reel_tape tape = open_tape(pool, flags);
			uint64_t bytes;
			reel_mark mark;

			push_mixed(&tape, 0, below);
			mark = reel_tape_mark(&tape);
			bytes = reel_tape_bytes(&tape);
			push_mixed(&tape, below, below + above);
			wrong += reel_tape_rewind(&tape, mark) != 0;
			wrong += reel_tape_bytes(&tape) != bytes;
			push_mixed(&tape, below, below + above);
			wrong += wrong_mixed(&tape, below, below + above);
			wrong += reel_tape_rewind(&tape, mark) != 0;
			wrong += wrong_mixed(&tape, 0, below);
			wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
			reel_tape_close(&tape);
		}
	is_int(wrong, 0, "a rewind drops what was pushed since, and nothing else%s",
	       flags ? ", in checked mode" : "");
	close_pool(pool, "rewinds");
}

/* Returns the number of words of [0, to), all that the tape has, that windows do not show. */
static unsigned missed_words(const reel_tape *tape, uint64_t to)
{
	reel_window window = {0};
	unsigned missed = 0;

	for (uint64_t i = 0; i < to; i++) {
		if (reel_tape_window(tape, i * 8, &window))
			missed++;
		else if (window.height > i * 8 || window.height + window.bytes <= i * 8)
			missed++;
		else
			missed += *(uint64_t *)(void *)(window.start + (i * 8 - window.height)) !=
				  scramble(i);
	}
	return missed + (window.height + window.bytes != to * 8) +
	       (reel_tape_window(tape, to * 8, &window) != -EINVAL);
}

static void windows_show_all_heights(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, flags);
	unsigned missed = missed_words(&tape, 0);

	for (uint64_t words = 0; words < 200; words++) {
		push_words(&tape, words, words + 1);
		missed += missed_words(&tape, words + 1);
	}
	for (uint64_t words = 200; words-- > 0;) {
		missed += reel_pop(&tape, uint64_t) != scramble(words);
		missed += missed_words(&tape, words);
	}
	is_int(missed, 0, "each word below the top is found, and none above it%s",
	       flags ? ", in checked mode" : "");
	is_int(reel_tape_error(&tape), 0, "no error sticks");
	reel_tape_close(&tape);
	close_pool(pool, "windows");
}

static void windows_lie_end_to_end(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	reel_window window = {0};
	uint64_t height = 0;
	unsigned windows = 0;

	push_words(&tape, 0, INLINE_WORDS - 1);
	for (unsigned i = 1; i < 200; i += 7)
		if (!reel_push_span(&tape, uint64_t, i))
			abort();
	while (!reel_tape_window(&tape, height, &window) && window.height == height) {
		height += window.bytes;
		windows++;
	}
	ok(windows > 8 && height == reel_tape_bytes(&tape), "windows of all sizes lie end to end");
	reel_tape_close(&tape);
	close_pool(pool, "windows of all sizes");
}

static void values_can_be_changed_in_their_window(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	reel_window window;

	push_words(&tape, 7, 107);
	for (uint64_t i = 0; i < 100; i++)
		if (!reel_tape_window(&tape, i * 8, &window))
			*(uint64_t *)(void *)(window.start + (i * 8 - window.height)) = scramble(i);
	is_int(wrong_words(&tape, 0, 100), 0, "what is changed in a window is popped");
	reel_tape_close(&tape);
	close_pool(pool, "changes in windows");
}

/* Values that are pushed in a hold lie on a part of the values that the hold keeps. */
static void windows_follow_the_branch(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	unsigned missed = 0;

	push_words(&tape, 0, 50);
	push_words(&tape, 500, 550);
	reel_tape_hold(&tape);
	missed += wrong_words(&tape, 500, 550);
	missed += missed_words(&tape, 50);
	push_words(&tape, 50, 200);
	missed += missed_words(&tape, 200);
	reel_tape_release(&tape);
	missed += missed_words(&tape, 200);
	is_int(missed, 0, "windows are those that the tape stands on now");
	reel_tape_close(&tape);
	close_pool(pool, "windows in a hold");
}

static void a_tape_out_of_step_has_no_windows(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	reel_window window;

	record_reports();
	push_words(&tape, 0, 50);
	reel_push_bit(&tape, true);
	ok(!reel_tape_window(&tape, 49 * 8, &window), "a bit above a window hides nothing");
	reel_pop_bit(&tape);
	reel_pop(&tape, uint64_t);
	for (unsigned i = 0; i < 50; i++)
		reel_pop(&tape, uint64_t);
	is_int(reel_tape_window(&tape, 0, &window), -ENODATA, "a tape popped too far has none");
	is_int(reported.calls, 1, "a tape popped too far is not told again");
	reel_tape_close(&tape);
	close_pool(pool, "pops too many");
}

static void marks_nest(void)
{
	enum { MARKS = 100 };
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	reel_mark marks[MARKS];
	unsigned wrong = 0;

	for (unsigned i = 0; i < MARKS; i++) {
		marks[i] = reel_tape_mark(&tape);
		push_mixed(&tape, i, i + 1);
	}
	for (unsigned i = MARKS; i-- > 0;) {
		if (i % 3 == 0)
			continue;
		wrong += reel_tape_rewind(&tape, marks[i]) != 0;
		push_mixed(&tape, i, i + 2);
		wrong += wrong_mixed(&tape, i, i + 2);
	}
	wrong += reel_tape_rewind(&tape, marks[0]) != 0;
	is_int(wrong, 0, "marks lead back one after the other");
	ok(reel_tape_is_empty(&tape), "the first one to an empty tape");
	reel_tape_close(&tape);
	close_pool(pool, "marks");
}

static void a_rewind_gives_slabs_back(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	reel_mark mark = reel_tape_mark(&tape);

	push_words(&tape, 0, 1000);
	ok(slabs_in_use(pool) > 50, "a long tape is on many slabs");
	reel_tape_rewind(&tape, mark);
	ok(slabs_in_use(pool) <= 1, "a rewind keeps one at most");
	reel_tape_close(&tape);
	close_pool(pool, "a long rewind");
}

static void a_mark_of_an_unused_tape_is_its_bottom(unsigned flags)
{
	reel_tape tape = open_tape(NULL, flags);
	reel_mark mark = reel_tape_mark(&tape);

	is_int(reel_tape_rewind(&tape, mark), 0, "rewinding an unused tape");
	push_words(&tape, 0, 50);
	reel_push_bits(&tape, 9, 4);
	is_int(reel_tape_rewind(&tape, mark), 0, "rewinding to the bottom");
	ok(reel_tape_is_empty(&tape), "rewinding to the bottom leaves nothing");
	push_words(&tape, 0, 50);
	is_int(wrong_words(&tape, 0, 50), 0, "the tape goes on at the bottom");
	reel_tape_close(&tape);
}

/* Pops down to the mark, but not below it, by each kind of pop. */
static void popping_down_to_a_mark_keeps_it(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (unsigned below = 1; below < 60; below++)
		for (unsigned above = 0; above < 12; above++) {
			reel_tape tape = open_tape(pool, flags);
			reel_mark mark;

			push_words(&tape, 0, below + 1);
			reel_pop(&tape, uint64_t);
			mark = reel_tape_mark(&tape);
			push_words(&tape, below, below + above);
			wrong += wrong_words(&tape, below, below + above);
			wrong += reel_look(&tape, uint64_t) != scramble(below - 1);
			wrong += reel_tape_rewind(&tape, mark) != 0;
			push_words(&tape, below, below + above);
			wrong += reel_tape_rewind(&tape, mark) != 0;
			wrong += wrong_words(&tape, 0, below);
			wrong += reel_tape_error(&tape) != 0;
			reel_tape_close(&tape);
		}
	is_int(wrong, 0, "a mark stays while nothing below it is popped, even if looked at%s",
	       flags ? ", in checked mode" : "");
	close_pool(pool, "marks at the top");
}

/* A large record is pushed over an empty slab, and the mark on that slab stays valid. */
static void a_mark_on_an_empty_slab_stays(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, flags);
	reel_mark mark;

	push_words(&tape, 0, INLINE_WORDS + 1);
	reel_pop(&tape, uint64_t);
	mark = reel_tape_mark(&tape);
	ok(reel_push_span(&tape, double, 1000) != NULL, "a span too large for the empty slab");
	push_words(&tape, 0, 50);
	is_int(reel_tape_rewind(&tape, mark), 0, "the mark from before it is on the tape");
	is_int(wrong_words(&tape, 0, INLINE_WORDS), 0, "all below the mark is on the tape");
	reel_tape_close(&tape);
	close_pool(pool, "a mark on an empty slab");
}

static void a_mark_above_the_top_is_found(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned missed = 0;

	record_reports();
	for (unsigned below = 1; below < 80; below++)
		for (unsigned popped = 1; popped <= below; popped += 1 + popped / 3) {
			reel_tape tape = open_tape(pool, flags);
			reel_mark mark;

			push_words(&tape, 0, below);
			mark = reel_tape_mark(&tape);
			push_words(&tape, below, below + 10);
			missed += wrong_words(&tape, below - popped, below + 10);
			missed += reel_tape_rewind(&tape, mark) != -EINVAL;
			missed += reel_tape_error(&tape) != -EINVAL;
			missed += reel_tape_clear_error(&tape) != -EINVAL;
			missed += wrong_words(&tape, 0, below - popped);
			reel_tape_close(&tape);
		}
	is_int(missed, 0, "a mark above the top is -EINVAL, sticks, and loses nothing%s",
	       flags ? ", in checked mode" : "");
	close_pool(pool, "stale marks");
}

/* The tape has left the slab of the mark, and come back to the slab. */
static void a_mark_on_a_slab_left_is_found(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, flags);
	reel_mark mark;

	record_reports();
	push_words(&tape, 0, INLINE_WORDS + 5);
	mark = reel_tape_mark(&tape);
	wrong_words(&tape, INLINE_WORDS - 1, INLINE_WORDS + 5);
	push_words(&tape, 100, 120);
	is_int(reel_tape_rewind(&tape, mark), -EINVAL, "a mark on a slab that was left is found");
	reel_tape_clear_error(&tape);
	is_int(wrong_words(&tape, 100, 120), 0, "what is on the slab now stays");
	is_int(wrong_words(&tape, 0, INLINE_WORDS - 1), 0, "what is below that slab stays");
	reel_tape_close(&tape);
	close_pool(pool, "a slab was left");
}

/*
 * Values in the tape's struct have no slab that shows new values. Their notes are on slabs, which
 * show them.
 */
static void a_checked_tape_knows_values_that_were_pushed_anew(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, REEL_CHECKED);
	reel_mark mark;

	record_reports();
	push_words(&tape, 0, INLINE_WORDS);
	mark = reel_tape_mark(&tape);
	is_int(wrong_words(&tape, 0, INLINE_WORDS), 0, "all below a mark is popped");
	push_words(&tape, 0, INLINE_WORDS);
	is_int(reel_tape_rewind(&tape, mark), -EINVAL,
	       "a mark that was popped and pushed over is found");
	is_int(reel_tape_clear_error(&tape), -EINVAL, "the tape goes on");
	is_int(wrong_words(&tape, 0, INLINE_WORDS), 0, "the tape pops what was pushed anew");
	reel_tape_close(&tape);
	close_pool(pool, "values were pushed anew");
}

static void a_mark_above_popped_bits_is_found(unsigned words)
{
	reel_pool *pool = open_pool(TINY);
	unsigned missed = 0;

	record_reports();
	for (unsigned before = 0; before < 64; before++)
		for (unsigned popped = 1; popped <= 10; popped++) {
			reel_tape tape = open_tape(pool, 0);
			reel_mark mark;

			push_words(&tape, 0, words);
			for (unsigned i = 0; i < before + 10; i++)
				reel_push_bit(&tape, i & 1);
			mark = reel_tape_mark(&tape);
			push_words(&tape, 0, 1);
			missed += wrong_words(&tape, 0, 1);
			for (unsigned i = 0; i < popped; i++)
				reel_pop_bit(&tape);
			missed += reel_tape_rewind(&tape, mark) != -EINVAL;
			reel_tape_close(&tape);
		}
	is_int(missed, 0, "a mark is found stale when bits below it were popped, after %u words",
	       words);
	close_pool(pool, "bits below marks were popped");
}

static void rewinding_drops_refused_pushes(unsigned flags)
{
	reel_pool *pool = open_pool(tiny_budget(flags ? 20 : 6));
	reel_tape tape = open_tape(pool, flags);
	reel_mark mark, later;

	record_reports();
	push_words(&tape, 0, 20);
	mark = reel_tape_mark(&tape);
	push_words(&tape, 20, 500);
	later = reel_tape_mark(&tape);
	push_words(&tape, 500, 600);
	is_int(reel_tape_error(&tape), -EDQUOT, "the budget ends");
	is_int(reel_tape_clear_error(&tape), -EBUSY, "the error stays while pushes are refused");
	is_int(reel_tape_rewind(&tape, later), 0, "a mark among refused pushes");
	ok(reel_tape_refused(&tape) > 0, "the pushes before that mark stay refused");
	is_int(reel_pop(&tape, int64_t), -1, "pops of the refused pushes give all ones");
	is_int(reel_tape_rewind(&tape, mark), 0, "a mark from before the refusals");
	is_int(reel_tape_refused(&tape), 0, "a mark from before the refusals drops them");
	is_int(reel_tape_error(&tape), -EDQUOT, "the error sticks");
	is_int(reel_tape_clear_error(&tape), -EDQUOT, "the error can be cleared");
	push_words(&tape, 20, 30);
	is_int(wrong_words(&tape, 0, 30), 0, "the tape goes on when the error is cleared");
	reel_tape_close(&tape);
	close_pool(pool, "refused pushes were dropped");
}

static void a_mark_above_popped_refusals_is_found(void)
{
	reel_pool *pool = open_pool(tiny_budget(6));
	reel_tape tape = open_tape(pool, 0);
	reel_mark mark;

	record_reports();
	push_words(&tape, 0, 500);
	mark = reel_tape_mark(&tape);
	reel_pop(&tape, uint64_t);
	is_int(reel_tape_rewind(&tape, mark), -EINVAL, "a mark above a refused push that was popped");
	reel_tape_close(&tape);
	close_pool(pool, "refused pushes were popped");
}

static void rewinding_brings_the_tape_back_in_step(void)
{
	reel_tape tape = {0};
	reel_mark bottom = reel_tape_mark(&tape), mark;

	record_reports();
	push_words(&tape, 0, 3);
	mark = reel_tape_mark(&tape);
	push_words(&tape, 3, 5);
	/* A long double has 16 bytes on some machines. */
	reel_pop(&tape, long double _Complex);
	reel_pop(&tape, long double _Complex);
	reel_pop(&tape, long double _Complex);
	is_int(reel_tape_error(&tape), -EBADMSG, "a pop of too much is an error");
	is_int(reel_tape_rewind(&tape, mark), -EINVAL, "a mark above what was popped is refused");
	is_int(reel_tape_rewind(&tape, bottom), 0, "the one at the bottom stays");
	is_int(reel_tape_clear_error(&tape), -EBADMSG, "the error can be cleared at the bottom");
	push_words(&tape, 0, 40);
	is_int(wrong_words(&tape, 0, 40), 0, "the tape goes on from the bottom");
	reel_tape_close(&tape);
}

static void a_span_that_was_not_pushed_leaves_the_tape_as_it_is(void)
{
	reel_tape tape = {0};
	reel_mark mark;

	record_reports();
	push_words(&tape, 0, 5);
	mark = reel_tape_mark(&tape);
	push_words(&tape, 5, 8);
	is_pointer(reel_pop_span(&tape, uint64_t, 9), NULL, "a span of more than there is");
	is_int(reel_tape_rewind(&tape, mark), 0, "a mark from before it");
	is_int(reel_tape_clear_error(&tape), -EBADMSG, "the tape is in step again");
	is_int(wrong_words(&tape, 0, 5), 0, "the tape goes on from the mark");
	reel_tape_close(&tape);
}

static void marks_and_holds(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	reel_mark outside, inside, branch;

	record_reports();
	push_words(&tape, 0, 40);
	outside = reel_tape_mark(&tape);
	reel_tape_hold(&tape);
	is_int(reel_tape_rewind(&tape, outside), -EBUSY, "a mark from outside of the hold");
	is_int(reel_tape_error(&tape), -EBUSY, "the error sticks");
	is_int(reel_tape_clear_error(&tape), -EBUSY, "the error can be cleared");
	is_int(wrong_words(&tape, 30, 40), 0, "the error loses no value");
	inside = reel_tape_mark(&tape);
	push_words(&tape, 100, 130);
	is_int(reel_tape_rewind(&tape, inside), 0, "a mark from inside leads back");
	push_words(&tape, 30, 50);
	branch = reel_tape_mark(&tape);
	push_words(&tape, 50, 70);
	reel_tape_release(&tape);
	is_int(reel_tape_rewind(&tape, branch), 0,
	       "a mark from inside stays when the hold has ended");
	is_int(wrong_words(&tape, 0, 50), 0, "the tape has all below the mark from inside");
	is_int(reel_tape_rewind(&tape, outside), -EINVAL, "the one from outside was popped below");
	reel_tape_close(&tape);
	close_pool(pool, "marks and holds");
}

static void a_mark_in_a_dropped_branch_is_found(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	reel_mark mark;

	record_reports();
	push_words(&tape, 0, 40);
	reel_tape_hold(&tape);
	push_words(&tape, 40, 60);
	mark = reel_tape_mark(&tape);
	reel_tape_replay(&tape);
	push_words(&tape, 40, 80);
	is_int(reel_tape_rewind(&tape, mark), -EINVAL, "a mark on a branch that a replay dropped");
	is_int(wrong_words(&tape, 0, 80), 0, "loses nothing");
	reel_tape_close(&tape);
	close_pool(pool, "a branch was dropped");
}

/* The tape has the same number of bytes as at the mark, but other values. */
static void checked_mode_rewinds_values_and_notes_together(void)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	record_reports();
	for (unsigned below = 1; below < 60; below++) {
		reel_tape tape = open_tape(pool, REEL_CHECKED);
		reel_mark mark;
		int error;

		push_words(&tape, 0, below);
		mark = reel_tape_mark(&tape);
		wrong += wrong_words(&tape, 0, below);
		for (unsigned i = 0; i < below; i += 2)
			(void)reel_push_span(&tape, uint64_t, 2);
		error = reel_tape_rewind(&tape, mark);
		wrong += error != 0 && error != -EINVAL;
		reel_tape_close(&tape);
	}
	is_int(wrong, 0, "a stale mark does no harm in checked mode");
	close_pool(pool, "stale marks in checked mode");
}

int main(void)
{
	tap_begin();
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++) {
		tap_case(flags ? "checked" : "unchecked");
		rewinds_go_any_distance(flags);
		a_mark_of_an_unused_tape_is_its_bottom(flags);
		popping_down_to_a_mark_keeps_it(flags);
		a_mark_on_an_empty_slab_stays(flags);
		a_mark_above_the_top_is_found(flags);
		a_mark_on_a_slab_left_is_found(flags);
		rewinding_drops_refused_pushes(flags);
	}
	windows_show_all_heights(0);
	windows_show_all_heights(REEL_CHECKED);
	windows_lie_end_to_end();
	values_can_be_changed_in_their_window();
	windows_follow_the_branch();
	a_tape_out_of_step_has_no_windows();
	marks_nest();
	a_rewind_gives_slabs_back();
	a_mark_above_popped_bits_is_found(0);
	a_mark_above_popped_bits_is_found(INLINE_WORDS);
	a_mark_above_popped_refusals_is_found();
	rewinding_brings_the_tape_back_in_step();
	a_span_that_was_not_pushed_leaves_the_tape_as_it_is();
	marks_and_holds();
	a_mark_in_a_dropped_branch_is_found();
	checked_mode_rewinds_values_and_notes_together();
	a_checked_tape_knows_values_that_were_pushed_anew();
	return tap_end();
}
