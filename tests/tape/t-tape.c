/* SPDX-License-Identifier: MIT */
/* Tests opening, moving, handing over and closing a tape. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>

#include "helpers/support.h"

static reel_tape static_tape;
static _Thread_local reel_tape thread_tape;

/* Numbers of words that end in the struct, at its limit, and in several slabs. */
static const unsigned sizes[] = {0, 1, INLINE_WORDS - 1, INLINE_WORDS, INLINE_WORDS + 1, 100};

static unsigned wrong_after_a_round(reel_tape *tape)
{
	push_words(tape, 0, 1000);
	return wrong_words(tape, 0, 1000);
}

static void all_zero_tapes_work(void)
{
	reel_tape *allocated = calloc(1, sizeof *allocated);

	is_int(wrong_after_a_round(&static_tape), 0, "a static tape");
	is_int(wrong_after_a_round(&thread_tape), 0, "a thread's own tape");
	is_int(wrong_after_a_round(allocated), 0, "a zero-filled tape");
	reel_tape_close(&static_tape);
	reel_tape_close(&thread_tape);
	reel_tape_close(allocated);
	free(allocated);
	is_int(slabs_in_use(reel_pool_default()), 0,
	       "the tapes gave their slabs to the default pool");
}

static void an_unused_tape_needs_no_closing(void)
{
	reel_tape tape = {0};

	ok(reel_tape_is_empty(&tape), "an all-zero tape is empty");
	is_int(reel_tape_bytes(&tape), 0, "an all-zero tape has no bytes");
	is_int(reel_tape_error(&tape), 0, "an all-zero tape has no error");
	is_int(reel_tape_refused(&tape), 0, "an all-zero tape has refused nothing");
	is_int(reel_tape_clear_error(&tape), 0, "an all-zero tape has no error to clear");
	reel_tape_hand_over(&tape);
	ok(is_zero(&tape), "asking changed nothing");
	reel_tape_close(&tape);
	ok(is_zero(&tape), "closing it changes nothing");
}

static void opening_takes_no_memory(void)
{
	reel_pool *pool = open_pool(TINY);
	struct reel_pool_stats stats;
	reel_tape tape;

	memset(&tape, 0xaa, sizeof tape);
	is_int(reel_tape_open(&tape, pool, 0), 0, "a tape is opened on a pool");
	push_words(&tape, 0, INLINE_WORDS);
	reel_pool_get_stats(pool, &stats);
	is_int(stats.takes, 0, "128 bytes fit into the struct");
	reel_push(&tape, 1.0);
	is_int(slabs_in_use(pool), 1, "one more value takes a slab from that pool");
	reel_tape_close(&tape);
	close_pool(pool, "a tape was opened on it");
}

static void opening_without_a_pool_uses_the_default_one(void)
{
	reel_tape tape;

	is_int(reel_tape_open(&tape, NULL, 0), 0, "a tape is opened without a pool");
	push_words(&tape, 0, INLINE_WORDS + 1);
	is_int(slabs_in_use(reel_pool_default()), 1,
	       "the slab of a tape without a pool is the default pool's");
	reel_tape_close(&tape);
}

static void unknown_flags_are_refused(void)
{
	reel_tape tape = {0};

	is_int(reel_tape_open(&tape, NULL, REEL_CHECKED << 1), -EINVAL, "an unknown flag");
	is_int(reel_tape_open(&tape, NULL, ~0u), -EINVAL, "all flags");
	ok(is_zero(&tape), "the tape was left alone");
}

static void close_empties_a_tape(reel_pool *pool, unsigned words, bool hold)
{
	reel_tape tape = open_tape(pool, 0);

	push_words(&tape, 0, words);
	reel_push_bits(&tape, 5, 3);
	if (hold) {
		reel_tape_hold(&tape);
		reel_pop_bits(&tape, 3);
		wrong_words(&tape, words / 2, words);
		push_words(&tape, 0, words);
		reel_tape_hold(&tape);
		wrong_words(&tape, 0, words);
	}
	reel_tape_close(&tape);
	ok(is_zero(&tape) && slabs_in_use(pool) == 0, "closing %u words%s leaves nothing", words,
	   hold ? " in two holds" : "");
}

