/* SPDX-License-Identifier: MIT */
#include "verify.h"

#include "model/ranks.h"
#include "sweep.h"

#define MAX_STEP 1e-2
#define TOLERANCE 0.05 /* of the slope 2 */

/* The objective after a change by so large a part. */
static real value_after(const struct model *model, const struct controls *controls,
			enum objective objective, double part)
{
	struct controls changed = *controls;
	struct model other = *model;
	struct state state = state_create(model->mesh);
	real energy = controls->energy[0], value;

	other.parameters.linear_viscosity *= 1.0 + part;
	other.parameters.quadratic_viscosity *= 1.0 + part;
	other.parameters.adiabatic_exponent *= 1.0 + part;
	if (has_origin(model->mesh))
		changed.energy[0] *= 1.0 + part;
	state_start(&other, &changed, &state);
	changed.energy[0] = energy;
	forward_sweep(&other, &state, 0, NULL, 0);
	value = objective_of(objective, &other, &state);
	state_destroy(&state);
	return value;
}

/* The derivative of the objective by `part`. */
static real slope_of(const struct mesh *mesh, const struct controls *controls,
		     const struct controls *gradient)
{
	real slope = gradient->energy[0] * controls->energy[0] +
		     gradient->linear_viscosity * controls->linear_viscosity +
		     gradient->quadratic_viscosity * controls->quadratic_viscosity +
		     gradient->adiabatic_exponent * controls->adiabatic_exponent;

	if (mesh->ranks)
		mesh->ranks->share(mesh->ranks, &slope);
	return slope;
}

struct taylor verify_gradient(const struct model *model, const struct controls *controls,
			      enum objective objective, const struct controls *gradient)
{
	real slope = slope_of(model->mesh, controls, gradient);
	struct taylor taylor = {.error = INFINITY};
	real value = value_after(model, controls, objective, 0.0);
	double step = MAX_STEP;
	int decades = 0;

	for (int k = 0; k < TAYLOR_STEPS; k++, step /= 10.0) {
		real change = value_after(model, controls, objective, step) - value;
		double *remainder = &taylor.remainder[k];

		taylor.step[k] = step;
		*remainder = fabs(value_of(change - step * slope));
		taylor.error = fmin(taylor.error, *remainder / fabs(step * value_of(slope)));
		if (k == 0 || fabs(log10(remainder[-1] / *remainder) - 2.0) > TOLERANCE)
			decades = 0;
		else if (++decades > taylor.decades) {
			taylor.decades = decades;
			taylor.slope = log10(remainder[-decades] / *remainder) / decades;
		}
	}
	return taylor;
}
