/* SPDX-License-Identifier: MIT */
/* Tests errors: they stick, they are reported once, and earlier values come back. */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdalign.h>

#include <reel/extend.h>

#include "helpers/support.h"

struct record {
	char bytes[20];
};

struct wide {
	alignas(32) char bytes[64];
};

/* A record that is larger than the all-ones bytes that the library keeps for pops. */
struct large {
	char bytes[REEL_ONES_BYTES + 1];
};

REEL_RECORD(record, struct record);
REEL_RECORD(wide, struct wide);
REEL_RECORD(large, struct large);

/*
 * A shape of a push. Its pop returns true if the value is that of the push with the same number, or
 * all ones if the push was refused.
 */
struct shape {
	const char *name;
	void (*push)(reel_tape *tape, uint64_t i);
	bool (*pop)(reel_tape *tape, uint64_t i, bool refused);
};

static void push_word(reel_tape *tape, uint64_t i)
{
	reel_push(tape, scramble(i));
}

static bool pop_word(reel_tape *tape, uint64_t i, bool refused)
{
	return reel_pop(tape, uint64_t) == (refused ? UINT64_MAX : scramble(i));
}

static void push_char(reel_tape *tape, uint64_t i)
{
	reel_push(tape, (signed char)(i % 100));
}

static bool pop_char(reel_tape *tape, uint64_t i, bool refused)
{
	return reel_pop(tape, signed char) == (refused ? -1 : (signed char)(i % 100));
}

static void push_double(reel_tape *tape, uint64_t i)
{
	reel_push(tape, (double)i);
}

static bool pop_double(reel_tape *tape, uint64_t i, bool refused)
{
	double x = reel_pop(tape, double);

	return refused ? isnan(x) : x == (double)i;
}

static bool was_filled(const void *bytes, size_t size, uint64_t i, bool refused)
{
	return refused ? all_ones(bytes, size) : is_filled(bytes, size, i);
}

static void push_a_record(reel_tape *tape, uint64_t i)
{
	struct record x;

	fill(&x, sizeof x, i);
	reel_push_record(tape, record, x);
}

static bool pop_a_record(reel_tape *tape, uint64_t i, bool refused)
{
	struct record looked = reel_look_record(tape, record);
	struct record x = reel_pop_record(tape, record);

	return was_filled(&x, sizeof x, i, refused) && was_filled(&looked, sizeof x, i, refused);
}

static void push_a_wide_one(reel_tape *tape, uint64_t i)
{
	struct wide x;

	fill(&x, sizeof x, i);
	reel_push_record(tape, wide, x);
}

static bool pop_a_wide_one(reel_tape *tape, uint64_t i, bool refused)
{
	struct wide x = reel_pop_record(tape, wide);

	return was_filled(&x, sizeof x, i, refused);
}

static void push_a_large_one(reel_tape *tape, uint64_t i)
{
	struct large x;

	fill(&x, sizeof x, i);
	reel_push_record(tape, large, x);
}

static bool pop_a_large_one(reel_tape *tape, uint64_t i, bool refused)
{
	struct large x = reel_pop_record(tape, large);

	return was_filled(&x, sizeof x, i, refused);
}

static bool pop_a_record_by_cursor(reel_tape *tape, uint64_t i, bool refused)
{
	reel_cursor c = reel_pop_cursor(tape);
	struct record x;

	c = reel_cursor_pop_record(tape, c, record, &x);
	reel_cursor_close(tape, c);
	return was_filled(&x, sizeof x, i, refused);
}

static bool pop_a_large_one_by_cursor(reel_tape *tape, uint64_t i, bool refused)
{
	reel_cursor c = reel_pop_cursor(tape);
	struct large x;

	c = reel_cursor_pop_record(tape, c, large, &x);
	reel_cursor_close(tape, c);
	return was_filled(&x, sizeof x, i, refused);
}

static unsigned some_bits(uint64_t i)
{
	return (unsigned)(i * 7 % 33);
}

static void push_bits(reel_tape *tape, uint64_t i)
{
	reel_push_bits(tape, scramble(i), some_bits(i));
}

static bool pop_bits(reel_tape *tape, uint64_t i, bool refused)
{
	uint64_t mask = ((uint64_t)1 << some_bits(i)) - 1;

	return reel_pop_bits(tape, some_bits(i)) == (refused ? mask : (scramble(i) & mask));
}

