/* SPDX-License-Identifier: MIT */
/* Tests that each type of value comes back bit for bit, at each place of the tape. */
#include <config.h>

#include <complex.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdalign.h>

#include "helpers/support.h"

/* Number of bytes of a long double that are a part of its value. */
#define LONG_DOUBLE_BYTES (LDBL_MANT_DIG == 64 ? (size_t)10 : sizeof(long double))

static double double_of(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

static float float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/*
 * Pushes all values, looks at each one and pops it. Then pushes and pops them by cursors. Compares
 * `bytes` of each value.
 */
#define ROUND_TRIP(tape, type, bytes, ...)                                                         \
	do {                                                                                       \
		const type values[] = {__VA_ARGS__};                                               \
		unsigned wrong = 0;                                                                \
		reel_cursor c;                                                                     \
                                                                                                   \
		for (size_t i = 0; i < COUNT(values); i++)                                         \
			reel_push(tape, values[i]);                                                \
		for (size_t i = COUNT(values); i-- > 0;) {                                         \
			type looked = reel_look(tape, type);                                       \
			type popped = reel_pop(tape, type);                                        \
			wrong += memcmp(&looked, &values[i], bytes) != 0;                          \
			wrong += memcmp(&popped, &values[i], bytes) != 0;                          \
		}                                                                                  \
		c = reel_push_cursor(tape);                                                        \
		for (size_t i = 0; i < COUNT(values); i++)                                         \
			c = reel_cursor_push(tape, c, values[i]);                                  \
		reel_cursor_close(tape, c);                                                        \
		c = reel_pop_cursor(tape);                                                         \
		for (size_t i = COUNT(values); i-- > 0;) {                                         \
			type popped;                                                               \
			c = reel_cursor_pop(tape, c, &popped);                                     \
			wrong += memcmp(&popped, &values[i], bytes) != 0;                          \
		}                                                                                  \
		reel_cursor_close(tape, c);                                                        \
		is_int(wrong, 0, "all values of type %s come back", #type);                        \
	} while (0)

static void scalars_come_back(reel_tape *tape)
{
	ROUND_TRIP(tape, char, 1, CHAR_MIN, 0, 'x', CHAR_MAX);
	ROUND_TRIP(tape, signed char, 1, SCHAR_MIN, -1, 0, SCHAR_MAX);
	ROUND_TRIP(tape, unsigned char, 1, 0, 1, UCHAR_MAX);
	ROUND_TRIP(tape, short, sizeof(short), SHRT_MIN, -1, 0, SHRT_MAX);
	ROUND_TRIP(tape, unsigned short, sizeof(short), 0, 1, USHRT_MAX);
	ROUND_TRIP(tape, int, sizeof(int), INT_MIN, -1, 0, INT_MAX);
	ROUND_TRIP(tape, unsigned int, sizeof(int), 0, 1, UINT_MAX);
	ROUND_TRIP(tape, long, sizeof(long), LONG_MIN, -1, 0, LONG_MAX);
	ROUND_TRIP(tape, unsigned long, sizeof(long), 0, 1, ULONG_MAX);
	ROUND_TRIP(tape, long long, sizeof(long long), LLONG_MIN, -1, 0, LLONG_MAX);
	ROUND_TRIP(tape, unsigned long long, sizeof(long long), 0, 1, ULLONG_MAX);
	ROUND_TRIP(tape, float, sizeof(float), 0.0f, -0.0f, FLT_MIN, -FLT_MAX, FLT_TRUE_MIN,
		   INFINITY, -INFINITY, float_of(0x7fc12345), float_of(0xffedcba9));
	ROUND_TRIP(tape, double, sizeof(double), 0.0, -0.0, DBL_MIN, -DBL_MAX, DBL_TRUE_MIN,
		   (double)INFINITY, -(double)INFINITY, double_of(0x7ff8123456789abc),
		   double_of(0xfffedcba98765432));
	ROUND_TRIP(tape, long double, LONG_DOUBLE_BYTES, 0.0L, -0.0L, LDBL_MIN, -LDBL_MAX,
		   LDBL_TRUE_MIN, LDBL_EPSILON, (long double)INFINITY, 1.0L / 3.0L);
}

/* A complex number has the layout of two real numbers; not all systems have CMPLX(). */
#define COMPLEX_OF(name, type)                                                                     \
	static type _Complex name(type real, type imaginary)                                       \
	{                                                                                          \
		type parts[2] = {real, imaginary};                                                 \
		type _Complex z;                                                                   \
                                                                                                   \
		memcpy(&z, parts, sizeof z);                                                       \
		return z;                                                                          \
	}

COMPLEX_OF(complex_float, float)
COMPLEX_OF(complex_double, double)
COMPLEX_OF(complex_long_double, long double)

static void complex_numbers_come_back(reel_tape *tape)
{
	ROUND_TRIP(tape, float _Complex, sizeof(float _Complex), complex_float(FLT_MIN, -FLT_MAX),
		   complex_float(-0.0f, 0.0f), complex_float(float_of(0x7fc12345), -INFINITY));
	ROUND_TRIP(tape, double _Complex, sizeof(double _Complex),
		   complex_double(DBL_MIN, -DBL_MAX), complex_double(-0.0, 0.0),
		   complex_double(double_of(0x7ff8123456789abc), -(double)INFINITY));
}

static void long_complex_numbers_come_back(reel_tape *tape)
{
	static const long double parts[][2] = {
		{LDBL_MIN, -LDBL_MAX}, {-0.0L, 0.0L}, {0.3333333333333333333333L, LDBL_EPSILON}};
	/* An emulator may compute with fewer bits. */
	volatile long double one = 1;
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(parts); i++)
		reel_push(tape, complex_long_double(parts[i][0], parts[i][1]));
	for (size_t i = COUNT(parts); i-- > 0;) {
		long double _Complex popped = reel_pop(tape, long double _Complex);
		long double real = creall(popped), imaginary = cimagl(popped);

		wrong += memcmp(&real, &parts[i][0], LONG_DOUBLE_BYTES) != 0;
		wrong += memcmp(&imaginary, &parts[i][1], LONG_DOUBLE_BYTES) != 0;
	}
	one += LDBL_EPSILON;
	if (one == 1)
		tap_skip(1, "long doubles have fewer bits here than the compiler says");
	else
		is_int(wrong, 0, "all values of type long double _Complex come back");
}

static void bools_are_bits(reel_tape *tape)
{
	uint64_t before = reel_tape_bytes(tape);
	bool looked, first, second;

	reel_push(tape, (bool)true);
	reel_push(tape, (bool)false);
	is_int(reel_tape_bytes(tape), before, "bools take no bytes of their own");
	first = reel_pop(tape, bool);
	looked = reel_look(tape, bool);
	second = reel_pop(tape, bool);
	ok(!first && looked && second, "bools come back");
}

static void pointers_come_back(reel_tape *tape)
{
	static const double array[3];
	char text[] = "text";

	reel_push(tape, &array[2]);
	reel_push(tape, text);
	reel_push(tape, (void *)tape);
	reel_push(tape, (int *)NULL);
	is_pointer(reel_look(tape, int *), NULL, "NULL, looked at");
	is_pointer(reel_pop(tape, int *), NULL, "NULL");
	is_pointer(reel_pop(tape, void *), tape, "a pointer to void");
	is_pointer(reel_pop(tape, char *), text, "an array's name");
	is_pointer(reel_pop(tape, const double *), &array[2], "a pointer to const");
}

static void types_are_the_values_own(reel_tape *tape)
{
	const double constant = 2.5;
	volatile short moody = -7;
	enum { SEVENTEEN = 17 };

	reel_push(tape, 'c');
	reel_push(tape, moody);
	reel_push(tape, constant);
	reel_push(tape, SEVENTEEN);
	is_int(reel_pop(tape, int), SEVENTEEN, "an enumeration constant is an int");
	is_double(reel_pop(tape, double), 2.5, "a const double is a double");
	is_int(reel_pop(tape, short), -7, "a volatile short is a short");
	is_int(reel_pop(tape, int), 'c', "a character constant is an int");
	is_int(reel_tape_error(tape), 0, "promoted types leave no error");
}

static void all_types_at(unsigned words, unsigned flags, const char *place)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, flags);

	tap_case(place);
	push_words(&tape, 0, words);
	scalars_come_back(&tape);
	complex_numbers_come_back(&tape);
	long_complex_numbers_come_back(&tape);
	bools_are_bits(&tape);
	pointers_come_back(&tape);
	types_are_the_values_own(&tape);
	is_int(wrong_words(&tape, 0, words), 0, "the values below come back");
	reel_tape_close(&tape);
	close_pool(pool, place);
}

