/* SPDX-License-Identifier: MIT */
/*
 * All threads run the same loop over the steps, each on its own block of rows,
 * and meet at a barrier after each stage. What can go wrong is noted by a
 * thread before the first barrier of a step and looked at by all of them after
 * it, so that they stop in the same step; it is reported after the loop.
 */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "progress.h"
#include "report.h"

/* The total depth is looked at once in so many steps, and at the end. */
#define DEPTH_CHECK_INTERVAL 8

enum trouble { NO_TROUBLE, FELL_DRY, TAPE_TROUBLE };

/* A thread's block of rows, first <= row < last, and what went wrong in it. */
struct share {
	int first, last;
	enum trouble trouble;
	int tape_error;
	int step;
};

static struct share *share_out(int rows, int threads)
{
	struct share *shares = allocate((size_t)threads, sizeof(*shares));

	for (int t = 0; t < threads; t++) {
		shares[t].first = (int)((long long)rows * t / threads);
		shares[t].last = (int)((long long)rows * (t + 1) / threads);
	}
	return shares;
}

static const struct share *first_in_trouble(const struct share *shares, int threads)
{
	for (int t = 0; t < threads; t++)
		if (shares[t].trouble != NO_TROUBLE)
			return &shares[t];
	return NULL;
}

static int owns(const struct share *share, int row)
{
	return share->first <= row && row < share->last;
}

static void swap_states(struct state *a, struct state *b)
{
	struct state other = *a;

	*a = *b;
	*b = other;
}

static _Noreturn void report_dry(const struct model *model, const double *depth,
				 const struct state *state, int step)
{
	const struct grid *grid = model->grid;

	for (int j = 0; j < grid->rows; j++)
		for (int i = 0; i < grid->columns; i++) {
			double total = depth[grid_row(grid, j) + i] +
				       state->elevation[grid_row(grid, j) + i];

			if (!(total > 0.0))
				fail("the total depth is %.3g m at latitude %.2f, longitude %.2f "
				     "after %d steps (%.2f h): choose a larger --min-depth or a "
				     "smaller --time-step", total, grid_latitude(grid, j),
				     grid_longitude(grid, i), step,
				     step * model->time_step / 3600.0);
		}
	fail("the total depth was not positive after %d steps: choose a larger --min-depth",
	     step);
}

static _Noreturn void report_tape(const struct model *model, int threads, int error)
{
	uint64_t cells = (uint64_t)model->grid->rows * (uint64_t)model->grid->columns;
	double need = (double)tapes_need(cells, (uint64_t)model->steps);

	fail("the tape of %d thread%s stopped: %s; it needs %.0f MB for %d steps and some MB per "
	     "thread on top: choose a larger --budget, fewer --hours or a coarser --resolution",
	     threads, threads == 1 ? "" : "s", tapes_error_text(error), need / 1e6,
	     model->steps);
}

static void look_for_trouble(const struct model *model, const double *depth,
			     const struct state *now, struct share *share, int step)
{
	if (step % DEPTH_CHECK_INTERVAL == 0 || step == model->steps)
		if (!primal_is_wet(model, depth, now, share->first, share->last)) {
			share->trouble = FELL_DRY;
			share->step = step;
		}
}

static void push_rows(const struct model *model, struct tapes *tapes, int thread,
		      const struct state *now, struct share *share)
{
	for (int j = share->first; j < share->last; j++) {
		ptrdiff_t here = grid_row(model->grid, j);
		int error = tapes_push_row(tapes, thread, model->grid->columns,
					   now->elevation + here, now->u + here, now->v + here);

		if (error) {
			share->trouble = TAPE_TROUBLE;
			share->tape_error = error;
			return;
		}
	}
}

static void pop_rows(const struct model *model, struct tapes *tapes, int thread,
		     struct state *now, struct share *share)
{
	for (int j = share->last; j-- > share->first;) {
		ptrdiff_t here = grid_row(model->grid, j);
		int error = tapes_pop_row(tapes, thread, model->grid->columns,
					  now->elevation + here, now->u + here, now->v + here);

		if (error) {
			share->trouble = TAPE_TROUBLE;
			share->tape_error = error;
			return;
		}
	}
}

static void start_from(const struct model *model, const double *displacement,
		       struct state *state)
{
	size_t bytes = grid_elements(model->grid) * sizeof(double);

	memcpy(state->elevation, displacement, bytes);
	memset(state->u, 0, bytes);
	memset(state->v, 0, bytes);
}

void forward_sweep(const struct model *model, const struct controls *controls, int threads,
		   struct tapes *tapes, double *gauge, struct state *final)
{
	const struct grid *grid = model->grid;
	const double *depth = controls->depth;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct share *shares = share_out(grid->rows, threads);
	struct state start = state_create(grid), other = state_create(grid);
	struct diagnostics diagnostics = diagnostics_create(grid);
	const struct share *stopped;

