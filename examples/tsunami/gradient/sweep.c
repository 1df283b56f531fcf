/* SPDX-License-Identifier: MIT */
/*
 * All threads run the same loop over the steps, each on its own block of rows,
 * and meet at a barrier after each stage. With tapes the states lie on the tape,
 * each a collective span, and a step is calculated from one span to the next: no
 * state is copied. A thread notes that a cell has fallen dry before the first
 * barrier of a step, and all of them look at it after that, so that they stop in
 * the same step; it is reported after the loop. So do all ranks.
 */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/parallel.h"
#include "common/progress.h"
#include "common/report.h"
#include "model/step.h"

/* A thread's rows, and the step before which one of their cells had fallen dry; or -1. */
struct worker {
	struct share share;
	int dry_step;
};

static struct worker *share_out(const struct model *model, int threads)
{
	struct worker *workers = allocate((size_t)threads, sizeof(*workers));

	for (int t = 0; t < threads; t++)
		workers[t] = (struct worker){share_of_thread(model, t, threads), -1};
	return workers;
}

static int dry_step(const struct worker *workers, int threads)
{
	for (int t = 0; t < threads; t++)
		if (workers[t].dry_step >= 0)
			return workers[t].dry_step;
	return -1;
}

static _Noreturn void report_tape(const struct model *model, int error)
{
	fail("the tape stopped: %s; it needs %.0f MB for %d steps and some MB on top: choose %s"
	     "fewer --hours or a coarser --resolution", tapes_error_text(error),
	     (double)tapes_need(model->grid, model->steps) / 1e6, model->steps,
	     error == -EDQUOT ? "a larger --budget, " : "");
}

static void look_for_dry_cells(const struct model *model, const double *depth,
			       const struct state *now, struct worker *worker, int step)
{
	if (!step_is_wet(model, depth, now, worker->share.rows, step))
		worker->dry_step = step;
}

/* By all threads of the team. If a cell fell dry on one rank, all ranks stop. */
static void look_at_other_ranks(const struct model *model, struct worker *workers, int threads,
				int step)
{
	if (!model->ranks)
		return;
	BARRIER
	if (thread_number() == 0 && is_dry_somewhere(model, dry_step(workers, threads) >= 0, step))
		workers[0].dry_step = step;
}

/* A state on the tape, or that has no elements if the tape refused it. */
static struct state state_at(const struct grid *grid, const double *span)
{
	double *field = (double *)span;
	size_t elements = grid_elements(grid);

	return span ? (struct state){field, field + elements, field + 2 * elements}
		    : (struct state){0};
}

/*
 * Sets the rim of a state to 0. It is for states on the tape, whose steps do not write the rim: no
 * stage then reads the memory's earlier contents.
 */
static void clear_rim(const struct grid *grid, struct state *state, struct rows rows)
{
	double *field[] = {state->elevation, state->u, state->v};
	size_t row = (size_t)grid->stride * sizeof(double);

	for (int k = 0; k < 3; k++) {
		for (int j = rows.first; j < rows.last; j++) {
			double *here = field[k] + grid_row(grid, j);

			here[-1] = here[grid->columns] = 0.0;
		}
		if (rows.first == 0)
			memset(field[k], 0, row);
		if (rows.last == grid->rows)
			memset(field[k] + grid_row(grid, grid->rows) - 1, 0, row);
	}
}

/* The states of a forward sweep: two in turn, or a new one on the tape for each step. */
struct states {
	struct tapes *tapes;  /* NULL: none */
	reel_region *region;
	struct state now, next;
};

static struct states begin(const struct model *model, const double *displacement,
			   struct tapes *tapes)
{
	const struct grid *grid = model->grid;
	struct states states = {.tapes = tapes};

	if (tapes) {
		states.region = tapes_begin(tapes);
		states.now = state_at(grid, tapes_push_first(tapes, grid));
	} else {
		states.now = state_create(grid);
		states.next = state_create(grid);
	}
	if (states.now.elevation)
		state_start(model, displacement, &states.now);
	return states;
}

/*
 * By all threads of the team, which pass a barrier. Whether there is a state to write the step to.
 */
static int take_next(const struct grid *grid, reel_worker *lanes, struct share share,
		     struct state *next)
{
	if (!lanes) {
		BARRIER
		return 1;
	}
	*next = state_at(grid, tapes_push_next(lanes, grid));
	if (next->elevation)
		clear_rim(grid, next, widened(share, HALO_ROWS, HALO_ROWS));
	return next->elevation != NULL;
}

void forward_sweep(const struct model *model, const struct controls *controls, int threads,
		   struct tapes *tapes, double *gauge)
{
	const struct grid *grid = model->grid;
	const double *depth = controls->depth;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct worker *workers = share_out(model, threads);
	struct states states = begin(model, controls->displacement, tapes);
	struct diagnostics diagnostics = diagnostics_create(grid);
	int error = 0;