/* ---- Records ---- */

#define SIZES(X)                                                                                   \
	X(1) X(2) X(3) X(4) X(5) X(7) X(8) X(9) X(12) X(15) X(16) X(17) X(24) X(31) X(32) X(33)    \
	X(40) X(56) X(63) X(64) X(65) X(100) X(120) X(121) X(127) X(128) X(129) X(136) X(200)      \
	X(255) X(256) X(257) X(511) X(512) X(513) X(1000) X(1024) X(2047) X(2048) X(4095) X(4096)

/* Defines a record, and a function that counts wrong ones: popped, looked at, by cursor. */
#define RECORD_OF(size, alignment)                                                                 \
	struct record_##size##_##alignment {                                                       \
		alignas(alignment) unsigned char bytes[size];                                      \
	};                                                                                         \
	REEL_RECORD(record_##size##_##alignment, struct record_##size##_##alignment);              \
                                                                                                   \
	static unsigned wrong_of_##size##_##alignment(reel_tape *tape)                             \
	{                                                                                          \
		struct record_##size##_##alignment x;                                              \
		unsigned wrong = 0;                                                                \
		reel_cursor c;                                                                     \
                                                                                                   \
		for (unsigned i = 0; i < 5; i++) {                                                 \
			fill(x.bytes, size, i);                                                    \
			reel_push_record(tape, record_##size##_##alignment, x);                    \
		}                                                                                  \
		c = reel_push_cursor(tape);                                                        \
		for (unsigned i = 5; i < 9; i++) {                                                 \
			fill(x.bytes, size, i);                                                    \
			c = reel_cursor_push_record(tape, c, record_##size##_##alignment, x);      \
		}                                                                                  \
		reel_cursor_close(tape, c);                                                        \
		for (unsigned i = 9; i-- > 4;) {                                                   \
			x = reel_look_record(tape, record_##size##_##alignment);                   \
			wrong += !is_filled(x.bytes, size, i);                                     \
			x = reel_pop_record(tape, record_##size##_##alignment);                    \
			wrong += !is_filled(x.bytes, size, i);                                     \
		}                                                                                  \
		c = reel_pop_cursor(tape);                                                         \
		for (unsigned i = 4; i-- > 0;) {                                                   \
			c = reel_cursor_pop_record(tape, c, record_##size##_##alignment, &x);      \
			wrong += !is_filled(x.bytes, size, i);                                     \
		}                                                                                  \
		reel_cursor_close(tape, c);                                                        \
		return wrong;                                                                      \
	}

#define RECORD_OF_SIZE(size) RECORD_OF(size, 1)
SIZES(RECORD_OF_SIZE)
RECORD_OF(16, 16)
RECORD_OF(48, 16)
RECORD_OF(32, 32)
RECORD_OF(96, 32)
RECORD_OF(64, 64)
RECORD_OF(192, 64)

static const struct {
	const char *name;
	unsigned (*wrong)(reel_tape *tape);
} records[] = {
#define NAMED(size, alignment)                                                                     \
	{#size " bytes aligned to " #alignment, wrong_of_##size##_##alignment},
#define NAMED_SIZE(size) NAMED(size, 1)
	SIZES(NAMED_SIZE)
	NAMED(16, 16)
	NAMED(48, 16)
	NAMED(32, 32)
	NAMED(96, 32)
	NAMED(64, 64)
	NAMED(192, 64)
};

static void records_come_back(struct reel_pool_options options, unsigned flags, const char *where)
{
	reel_pool *pool = open_pool(options);

	tap_case(where);
	for (size_t i = 0; i < COUNT(records); i++) {
		unsigned wrong = 0;

		for (unsigned words = 0; words < 40; words += 3) {
			reel_tape tape = open_tape(pool, flags);

			push_words(&tape, 0, words);
			wrong += records[i].wrong(&tape);
			wrong += wrong_words(&tape, 0, words);
			wrong += reel_tape_error(&tape) != 0 || !reel_tape_is_empty(&tape);
			reel_tape_close(&tape);
		}
		is_int(wrong, 0, "records of %s come back", records[i].name);
	}
	close_pool(pool, where);
}

/* ---- Limits ---- */

/*
 * Returns the number of slabs of a tape with `words` words: they fill the struct, four slabs of 8
 * words, and then slabs of 16 words.
 */
static unsigned slabs_for(unsigned words)
{
	unsigned inline_and_first = INLINE_WORDS + 4 * 8;

	if (words <= INLINE_WORDS)
		return 0;
	if (words <= inline_and_first)
		return (words - INLINE_WORDS + 7) / 8;
	return 4 + (words - inline_and_first + 15) / 16;
}

static void windows_are_filled_to_the_last_word(void)
{
	reel_pool *pool = open_pool(TINY);
	unsigned misplaced = 0, wrong = 0;

	for (unsigned words = 0; words < 150; words++) {
		reel_tape tape = open_tape(pool, 0);

		push_words(&tape, 0, words);
		misplaced += slabs_in_use(pool) != slabs_for(words);
		wrong += wrong_words(&tape, 0, words);
		reel_tape_close(&tape);
	}
	is_int(misplaced, 0, "a slab is taken when the last one is full, not before");
	is_int(wrong, 0, "nothing is lost at the limits");
	close_pool(pool, "windows were filled");
}

/* 64 bytes fill a first slab, of which two make a slab; 128 bytes fill a slab. */
static void a_record_may_fill_a_slab(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	struct reel_pool_stats stats;

	push_words(&tape, 0, INLINE_WORDS);
	reel_push_span(&tape, char, 64);
	reel_push_span(&tape, char, 64);
	reel_pool_get_stats(pool, &stats);
	is_int(stats.slabs_in_use, 2, "two records of a first slab's size take two");
	is_int(stats.resident_bytes, 128, "two records are the pieces of one slab");
	reel_push_span(&tape, char, 128);
	reel_pool_get_stats(pool, &stats);
	is_int(stats.resident_bytes, 256, "one of a slab's size takes a slab");
	reel_tape_close(&tape);
	close_pool(pool, "slabs were filled by one record each");
}

static void up_and_down_at_a_limit(void)
{
	reel_pool *pool = open_pool(TINY);
	unsigned wrong = 0;

	for (unsigned words = INLINE_WORDS - 1; words < 70; words++) {
		reel_tape tape = open_tape(pool, 0);

		push_words(&tape, 0, words);
		for (unsigned i = 0; i < 10; i++) {
			push_words(&tape, words, words + 2);
			wrong += wrong_words(&tape, words - 1, words + 2);
			push_words(&tape, words - 1, words);
		}
		wrong += wrong_words(&tape, 0, words);
		reel_tape_close(&tape);
	}
	is_int(wrong, 0, "going up and down at any place loses nothing");
	close_pool(pool, "going up and down");
}

static void a_look_leaves_the_value(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_tape tape = open_tape(pool, 0);
	unsigned wrong = 0;

	push_words(&tape, 0, 100);
	for (unsigned i = 100; i-- > 0;) {
		for (unsigned again = 0; again < 3; again++)
			wrong += reel_look(&tape, uint64_t) != scramble(i);
		wrong += reel_tape_bytes(&tape) != 8 * (i + 1);
		wrong += reel_pop(&tape, uint64_t) != scramble(i);
	}
	is_int(wrong, 0, "looked at thrice, also from the slab above, a value is still there");
	reel_tape_close(&tape);
	close_pool(pool, "looking");
}

/* The functions of REEL_RECORD also use this name, which is a warning and no error. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"

typedef struct {
	int x, tape, slot;
} call_site;

REEL_RECORD(top, call_site);

#pragma GCC diagnostic pop

static void a_type_may_have_any_name(void)
{
	reel_tape tape = {0};
	call_site seen;

	reel_push_record(&tape, top, (call_site){1, 2, 3});
	seen = reel_pop_record(&tape, top);
	ok(seen.x == 1 && seen.tape == 2 && seen.slot == 3, "a type may have any name");
	reel_tape_close(&tape);
}

int main(void)
{
	tap_begin();
	all_types_at(0, 0, "all types in the struct and beyond");
	all_types_at(77, 0, "all types in slabs");
	all_types_at(0, REEL_CHECKED, "all types in checked mode");
	records_come_back(TINY, 0, "records in tiny slabs");
	records_come_back((struct reel_pool_options){.slab_bytes = 1024}, 0, "records in slabs");
	records_come_back(TINY, REEL_CHECKED, "records in checked mode");
	tap_case("limits");
	windows_are_filled_to_the_last_word();
	a_record_may_fill_a_slab();
	up_and_down_at_a_limit();
	a_look_leaves_the_value();
	a_type_may_have_any_name();
	return tap_end();
}
