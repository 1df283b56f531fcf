/* SPDX-License-Identifier: MIT */
/*
 * A lane records the state of its blocks at the beginning of each step, and which way their
 * branches went. A step is two phases: the state, then the branches.
 */
#include "sweep.h"

#include <errno.h>

#include <reel.h>

#include "common/parallel.h"
#include "common/report.h"
#include "pack.h"

static struct part part_of_lane(const struct fields *fields, const reel_lane *lane)
{
	return part_of(fields, reel_lane_index(lane), reel_lane_count(lane));
}

/* Returns no error: it sticks to the tape, and reel_region_end() returns it. */
static void push_state(reel_lane *lane, const struct fields *fields, const struct state *state)
{
	struct part part = part_of_lane(fields, lane);
	double *span = reel_push_span(reel_lane_tape(lane), double, state_bytes(part) / 8);

	if (span)
		state_pack(state, part, part, span);
}

static void pop_state(reel_lane *lane, const struct fields *fields, struct state *state)
{
	struct part part = part_of_lane(fields, lane);
	const double *span = reel_pop_span(reel_lane_tape(lane), double, state_bytes(part) / 8);

	if (span)
		state_unpack(state, part, part, span);
}

static void push_branches(reel_lane *lane, const struct fields *fields)
{
	struct part part = part_of_lane(fields, lane);
	double *span = reel_push_span(reel_lane_tape(lane), double, branch_bytes(part) / 8);

	if (span)
		branches_pack(fields->branches, fields->stopped, part, part, span);
}

static void pop_branches(reel_lane *lane, const struct fields *fields, struct adjoint *adjoint)
{
	struct part part = part_of_lane(fields, lane);
	const double *span = reel_pop_span(reel_lane_tape(lane), double, branch_bytes(part) / 8);

	if (span)
		branches_unpack(adjoint->branches, adjoint->stopped, part, part, span);
}

/* The barriers of the step are those between the two phases. */
static bool record_step(const struct model *model, struct state *state, struct fields *fields,
			reel_worker *worker)
{
	bool usable;

	while (reel_worker_next(worker))
		push_state(worker->lane, fields, state);
	usable = step_forward(model, state, fields);
	reel_worker_next_phase(worker);
	while (reel_worker_next(worker))
		push_branches(worker->lane, fields);
	reel_worker_phase(worker);
	return usable;
}

static void require_tape(int error)
{
	if (error)
		fail("the tape stopped: %s%s", reel_error_text(error),
		     error == -EDQUOT ? "; choose a larger --budget, or --checkpoint" : "");
}

void forward_sweep(const struct model *model, struct state *state, int max_steps, reel_lane *root,
		   int lanes)
{
	struct fields fields = fields_create(model->mesh);
	reel_region *region = root ? reel_region_begin(root, lanes) : NULL;

	PARALLEL_REGION
	{
		reel_worker worker;
		bool usable = true;

		if (root)
			worker = reel_worker_of(region);
		for (int step = 0; usable && (!max_steps || step < max_steps) &&
				   !run_is_finished(model, state); step++)
			usable = root ? record_step(model, state, &fields, &worker)
				      : step_forward(model, state, &fields);
	}
	if (root)
		require_tape(reel_region_end(region));
	if (fields.trouble)
		report_trouble(&fields, state);
	fields_destroy(&fields);
}

/* The state of the step that is reversed next is popped into the array that is free. */
static void unrecord_step(const struct model *model, struct state *before, struct state *after,
			  struct fields *fields, struct adjoint *adjoint, reel_worker *worker)
{
	reel_worker_phase(worker);
	while (reel_worker_next(worker))
		pop_branches(worker->lane, fields, adjoint);
	reel_worker_phase(worker);
	while (reel_worker_next(worker))
		pop_state(worker->lane, fields, before);
	step_reverse(model, before, after, fields, adjoint);
}

void reverse_sweep(const struct model *model, struct state *state, reel_lane *root,
		   struct adjoint *adjoint)
{
	struct fields fields = fields_create(model->mesh);
	struct state other = state_create(model->mesh);
	reel_region *region = reel_region_reverse(root);
	int steps = state->clock.steps;

	PARALLEL_REGION
	{
		reel_worker worker = reel_worker_of(region);

		for (int step = steps; step-- > 0;) {
			int even = (steps - step) % 2;

			unrecord_step(model, even ? &other : state, even ? state : &other, &fields,
				      adjoint, &worker);
		}
	}
	require_tape(reel_region_end(region));
	state_destroy(&other);
	fields_destroy(&fields);
}
