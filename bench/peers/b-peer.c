/* SPDX-License-Identifier: MIT */
/* The same gradients by other tools, those that were there when Reel was configured. */
#include "config.h"

#include "common/bench.h"

#if defined(HAVE_ADOLC)

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "adolc.h"
#include "kernels/kernel.h"

#define RELATIVE_ERROR 1e-9

struct peer {
	const char *name;
	const struct kernel *kernel;
	adolc_gradient *by_adolc;
};

/* A kernel, its inputs, and their adjoints by the other tool, in one piece. */
struct pair {
	const struct peer *peer;
	struct kernel_case one;
	size_t count;
	double *inputs;
	double *adjoints;
};

static reel_tape tape;

static double run_variant(struct pair *pair, const char *name)
{
	return kernel_gradient(&pair->one, kernel_find_variant(pair->peer->kernel, name), &tape);
}

static double run_best(void *context, size_t n)
{
	(void)n;
	return run_variant(context, "best");
}

static double run_plain(void *context, size_t n)
{
	(void)n;
	return run_variant(context, "plain");
}

static double run_adolc(void *context, size_t n)
{
	struct pair *pair = context;

	(void)n;
	return pair->peer->by_adolc(pair->inputs, pair->adjoints, pair->count);
}

/* Copies all inputs, or all their adjoints. Returns how many these are. */
static size_t in_one_piece(struct pair *pair, bool adjoints, double *target)
{
	struct kernel_input inputs[KERNEL_MAX_INPUTS];
	size_t inputs_count = kernel_inputs(&pair->one, inputs), count = 0;

	for (size_t i = 0; i < inputs_count; i++) {
		if (target)
			memcpy(target + count, adjoints ? inputs[i].adjoint : inputs[i].values,
			       inputs[i].count * sizeof *target);
		count += inputs[i].count;
	}
	return count;
}

static double *doubles(size_t count)
{
	double *values = calloc(count, sizeof *values);

	if (!values)
		abort();
	return values;
}

static void open_pair(struct pair *pair, const struct peer *peer)
{
	*pair = (struct pair){.peer = peer};
	kernel_case_open(&pair->one, peer->kernel, KERNEL_PAPER);
	pair->count = in_one_piece(pair, false, NULL);
	pair->inputs = doubles(pair->count);
	pair->adjoints = doubles(pair->count);
	in_one_piece(pair, false, pair->inputs);
}

static void close_pair(struct pair *pair)
{
	free(pair->inputs);
	free(pair->adjoints);
	kernel_case_close(&pair->one);
}

static double largest(const double *values, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, fabs(values[i]));
	return most;
}

/* Two programs of which one is wrong are not worth comparing. */
static void demand_equal_gradients(struct pair *pair)
{
	double *ours = doubles(pair->count), error = 0;
	double objective = run_best(pair, 0), objective_error;

	in_one_piece(pair, true, ours);
	objective_error = fabs(objective - run_adolc(pair, 0)) / fabs(objective);
	for (size_t i = 0; i < pair->count; i++)
		error = fmax(error, fabs(ours[i] - pair->adjoints[i]));
	error /= largest(ours, pair->count);
	free(ours);
	if (error < RELATIVE_ERROR && objective_error < RELATIVE_ERROR)
		return;
	fprintf(stderr, "reel-bench: %s: the gradients differ by %g\n", pair->peer->name,
		fmax(error, objective_error));
	exit(1);
}

static void measure_pair(const struct peer *peer)
{
	struct pair pair;
	const struct measure_variant variants[] = {
		{.name = "reel best", .run = run_best, .context = &pair},
		{.name = "reel plain", .run = run_plain, .context = &pair},
		{.name = "adol-c", .run = run_adolc, .context = &pair},
	};
	struct bench_case described = {
		.name = peer->name,
		.variants = variants,
		.count = COUNT_OF(variants),
		.quick_largest = SIZE_MAX,
		.rounds = 9,
	};

	open_pair(&pair, peer);
	demand_equal_gradients(&pair);
	described.sizes[0] = kernel_column_bytes(&pair.one) / sizeof(double);
	bench_run(&described);
	close_pair(&pair);
}

void bench_peer(void)
{
	static const struct peer peers[] = {
		{"peer/logsum/paper", &kernel_logsum, adolc_logsum},
		{"peer/gravity/paper", &kernel_gravity, adolc_gravity},
	};

	for (size_t p = 0; p < COUNT_OF(peers); p++) {
		struct bench_case listed = {.name = peers[p].name};

		if (bench_starts(&listed))
			measure_pair(&peers[p]);
	}
	reel_tape_close(&tape);
}

#else

void bench_peer(void)
{
}

#endif
