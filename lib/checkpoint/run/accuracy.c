/* SPDX-License-Identifier: MIT */
/*
 * Finds the tolerance of a gradient of the digits asked for. One thread at a time uses an object.
 *
 * First the gradient is computed for SAMPLES coarse tolerances, then for a fine one. Errors of
 * different tolerances are independent of each other, and their size is in proportion to the
 * tolerance: so a difference from the fine gradient, times the ratio of both tolerances, is as
 * large as the error of the fine gradient. If the bound is above the wish, a finer gradient
 * follows, and the one before it is a further sample. If that has not come nearer to the new one
 * than the samples let expect, the loop is chaotic. A sample that is farther from the gradient than
 * a part of it says nothing about finer tolerances: errors of a chaotic loop are as large as its
 * gradient at any tolerance, and would be taken for small ones at a tolerance that is fine enough.
 * If a gradient is no number, since a root of the loop has no value for states that are so coarse,
 * the search begins anew with a finer tolerance.
 *
 * The ranks of a run agree on each magnitude, and so on the tolerances and the report.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "os/error.h"
#include "run.h"
#include "trace/trace.h"

#define SAMPLES 4
/* Gradients that are computed at most after the samples, before states are kept as they are. */
#define MAX_REFINEMENTS 8
/* The bound is this many times the size of the error, so that it holds for 999 of 1,000 loops. */
#define SAFETY 5
/* The bound of one component is a larger multiple: it rests on the errors of this one alone. */
#define COMPONENT_SAFETY 8
/* Tolerances of samples, as multiples of the fine one: this, and 1 + SPREAD times it, and so on. */
#define RATIO 8
#define SPREAD 0.07
/* A finer tolerance is at most this part of the one before, and aims below the wish. */
#define FINER 0.25
#define AIM 0.7
/* Errors are in proportion to tolerances if the last samples are this near to the gradient. */
#define NEAR 0.2
#define NEAR_SAMPLES 3
/* Where they are not, the next tolerance is this part. */
#define NEARER (1.0 / 16)
/* A loop that multiplies errors by less meets the wish with the first tolerance. */
#define GAIN 16
/* A gradient that is no number is computed again with this part of its tolerance. */
#define MUCH_FINER (1.0 / 64)
/* At finer tolerances there is nothing to gain. */
#define MIN_TOLERANCE 1e-14

struct sample {
	double tolerance;
	double *gradient;
	double distance; /* its largest difference from the gradient that was taken last */
};

struct reel_accuracy {
	reel_run *run; /* NULL: the program sets the tolerance where it is needed */
	double wish;   /* relative error */
	size_t components;
	double tolerance;
	double factor; /* size of the relative error, in tolerances; below 0: not known */
	double *factors; /* the same of each component, relative to the largest one */
	unsigned samples;
	struct sample sample[SAMPLES + MAX_REFINEMENTS];
	int error; /* of the agreement of the ranks, or 0 */
	struct reel_accuracy_report report;
};

static bool allocate(reel_accuracy *accuracy)
{
	size_t bytes = accuracy->components * sizeof(double) + 1;
	bool has_all;

	accuracy->factors = calloc(1, bytes);
	has_all = accuracy->factors;
	for (unsigned i = 0; i < SAMPLES + MAX_REFINEMENTS && has_all; i++) {
		accuracy->sample[i].gradient = malloc(bytes);
		has_all = accuracy->sample[i].gradient;
	}
	return has_all;
}

int reel_accuracy_open(reel_accuracy **opened, reel_run *run, unsigned digits, size_t components)
{
	reel_accuracy *accuracy;
	int error;

	if (digits < 1 || digits > 12)
		return reel_fail(-EINVAL, "digits of a gradient are 1 to 12, not %u", digits);
	accuracy = calloc(1, sizeof *accuracy);
	if (!accuracy)
		return reel_fail(-ENOMEM, "no memory for an accuracy");
	accuracy->run = run;
	accuracy->wish = 1;
	for (; digits > 0; digits--)
		accuracy->wish /= 10;
	accuracy->components = components;
	accuracy->factor = -1;
	accuracy->tolerance = RATIO * accuracy->wish / GAIN / SAFETY;
	error = run ? reel_run_set_tolerance(run, accuracy->tolerance) : 0;
	if (error) {
		free(accuracy);
		return error;
	}
	if (!allocate(accuracy)) {
		reel_accuracy_close(accuracy);
		return reel_fail(-ENOMEM, "no memory for gradients");
	}
	*opened = accuracy;
	return 0;
}

