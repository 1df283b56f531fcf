/* SPDX-License-Identifier: MIT */
/* Tests checked mode: it finds the first wrong pop, and names both places. */
#include <config.h>

#include <errno.h>
#include <pthread.h>

#include "helpers/support.h"
#include "helpers/thread-team.h"

struct pair {
	double x, y;
};

struct couple {
	double x, y;
};

REEL_RECORD(pair, struct pair);
REEL_RECORD(couple, struct couple);

/* Lines of the last push and of the last pop of a test. */
static int pushed_at, popped_at;

#define PUSH(statement) (pushed_at = __LINE__, (void)(statement))
#define POP(statement) (popped_at = __LINE__, (void)(statement))

static void push_double(reel_tape *tape)
{
	PUSH(reel_push(tape, 1.5));
}

static void push_long(reel_tape *tape)
{
	PUSH(reel_push(tape, 1L));
}

static void push_pointer(reel_tape *tape)
{
	PUSH(reel_push(tape, tape));
}

static void push_pair(reel_tape *tape)
{
	PUSH(reel_push_record(tape, pair, ((struct pair){1, 2})));
}

static void push_seven_bits(reel_tape *tape)
{
	PUSH(reel_push_bits(tape, 1, 7));
}

static void push_bool(reel_tape *tape)
{
	PUSH(reel_push(tape, (bool)true));
}

static void push_span(reel_tape *tape)
{
	PUSH(fill(reel_push_span(tape, double, 5), 40, 0));
}

static void push_reserved(reel_tape *tape)
{
	fill(reel_reserve(tape, float, 9), 36, 0);
	PUSH(reel_commit(tape, float, 6));
}

static void push_array(reel_tape *tape)
{
	static const double array[4];

	PUSH(reel_push_array(tape, array, 4));
}

static void push_by_cursor(reel_tape *tape)
{
	reel_cursor c = reel_push_cursor(tape);

	PUSH(c = reel_cursor_push(tape, c, 1.5f));
	reel_cursor_close(tape, c);
}

static void pop_double(reel_tape *tape)
{
	POP(reel_pop(tape, double));
}

static void look_at_double(reel_tape *tape)
{
	POP(reel_look(tape, double));
}

static void pop_long(reel_tape *tape)
{
	POP(reel_pop(tape, long));
}

static void pop_pointer(reel_tape *tape)
{
	POP(reel_pop(tape, reel_tape *));
}

static void pop_couple(reel_tape *tape)
{
	POP(reel_pop_record(tape, couple));
}

static void look_at_couple(reel_tape *tape)
{
	POP(reel_look_record(tape, couple));
}

static void pop_eight_bits(reel_tape *tape)
{
	POP(reel_pop_bits(tape, 8));
}

static void look_at_bit(reel_tape *tape)
{
	POP(reel_look(tape, bool));
}

static void pop_four_doubles(reel_tape *tape)
{
	POP(reel_pop_span(tape, double, 4));
}

static void pop_five_floats(reel_tape *tape)
{
	POP(reel_pop_span(tape, float, 5));
}

static void pop_nine_floats(reel_tape *tape)
{
	POP(reel_pop_span(tape, float, 9));
}

static void pop_array(reel_tape *tape)
{
	double array[5];

	POP(reel_pop_array(tape, array, 5));
}

static void pop_array_of_floats(reel_tape *tape)
{
	float array[8];

	POP(reel_pop_array(tape, array, 8));
}

static void pop_array_of_longs(reel_tape *tape)
{
	int64_t array[4];

	POP(reel_pop_array(tape, array, 4));
}

static void pop_eight_floats(reel_tape *tape)
{
	POP(reel_pop_span(tape, float, 8));
}

static void push_span_of_four(reel_tape *tape)
{
	PUSH(fill(reel_push_span(tape, double, 4), 32, 0));
}

static void pop_by_cursor(reel_tape *tape)
{
	reel_cursor c = reel_pop_cursor(tape);
	double x;

	POP(c = reel_cursor_pop(tape, c, &x));
	reel_cursor_close(tape, c);
}

typedef void operation(reel_tape *tape);