static void push_bool(reel_tape *tape, uint64_t i)
{
	reel_push_bit(tape, i & 1);
}

static bool pop_bool(reel_tape *tape, uint64_t i, bool refused)
{
	bool looked = reel_look(tape, bool), bit = reel_pop_bit(tape);

	return bit == (refused ? true : (i & 1)) && bit == looked;
}

/* Returns a length below `most`, which is sometimes 0. */
static size_t length(uint64_t i, size_t most)
{
	return (size_t)i % most;
}

static void push_span(reel_tape *tape, uint64_t i)
{
	float *span = reel_push_span(tape, float, length(i, 40));

	if (span)
		fill(span, length(i, 40) * sizeof *span, i);
}

static bool pop_span(reel_tape *tape, uint64_t i, bool refused)
{
	const float *span = reel_pop_span(tape, float, length(i, 40));

	return refused ? !span : span && is_filled(span, length(i, 40) * sizeof *span, i);
}

static void push_wide_span(reel_tape *tape, uint64_t i)
{
	struct wide *span = reel_push_span(tape, struct wide, length(i, 4));

	if (span)
		fill(span, length(i, 4) * sizeof *span, i);
}

static bool pop_wide_span(reel_tape *tape, uint64_t i, bool refused)
{
	const struct wide *span = reel_pop_span(tape, struct wide, length(i, 4));

	return refused ? !span : span && is_filled(span, length(i, 4) * sizeof *span, i);
}

static void push_array(reel_tape *tape, uint64_t i)
{
	char array[200];

	fill(array, length(i, 200), i);
	reel_push_array(tape, array, length(i, 200));
}

static bool pop_array(reel_tape *tape, uint64_t i, bool refused)
{
	char array[200] = {0};

	reel_pop_array(tape, array, length(i, 200));
	return was_filled(array, length(i, 200), i, refused);
}

static const struct shape shapes[] = {
	{"a word", push_word, pop_word},
	{"a char", push_char, pop_char},
	{"a double", push_double, pop_double},
	{"a record", push_a_record, pop_a_record},
	{"an over-aligned record", push_a_wide_one, pop_a_wide_one},
	{"a large record", push_a_large_one, pop_a_large_one},
	{"a record, by cursor", push_a_record, pop_a_record_by_cursor},
	{"a large record, by cursor", push_a_large_one, pop_a_large_one_by_cursor},
	{"bits", push_bits, pop_bits},
	{"a bool", push_bool, pop_bool},
	{"a span", push_span, pop_span},
	{"an over-aligned span", push_wide_span, pop_wide_span},
	{"an array", push_array, pop_array},
};

static const struct shape *shape_of(uint64_t i)
{
	return &shapes[scramble(i) % COUNT(shapes)];
}

/* Pushes all shapes in random order, far more of them than the budget has room for. */
static void mixed_shapes_keep_in_step(unsigned slabs, unsigned flags)
{
	enum { PUSHES = 1000 };
	reel_pool *pool = open_pool(tiny_budget(slabs));
	reel_tape tape = open_tape(pool, flags);
	static bool refused[PUSHES];
	unsigned wrong = 0;

	record_reports();
	for (unsigned i = 0; i < PUSHES; i++) {
		shape_of(i)->push(&tape, i);
		refused[i] = reel_tape_error(&tape);
	}
	is_int(reel_tape_error(&tape), -EDQUOT, "a budget of %u slabs ends", slabs);
	for (unsigned i = PUSHES; i-- > 0;) {
		wrong += !refused[i] && reel_tape_refused(&tape);
		wrong += !shape_of(i)->pop(&tape, i, refused[i]);
	}
	is_int(wrong, 0, "refused pushes give all ones, all before comes back");
	ok(reel_tape_is_empty(&tape), "nothing is left");
	is_int(reported.calls, 1, "the refusal was reported once");
	is_int(reel_tape_clear_error(&tape), -EDQUOT, "the error can be cleared");
	push_words(&tape, 0, 5);
	is_int(wrong_words(&tape, 0, 5), 0, "the tape goes on");
	reel_tape_close(&tape);
	close_pool(pool, "refusals in mixed order");
}

