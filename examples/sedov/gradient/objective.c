/* SPDX-License-Identifier: MIT */
#include "objective.h"

#include <stdlib.h>

#include "common/report.h"
#include "model/ranks.h"

real objective_of(enum objective objective, const struct model *model, const struct state *last)
{
	const struct mesh *mesh = model->mesh;
	total sum = {0};
	real value;

	if (objective == ORIGIN && has_origin(mesh))
		total_add(&sum, last->energy[0]);
	if (objective == SENSOR && model->sensor >= 0)
		total_add(&sum, last->clock.impulse);
	for (int n = 0; n < mesh->nodes && objective == KINETIC; n++)
		for (int a = 0; a < AXES && mesh->counted[n]; a++)
			total_add(&sum, 0.5 * model->reference.node_mass[n] * last->velocity[a][n] *
					last->velocity[a][n]);
	add_up(mesh, &sum, &value, 1);
	return value;
}

void objective_reverse(enum objective objective, const struct model *model,
		       const struct state *last, struct adjoint *adjoint)
{
	if (objective == ORIGIN && has_origin(model->mesh))
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

/* first_step() of model/state.c has the formula. */
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
	real (*corner)[AXES] = allocate((size_t)mesh->corner_places, sizeof(*corner));
	real sums[SUMS];

	add_up(mesh, adjoint->sums.of, sums, SUMS);
	gradient->linear_viscosity = sums[BY_LINEAR_VISCOSITY];
	gradient->quadratic_viscosity = sums[BY_QUADRATIC_VISCOSITY];
	gradient->adiabatic_exponent = sums[BY_ADIABATIC_EXPONENT];
	for (int e = 0; e < mesh->elements; e++) {
		const int *node = mesh->node + (long)CORNERS * e;
		real x[CORNERS][AXES], slope[CORNERS][AXES], normal[CORNERS][AXES];
		real volume_bar = adjoint->reference_volume[e];

		gradient->energy[e] = adjoint->state.energy[e];
		if (e == 0 && has_origin(mesh))
			first_step_reverse(model, controls, adjoint, gradient, &volume_bar);
		for (int k = 0; k < CORNERS; k++)
			volume_bar += adjoint->node_mass[node[k]] / CORNERS;
		gather_corners(mesh, controls->position, e, x);
		corner_areas(x, slope, normal);
		for (int k = 0; k < CORNERS; k++)
			for (int a = 0; a < AXES; a++)
				corner[CORNERS * e + k][a] = volume_bar * slope[k][a];
	}
	if (mesh->ranks)
		mesh->ranks->exchange_corners(mesh->ranks, &corner, 1);
	for (int n = 0; n < mesh->nodes; n++) {
		real bar[AXES];

		for (int a = 0; a < AXES; a++)
			bar[a] = adjoint->state.position[a][n];
		add_corners(mesh, corner, n, bar);
		for (int a = 0; a < AXES; a++)
			gradient->position[a][n] = bar[a];
	}
	free(corner);
}
