/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "measure.h"

/* Minimum number of values in a measurement. With a smaller n the task is repeated. */
#define VALUES_AT_LEAST ((size_t)2000000)

struct sample {
	double nanoseconds;
	double faults;
};

volatile double measure_sink;

double measure_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long faults_so_far(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static double seconds_of_one_run(const struct measure_variant *variant, size_t n)
{
	double start, end;

	if (variant->before)
		variant->before(variant->context, n);
	start = measure_seconds();
	measure_sink = variant->run(variant->context, n);
	end = measure_seconds();
	if (variant->after)
		variant->after(variant->context, n);
	return end - start;
}

/*
 * Returns the seconds of `repetitions` runs. If nothing has to be done between them, the clock is
 * read only before the first and after the last, so that the readings do not count.
 */
static double seconds_of(const struct measure_variant *variant, size_t n, size_t repetitions)
{
	double seconds = 0, start = measure_seconds();

	if (!variant->before && !variant->after) {
		for (size_t i = 0; i < repetitions; i++)
			measure_sink = variant->run(variant->context, n);
		return measure_seconds() - start;
	}
	for (size_t i = 0; i < repetitions; i++)
		seconds += seconds_of_one_run(variant, n);
	return seconds;
}

static struct sample take_sample(const struct measure_variant *variant, size_t n)
{
	size_t repetitions = n < VALUES_AT_LEAST ? VALUES_AT_LEAST / n : 1;
	long faults = faults_so_far();
	double seconds = seconds_of(variant, n, repetitions);

	return (struct sample){1e9 * seconds / (double)repetitions / (double)n,
			       (double)(faults_so_far() - faults) / (double)repetitions};
}

static int by_time(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;

	return (a->nanoseconds > b->nanoseconds) - (a->nanoseconds < b->nanoseconds);
}

static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

struct measure_result measure_summary(double *values, size_t count)
{
	qsort(values, count, sizeof *values, by_value);
	return (struct measure_result){.median = values[count / 2],
				       .lower = values[count / 4],
				       .upper = values[count - 1 - count / 4],
				       .most = values[count - 1]};
}

struct measure_result measure_once(double value)
{
	return (struct measure_result){
		.median = value, .lower = value, .upper = value, .most = value};
}

static int by_faults(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;

	return (a->faults > b->faults) - (a->faults < b->faults);
}

static struct measure_result summary(struct sample *samples, unsigned rounds)
{
	struct measure_result result;

	qsort(samples, rounds, sizeof *samples, by_faults);
	result.faults = samples[rounds / 2].faults;
	qsort(samples, rounds, sizeof *samples, by_time);
	result.median = samples[rounds / 2].nanoseconds;
	result.lower = samples[rounds / 4].nanoseconds;
	result.upper = samples[rounds - 1 - rounds / 4].nanoseconds;
	result.most = samples[rounds - 1].nanoseconds;
	return result;
}

void measure_in_turns(const struct measure_variant *variants, size_t count, size_t n,
		      unsigned rounds, struct measure_result *results)
{
	struct sample(*samples)[MEASURE_MAX_ROUNDS] = calloc(count, sizeof *samples);

	if (!samples || rounds > MEASURE_MAX_ROUNDS)
		abort();
	for (size_t v = 0; v < count; v++)
		seconds_of_one_run(&variants[v], n);
	for (unsigned round = 0; round < rounds; round++)
		for (size_t v = 0; v < count; v++)
			samples[v][round] = take_sample(&variants[v], n);
	for (size_t v = 0; v < count; v++)
		results[v] = summary(samples[v], rounds);
	free(samples);
}
