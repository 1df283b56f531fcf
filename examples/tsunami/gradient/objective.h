/* SPDX-License-Identifier: MIT */
/*
 * The objective: J = 1/2 integral of eta(gauge, t)^2 dt over the run [m^2 s], by
 * the rectangle rule over the ends of the steps.
 */
#ifndef TSUNAMI_OBJECTIVE_H
#define TSUNAMI_OBJECTIVE_H

#include "model/shallow.h"

double objective(const struct model *model, const double *gauge);

/* J(gauge) - J(reference), without the cancellation of the difference of the two. */
double objective_difference(const struct model *model, const double *gauge,
			    const double *reference);

/* weights[n] = dJ/d(gauge[n]), times J_bar. */
void objective_weights(const struct model *model, const double *gauge, double J_bar,
		       double *weights);

/* The part of the largest elevation at which the wave counts as arrived. */
#define ARRIVAL_PART 0.05

/* When |eta| at the gauge first exceeds that part of its largest value [h]; NAN if never. */
double arrival_hours(const struct model *model, const double *gauge);

#endif