/* Some pushes of one shape are refused, for a reason that is no push. */
static void each_shape_keeps_in_step(unsigned flags)
{
	for (size_t s = 0; s < COUNT(shapes); s++) {
		reel_tape tape = open_tape(NULL, flags);
		unsigned wrong = 0;

		record_reports();
		for (unsigned i = 0; i < 50; i++)
			shapes[s].push(&tape, i);
		reel_tape_release(&tape);
		for (unsigned i = 0; i < 200; i++)
			shapes[s].push(&tape, i);
		for (unsigned i = 200; i-- > 0;)
			wrong += !shapes[s].pop(&tape, i, true);
		wrong += reel_tape_refused(&tape) != 0;
		wrong += reel_tape_clear_error(&tape) != -EINVAL;
		for (unsigned i = 50; i-- > 0;)
			wrong += !shapes[s].pop(&tape, i, false);
		wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
		is_int(wrong, 0, "refused pushes of %s are popped before all others%s",
		       shapes[s].name, flags ? ", in checked mode" : "");
		reel_tape_close(&tape);
	}
}

/* The budget ends between a word of bits and its note, at each place. */
static void bits_keep_in_step_at_the_end_of_a_word(unsigned flags)
{
	unsigned wrong = 0;

	record_reports();
	for (unsigned slabs = 1; slabs < 16; slabs++)
		for (unsigned words = 0; words < 30; words++) {
			enum { PUSHES = 100 };
			reel_pool *pool = open_pool(tiny_budget(slabs));
			reel_tape tape = open_tape(pool, flags);
			bool refused[PUSHES];

			for (unsigned i = 0; i < words; i++)
				reel_push_bits(&tape, 0, 0);
			for (unsigned i = 0; i < PUSHES; i++) {
				(i % 3 ? push_bits : push_word)(&tape, i);
				refused[i] = reel_tape_error(&tape);
			}
			for (unsigned i = PUSHES; i-- > 0;)
				wrong += !(i % 3 ? pop_bits : pop_word)(&tape, i, refused[i]);
			for (unsigned i = 0; i < words; i++)
				wrong += reel_pop_bits(&tape, 0) != 0;
			wrong += !reel_tape_is_empty(&tape);
			reel_tape_close(&tape);
			wrong += reel_pool_close(pool) != 0;
		}
	is_int(wrong, 0, "bits keep in step wherever the budget ends%s",
	       flags ? ", in checked mode" : "");
}

static void cursors_are_refused(unsigned flags)
{
	reel_pool *pool = open_pool(tiny_budget(10));
	reel_tape tape = open_tape(pool, flags);
	reel_cursor c = reel_push_cursor(&tape);
	unsigned accepted = 0, wrong = 0;
	uint64_t x;

	record_reports();
	for (unsigned i = 0; i < 1000; i++) {
		c = reel_cursor_push(&tape, c, scramble(i));
		accepted += !reel_tape_error(&tape);
	}
	reel_cursor_close(&tape, c);
	is_int(reel_tape_refused(&tape), (1000 - accepted) * 8, "refused pushes are counted");
	c = reel_pop_cursor(&tape);
	for (unsigned i = 1000; i-- > 0;) {
		c = reel_cursor_pop(&tape, c, &x);
		wrong += x != (i < accepted ? scramble(i) : UINT64_MAX);
	}
	reel_cursor_close(&tape, c);
	is_int(wrong, 0, "cursors give all ones for them and then all before");
	reel_tape_close(&tape);
	close_pool(pool, "cursors were refused");
}

/* After a refused push each push is refused, although there is room for it. */
static void everything_after_a_refusal_is_refused(void)
{
	reel_pool *pool = open_pool(tiny_budget(1));
	reel_tape tape = open_tape(pool, 0);

	record_reports();
	push_words(&tape, 0, 3);
	ok(!reel_push_span(&tape, double, 1000), "a span beyond the budget is refused");
	reel_push(&tape, 1.5);
	reel_push_bit(&tape, false);
	is_int(reel_tape_refused(&tape), 8000 + 8 + 1,
	       "all that is pushed after the span is refused");
	ok(!reel_reserve(&tape, double, 1), "nothing is reserved");
	is_int(reel_tape_refused(&tape), 8000 + 8 + 1, "the refused reservation is not counted");
	ok(reel_pop_bit(&tape), "the bit gives one");
	ok(isnan(reel_pop(&tape, double)), "the value gives a NaN");
	ok(!reel_pop_span(&tape, double, 1000), "the span gives NULL");
	is_int(wrong_words(&tape, 0, 3), 0, "all before comes back");
	reel_tape_close(&tape);
	close_pool(pool, "a refusal");
}

