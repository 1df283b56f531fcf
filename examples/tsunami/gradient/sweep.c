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
#include "program/progress.h"
#include "model/report.h"
#include "model/step.h"

enum trouble { NO_TROUBLE, FELL_DRY, TAPE_TROUBLE };

/* A thread's rows, and what went wrong in them. */
struct worker {
	struct rows rows;
	enum trouble trouble;
	int tape_error;
	int step;
};

static struct worker *share_out(int rows, int threads)
{
	struct worker *workers = allocate((size_t)threads, sizeof(*workers));

	for (int t = 0; t < threads; t++)
		workers[t].rows = rows_of_thread(rows, t, threads);
	return workers;
}

static const struct worker *first_in_trouble(const struct worker *workers, int threads)
{
	for (int t = 0; t < threads; t++)
		if (workers[t].trouble != NO_TROUBLE)
			return &workers[t];
	return NULL;
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
			     const struct state *now, struct worker *worker, int step)
{
	if (!step_is_wet(model, depth, now, worker->rows, step)) {
		worker->trouble = FELL_DRY;
		worker->step = step;
	}
}

static struct rows rows_of_lane(const struct model *model, const reel_lane *lane)
{
	return rows_of_thread(model->grid->rows, reel_lane_index(lane), reel_lane_count(lane));
}

static void note_tape_error(struct worker *worker, int error)
{
	if (!error)
		return;
	worker->trouble = TAPE_TROUBLE;
	worker->tape_error = error;
}

/* The rows of the lanes that the thread takes in this step; in the forward sweep its own. */
static void push_rows(const struct model *model, reel_worker *lanes, const struct state *now,
		      struct worker *worker)
{
	while (reel_worker_next(lanes)) {
		struct rows rows = rows_of_lane(model, lanes->lane);

		for (int j = rows.first; j < rows.last; j++) {
			ptrdiff_t here = grid_row(model->grid, j);

			note_tape_error(worker, tapes_push_row(lanes->lane, model->grid->columns,
							       now->elevation + here, now->u + here,
							       now->v + here));
		}
	}
}

static void pop_rows(const struct model *model, reel_worker *lanes, struct state *now,
		     struct worker *worker)
{
	while (reel_worker_next(lanes)) {
		struct rows rows = rows_of_lane(model, lanes->lane);

		for (int j = rows.last; j-- > rows.first;) {
			ptrdiff_t here = grid_row(model->grid, j);

			note_tape_error(worker, tapes_pop_row(lanes->lane, model->grid->columns,
							      now->elevation + here, now->u + here,
							      now->v + here));
		}
	}
}

void forward_sweep(const struct model *model, const struct controls *controls, int threads,
		   struct tapes *tapes, double *gauge, struct state *final)
{
	const struct grid *grid = model->grid;
	const double *depth = controls->depth;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct worker *workers = share_out(grid->rows, threads);
	struct state start = state_create(grid), other = state_create(grid);
	struct diagnostics diagnostics = diagnostics_create(grid);
	reel_region *region = tapes ? tapes_begin(tapes) : NULL;
	const struct worker *stopped;

	state_start(model, controls->displacement, &start);
	PARALLEL_REGION
	{
		int thread = thread_number();
		struct worker *worker = &workers[thread];
		struct state now = start, next = other;
		reel_worker lanes;

		if (tapes)
			lanes = reel_worker_of(region);
		for (int step = 0; step <= model->steps; step++) {
			look_for_trouble(model, depth, &now, worker, step);
			if (tapes && step < model->steps)
				push_rows(model, &lanes, &now, worker);
			BARRIER
			if (step == model->steps || first_in_trouble(workers, threads))
				break;
			if (tapes)
				reel_worker_next_phase(&lanes);
			primal_step(model, depth, &now, &next, &diagnostics, worker->rows);
			if (rows_hold(worker->rows, model->gauge_row))
				gauge[step] = next.elevation[gauge_place];
			state_swap(&now, &next);
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
	note_tape_error(&workers[0], tapes ? reel_region_end(region) : 0);
	stopped = first_in_trouble(workers, threads);
	if (stopped && stopped->trouble == TAPE_TROUBLE)
		report_tape(model, threads, stopped->tape_error);
	if (stopped)
		report_dry(model, depth, &start, stopped->step);
	state_swap(final, &start);
	state_destroy(&start);
	state_destroy(&other);
	diagnostics_destroy(&diagnostics);
	free(workers);
}

void reverse_sweep(const struct model *model, const double *depth, int threads,
		   struct tapes *tapes, const double *weights, struct state *final,
		   struct controls *gradient)
{
	const struct grid *grid = model->grid;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct worker *workers = share_out(grid->rows, threads);
	struct state adjoint = state_create(grid), other = state_create(grid);
	struct diagnostics diagnostics = diagnostics_create(grid);
	struct sensitivities sensitivities = sensitivities_create(grid);
	double *depth_gradient = grid_field(grid);
	reel_region *region = tapes_reverse(tapes);
	const struct worker *stopped;

	PARALLEL_REGION
	{
		int thread = thread_number();
		struct worker *worker = &workers[thread];
		struct state now = other, next = *final;
		reel_worker lanes = reel_worker_of(region);

		for (int step = model->steps; step-- > 0;) {
			reel_worker_phase(&lanes);
			pop_rows(model, &lanes, &now, worker);
			if (rows_hold(worker->rows, model->gauge_row))
				adjoint.elevation[gauge_place] += weights[step];
			BARRIER
			if (first_in_trouble(workers, threads))
				break;
			adjoint_step(model, depth, &now, &next, &adjoint, &diagnostics,
				     &sensitivities, depth_gradient, worker->rows);
			state_swap(&now, &next);
			if (thread == 0)
				progress_show("reverse sweep", model->steps - step, model->steps);
		}
	}
	progress_clear();
	note_tape_error(&workers[0], reel_region_end(region));
	stopped = first_in_trouble(workers, threads);
	if (stopped)
		report_tape(model, threads, stopped->tape_error);
	copy_wet(model, adjoint.elevation, gradient->displacement);
	copy_wet(model, depth_gradient, gradient->depth);
	state_destroy(&adjoint);
	state_destroy(&other);
	diagnostics_destroy(&diagnostics);
	sensitivities_destroy(&sensitivities);
	free(depth_gradient);
	free(workers);
}

void tangent_sweep(const struct model *model, const struct controls *controls,
		   const struct controls *direction, int threads, double *d_gauge)
{
	const struct grid *grid = model->grid;
	const double *depth = controls->depth, *d_depth = direction->depth;
	ptrdiff_t gauge_place = grid_row(grid, model->gauge_row) + model->gauge_column;
	struct worker *workers = share_out(grid->rows, threads);
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
		int first = worker->rows.first, last = worker->rows.last;
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
			if (rows_hold(worker->rows, model->gauge_row))
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
