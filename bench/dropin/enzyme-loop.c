/* SPDX-License-Identifier: MIT */
/*
 * A loop that libreel-enzyme checkpoints, for measuring: a step takes a nanosecond for each byte of
 * the state, and its derivative as much again. bench/enzyme.sh runs it; the tests have the same
 * driver.
 *
 *	enzyme-loop --calibrate         prints the number of rounds of a step of 1 ns a byte
 *	enzyme-loop ROUNDS STEPS BYTES  runs the loop twice, and prints for each the seconds of both
 *	                                sweeps, the seconds that they waited for the store, and the
 *	                                bytes that were written and read
 *
 * REEL_PLAN, REEL_BUDGET and REEL_SPILL_DIR or REEL_STORE say the rest.
 */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/measure.h"
#include "helpers/enzyme-driver.h"

#include <reel/pool.h>

struct loop {
	struct driver driver;
	double *state, *bar;
	size_t length;
	unsigned rounds;
};

/* ---- The calculation ---- */

#define BLOCK 64 /* values that are in registers, or near */

/* x := x + (a - x) / 64, again and again: it stays near a. The number of rounds is the cost. */
static void relax(double *values, size_t length, double a, unsigned rounds)
{
	for (size_t first = 0; first + BLOCK <= length; first += BLOCK)
		for (unsigned round = 0; round < rounds; round++)
			for (size_t i = first; i < first + BLOCK; i++)
				values[i] += (a - values[i]) * 0.015625;
}

static void step(void *program, int64_t number)
{
	const struct loop *loop = program;

	relax(loop->state, loop->length, (double)(number % 7), loop->rounds);
}

/* Each step takes the adjoint by the same factor, so the derivative costs as much as the step. */
static void turn(void *program, int64_t number)
{
	const struct loop *loop = program;

	step(program, number);
	relax(loop->bar, loop->length, 0, loop->rounds);
}

/* Rounds of a step that takes 1 ns a byte: the median of many blocks of values. */
static unsigned calibrated_rounds(void)
{
	enum { LENGTH = 1 << 17, ROUNDS = 100, TRIALS = 31 };
	double *values = calloc(LENGTH, sizeof *values);
	double seconds[TRIALS];

	if (!values)
		abort();
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		double begin = measure_seconds();

		relax(values, LENGTH, trial, ROUNDS);
		seconds[trial] = measure_seconds() - begin;
	}
	measure_sink = values[0];
	free(values);
	return (unsigned)lround(ROUNDS * 1e-9 * LENGTH * sizeof *values /
				measure_summary(seconds, TRIALS).median);
}

/* ---- The loop ---- */

static struct region state_of(const struct loop *loop)
{
	return (struct region){.data = loop->state, .bytes = loop->driver.bytes};
}

static void store(void *program, int64_t slot, int64_t number)
{
	const struct driver *driver = &((struct loop *)program)->driver;
	struct region region = state_of(program);

	driver->table->store(driver->scheme, slot, number, &region, 1);
}

static void restore(void *program, int64_t slot, int64_t number)
{
	const struct driver *driver = &((struct loop *)program)->driver;
	struct region region = state_of(program);

	driver->table->restore(driver->scheme, slot, number, &region, 1);
}

/* Seconds of both sweeps, of their waits for the store, and bytes. */
struct figures {
	double forward, reverse, forward_stall, reverse_stall;
	uint64_t written, read;
};

static struct reel_pool_stats stats_now(void)
{
	struct reel_pool_stats stats;

	reel_pool_get_stats(reel_pool_default(), &stats);
	return stats;
}

static double seconds_of(uint64_t before, uint64_t after)
{
	return 1e-9 * (double)(after - before);
}

static struct figures run_loop(struct loop *loop)
{
	struct reel_pool_stats first = stats_now(), turned, last;
	double begin = measure_seconds(), middle, end;

	if (driver_forward(&loop->driver) != FIRSTUTURN)
		exit(EXIT_FAILURE);
	middle = measure_seconds();
	turned = stats_now();
	if (driver_reverse(&loop->driver) != DONE)
		exit(EXIT_FAILURE);
	end = measure_seconds();
	last = stats_now();
	loop->driver.table->finalize(loop->driver.scheme);
	return (struct figures){middle - begin, end - middle,
				seconds_of(first.stall_ns, turned.stall_ns),
				seconds_of(turned.stall_ns, last.stall_ns),
				last.written_bytes - first.written_bytes,
				last.read_bytes - first.read_bytes};
}

static int measure_loops(unsigned rounds, int64_t steps, size_t bytes)
{
	struct loop loop = {.state = calloc(1, bytes), .bar = calloc(1, bytes),
			    .length = bytes / sizeof(double), .rounds = rounds};

	if (!loop.state || !loop.bar)
		return EXIT_FAILURE;
	loop.driver = (struct driver){.table = &reel_enzyme_scheme, .bytes = bytes, .steps = steps,
				      .program = &loop, .step = step, .turn = turn,
				      .store = store, .restore = restore};
	relax(loop.state, loop.length, 1, 1);
	relax(loop.bar, loop.length, 1, 1);
	for (int i = 0; i < 2; i++) {
		struct figures figures = run_loop(&loop);

		printf("%.4f %.4f %.4f %.4f %llu %llu\n", figures.forward, figures.reverse,
		       figures.forward_stall, figures.reverse_stall,
		       (unsigned long long)figures.written, (unsigned long long)figures.read);
	}
	measure_sink = loop.bar[0] + loop.state[0];
	free(loop.state);
	free(loop.bar);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return printf("%u\n", calibrated_rounds()) < 0;
	if (argc != 4)
		return EXIT_FAILURE;
	return measure_loops((unsigned)strtoul(argv[1], NULL, 10), strtoll(argv[2], NULL, 10),
			    strtoul(argv[3], NULL, 10));
}
