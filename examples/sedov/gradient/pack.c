/* SPDX-License-Identifier: MIT */
#include "pack.h"

#include <string.h>

/* The arrays of a state over nodes, and those over elements. */
enum { NODE_ARRAYS = 2 * AXES, ELEMENT_ARRAYS = 5 };

static void list_arrays(const struct state *state, real *nodes[NODE_ARRAYS],
			real *elements[ELEMENT_ARRAYS])
{
	for (int a = 0; a < AXES; a++) {
		nodes[a] = state->position[a];
		nodes[AXES + a] = state->velocity[a];
	}
	elements[0] = state->energy;
	elements[1] = state->pressure;
	elements[2] = state->viscosity;
	elements[3] = state->volume;
	elements[4] = state->sound_speed;
}

static struct range range_of(const struct block *block, int blocks, int part, int parts)
{
	struct share share = share_of(blocks, part, parts);
	struct range range = {0, 0};

	if (share.first < share.last) {
		range.first = (size_t)block[share.first].first;
		range.count = (size_t)block[share.last - 1].last - range.first;
	}
	return range;
}

struct part part_of(const struct fields *fields, int part, int parts)
{
	return (struct part){
		range_of(fields->node_block, fields->node_blocks, part, parts),
		range_of(fields->element_block, fields->element_blocks, part, parts),
	};
}

struct part whole_of(const struct mesh *mesh)
{
	return (struct part){{0, (size_t)mesh->nodes}, {0, (size_t)mesh->elements}};
}

size_t state_bytes(struct part whole)
{
	return sizeof(struct clock) + sizeof(real) * (NODE_ARRAYS * whole.nodes.count +
						      ELEMENT_ARRAYS * whole.elements.count);
}

size_t branch_bytes(struct part whole)
{
	size_t bytes = whole.elements.count * sizeof(uint32_t) + whole.nodes.count;

	return (bytes + 7) / 8 * 8;
}

/* The clock decides the next time step, so it is kept as it is. */
void state_list_fields(const struct mesh *mesh, struct reel_field field[STATE_FIELDS])
{
	size_t elements = (size_t)mesh->size, nodes = elements + 1;

	*field++ = (struct reel_field){REEL_FIELD_BYTES, 1, {sizeof(struct clock)}};
	for (int i = 0; i < NODE_ARRAYS; i++)
		*field++ = (struct reel_field){REEL_FIELD_DOUBLE, AXES, {nodes, nodes, nodes}};
	for (int i = 0; i < ELEMENT_ARRAYS; i++)
		*field++ = (struct reel_field){REEL_FIELD_DOUBLE, AXES,
					       {elements, elements, elements}};
}

static bool has_clock(struct part part)
{
	return part.elements.count > 0 && part.elements.first == 0;
}

void state_pack(const struct state *state, struct part whole, struct part part, void *array)
{
	real *node[NODE_ARRAYS], *element[ELEMENT_ARRAYS];
	real *place = (real *)((char *)array + sizeof(struct clock));

	if (has_clock(part))
		memcpy(array, &state->clock, sizeof(struct clock));
	list_arrays(state, node, element);
	for (int i = 0; i < NODE_ARRAYS; i++, place += whole.nodes.count)
		memcpy(place + (part.nodes.first - whole.nodes.first), node[i] + part.nodes.first,
		       part.nodes.count * sizeof(real));
	for (int i = 0; i < ELEMENT_ARRAYS; i++, place += whole.elements.count)
		memcpy(place + (part.elements.first - whole.elements.first),
		       element[i] + part.elements.first, part.elements.count * sizeof(real));
}

void state_unpack(struct state *state, struct part whole, struct part part, const void *array)
{
	real *node[NODE_ARRAYS], *element[ELEMENT_ARRAYS];
	const real *place = (const real *)((const char *)array + sizeof(struct clock));

	if (has_clock(part))
		memcpy(&state->clock, array, sizeof(struct clock));
	list_arrays(state, node, element);
	for (int i = 0; i < NODE_ARRAYS; i++, place += whole.nodes.count)
		memcpy(node[i] + part.nodes.first, place + (part.nodes.first - whole.nodes.first),
		       part.nodes.count * sizeof(real));
	for (int i = 0; i < ELEMENT_ARRAYS; i++, place += whole.elements.count)
		memcpy(element[i] + part.elements.first,
		       place + (part.elements.first - whole.elements.first),
		       part.elements.count * sizeof(real));
}

void branches_pack(const uint32_t *branches, const uint8_t *stopped, struct part whole,
		   struct part part, void *array)
{
	uint32_t *words = array;
	uint8_t *bytes = (uint8_t *)(words + whole.elements.count);

	memcpy(words + (part.elements.first - whole.elements.first),
	       branches + part.elements.first, part.elements.count * sizeof(uint32_t));
	memcpy(bytes + (part.nodes.first - whole.nodes.first), stopped + part.nodes.first,
	       part.nodes.count);
}

void branches_unpack(uint32_t *branches, uint8_t *stopped, struct part whole, struct part part,
		     const void *array)
{
	const uint32_t *words = array;
	const uint8_t *bytes = (const uint8_t *)(words + whole.elements.count);

	memcpy(branches + part.elements.first,
	       words + (part.elements.first - whole.elements.first),
	       part.elements.count * sizeof(uint32_t));
	memcpy(stopped + part.nodes.first, bytes + (part.nodes.first - whole.nodes.first),
	       part.nodes.count);
}
