/* SPDX-License-Identifier: MIT */
/*
 * The loop over the time steps as a reel_model: the state is an argument, so that any
 * step can be run again from a snapshot. A step pushes the state at its beginning on
 * the tape that it is given, in chunks of rows that its threads fill together.
 *
 * Of the model's callbacks, all but reverse may be called by several threads at a
 * time, each with a state and a tape of its own.
 */
#ifndef TSUNAMI_LOOP_H
#define TSUNAMI_LOOP_H

#include <pthread.h>

#include <reel/loss.h>
#include <reel/run.h>

#include "model/shallow.h"

/* The context of the callbacks. */
struct loop {
	const struct model *model;
	const double *depth;
	const double *displacement; /* at the start, by which a restart file is recognised */
	double *gauge;         /* [steps]: filled in as steps are run for the first time */
	const double *weights; /* [steps]: dJ/d(gauge), for reverse */
	int64_t known;         /* steps that have been run before */
	int64_t dry_step;      /* where the model stopped since a cell fell dry; or -1 */
	int chunk_rows;
	pthread_mutex_t lock;
	struct workspace *unused; /* guarded by the lock */
};

/* The adjoint that reverse is passed. */
struct adjoint {
	struct state state; /* dJ/d(state before the step reversed last) */
	struct state next;  /* that state; the last one of all at first */
	double *depth_gradient;
	struct sensitivities sensitivities;
};

/* `gauge` is the caller's. A chunk of rows is one span on the tape. */
void loop_open(struct loop *loop, const struct model *model, int chunk_rows);
void loop_close(struct loop *loop);

/* The callbacks: `state` is a struct state, `adjoint` a struct adjoint. */
reel_model loop_model(const struct loop *loop);

/* The fields of a snapshot, for the options of a run. */
enum { COMPONENTS = 3 };
void loop_list_fields(const struct grid *grid, struct reel_field field[COMPONENTS]);

/* For reel_run_options.finished: whether the loop ends before `step`. */
bool loop_is_finished(void *loop, const void *state, int64_t step);

struct adjoint adjoint_create(const struct grid *grid);
void adjoint_destroy(struct adjoint *adjoint);

#endif
