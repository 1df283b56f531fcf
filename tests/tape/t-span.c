/* SPDX-License-Identifier: MIT */
/* Tests spans and arrays, which push and pop many values at once. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdalign.h>

#include "pool/pool.h"
#include "helpers/support.h"

struct align16 {
	alignas(16) char bytes[16];
};

struct align32 {
	alignas(32) char bytes[32];
};

struct align64 {
	alignas(64) char bytes[64];
};

struct page {
	alignas(4096) char bytes[4096];
};

struct three {
	char bytes[3];
};

/*
 * Defines a function that pushes two spans of a type, one on the other, and pops them. It returns
 * the number of mistakes.
 */
#define SPAN_OF(name, type)                                                                        \
	static unsigned wrong_##name(reel_tape *tape, size_t n, bool reserve)                      \
	{                                                                                          \
		unsigned wrong = 0;                                                                \
		const type *popped;                                                                \
                                                                                                   \
		for (unsigned i = 0; i < 2; i++) {                                                 \
			type *span = reserve ? reel_reserve(tape, type, n + 3)                     \
					     : reel_push_span(tape, type, n);                      \
			wrong += !span || (uintptr_t)span % alignof(type);                         \
			fill(span, n * sizeof(type), i);                                           \
			if (reserve)                                                               \
				reel_commit(tape, type, n);                                        \
		}                                                                                  \
		for (unsigned i = 2; i-- > 0;) {                                                   \
			popped = reel_pop_span(tape, type, n);                                     \
			wrong += !popped || (uintptr_t)popped % alignof(type);                     \
			wrong += !is_filled(popped, n * sizeof(type), i);                          \
		}                                                                                  \
		return wrong;                                                                      \
	}

SPAN_OF(char, char)
SPAN_OF(three, struct three)
SPAN_OF(float, float)
SPAN_OF(double, double)
SPAN_OF(ldouble, long double)
SPAN_OF(align16, struct align16)
SPAN_OF(align32, struct align32)
SPAN_OF(align64, struct align64)
SPAN_OF(page, struct page)

static const struct {
	const char *name;
	unsigned (*wrong)(reel_tape *tape, size_t n, bool reserve);
} types[] = {
	{"char", wrong_char},       {"three bytes", wrong_three}, {"float", wrong_float},
	{"double", wrong_double},   {"long double", wrong_ldouble},
	{"16-byte aligned", wrong_align16}, {"32-byte aligned", wrong_align32},
	{"64-byte aligned", wrong_align64}, {"page aligned", wrong_page},
};

/* Numbers of elements: 0, 1, the room of a window or a slab, one less, one more, and far more. */
static const size_t counts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 127, 128, 129, 1000};

static void spans_come_back(struct reel_pool_options options, unsigned flags, bool reserve)
{
	reel_pool *pool = open_pool(options);

	for (size_t type = 0; type < COUNT(types); type++) {
		unsigned wrong = 0;

		for (size_t i = 0; i < COUNT(counts); i++)
			for (unsigned words = 0; words < INLINE_WORDS + 20; words++) {
				reel_tape tape = open_tape(pool, flags);

				if (counts[i] > 20 && (words % 5 || types[type].wrong == wrong_page))
					continue;
				push_words(&tape, 0, words);
				wrong += types[type].wrong(&tape, counts[i], reserve);
				wrong += wrong_words(&tape, 0, words);
				wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
				reel_tape_close(&tape);
			}
		is_int(wrong, 0, "%s spans of %s come back%s", reserve ? "reserved" : "pushed",
		       types[type].name, flags ? " in checked mode" : "");
	}
	close_pool(pool, "spans");
}

static void a_span_fills_the_rest_of_a_window(void)
{
	reel_pool *pool = open_pool(TINY);
	unsigned misplaced = 0;

	for (unsigned rest = 0; rest <= INLINE_WORDS; rest++)
		for (unsigned more = 0; more < 2; more++) {
			reel_tape tape = open_tape(pool, 0);

			push_words(&tape, 0, INLINE_WORDS - rest);
			reel_push_span(&tape, double, rest + more);
			misplaced += slabs_in_use(pool) != more;
			reel_tape_close(&tape);
		}
	is_int(misplaced, 0, "a slab is taken for one element more than there is room, not before");
	close_pool(pool, "rests were filled");
}

