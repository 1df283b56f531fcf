/* SPDX-License-Identifier: MIT */
/*
 * Tests recordings: readers pop the values, at the same time and one after the other, in memory and
 * from a store. Their pushes and holds are their own, and errors are reported.
 */
#include <config.h>

#include <errno.h>


#include "helpers/spill-support.h"
#include "helpers/store-fault.h"
#include "helpers/support.h"

/* Numbers of words that are in the struct only, at its limit, in small slabs and in larger ones. */
static const unsigned lengths[] = {0,  1,  INLINE_WORDS - 1, INLINE_WORDS, INLINE_WORDS + 1,
				   20, 60, 130};

static reel_recording *frozen(reel_tape *tape)
{
	reel_recording *recording;

	if (reel_tape_freeze(tape, &recording))
		abort();
	return recording;
}

static reel_recording *recording_of(reel_pool *pool, unsigned flags, uint64_t words)
{
	reel_tape tape = open_tape(pool, flags);

	push_words(&tape, 0, words);
	return frozen(&tape);
}

static void open_reader(reel_tape *reader, reel_recording *recording)
{
	if (reel_reader_open(reader, recording))
		abort();
}

static unsigned wrong_words_of_reader(reel_recording *recording, uint64_t words)
{
	reel_tape reader;
	unsigned wrong;

	open_reader(&reader, recording);
	wrong = reel_tape_bytes(&reader) != 8 * words;
	wrong += wrong_words(&reader, 0, words);
	wrong += !reel_tape_is_empty(&reader) || reel_tape_error(&reader) != 0;
	reel_tape_close(&reader);
	return wrong + !is_zero(&reader);
}

/* ---- In memory ---- */

static void readers_see_what_was_pushed(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(lengths); i++) {
		reel_tape tape = open_tape(pool, flags);
		reel_recording *recording;

		push_words(&tape, 0, lengths[i]);
		recording = frozen(&tape);
		wrong += !is_zero(&tape);
		for (unsigned again = 0; again < 3; again++)
			wrong += wrong_words_of_reader(recording, lengths[i]);
		reel_recording_close(recording);
	}
	is_int(wrong, 0, "readers see what was pushed%s", flags ? ", in checked mode" : "");
	close_pool(pool, "readers");
}

/* Pushes bits, spans and arrays. The last slab is empty when the tape is frozen. */
static void push_shapes(reel_tape *tape, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t *span = reel_push_span(tape, uint64_t, 5);
		uint64_t array[40];

		for (unsigned j = 0; j < 5; j++)
			span[j] = scramble(i + j);
		reel_push_bits(tape, i, 7);
		for (unsigned j = 0; j < COUNT(array); j++)
			array[j] = scramble(7 * i + j);
		reel_push_array(tape, array, COUNT(array));
		reel_push_bit(tape, i % 3 == 0);
	}
	reel_push_span(tape, uint64_t, 16);
	reel_pop_span(tape, uint64_t, 16);
}

static unsigned wrong_shapes(reel_tape *tape, unsigned n)
{
	unsigned wrong = 0;

	for (unsigned i = n; i-- > 0;) {
		uint64_t array[40];
		const uint64_t *span;

		wrong += reel_pop_bit(tape) != (i % 3 == 0);
		reel_pop_array(tape, array, COUNT(array));
		for (unsigned j = 0; j < COUNT(array); j++)
			wrong += array[j] != scramble(7 * i + j);
		wrong += reel_pop_bits(tape, 7) != i % 128;
		span = reel_pop_span(tape, uint64_t, 5);
		for (unsigned j = 0; j < 5; j++)
			wrong += !span || span[j] != scramble(i + j);
	}
	return wrong;
}

static void all_shapes_come_back(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, flags), first, second;
	reel_recording *recording;

	push_shapes(&tape, 50);
	recording = frozen(&tape);
	open_reader(&first, recording);
	open_reader(&second, recording);
	reel_recording_close(recording);
	is_int(wrong_shapes(&first, 50) + wrong_shapes(&second, 50), 0,
	       "bits, spans and arrays come back%s", flags ? ", in checked mode" : "");
	is_int(reel_tape_replay(&first), 0, "a reader can be replayed");
	is_int(wrong_shapes(&first, 50), 0, "a replayed reader has all values again");
	reel_tape_close(&first);
	ok(slabs_in_use(pool) > 0, "the recording lives as long as a reader");
	reel_tape_close(&second);
	close_pool(pool, "shapes");
}

