/* SPDX-License-Identifier: MIT */
/*
 * The cost of one double, pushed in a forward sweep and popped in the reverse
 * sweep: on Reel's tape and on the arrays and stacks that programs use in its
 * place.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/bench.h"

#define LARGEST ((size_t)100000000)
#define SLAB_VALUES 1024

/* ---- An array that is already there ---- */

static double *array;

static double run_array(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = 0; i < n; i++)
		array[i] = bench_value(i);
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, array[i]);
	return (double)mix;
}

/* The same without vectors, through a stack pointer in memory: a bare bump. */
struct bump {
	double *top;
};

static struct bump bump;

static double run_bump(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	bump.top = array;
	for (size_t i = 0; i < n; i++) {
		*bump.top++ = bench_value(i);
		__asm__ volatile("" ::"r"(&bump) : "memory");
	}
	for (size_t i = n; i-- > 0;) {
		mix = bench_mix(mix, *--bump.top);
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

static double run_doubling(void *context, size_t n)
{
	struct doubling stack = {0};
	uint64_t mix = 0;

	(void)context;
	for (size_t i = 0; i < n; i++)
		doubling_push(&stack, bench_value(i));
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, stack.values[--stack.count]);
	free(stack.values);
	return (double)mix;
}

/* ---- Linked slabs by malloc, freed as they are popped, under a lock ---- */

struct slab {
	struct slab *below;
	double values[SLAB_VALUES];
};

struct slabs {
	pthread_mutex_t lock;
	struct slab *slab;
	size_t count;
};

static void slabs_push(struct slabs *stack, double x)
{
	pthread_mutex_lock(&stack->lock);
	if (stack->count % SLAB_VALUES == 0) {
		struct slab *slab = malloc(sizeof *slab);

		if (!slab)
			abort();
		slab->below = stack->slab;
		stack->slab = slab;
	}
	stack->slab->values[stack->count++ % SLAB_VALUES] = x;
	pthread_mutex_unlock(&stack->lock);
}

static double slabs_pop(struct slabs *stack)
{
	double x;

	pthread_mutex_lock(&stack->lock);
	x = stack->slab->values[--stack->count % SLAB_VALUES];
	if (stack->count % SLAB_VALUES == 0) {
		struct slab *slab = stack->slab;

		stack->slab = slab->below;
		free(slab);
	}
	pthread_mutex_unlock(&stack->lock);
	return x;
}

static double run_slabs(void *context, size_t n)
{
	struct slabs stack = {.lock = PTHREAD_MUTEX_INITIALIZER};
	uint64_t mix = 0;

	(void)context;
	for (size_t i = 0; i < n; i++)
		slabs_push(&stack, bench_value(i));
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, slabs_pop(&stack));
	return (double)mix;
}

/* ---- Reel ---- */

static reel_tape tape;

static double run_single(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = 0; i < n; i++)
		reel_push(&tape, bench_value(i));
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, reel_pop(&tape, double));
	return (double)mix;
}

static double run_cursor(void *context, size_t n)
{
	(void)context;
	return (double)bench_sweep_cursor(&tape, n);
}

void bench_single(void)
{
	static const struct measure_variant variants[] = {
		{.name = "array, there already", .run = run_array},
		{.name = "bare bump pointer", .run = run_bump},
		{.name = "realloc, doubling", .run = run_doubling},
		{.name = "slabs by malloc, locked", .run = run_slabs},
		{.name = "reel push, pop", .run = run_single},
		{.name = "reel cursor", .run = run_cursor},
	};
	static const struct bench_case one = {
		"single/push+pop", variants, COUNT_OF(variants), 1,
		{1000, 10000, 100000, 1000000, 10000000, LARGEST}, 1000000, 9};

	if (!bench_wants(&one, 1))
		return;
	array = bench_memory((bench_is_quick() ? one.quick_largest : LARGEST) * sizeof *array);
	bench_run(&one);
	bench_memory_free(array,
			  (bench_is_quick() ? one.quick_largest : LARGEST) * sizeof *array);
	reel_tape_close(&tape);
}