static void a_large_span_has_a_slab_of_its_own(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	double *span = reel_push_span(&tape, double, 100000);

	ok(span != NULL, "a span of many slabs' size is pushed");
	fill(span, 800000, 1);
	is_int(slabs_in_use(pool), 1, "onto one slab");
	reel_push(&tape, 1.5);
	is_int(reel_tape_bytes(&tape), 800008, "values follow it");
	is_double(reel_pop(&tape, double), 1.5, "values that follow a span are popped before it");
	ok(is_filled(reel_pop_span(&tape, double, 100000), 800000, 1), "the span comes back");
	reel_tape_close(&tape);
	close_pool(pool, "a large span");
}

static void a_large_slab_does_not_stay_for_small_values(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	struct reel_pool_stats stats;

	push_words(&tape, 0, INLINE_WORDS);
	ok(reel_push_span(&tape, double, 100000) != NULL, "a large span");
	reel_pop_span(&tape, double, 100000);
	wrong_words(&tape, INLINE_WORDS - 1, INLINE_WORDS);
	push_words(&tape, INLINE_WORDS - 1, INLINE_WORDS + 1);
	is_int(slabs_in_use(pool), 1, "when small values follow its slab is given back");
	reel_pool_trim(pool, 0);
	reel_pool_get_stats(pool, &stats);
	is_int(stats.resident_bytes, 128, "small values lie on a small slab");
	reel_tape_close(&tape);
	close_pool(pool, "a large slab was left");
}

/* Each span has its own slab, and another size than the spans next to it. */
static void the_last_two_popped_stay_readable(void)
{
	enum { SPANS = 12 };
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	const char *previous = NULL;
	unsigned wrong = 0;

	for (unsigned i = 0; i < SPANS; i++)
		fill(reel_push_span(&tape, char, 100 + 40 * (i % 3)), 100 + 40 * (i % 3), i);
	for (unsigned i = SPANS; i-- > 0;) {
		const char *span = reel_pop_span(&tape, char, 100 + 40 * (i % 3));

		wrong += !is_filled(span, 100 + 40 * (i % 3), i);
		if (previous)
			wrong += !is_filled(previous, 100 + 40 * ((i + 1) % 3), i + 1);
		previous = span;
	}
	is_int(wrong, 0, "a popped span is readable until the next but one is popped");
	reel_tape_close(&tape);
	close_pool(pool, "popped spans were read");
}

/*
 * A value that is popped, or reserved and not committed, leaves an empty slab, which must not come
 * between the slabs of two spans.
 */
static void the_last_two_stay_readable_over_an_empty_slab(bool reserve)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	const char *upper, *lower;

	fill(reel_push_span(&tape, char, 120), 120, 1);
	if (reserve) {
		reel_reserve(&tape, char, 64);
	} else {
		reel_push_span(&tape, char, 64);
		reel_pop_span(&tape, char, 64);
	}
	fill(reel_push_span(&tape, char, 1000), 1000, 2);
	upper = reel_pop_span(&tape, char, 1000);
	lower = reel_pop_span(&tape, char, 120);
	ok(is_filled(lower, 120, 1) && is_filled(upper, 1000, 2),
	   "two spans are readable though a slab was %s between them",
	   reserve ? "reserved" : "left empty");
	reel_tape_close(&tape);
	close_pool(pool, "there was an empty slab");
}

static void popped_spans_stay_readable_in_a_hold(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	const char *popped[3];
	unsigned wrong = 0;

	for (unsigned i = 0; i < 3; i++)
		fill(reel_push_span(&tape, char, 120), 120, i);
	reel_tape_hold(&tape);
	for (unsigned i = 3; i-- > 0;)
		popped[i] = reel_pop_span(&tape, char, 120);
	push_words(&tape, 0, 100);
	for (unsigned i = 0; i < 3; i++)
		wrong += !is_filled(popped[i], 120, i);
	is_int(wrong, 0, "pushes in a hold overwrite no span");
	reel_tape_close(&tape);
	close_pool(pool, "spans in a hold");
}

