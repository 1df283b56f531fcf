/* SPDX-License-Identifier: MIT */
/* Records of four doubles in a loop, through a cursor, against a bare bump pointer. */
#include "config.h"

#include "common/bench.h"

struct spring {
	double x, y, length, force;
};

REEL_RECORD(spring, struct spring);

#define IN_CACHE ((size_t)32 << 10)
#define LARGE ((size_t)16 << 20)
#define FIELDS 4

static struct spring *array;
static reel_tape tape;

static struct spring spring_of(size_t i)
{
	double x = bench_value(i);

	return (struct spring){x, x + 1, x + 2, x + 3};
}

static uint64_t mixed(uint64_t mix, struct spring s)
{
	return bench_mix(bench_mix(bench_mix(bench_mix(mix, s.x), s.y), s.length), s.force);
}

static double push_bare(void *context, size_t n)
{
	struct spring *top = array;

	(void)context;
	for (size_t i = 0; i < n / FIELDS; i++) {
		*top++ = spring_of(i);
		/* The top is kept, but its loop does not become one over an array. */
		__asm__ volatile("" : "+r"(top));
	}
	return top[-1].x;
}

static double pop_bare(void *context, size_t n)
{
	struct spring *top = array + n / FIELDS;
	uint64_t mix = 0;

	(void)context;
	for (size_t i = n / FIELDS; i-- > 0;) {
		mix = mixed(mix, *--top);
		__asm__ volatile("" : "+r"(top));
	}
	return (double)mix;
}

static double push_cursor(void *context, size_t n)
{
	reel_cursor cursor = reel_push_cursor(&tape);

	(void)context;
	for (size_t i = 0; i < n / FIELDS; i++)
		cursor = reel_cursor_push_record(&tape, cursor, spring, spring_of(i));
	reel_cursor_close(&tape, cursor);
	return (double)reel_tape_bytes(&tape);
}

static double pop_cursor(void *context, size_t n)
{
	reel_cursor cursor = reel_pop_cursor(&tape);
	struct spring s;
	uint64_t mix = 0;

	(void)context;
	for (size_t i = n / FIELDS; i-- > 0;) {
		cursor = reel_cursor_pop_record(&tape, cursor, spring, &s);
		mix = mixed(mix, s);
	}
	reel_cursor_close(&tape, cursor);
	return (double)mix;
}

static double push_struct(void *context, size_t n)
{
	(void)context;
	for (size_t i = 0; i < n / FIELDS; i++)
		reel_push_record(&tape, spring, spring_of(i));
	return (double)reel_tape_bytes(&tape);
}

static double pop_struct(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = n / FIELDS; i-- > 0;)
		mix = mixed(mix, reel_pop_record(&tape, spring));
	return (double)mix;
}

static void fill(void *context, size_t n)
{
	push_cursor(context, n);
}

static void drain(void *context, size_t n)
{
	pop_cursor(context, n);
}

void bench_record(void)
{
	static const struct measure_variant push[] = {
		{.name = "bare bump pointer", .run = push_bare},
		{.name = "reel cursor", .run = push_cursor, .after = drain},
		{.name = "reel record", .run = push_struct, .after = drain},
	};
	static const struct measure_variant pop[] = {
		{.name = "bare bump pointer", .run = pop_bare},
		{.name = "reel cursor", .run = pop_cursor, .before = fill},
		{.name = "reel record", .run = pop_struct, .before = fill},
	};
	static const struct bench_case cases[] = {
		{"record/push", push, 3, 0, {IN_CACHE, LARGE}, LARGE, 15},
		{"record/pop", pop, 3, 0, {IN_CACHE, LARGE}, LARGE, 15},
	};

	if (!bench_wants(cases, COUNT_OF(cases)))
		return;
	array = bench_memory(LARGE * sizeof(double));
	for (size_t c = 0; c < COUNT_OF(cases); c++)
		bench_run(&cases[c]);
	reel_tape_close(&tape);
	bench_memory_free(array, LARGE * sizeof(double));
}