/* ---- Other operations of readers ---- */

static void pushes_are_the_readers_own(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	reel_recording *recording = recording_of(pool, flags, 130);
	reel_tape first, second;
	unsigned wrong = 0;

	tap_case(flags ? "pushes on checked readers" : "pushes on readers");
	open_reader(&first, recording);
	open_reader(&second, recording);
	for (unsigned depth = 130; depth > 0; depth -= 13) {
		reel_mark mark;

		wrong += wrong_words(&first, depth - 13, depth);
		mark = reel_tape_mark(&first);
		push_words(&first, 1000, 1040);
		wrong += wrong_words(&first, 1020, 1040);
		wrong += reel_tape_rewind(&first, mark) != 0;
		push_words(&first, 2000, 2030);
		wrong += wrong_words(&second, depth - 13, depth);
		wrong += wrong_words(&first, 2000, 2030);
	}
	is_int(wrong, 0, "another reader does not see the pushes of a reader");
	push_words(&first, 0, 100);
	reel_tape_close(&first);
	is_int(reel_tape_replay(&second), 0, "the other reader goes back");
	is_int(wrong_words(&second, 0, 130), 0, "the other reader sees the recording as it was");
	reel_tape_close(&second);
	reel_recording_close(recording);
	close_pool(pool, "pushes on readers");
}

static void readers_hold(unsigned flags)
{
	reel_pool *pool = open_pool(TINY);
	reel_recording *recording = recording_of(pool, flags, 130);
	reel_tape reader;
	unsigned wrong = 0;

	tap_case(flags ? "holds of checked readers" : "holds of readers");
	open_reader(&reader, recording);
	wrong += wrong_words(&reader, 100, 130);
	push_words(&reader, 500, 540);
	wrong += reel_tape_hold(&reader) != 0;
	for (unsigned again = 0; again < 3; again++) {
		wrong += reel_tape_replay(&reader) != 0;
		wrong += wrong_words(&reader, 500, 540) + wrong_words(&reader, 30 * again, 100);
		push_words(&reader, 0, 40);
	}
	is_int(wrong, 0, "a reader replays what it holds");
	is_int(reel_tape_release(&reader), 0, "a reader releases its hold");
	is_int(wrong_words(&reader, 0, 40) + wrong_words(&reader, 0, 60), 0,
	       "the reader goes on where it was");
	record_reports();
	is_int(reel_tape_release(&reader), -EINVAL, "a reader cannot release the recording");
	is_int(reel_tape_replay(&reader), 0, "the reader goes back to the beginning");
	is_int(wrong_words(&reader, 0, 130), 0, "all of the recording is there");
	reel_tape_close(&reader);
	open_reader(&reader, recording);
	reel_tape_hold(&reader);
	wrong_words(&reader, 50, 130);
	reel_tape_hold(&reader);
	push_words(&reader, 0, 100);
	reel_tape_close(&reader);
	is_int(wrong_words_of_reader(recording, 130), 0, "a reader is closed with its holds");
	reel_recording_close(recording);
	close_pool(pool, "holds of readers");
}

static void a_reader_moves(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_recording *recording = recording_of(pool, 0, 60);
	reel_tape reader, moved = {0};

	tap_case("a reader that is moved");
	open_reader(&reader, recording);
	is_int(wrong_words(&reader, 30, 60), 0, "a reader pops before it is moved");
	reel_tape_move(&moved, &reader);
	is_int(wrong_words(&moved, 0, 30), 0, "a moved reader pops on elsewhere");
	reel_tape_close(&moved);
	reel_recording_close(recording);
	reel_recording_close(NULL);
	close_pool(pool, "a reader that was moved");
}

/* ---- Errors ---- */

static void wrong_calls_are_told(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	reel_recording *recording;

	tap_case("tapes that cannot be frozen");
	push_words(&tape, 0, 60);
	reel_tape_hold(&tape);
	is_int(reel_tape_freeze(&tape, &recording), -EBUSY, "one with a hold");
	is_string(reel_error_text(-EBUSY),
	       "freeze refused: a hold is open on the tape; release it first", "says why");
	reel_tape_release(&tape);
	is_int(wrong_words(&tape, 0, 60), 0, "the tape with a hold is as it was");
	record_reports();
	reel_pop(&tape, double);
	is_int(reel_tape_freeze(&tape, &recording), -ENODATA, "one with an error");
	reel_tape_close(&tape);
	close_pool(pool, "wrong calls");
}

