/* SPDX-License-Identifier: MIT */
/*
 * What one double costs on its way up and down again: pushed in a forward
 * sweep, popped in the reverse sweep, on Reel's tape and on what programs use in
 * its place. The first line of each size is the floor: an array that is already
 * there.
 */
#include "config.h"

#include <reel.h>

#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define LARGEST ((size_t)100000000)
#define ROW 512
#define SLAB_VALUES 1024

static double value(size_t i)
{
	return (double)(i & 0xffff) + 0.5;
}

/* What the reverse sweep does with a value: one cycle, where a sum would wait for four. */
static uint64_t mixed(uint64_t mix, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return mix ^ bits;
}

/* ---- An array that is already there ---- */

static double *array;

static double run_array(size_t n)
{
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++)
		array[i] = value(i);
	for (size_t i = n; i-- > 0;)
		mix = mixed(mix, array[i]);
	return (double)mix;
}

/* The same without vectors, through a stack pointer in memory: a bare bump. */
struct bump {
	double *top;
};

static struct bump bump;

__attribute__((noinline)) void bare_push(struct bump *stack, double x)
{
	*stack->top++ = x;
}

__attribute__((noinline)) double bare_pop(struct bump *stack)
{
	return *--stack->top;
}

static double run_bump(size_t n)
{
	uint64_t mix = 0;

	bump.top = array;
	for (size_t i = 0; i < n; i++) {
		*bump.top++ = value(i);
		__asm__ volatile("" ::"r"(&bump) : "memory");
	}
	for (size_t i = n; i-- > 0;) {
		mix = mixed(mix, *--bump.top);
		__asm__ volatile("" ::"r"(&bump) : "memory");
	}
	return (double)mix;
}

/* ---- realloc, doubling ---- */

struct doubling {
	double *values;
	size_t count;
	size_t room;
};

static void doubling_push(struct doubling *stack, double x)
{
	if (stack->count == stack->room) {
		stack->room = stack->room ? 2 * stack->room : 64;
		stack->values = realloc(stack->values, stack->room * sizeof(double));
		if (!stack->values)
			abort();
	}
	stack->values[stack->count++] = x;
}

static double run_doubling(size_t n)
{
	struct doubling stack = {0};
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++)
		doubling_push(&stack, value(i));
	for (size_t i = n; i-- > 0;)
		mix = mixed(mix, stack.values[--stack.count]);
	free(stack.values);
	return (double)mix;
}

/* ---- Linked slabs by malloc, freed as they are popped ---- */

struct slab {
	struct slab *below;
	double values[SLAB_VALUES];
};

struct slabs {
	struct slab *slab;
	size_t count;
};

static void slabs_push(struct slabs *stack, double x)
{
	if (stack->count % SLAB_VALUES == 0) {
		struct slab *slab = malloc(sizeof *slab);

		if (!slab)
			abort();
		slab->below = stack->slab;
		stack->slab = slab;
	}
	stack->slab->values[stack->count++ % SLAB_VALUES] = x;
}

static double slabs_pop(struct slabs *stack)
{
	double x = stack->slab->values[--stack->count % SLAB_VALUES];

	if (stack->count % SLAB_VALUES == 0) {
		struct slab *slab = stack->slab;

		stack->slab = slab->below;
		free(slab);
	}
	return x;
}

static double run_slabs(size_t n)
{
	struct slabs stack = {0};
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++)
		slabs_push(&stack, value(i));
	for (size_t i = n; i-- > 0;)
		mix = mixed(mix, slabs_pop(&stack));
	return (double)mix;
}

/* ---- Reel ---- */

static reel_tape tape;

__attribute__((noinline)) void tape_push(reel_tape *t, double x)
{
	reel_push(t, x);
}

__attribute__((noinline)) double tape_pop(reel_tape *t)
{
	return reel_pop(t, double);
}

static double run_single(size_t n)
{
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++)
		reel_push(&tape, value(i));
	for (size_t i = n; i-- > 0;)
		mix = mixed(mix, reel_pop(&tape, double));
	return (double)mix;
}

static double run_cursor(size_t n)
{
	reel_cursor cursor = reel_push_cursor(&tape);
	uint64_t mix = 0;
	double x;

	for (size_t i = 0; i < n; i++)
		cursor = reel_cursor_push(&tape, cursor, value(i));
	reel_cursor_close(&tape, cursor);
	cursor = reel_pop_cursor(&tape);
	for (size_t i = n; i-- > 0;) {
		cursor = reel_cursor_pop(&tape, cursor, &x);
		mix = mixed(mix, x);
	}
	reel_cursor_close(&tape, cursor);
	return (double)mix;
}

static size_t row_length(size_t n, size_t start)
{
	return n - start < ROW ? n - start : ROW;
}

static double run_span(size_t n)
{
	size_t rows = (n + ROW - 1) / ROW;
	uint64_t mix = 0;

	for (size_t row = 0; row < rows; row++) {
		size_t start = row * ROW, length = row_length(n, start);
		double *span = reel_push_span(&tape, double, length);

		if (!span)
			abort();
		for (size_t i = 0; i < length; i++)
			span[i] = value(start + i);
	}
	for (size_t row = rows; row-- > 0;) {
		size_t length = row_length(n, row * ROW);
		const double *span = reel_pop_span(&tape, double, length);

		if (!span)
			abort();
		for (size_t i = length; i-- > 0;)
			mix = mixed(mix, span[i]);
	}
	return (double)mix;
}

static const struct measure_variant variants[] = {
	{"array, there already", run_array, 0},
	{"bare bump pointer", run_bump, 0},
	{"realloc, doubling", run_doubling, 0},
	{"slabs by malloc", run_slabs, 0},
	{"reel push, pop", run_single, 0},
	{"reel cursor", run_cursor, 0},
	{"reel span of 512", run_span, 0},
};

#define VARIANTS (sizeof variants / sizeof variants[0])
#define BARE_BUMP 1

static void measure_size(FILE *json, size_t n)
{
	struct measure_result results[VARIANTS];
	unsigned rounds = n > 10000000 ? 5 : 15;

	measure_in_turns(variants, VARIANTS, n, rounds, results);
	measure_print(json, "push+pop", variants, VARIANTS, n, results, BARE_BUMP);
}

static int usage(FILE *stream)
{
	fputs("Usage: b-push [--quick] [--json FILE]\n"
	      "Push and pop a double, in ns a pair: Reel's tape against arrays and slabs.\n"
	      "  --quick      up to a million values only\n"
	      "  --json FILE  write a JSON line for each result, too\n",
	      stream);
	return stream == stderr ? 2 : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"quick", no_argument, NULL, 'q'},
						{"json", required_argument, NULL, 'j'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	size_t largest = LARGEST;
	FILE *json = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'q')
			largest = 1000000;
		else if (option == 'j' && (json = fopen(optarg, "w")) == NULL)
			return perror(optarg), 2;
		else if (option != 'j')
			return usage(option == 'h' ? stdout : stderr);
	}
	array = malloc(largest * sizeof *array);
	if (!array)
		return perror("b-push"), 1;
	memset(array, 1, largest * sizeof *array);
	printf("%-16s %-24s %11s %8s %8s %8s %7s\n", "case", "variant", "n", "median", "least",
	       "most", "ratio");
	for (size_t n = 1000; n <= largest; n *= 10)
		measure_size(json, n);
	free(array);
	reel_tape_close(&tape);
	return json && fclose(json) ? (perror("b-push"), 1) : 0;
}
