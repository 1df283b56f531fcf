/* SPDX-License-Identifier: MIT */
/* Tests holds: a stretch of tape is popped several times, with pushes in between. */
#include <config.h>

#include <errno.h>

#include "helpers/support.h"

/* Numbers of words that are in the struct only, at its limit, in small slabs and in larger ones. */
static const unsigned lengths[] = {0,  1,  INLINE_WORDS - 1, INLINE_WORDS, INLINE_WORDS + 1,
				   20, 60, 130};

/* Returns n eighths of the length of a tape. */
static unsigned eighths(unsigned words, unsigned n)
{
	return words * n / 8;
}

static unsigned wrong_replays(reel_tape *tape, unsigned words, unsigned depth)
{
	uint64_t bytes = reel_tape_bytes(tape);
	unsigned wrong = 0;

	for (unsigned again = 0; again < 3; again++) {
		wrong += reel_tape_replay(tape) != 0;
		wrong += reel_tape_bytes(tape) != bytes;
		wrong += wrong_words(tape, depth, words);
	}
	return wrong;
}

static void a_tape_is_replayed(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(lengths); i++)
		for (unsigned part = 0; part <= 8; part++) {
			unsigned words = lengths[i], depth = eighths(words, part);
			reel_tape tape = open_tape(pool, flags);

			push_words(&tape, 0, words);
			wrong += reel_tape_hold(&tape) != 0;
			wrong += wrong_replays(&tape, words, depth);
			wrong += reel_tape_release(&tape) != 0;
			wrong += reel_tape_bytes(&tape) != 8 * depth;
			wrong += wrong_words(&tape, 0, depth);
			wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
			reel_tape_close(&tape);
		}
	is_int(wrong, 0, "some or all of a tape is replayed thrice, the rest stays%s",
	       flags ? ", in checked mode" : "");
	close_pool(pool, "replays");
}

/* In the hold words are popped down to a depth, and other words are pushed. */
static unsigned wrong_branch(reel_tape *tape, unsigned words, unsigned depth, unsigned more)
{
	unsigned wrong = wrong_words(tape, depth, words);

	push_words(tape, 1000, 1000 + more);
	wrong += reel_tape_bytes(tape) != 8 * (depth + more);
	wrong += wrong_words(tape, 1000 + more / 2, 1000 + more);
	push_words(tape, 1000 + more / 2, 1000 + more);
	return wrong;
}

static void pushes_in_a_hold_overwrite_nothing(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(lengths); i++)
		for (unsigned part = 0; part <= 8; part++)
			for (unsigned more = 1; more < 50; more += 13) {
				unsigned words = lengths[i], depth = eighths(words, part);
				reel_tape tape = open_tape(pool, flags);

				push_words(&tape, 0, words);
				reel_tape_hold(&tape);
				for (unsigned again = 0; again < 2; again++) {
					reel_tape_replay(&tape);
					wrong += wrong_branch(&tape, words, depth, more);
				}
				reel_tape_replay(&tape);
				wrong += wrong_words(&tape, 0, words);
				wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
				reel_tape_close(&tape);
			}
	is_int(wrong, 0, "pushes at any depth in a hold overwrite nothing%s",
	       flags ? ", in checked mode" : "");
	close_pool(pool, "branches");
}

static void a_branch_stays_after_the_release(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(lengths); i++)
		for (unsigned part = 0; part <= 8; part++)
			for (unsigned more = 1; more < 50; more += 13) {
				unsigned words = lengths[i], depth = eighths(words, part);
				reel_tape tape = open_tape(pool, flags);

				push_words(&tape, 0, words);
				reel_tape_hold(&tape);
				wrong += wrong_branch(&tape, words, depth, more);
				reel_tape_release(&tape);
				wrong += reel_tape_bytes(&tape) != 8 * (depth + more);
				push_words(&tape, 0, 9);
				wrong += wrong_words(&tape, 0, 9);
				wrong += wrong_words(&tape, 1000, 1000 + more);
				wrong += wrong_words(&tape, 0, depth);
				wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
				reel_tape_close(&tape);
			}
	is_int(wrong, 0, "a release leaves the top where it is, on what is below it%s",
	       flags ? ", in checked mode" : "");
	close_pool(pool, "releases");
}

