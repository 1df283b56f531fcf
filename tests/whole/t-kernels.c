/* SPDX-License-Identifier: MIT */
/*
 * Compares the adjoints of the benchmark's kernels with differences of the primal,
 * and all variants with each other.
 *
 * Differences use five points, with an error of the order h^4. Tolerances are
 * relative to the largest component of the input's adjoint. They are limited by
 * the rounding of the objective, which is much larger than its change.
 */
#include "config.h"

#include <reel.h>

#include <math.h>
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/random.h"
#include "tap/tap.h"

#define SAMPLES 12
#define AGREEMENT 1e-12
#define MAX_VALUES ((size_t)200000)

/* The step of the differences, small where a minimum or a ReLU may change its branch. */
static const struct {
	const char *name;
	double step, tolerance;
} differences[] = {
	{"gravity", 1e-4, 1e-7},    {"nn", 1e-3, 1e-8},       {"logsum", 1e-3, 1e-8},
	{"matdescent", 1e-2, 1e-8}, {"mttkrp", 1e-2, 1e-8},   {"somier", 1e-3, 1e-8},
	{"lenet5", 1e-5, 1e-6},     {"pathfinder", 1e-5, 1e-8}, {"massspring", 1e-2, 1e-5},
};

/* The adjoints of all inputs. For one input: a direction, and the values before it is moved. */
static double reference[MAX_VALUES];
static double direction[MAX_VALUES];
static double origin[MAX_VALUES];

static double largest(const double *values, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, fabs(values[i]));
	return most;
}

/* A NaN counts as larger than any number. */
static double larger(double most, double error)
{
	return error <= most ? most : error;
}

static double at_distance(struct kernel_case *one, struct kernel_input *input, double distance)
{
	for (size_t i = 0; i < input->count; i++)
		input->values[i] = origin[i] + distance * direction[i];
	return kernel_primal(one);
}

/* The derivative of the objective along `direction`, a change of this input. */
static double difference(struct kernel_case *one, struct kernel_input *input, double h)
{
	double near, far;

	memcpy(origin, input->values, input->count * sizeof(double));
	near = at_distance(one, input, h) - at_distance(one, input, -h);
	far = at_distance(one, input, 2 * h) - at_distance(one, input, -2 * h);
	memcpy(input->values, origin, input->count * sizeof(double));
	return (8 * near - far) / (12 * h);
}

/* The largest error of some components, the first and the last among them. */
static double component_error(struct kernel_case *one, struct kernel_input *input,
			      struct random *random, double h)
{
	double error = 0;

	for (size_t sample = 0; sample < SAMPLES; sample++) {
		size_t i = sample == 0   ? 0
			   : sample == 1 ? input->count - 1
					 : random_below(random, input->count);

		memset(direction, 0, input->count * sizeof(double));
		direction[i] = 1;
		error = larger(error, fabs(input->adjoint[i] - difference(one, input, h)));
	}
	return error;
}

/* The error of the adjoint's product with a random direction, all components at once. */
static double direction_error(struct kernel_case *one, struct kernel_input *input,
			      struct random *random, double h)
{
	double product = 0, length = sqrt((double)input->count);

	random_fill(random, direction, input->count, -1 / length, 1 / length);
	for (size_t i = 0; i < input->count; i++)
		product += input->adjoint[i] * direction[i];
	return fabs(product - difference(one, input, h));
}

static void test_against_differences(struct kernel_case *one, const char *variant, size_t row)
{
	struct kernel_input inputs[KERNEL_MAX_INPUTS];
	size_t count = kernel_inputs(one, inputs);
	struct random random = RANDOM_SEED;
	double h = differences[row].step, tolerance = differences[row].tolerance;

	for (size_t n = 0; n < count; n++) {
		struct kernel_input *input = &inputs[n];
		double scale = largest(input->adjoint, input->count);
		double components = component_error(one, input, &random, h) / scale;
		double along = direction_error(one, input, &random, h) / scale;

		ok(scale > 0, "%s %s: the adjoint of %s is not 0", one->kernel->name, variant,
		   input->name);
		ok(components <= tolerance, "%s %s: components of the adjoint of %s (%.1e)",
		   one->kernel->name, variant, input->name, components);
		ok(along <= tolerance, "%s %s: the adjoint of %s along a direction (%.1e)",
		   one->kernel->name, variant, input->name, along);
	}
}

static void spoil_adjoints(struct kernel_case *one)
{
	struct kernel_input inputs[KERNEL_MAX_INPUTS];
	size_t count = kernel_inputs(one, inputs);

	for (size_t n = 0; n < count; n++)
		for (size_t i = 0; i < inputs[n].count; i++)
			inputs[n].adjoint[i] = NAN;
}