static void close_gives_everything_back(void)
{
	reel_pool *pool = open_pool(TINY);

	for (size_t i = 0; i < COUNT(sizes); i++) {
		close_empties_a_tape(pool, sizes[i], false);
		close_empties_a_tape(pool, sizes[i], true);
	}
	close_pool(pool, "tapes were closed in many states");
}

static void a_closed_tape_can_be_used_again(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);

	push_words(&tape, 0, 50);
	reel_tape_close(&tape);
	is_int(wrong_after_a_round(&tape), 0, "a closed tape is a tape on the default pool");
	is_int(slabs_in_use(pool), 0, "a closed tape does not touch its former pool");
	reel_tape_close(&tape);
	close_pool(pool, "its tape was used again");
}

static void bytes_counts_what_is_on_the_tape(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	unsigned wrong = 0;

	for (unsigned i = 0; i < 300; i++) {
		wrong += reel_tape_bytes(&tape) != 8 * i;
		reel_push(&tape, (char)i);
	}
	for (unsigned i = 300; i-- > 0;) {
		reel_pop(&tape, char);
		wrong += reel_tape_bytes(&tape) != 8 * i;
	}
	is_int(wrong, 0, "a value counts 8 bytes, and none when popped, across slabs");
	for (unsigned i = 0; i < 63; i++)
		reel_push_bit(&tape, true);
	is_int(reel_tape_bytes(&tape), 0, "63 bits are an unfilled word");
	reel_push_bit(&tape, true);
	is_int(reel_tape_bytes(&tape), 8, "64 bits are 8 bytes");
	reel_tape_close(&tape);
	close_pool(pool, "bytes were counted");
}

static void gaps_at_slab_ends_do_not_count(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	double *span;

	push_words(&tape, 0, 15);
	span = reel_push_span(&tape, double, 2);
	ok(span != NULL, "two values where one has room");
	is_int(reel_tape_bytes(&tape), 17 * 8, "the gap does not count");
	reel_pop_span(&tape, double, 2);
	is_int(reel_tape_bytes(&tape), 15 * 8, "the gap does not count after popping");
	is_int(wrong_words(&tape, 0, 15), 0, "what lies before the gap comes back");
	reel_tape_close(&tape);
	close_pool(pool, "there was a gap");
}

static void is_empty_sees_values_and_bits(void)
{
	reel_tape tape = {0};

	reel_push(&tape, 1);
	ok(!reel_tape_is_empty(&tape), "a tape with a value is not empty");
	reel_pop(&tape, int);
	ok(reel_tape_is_empty(&tape), "a tape without values is empty");
	reel_push_bit(&tape, false);
	ok(!reel_tape_is_empty(&tape), "a tape with one bit is not empty");
	reel_pop_bit(&tape);
	ok(reel_tape_is_empty(&tape), "a tape without bits is empty");
	push_words(&tape, 0, INLINE_WORDS + 1);
	wrong_words(&tape, 0, INLINE_WORDS + 1);
	ok(reel_tape_is_empty(&tape), "a tape that has been on a slab is empty");
	reel_tape_close(&tape);
}

static void is_empty_sees_refused_pushes(void)
{
	reel_tape tape = {0};

	record_reports();
	reel_push_bits(&tape, 0, 33);
	ok(!reel_tape_is_empty(&tape), "a tape with a refused push is not empty");
	reel_pop_bits(&tape, 33);
	ok(reel_tape_is_empty(&tape), "a tape without refused pushes is empty");
	reel_tape_close(&tape);
}

static bool is_fast(const reel_tape *tape)
{
	return tape->ceiling != REEL_FALSE_CEILING && tape->floor != REEL_FALSE_FLOOR;
}

/* False limits send all calls out of line. They have to end with their reason. */
static void false_limits_do_not_last(void)
{
	reel_tape tape = {0};
	reel_mark mark;

	record_reports();
	push_words(&tape, 0, 3);
	ok(is_fast(&tape), "a tape in use is fast");
	reel_tape_hold(&tape);
	reel_tape_release(&tape);
	ok(is_fast(&tape), "a tape is fast after a hold");
	reel_push_bits(&tape, 0, 33);
	ok(!is_fast(&tape), "a tape is not fast after an error");
	reel_pop_bits(&tape, 33);
	ok(tape.floor != REEL_FALSE_FLOOR, "pops are fast when what was refused is popped");
	reel_tape_clear_error(&tape);
	ok(is_fast(&tape), "pushes are fast when the error is cleared");
	mark = reel_tape_mark(&tape);
	reel_push_bits(&tape, 0, 33);
	reel_tape_rewind(&tape, mark);
	ok(tape.floor != REEL_FALSE_FLOOR, "pops are fast when what was refused is rewound");
	reel_tape_close(&tape);
}