static void a_refused_reservation_counts_nothing(void)
{
	reel_pool *pool = open_pool(tiny_budget(1));
	reel_tape tape = open_tape(pool, 0);

	record_reports();
	push_words(&tape, 0, 3);
	ok(!reel_reserve(&tape, double, 1000), "room beyond the budget is refused");
	ok(strstr(reported.message, "or give the pool a store (REEL_SPILL_DIR)") &&
		   !strstr(reported.message, "beside the store"),
	   "a store is the remedy where there is none");
	is_int(reel_tape_error(&tape), -EDQUOT, "the error sticks");
	is_int(reel_tape_refused(&tape), 0, "nothing is counted");
	is_int(wrong_words(&tape, 0, 3), 0, "all before comes back");
	is_int(reel_tape_clear_error(&tape), -EDQUOT, "the error can be cleared");
	reel_tape_close(&tape);
	close_pool(pool, "a refused reservation");
}

static void room_given_back_is_taken_again(void)
{
	reel_pool *pool = open_pool(tiny_budget(4));
	reel_tape first = open_tape(pool, 0), second = open_tape(pool, 0);
	unsigned wrong = 0;

	record_reports();
	push_words(&first, 0, INLINE_WORDS + 4 * 8 + 2 * 16);
	is_int(reel_tape_error(&first), 0, "one tape has the whole budget");
	push_words(&second, 0, 30);
	is_int(reel_tape_error(&second), -EDQUOT, "the other tape is refused");
	reel_tape_close(&first);
	reel_push(&second, 1.5);
	for (unsigned i = 31; i > INLINE_WORDS; i--)
		wrong += reel_pop(&second, int64_t) != -1;
	is_int(wrong, 0,
	       "the other tape refuses until its refused pushes are popped, though there is room");
	is_int(reel_tape_clear_error(&second), -EDQUOT, "the error of the other tape is cleared");
	push_words(&second, INLINE_WORDS, 30);
	is_int(wrong_words(&second, 0, 30), 0, "the other tape takes pushes again");
	reel_tape_close(&second);
	close_pool(pool, "a budget was shared");
}

/* ---- Handlers that leave ---- */

static jmp_buf handler_left;

static void leave(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
	longjmp(handler_left, 1);
}

static void push_until_left(const struct shape *shape, reel_tape *tape, unsigned *pushes)
{
	reel_set_error_handler(leave, NULL);
	if (!setjmp(handler_left))
		for (*pushes = 0; *pushes < 100000; ++*pushes)
			shape->push(tape, *pushes);
	record_reports();
}

static void pop_until_left(const struct shape *shape, reel_tape *tape)
{
	reel_set_error_handler(leave, NULL);
	if (!setjmp(handler_left))
		shape->pop(tape, 1, true);
	record_reports();
}

/*
 * The handler leaves the first refused push by longjmp(). No part of that push may be on the tape,
 * and the tape has to expect its pop, as if the handler had returned.
 */
static void a_handler_may_leave_a_push(unsigned flags)
{
	for (size_t s = 0; s < COUNT(shapes); s++) {
		reel_pool *pool = open_pool(tiny_budget(20));
		reel_tape tape = open_tape(pool, flags);
		unsigned pushes, wrong = 0;

		push_until_left(&shapes[s], &tape, &pushes);
		is_int(reel_tape_error(&tape), -EDQUOT, "a handler leaves a push of %s%s",
		       shapes[s].name, flags ? ", checked" : "");
		is_int(reel_tape_clear_error(&tape), -EBUSY, "the push that was refused is counted");
		wrong += !shapes[s].pop(&tape, pushes, true);
		for (unsigned i = pushes; i-- > 0;)
			wrong += !shapes[s].pop(&tape, i, false);
		is_int(wrong, 0,
		       "the refused push pops as all ones, and what was pushed before comes back");
		ok(reel_tape_is_empty(&tape) && !reported.calls, "nothing is left, or reported again");
		reel_tape_close(&tape);
		close_pool(pool, "a handler that left a push");
	}
}

