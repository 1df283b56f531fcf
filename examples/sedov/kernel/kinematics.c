/* SPDX-License-Identifier: MIT */
/*
 * The effects of the motion on an element: its volume and length, its expansion in the middle of
 * the step, and its width and the velocity's gradient along each of its axes, which are the mean
 * edges. Along an axis the width is the volume over the area across, that is the cross product of
 * the other two axes.
 */
#include "kernel.h"

#define TINY 1e-36 /* an area or a volume of 0 divides nothing */

static inline void axes_of(real x[CORNERS][AXES], real edge[AXES][AXES])
{
	for (int m = 0; m < AXES; m++)
		mean_edge(x, m, edge[m]);
}

/* The length of an element, and which of its faces is the largest. */
static real length_of(real x[CORNERS][AXES], real volume, unsigned *face)
{
	real largest = 0.0;

	*face = 0;
	ALL_FACES_AT_ONCE
	for (int f = 0; f < FACES; f++) {
		real first[AXES], second[AXES], area[AXES], square;

		face_diagonals(x, f, first, second);
		cross(first, second, area);
		square = dot(area, area);
		if (value_of(square) > value_of(largest)) {
			largest = square;
			*face = (unsigned)f;
		}
	}
	return 2.0 * volume / square_root(largest);
}

/* The axes half a step ago, the areas that they span, and the rate of change of their volume. */
static inline real half_a_step_ago(real edge[AXES][AXES], real flow[AXES][AXES], real time_step,
				   real middle[AXES][AXES], real area[AXES][AXES])
{
	real rate = 0.0;

	for (int m = 0; m < AXES; m++)
		for (int a = 0; a < AXES; a++)
			middle[m][a] = edge[m][a] - 0.5 * time_step * flow[m][a];
	for (int m = 0; m < AXES; m++) {
		cross(middle[(m + 1) % AXES], middle[(m + 2) % AXES], area[m]);
		rate += dot(area[m], flow[m]);
	}
	return rate;
}

/* The rate of change of the volume that the axes span, over that volume, half a step ago. */
static real expansion_of(real edge[AXES][AXES], real flow[AXES][AXES], real time_step)
{
	real middle[AXES][AXES], area[AXES][AXES];
	real rate = half_a_step_ago(edge, flow, time_step, middle, area);

	return rate / dot(area[0], middle[0]);
}

void kinematics(const struct model *model, const struct state *state, struct fields *fields,
		struct block *block)
{
	for (int e = block->first; e < block->last; e++) {
		real x[CORNERS][AXES], v[CORNERS][AXES], edge[AXES][AXES], flow[AXES][AXES];
		real volume;
		unsigned face;

		gather_corners(model->mesh, state->position, e, x);
		gather_corners(model->mesh, state->velocity, e, v);
		volume = hexahedron_volume(x);
		if (!(value_of(volume) > 0.0))
			note_trouble(block, TANGLED, e);
		fields->volume[e] = volume / model->reference.volume[e];
		fields->volume_change[e] = fields->volume[e] - state->volume[e];
		axes_of(x, edge);
		axes_of(v, flow);
		fields->length[e] = length_of(x, volume, &face);
		fields->expansion[e] = expansion_of(edge, flow, state->clock.time_step);
		fields->branches[e] = face << FACE_SHIFT;
		if (value_of(fields->expansion[e]) > 0.0)
			fields->branches[e] |= EXPANDS;
		if (value_of(fields->expansion[e]) < 0.0)
			fields->branches[e] |= CONTRACTS;
		for (int m = 0; m < AXES; m++) {
			real area[AXES];

			cross(edge[(m + 1) % AXES], edge[(m + 2) % AXES], area);
			fields->width[m][e] = volume / square_root(dot(area, area) + TINY);
			fields->gradient[m][e] = dot(area, flow[m]) / (volume + TINY);
		}
	}
}

/* Adds the terms of a cross product of u and v to their adjoints. */
static inline void cross_reverse(const real u[AXES], const real v[AXES], const real bar[AXES],
				 real u_bar[AXES], real v_bar[AXES])
{
	add_cross(1.0, v, bar, u_bar);
	add_cross(1.0, bar, u, v_bar);
}

static int face_of(uint32_t branches)
{
	return (int)(branches >> FACE_SHIFT & ((1u << FACE_BITS) - 1));
}

static void length_reverse(real x[CORNERS][AXES], real volume, int face, real length_bar,
			   real x_bar[CORNERS][AXES], real *volume_bar)
{
	real first[AXES], second[AXES], area[AXES], area_bar[AXES] = {0.0}, square, length;
	real first_bar[AXES] = {0.0}, second_bar[AXES] = {0.0};

	face_diagonals(x, face, first, second);
	cross(first, second, area);
	square = dot(area, area);
	length = 2.0 * volume / square_root(square);
	*volume_bar += length_bar * length / volume;
	add_scaled(-length_bar * length / square, area, area_bar);
	cross_reverse(first, second, area_bar, first_bar, second_bar);
	face_diagonals_reverse(face, first_bar, second_bar, x_bar);
}