static void move_keeps_the_contents(reel_pool *pool, unsigned words, unsigned flags)
{
	reel_tape from = open_tape(pool, flags);
	reel_tape to = {0};
	unsigned wrong;

	push_words(&from, 0, words);
	reel_push_bits(&from, 0x1234567, 29);
	reel_tape_move(&to, &from);
	memset(&from, 0xaa, sizeof from);
	push_words(&to, words, words + 20);
	wrong = wrong_words(&to, words, words + 20);
	wrong += reel_pop_bits(&to, 29) != 0x1234567;
	wrong += wrong_words(&to, 0, words);
	ok(!wrong && reel_tape_is_empty(&to), "%u words and some bits move to another%s struct",
	   words, flags ? " checked" : "");
	reel_tape_close(&to);
}

static void moving_keeps_the_contents(void)
{
	reel_pool *pool = open_pool(TINY);

	for (size_t i = 0; i < COUNT(sizes); i++) {
		move_keeps_the_contents(pool, sizes[i], 0);
		move_keeps_the_contents(pool, sizes[i], REEL_CHECKED);
	}
	close_pool(pool, "tapes were moved");
}

static void moving_leaves_all_zero(void)
{
	reel_tape from = {0}, to = {0};

	push_words(&from, 0, INLINE_WORDS + 1);
	reel_tape_move(&to, &from);
	ok(is_zero(&from), "what a tape was moved from is all zero");
	is_int(wrong_after_a_round(&from), 0, "a tape that was moved from is a tape of its own");
	reel_tape_close(&from);
	is_int(wrong_words(&to, 0, INLINE_WORDS + 1), 0,
	       "a tape that was moved from does not touch the moved one");
	reel_tape_close(&to);
	reel_tape_move(&to, &from);
	ok(is_zero(&to) && is_zero(&from), "an all-zero tape moves to an all-zero one");
}

static void moving_keeps_marks_and_holds(unsigned words)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape from = open_tape(pool, 0), to = {0};
	reel_mark outside, inside;

	push_words(&from, 0, words);
	outside = reel_tape_mark(&from);
	reel_push_bits(&from, 21, 5);
	reel_tape_hold(&from);
	reel_pop_bits(&from, 5);
	wrong_words(&from, words / 2, words);
	inside = reel_tape_mark(&from);
	push_words(&from, 500, 600);
	reel_tape_move(&to, &from);
	is_int(reel_tape_rewind(&to, inside), 0, "a mark moves with %u words", words);
	is_int(wrong_words(&to, 0, words / 2), 0, "a mark that moved leads to what it led to");
	is_int(reel_tape_replay(&to), 0, "a hold moves, too");
	is_int(reel_pop_bits(&to, 5), 21, "a hold moves with its bits");
	is_int(wrong_words(&to, 0, words), 0, "a hold moves with its values");
	reel_tape_replay(&to);
	reel_tape_release(&to);
	is_int(reel_tape_rewind(&to, outside), 0, "a mark from before the hold moves");
	is_int(wrong_words(&to, 0, words), 0, "the values below that mark move");
	reel_tape_close(&to);
	close_pool(pool, "a tape with marks and holds was moved");
}

static void moving_keeps_errors(void)
{
	reel_tape from = {0}, to = {0};

	record_reports();
	push_words(&from, 0, 3);
	reel_push_bits(&from, 1, 33);
	reel_tape_move(&to, &from);
	is_int(reel_tape_error(&to), -EINVAL, "the error moves");
	is_int(reel_tape_error(&from), 0, "the error is gone from where it was");
	is_int(reel_tape_refused(&to), 5, "what was refused moves");
	ok(reel_push_span(&to, double, 1) == NULL, "pushes are refused still");
	reel_pop_span(&to, double, 1);
	reel_pop_bits(&to, 33);
	is_int(wrong_words(&to, 0, 3), 0, "what was pushed before the error comes back");
	reel_tape_close(&to);
}

struct wide {
	alignas(32) double x[2];
};

