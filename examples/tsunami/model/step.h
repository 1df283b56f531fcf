/* SPDX-License-Identifier: MIT */
/*
 * Whole steps by a team of threads, each on its own rows, and the sweeps' other
 * operations on states.
 *
 * On several ranks the halo of a state is exchanged once a step, and so is the halo of its adjoint.
 * Between the stages nothing is exchanged: a rank also calculates the rows of the halo that later
 * stages of its own rows read, from the same numbers as the rank that owns them.
 */
#ifndef TSUNAMI_STEP_H
#define TSUNAMI_STEP_H

#include <stdint.h>

#include "common/parallel.h"
#include "ranks.h"
#include "shallow.h"

/* The rows of a stage that a thread calculates, and rows of the halo beside them. */
struct share {
	struct rows rows;
	int south, north; /* number of rows of the halo there */
};

static inline struct share share_of_thread(const struct model *model, int thread, int threads)
{
	struct rows own = own_rows(model);
	struct rows part = rows_of_part(own.last - own.first, thread, threads);

	return (struct share){
		.rows = {own.first + part.first, own.first + part.last},
		.south = thread == 0 ? own.first : 0,
		.north = thread == threads - 1 ? model->grid->rows - own.last : 0,
	};
}

/* The rows of a share, and at most `south` and `north` rows of the halo beside them. */
static inline struct rows widened(struct share share, int south, int north)
{
	return (struct rows){share.rows.first - (south < share.south ? south : share.south),
			     share.rows.last + (north < share.north ? north : share.north)};
}

/* By all threads of a team: the state that they have calculated gets its halo. */
static inline void exchange_halo(const struct model *model, struct state *state)
{
	if (!model->ranks)
		return;
	BARRIER
	if (thread_number() == 0)
		model->ranks->exchange(model->ranks, state);
}

/* Called by all threads of a team, after a barrier; the results are there after the next one. */
static inline void primal_step(const struct model *model, const double *depth,
			       const struct state *now, struct state *next,
			       struct diagnostics *diagnostics, struct share share)
{
	struct rows transport = widened(share, 1, 1), continuity = widened(share, 0, 1);

	primal_transport(model, depth, now, diagnostics, transport.first, transport.last);
	BARRIER
	primal_continuity(model, now, next, diagnostics, continuity.first, continuity.last);
	BARRIER
	primal_momentum(model, depth, now, next, diagnostics, share.rows.first, share.rows.last);
	exchange_halo(model, next);
}

/* The same for the adjoint of the step from `now` to `next`. */
static inline void adjoint_step(const struct model *model, const double *depth,
				const struct state *now, const struct state *next,
				struct state *adjoint, struct diagnostics *diagnostics,
				struct sensitivities *sensitivities, double *depth_gradient,
				struct share share)
{
	struct rows momentum = widened(share, 2, 1), continuity = widened(share, 1, 1);
	struct rows transport = widened(share, 1, 0);

	if (model->ranks && thread_number() == 0)
		model->ranks->exchange_reverse(model->ranks, adjoint);
	primal_transport(model, depth, now, diagnostics, continuity.first, continuity.last);
	if (model->ranks) {
		BARRIER
	}
	adjoint_momentum(model, depth, now, next, adjoint, sensitivities, momentum.first,
			 momentum.last);
	BARRIER
	adjoint_continuity(model, depth, now, diagnostics, adjoint, sensitivities, continuity.first,
			   continuity.last);
	BARRIER
	adjoint_transport(model, depth, now, diagnostics, adjoint, sensitivities, transport.first,
			  transport.last);
	BARRIER
	adjoint_depth(model, adjoint, sensitivities, depth_gradient, share.rows.first,
		      share.rows.last);
}

/* Whether the total depth is positive there; looked at in some of the steps and at the end. */
int step_is_wet(const struct model *model, const double *depth, const struct state *now,
		struct rows rows, int64_t step);

/*
 * Returns true if a cell of any rank is dry; `here` is true if one of this rank is. The main thread
 * of each rank calls it before each step whose depth is examined, so that all ranks stop in one
 * step.
 */
int is_dry_somewhere(const struct model *model, int here, int64_t step);

/* End the program for a state that is not wet, after `step` steps. By each rank. */
_Noreturn void report_dry(const struct model *model, const double *depth,
			  const struct state *state, int step);

/* The sea at the start: displaced and at rest. */
void state_start(const struct model *model, const double *displacement, struct state *state);

static inline void state_swap(struct state *a, struct state *b)
{
	struct state other = *a;

	*a = *b;
	*b = other;
}

/* The doubles of a row of a state, its rim not included. */
static inline size_t row_values(const struct grid *grid)
{
	return 3 * (size_t)grid->columns;
}

/* Rows of a state to packed[], from its beginning, and back. */
void state_pack(const struct grid *grid, const struct state *state, struct rows rows,
		double *packed);
void state_unpack(const struct grid *grid, struct state *state, struct rows rows,
		  const double *packed);

/* A field in the wet cells, 0 elsewhere. */
void copy_wet(const struct model *model, const double *source, double *target);

#endif
