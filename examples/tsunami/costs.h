/* SPDX-License-Identifier: MIT */
/*
 * What steps and states cost here, measured, and by that how to reverse the loop.
 */
#ifndef TSUNAMI_COSTS_H
#define TSUNAMI_COSTS_H

#include "layout.h"
#include "loop.h"

/* Seconds a step, or a state. */
struct costs {
	double advance;
	double record;
	double fresh_record; /* where the tape's memory is touched for the first time */
	double reverse;
	double copy;         /* of a state in memory */
	double disk_write;   /* of a state, copy included */
	double disk_read;
};

/*
 * Run a few steps from the start within so much memory, and put some bytes to a file in
 * `spill` and get them back, unless that is NULL.
 */
struct costs costs_measure(struct loop *loop, const struct tape_shape *shape,
			   const double *displacement, uint64_t memory, const char *spill);

struct limits {
	uint64_t memory; /* for states and tapes [bytes] */
	uint64_t disk;   /* the same; 0: there is none */
};

/* A way to reverse the loop, and the time that it is expected to take. */
struct choice {
	struct layout layout;
	double seconds; /* HUGE_VAL: there is no such way */
};

/*
 * Choose the fastest way within the limits: all steps on tape in memory, or spilled;
 * states in memory; states in memory and on the disk. `second` is the best of another
 * kind. Ends the program if there is no way.
 */
struct choice costs_choose(const struct costs *costs, const struct limits *limits,
			   const struct tape_shape *shape, int64_t steps, struct choice *second);

#endif
