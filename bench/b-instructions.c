/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a push and of a pop in each shape, in loops that do
 * nothing else. They include the loop's own three, and for a pop the instructions that
 * fold each double into one word. A bare pointer in the tape's place has the same loops.
 */
#include "config.h"

#include <stdio.h>

#include "common/bench.h"
#include "common/count.h"

#define MAX_VARIANTS 4
#define VALUES ((size_t)64)
#define ROW_VALUES (2 * BENCH_ROW)

struct quad {
	double a, b, c, d;
};

REEL_RECORD(quad, struct quad);

static const double double_value = 1.25;
static const struct quad quad_value = {1.25, 2.5, 3.75, 5};

static reel_tape tape;
static double array[2 * ROW_VALUES];

static struct {
	char *top;
} bump;

/*
 * Between two values the compiler knows neither the counter nor the contents of
 * memory: it can neither unroll the loop nor keep the tape in registers, as if
 * the program had called a function of its own there.
 */
static inline size_t next(size_t i)
{
	i--;
	__asm__ volatile("" : "+r"(i) : : "memory");
	return i;
}

static inline uint64_t mixed_double(uint64_t mix, double x)
{
	return bench_mix(mix, x);
}

static inline uint64_t mixed_quad(uint64_t mix, struct quad x)
{
	return bench_mix(bench_mix(bench_mix(bench_mix(mix, x.a), x.b), x.c), x.d);
}

/* The loops over values of a type, through a bare pointer in memory or in a register. */
#define BARE_LOOPS(name, type)                                                                     \
	static double name##_push_memory(void *context, size_t n)                                  \
	{                                                                                          \
		(void)context;                                                                     \
		bump.top = (char *)array;                                                          \
		for (size_t i = n; i > 0; i = next(i)) {                                           \
			*(type *)(void *)bump.top = name##_value;                                  \
			bump.top += sizeof(type);                                                  \
		}                                                                                  \
		return array[0];                                                                   \
	}                                                                                          \
                                                                                                   \
	static double name##_pop_memory(void *context, size_t n)                                   \
	{                                                                                          \
		uint64_t mix = 0;                                                                  \
                                                                                                   \
		(void)context;                                                                     \
		bump.top = (char *)array + n * sizeof(type);                                       \
		for (size_t i = n; i > 0; i = next(i)) {                                           \
			bump.top -= sizeof(type);                                                  \
			mix = mixed_##name(mix, *(type *)(void *)bump.top);                        \
		}                                                                                  \
		return (double)mix;                                                                \
	}                                                                                          \
                                                                                                   \
	static double name##_push_register(void *context, size_t n)                                \
	{                                                                                          \
		type *top = (type *)(void *)array;                                                 \
                                                                                                   \
		(void)context;                                                                     \
		for (size_t i = n; i > 0; i = next(i))                                             \
			*top++ = name##_value;                                                     \
		return array[0];                                                                   \
	}                                                                                          \
                                                                                                   \
	static double name##_pop_register(void *context, size_t n)                                 \
	{                                                                                          \
		const type *top = (type *)(void *)array + n;                                       \
		uint64_t mix = 0;                                                                  \
                                                                                                   \
		(void)context;                                                                     \
		for (size_t i = n; i > 0; i = next(i))                                             \
			mix = mixed_##name(mix, *--top);                                           \
		return (double)mix;                                                                \
	}

/* The same on the tape, one by one and through a cursor. */
#define TAPE_LOOPS(name, type)                                                                     \
	static double name##_push(void *context, size_t n)                                         \
	{                                                                                          \
		(void)context;                                                                     \
		for (size_t i = n; i > 0; i = next(i))                                             \
			reel_push_record(&tape, name, name##_value);                               \
		return (double)reel_tape_bytes(&tape);                                             \
	}                                                                                          \
                                                                                                   \
	static double name##_pop(void *context, size_t n)                                          \
	{                                                                                          \
		uint64_t mix = 0;                                                                  \
                                                                                                   \
		(void)context;                                                                     \
		for (size_t i = n; i > 0; i = next(i))                                             \
			mix = mixed_##name(mix, reel_pop_record(&tape, name));                     \
		return (double)mix;                                                                \
	}                                                                                          \
                                                                                                   \
	static double name##_push_cursor(void *context, size_t n)                                  \
	{                                                                                          \
		reel_cursor cursor = reel_push_cursor(&tape);                                      \
                                                                                                   \
		(void)context;                                                                     \
		for (size_t i = n; i > 0; i = next(i))                                             \
			cursor = reel_cursor_push_record(&tape, cursor, name, name##_value);       \
		reel_cursor_close(&tape, cursor);                                                  \
		return (double)reel_tape_bytes(&tape);                                             \
	}                                                                                          \
                                                                                                   \
	static double name##_pop_cursor(void *context, size_t n)                                   \
	{                                                                                          \
		reel_cursor cursor = reel_pop_cursor(&tape);                                       \
		uint64_t mix = 0;                                                                  \
		type value;                                                                        \
                                                                                                   \
		(void)context;                                                                     \
		for (size_t i = n; i > 0; i = next(i)) {                                           \
			cursor = reel_cursor_pop_record(&tape, cursor, name, &value);              \
			mix = mixed_##name(mix, value);                                            \
		}                                                                                  \
		reel_cursor_close(&tape, cursor);                                                  \
		return (double)mix;                                                                \
	}                                                                                          \
                                                                                                   \
	static void name##_fill(void *context, size_t n)                                           \
	{                                                                                          \
		name##_push(context, n);                                                           \
	}

BARE_LOOPS(double, double)
TAPE_LOOPS(double, double)
BARE_LOOPS(quad, struct quad)
TAPE_LOOPS(quad, struct quad)

/* ---- Rows, which may become vectors ---- */

static double row_push_memory(void *context, size_t n)
{
	(void)context;
	for (size_t start = 0; start < n; start += BENCH_ROW)
		for (size_t i = 0; i < BENCH_ROW; i++)
			array[start + i] = bench_value(i);
	return array[n / 2];
}

static double row_pop_memory(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t start = n; start > 0; start -= BENCH_ROW)
		for (size_t i = BENCH_ROW; i-- > 0;)
			mix = bench_mix(mix, array[start - BENCH_ROW + i]);
	return (double)mix;
}

static double row_push(void *context, size_t n)
{
	(void)context;
	bench_push_rows(&tape, n);
	return (double)reel_tape_bytes(&tape);
}

static double row_pop(void *context, size_t n)
{
	(void)context;
	return (double)bench_pop_rows(&tape, n);
}

static void row_fill(void *context, size_t n)
{
	row_push(context, n);
}

/* ---- Bits ---- */

static double bit_push(void *context, size_t n)
{
	(void)context;
	for (size_t i = n; i > 0; i = next(i))
		reel_push_bit(&tape, true);
	return (double)reel_tape_bytes(&tape);
}

static double bit_pop(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = n; i > 0; i = next(i))
		mix ^= reel_pop_bit(&tape);
	return (double)mix;
}

