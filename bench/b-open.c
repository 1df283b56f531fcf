/* SPDX-License-Identifier: MIT */
/* Opening and closing: of a tape in the default pool, and of a pool with a tape, for one value. */
#include "config.h"

#include <stdlib.h>

#include "common/bench.h"

#define ROUNDS 9

static uint64_t use(reel_tape *tape, size_t i)
{
	uint64_t mix;

	reel_push(tape, bench_value(i));
	mix = bench_mix(i, reel_pop(tape, double));
	reel_tape_close(tape);
	return mix;
}

static double run_tapes(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = 0; i < n; i++) {
		reel_tape tape = {0};

		mix ^= use(&tape, i);
	}
	return (double)mix;
}

static double run_pools(void *context, size_t n)
{
	uint64_t mix = 0;

	(void)context;
	for (size_t i = 0; i < n; i++) {
		reel_pool *pool;
		reel_tape tape;

		if (reel_pool_open(&pool, NULL) || reel_tape_open(&tape, pool, 0))
			abort();
		mix ^= use(&tape, i);
		reel_pool_close(pool);
	}
	return (double)mix;
}

void bench_open(void)
{
	static const struct measure_variant tapes = {.name = "reel tape", .run = run_tapes};
	static const struct measure_variant pools = {.name = "reel pool", .run = run_pools};
	static const struct bench_case cases[] = {
		{"open/tape", &tapes, 1, 0, {100000}, 100000, ROUNDS},
		{"open/pool", &pools, 1, 0, {1000}, 1000, ROUNDS},
	};

	for (size_t c = 0; c < COUNT_OF(cases); c++)
		bench_run(&cases[c]);
}
