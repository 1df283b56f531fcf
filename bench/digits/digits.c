/* SPDX-License-Identifier: MIT */
/*
 * Prints two tables: the bytes of states by the digits of the gradient, for the loops of models.c;
 * and the errors of the gradient of shallow water by other ways to store states in fewer bytes,
 * beside Reel's rounding at the same bytes.
 */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"

static void print_digits(const struct model *model)
{
	for (unsigned digits = 2; digits <= 10; digits += 2) {
		struct digits_outcome outcome = take_digits(model, digits);

		if (outcome.report.tolerance > 0)
			printf("| %s | %u | %.4f | %.1e | %.1e | %u |\n", model->name, digits,
			       outcome.bytes, outcome.bound, outcome.error,
			       outcome.report.gradients);
		else
			printf("| %s | %u | as they are | | | %u |\n", model->name, digits,
			       outcome.report.gradients);
		fflush(stdout);
	}
}

/* ---- Other ways: `stored` has a copy of the state ---- */

static void as_floats(const struct model *model, const double *x, int step, double *stored)
{
	(void)step;
	for (size_t i = 0; i < model->values; i++)
		stored[i] = (double)(float)x[i];
}

static void as_bf16(const struct model *model, const double *x, int step, double *stored)
{
	(void)step;
	for (size_t i = 0; i < model->values; i++) {
		float value = (float)x[i];
		uint32_t bits;

		memcpy(&bits, &value, sizeof bits);
		bits += 0x7fff + (bits >> 16 & 1);
		bits &= 0xffff0000;
		memcpy(&value, &bits, sizeof bits);
		stored[i] = (double)value;
	}
}

enum { BLOCK = 64 };

/* A scale for each block, a float, and a byte for each value. */
static void as_bytes(const struct model *model, const double *x, int step, double *stored)
{
	(void)step;
	for (size_t first = 0; first < model->values; first += BLOCK) {
		size_t end = first + BLOCK < model->values ? first + BLOCK : model->values;
		double scale = 0;

		for (size_t i = first; i < end; i++)
			scale = fmax(scale, fabs(x[i]));
		scale = (double)(float)(scale / 127);
		for (size_t i = first; i < end; i++)
			stored[i] = scale > 0 ? scale * rint(x[i] / scale) : 0;
	}
}

/* Every second state is the mean of its neighbours. States are stored once each, in order. */
static void as_every_second(const struct model *model, const double *x, int step, double *stored)
{
	static double before[MAX_COMPONENTS], after[MAX_COMPONENTS];
	size_t bytes = model->values * sizeof *x;

	if (step / model->segment % 2) {
		memcpy(after, x, bytes);
		for (int i = 0; i < model->segment; i++)
			model->step(model, after);
		for (size_t i = 0; i < model->values; i++)
			stored[i] = (before[i] + after[i]) / 2;
	}
	memcpy(before, x, bytes);
}

static const struct {
	const char *name;
	store_way way;
	double bytes;
} ways[] = {
	{"every second state", as_every_second, 0.5},
	{"float", as_floats, 0.5},
	{"bf16", as_bf16, 0.25},
	{"8 bits a block", as_bytes, (BLOCK + 4) / (8.0 * BLOCK)},
};

/* The finest tolerance at which Reel needs no more than these bytes. */
static void run_with_bytes(struct sweep *sweep, double bytes)
{
	double coarse = log(0.5), fine = log(1e-15);

	for (int i = 0; i < 14; i++) {
		double middle = (coarse + fine) / 2;

		sweep_run(sweep, exp(middle));
		if (sweep_bytes(sweep) <= bytes)
			coarse = middle;
		else
			fine = middle;
	}
	sweep_run(sweep, exp(coarse));
}

static void print_ways(const struct model *model)
{
	struct sweep *exact = sweep_open(model, NULL), *reel = sweep_open(model, NULL);

	sweep_run(exact, 0);
	for (double tolerance = 0.1; tolerance > 1e-13; tolerance /= 10) {
		sweep_run(reel, tolerance);
		printf("| Reel at %.0e | %.4f | %.1e | |\n", tolerance, sweep_bytes(reel),
		       sweep_error(reel, exact));
	}
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct sweep *sweep = sweep_open(model, ways[i].way);

		sweep_run(sweep, 0);
		run_with_bytes(reel, ways[i].bytes);
		printf("| %s | %.4f | %.1e | %.1e |\n", ways[i].name, ways[i].bytes,
		       sweep_error(sweep, exact), sweep_error(reel, exact));
		sweep_close(sweep);
	}
	sweep_close(exact);
	sweep_close(reel);
}

int main(int count, char **arguments)
{
	static const struct model *const models[] = {&shallow_water, &burgers, &lorenz,
						     &lorenz_chaotic};

	if (count > 1 && strcmp(arguments[1], "--ways") == 0) {
		print_ways(&shallow_water);
		return 0;
	}
	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		print_digits(models[i]);
	return 0;
}
