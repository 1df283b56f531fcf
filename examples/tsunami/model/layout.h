/* SPDX-License-Identifier: MIT */
/*
 * The layout of a run in memory: the sizes of a chunk of rows and of a slab, the steps of a
 * segment, the memory of the states and of the tape.
 */
#ifndef TSUNAMI_LAYOUT_H
#define TSUNAMI_LAYOUT_H

#include <stdint.h>

#include <reel/plan.h>

#include "grid.h"
#include "common/scheme.h"

/* How a step lies on the tape: a slab has room for a whole number of chunks. */
struct tape_shape {
	int chunk_rows;
	int64_t chunks;         /* of a step */
	int64_t chunks_in_slab;
	uint64_t slab_bytes;
	uint64_t state_bytes;   /* of a snapshot */
	uint64_t kept_bytes;    /* the memory that a snapshot takes */
};

/* Under a budget of `budget` bytes, 0: none. */
struct tape_shape tape_shape(const struct grid *grid, uint64_t budget);

/*
 * The number of snapshots in memory besides the snapshots of the plan: one is on its way to the
 * disk and one back; and their memory stays with the run when tapes take the place of states.
 */
#define MOVING_STATES 2

/* The number of slabs that a tape that spills needs room for. */
#define SLABS_TO_SPILL 8

struct layout {
	struct tape_shape shape;
	enum reel_planner planner;
	struct reel_problem problem; /* its steps are segments */
	int64_t steps;
	int64_t segment;             /* steps */
	int64_t segments;
	int has_disk;                /* the second tier is one */
	int spills;                  /* tapes go to the disk */
};

/*
 * The layout for a scheme and a number of steps. `segment` is the user's, 0: chosen so that the
 * tape of a segment fills the budget that the states leave; without a budget it takes
 * as much as the states; of a plan that learns it is one step. Ends the program if it cannot be.
 */
struct layout layout_create(const struct scheme *scheme, const struct tape_shape *shape,
			    int64_t steps, int64_t segment, uint64_t budget);

/* Returns true if the plan is made while it is carried out (REEL_AUTO). */
int layout_learns(const struct layout *layout);

/* Open its plan, or end the program: it cannot be, or is for more memory than there is. */
reel_plan *layout_open_plan(const struct layout *layout, uint64_t budget);

/* The counts of a run, in steps of the model. */
struct counts {
	int64_t advanced, recorded, reversed;
	uint64_t stores[2], loads[2]; /* memory, disk */
};

/* The counts that the plan predicts. Not for a plan that learns. */
struct counts layout_count(const struct layout *layout, const reel_plan *plan);

#endif