static void a_handler_may_leave_a_pop(unsigned flags)
{
	for (size_t s = 0; s < COUNT(shapes); s++) {
		reel_tape tape = open_tape(NULL, flags);

		pop_until_left(&shapes[s], &tape);
		is_int(reel_tape_error(&tape), -ENODATA, "a handler leaves a pop of %s%s",
		       shapes[s].name, flags ? ", checked" : "");
		ok(shapes[s].pop(&tape, 1, true) && !reported.calls, "the next pop gives all ones");
		reel_tape_close(&tape);
	}
}

/* ---- Pops without a push ---- */

static void a_pop_of_an_empty_tape_gives_all_ones(unsigned flags, bool used)
{
	for (size_t s = 0; s < COUNT(shapes); s++) {
		reel_tape tape = open_tape(NULL, flags);

		record_reports();
		if (used) {
			push_words(&tape, 0, 40);
			wrong_words(&tape, 0, 40);
		}
		ok(shapes[s].pop(&tape, 2, true), "%s popped of an empty tape%s%s is all ones",
		   shapes[s].name, used ? " that was full once" : "", flags ? ", checked," : "");
		is_int(reel_tape_error(&tape), -ENODATA, "a pop of an empty tape is an error");
		is_int(reported.calls, 1, "the pop of an empty tape is reported once");
		is_int(reel_tape_clear_error(&tape), -EBUSY,
		       "no clearing can mend a pop of an empty tape");
		push_word(&tape, 1);
		ok(pop_word(&tape, 1, true), "pushes are refused");
		reel_tape_close(&tape);
	}
}

static void a_pop_of_more_than_there_is_gives_all_ones(void)
{
	reel_tape tape = {0};
	struct wide x;
	char array[100];

	record_reports();
	push_words(&tape, 0, 2);
	x = reel_pop_record(&tape, wide);
	ok(all_ones(&x, sizeof x), "a record larger than what is on the tape is all ones");
	is_int(reel_tape_error(&tape), -EBADMSG,
	       "a record larger than what is on the tape is an error");
	is_int(reel_pop(&tape, int64_t), -1, "nothing stale comes after it");
	reel_tape_close(&tape);
	push_words(&tape, 0, 2);
	reel_pop_array(&tape, array, sizeof array);
	ok(all_ones(array, sizeof array), "an array larger than what is on the tape is all ones");
	is_int(reel_tape_error(&tape), -ENODATA,
	       "an array larger than what is on the tape is an error");
	reel_tape_close(&tape);
}

static void all_ones_in_every_type(void)
{
	reel_tape tape = {0};

	record_reports();
	ok(isnan(reel_pop(&tape, float)), "a float of all ones is a NaN");
	ok(isnan(reel_pop(&tape, double)), "a double of all ones is a NaN");
	ok(isnan(reel_pop(&tape, long double)), "a long double of all ones is a NaN");
	is_int(reel_pop(&tape, short), -1, "a short is -1");
	is_int(reel_pop(&tape, unsigned char), UCHAR_MAX, "an unsigned char is the largest");
	is_int(reel_pop_bits(&tape, 8), UINT8_MAX, "a byte is the largest");
	is_int(reel_pop(&tape, bool), true, "a bool is true");
	ok((uintptr_t)reel_pop(&tape, void *) == UINTPTR_MAX, "a pointer is invalid");
	reel_tape_close(&tape);
}

/* ---- Reports ---- */

static void the_first_error_stays(void)
{
	reel_tape tape = {0};

	record_reports();
	reel_push_bits(&tape, 0, 40);
	ok(!reel_push_span(&tape, double, SIZE_MAX), "a second error");
	reel_pop_span(&tape, double, SIZE_MAX);
	reel_pop_bits(&tape, 40);
	reel_pop(&tape, double);
	is_int(reel_tape_error(&tape), -EINVAL, "the first of three errors stays");
	is_int(reported.calls, 1, "the first of three errors is the only one reported");
	reel_tape_close(&tape);
	reel_pop(&tape, double);
	is_int(reported.calls, 2, "a closed tape has its own first error");
	reel_tape_close(&tape);
}