static void nothing_is_pushed_by_reserving(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	unsigned wrong = 0;

	for (size_t n = 0; n < 40; n++) {
		push_words(&tape, 0, 11);
		wrong += reel_reserve(&tape, double, n) == NULL;
		wrong += reel_tape_bytes(&tape) != 88;
		wrong += reel_reserve(&tape, struct align64, n) == NULL;
		wrong += reel_tape_bytes(&tape) != 88;
		wrong += wrong_words(&tape, 0, 11);
	}
	is_int(wrong, 0, "what is reserved and not committed is not on the tape");
	reel_tape_close(&tape);
	close_pool(pool, "room was reserved");
}

static void too_large_spans_are_refused(unsigned flags)
{
	static const size_t absurd[] = {SIZE_MAX, SIZE_MAX / 8 + 2, SIZE_MAX / 16};

	for (size_t i = 0; i < COUNT(absurd); i++) {
		reel_tape tape = open_tape(NULL, flags);
		unsigned wrong;

		record_reports();
		push_words(&tape, 0, 30);
		ok(!reel_push_span(&tape, double, absurd[i]), "a span of %zu elements is refused",
		   absurd[i]);
		is_int(reel_tape_error(&tape), -EOVERFLOW, "the refused span would overflow");
		wrong = reel_push_span(&tape, struct align64, absurd[i]) != NULL;
		wrong += reel_pop_span(&tape, struct align64, absurd[i]) != NULL;
		wrong += reel_pop_span(&tape, double, absurd[i]) != NULL;
		wrong += reel_tape_clear_error(&tape) != -EOVERFLOW;
		wrong += reel_reserve(&tape, double, absurd[i]) != NULL;
		wrong += reel_tape_refused(&tape) != 0;
		wrong += reel_tape_clear_error(&tape) != -EOVERFLOW;
		wrong += wrong_words(&tape, 0, 30);
		is_int(wrong, 0,
		       "the refused span can be popped, which brings the tape back in step");
		reel_tape_close(&tape);
	}
}

static void too_large_arrays_are_refused(unsigned flags)
{
	reel_tape tape = open_tape(NULL, flags);
	double x = 1.5;
	unsigned wrong;

	record_reports();
	push_words(&tape, 0, 30);
	reel_push_array(&tape, &x, SIZE_MAX / 8 + 2);
	is_int(reel_tape_error(&tape), -EOVERFLOW, "an array too large is refused");
	reel_pop_array(&tape, &x, SIZE_MAX / 8 + 2);
	is_double(x, 1.5, "the pop of a refused array writes nothing");
	wrong = reel_tape_clear_error(&tape) != -EOVERFLOW;
	wrong += wrong_words(&tape, 0, 30);
	is_int(wrong, 0, "the pop of a refused array brings the tape back in step");
	reel_tape_close(&tape);
}

/* These sizes wrap if they are rounded up to words. */
static void sizes_that_wrap_are_refused(unsigned flags)
{
	reel_tape tape = open_tape(NULL, flags);
	char x = 1;
	unsigned wrong = 0;

	record_reports();
	for (size_t n = SIZE_MAX; n >= SIZE_MAX - 8192; n--) {
		wrong += reel_push_span(&tape, char, n) || reel_reserve(&tape, char, n);
		wrong += reel_tape_error(&tape) != -EOVERFLOW || reel_pop_span(&tape, char, n);
		wrong += reel_tape_clear_error(&tape) != -EOVERFLOW;
		reel_push_array(&tape, &x, n);
		reel_pop_array(&tape, &x, n);
		wrong += x != 1 || reel_tape_clear_error(&tape) != -EOVERFLOW;
	}
	is_int(wrong, 0, "spans and arrays from SIZE_MAX - 8192 bytes on are refused");
	ok(reel_tape_is_empty(&tape), "refused spans and arrays leave nothing");
	reel_tape_close(&tape);
}

/* More refusals than the tape can count: it gives all ones for ever. */
static void too_many_refusals_never_end(void)
{
	reel_tape tape = {0};

	record_reports();
	push_words(&tape, 0, 30);
	for (int i = 0; i < 4; i++)
		(void)reel_push_span(&tape, double, SIZE_MAX);
	is_int(reel_pop(&tape, int64_t), -1, "refusals beyond counting are not forgotten");
	is_int(reel_tape_clear_error(&tape), -EBUSY, "refusals beyond counting are not cleared");
	reel_tape_close(&tape);
}

