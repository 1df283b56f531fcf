/* SPDX-License-Identifier: MIT */
/*
 * A recording that is reversed for several seeds: by a reader for each seed, on one thread and on
 * two, and by one reader that carries the adjoints of four seeds.
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <reel/recording.h>

#include "common/bench.h"

#define SEEDS 16
#define TOGETHER 4
#define LARGE ((size_t)4 << 20)
#define QUICK ((size_t)1 << 20)

static reel_recording *recording;
static size_t rows;

static void demand(int error)
{
	if (!error)
		return;
	fprintf(stderr, "reel-bench: recording: %s\n", reel_error_text(error));
	exit(1);
}

static void record(void *context, size_t n)
{
	reel_tape tape = {0};

	(void)context;
	rows = n / BENCH_ROW;
	bench_push_rows(&tape, n);
	demand(reel_tape_freeze(&tape, &recording));
}

static void drop(void *context, size_t n)
{
	(void)context;
	(void)n;
	reel_recording_close(recording);
}

/*
 * Of x = asinh(x), element by element. The square root and the division take longer than the pop,
 * as in most programs, and serve all seeds.
 */
static void partials(double *restrict partial, const double *restrict x)
{
	for (size_t j = 0; j < BENCH_ROW; j++)
		partial[j] = 1 / sqrt(1 + x[j] * x[j]);
}

static void scale(double *restrict bar, const double *restrict partial)
{
	for (size_t j = 0; j < BENCH_ROW; j++)
		bar[j] *= partial[j];
}

static double reverse(unsigned first_seed, unsigned seeds)
{
	double bar[TOGETHER][BENCH_ROW], partial[BENCH_ROW];
	double sum = 0;
	reel_tape reader;

	for (unsigned s = 0; s < seeds; s++)
		for (size_t j = 0; j < BENCH_ROW; j++)
			bar[s][j] = (double)(first_seed + s + 1);
	demand(reel_reader_open(&reader, recording));
	for (size_t row = rows; row-- > 0;) {
		partials(partial, reel_pop_span(&reader, double, BENCH_ROW));
		for (unsigned s = 0; s < seeds; s++)
			scale(bar[s], partial);
	}
	demand(reel_tape_error(&reader));
	reel_tape_close(&reader);
	for (unsigned s = 0; s < seeds; s++)
		sum += bar[s][0];
	return sum;
}

static double run_seeds(void *context, size_t n)
{
	double sum = 0;

	(void)context;
	(void)n;
	for (unsigned seed = 0; seed < SEEDS; seed++)
		sum += reverse(seed, 1);
	return sum;
}

static void *reverse_half(void *sum)
{
	for (unsigned seed = 0; seed < SEEDS / 2; seed++)
		*(double *)sum += reverse(seed, 1);
	return NULL;
}

static double run_on_two_threads(void *context, size_t n)
{
	double sum[2] = {0};
	pthread_t other;

	(void)context;
	(void)n;
	if (pthread_create(&other, NULL, reverse_half, &sum[0]))
		abort();
	reverse_half(&sum[1]);
	pthread_join(other, NULL);
	return sum[0] + sum[1];
}

static double run_one(void *context, size_t n)
{
	(void)context;
	(void)n;
	return reverse(0, 1);
}

static double run_together(void *context, size_t n)
{
	(void)context;
	(void)n;
	return reverse(0, TOGETHER);
}

void bench_recording(void)
{
	static const struct measure_variant by_threads[] = {
		{.name = "one thread", .before = record, .run = run_seeds, .after = drop},
		{.name = "two threads", .before = record, .run = run_on_two_threads, .after = drop},
	};
	static const struct measure_variant in_one_pass[] = {
		{.name = "one seed", .before = record, .run = run_one, .after = drop},
		{.name = "four seeds", .before = record, .run = run_together, .after = drop},
	};
	static const struct bench_case cases[] = {
		{"recording/readers", by_threads, COUNT_OF(by_threads), 0, {QUICK, LARGE}, QUICK,
		 9},
		{"recording/seeds", in_one_pass, COUNT_OF(in_one_pass), 0, {QUICK, LARGE}, QUICK,
		 9},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		bench_run(&cases[i]);
}
