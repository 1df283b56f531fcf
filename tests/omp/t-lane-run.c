/* SPDX-License-Identifier: MIT */
/*
 * Tests runs whose steps are regions, with a root in the context: the gradient by each planner has
 * the bits of a sweep without checkpoints, and the root is empty afterwards.
 */
#include "config.h"

#include "helpers/support.h"

#include <reel/region.h>

#include "helpers/recurrence.h"
#include "helpers/thread-team.h"

enum { CELLS = 30, LANES = 3 };

struct cells {
	double x[CELLS];
};

/* Data of a step of the loop for the threads of a team. */
struct context {
	reel_lane *root;
	reel_region *region;
	int threads;
	double *x; /* the state, or in the reverse sweep the adjoint */
	int64_t step;
	bool reverse;
};

static void forward_lane(const struct context *context, reel_lane *lane)
{
	double *x = context->x;

	REEL_FOR(lane, int, i, 0, CELLS, reel_dynamic(4)) {
		reel_push(reel_lane_tape(lane), x[i]);
		x[i] = 1.5 * sin(x[i] + (double)context->step);
	}
}

static void reverse_lane(const struct context *context, reel_lane *lane)
{
	REEL_FOR_REVERSE(lane, int, i, 0, CELLS, reel_dynamic(4))
		context->x[i] *= 1.5 * cos(reel_pop(reel_lane_tape(lane), double) +
					   (double)context->step);
}

static void run_lanes(const struct member *member)
{
	const struct context *context = member->team->context;
	reel_worker worker =
		reel_worker_begin(context->region, member->number, member->team->threads);

	REEL_LANES(worker, lane) {
		if (context->reverse)
			reverse_lane(context, lane);
		else
			forward_lane(context, lane);
	}
}

static int run_step(struct context *context, void *x, int64_t step, bool reverse)
{
	context->x = x;
	context->step = step;
	context->reverse = reverse;
	context->region = reverse ? reel_region_reverse(context->root)
				  : reel_region_begin(context->root, LANES);
	run_team(context->threads, run_lanes, context);
	return reel_region_end(context->region);
}

static int advance_cells(void *context, void *state, int64_t first, int64_t last)
{
	double *x = state;

	(void)context;
	for (int64_t step = first; step < last; step++)
		for (int i = 0; i < CELLS; i++)
			x[i] = 1.5 * sin(x[i] + (double)step);
	return 0;
}

static int record_cells(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	int error = 0;

	(void)tape;
	for (int64_t step = first; step < last && !error; step++)
		error = run_step(context, state, step, false);
	return error;
}

static int reverse_cells(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	int error = 0;

	(void)tape;
	for (int64_t step = last; step-- > first && !error;)
		error = run_step(context, adjoint, step, true);
	return error;
}

static const reel_model model = {sizeof(struct cells), advance_cells, record_cells,
				 reverse_cells,        NULL,          NULL};

static struct cells begun(void)
{
	struct cells cells;

	for (int i = 0; i < CELLS; i++)
		cells.x[i] = 1. / (i + 1);
	return cells;
}

static struct cells without_checkpoints(struct context *context, int64_t steps)
{
	struct cells state = begun(), bar = begun();

	record_cells(context, &state, 0, steps, NULL);
	reverse_cells(context, &bar, 0, steps, NULL);
	return bar;
}

static void test_planner(enum reel_planner planner, int64_t steps)
{
	struct context context = {.threads = 2};
	struct reel_run_options options = {0};
	struct cells state = begun(), bar = begun(), right;
	reel_plan *plan = plan_for(planner, steps, 4);
	reel_run *run = open_checkpoint(plan, &model, &options);

	reel_lane_open(&context.root, NULL, REEL_CHECKED);
	right = without_checkpoints(&context, steps);
	is_int(reel_run_forward(run, &context, &state), 0, "%s: %lld steps",
	       reel_planner_name(planner), (long long)steps);
	context.threads = 3;
	is_int(reel_run_reverse(run, &context, &state, &bar), 0, "and back");
	ok(!memcmp(&bar, &right, sizeof right),
	   "the adjoint is that of a sweep without checkpoints");
	ok(reel_lane_is_empty(context.root), "nothing is left");
	reel_run_close(run);
	reel_plan_close(plan);
	reel_lane_close(context.root);
}

int main(void)
{
	tap_begin();
	for (enum reel_planner planner = 0; planner < REEL_PLANNERS; planner++) {
		test_planner(planner, 3);
		test_planner(planner, 40);
	}
	return tap_end();
}