/* Copies the adjoints of all inputs to `reference`, one after the other. */
static void keep_adjoints(struct kernel_case *one)
{
	struct kernel_input inputs[KERNEL_MAX_INPUTS];
	size_t count = kernel_inputs(one, inputs), at = 0;

	for (size_t n = 0; n < count; n++) {
		memcpy(reference + at, inputs[n].adjoint, inputs[n].count * sizeof(double));
		at += inputs[n].count;
	}
}

/* The largest difference from `reference`, relative to the largest component of its input. */
static double disagreement(struct kernel_case *one)
{
	struct kernel_input inputs[KERNEL_MAX_INPUTS];
	size_t count = kernel_inputs(one, inputs), at = 0;
	double most = 0;

	for (size_t n = 0; n < count; n++) {
		double scale = largest(reference + at, inputs[n].count);

		for (size_t i = 0; i < inputs[n].count; i++, at++)
			most = larger(most, fabs(inputs[n].adjoint[i] - reference[at]) / scale);
	}
	return most;
}

static double run(struct kernel_case *one, const struct kernel_variant *variant, reel_tape *tape,
		  const char *where)
{
	double objective;

	spoil_adjoints(one);
	objective = kernel_gradient(one, variant, tape);
	ok(reel_tape_is_empty(tape), "%s %s%s: the tape is empty again", one->kernel->name,
	   variant->name, where);
	is_int(reel_tape_error(tape), 0, "%s %s%s: no error", one->kernel->name, variant->name,
	       where);
	return objective;
}

/* Compares a variant's objective with the primal's, and its adjoint with the first variant's. */
static void test_agreement(struct kernel_case *one, const struct kernel_variant *variant,
			   reel_tape *tape, const char *where)
{
	double objective = run(one, variant, tape, where), primal = kernel_primal(one), error;

	error = fabs(objective - primal) / fabs(primal);
	ok(error <= AGREEMENT, "%s %s%s: the objective is the primal's (%.1e)",
	   one->kernel->name, variant->name, where, error);
	error = disagreement(one);
	ok(error <= AGREEMENT, "%s %s%s: the adjoint is that of %s (%.1e)", one->kernel->name,
	   variant->name, where, one->kernel->variants[0].name, error);
}

/* Runs every variant twice: the second time its columns are warm and the tape has slabs. */
static void test_variants(struct kernel_case *one, reel_tape *tape, const char *where)
{
	for (size_t v = 0; v < one->kernel->variant_count; v++)
		for (int turn = 0; turn < 2; turn++)
			test_agreement(one, &one->kernel->variants[v], tape, where);
}

static void test_on_pool(struct kernel_case *one, struct reel_pool_options options,
			 const char *where)
{
	reel_pool *pool;
	reel_tape tape;

	is_int(reel_pool_open(&pool, &options), 0, "the pool opens");
	reel_tape_open(&tape, pool, 0);
	test_variants(one, &tape, where);
	reel_tape_close(&tape);
	is_int(reel_pool_close(pool), 0, "the pool closes");
}

static void test_tiny(const struct kernel *kernel, size_t row)
{
	struct kernel_case one;
	reel_tape tape = {0};

	kernel_case_open(&one, kernel, KERNEL_TINY);
	for (size_t v = 0; v < kernel->variant_count; v++) {
		run(&one, &kernel->variants[v], &tape, "");
		test_against_differences(&one, kernel->variants[v].name, row);
	}
	run(&one, &kernel->variants[0], &tape, "");
	keep_adjoints(&one);
	test_variants(&one, &tape, "");
	test_on_pool(&one, (struct reel_pool_options){.slab_bytes = 4096}, " in small slabs");
	test_on_pool(&one, (struct reel_pool_options){.flags = REEL_POOL_CHECKED}, " checked");
	reel_tape_close(&tape);
	kernel_case_close(&one);
}

static void test_paper(const struct kernel *kernel)
{
	struct kernel_case one;
	reel_tape tape = {0};

	kernel_case_open(&one, kernel, KERNEL_PAPER);
	run(&one, &kernel->variants[0], &tape, ", paper size");
	keep_adjoints(&one);
	test_variants(&one, &tape, ", paper size");
	reel_tape_close(&tape);
	kernel_case_close(&one);
}

int main(void)
{
	tap_begin();
	is_int(kernel_count, COUNT_OF(differences), "every kernel has its differences");
	for (size_t row = 0; row < COUNT_OF(differences); row++) {
		const struct kernel *kernel = kernel_find(differences[row].name);

		tap_case(differences[row].name);
		if (!ok(kernel != NULL, "%s is a kernel", differences[row].name))
			continue;
		test_tiny(kernel, row);
		test_paper(kernel);
	}
	return tap_end();
}