/* The span is so large that the number of its bits has more than 64 bits, its bytes have not. */
static void a_span_of_exabytes_is_refused(void)
{
	reel_tape tape = {0};
	size_t n = SIZE_MAX / 8 / sizeof(double) + 1;
	unsigned wrong;

	if (SIZE_MAX <= UINT32_MAX) {
		tap_skip(3, "an address has 32 bits: it is half a GiB, which there may be");
		return;
	}
	record_reports();
	push_words(&tape, 0, 30);
	ok(!reel_push_span(&tape, double, n), "a span of 2 EiB is refused");
	ok(reel_tape_error(&tape) != 0, "the refused span is an error");
	wrong = reel_pop_span(&tape, double, n) != NULL;
	wrong += reel_tape_clear_error(&tape) == -EBUSY;
	wrong += wrong_words(&tape, 0, 30);
	is_int(wrong, 0, "the pop of the refused span brings the tape back in step");
	reel_tape_close(&tape);
}

static void unmirrored_pops_of_too_much_are_errors(void)
{
	reel_tape tape = {0};
	double x = 1.5;

	record_reports();
	push_words(&tape, 0, 30);
	ok(!reel_pop_span(&tape, double, SIZE_MAX / 8 + 2), "a pop of a span too large gives NULL");
	is_int(reel_tape_error(&tape), -EBADMSG, "a pop of a span too large mirrors no push");
	reel_tape_close(&tape);
	push_words(&tape, 0, 30);
	reel_pop_array(&tape, &x, SIZE_MAX / 8 + 2);
	is_int(reel_tape_error(&tape), -EBADMSG, "a pop of an array too large mirrors no push");
	reel_tape_close(&tape);
}

/* A pop of over-aligned elements checks that the word behind them is the word of such a push. */
static void unmirrored_pops_of_aligned_spans_are_errors(void)
{
	static const uint64_t last_words[] = {0, 8, 31, 33, 47, 63, 64, 1000, (uint64_t)-8, (uint64_t)-1};

	for (size_t i = 0; i < COUNT(last_words); i++) {
		reel_tape tape = {0};

		record_reports();
		push_words(&tape, 0, 30);
		reel_push(&tape, last_words[i]);
		ok(!reel_pop_span(&tape, struct align32, 1) &&
			   reel_tape_error(&tape) == -EBADMSG,
		   "a word of %llu is no span", (unsigned long long)last_words[i]);
		reel_tape_close(&tape);
	}
}

static void unmirrored_pops_below_the_bottom_are_errors(void)
{
	reel_tape tape = {0};
	unsigned n = 200;

	record_reports();
	push_words(&tape, 0, 3);
	reel_push(&tape, n * sizeof(struct align32));
	ok(!reel_pop_span(&tape, struct align32, n), "a span that would begin below the bottom");
	is_int(reel_tape_error(&tape), -EBADMSG,
	       "a span that would begin below the bottom is an error");
	reel_tape_close(&tape);
}

/* ---- Arrays ---- */

static void arrays_come_back(struct reel_pool_options options, unsigned flags)
{
	reel_pool *pool = open_pool(options);
	unsigned wrong = 0;

	for (size_t n = 0; n < 700; n += n < 150 ? 1 : 37)
		for (unsigned words = 0; words < INLINE_WORDS + 10; words += 5) {
			reel_tape tape = open_tape(pool, flags);
			char source[700], target[701];

			fill(source, n, n);
			target[n] = 77;
			push_words(&tape, 0, words);
			reel_push_array(&tape, source, n);
			wrong += reel_tape_bytes(&tape) != words * 8 + (n + 7) / 8 * 8;
			reel_push(&tape, 1.5);
			wrong += reel_pop(&tape, double) != 1.5;
			reel_pop_array(&tape, target, n);
			wrong += memcmp(source, target, n) || target[n] != 77;
			wrong += wrong_words(&tape, 0, words);
			wrong += reel_tape_error(&tape) || !reel_tape_is_empty(&tape);
			reel_tape_close(&tape);
		}
	is_int(wrong, 0, "arrays of all sizes come back from any place%s",
	       flags ? " in checked mode" : "");
	close_pool(pool, "arrays");
}