static void a_release_gives_popped_slabs_back(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	uint64_t before;

	push_words(&tape, 0, 1000);
	before = slabs_in_use(pool);
	reel_tape_hold(&tape);
	wrong_words(&tape, 0, 1000);
	is_int(slabs_in_use(pool), before, "a hold keeps the slabs that are popped");
	push_words(&tape, 0, 1);
	is_int(slabs_in_use(pool), before + 1, "a push takes one more");
	reel_tape_release(&tape);
	is_int(slabs_in_use(pool), 1, "the release gives back all that were popped");
	is_int(wrong_words(&tape, 0, 1), 0, "the release keeps the slab pushed on");
	reel_tape_close(&tape);
	close_pool(pool, "a release");
}

static void a_replay_gives_branches_back(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	uint64_t most = 0;

	push_words(&tape, 0, 100);
	reel_tape_hold(&tape);
	for (unsigned again = 0; again < 20; again++) {
		push_words(&tape, 0, 100);
		if (again == 0)
			most = slabs_in_use(pool);
		reel_tape_replay(&tape);
		wrong_words(&tape, 50, 100);
	}
	ok(slabs_in_use(pool) <= most, "twenty branches take no more memory than one");
	reel_tape_close(&tape);
	close_pool(pool, "twenty branches");
}

/*
 * Between two holds, and in the second one, words are popped down to some depth, and other words
 * are pushed. Then the inner hold is replayed, or released without a replay, and after it the outer
 * one.
 */
static unsigned wrong_nested(reel_tape *tape, unsigned words, unsigned outer, unsigned inner,
			     bool replay_inner, bool replay_outer)
{
	unsigned wrong;

	push_words(tape, 0, words);
	reel_tape_hold(tape);
	wrong = wrong_words(tape, outer, words);
	push_words(tape, 1000, 1000 + outer);
	reel_tape_hold(tape);
	wrong += wrong_words(tape, 1000, 1000 + outer);
	wrong += wrong_words(tape, inner, outer);
	push_words(tape, 2000, 2010);
	if (replay_inner) {
		reel_tape_replay(tape);
		wrong += wrong_words(tape, 1000, 1000 + outer);
		wrong += wrong_words(tape, 0, outer);
		reel_tape_replay(tape);
	}
	reel_tape_release(tape);
	if (!replay_outer && replay_inner)
		wrong += wrong_words(tape, 1000, 1000 + outer);
	if (!replay_outer && !replay_inner)
		wrong += wrong_words(tape, 2000, 2010);
	if (replay_outer) {
		reel_tape_replay(tape);
		wrong += wrong_words(tape, 0, words);
		reel_tape_replay(tape);
	}
	reel_tape_release(tape);
	wrong += wrong_words(tape, 0, replay_outer ? words : replay_inner ? outer : inner);
	return wrong + (reel_tape_error(tape) || !reel_tape_is_empty(tape));
}

static void holds_nest(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(lengths); i++)
		for (unsigned a = 0; a <= 8; a++)
			for (unsigned b = 0; b <= a; b++)
				for (int replays = 0; replays < 4; replays++) {
					reel_tape tape = open_tape(pool, flags);
					unsigned words = lengths[i];

					wrong += wrong_nested(&tape, words, eighths(words, a),
							      eighths(words, b), replays & 1,
							      replays & 2);
					reel_tape_close(&tape);
				}
	is_int(wrong, 0, "replays and releases are those of the innermost hold%s",
	       flags ? ", in checked mode" : "");
	close_pool(pool, "nested holds");
}

static void many_holds_nest(void)
{
	enum { HOLDS = 30 };
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	unsigned wrong = 0;

	for (unsigned i = 0; i < HOLDS; i++) {
		push_words(&tape, 10 * i, 10 * i + 10);
		wrong += reel_tape_hold(&tape) != 0;
		wrong += wrong_words(&tape, 10 * i + 5, 10 * i + 10);
		push_words(&tape, 10 * i + 5, 10 * i + 10);
	}
	for (unsigned i = HOLDS; i-- > 0;) {
		wrong += reel_tape_replay(&tape) != 0;
		wrong += wrong_words(&tape, 0, 10 * i + 10);
		wrong += reel_tape_replay(&tape) != 0;
		wrong += reel_tape_release(&tape) != 0;
		wrong += wrong_words(&tape, 10 * i, 10 * i + 10);
	}
	is_int(wrong, 0, "thirty holds nest");
	ok(reel_tape_is_empty(&tape), "thirty holds leave nothing");
	reel_tape_close(&tape);
	close_pool(pool, "thirty holds");
}

