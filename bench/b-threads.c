/* SPDX-License-Identifier: MIT */
/* Two threads with an array each, and with a tape each: they share memory's bandwidth only. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/bench.h"

#define THREADS 2
#define LARGE ((size_t)32 << 20)
#define QUICK ((size_t)4 << 20)

struct share {
	double *array;
	reel_tape tape;
	size_t n;
	uint64_t mix;
	/* So that two shares have no cache line, or pair of lines, in common. */
	char distance[128];
};

static struct share shares[THREADS];

static void *use_array(void *argument)
{
	struct share *share = argument;

	for (size_t i = 0; i < share->n; i++)
		share->array[i] = bench_value(i);
	for (size_t i = share->n; i-- > 0;)
		share->mix = bench_mix(share->mix, share->array[i]);
	return NULL;
}

static void *use_tape(void *argument)
{
	struct share *share = argument;

	bench_push_rows(&share->tape, share->n);
	share->mix = bench_pop_rows(&share->tape, share->n);
	return NULL;
}

static double run_threads(void *(*use)(void *), size_t n)
{
	pthread_t threads[THREADS];

	for (int t = 0; t < THREADS; t++) {
		shares[t].n = n / THREADS;
		if (pthread_create(&threads[t], NULL, use, &shares[t]))
			abort();
	}
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	return (double)(shares[0].mix ^ shares[1].mix);
}

static double run_arrays(void *context, size_t n)
{
	(void)context;
	return run_threads(use_array, n);
}

static double run_tapes(void *context, size_t n)
{
	(void)context;
	return run_threads(use_tape, n);
}

void bench_threads(void)
{
	static const struct measure_variant variants[] = {
		{.name = "an array each", .run = run_arrays},
		{.name = "a reel tape each", .run = run_tapes},
	};
	static const struct bench_case one = {
		"threads/two", variants, COUNT_OF(variants), 0, {QUICK, LARGE}, QUICK, 9};

	if (!bench_wants(&one, 1))
		return;
	for (int t = 0; t < THREADS; t++)
		shares[t].array = bench_memory(LARGE / THREADS * sizeof(double));
	bench_run(&one);
	for (int t = 0; t < THREADS; t++) {
		bench_memory_free(shares[t].array, LARGE / THREADS * sizeof(double));
		reel_tape_close(&shares[t].tape);
	}
}