/* Arrays begin at each byte of a cache line, and end at each byte. */
static void arrays_past_the_cache_come_back(unsigned flags)
{
	enum { ARRAYS = 130, BYTES = REEL_LARGE_ARRAY + ARRAYS };
	static char source[BYTES], back[BYTES];
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	reel_tape tape = open_tape(pool, flags);
	unsigned wrong = 0;

	pool->stream_above = 0;
	for (unsigned i = 0; i < ARRAYS; i++) {
		fill(source, REEL_LARGE_ARRAY + i, i);
		reel_push_array(&tape, source, REEL_LARGE_ARRAY + i);
	}
	for (unsigned i = ARRAYS; i-- > 0;) {
		reel_pop_array(&tape, back, REEL_LARGE_ARRAY + i);
		wrong += !is_filled(back, REEL_LARGE_ARRAY + i, i);
	}
	is_int(wrong, 0, "arrays come back that were written past the cache%s",
	       flags ? ", in checked mode" : "");
	reel_tape_close(&tape);
	close_pool(pool, "arrays were written past the cache");
}

static void an_array_is_spread_over_slabs(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	struct align64 source[10], target[10];

	fill(source, sizeof source, 1);
	push_words(&tape, 0, INLINE_WORDS - 1);
	reel_push_array(&tape, source, 10);
	is_int(slabs_in_use(pool), 4 + (640 - 8 - 256 + 127) / 128,
	       "an array fills the window and then as many slabs as it needs");
	reel_pop_array(&tape, target, 10);
	ok(!memcmp(source, target, sizeof source), "the array comes back");
	reel_tape_close(&tape);
	close_pool(pool, "an array was spread");
}

static void an_array_refused_midway_leaves_nothing(unsigned flags)
{
	reel_pool *pool = open_pool(tiny_budget(6));
	reel_tape tape = open_tape(pool, flags);
	char source[4000] = {0};
	unsigned wrong = 0;

	record_reports();
	push_words(&tape, 0, INLINE_WORDS + 3);
	reel_push_bits(&tape, 5, 3);
	reel_push_array(&tape, source, sizeof source);
	is_int(reel_tape_error(&tape), -EDQUOT, "an array beyond the budget is refused");
	is_int(reel_tape_bytes(&tape), (INLINE_WORDS + 3) * 8, "the array is refused as a whole");
	is_int(reel_tape_refused(&tape), sizeof source, "the refused array is counted");
	reel_pop_array(&tape, source, sizeof source);
	ok(all_ones(source, sizeof source), "the pop of the refused array gives all ones");
	is_int(reel_tape_clear_error(&tape), -EDQUOT, "the tape goes on");
	reel_push_array(&tape, source, 100);
	wrong = reel_tape_error(&tape) != 0;
	reel_pop_array(&tape, source, 100);
	wrong += reel_pop_bits(&tape, 3) != 5;
	wrong += wrong_words(&tape, 0, INLINE_WORDS + 3);
	is_int(wrong, 0, "the tape goes on with what was on it before");
	reel_tape_close(&tape);
	close_pool(pool, "an array was refused");
}

/* An array is refused while the top slab is empty and kept by a hold. */
static void an_array_refused_in_a_hold_leaves_nothing(void)
{
	reel_pool *pool = open_pool(tiny_budget(6));
	reel_tape tape = open_tape(pool, 0);
	char source[4000] = {0};

	record_reports();
	push_words(&tape, 0, INLINE_WORDS + 1);
	reel_pop(&tape, uint64_t);
	reel_tape_hold(&tape);
	reel_push_array(&tape, source, sizeof source);
	is_int(reel_tape_error(&tape), -EDQUOT, "an array beyond the budget is refused in a hold");
	reel_pop_array(&tape, source, sizeof source);
	is_int(wrong_words(&tape, 0, INLINE_WORDS), 0, "what was below comes back");
	reel_tape_replay(&tape);
	is_int(wrong_words(&tape, 0, INLINE_WORDS), 0,
	       "all that was below comes back again after a replay");
	reel_tape_close(&tape);
	close_pool(pool, "an array was refused in a hold");
}

