/* SPDX-License-Identifier: MIT */
/*
 * Gradients of the digits asked for, of the loops of bench/digits: the bound holds, and is as small
 * as was asked for. Lorenz's trajectories from one stored state are chaotic: no bound is given.
 */
#include <config.h>

#include <math.h>
#include <stdio.h>

#include "digits/models.h"
#include "tap/tap.h"

static void has_digits(const struct model *model, unsigned digits, double bytes)
{
	struct digits_outcome outcome = take_digits(model, digits);

	ok(outcome.error <= outcome.bound && outcome.bound <= pow(10, -(double)digits) &&
		   outcome.error > 0,
	   "%s, %u digits: an error of %.1e, at most %.1e", model->name, digits, outcome.error,
	   outcome.bound);
	ok(outcome.bytes <= bytes, "states take up %.3f of their bytes, at most %.3f",
	   outcome.bytes, bytes);
}

int main(void)
{
	struct digits_outcome outcome;

	tap_begin();
	has_digits(&shallow_water, 4, 0.13);
	has_digits(&shallow_water, 8, 0.34);
	has_digits(&burgers, 6, 0.19);
	has_digits(&lorenz, 4, 0.37);
	for (unsigned digits = 2; digits <= 6; digits += 2) {
		outcome = take_digits(&lorenz_chaotic, digits);
		ok(!(outcome.report.tolerance > 0) || outcome.error <= outcome.bound,
		   "%s, %u digits: no false bound: an error of %.1e, a tolerance of %.1e",
		   lorenz_chaotic.name, digits, outcome.error, outcome.report.tolerance);
	}
	return tap_end();
}