static void spans_arrays_and_bits_are_replayed(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, flags);
	char array[500], back[500];
	unsigned wrong = 0;

	fill(array, sizeof array, 1);
	reel_push_array(&tape, array, sizeof array);
	reel_push_bits(&tape, 1234567, 32);
	fill(reel_push_span(&tape, long double, 3), 3 * sizeof(long double), 2);
	fill(reel_push_span(&tape, char, 300), 300, 3);
	reel_tape_hold(&tape);
	for (unsigned again = 0; again < 3; again++) {
		reel_tape_replay(&tape);
		wrong += !is_filled(reel_pop_span(&tape, char, 300), 300, 3);
		wrong += !is_filled(reel_pop_span(&tape, long double, 3), 3 * sizeof(long double),
				    2);
		if (again == 1)
			continue;
		wrong += reel_pop_bits(&tape, 32) != 1234567;
		reel_push_bits(&tape, 7654321, 32);
		reel_push_bits(&tape, 7654321, 32);
		wrong += reel_pop_bits(&tape, 32) != 7654321;
		wrong += reel_pop_bits(&tape, 32) != 7654321;
		reel_pop_array(&tape, back, sizeof back);
		wrong += memcmp(array, back, sizeof back) != 0;
		reel_push_array(&tape, back + 1, 400);
	}
	reel_tape_release(&tape);
	reel_pop_array(&tape, back, 400);
	wrong += !is_filled(back, 400, 2);
	is_int(wrong, 0, "spans, arrays and bits are replayed, too%s",
	       flags ? ", in checked mode" : "");
	ok(reel_tape_is_empty(&tape), "the array pushed at the bottom was all that was left");
	reel_tape_close(&tape);
	close_pool(pool, "values of all shapes were held");
}

/* The top slab is empty when a hold begins. */
static void a_hold_on_an_empty_slab(unsigned more, bool replay)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	unsigned wrong;

	push_words(&tape, 0, INLINE_WORDS + 1);
	reel_pop(&tape, uint64_t);
	reel_tape_hold(&tape);
	push_words(&tape, INLINE_WORDS, INLINE_WORDS + more);
	if (replay) {
		reel_tape_replay(&tape);
		wrong_words(&tape, 3, INLINE_WORDS);
		push_words(&tape, 3, INLINE_WORDS + more);
	}
	reel_tape_release(&tape);
	wrong = wrong_words(&tape, 0, INLINE_WORDS + more);
	is_int(wrong, 0, "a hold on an empty slab, %u words, %s", more,
	       replay ? "replayed" : "not replayed");
	reel_tape_close(&tape);
	close_pool(pool, "a hold on an empty slab");
}

static void without_a_hold(unsigned flags)
{
	static int (*const calls[])(reel_tape *) = {reel_tape_replay, reel_tape_release};

	for (size_t i = 0; i < COUNT(calls); i++) {
		reel_tape tape = open_tape(NULL, flags);

		record_reports();
		is_int(calls[i](&tape), -EINVAL, "a %s without a hold", i ? "release" : "replay");
		is_int(reel_tape_error(&tape), -EINVAL, "the error sticks");
		is_int(reel_tape_clear_error(&tape), -EINVAL, "the error can be cleared");
		push_words(&tape, 0, 50);
		reel_tape_hold(&tape);
		reel_tape_release(&tape);
		is_int(calls[i](&tape), -EINVAL, "a %s after a hold has ended",
		       i ? "release" : "replay");
		is_int(wrong_words(&tape, 0, 50), 0, "the error loses no value");
		reel_tape_close(&tape);
	}
}