	PARALLEL_REGION
	{
		int thread = thread_number();
		struct worker *worker = &workers[thread];
		struct state now = states.now, next = states.next;
		reel_worker lanes;

		if (tapes)
			lanes = reel_worker_of(states.region);
		for (int step = 0; now.elevation; step++) {
			look_for_dry_cells(model, depth, &now, worker, step);
			look_at_other_ranks(model, workers, threads, step);
			if (step == model->steps) {
				BARRIER
				break;
			}
			if (!take_next(grid, tapes ? &lanes : NULL, worker->share, &next) ||
			    dry_step(workers, threads) >= 0)
				break;
			primal_step(model, depth, &now, &next, &diagnostics, worker->share);
			if (rows_hold(worker->share.rows, model->gauge_row))
				gauge[step] = next.elevation[gauge_place];
			state_swap(&now, &next);
			if (thread == 0)
				progress_show(tapes ? "forward sweep" : "primal run", step + 1,
					      model->steps);
		}
		if (thread == 0) {
			states.now = now;
			states.next = next;
		}
	}
	progress_clear();
	if (tapes)
		error = tapes_end(tapes, states.region);
	if (error)
		report_tape(model, error);
	if (dry_step(workers, threads) >= 0)
		report_dry(model, depth, &states.now, dry_step(workers, threads));
	if (!tapes) {
		state_destroy(&states.now);
		state_destroy(&states.next);
	}
	diagnostics_destroy(&diagnostics);
	free(workers);
}

void reverse_sweep(const struct model *model, const double *depth, int threads,
		   struct tapes *tapes, const double *weights, struct controls *gradient)
{
	const struct grid *grid = model->grid;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct state adjoint = state_create(grid);
	struct diagnostics diagnostics = diagnostics_create(grid);
	struct sensitivities sensitivities = sensitivities_create(grid);
	double *depth_gradient = grid_field(grid);
	reel_region *region = tapes_reverse(tapes);
	struct state last = state_at(grid, tapes_pop_last(tapes, grid));
	int error;

	PARALLEL_REGION
	{
		int thread = thread_number();
		struct share share = share_of_thread(model, thread, threads);
		struct state now, next = last;
		reel_worker lanes = reel_worker_of(region);

		for (int step = model->steps; step-- > 0; next = now) {
			if (rows_hold(share.rows, model->gauge_row))
				adjoint.elevation[gauge_place] += weights[step];
			now = state_at(grid, tapes_pop_next(&lanes, grid));
			if (!now.elevation || !next.elevation)
				break;
			adjoint_step(model, depth, &now, &next, &adjoint, &diagnostics,
				     &sensitivities, depth_gradient, share);
			if (thread == 0)
				progress_show("reverse sweep", model->steps - step, model->steps);
		}
	}
	progress_clear();
	error = tapes_end(tapes, region);
	if (error)
		report_tape(model, error);
	copy_wet(model, adjoint.elevation, gradient->displacement);
	copy_wet(model, depth_gradient, gradient->depth);
	state_destroy(&adjoint);
	diagnostics_destroy(&diagnostics);
	sensitivities_destroy(&sensitivities);
	free(depth_gradient);
}

void tangent_sweep(const struct model *model, const struct controls *controls,
		   const struct controls *direction, int threads, double *d_gauge)
{
	const struct grid *grid = model->grid;
	const double *depth = controls->depth, *d_depth = direction->depth;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct worker *workers = share_out(model, threads);
	struct state start = state_create(grid), other = state_create(grid);
	struct state d_start = state_create(grid), d_other = state_create(grid);
	struct diagnostics diagnostics = diagnostics_create(grid);
	struct diagnostics d_diagnostics = diagnostics_create(grid);

	state_start(model, controls->displacement, &start);
	state_start(model, direction->displacement, &d_start);
	PARALLEL_REGION
	{
		int thread = thread_number();
		struct worker *worker = &workers[thread];
		struct rows rows = worker->share.rows;
		struct rows transport = widened(worker->share, 1, 1);
		struct rows continuity = widened(worker->share, 0, 1);
		struct state now = start, next = other, d_now = d_start, d_next = d_other;

		for (int step = 0; step < model->steps; step++) {
			BARRIER
			primal_transport(model, depth, &now, &diagnostics, transport.first,
					 transport.last);
			tangent_transport(model, depth, &now, d_depth, &d_now, &diagnostics,
					  &d_diagnostics, transport.first, transport.last);
			BARRIER
			primal_continuity(model, &now, &next, &diagnostics, continuity.first,
					  continuity.last);
			tangent_continuity(model, &now, &d_now, &d_next, &d_diagnostics,
					   continuity.first, continuity.last);
			BARRIER
			primal_momentum(model, depth, &now, &next, &diagnostics, rows.first,
					rows.last);
			tangent_momentum(model, depth, &now, &next, &diagnostics, d_depth, &d_now,
					 &d_next, &d_diagnostics, rows.first, rows.last);
			exchange_halo(model, &next);
			exchange_halo(model, &d_next);
			if (rows_hold(rows, model->gauge_row))
				d_gauge[step] = d_next.elevation[gauge_place];
			state_swap(&now, &next);
			state_swap(&d_now, &d_next);
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
	free(workers);
}