/* Returns the term to add to the adjoint of the time step. */
static real expansion_reverse(real edge[AXES][AXES], real flow[AXES][AXES], real time_step,
			      real expansion_bar, real edge_bar[AXES][AXES],
			      real flow_bar[AXES][AXES])
{
	real middle[AXES][AXES], area[AXES][AXES], volume, time_step_bar = 0.0;
	real middle_bar[AXES][AXES] = {{0.0}}, rate_bar, volume_bar;
	real rate = half_a_step_ago(edge, flow, time_step, middle, area);

	volume = dot(area[0], middle[0]);
	rate_bar = expansion_bar / volume;
	volume_bar = -rate_bar * rate / volume;
	add_scaled(volume_bar, area[0], middle_bar[0]);
	for (int m = 0; m < AXES; m++) {
		real area_bar[AXES] = {0.0};

		add_scaled(rate_bar, area[m], flow_bar[m]);
		add_scaled(rate_bar, flow[m], area_bar);
		if (m == 0)
			add_scaled(volume_bar, middle[0], area_bar);
		cross_reverse(middle[(m + 1) % AXES], middle[(m + 2) % AXES], area_bar,
			      middle_bar[(m + 1) % AXES], middle_bar[(m + 2) % AXES]);
	}
	for (int m = 0; m < AXES; m++) {
		add_scaled(1.0, middle_bar[m], edge_bar[m]);
		add_scaled(-0.5 * time_step, middle_bar[m], flow_bar[m]);
		time_step_bar -= 0.5 * dot(middle_bar[m], flow[m]);
	}
	return time_step_bar;
}

/* The sum of the terms of all elements that read the gradient of element e along axis m. */
static real gather_gradient(const struct mesh *mesh, const struct adjoint *adjoint, int e, int m)
{
	int below = mesh->neighbour[m][0][e], above = mesh->neighbour[m][1][e];
	real sum = adjoint->gradient[m][e];

	sum += below == e ? adjoint->neighbour[m][0][e] : adjoint->neighbour[m][1][below];
	if (above != mesh->elements)
		sum += adjoint->neighbour[m][0][above];
	return sum;
}

void kinematics_reverse(const struct model *model, const struct state *after,
			const struct fields *fields, struct adjoint *adjoint, struct sums *sums,
			int b)
{
	const struct block *block = &fields->element_block[b];

	for (int e = block->first; e < block->last; e++) {
		real x[CORNERS][AXES], v[CORNERS][AXES], edge[AXES][AXES], flow[AXES][AXES];
		real edge_bar[AXES][AXES] = {{0.0}}, flow_bar[AXES][AXES] = {{0.0}};
		real slope[CORNERS][AXES], normal[CORNERS][AXES];
		real reference = model->reference.volume[e];
		real volume = reference * fields->volume[e];
		real relative_bar = adjoint->volume[e] + adjoint->volume_change[e];
		real volume_bar = relative_bar / reference;
		real x_bar[CORNERS][AXES] = {{0.0}}, v_bar[CORNERS][AXES] = {{0.0}};

		gather_corners(model->mesh, after->position, e, x);
		gather_corners(model->mesh, after->velocity, e, v);
		axes_of(x, edge);
		axes_of(v, flow);
		for (int m = 0; m < AXES; m++) {
			int next = (m + 1) % AXES, last = (m + 2) % AXES;
			real area[AXES], area_bar[AXES] = {0.0}, square;
			real width_bar = adjoint->width[m][e];
			real gradient_bar = gather_gradient(model->mesh, adjoint, e, m) / volume;

			cross(edge[next], edge[last], area);
			square = dot(area, area) + TINY;
			volume_bar += width_bar / square_root(square) -
				      gradient_bar * fields->gradient[m][e];
			add_scaled(-width_bar * fields->width[m][e] / square, area, area_bar);
			add_scaled(gradient_bar, flow[m], area_bar);
			add_scaled(gradient_bar, area, flow_bar[m]);
			cross_reverse(edge[next], edge[last], area_bar, edge_bar[next],
				      edge_bar[last]);
		}
		for (int w = 0; w < LIMITS; w++) {
			if (adjoint->limited[w].element != e)
				continue;
			length_reverse(x, volume, face_of(adjoint->branches[e]),
				       adjoint->limited[w].length, x_bar, &volume_bar);
			total_add(&sums->of[BY_TIME_STEP],
				  expansion_reverse(edge, flow, after->clock.time_step,
						    adjoint->limited[w].expansion, edge_bar,
						    flow_bar));
		}
		corner_areas(x, slope, normal);
		for (int k = 0; k < CORNERS; k++) {
			add_scaled(volume_bar, slope[k], x_bar[k]);
			for (int m = 0; m < AXES; m++) {
				add_scaled(0.25 * corner_side[m][k], edge_bar[m], x_bar[k]);
				add_scaled(0.25 * corner_side[m][k], flow_bar[m], v_bar[k]);
			}
		}
		put_corners(x_bar, e, adjoint->corner_position);
		put_corners(v_bar, e, adjoint->corner_velocity);
		adjoint->state.volume[e] = -adjoint->volume_change[e];
		adjoint->reference_volume[e] -= relative_bar * fields->volume[e] / reference;
	}
}
