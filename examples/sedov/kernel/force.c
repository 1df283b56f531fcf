/* SPDX-License-Identifier: MIT */
/*
 * The forces of an element on its nodes: its pressure, times the area of the faces there, and the
 * resistance to hourglass modes, which change no volume, of Flanagan and Belytschko (1981).
 */
#include "kernel.h"

#define MODES 4

/* Products of two and of three of corner_side. */
static const double mode_side[MODES][CORNERS] = {
	{1, 1, -1, -1, -1, -1, 1, 1},
	{1, -1, -1, 1, -1, 1, 1, -1},
	{1, -1, 1, -1, 1, -1, 1, -1},
	{-1, 1, -1, 1, 1, -1, 1, -1},
};

/* The modes of a shape, or of its velocities: the sums over its corners by their sides. */
static inline void sum_modes(real x[CORNERS][AXES], real mode[MODES][AXES])
{
	for (int i = 0; i < MODES; i++)
		for (int a = 0; a < AXES; a++) {
			mode[i][a] = 0.0;
			for (int k = 0; k < CORNERS; k++)
				mode[i][a] += mode_side[i][k] * x[k][a];
		}
}

/* The sides of the modes less their part that changes the volume. */
static inline void filter_modes(real slope[CORNERS][AXES], real mode[MODES][AXES], real volume,
				real filtered[CORNERS][MODES])
{
	real per_volume = 1.0 / volume;

	for (int k = 0; k < CORNERS; k++)
		for (int i = 0; i < MODES; i++)
			filtered[k][i] = mode_side[i][k] - per_volume * dot(slope[k], mode[i]);
}

/* The sums over the corners of x by the filtered sides. */
static inline void sum_filtered(real filtered[CORNERS][MODES], real x[CORNERS][AXES],
				real sum[MODES][AXES])
{
	for (int i = 0; i < MODES; i++)
		for (int a = 0; a < AXES; a++) {
			sum[i][a] = 0.0;
			for (int k = 0; k < CORNERS; k++)
				sum[i][a] += filtered[k][i] * x[k][a];
		}
}

void force(const struct model *model, const struct state *state, struct fields *fields,
	   const struct block *block)
{
	double hourglass = model->parameters.hourglass;

	for (int e = block->first; e < block->last; e++) {
		real x[CORNERS][AXES], v[CORNERS][AXES], slope[CORNERS][AXES];
		real normal[CORNERS][AXES], mode[MODES][AXES], filtered[CORNERS][MODES];
		real flow[MODES][AXES];
		real mass = model->reference.volume[e], volume = mass * state->volume[e];
		real pressure = state->pressure[e] + state->viscosity[e];
		real damping = -hourglass * state->sound_speed[e] * mass / cube_root(volume);
		real (*target)[AXES] = fields->corner_force + (long)CORNERS * e;

		gather_corners(model->mesh, state->position, e, x);
		gather_corners(model->mesh, state->velocity, e, v);
		corner_areas(x, slope, normal);
		sum_modes(x, mode);
		filter_modes(slope, mode, volume, filtered);
		sum_filtered(filtered, v, flow);
		for (int k = 0; k < CORNERS; k++)
			for (int a = 0; a < AXES; a++) {
				real resistance = 0.0;

				for (int i = 0; i < MODES; i++)
					resistance += filtered[k][i] * flow[i][a];
				target[k][a] = pressure * normal[k][a] + damping * resistance;
			}
	}
}

/*
 * The force on corner k is c sum_i H_ki u_i and the pressure's, where H are the filtered sides and
 * u the sums of the velocities by them. With w, the sums of the adjoint forces, it is transposed by
 * exchanging u and w.
 */
void force_reverse(const struct model *model, const struct state *before,
		   const struct fields *fields, struct adjoint *adjoint, int b)
{
	const struct block *block = &fields->element_block[b];
	double hourglass = model->parameters.hourglass;

	for (int e = block->first; e < block->last; e++) {
		real x[CORNERS][AXES], v[CORNERS][AXES], f_bar[CORNERS][AXES];
		real slope[CORNERS][AXES], normal[CORNERS][AXES], filtered[CORNERS][MODES];
		real mode[MODES][AXES], flow[MODES][AXES], flow_bar[MODES][AXES];
		real mode_bar[MODES][AXES] = {{0.0}}, normal_bar[CORNERS][AXES];
		real slope_bar[CORNERS][AXES] = {{0.0}};
		real mass = model->reference.volume[e], volume = mass * before->volume[e];
		real pressure = before->pressure[e] + before->viscosity[e];
		real per_speed = -hourglass * mass / cube_root(volume);
		real damping = per_speed * before->sound_speed[e];
		real per_volume = damping / volume;
		real pressure_bar = 0.0, damping_bar = 0.0, volume_bar = 0.0;
		real x_bar[CORNERS][AXES], v_bar[CORNERS][AXES];

		gather_corners(model->mesh, before->position, e, x);
		gather_corners(model->mesh, before->velocity, e, v);
		gather_corners(model->mesh, adjoint->force, e, f_bar);
		corner_areas(x, slope, normal);
		sum_modes(x, mode);
		filter_modes(slope, mode, volume, filtered);
		sum_filtered(filtered, v, flow);
		sum_filtered(filtered, f_bar, flow_bar);
		for (int i = 0; i < MODES; i++)
			damping_bar += dot(flow[i], flow_bar[i]);
		for (int k = 0; k < CORNERS; k++) {
			pressure_bar += dot(f_bar[k], normal[k]);
			for (int a = 0; a < AXES; a++) {
				normal_bar[k][a] = pressure * f_bar[k][a];
				x_bar[k][a] = v_bar[k][a] = 0.0;
			}
			for (int i = 0; i < MODES; i++) {
				real side_bar = per_volume * (dot(f_bar[k], flow[i]) +
							      dot(v[k], flow_bar[i]));

				add_scaled(damping * filtered[k][i], flow_bar[i], v_bar[k]);
				add_scaled(-side_bar, mode[i], slope_bar[k]);
				add_scaled(-side_bar, slope[k], mode_bar[i]);
				volume_bar += side_bar * (mode_side[i][k] - filtered[k][i]);
			}
		}
		for (int k = 0; k < CORNERS; k++)
			for (int i = 0; i < MODES; i++)
				add_scaled(mode_side[i][k], mode_bar[i], x_bar[k]);
		corner_areas_reverse(x, slope_bar, normal_bar, x_bar);
		put_corners(x_bar, e, adjoint->corner_position);
		put_corners(v_bar, e, adjoint->corner_velocity);

		volume_bar -= damping_bar * damping / (3.0 * volume);
		adjoint->state.sound_speed[e] += damping_bar * per_speed;
		adjoint->state.pressure[e] += pressure_bar;
		adjoint->state.viscosity[e] += pressure_bar;
		adjoint->state.volume[e] += volume_bar * mass;
		adjoint->reference_volume[e] += volume_bar * before->volume[e] +
						damping_bar * damping / mass;
	}
}