static void refusals_in_a_hold_go_with_a_replay(unsigned flags)
{
	reel_pool *pool = open_pool(tiny_budget(flags ? 30 : 8));
	reel_tape tape = open_tape(pool, flags);

	record_reports();
	push_words(&tape, 0, 40);
	reel_tape_hold(&tape);
	push_words(&tape, 100, 1000);
	is_int(reel_tape_error(&tape), -EDQUOT, "the budget ends in a hold");
	is_int(reel_pop(&tape, int64_t), -1, "a refused push gives all ones");
	is_int(reel_tape_replay(&tape), 0, "a replay goes back to before");
	is_int(reel_tape_refused(&tape), 0, "nothing was refused before the hold");
	is_int(wrong_words(&tape, 0, 40), 0, "all that was pushed before the hold is there");
	is_int(reel_tape_clear_error(&tape), -EDQUOT, "the error sticks until it is cleared");
	reel_tape_replay(&tape);
	push_words(&tape, 40, 50);
	is_int(wrong_words(&tape, 0, 50), 0, "pushes are taken again");
	reel_tape_close(&tape);
	close_pool(pool, "the budget ended in a hold");
}

/* A replay brings refused pushes back, so the error has to stay. */
static void refusals_before_a_hold_come_back(void)
{
	reel_pool *pool = open_pool(tiny_budget(8));
	reel_tape tape = open_tape(pool, 0);
	unsigned pushed;

	record_reports();
	for (pushed = 0; !reel_tape_error(&tape); pushed++)
		push_words(&tape, pushed, pushed + 1);
	reel_tape_hold(&tape);
	is_int(reel_pop(&tape, int64_t), -1, "a refused push is popped in a hold");
	is_int(reel_tape_refused(&tape), 0, "the refused push was the only one");
	is_int(reel_tape_clear_error(&tape), -EBUSY, "the hold keeps it");
	reel_tape_replay(&tape);
	is_int(reel_pop(&tape, int64_t), -1, "a replay brings it back");
	is_int(wrong_words(&tape, 0, pushed - 1), 0,
	       "the refused push is on top of all the others");
	reel_tape_release(&tape);
	is_int(reel_tape_clear_error(&tape), -EDQUOT, "the error can be cleared after the hold");
	reel_tape_close(&tape);
	close_pool(pool, "a refused push was held");
}

static void a_replay_brings_the_tape_back_in_step(void)
{
	reel_tape tape = {0};

	record_reports();
	push_words(&tape, 0, 30);
	reel_tape_hold(&tape);
	wrong_words(&tape, 0, 30);
	is_int(reel_pop(&tape, int64_t), -1, "one pop too many in a hold");
	is_int(reel_tape_error(&tape), -ENODATA, "one pop too many is an error");
	reel_tape_replay(&tape);
	is_int(wrong_words(&tape, 0, 30), 0, "a replay brings all back");
	reel_tape_close(&tape);
}

/* A hold keeps the window, so the next push needs a slab, also if it has no elements. */
static void nothing_is_reserved_in_a_hold(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);

	push_words(&tape, 0, 3);
	reel_tape_hold(&tape);
	ok(reel_reserve(&tape, double, 0), "a span of nothing is reserved in a hold");
	reel_commit(&tape, double, 0);
	ok(reel_pop_span(&tape, double, 0), "a span of nothing is popped in a hold");
	reel_tape_release(&tape);
	is_int(wrong_words(&tape, 0, 3), 0, "what is below it comes back");
	reel_tape_close(&tape);
	close_pool(pool, "nothing was reserved");
}

int main(void)
{
	tap_begin();
	nothing_is_reserved_in_a_hold();
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++) {
		tap_case(flags ? "checked" : "unchecked");
		a_tape_is_replayed(flags);
		pushes_in_a_hold_overwrite_nothing(flags);
		a_branch_stays_after_the_release(flags);
		holds_nest(flags);
		spans_arrays_and_bits_are_replayed(flags);
		without_a_hold(flags);
		refusals_in_a_hold_go_with_a_replay(flags);
	}
	tap_case("memory");
	a_release_gives_popped_slabs_back();
	a_replay_gives_branches_back();
	many_holds_nest();
	for (unsigned more = 0; more < 20; more += 6)
		for (int replay = 0; replay < 2; replay++)
			a_hold_on_an_empty_slab(more, replay);
	tap_case("errors");
	refusals_before_a_hold_come_back();
	a_replay_brings_the_tape_back_in_step();
	return tap_end();
}