/* The struct moves to each address modulo 64, and over-aligned spans stay right. */
static void moving_keeps_over_aligned_spans(void)
{
	char room[2 * sizeof(reel_tape) + 256];
	char *base = room + (-(uintptr_t)room & 63);
	unsigned wrong = 0;

	for (size_t shift = 0; shift < 64; shift += 8) {
		reel_tape *from = (reel_tape *)(void *)base;
		reel_tape *to = (reel_tape *)(void *)(base + 64 * (sizeof *to / 64 + 1) + shift);
		const struct wide *popped;
		struct wide *pushed;

		memset(from, 0, sizeof *from);
		memset(to, 0, sizeof *to);
		pushed = reel_push_span(from, struct wide, 1);
		pushed->x[0] = 1.25;
		reel_tape_move(to, from);
		popped = reel_pop_span(to, struct wide, 1);
		wrong += (uintptr_t)popped % 32 != 0 || popped->x[0] != 1.25;
		reel_tape_close(to);
	}
	is_int(wrong, 0, "an over-aligned span keeps its elements and its alignment");
}

static void *push_in_a_thread(void *tape)
{
	push_words(tape, 0, 100);
	reel_tape_hand_over(tape);
	return NULL;
}

static void handing_over_by_join(reel_pool *pool, unsigned flags)
{
	reel_tape tape = open_tape(pool, flags);
	pthread_t thread;

	pthread_create(&thread, NULL, push_in_a_thread, &tape);
	pthread_join(thread, NULL);
	is_int(wrong_words(&tape, 0, 100), 0, "pushed by a thread that was joined");
	is_int(reel_tape_error(&tape), 0,
	       "a thread that was joined leaves no error%s", flags ? " in checked mode" : "");
	reel_tape_close(&tape);
}

enum { TURNS = 200, WORDS_A_TURN = 7 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	reel_tape tape;
	int turn;
} shared = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0};

static void *take_turns(void *odd)
{
	pthread_mutex_lock(&shared.lock);
	for (int turn = odd != NULL; turn < TURNS; turn += 2) {
		while (shared.turn != turn)
			pthread_cond_wait(&shared.changed, &shared.lock);
		push_words(&shared.tape, (uint64_t)turn * WORDS_A_TURN,
			   ((uint64_t)turn + 1) * WORDS_A_TURN);
		reel_tape_hand_over(&shared.tape);
		shared.turn++;
		pthread_cond_broadcast(&shared.changed);
	}
	pthread_mutex_unlock(&shared.lock);
	return NULL;
}

static void handing_over_by_mutex(reel_pool *pool, unsigned flags)
{
	pthread_t thread;

	shared.tape = open_tape(pool, flags);
	shared.turn = 0;
	pthread_create(&thread, NULL, take_turns, &shared);
	take_turns(NULL);
	pthread_join(thread, NULL);
	is_int(wrong_words(&shared.tape, 0, TURNS * WORDS_A_TURN), 0,
	       "two threads that took turns pushed in order");
	is_int(reel_tape_error(&shared.tape), 0, "two threads that took turns leave no error%s",
	       flags ? " in checked mode" : "");
	reel_tape_close(&shared.tape);
}

static void tapes_are_handed_over(void)
{
	reel_pool *pool = open_pool(TINY);

	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++) {
		handing_over_by_join(pool, flags);
		handing_over_by_mutex(pool, flags);
	}
	close_pool(pool, "tapes went from thread to thread");
}

int main(void)
{
	tap_begin();
	tap_case("opening");
	all_zero_tapes_work();
	an_unused_tape_needs_no_closing();
	opening_takes_no_memory();
	opening_without_a_pool_uses_the_default_one();
	unknown_flags_are_refused();
	tap_case("closing");
	close_gives_everything_back();
	a_closed_tape_can_be_used_again();
	tap_case("asking");
	bytes_counts_what_is_on_the_tape();
	gaps_at_slab_ends_do_not_count();
	is_empty_sees_values_and_bits();
	is_empty_sees_refused_pushes();
	false_limits_do_not_last();
	tap_case("moving");
	moving_keeps_the_contents();
	moving_leaves_all_zero();
	moving_keeps_marks_and_holds(10);
	moving_keeps_marks_and_holds(100);
	moving_keeps_errors();
	moving_keeps_over_aligned_spans();
	tap_case("handing over");
	tapes_are_handed_over();
	return tap_end();
}
