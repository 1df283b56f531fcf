/* SPDX-License-Identifier: MIT */
/*
 * The steps as a reel_model, so that any of them can be run again from a snapshot. A step is two
 * spans on the tape that it is given: the state at its beginning, and its branches. All threads of
 * the team fill them, each with its blocks.
 */
#ifndef SEDOV_LOOP_H
#define SEDOV_LOOP_H

#include <reel/run.h>

#include "kernel/step.h"

/* The context of the callbacks, which are one thread's at a time; each has a team of its own. */
struct loop {
	const struct model *model;
	struct fields fields;
	struct state other; /* of the step that is reversed */
	int64_t steps;      /* if known; else 0 */
	int64_t known;      /* steps that have been run before */
	uint64_t problem;   /* a number by which a restart file is recognised */
};

/* The adjoint that reverse is passed. */
struct loop_adjoint {
	struct adjoint adjoint;
	struct state after; /* the state at the end of the step that is reversed next */
	real objective;
};

/* `steps` is for the progress bar, 0: unknown. */
struct loop loop_open(const struct model *model, const struct controls *controls, int64_t steps);
/* For callbacks that run steps of the same loop at the same time. */
struct loop loop_open_beside(const struct loop *loop);
void loop_close(struct loop *loop);

/* The callbacks: `state` is a struct state, `adjoint` a struct loop_adjoint. */
reel_model loop_model(const struct loop *loop);

/* The number of bytes that record() pushes for a step. */
size_t loop_step_bytes(const struct mesh *mesh);

/* For the options of a run: whether the loop ends before a step; the adjoint in restart files. */
bool loop_is_finished(void *loop, const void *state, int64_t step);
size_t loop_adjoint_bytes(const struct loop *loop);
int loop_save_adjoint(void *loop, const void *adjoint, void *bytes);
int loop_load_adjoint(void *loop, void *adjoint, const void *bytes);

#endif