	start_from(model, controls->displacement, &start);
	PARALLEL_REGION
	{
		int thread = thread_number();
		struct share *share = &shares[thread];
		struct state now = start, next = other;

		for (int step = 0; step <= model->steps; step++) {
			look_for_trouble(model, depth, &now, share, step);
			if (tapes && step < model->steps)
				push_rows(model, tapes, thread, &now, share);
			BARRIER
			if (step == model->steps || first_in_trouble(shares, threads))
				break;
			primal_transport(model, depth, &now, &diagnostics, share->first,
					 share->last);
			BARRIER
			primal_continuity(model, &now, &next, &diagnostics, share->first,
					  share->last);
			BARRIER
			primal_momentum(model, depth, &now, &next, &diagnostics, share->first,
					share->last);
			if (owns(share, model->gauge_row))
				gauge[step] = next.elevation[gauge_place];
			swap_states(&now, &next);
			if (thread == 0)
				progress_show(tapes ? "forward sweep" : "primal run", step + 1,
					      model->steps);
		}
		if (thread == 0) {
			start = now;
			other = next;
		}
	}
	progress_clear();
	stopped = first_in_trouble(shares, threads);
	if (stopped && stopped->trouble == TAPE_TROUBLE)
		report_tape(model, threads, stopped->tape_error);
	if (stopped)
		report_dry(model, depth, &start, stopped->step);
	swap_states(final, &start);
	state_destroy(&start);
	state_destroy(&other);
	diagnostics_destroy(&diagnostics);
	free(shares);
}

static void copy_wet(const struct model *model, const double *source, double *target)
{
	size_t elements = grid_elements(model->grid);

	for (size_t k = 0; k < elements; k++)
		target[k] = model->wet[k] * source[k];
}

void reverse_sweep(const struct model *model, const double *depth, int threads,
		   struct tapes *tapes, const double *weights, struct state *final,
		   struct controls *gradient)
{
	const struct grid *grid = model->grid;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct share *shares = share_out(grid->rows, threads);
	struct state adjoint = state_create(grid), other = state_create(grid);
	struct diagnostics diagnostics = diagnostics_create(grid);
	struct sensitivities sensitivities = sensitivities_create(grid);
	double *depth_gradient = grid_field(grid);
	const struct share *stopped;

	PARALLEL_REGION
	{
		int thread = thread_number();
		struct share *share = &shares[thread];
		struct state now = other, next = *final;

		for (int step = model->steps; step-- > 0;) {
			pop_rows(model, tapes, thread, &now, share);
			if (owns(share, model->gauge_row))
				adjoint.elevation[gauge_place] += weights[step];
			BARRIER
			if (first_in_trouble(shares, threads))
				break;
			primal_transport(model, depth, &now, &diagnostics, share->first,
					 share->last);
			adjoint_momentum(model, depth, &now, &next, &adjoint, &sensitivities,
					 share->first, share->last);
			BARRIER
			adjoint_continuity(model, depth, &now, &diagnostics, &adjoint,
					   &sensitivities, share->first, share->last);
			BARRIER
			adjoint_transport(model, depth, &now, &diagnostics, &adjoint,
					  &sensitivities, share->first, share->last);
			BARRIER
			adjoint_depth(model, &adjoint, &sensitivities, depth_gradient,
				      share->first, share->last);
			swap_states(&now, &next);
			if (thread == 0)
				progress_show("reverse sweep", model->steps - step, model->steps);
		}
	}
	progress_clear();
	stopped = first_in_trouble(shares, threads);
	if (stopped)
		report_tape(model, threads, stopped->tape_error);
	copy_wet(model, adjoint.elevation, gradient->displacement);
	copy_wet(model, depth_gradient, gradient->depth);
	state_destroy(&adjoint);
	state_destroy(&other);
	diagnostics_destroy(&diagnostics);
	sensitivities_destroy(&sensitivities);
	free(depth_gradient);
	free(shares);
}

void tangent_sweep(const struct model *model, const struct controls *controls,
		   const struct controls *direction, int threads, double *d_gauge)
{
	const struct grid *grid = model->grid;
	const double *depth = controls->depth, *d_depth = direction->depth;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct share *shares = share_out(grid->rows, threads);
	struct state start = state_create(grid), other = state_create(grid);
	struct state d_start = state_create(grid), d_other = state_create(grid);
	struct diagnostics diagnostics = diagnostics_create(grid);
	struct diagnostics d_diagnostics = diagnostics_create(grid);

	start_from(model, controls->displacement, &start);
	start_from(model, direction->displacement, &d_start);
	PARALLEL_REGION
	{
		int thread = thread_number();
		struct share *share = &shares[thread];
		int first = share->first, last = share->last;
		struct state now = start, next = other, d_now = d_start, d_next = d_other;

		for (int step = 0; step < model->steps; step++) {
			BARRIER
			primal_transport(model, depth, &now, &diagnostics, first, last);
			tangent_transport(model, depth, &now, d_depth, &d_now, &diagnostics,
					  &d_diagnostics, first, last);
			BARRIER
			primal_continuity(model, &now, &next, &diagnostics, first, last);
			tangent_continuity(model, &now, &d_now, &d_next, &d_diagnostics, first,
					   last);
			BARRIER
			primal_momentum(model, depth, &now, &next, &diagnostics, first, last);
			tangent_momentum(model, depth, &now, &next, &diagnostics, d_depth, &d_now,
					 &d_next, &d_diagnostics, first, last);
			if (owns(share, model->gauge_row))
				d_gauge[step] = d_next.elevation[gauge_place];
			swap_states(&now, &next);
			swap_states(&d_now, &d_next);
			if (thread == 0)
				progress_show("tangent run", step + 1, model->steps);
		}
	}
	progress_clear();
	state_destroy(&start);
	state_destroy(&other);
	state_destroy(&d_start);
	state_destroy(&d_other);
	diagnostics_destroy(&diagnostics);
	diagnostics_destroy(&d_diagnostics);
	free(shares);
}
