/* SPDX-License-Identifier: MIT */
/*
 * Whole steps by a team of threads, each on its own rows, and what the sweeps do
 * with states besides.
 */
#ifndef TSUNAMI_STEP_H
#define TSUNAMI_STEP_H

#include <stdint.h>

#include "common/parallel.h"
#include "shallow.h"

/* A block of rows, first <= row < last. */
struct rows {
	int first, last;
};

/* The rows of a thread of the team. */
static inline struct rows rows_of_thread(int rows, int thread, int threads)
{
	return (struct rows){(int)((long long)rows * thread / threads),
			     (int)((long long)rows * (thread + 1) / threads)};
}

static inline int rows_hold(struct rows rows, int row)
{
	return rows.first <= row && row < rows.last;
}

/* Called by all threads of a team, after a barrier; the results are there after the next one. */
static inline void primal_step(const struct model *model, const double *depth,
			       const struct state *now, struct state *next,
			       struct diagnostics *diagnostics, struct rows rows)
{
	primal_transport(model, depth, now, diagnostics, rows.first, rows.last);
	BARRIER
	primal_continuity(model, now, next, diagnostics, rows.first, rows.last);
	BARRIER
	primal_momentum(model, depth, now, next, diagnostics, rows.first, rows.last);
}

/* The same for the adjoint of the step from `now` to `next`. */
static inline void adjoint_step(const struct model *model, const double *depth,
				const struct state *now, const struct state *next,
				struct state *adjoint, struct diagnostics *diagnostics,
				struct sensitivities *sensitivities, double *depth_gradient,
				struct rows rows)
{
	primal_transport(model, depth, now, diagnostics, rows.first, rows.last);
	adjoint_momentum(model, depth, now, next, adjoint, sensitivities, rows.first, rows.last);
	BARRIER
	adjoint_continuity(model, depth, now, diagnostics, adjoint, sensitivities, rows.first,
			   rows.last);
	BARRIER
	adjoint_transport(model, depth, now, diagnostics, adjoint, sensitivities, rows.first,
			  rows.last);
	BARRIER
	adjoint_depth(model, adjoint, sensitivities, depth_gradient, rows.first, rows.last);
}

/* Whether the total depth is positive there; looked at in some of the steps and at the end. */
int step_is_wet(const struct model *model, const double *depth, const struct state *now,
		struct rows rows, int64_t step);

/* End the program for a state that is not wet, after so many steps. */
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
