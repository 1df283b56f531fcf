/* SPDX-License-Identifier: MIT */
/*
 * Tests spans that are larger than a slab, and are put and read in pieces: with more spans than
 * memory, with transfers that end late and in any order, that fail or are mixed up, and with spans
 * that their tape leaves during a transfer.
 */
#include <config.h>

#include <errno.h>

#include "helpers/held-store.h"
#include "helpers/spill-support.h"
#include "helpers/store-fault.h"
#include "helpers/support.h"

enum { SPANS = 24, BUDGET = 32 };

/* Returns the words of a span of two to nine slabs, which is no multiple of a slab. */
static size_t words_of(unsigned span)
{
	return SLAB_WORDS * (2 + span % 8) - 3 * span - 5;
}

static uint64_t word_at(unsigned span, size_t i)
{
	return value_at(span + 1, i);
}

/* Every second span has a few words on top, which lie on another slab. */
static void push_spans(reel_tape *tape, unsigned first, unsigned n)
{
	for (unsigned span = first; span < n; span++) {
		uint64_t *words = reel_push_span(tape, uint64_t, words_of(span));

		for (size_t i = 0; words && i < words_of(span); i++)
			words[i] = word_at(span, i);
		if (span % 2)
			push_values(tape, span, 0, 9);
	}
}

static size_t wrong_in_spans(reel_tape *tape, unsigned first, unsigned n)
{
	size_t wrong = 0;

	for (unsigned span = n; span-- > first;) {
		const uint64_t *words;

		if (span % 2)
			wrong += !pop_values(tape, span, 0, 9);
		words = reel_pop_span(tape, uint64_t, words_of(span));
		if (!words)
			return wrong + words_of(span);
		for (size_t i = 0; i < words_of(span); i++)
			wrong += words[i] != word_at(span, i);
	}
	return wrong;
}

static size_t bytes_of_spans(unsigned first, unsigned n)
{
	size_t bytes = 0;

	for (unsigned span = first; span < n; span++)
		bytes += 8 * words_of(span);
	return bytes;
}

static void more_than_memory_has_room_for(unsigned failing)
{
	struct late_store *late = late_open(7 + failing);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 16));
	reel_tape tape = open_tape(pool, 0);
	size_t bytes = bytes_of_spans(0, SPANS);

	tap_case(failing ? "large spans, and a put of each few that fails" : "large spans");
	late_fail(late, failing);
	push_spans(&tape, 0, SPANS);
	is_int(reel_tape_error(&tape), 0, "all are pushed");
	ok(stats_of(pool).written_bytes >= bytes - BUDGET * SLAB, "what has no room is written");
	ok(stats_of(pool).peak_resident_bytes <= BUDGET * SLAB, "memory has stayed in its budget");
	is_int(wrong_in_spans(&tape, SPANS / 2, SPANS), 0, "the upper half comes back");
	push_spans(&tape, SPANS / 2, SPANS);
	is_int(wrong_in_spans(&tape, 0, SPANS), 0, "and all of it after another way up");
	ok(stats_of(pool).read_bytes >= bytes - BUDGET * SLAB, "much of it was read");
	ok(stats_of(pool).peak_resident_bytes <= BUDGET * SLAB, "in the same memory");
	reel_tape_close(&tape);
	close_all(pool, late, "large spans");
}

/* Opens a pool with a store that compares blocks with their labels. */
static reel_pool *faulty_pool(const struct reel_fault_rule *rule)
{
	reel_store *memory, *faulty;

	if (reel_store_memory_open(&memory, 1 << 24) ||
	    reel_store_fault_open(&faulty, memory, rule, 1))
		abort();
	return open_pool(spilling(faulty, BUDGET, 8));
}

static void a_piece_is_lost(const char *what, const struct reel_fault_rule *rule, int error)
{
	reel_pool *pool = faulty_pool(rule);
	reel_tape tape = open_tape(pool, 0);
	size_t wrong;

	tap_case(what);
	record_reports();
	push_spans(&tape, 0, SPANS);
	wrong = wrong_in_spans(&tape, 0, SPANS);
	is_int(reel_tape_error(&tape), error, "the tape's error");
	ok(!wrong == !error, "what comes back is right, or the tape says that it is not");
	is_int(reported.calls, error != 0, "which is reported once");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, what);
}

static struct reel_slab *lowest_of(const reel_tape *tape)
{
	struct reel_slab *slab = tape->slab;