void reel_accuracy_close(reel_accuracy *accuracy)
{
	if (!accuracy)
		return;
	for (unsigned i = 0; i < SAMPLES + MAX_REFINEMENTS; i++)
		free(accuracy->sample[i].gradient);
	free(accuracy->factors);
	free(accuracy);
}

double reel_accuracy_tolerance(const reel_accuracy *accuracy)
{
	return accuracy->tolerance;
}

/* A component that is no number is the largest. */
static double larger(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}

/*
 * Returns the largest magnitude of all ranks. The ranks compare integers of the same bits, which
 * have the order of the magnitudes.
 */
static double largest_of_ranks(reel_accuracy *accuracy, double magnitude)
{
	int64_t bits;
	int error;

	REEL_ASSERT(isnan(magnitude) || magnitude >= 0);
	if (!accuracy->run)
		return magnitude;
	memcpy(&bits, &magnitude, sizeof bits);
	error = reel_group_max(&accuracy->run->group, &bits, 1);
	if (!accuracy->error)
		accuracy->error = error;
	memcpy(&magnitude, &bits, sizeof bits);
	return magnitude;
}

static double largest_of(reel_accuracy *accuracy, const double *gradient)
{
	double largest = 0;

	for (size_t i = 0; i < accuracy->components; i++)
		largest = larger(largest, fabs(gradient[i]));
	return largest_of_ranks(accuracy, largest);
}

/* Compares all samples with the gradient. */
static void measure(reel_accuracy *accuracy, const double *gradient)
{
	for (unsigned k = 0; k < accuracy->samples; k++) {
		struct sample *sample = &accuracy->sample[k];
		double distance = 0;

		REEL_ASSERT(sample->gradient != gradient);
		for (size_t i = 0; i < accuracy->components; i++)
			distance = larger(distance, fabs(sample->gradient[i] - gradient[i]));
		sample->distance = largest_of_ranks(accuracy, distance);
	}
}

/* The size of the error of the gradient, as the sample shows it. */
static double seen_by(const reel_accuracy *accuracy, const struct sample *sample)
{
	REEL_ASSERT(sample->tolerance > accuracy->tolerance);
	return sample->distance * accuracy->tolerance / sample->tolerance;
}

/* The largest size that the first `samples` samples show. */
static double seen_by_all(const reel_accuracy *accuracy, unsigned samples)
{
	double largest = 0;

	REEL_ASSERT(samples > 0 && samples <= accuracy->samples);
	for (unsigned i = 0; i < samples; i++)
		largest = larger(largest, seen_by(accuracy, &accuracy->sample[i]));
	return largest;
}

static void keep(reel_accuracy *accuracy, const double *gradient)
{
	struct sample *sample = &accuracy->sample[accuracy->samples++];

	REEL_ASSERT(accuracy->samples <= SAMPLES + MAX_REFINEMENTS);
	sample->tolerance = accuracy->tolerance;
	memcpy(sample->gradient, gradient, accuracy->components * sizeof *gradient);
}

/* Returns true if the last samples are near enough to show errors in proportion to tolerances. */
static bool is_near(const reel_accuracy *accuracy)
{
	REEL_ASSERT(accuracy->samples >= NEAR_SAMPLES);
	for (unsigned i = accuracy->samples - NEAR_SAMPLES; i < accuracy->samples; i++)
		if (!(accuracy->sample[i].distance <= NEAR * accuracy->report.largest))
			return false;
	return true;
}

/* Returns true if the last sample is farther from the gradient than the others let expect. */
static bool is_chaotic(const reel_accuracy *accuracy)
{
	unsigned last = accuracy->samples - 1;

	return !(seen_by(accuracy, &accuracy->sample[last]) <=
		 SAFETY * seen_by_all(accuracy, last));
}

static bool go_on_with(reel_accuracy *accuracy, double tolerance)
{
	accuracy->tolerance = tolerance < MIN_TOLERANCE ? 0 : tolerance;
	return true;
}

static bool take_sample(reel_accuracy *accuracy, const double *gradient)
{
	double first;

	keep(accuracy, gradient);
	first = accuracy->sample[0].tolerance;
	return go_on_with(accuracy, accuracy->samples < SAMPLES
					    ? first * (1 + SPREAD * accuracy->samples)
					    : first / RATIO);
}