/* Without checks most of these mistakes would give wrong values without an error. */
static const struct {
	operation *push;
	operation *pop;
	const char *what;
} mismatches[] = {
	{push_double, pop_long, "a double popped as a long"},
	{push_long, pop_double, "a long popped as a double"},
	{push_long, look_at_double, "a long looked at as a double"},
	{push_double, pop_pointer, "a double popped as a pointer"},
	{push_pointer, pop_long, "a pointer popped as a long"},
	{push_pair, pop_couple, "a record popped as another of the same size"},
	{push_pair, look_at_couple, "a record looked at as another of the same size"},
	{push_seven_bits, pop_eight_bits, "seven bits popped as eight"},
	{push_seven_bits, look_at_bit, "seven bits looked at as one"},
	{push_double, pop_eight_bits, "a double popped as bits"},
	{push_seven_bits, pop_double, "bits popped as a double"},
	{push_bool, pop_eight_bits, "a bool popped as a byte"},
	{push_span, pop_four_doubles, "a span popped with too few elements"},
	{push_span, pop_five_floats, "a span popped as another type"},
	{push_reserved, pop_nine_floats, "a span popped as it was reserved, not committed"},
	{push_array, pop_array, "an array popped with too many elements"},
	{push_array, pop_array_of_floats, "an array popped as one of floats, of as many bytes"},
	{push_array, pop_array_of_longs, "an array popped as one of integers"},
	{push_span_of_four, pop_eight_floats, "a span popped as one of floats, of as many bytes"},
	{push_array, pop_four_doubles, "an array popped as a span"},
	{push_span, pop_array, "a span popped as an array"},
	{push_by_cursor, pop_double, "a float pushed by cursor popped as a double"},
	{push_by_cursor, pop_by_cursor, "a float popped by cursor as a double"},
};

static bool names_both_places(void)
{
	char push[64], pop[64];

	snprintf(push, sizeof push, "t-check.c:%d", pushed_at);
	snprintf(pop, sizeof pop, "t-check.c:%d", popped_at);
	return strstr(reported.message, push) && strstr(reported.message, pop) &&
	       !strchr(reported.message, '\n');
}

static void mismatches_are_found(unsigned words)
{
	for (size_t i = 0; i < COUNT(mismatches); i++) {
		reel_tape tape = open_tape(NULL, REEL_CHECKED);
		bool found;

		record_reports();
		push_words(&tape, 0, words);
		mismatches[i].push(&tape);
		mismatches[i].pop(&tape);
		found = reel_tape_error(&tape) == -EBADMSG && reported.calls == 1 &&
			reported.error == -EBADMSG && names_both_places();
		reel_pop(&tape, double);
		if (!ok(found && reported.calls == 1, "found after %u words: %s", words,
			mismatches[i].what))
			tap_note("%s", reported.message);
		reel_tape_close(&tape);
	}
}

static void the_first_wrong_pop_is_the_one_found(void)
{
	reel_tape tape = open_tape(NULL, REEL_CHECKED);

	record_reports();
	push_words(&tape, 0, 10);
	push_double(&tape);
	push_words(&tape, 10, 30);
	is_int(wrong_words(&tape, 10, 30), 0, "right pops before it give what was pushed");
	is_int(reel_tape_error(&tape), 0, "right pops are no error");
	pop_long(&tape);
	is_int(reel_tape_error(&tape), -EBADMSG, "the first wrong one is an error");
	is_int(reel_pop(&tape, int64_t), -1, "nothing is popped after it");
	ok(names_both_places(), "both places are named");
	reel_tape_close(&tape);
}

static void a_look_is_checked_and_leaves_the_value(void)
{
	reel_tape tape = open_tape(NULL, REEL_CHECKED);

	reel_push(&tape, 1.5);
	reel_push_bit(&tape, true);
	ok(reel_look(&tape, bool) && reel_pop_bit(&tape), "a bit looked at is there");
	is_double(reel_look(&tape, double), 1.5, "a value looked at is there");
	is_double(reel_pop(&tape, double), 1.5, "a value looked at is there when popped");
	is_int(reel_tape_error(&tape), 0, "looking is no error");
	reel_tape_close(&tape);
}

static void an_empty_tape_is_found(void)
{
	static operation *const pops[] = {pop_double, look_at_double, pop_couple, pop_eight_bits,
					  look_at_bit, pop_four_doubles, pop_array, pop_by_cursor};
	unsigned missed = 0;

	for (size_t i = 0; i < COUNT(pops); i++) {
		reel_tape tape = open_tape(NULL, REEL_CHECKED);

		push_double(&tape);
		pop_double(&tape);
		record_reports();
		pops[i](&tape);
		missed += reel_tape_error(&tape) != -ENODATA || reported.calls != 1;
		reel_tape_close(&tape);
	}
	is_int(missed, 0, "a pop of an empty tape is found in each shape");
}

