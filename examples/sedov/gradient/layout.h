/* SPDX-License-Identifier: MIT */
/*
 * The layout of the steps of the plan that --checkpoint names.
 */
#ifndef SEDOV_LAYOUT_H
#define SEDOV_LAYOUT_H

#include "common/scheme.h"
#include "loop.h"

/* The options by which a gradient is taken. */
struct method {
	const struct scheme *scheme; /* NULL: lanes */
	int64_t steps;               /* of the run; 0: not known, which REEL_ONLINE allows */
	uint64_t budget;             /* bytes of tapes and snapshots in memory; 0: no bound */
	const char *spill;           /* directory for data beyond it; or NULL */
	const char *restart;         /* file to go on from, with a scheme; or NULL */
	bool rounds;                 /* with a scheme: stored states are rounded */
	double tolerance;            /* to this part of the largest value of a field; 0: not now */
	bool looks_ahead;            /* with a scheme: threads record segments of their own */
};

struct layout {
	enum reel_planner planner;
	struct reel_problem problem; /* of segments */
	int64_t segment;             /* steps */
	uint64_t budget, slab_bytes;
	bool keeps_states_on_disk, spills_tapes;
};

/*
 * Opens and closes the pool and the store that a layout will open, before the number of steps is
 * known.
 */
void layout_require(const struct method *method, const struct loop *loop);

struct layout layout_create(const struct method *method, const struct loop *loop);

#endif
