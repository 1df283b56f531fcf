/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "measure.h"

#define MOST_ROUNDS 64
/* So many values make one measurement, by repetition where n is smaller. */
#define VALUES_AT_LEAST ((size_t)4000000)

volatile double measure_sink;

double measure_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double nanoseconds_per_value(const struct measure_variant *variant, size_t n)
{
	size_t repetitions = n < VALUES_AT_LEAST ? VALUES_AT_LEAST / n : 1;
	double start = measure_seconds();

	for (size_t i = 0; i < repetitions; i++)
		measure_sink = variant->run(n);
	return 1e9 * (measure_seconds() - start) / (double)repetitions / (double)n;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static struct measure_result summary(double *times, unsigned rounds)
{
	qsort(times, rounds, sizeof *times, compare);
	return (struct measure_result){times[rounds / 2], times[0], times[rounds - 1]};
}

static int runs(const struct measure_variant *variant, size_t n)
{
	return !variant->largest || n <= variant->largest;
}

void measure_in_turns(const struct measure_variant *variants, size_t count, size_t n,
		      unsigned rounds, struct measure_result *results)
{
	double(*times)[MOST_ROUNDS] = calloc(count, sizeof *times);

	if (!times || rounds > MOST_ROUNDS)
		abort();
	for (size_t v = 0; v < count; v++)
		if (runs(&variants[v], n))
			measure_sink = variants[v].run(n);
	for (unsigned round = 0; round < rounds; round++)
		for (size_t v = 0; v < count; v++)
			if (runs(&variants[v], n))
				times[v][round] = nanoseconds_per_value(&variants[v], n);
	for (size_t v = 0; v < count; v++)
		results[v] = summary(times[v], rounds);
	free(times);
}

void measure_print(FILE *json, const char *name, const struct measure_variant *variants,
		   size_t count, size_t n, const struct measure_result *results, size_t base)
{
	for (size_t v = 0; v < count; v++) {
		double ratio = results[v].median / results[base].median;

		if (!runs(&variants[v], n))
			continue;
		printf("%-16s %-24s %11zu %8.3f %8.3f %8.3f %7.2f\n", name, variants[v].name, n,
		       results[v].median, results[v].least, results[v].most, ratio);
		if (json)
			fprintf(json,
				"{\"case\": \"%s\", \"variant\": \"%s\", \"n\": %zu, "
				"\"unit\": \"ns/value\", \"median\": %.4f, \"min\": %.4f, "
				"\"max\": %.4f, \"ratio\": %.4f, \"ratio_to\": \"%s\"}\n",
				name, variants[v].name, n, results[v].median, results[v].least,
				results[v].most, ratio, variants[base].name);
	}
	fflush(stdout);
}
