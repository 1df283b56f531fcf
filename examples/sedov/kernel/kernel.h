/* SPDX-License-Identifier: MIT */
/*
 * The kernels of a step and their reverses, each pair in a file of its own. A kernel computes one
 * block of elements, or of nodes, and writes to nothing that belongs to another block:
 *
 *	force       elements  what each element adds to the forces on its nodes
 *	motion      nodes     sums these; velocities and positions
 *	kinematics  elements  volumes, lengths, velocity gradients
 *	viscosity   elements  the artificial viscosity, from the gradients of neighbours
 *	gas         elements  energy, pressure, sound speed
 *	limits      elements  of the next time step
 *
 * Between two of them that pass something from block to block stands a barrier: step.c.
 *
 * A reverse kernel computes the adjoint at the beginning of the step from the adjoint at its end.
 * The tape has the states at both ends, from which the kernel computes intermediate values again,
 * and a bit for the way that each branch went. Where an element reads its nodes, its reverse writes
 * the terms for their adjoints to its corners, and the nodes gather these.
 */
#ifndef SEDOV_KERNEL_H
#define SEDOV_KERNEL_H

#include "model/hexahedron.h"
#include "model/state.h"

#define BLOCK 64 /* elements or nodes */

/* The branches of an element in a step, as bits of a word. */
enum {
	/* viscosity: the branch of the limiter along each axis, 3 bits; 0: no viscosity. */
	LIMITER_BITS = 3,
	LIMITER_MEAN = 1, LIMITER_BELOW, LIMITER_ABOVE, LIMITER_MIN, LIMITER_MAX,
	/* kinematics: the largest face. */
	FACE_SHIFT = AXES * LIMITER_BITS, FACE_BITS = 3,
	EXPANDS = 1 << (FACE_SHIFT + FACE_BITS), /* the volume grows, as the gradients say */
	CONTRACTS = EXPANDS << 1,
	GROWS = EXPANDS << 2, /* gas: it grew */
	/* gas: the quantities below their cut-offs, in the order in which they are computed. */
	NO_HALF_PRESSURE = EXPANDS << 3, NO_HALF_SPEED = EXPANDS << 4, NO_ENERGY = EXPANDS << 5,
	NO_PRESSURE = EXPANDS << 6, NO_SPEED = EXPANDS << 7, NO_LAST_ENERGY = EXPANDS << 8,
	NO_LAST_PRESSURE = EXPANDS << 9, NO_LAST_SPEED = EXPANDS << 10,
	NO_VISCOSITY = EXPANDS << 11, NO_CHANGE = EXPANDS << 12,
};

enum trouble { NO_TROUBLE, TANGLED, VOLUME_RANGE, ENERGY_RANGE, VISCOSITY_RANGE };

struct block {
	int first, last; /* first <= number < last */
	real limit[LIMITS]; /* the least ones, and which elements have them */
	int element[LIMITS];
	enum trouble trouble; /* of the first element that has any, and its number */
	int place;
};

/* Notes the trouble of an element, unless the block has noted one of an earlier element. */
static inline void note_trouble(struct block *block, enum trouble trouble, int element)
{
	if (block->trouble != NO_TROUBLE && block->place <= element)
		return;
	block->trouble = trouble;
	block->place = element;
}

/* Intermediate values of a step. */
struct fields {
	real (*corner_force)[AXES]; /* of an element on its node; with ghosts */
	/* In elements. */
	real *volume;         /* at the end of the step, relative, before its cut-off */
	real *volume_change;  /* of the relative volume in the step */
	real *length;         /* volume over the area of the largest face */
	real *expansion;      /* rate of change of the volume over the volume, mid-step */
	real *gradient[AXES]; /* of the velocity along the element's axes; with ghosts */
	real *width[AXES];    /* of the element along its axes */
	real *linear;         /* viscosity over the sound speed */
	real *quadratic;      /* viscosity */
	uint32_t *branches;
	/* At nodes: bit a is set if the velocity along axis a was below its cut-off. */
	uint8_t *stopped;

	int element_blocks, node_blocks;
	struct block *element_block, *node_block;
	/* The trouble of the first element of the whole cube that has any, and its number there. */
	enum trouble trouble;
	int place;
};

