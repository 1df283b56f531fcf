/* SPDX-License-Identifier: MIT */
/*
 * Compares a gradient with differences of the objective.
 */
#ifndef SEDOV_VERIFY_H
#define SEDOV_VERIFY_H

#include "objective.h"

#define TAYLOR_STEPS 8

struct taylor {
	double step[TAYLOR_STEPS], remainder[TAYLOR_STEPS];
	int decades;  /* over which the remainder falls as the square, one after another */
	double slope; /* over these */
	/*
	 * The least part by which a difference quotient differs from the prediction of the
	 * gradient.
	 */
	double error;
};

/*
 * Changes the energy at the origin and the coefficients by parts of themselves, and compares the
 * objective with the prediction of the gradient. The change keeps the symmetry of the problem:
 * without it, one of the elements that set a time step together would set it alone.
 */
struct taylor verify_gradient(const struct model *model, const struct controls *controls,
			      enum objective objective, const struct controls *gradient);

#endif