static void a_wrong_pop_is_told_in_checked_mode(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, REEL_CHECKED), reader;
	reel_recording *recording;

	tap_case("a pop that does not mirror");
	reel_push(&tape, 1.0);
	reel_push(&tape, 2);
	recording = frozen(&tape);
	for (unsigned again = 0; again < 2; again++) {
		open_reader(&reader, recording);
		record_reports();
		reel_pop(&reader, double);
		is_int(reported.error, -EBADMSG, "a pop that does not mirror is told");
		ok(strstr(reported.message, "t-recording.c"),
		   "the report has the place of the push");
		reel_tape_close(&reader);
	}
	reel_recording_close(recording);
	close_pool(pool, "a pop that does not mirror");
}

/* ---- With a store ---- */

enum { BUDGET = 24 };

static uint64_t bytes_read(reel_pool *pool)
{
	struct reel_pool_stats stats;

	settle(pool);
	reel_pool_get_stats(pool, &stats);
	return stats.read_bytes;
}

static void readers_share_what_is_read(void)
{
	struct late_store *late = late_open(5);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, BUDGET / 2));
	const uint64_t words = 8 * BUDGET * SLAB_WORDS;
	reel_recording *recording = recording_of(pool, 0, words);
	reel_tape reader[4];
	unsigned wrong = 0;
	uint64_t before;

	tap_case("readers side by side");
	for (unsigned i = 0; i < COUNT(reader); i++)
		open_reader(&reader[i], recording);
	before = bytes_read(pool);
	for (uint64_t from = words; from > 0; from -= SLAB_WORDS)
		for (unsigned i = 0; i < COUNT(reader); i++)
			wrong += wrong_words(&reader[i], from - SLAB_WORDS, from);
	is_int(wrong, 0, "each sees all of it");
	/* A fifth more is allowed: a slab may be evicted before the last reader needs it. */
	ok(bytes_read(pool) - before < words * 8 * 6 / 5, "each slab in the store is read once");
	for (unsigned i = 0; i < COUNT(reader); i++)
		reel_tape_close(&reader[i]);
	reel_recording_close(recording);
	close_all(pool, late, "readers side by side");
}

/* The second reader begins when the first one has popped half of the values. */
static void readers_lie_apart(void)
{
	struct late_store *late = late_open(6);
	reel_pool *pool = open_pool(spilling(&late->store, BUDGET, BUDGET / 2));
	const uint64_t words = 8 * BUDGET * SLAB_WORDS;
	reel_recording *recording = recording_of(pool, 0, words);
	reel_tape first, second;
	unsigned wrong;
	uint64_t before, at;

	tap_case("readers far apart");
	open_reader(&first, recording);
	open_reader(&second, recording);
	wrong = wrong_words(&first, words / 2, words);
	before = bytes_read(pool);
	for (at = words / 2; at > 0; at -= SLAB_WORDS / 2) {
		wrong += wrong_words(&first, at - SLAB_WORDS / 2, at);
		wrong += wrong_words(&second, at + words / 2 - SLAB_WORDS / 2, at + words / 2);
	}
	is_int(wrong + wrong_words(&second, 0, words / 2), 0, "each sees all of it");
	ok(bytes_read(pool) - before < 3 * words / 2 * 8,
	   "what is read ahead for one is not evicted for the other");
	reel_tape_close(&first);
	reel_tape_close(&second);
	reel_recording_close(recording);
	close_all(pool, late, "readers far apart");
}