/* ---- Correct programs ---- */

static void push_everything(reel_tape *tape)
{
	for (unsigned i = 0; i < 100; i++) {
		push_double(tape);
		push_seven_bits(tape);
		push_bool(tape);
		push_pair(tape);
		push_span(tape);
		reel_push_span(tape, double, 0);
		push_reserved(tape);
		push_array(tape);
		reel_push_bits(tape, 0, 0);
		push_by_cursor(tape);
		push_pointer(tape);
	}
}

static unsigned wrong_of_everything(reel_tape *tape)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 100; i++) {
		double array[4];
		struct pair pair;

		wrong += reel_pop(tape, reel_tape *) != tape;
		wrong += reel_pop(tape, float) != 1.5f;
		wrong += reel_pop_bits(tape, 0) != 0;
		reel_pop_array(tape, array, 4);
		wrong += array[3] != 0;
		wrong += !is_filled(reel_pop_span(tape, float, 6), 24, 0);
		wrong += reel_pop_span(tape, double, 0) == NULL;
		wrong += !is_filled(reel_pop_span(tape, double, 5), 40, 0);
		pair = reel_pop_record(tape, pair);
		wrong += pair.x != 1 || pair.y != 2;
		wrong += reel_pop(tape, bool) != true;
		wrong += reel_pop_bits(tape, 7) != 1;
		wrong += reel_pop(tape, double) != 1.5;
	}
	return wrong;
}

static void a_correct_program_sees_no_difference(unsigned flags, unsigned pool_flags)
{
	struct reel_pool_options options = TINY;
	reel_pool *pool;
	reel_tape tape;
	reel_mark mark;
	unsigned wrong;

	options.flags = pool_flags;
	pool = open_pool(options);
	tape = open_tape(pool, flags);
	record_reports();
	push_everything(&tape);
	reel_tape_hold(&tape);
	wrong = wrong_of_everything(&tape);
	push_everything(&tape);
	reel_tape_replay(&tape);
	wrong += wrong_of_everything(&tape);
	push_everything(&tape);
	reel_tape_release(&tape);
	mark = reel_tape_mark(&tape);
	push_everything(&tape);
	wrong += reel_tape_rewind(&tape, mark) != 0;
	wrong += wrong_of_everything(&tape);
	wrong += !reel_tape_is_empty(&tape) || reel_tape_error(&tape) || reported.calls;
	is_int(wrong, 0, "a correct program gives the same results with flags %u, the pool's %u",
	       flags, pool_flags);
	reel_tape_close(&tape);
	close_pool(pool, "a correct program");
}

typedef double real;
typedef struct pair couple;

static void a_type_may_have_several_names(void)
{
	static const double rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
	double popped[6];
	reel_tape tape;

	reel_tape_open(&tape, NULL, REEL_CHECKED);
	reel_push_span(&tape, real, 4);
	(void)reel_pop_span(&tape, double, 4);
	reel_push_span(&tape, size_t, 3);
	(void)reel_pop_span(&tape, unsigned long, 3);
	reel_push_span(&tape, couple, 2);
	(void)reel_pop_span(&tape, struct pair, 2);
	reel_push(&tape, (int64_t)-1);
	(void)reel_pop(&tape, uint64_t);
	reel_push_array(&tape, rows, 2);
	reel_pop_array(&tape, &popped[0], 6);
	is_int(reel_tape_error(&tape), 0, "a type by another name is the same");
	is_int(memcmp(rows, popped, sizeof popped), 0, "an array's rows come back by another name");
	reel_tape_close(&tape);
}

static void a_pool_makes_its_tapes_checked(void)
{
	struct reel_pool_options options = {.flags = REEL_POOL_CHECKED};
	reel_pool *pool = open_pool(options);
	reel_tape tape = open_tape(pool, 0);

	record_reports();
	push_double(&tape);
	pop_long(&tape);
	is_int(reel_tape_error(&tape), -EBADMSG, "a tape of a checked pool is checked");
	reel_tape_close(&tape);
	close_pool(pool, "a tape was checked");
}