static void an_error_after_clearing_is_reported_again(void)
{
	reel_tape tape = {0};

	record_reports();
	reel_tape_replay(&tape);
	reel_tape_clear_error(&tape);
	reel_tape_release(&tape);
	is_int(reported.calls, 2, "an error after the first was cleared is reported");
	is_int(reel_tape_error(&tape), -EINVAL, "the error that was reported sticks");
	reel_tape_close(&tape);
}

static int handed_error;
static const reel_tape *handed_tape;

static void keep_what_is_handed(const reel_tape *tape, int error, const char *message,
				void *context)
{
	handed_tape = tape;
	handed_error = error;
	*(size_t *)context = strlen(message);
}

static void the_handler_is_handed_everything(void)
{
	reel_tape tape = {0};
	size_t length = 0;

	reel_set_error_handler(keep_what_is_handed, &length);
	reel_pop(&tape, int);
	is_pointer(handed_tape, &tape, "the handler knows the tape");
	is_int(handed_error, -ENODATA, "the error");
	ok(length > 0, "a message, and its context");
	reel_tape_close(&tape);
}

static void without_a_handler_errors_go_to_stderr(void)
{
	reel_tape tape = {0};
	char line[512] = "";
	FILE *file;

	fflush(stderr);
	reel_set_error_handler(NULL, NULL);
	ok(freopen("errors", "w", stderr) != NULL, "stderr goes to a file");
	reel_pop(&tape, int);
	reel_pop(&tape, int);
	fflush(stderr);
	file = fopen("errors", "r");
	if (!file || !fgets(line, sizeof line, file))
		tap_note("nothing in the file");
	ok(!strncmp(line, "reel: ", 6) && strstr(line, "t-error.c:"),
	   "the default handler writes a line that names the place");
	ok(file && fgetc(file) == EOF, "the default handler writes only one line");
	if (file)
		fclose(file);
	reel_tape_close(&tape);
}

static void budget_messages_say_what_to_do(void)
{
	reel_pool *pool = open_pool(tiny_budget(2));
	reel_tape tape = open_tape(pool, 0);

	record_reports();
	push_words(&tape, 0, 100);
	ok(strstr(reported.message, "128 bytes") && strstr(reported.message, "256") &&
		   strstr(reported.message, "REEL_BUDGET"),
	   "the message names the slab, the budget and how to raise it");
	reel_tape_close(&tape);
	close_pool(pool, "a message");
}

static void errors_have_words(void)
{
	static const int errors[] = {0, -EDQUOT, -ENOMEM, -EOVERFLOW, -ENODATA, -EBADMSG,
				     -EPERM, -EINVAL, -EBUSY, -ENXIO};
	unsigned same = 0;

	reel_fail(0, "%s", "");
	for (size_t i = 0; i < COUNT(errors); i++)
		for (size_t j = 0; j <= i; j++)
			same += !*reel_error_text(errors[i]) ||
				(i != j &&
				 !strcmp(reel_error_text(errors[i]), reel_error_text(errors[j])));
	is_int(same, 0, "each error has words of its own");
	is_string(reel_error_text(-EINTR), strerror(EINTR),
		  "errors of the system have strerror()'s words");
}

int main(void)
{
	tap_begin();
	tap_case("refused pushes");
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++) {
		for (unsigned slabs = 1; slabs < 40; slabs += 5)
			mixed_shapes_keep_in_step(slabs, flags);
		each_shape_keeps_in_step(flags);
		bits_keep_in_step_at_the_end_of_a_word(flags);
		cursors_are_refused(flags);
	}
	everything_after_a_refusal_is_refused();
	a_refused_reservation_counts_nothing();
	room_given_back_is_taken_again();
	tap_case("handlers that leave");
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++) {
		a_handler_may_leave_a_push(flags);
		a_handler_may_leave_a_pop(flags);
	}
	tap_case("pops without a push");
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++)
		for (int used = 0; used < 2; used++)
			a_pop_of_an_empty_tape_gives_all_ones(flags, used);
	a_pop_of_more_than_there_is_gives_all_ones();
	all_ones_in_every_type();
	tap_case("reports");
	the_first_error_stays();
	an_error_after_clearing_is_reported_again();
	the_handler_is_handed_everything();
	budget_messages_say_what_to_do();
	errors_have_words();
	without_a_handler_errors_go_to_stderr();
	return tap_end();
}
