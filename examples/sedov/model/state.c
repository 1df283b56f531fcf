/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "common/report.h"
#include "hexahedron.h"
#include "ranks.h"

#define EDGE 1.125
/* The energy of the published problem with 45 elements along an edge. */
#define ENERGY_OF_45 3.948746e7

static real *allocate_field(int count)
{
	return allocate((size_t)count, sizeof(real));
}

struct controls controls_create(const struct mesh *mesh)
{
	struct controls controls = {.energy = allocate_field(mesh->elements)};

	for (int a = 0; a < AXES; a++)
		controls.position[a] = allocate_field(mesh->nodes);
	return controls;
}

void controls_destroy(struct controls *controls)
{
	free(controls->energy);
	for (int a = 0; a < AXES; a++)
		free(controls->position[a]);
}

void controls_publish(const struct mesh *mesh, struct controls *controls)
{
	struct parameters published = parameters_published();
	double scale = mesh->whole_size / 45.0;

	for (int n = 0; n < mesh->nodes; n++) {
		int place = mesh_whole_node(mesh, n), edge = mesh->whole_size + 1;

		for (int a = 0; a < AXES; a++, place /= edge)
			controls->position[a][n] = EDGE * (place % edge) / mesh->whole_size;
	}
	for (int e = 0; e < mesh->elements; e++)
		controls->energy[e] = 0.0;
	if (has_origin(mesh))
		controls->energy[0] = ENERGY_OF_45 * scale * scale * scale;
	controls->linear_viscosity = published.linear_viscosity;
	controls->quadratic_viscosity = published.quadratic_viscosity;
	controls->adiabatic_exponent = published.adiabatic_exponent;
}

struct state state_create(const struct mesh *mesh)
{
	struct state state = {
		.energy = allocate_field(mesh->elements),
		.pressure = allocate_field(mesh->elements),
		.viscosity = allocate_field(mesh->elements),
		.volume = allocate_field(mesh->elements),
		.sound_speed = allocate_field(mesh->elements),
	};

	for (int a = 0; a < AXES; a++) {
		state.position[a] = allocate_field(mesh->nodes);
		state.velocity[a] = allocate_field(mesh->nodes);
	}
	return state;
}

void state_destroy(struct state *state)
{
	for (int a = 0; a < AXES; a++) {
		free(state->position[a]);
		free(state->velocity[a]);
	}
	free(state->energy);
	free(state->pressure);
	free(state->viscosity);
	free(state->volume);
	free(state->sound_speed);
}

/* An eighth of the mass of each element at a node. */
static void add_masses(const struct mesh *mesh, struct reference *reference)
{
	real (*mass)[AXES] = allocate((size_t)mesh->corner_places, sizeof(*mass));

	for (int k = 0; k < CORNERS * mesh->elements; k++)
		mass[k][0] = reference->volume[k / CORNERS] / CORNERS;
	if (mesh->ranks)
		mesh->ranks->exchange_corners(mesh->ranks, &mass, 1);
	for (int n = 0; n < mesh->nodes; n++)
		for (int i = mesh->corner_start[n]; i < mesh->corner_start[n + 1]; i++)
			reference->node_mass[n] += mass[mesh->corner[i]][0];
	free(mass);
}

struct model model_create(const struct mesh *mesh, const struct controls *controls)
{
	struct model model = {
		.mesh = mesh,
		.parameters = parameters_published(),
		.reference = {allocate_field(mesh->elements), allocate_field(mesh->nodes)},
	};

	model.parameters.linear_viscosity = controls->linear_viscosity;
	model.parameters.quadratic_viscosity = controls->quadratic_viscosity;
	model.parameters.adiabatic_exponent = controls->adiabatic_exponent;
	for (int e = 0; e < mesh->elements; e++) {
		real x[CORNERS][AXES], volume;

		gather_corners(mesh, controls->position, e, x);
		volume = hexahedron_volume(x);
		if (!(value_of(volume) > 0.0) || !isfinite(value_of(volume)))
			fail("element %d is tangled: its volume at the beginning is %g; give "
			     "positions that keep it above 0", mesh_whole_element(mesh, e),
			     value_of(volume));
		model.reference.volume[e] = volume;
	}
	add_masses(mesh, &model.reference);
	return model;
}

void model_destroy(struct model *model)
{
	free(model->reference.volume);
	free(model->reference.node_mass);
}

static void check_energy(const struct mesh *mesh, const real *energy)
{
	for (int e = 0; e < mesh->elements; e++)
		if (!isfinite(value_of(energy[e])) || value_of(energy[e]) < 0.0)
			fail("element %d has the energy %g at the beginning; give one that is "
			     "finite and not below 0", mesh_whole_element(mesh, e),
			     value_of(energy[e]));
	if (has_origin(mesh) && !(value_of(energy[0]) > 0.0))
		fail("element 0 has no energy at the beginning, and sets the first time step; "
		     "give it one above 0");
}

/* Half the edge of the element at the origin over the root of twice its energy. */
static real first_step(const struct model *model, const struct controls *controls)
{
	const struct mesh *mesh = model->mesh;
	real step = 0.0;

	if (has_origin(mesh))
		step = 0.5 * cube_root(model->reference.volume[0]) /
		       square_root(2.0 * controls->energy[0]);
	if (mesh->ranks)
		mesh->ranks->share(mesh->ranks, &step);
	return step;
}

void state_start(const struct model *model, const struct controls *controls, struct state *state)
{
	const struct mesh *mesh = model->mesh;

	check_energy(mesh, controls->energy);
	for (int a = 0; a < AXES; a++) {
		size_t bytes = (size_t)mesh->nodes * sizeof(real);

		memcpy(state->position[a], controls->position[a], bytes);
		memset(state->velocity[a], 0, bytes);
	}
	for (int e = 0; e < mesh->elements; e++) {
		state->energy[e] = controls->energy[e];
		state->pressure[e] = state->viscosity[e] = state->sound_speed[e] = 0.0;
		state->volume[e] = 1.0;
	}
	state->clock = (struct clock){
		.time_step = first_step(model, controls),
		.element = {-1, -1},
	};
}