/* Refused pushes of zero elements count like others, as the first, the last, or in between. */
static void refused_pushes_of_nothing_keep_in_step(unsigned flags)
{
	reel_tape tape = open_tape(NULL, flags);
	double none[1];

	record_reports();
	push_double(&tape);
	reel_tape_replay(&tape);
	reel_push_bits(&tape, 0, 0);
	reel_push_span(&tape, double, 0);
	reel_push_span(&tape, long double, 0);
	push_long(&tape);
	reel_push_array(&tape, none, 0);
	ok(!reel_tape_is_empty(&tape), "refused pushes are on the tape");
	reel_pop_array(&tape, none, 0);
	pop_long(&tape);
	reel_pop_span(&tape, long double, 0);
	reel_pop_span(&tape, double, 0);
	reel_pop_bits(&tape, 0);
	is_int(reel_tape_refused(&tape), 0, "all refused pushes were popped");
	is_double(reel_pop(&tape, double), 1.5, "what is below comes back");
	is_int(reel_tape_clear_error(&tape), -EINVAL, "the only error is the first");
	is_int(reported.calls, 1, "the first error was reported once");
	reel_tape_close(&tape);
}

static void notes_without_memory_refuse_the_push(void)
{
	reel_pool *pool = open_pool(tiny_budget(5));
	reel_tape tape = open_tape(pool, REEL_CHECKED);
	unsigned pushed, wrong = 0;

	record_reports();
	for (pushed = 0; !reel_tape_error(&tape); pushed++)
		push_words(&tape, pushed, pushed + 1);
	push_words(&tape, pushed, 200);
	is_int(reel_tape_error(&tape), -EDQUOT, "notes count for the budget");
	is_int(reported.calls, 1, "the refusal is reported once");
	for (unsigned i = 200; i > pushed - 1; i--)
		wrong += reel_pop(&tape, int64_t) != -1;
	wrong += wrong_words(&tape, 0, pushed - 1);
	is_int(wrong, 0, "refused pushes give all ones, and all before comes back");
	is_int(reel_tape_clear_error(&tape), -EDQUOT, "the error can be cleared");
	push_words(&tape, 0, 5);
	is_int(wrong_words(&tape, 0, 5), 0, "the tape goes on after the error was cleared");
	is_int(reel_tape_error(&tape), 0, "the tape is in step");
	reel_tape_close(&tape);
	close_pool(pool, "notes were refused");
}

/* ---- Threads ---- */

static void *pop_in_a_thread(void *tape)
{
	pop_double(tape);
	return NULL;
}

static void *push_in_a_thread(void *tape)
{
	push_double(tape);
	return NULL;
}

static void in_another_thread(void *(*body)(void *), reel_tape *tape)
{
	pthread_t thread;

	pthread_create(&thread, NULL, body, tape);
	pthread_join(thread, NULL);
}

static void a_wrong_thread_is_found(void *(*body)(void *), unsigned flags)
{
	reel_tape tape = open_tape(NULL, flags);

	record_reports();
	push_double(&tape);
	in_another_thread(body, &tape);
	is_int(reel_tape_error(&tape), flags ? -EPERM : 0, "a use by another thread is %s",
	       flags ? "found" : "not found unchecked");
	if (flags && body == pop_in_a_thread)
		ok(names_both_places(), "both places are named");
	reel_tape_close(&tape);
}

static void a_tape_can_be_handed_over(void)
{
	reel_tape tape = open_tape(NULL, REEL_CHECKED);

	record_reports();
	push_double(&tape);
	reel_tape_hand_over(&tape);
	in_another_thread(push_in_a_thread, &tape);
	is_int(reel_tape_error(&tape), 0, "handed over, another thread may use it");
	is_int(reel_pop(&tape, int64_t), -1, "the former owner may not use the tape");
	is_int(reel_tape_error(&tape), -EPERM, "the former owner's use is found");
	reel_tape_close(&tape);
}

/* The slab still has data of another tape. */
static void what_was_not_written_does_not_look_like_data(void)
{
	reel_pool *pool = open_pool((struct reel_pool_options){.slab_bytes = 4096});
	reel_tape tape = open_tape(pool, 0);

	fill(reel_push_span(&tape, char, 4096), 4096, 1);
	reel_tape_close(&tape);
	tape = open_tape(pool, REEL_CHECKED);
	ok(all_ones(reel_push_span(&tape, char, 4096), 4096),
	   "a span on a checked tape is all ones until it is written");
	reel_tape_close(&tape);
	close_pool(pool, "a span that was not written");
}

/* ---- Copies ---- */