/* The gets from number 8 on fail, or return the data of another put. */
static void a_lost_slab_is_told_to_each_reader(enum reel_fault fault, int error)
{
	const struct reel_fault_rule rule = {
		.fault = fault, .error = error, .at = 8, .persistent = true};
	const uint64_t words = 3 * BUDGET * SLAB_WORDS;
	reel_store *below, *store;
	reel_recording *recording;
	reel_pool *pool;
	reel_tape top;

	tap_case(error == -EIO ? "a store that loses slabs" : "a store that mixes slabs up");
	if (reel_store_memory_open(&below, UINT64_MAX) ||
	    reel_store_fault_open(&store, below, &rule, 1))
		abort();
	pool = open_pool(spilling(store, BUDGET, BUDGET / 2));
	recording = recording_of(pool, 0, words);
	/* This reader pins the top slab, which could be evicted and lost before the first pop. */
	open_reader(&top, recording);
	for (unsigned i = 0; i < 3; i++) {
		reel_tape reader;
		unsigned stale = 0;
		uint64_t at;

		record_reports();
		open_reader(&reader, recording);
		for (at = words; at > 0 && !reel_tape_error(&reader); at--) {
			uint64_t value = reel_pop(&reader, uint64_t);

			stale += reel_tape_error(&reader) ? value != UINT64_MAX
							  : value != scramble(at - 1);
		}
		ok(at > 0 && at < words, "reader %u loses the lower part", i);
		is_int(reel_tape_error(&reader), error, "the reader is told why");
		is_int(stale, 0, "the reader sees no wrong value");
		ok(reel_pop(&reader, uint64_t) == UINT64_MAX,
		   "the reader sees all ones from then on");
		reel_tape_close(&reader);
	}
	reel_tape_close(&top);
	reel_recording_close(recording);
	close_pool_at_rest(pool, "lost slabs");
}

/* ---- At random ---- */

enum { THREADS = 4 };

static reel_recording *shared;
static uint64_t shared_words;
static _Atomic unsigned wrong_in_threads;
static _Atomic uint64_t seeds;

static uint64_t below(uint64_t *random, uint64_t n)
{
	*random = scramble(*random);
	return *random % n;
}

/* Pops some words, and sometimes pushes some, rewinds or holds. */
static unsigned wrong_walk(reel_tape *reader, uint64_t *random)
{
	uint64_t top = shared_words;
	unsigned wrong = 0;

	for (unsigned steps = 20; steps > 0; steps--) {
		uint64_t n = below(random, 6 * SLAB_WORDS);
		uint64_t to = n < top ? top - n : 0;

		wrong += wrong_words(reader, to, top);
		top = to;
		switch (below(random, 8)) {
		case 0:
			wrong += reel_tape_replay(reader) != 0;
			top = shared_words;
			break;
		case 1:
			push_words(reader, 5, 5 + n);
			wrong += wrong_words(reader, 5, 5 + n);
			break;
		case 2:
			wrong += reel_tape_hold(reader) != 0;
			wrong += wrong_words(reader, top / 2, top);
			wrong += reel_tape_replay(reader) != 0 || reel_tape_release(reader) != 0;
			break;
		}
	}
	return wrong + (reel_tape_error(reader) != 0);
}

static void *read_at_random(void *unused)
{
	uint64_t random = ++seeds;

	(void)unused;
	for (unsigned again = is_brief() ? 3 : 30; again > 0; again--) {
		reel_tape reader;

		open_reader(&reader, shared);
		wrong_in_threads += wrong_walk(&reader, &random);
		reel_tape_close(&reader);
	}
	return NULL;
}

static void threads_read_at_random(unsigned failing, uint64_t slabs)
{
	struct late_store *late = late_open(7 + failing);
	reel_pool *pool = open_pool(spilling(&late->store, 4 * THREADS, 2 * THREADS));

	tap_case(failing ? "threads that read at random, and puts that fail"
			 : "threads that read at random");
	shared_words = slabs * SLAB_WORDS;
	shared = recording_of(pool, 0, shared_words);
	late_fail(late, failing);
	wrong_in_threads = 0;
	run_threads(THREADS, read_at_random);
	is_int(wrong_in_threads, 0, "all of them see what was pushed");
	is_int(wrong_words_of_reader(shared, shared_words), 0,
	       "one more reader sees what was pushed");
	reel_recording_close(shared);
	close_all(pool, late, "readers at random");
}

int main(void)
{
	tap_begin();
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags += REEL_CHECKED) {
		readers_see_what_was_pushed(flags);
		all_shapes_come_back(flags);
		pushes_are_the_readers_own(flags);
		readers_hold(flags);
	}
	a_reader_moves();
	wrong_calls_are_told();
	a_wrong_pop_is_told_in_checked_mode();
	readers_share_what_is_read();
	readers_lie_apart();
	a_lost_slab_is_told_to_each_reader(REEL_FAULT_ERROR, -EIO);
	a_lost_slab_is_told_to_each_reader(REEL_FAULT_MISPLACE, -EBADMSG);
	threads_read_at_random(0, 60);
	threads_read_at_random(3, 30);
	return tap_end();
}
