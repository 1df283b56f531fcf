/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <stdlib.h>

#include "common/report.h"

static real *allocate_field(int count)
{
	return allocate((size_t)count, sizeof(real));
}

static struct block *cut_into_blocks(int count, int *blocks)
{
	struct block *block;

	*blocks = (count + BLOCK - 1) / BLOCK;
	block = allocate((size_t)*blocks, sizeof(*block));
	for (int b = 0; b < *blocks; b++) {
		block[b].first = b * BLOCK;
		block[b].last = b < *blocks - 1 ? (b + 1) * BLOCK : count;
	}
	return block;
}

struct fields fields_create(const struct mesh *mesh)
{
	int elements = mesh->elements;
	struct fields fields = {
		.corner_force = allocate((size_t)mesh->corner_places, sizeof(*fields.corner_force)),
		.volume = allocate_field(elements),
		.volume_change = allocate_field(elements),
		.length = allocate_field(elements),
		.expansion = allocate_field(elements),
		.linear = allocate_field(elements),
		.quadratic = allocate_field(elements),
		.branches = allocate((size_t)elements, sizeof(*fields.branches)),
		.stopped = allocate((size_t)mesh->nodes, sizeof(*fields.stopped)),
	};

	for (int a = 0; a < AXES; a++) {
		fields.gradient[a] = allocate_field(mesh->element_places);
		fields.width[a] = allocate_field(elements);
	}
	fields.element_block = cut_into_blocks(elements, &fields.element_blocks);
	fields.node_block = cut_into_blocks(mesh->nodes, &fields.node_blocks);
	return fields;
}

void fields_destroy(struct fields *fields)
{
	free(fields->corner_force);
	free(fields->volume);
	free(fields->volume_change);
	free(fields->length);
	free(fields->expansion);
	free(fields->linear);
	free(fields->quadratic);
	free(fields->branches);
	free(fields->stopped);
	for (int a = 0; a < AXES; a++) {
		free(fields->gradient[a]);
		free(fields->width[a]);
	}
	free(fields->element_block);
	free(fields->node_block);
}

struct adjoint adjoint_create(const struct mesh *mesh)
{
	int elements = mesh->elements;
	struct adjoint adjoint = {
		.state = state_create(mesh),
		.reference_volume = allocate_field(elements),
		.node_mass = allocate_field(mesh->nodes),
		.branches = allocate((size_t)elements, sizeof(*adjoint.branches)),
		.stopped = allocate((size_t)mesh->nodes, sizeof(*adjoint.stopped)),
		.volume = allocate_field(elements),
		.volume_change = allocate_field(elements),
		.linear = allocate_field(elements),
		.quadratic = allocate_field(elements),
		.corner_position = allocate((size_t)mesh->corner_places,
					    sizeof(*adjoint.corner_position)),
		.corner_velocity = allocate((size_t)mesh->corner_places,
					    sizeof(*adjoint.corner_velocity)),
	};

	for (int a = 0; a < AXES; a++) {
		adjoint.force[a] = allocate_field(mesh->nodes);
		adjoint.gradient[a] = allocate_field(elements);
		adjoint.width[a] = allocate_field(elements);
		adjoint.neighbour[a][0] = allocate_field(mesh->element_places);
		adjoint.neighbour[a][1] = allocate_field(mesh->element_places);
	}
	return adjoint;
}

void adjoint_destroy(struct adjoint *adjoint)
{
	state_destroy(&adjoint->state);
	free(adjoint->reference_volume);
	free(adjoint->node_mass);
	free(adjoint->branches);
	free(adjoint->stopped);
	free(adjoint->volume);
	free(adjoint->volume_change);
	free(adjoint->linear);
	free(adjoint->quadratic);
	free(adjoint->corner_position);
	free(adjoint->corner_velocity);
	for (int a = 0; a < AXES; a++) {
		free(adjoint->force[a]);
		free(adjoint->gradient[a]);
		free(adjoint->width[a]);
		free(adjoint->neighbour[a][0]);
		free(adjoint->neighbour[a][1]);
	}
}