/* Uses of a copy of a tape, such as one in an array that realloc() has moved. */
enum use { PUSHES, POPS, LOOKS, CLOSES, MOVES, USES };

static void use_copy(reel_tape *copy, enum use use)
{
	reel_tape moved = {0};

	switch (use) {
	case PUSHES:
		push_words(copy, 0, 100);
		break;
	case POPS:
		is_int(reel_pop(copy, int64_t), -1, "a copy pops all ones");
		break;
	case LOOKS:
		ok(reel_look(copy, bool), "a copy looks at ones");
		break;
	case MOVES:
		reel_tape_move(&moved, copy);
		is_int(reel_tape_error(&moved), -EINVAL, "a copy moves as an error");
		reel_tape_close(&moved);
		break;
	default:
		break;
	}
	if (use != CLOSES && use != MOVES)
		is_int(reel_tape_error(copy), -EINVAL, "the copy of a tape is an error");
	reel_tape_close(copy);
}

static void a_copy_is_found(unsigned words, unsigned flags, enum use use)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, flags), copy;

	record_reports();
	push_words(&tape, 0, words);
	memcpy(&copy, &tape, sizeof copy);
	use_copy(&copy, use);
	is_int(reported.calls, 1, "the copy is reported once");
	ok(strstr(reported.message, "reel_tape_move"), "the report has the remedy");
	is_int(wrong_words(&tape, 0, words), 0, "the tape of %u words has all its values", words);
	is_int(reel_tape_error(&tape), 0, "the tape has no error");
	reel_tape_close(&tape);
	close_pool(pool, "a tape was copied");
}

#define CALL_SITES 500

static void find_call_sites(const struct member *member)
{
	const char **found = (const char **)member->team->context + member->number * CALL_SITES;
	char file[] = "dir/name.cc"; /* this copy of a name does not outlive the thread */

	team_barrier(member);
	for (int line = 0; line < CALL_SITES; line++)
		found[line] = reel_call_site_of(file, line);
}

static void a_call_site_has_one_text(void)
{
	static const char *found[4 * CALL_SITES];
	char text[32];
	int same = 0, right = 0;

	run_team(4, find_call_sites, (void *)found);
	for (int line = 0; line < CALL_SITES; line++) {
		snprintf(text, sizeof text, "dir/name.cc:%d", line);
		right += strcmp(found[line], text) == 0;
		for (int t = 1; t < 4; t++)
			same += found[t * CALL_SITES + line] == found[line];
	}
	is_int(right, CALL_SITES, "the text of a call site names file and line");
	is_int(same, 3 * CALL_SITES, "all threads have the same one");
	ok(strcmp(reel_call_site_of("dir/name.c", 7), "dir/name.c:7") == 0,
	   "a name that begins another is its own");
}

int main(void)
{
	tap_begin();
	tap_case("mismatches");
	mismatches_are_found(0);
	mismatches_are_found(INLINE_WORDS);
	the_first_wrong_pop_is_the_one_found();
	a_look_is_checked_and_leaves_the_value();
	an_empty_tape_is_found();
	tap_case("correct programs");
	a_correct_program_sees_no_difference(0, 0);
	a_correct_program_sees_no_difference(REEL_CHECKED, 0);
	a_correct_program_sees_no_difference(0, REEL_POOL_CHECKED);
	a_type_may_have_several_names();
	a_pool_makes_its_tapes_checked();
	refused_pushes_of_nothing_keep_in_step(0);
	refused_pushes_of_nothing_keep_in_step(REEL_CHECKED);
	notes_without_memory_refuse_the_push();
	tap_case("threads");
	a_wrong_thread_is_found(pop_in_a_thread, REEL_CHECKED);
	a_wrong_thread_is_found(push_in_a_thread, REEL_CHECKED);
	a_wrong_thread_is_found(pop_in_a_thread, 0);
	a_tape_can_be_handed_over();
	what_was_not_written_does_not_look_like_data();
	tap_case("call sites");
	a_call_site_has_one_text();
	tap_case("copies");
	for (enum use use = 0; use < USES; use++)
		for (unsigned words = 1; words < 200; words += INLINE_WORDS)
			a_copy_is_found(words, REEL_CHECKED, use);
	a_copy_is_found(INLINE_WORDS, 0, PUSHES);
	a_copy_is_found(INLINE_WORDS, 0, CLOSES);
	a_copy_is_found(INLINE_WORDS, 0, MOVES);
	return tap_end();
}