static void bit_fill(void *context, size_t n)
{
	bit_push(context, n);
}

/* Afterwards the pool is open, and no function has to be looked up any more. */
static void run_once(const struct measure_variant *variant, size_t n)
{
	if (variant->before)
		variant->before(variant->context, n);
	measure_sink = variant->run(variant->context, n);
	reel_tape_close(&tape);
}

static void count(const struct bench_case *one)
{
	struct measure_result results[MAX_VARIANTS];

	if (!bench_starts(one))
		return;
	for (size_t v = 0; v < one->count; v++) {
		double instructions;

		run_once(&one->variants[v], one->sizes[0]);
		instructions = count_instructions(&one->variants[v], one->sizes[0]);
		if (instructions < 0) {
			fprintf(stderr, "reel-bench: %s: this system lets no process be stepped\n",
				one->name);
			return;
		}
		results[v] = measure_once(instructions);
	}
	bench_report(one, one->sizes[0], "instructions/value", results);
}

#define PUSHES(shape)                                                                              \
	{                                                                                          \
		{.name = "pointer in memory", .run = shape##_push_memory},                         \
		{.name = "pointer in register", .run = shape##_push_register},                     \
		{.name = "reel push", .run = shape##_push},                                        \
		{.name = "reel cursor", .run = shape##_push_cursor},                               \
	}

#define POPS(shape)                                                                                \
	{                                                                                          \
		{.name = "pointer in memory", .run = shape##_pop_memory},                          \
		{.name = "pointer in register", .run = shape##_pop_register},                      \
		{.name = "reel pop", .run = shape##_pop, .before = shape##_fill},                  \
		{.name = "reel cursor", .run = shape##_pop_cursor, .before = shape##_fill},        \
	}

void bench_instructions(void)
{
	static const struct measure_variant double_pushes[] = PUSHES(double);
	static const struct measure_variant double_pops[] = POPS(double);
	static const struct measure_variant quad_pushes[] = PUSHES(quad);
	static const struct measure_variant quad_pops[] = POPS(quad);
	static const struct measure_variant row_pushes[] = {
		{.name = "array", .run = row_push_memory},
		{.name = "reel span", .run = row_push},
	};
	static const struct measure_variant row_pops[] = {
		{.name = "array", .run = row_pop_memory},
		{.name = "reel span", .run = row_pop, .before = row_fill},
	};
	static const struct measure_variant bit_pushes = {.name = "reel bit", .run = bit_push};
	static const struct measure_variant bit_pops = {
		.name = "reel bit", .run = bit_pop, .before = bit_fill};
#define CASE(case_name, case_variants, variant_count, n)                                           \
	{.name = "instructions/" case_name, .variants = (case_variants),                           \
	 .count = (variant_count), .sizes = {n}, .quick_largest = (n)}
	static const struct bench_case cases[] = {
		CASE("double/push", double_pushes, 4, VALUES),
		CASE("double/pop", double_pops, 4, VALUES),
		CASE("record/push", quad_pushes, 4, VALUES),
		CASE("record/pop", quad_pops, 4, VALUES),
		CASE("span/push", row_pushes, 2, ROW_VALUES),
		CASE("span/pop", row_pops, 2, ROW_VALUES),
		CASE("bit/push", &bit_pushes, 1, VALUES),
		CASE("bit/pop", &bit_pops, 1, VALUES),
	};

	for (size_t c = 0; c < COUNT_OF(cases); c++)
		count(&cases[c]);
}
