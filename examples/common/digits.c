/* SPDX-License-Identifier: MIT */
#include "digits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <reel.h>
#include <reel/loss.h>

#include "report.h"

/* NaN counts as the larger number, so that no bound and no error hides it. */
static double larger(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}

static double largest_of(const struct gradient_part *part)
{
	double largest = 0.0;

	for (size_t i = 0; i < part->count; i++)
		largest = larger(largest, fabs(part->value[i]));
	return largest;
}

/* All parts one after the other, each divided by its scale. */
struct scaled {
	size_t components;
	double *value;
	double *scale; /* of each part: its largest component in the first gradient */
};

static struct scaled scaled_create(const struct gradient_part *part, int parts)
{
	struct scaled scaled = {.scale = allocate((size_t)parts, sizeof(double))};

	for (int p = 0; p < parts; p++)
		scaled.components += part[p].count;
	scaled.value = allocate(scaled.components, sizeof(double));
	return scaled;
}

static void scaled_destroy(struct scaled *scaled)
{
	free(scaled->value);
	free(scaled->scale);
}

static void scaled_set(struct scaled *scaled, const struct gradient_part *part, int parts)
{
	size_t k = 0;

	for (int p = 0; p < parts; p++) {
		if (!(scaled->scale[p] > 0.0))
			scaled->scale[p] = largest_of(&part[p]);
		for (size_t i = 0; i < part[p].count; i++, k++)
			scaled->value[k] = part[p].value[i] / (scaled->scale[p] > 0.0 ?
							       scaled->scale[p] : 1.0);
	}
}

/* The library has bounded the error in scales; a part may have become smaller than its scale. */
static double bound_of(const struct scaled *scaled, const struct gradient_part *part, int parts,
		       double error)
{
	double bound = error;

	for (int p = 0; p < parts; p++) {
		double largest = largest_of(&part[p]);

		if (largest > 0.0)
			bound = larger(bound, error * scaled->scale[p] / largest);
	}
	return bound;
}

struct digits digits_compute(int wanted, const struct gradient_part *part, int parts,
			     void (*compute)(void *context, double tolerance), void *context)
{
	struct scaled scaled = scaled_create(part, parts);
	struct reel_accuracy_report report;
	struct digits digits = {.wanted = wanted, .error = -1.0};
	reel_accuracy *accuracy;

	if (reel_accuracy_open(&accuracy, NULL, (unsigned)wanted, scaled.components))
		fail("--digits %d: %s", wanted, reel_error_text(0));
	do {
		compute(context, reel_accuracy_tolerance(accuracy));
		scaled_set(&scaled, part, parts);
	} while (reel_accuracy_again(accuracy, scaled.value) > 0);
	reel_accuracy_get_report(accuracy, &report);
	digits.bound = bound_of(&scaled, part, parts, report.error);
	digits.tolerance = report.tolerance;
	digits.gradients = report.gradients;
	reel_accuracy_close(accuracy);
	scaled_destroy(&scaled);
	return digits;
}

double digits_error(const struct gradient_part *part, const struct gradient_part *exact, int parts)
{
	double error = 0.0;

	for (int p = 0; p < parts; p++) {
		double largest = largest_of(&exact[p]);

		for (size_t i = 0; i < part[p].count && !(largest <= 0.0); i++)
			error = larger(error, fabs(part[p].value[i] - exact[p].value[i]) / largest);
	}
	return error;
}

int digits_hold(const struct digits *digits)
{
	return digits->error <= digits->bound;
}

void digits_print(const struct digits *digits, uint64_t rounded_bytes, uint64_t kept_bytes)
{
	if (!(digits->tolerance > 0.0))
		printf("Digits          states are kept as they are: at no tolerance the gradient "
		       "has %d digits\n", digits->wanted);
	else
		printf("Digits          error at most %.1e of the largest component; states are "
		       "rounded to %.1e\n                of their largest value, in 1/%.1f of "
		       "their bytes\n", digits->bound, digits->tolerance,
		       (double)rounded_bytes / (double)kept_bytes);
	printf("                found by %u gradients\n", digits->gradients);
}

void digits_print_error(const struct digits *digits)
{
	printf("Digits\n  error beside states that lose nothing  %.1e (to be at most %.1e)\n",
	       digits->error, digits->bound);
}
