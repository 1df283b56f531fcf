/* SPDX-License-Identifier: MIT */
/* The cost of an exact sum, a number, beside a plain sum: numbers of one exponent, and of many. */
#include "config.h"

#include <math.h>

#include <reel/sum.h>

#include "common/bench.h"

enum { LARGEST = 100000 };

static double numbers[LARGEST];

static double run_plain(void *context, size_t n)
{
	double sum = 0;

	(void)context;
	for (size_t i = 0; i < n; i++)
		sum += numbers[i];
	return sum;
}

static double run_exact(void *context, size_t n)
{
	reel_sum sum = {0};

	(void)context;
	for (size_t i = 0; i < n; i++)
		reel_sum_add(&sum, numbers[i]);
	return reel_sum_value(&sum);
}

static void run(const char *name)
{
	static const struct measure_variant variants[] = {
		{.name = "plain sum", .run = run_plain},
		{.name = "reel_sum", .run = run_exact},
	};
	const struct bench_case one = {name, variants, COUNT_OF(variants), 0,
				       {64, 1000, LARGEST}, LARGEST, 9};

	bench_run(&one);
}

void bench_sum(void)
{
	for (size_t i = 0; i < LARGEST; i++)
		numbers[i] = i % 2 ? -bench_value(i) : bench_value(i);
	run("sum/one exponent");
	for (size_t i = 0; i < LARGEST; i++)
		numbers[i] = ldexp(numbers[i], (int)(i * 7919 % 600) - 300);
	run("sum/many exponents");
}