	while (slab->below)
		slab = slab->below;
	return slab;
}

static void a_span_is_left_while_it_travels(bool late_end, int error)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool(spilling(&held->store, BUDGET, 4));
	reel_tape tape = open_tape(pool, 0);

	tap_case("a span whose tape is closed while it is put");
	push_spans(&tape, 0, 3);
	while (held_transfers(held) < 4)
		sched_yield();
	is_int(reel_slab_state_of(lowest_of(&tape)), REEL_SLAB_WRITING, "it is under way");
	if (late_end)
		reel_tape_close(&tape);
	held_end(held, error);
	settle(pool);
	if (!late_end) {
		is_int(wrong_in_spans(&tape, 0, 3), 0, "what was put comes back");
		reel_tape_close(&tape);
	}
	close_pool_at_rest(pool, "a span that was left");
}

/* A large span has its own mapping, but the pool only has whole slabs that are ready. */
static void a_large_span_takes_the_room_of_many_slabs(void)
{
	struct late_store *late = late_open(3);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, 24));
	reel_tape tape = open_tape(pool, 0), other = open_tape(pool, 0);
	const size_t words = 20 * SLAB_WORDS;

	tap_case("a span that needs the room of twenty slabs");
	push_values(&other, 1, 0, 100 * SLAB_WORDS);
	ok(reel_push_span(&tape, uint64_t, words), "it gets it");
	is_int(reel_tape_error(&tape), 0, "without an error");
	push_values(&other, 1, 100 * SLAB_WORDS, 200);
	ok(pop_values(&other, 1, 0, 100 * SLAB_WORDS + 200), "the other tape comes back");
	ok(reel_pop_span(&tape, uint64_t, words), "and so does the span");
	ok(stats_of(pool).peak_resident_bytes <= BUDGET * SLAB, "all in the budget");
	reel_tape_close(&tape);
	reel_tape_close(&other);
	close_all(pool, late, "a span that needs much room");
}

/*
 * A get ends when the store is called again, which the offload thread does after it was idle for a
 * while. It has to become idle although it searches for room for the span again and again.
 */
static void a_span_is_requested_without_room(void)
{
	reel_pool *pool = faulty_pool(&(struct reel_fault_rule){.fault = REEL_FAULT_LATE,
								.persistent = true});
	reel_tape tape = open_tape(pool, 0), other = open_tape(pool, 0);
	const size_t words = 8 * SLAB_WORDS, above = 40 * SLAB_WORDS;

	tap_case("a span that is requested while slabs above it are read late");
	ok(reel_push_span(&tape, uint64_t, words), "a span is pushed");
	push_values(&tape, 1, 0, above);
	ok(reel_push_span(&other, uint64_t, (BUDGET - 8) * SLAB_WORDS), "another one, to stay");
	ok(pop_values(&tape, 1, 0, above), "what lies on the first one comes back");
	ok(reel_pop_span(&tape, uint64_t, words), "and so does the span");
	reel_tape_close(&tape);
	reel_tape_close(&other);
	close_pool_at_rest(pool, "a span that is requested");
}

int main(void)
{
	tap_begin();
	more_than_memory_has_room_for(0);
	more_than_memory_has_room_for(5);
	a_piece_is_lost("a get that fails once",
			&(struct reel_fault_rule){.fault = REEL_FAULT_ERROR, .at = 7, .error = -EIO},
			0);
	a_piece_is_lost("gets that fail from the eighth on",
			&(struct reel_fault_rule){.fault = REEL_FAULT_ERROR, .persistent = true,
						  .at = 7, .error = -EIO}, -EIO);
	a_piece_is_lost("pieces that are mixed up",
			&(struct reel_fault_rule){.fault = REEL_FAULT_MISPLACE, .persistent = true,
						  .at = 7}, -EBADMSG);
	a_piece_is_lost("puts that fail from the eighth on",
			&(struct reel_fault_rule){.fault = REEL_FAULT_ERROR, .put = true, .at = 7,
						  .error = -EIO}, 0);
	for (int error = 0; error >= -EIO; error -= EIO) {
		a_span_is_left_while_it_travels(true, error);
		a_span_is_left_while_it_travels(false, error);
	}
	a_large_span_takes_the_room_of_many_slabs();
	a_span_is_requested_without_room();
	return tap_end();
}
