/* SPDX-License-Identifier: MIT */
/*
 * States, and the branches of a step, as one array: the data of tapes, snapshots and restart files.
 */
#ifndef SEDOV_PACK_H
#define SEDOV_PACK_H

#include <stddef.h>

#include <reel/loss.h>

#include "kernel/step.h"

struct range {
	size_t first, count;
};

/* Some nodes, and some elements. */
struct part {
	struct range nodes, elements;
};

struct part whole_of(const struct mesh *mesh);
struct part part_of(const struct fields *fields, int part, int parts);

/* The array that has `whole` of a state, or of its branches: its size is a multiple of 8. */
size_t state_bytes(struct part whole);
size_t branch_bytes(struct part whole);

/* The fields of the array of a whole state, for the options of a run. */
enum { STATE_FIELDS = 1 + 2 * AXES + 5 };
void state_list_fields(const struct mesh *mesh, struct reel_field field[STATE_FIELDS]);

/* Copy a part of the data of the array, to it and from it. The clock goes with element 0. */
void state_pack(const struct state *state, struct part whole, struct part part, void *array);
void state_unpack(struct state *state, struct part whole, struct part part, const void *array);
void branches_pack(const uint32_t *branches, const uint8_t *stopped, struct part whole,
		   struct part part, void *array);
void branches_unpack(uint32_t *branches, uint8_t *stopped, struct part whole, struct part part,
		     const void *array);

#endif