/* Sets the factor of each component to the largest that a sample shows. */
static void set_factors(reel_accuracy *accuracy, const double *gradient)
{
	for (unsigned k = 0; k < accuracy->samples; k++) {
		const struct sample *sample = &accuracy->sample[k];
		double scale = 1 / sample->tolerance / accuracy->report.largest;

		REEL_ASSERT(sample->tolerance > 0);
		for (size_t i = 0; i < accuracy->components; i++) {
			double distance = fabs(sample->gradient[i] - gradient[i]);

			accuracy->factors[i] = larger(accuracy->factors[i], distance * scale);
		}
	}
}

/*
 * The wish is met. Later gradients have the coarsest tolerance that meets it, of those from which
 * on errors are in proportion to tolerances.
 */
static void settle(reel_accuracy *accuracy, const double *gradient, double size)
{
	double largest = accuracy->report.largest, coarsest = 0, coarse;

	REEL_ASSERT(accuracy->samples >= NEAR_SAMPLES);
	for (unsigned i = accuracy->samples - NEAR_SAMPLES; i < accuracy->samples; i++)
		coarsest = larger(coarsest, accuracy->sample[i].tolerance);
	accuracy->factor = size > 0 ? size / accuracy->tolerance / largest : 0;
	if (size > 0)
		set_factors(accuracy, gradient);
	coarse = size > 0 ? AIM * accuracy->wish / SAFETY / accuracy->factor : coarsest;
	coarse = coarse < coarsest ? coarse : coarsest;
	accuracy->tolerance = larger(accuracy->tolerance, coarse);
}

static bool take_gradient(reel_accuracy *accuracy, const double *gradient)
{
	struct reel_accuracy_report *report = &accuracy->report;
	double size, finer;
	bool near;

	report->gradients++;
	report->largest = largest_of(accuracy, gradient);
	report->tolerance = accuracy->tolerance;
	report->error = 0;
	if (!(accuracy->tolerance > 0))
		return false;
	if (accuracy->factor >= 0) {
		report->error = SAFETY * accuracy->factor * accuracy->tolerance * report->largest;
		return false;
	}
	if (!isfinite(report->largest)) {
		accuracy->samples = 0;
		return go_on_with(accuracy, accuracy->tolerance * MUCH_FINER);
	}
	if (accuracy->samples < SAMPLES)
		return take_sample(accuracy, gradient);
	measure(accuracy, gradient);
	size = seen_by_all(accuracy, accuracy->samples);
	report->error = SAFETY * size;
	near = is_near(accuracy);
	if (near && report->error <= accuracy->wish * report->largest) {
		settle(accuracy, gradient, size);
		return false;
	}
	if (accuracy->samples == SAMPLES + MAX_REFINEMENTS ||
	    (accuracy->samples > SAMPLES && is_chaotic(accuracy)))
		return go_on_with(accuracy, 0);
	keep(accuracy, gradient);
	finer = near ? AIM * accuracy->wish * report->largest / report->error : NEARER;
	return go_on_with(accuracy, accuracy->tolerance * (finer < FINER ? finer : FINER));
}

/* The event has the bound as a part of the largest component. */
static void trace_bound(const struct reel_accuracy_report *report)
{
	if (report->largest > 0 && report->error < report->largest)
		REEL_TRACE(BOUND, 0, (int64_t)(1e15 * (report->error / report->largest)),
			   (int64_t)report->gradients);
}

int reel_accuracy_again(reel_accuracy *accuracy, const double *gradient)
{
	reel_run *run = accuracy->run;
	bool again;
	int error;

	/* Any difference is a change: the run was given this number. */
	if (run && memcmp(&run->loss->tolerance, &accuracy->tolerance, sizeof(double)) != 0)
		return reel_fail(-EINVAL, "the tolerance of the run is not the one that its "
					  "accuracy has set: it was changed meanwhile");
	again = take_gradient(accuracy, gradient);
	error = accuracy->error;
	accuracy->error = 0;
	if (!error && run)
		error = reel_run_set_tolerance(run, accuracy->tolerance);
	if (!error && !again)
		trace_bound(&accuracy->report);
	return error ? error : again;
}

void reel_accuracy_get_errors(const reel_accuracy *accuracy, double *errors)
{
	const struct reel_accuracy_report *report = &accuracy->report;
	double scale = COMPONENT_SAFETY * report->tolerance * report->largest;

	for (size_t i = 0; i < accuracy->components; i++) {
		double own = scale * accuracy->factors[i];

		errors[i] = own < report->error ? own : report->error;
	}
}

void reel_accuracy_get_report(const reel_accuracy *accuracy, struct reel_accuracy_report *report)
{
	*report = accuracy->report;
}
