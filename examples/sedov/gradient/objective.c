/* SPDX-License-Identifier: MIT */
#include "objective.h"

#include <string.h>

real objective_of(enum objective objective, const struct model *model, const struct state *last)
{
	total sum = {0};

	if (objective == ORIGIN)
		return last->energy[0];
	if (objective == SENSOR)
		return last->clock.impulse;
	for (int n = 0; n < model->mesh->nodes; n++)
		for (int a = 0; a < AXES; a++)
			total_add(&sum, 0.5 * model->reference.node_mass[n] * last->velocity[a][n] *
					last->velocity[a][n]);
	return total_value(&sum);
}

void objective_reverse(enum objective objective, const struct model *model,
		       const struct state *last, struct adjoint *adjoint)
{
	if (objective == ORIGIN)
		adjoint->state.energy[0] = 1.0;
	if (objective == SENSOR)
		adjoint->state.clock.impulse = 1.0;
	for (int n = 0; n < model->mesh->nodes && objective == KINETIC; n++)
		for (int a = 0; a < AXES; a++) {
			real velocity = last->velocity[a][n];

			adjoint->state.velocity[a][n] = model->reference.node_mass[n] * velocity;
			adjoint->node_mass[n] += 0.5 * velocity * velocity;
		}
}

/* The first time step is half the edge of element 0 over the root of twice its energy. */
static void first_step_reverse(const struct model *model, const struct controls *controls,
			       const struct adjoint *adjoint, struct controls *gradient,
			       real *volume_bar)
{
	real volume = model->reference.volume[0], energy = controls->energy[0];
	real time_step = 0.5 * cube_root(volume) / square_root(2.0 * energy);
	real bar = adjoint->state.clock.time_step * time_step;

	gradient->energy[0] -= bar / (2.0 * energy);
	*volume_bar += bar / (3.0 * volume);
}

void controls_reverse(const struct model *model, const struct controls *controls,
		      const struct adjoint *adjoint, struct controls *gradient)
{
	const struct mesh *mesh = model->mesh;
	const total *sums = adjoint->sums.of;

	gradient->linear_viscosity = total_value(&sums[BY_LINEAR_VISCOSITY]);
	gradient->quadratic_viscosity = total_value(&sums[BY_QUADRATIC_VISCOSITY]);
	gradient->adiabatic_exponent = total_value(&sums[BY_ADIABATIC_EXPONENT]);
	for (int a = 0; a < AXES; a++)
		memcpy(gradient->position[a], adjoint->state.position[a],
		       (size_t)mesh->nodes * sizeof(real));
	for (int e = 0; e < mesh->elements; e++) {
		const int *node = mesh->node + (long)CORNERS * e;
		real x[CORNERS][AXES], slope[CORNERS][AXES], normal[CORNERS][AXES];
		real volume_bar = adjoint->reference_volume[e];

		gradient->energy[e] = adjoint->state.energy[e];
		if (e == 0)
			first_step_reverse(model, controls, adjoint, gradient, &volume_bar);
		for (int k = 0; k < CORNERS; k++)
			volume_bar += adjoint->node_mass[node[k]] / CORNERS;
		gather_corners(mesh, controls->position, e, x);
		corner_areas(x, slope, normal);
		for (int k = 0; k < CORNERS; k++)
			for (int a = 0; a < AXES; a++)
				gradient->position[a][node[k]] += volume_bar * slope[k][a];
	}
}