static void no_elements_need_no_address(void)
{
	reel_tape tape = {0};
	double *none = NULL;

	record_reports();
	reel_push_array(&tape, none, 0);
	reel_push_bits(&tape, 0, 33);
	reel_push_array(&tape, none, 0);
	reel_pop_array(&tape, none, 0);
	reel_pop_bits(&tape, 33);
	reel_pop_array(&tape, none, 0);
	is_int(reel_tape_clear_error(&tape), -EINVAL, "arrays of nothing keep in step");
	reel_tape_close(&tape);
}

/*
 * Returns the bytes that the pool charges for spans or arrays of this size, over the bytes that are
 * pushed. A value lies between two of them, as in a step of a program.
 */
static double memory_over_pushed(size_t words, bool as_arrays, const double *source)
{
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	struct reel_pool_stats stats;
	reel_tape tape;
	double ratio;

	reel_tape_open(&tape, pool, 0);
	/* Pushes so much that the first slabs and the unused part of the top slab do not count. */
	while (reel_tape_bytes(&tape) < (size_t)96 << 20 || reel_tape_bytes(&tape) / 8 < 50 * words) {
		if (as_arrays)
			reel_push_array(&tape, source, words);
		else
			(void)reel_push_span(&tape, double, words);
		reel_push(&tape, 1.0);
	}
	reel_pool_get_stats(pool, &stats);
	ratio = (double)stats.resident_bytes / (double)reel_tape_bytes(&tape);
	reel_tape_close(&tape);
	close_pool(pool, "spans of one size");
	return ratio;
}

static void spans_of_any_size_waste_little(void)
{
	const size_t smallest = (64 << 10) / 8, most = 1 << 20;
	uint64_t sizes = number_from_environment("TEST_SEEDS", is_brief() ? 40 : 1000);
	double *source = calloc(most, sizeof *source);
	double worst_span = 0, worst_array = 0;

	for (uint64_t i = 0; i < sizes; i++) {
		double random = 0x1p-64 * (double)scramble(i + 1);
		/* Each octave of sizes is equally frequent. */
		size_t words = (size_t)((double)smallest * pow((double)most / (double)smallest, random));

		worst_span = fmax(worst_span, memory_over_pushed(words, false, NULL));
		if (i % 10 == 0)
			worst_array = fmax(worst_array, memory_over_pushed(words, true, source));
	}
	ok(worst_span < 1.1, "spans take at most 1.1 of their bytes: %.3f", worst_span);
	ok(worst_array < 1.1, "and arrays: %.3f", worst_array);
	free(source);
}

int main(void)
{
	const struct reel_pool_options medium = {.slab_bytes = 1024};

	tap_begin();
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++)
		for (int reserve = 0; reserve < 2; reserve++) {
			spans_come_back(TINY, flags, reserve);
			spans_come_back(medium, flags, reserve);
		}
	tap_case("where spans lie");
	a_span_fills_the_rest_of_a_window();
	a_large_span_has_a_slab_of_its_own();
	a_large_slab_does_not_stay_for_small_values();
	spans_of_any_size_waste_little();
	nothing_is_pushed_by_reserving();
	tap_case("how long spans are readable");
	the_last_two_popped_stay_readable();
	the_last_two_stay_readable_over_an_empty_slab(false);
	the_last_two_stay_readable_over_an_empty_slab(true);
	popped_spans_stay_readable_in_a_hold();
	tap_case("too large, and not mirrored");
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++) {
		too_large_spans_are_refused(flags);
		too_large_arrays_are_refused(flags);
		sizes_that_wrap_are_refused(flags);
	}
	too_many_refusals_never_end();
	a_span_of_exabytes_is_refused();
	unmirrored_pops_of_too_much_are_errors();
	unmirrored_pops_of_aligned_spans_are_errors();
	unmirrored_pops_below_the_bottom_are_errors();
	tap_case("arrays");
	for (unsigned flags = 0; flags <= REEL_CHECKED; flags++) {
		arrays_come_back(TINY, flags);
		arrays_come_back(medium, flags);
		an_array_refused_midway_leaves_nothing(flags);
		arrays_past_the_cache_come_back(flags);
	}
	an_array_is_spread_over_slabs();
	an_array_refused_in_a_hold_leaves_nothing();
	no_elements_need_no_address();
	return tap_end();
}
