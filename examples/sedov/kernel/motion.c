/* SPDX-License-Identifier: MIT */
/*
 * The forces on a node, its velocity and its position.
 */
#include "kernel.h"

void motion(const struct model *model, struct state *state, struct fields *fields,
	    const struct block *block)
{
	const struct mesh *mesh = model->mesh;
	double cutoff = model->parameters.velocity_cutoff;
	real time_step = state->clock.time_step;

	for (int n = block->first; n < block->last; n++) {
		real sum[AXES] = {0.0};
		unsigned stopped = 0;

		add_corners(mesh, fields->corner_force, n, sum);
		for (int a = 0; a < AXES; a++) {
			real velocity = state->velocity[a][n];

			if (!(mesh->held[n] >> a & 1))
				velocity += time_step * sum[a] / model->reference.node_mass[n];
			if (fabs(value_of(velocity)) < cutoff) {
				velocity = 0.0;
				stopped |= 1u << a;
			}
			state->velocity[a][n] = velocity;
			state->position[a][n] += time_step * velocity;
		}
		fields->stopped[n] = (uint8_t)stopped;
	}
}

void motion_reverse(const struct model *model, const struct state *before,
		    const struct state *after, const struct fields *fields,
		    struct adjoint *adjoint, struct sums *sums, int b)
{
	const struct block *block = &fields->node_block[b];
	const struct mesh *mesh = model->mesh;
	real time_step = after->clock.time_step;

	for (int n = block->first; n < block->last; n++) {
		real position_bar[AXES] = {0.0}, velocity_bar[AXES] = {0.0}, mass_bar = 0.0;
		real time_step_bar = 0.0;

		add_corners(mesh, adjoint->corner_position, n, position_bar);
		add_corners(mesh, adjoint->corner_velocity, n, velocity_bar);
		for (int a = 0; a < AXES; a++) {
			real velocity = after->velocity[a][n], acceleration;

			acceleration = (velocity - before->velocity[a][n]) / time_step;
			position_bar[a] += adjoint->state.position[a][n];
			velocity_bar[a] += adjoint->state.velocity[a][n] +
					   time_step * position_bar[a];
			time_step_bar += position_bar[a] * velocity;
			if (adjoint->stopped[n] >> a & 1)
				velocity_bar[a] = 0.0;
			adjoint->state.position[a][n] = position_bar[a];
			adjoint->state.velocity[a][n] = velocity_bar[a];
			if (mesh->held[n] >> a & 1)
				velocity_bar[a] = 0.0;
			adjoint->force[a][n] = time_step * velocity_bar[a] /
					       model->reference.node_mass[n];
			mass_bar -= adjoint->force[a][n] * acceleration;
			time_step_bar += velocity_bar[a] * acceleration;
		}
		adjoint->node_mass[n] += mass_bar;
		if (mesh->counted[n])
			total_add(&sums->of[BY_TIME_STEP], time_step_bar);
	}
}

void gather_reverse(const struct model *model, const struct fields *fields,
		    struct adjoint *adjoint, int b)
{
	const struct block *block = &fields->node_block[b];

	for (int n = block->first; n < block->last; n++) {
		real position_bar[AXES] = {0.0}, velocity_bar[AXES] = {0.0};

		add_corners(model->mesh, adjoint->corner_position, n, position_bar);
		add_corners(model->mesh, adjoint->corner_velocity, n, velocity_bar);
		for (int a = 0; a < AXES; a++) {
			adjoint->state.position[a][n] += position_bar[a];
			adjoint->state.velocity[a][n] += velocity_bar[a];
		}
	}
}