/*
 * Derivatives by quantities that all elements or nodes share: sums over these. All but the last are
 * also sums over the reversed steps; the last is of the last reversed step alone.
 */
enum { BY_LINEAR_VISCOSITY, BY_QUADRATIC_VISCOSITY, BY_ADIABATIC_EXPONENT, BY_TIME_STEP, SUMS };

struct sums {
	total of[SUMS];
};

/* The adjoint of a run, and intermediate values of the reverse of a step. */
struct adjoint {
	struct state state; /* of the state at the end of a step; then of that at its beginning */

	/* Over all steps. */
	real *reference_volume, *node_mass;
	struct sums sums; /* of the elements of this part */

	/* The branches of the step, which the forward sweep noted. */
	uint32_t *branches;
	uint8_t *stopped;

	/* Of fields. */
	real *force[AXES]; /* at nodes */
	real *volume, *volume_change, *linear, *quadratic;
	real *gradient[AXES], *width[AXES];
	/*
	 * The terms that an element adds to the adjoints of the gradients of its neighbours, below
	 * and above. It has ghosts.
	 */
	real *neighbour[AXES][2];
	/* The elements that have set the limits of the next time step; -1: another part has it. */
	struct { int element; real length, expansion; } limited[LIMITS];
	/* The terms that an element adds to the adjoints of its nodes. They have ghosts. */
	real (*corner_position)[AXES], (*corner_velocity)[AXES];
};

struct adjoint adjoint_create(const struct mesh *mesh);
void adjoint_destroy(struct adjoint *adjoint);

struct fields fields_create(const struct mesh *mesh);
void fields_destroy(struct fields *fields);

/* They overwrite the state. Its clock has the time step. */
void force(const struct model *model, const struct state *state, struct fields *fields,
	   const struct block *block);
void motion(const struct model *model, struct state *state, struct fields *fields,
	    const struct block *block);
void kinematics(const struct model *model, const struct state *state, struct fields *fields,
		struct block *block);
void viscosity(const struct model *model, struct fields *fields, const struct block *block);
void gas(const struct model *model, struct state *state, struct fields *fields,
	 struct block *block);
void limits(const struct model *model, const struct state *state, const struct fields *fields,
	    struct block *block);

/* At the beginning of a step: its length. At its end: the limits of the next one. */
void clock_begin(const struct model *model, struct clock *clock);
void clock_end(const struct model *model, struct state *state, const struct fields *fields);

/*
 * The reverses of block b, in the order in which they run, from the states at both ends of the
 * step. Before them kinematics() and viscosity() compute `fields` again. Each thread has sums of
 * its own, to which they add.
 */
void clock_end_reverse(const struct model *model, const struct state *after,
		       const struct fields *fields, struct adjoint *adjoint);
void gas_reverse(const struct model *model, const struct state *before,
		 const struct fields *fields, struct adjoint *adjoint, struct sums *sums, int b);
void viscosity_reverse(const struct model *model, const struct fields *fields,
		       struct adjoint *adjoint, struct sums *sums, int b);
void kinematics_reverse(const struct model *model, const struct state *after,
			const struct fields *fields, struct adjoint *adjoint, struct sums *sums,
			int b);
void motion_reverse(const struct model *model, const struct state *before,
		    const struct state *after, const struct fields *fields,
		    struct adjoint *adjoint, struct sums *sums, int b);
void force_reverse(const struct model *model, const struct state *before,
		   const struct fields *fields, struct adjoint *adjoint, int b);
/* Adds the terms that the elements of a node have left at their corners. */
static inline void add_corners(const struct mesh *mesh, real (*corner)[AXES], int node,
			       real sum[AXES])
{
	for (int i = mesh->corner_start[node]; i < mesh->corner_start[node + 1]; i++)
		for (int a = 0; a < AXES; a++)
			sum[a] += corner[mesh->corner[i]][a];
}

/* Adds the terms of the elements to the adjoints of the nodes of a block. */
void gather_reverse(const struct model *model, const struct fields *fields,
		    struct adjoint *adjoint, int b);
void clock_begin_reverse(const struct model *model, const struct clock *after,
			 struct adjoint *adjoint);

#endif
