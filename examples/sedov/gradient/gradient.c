/* SPDX-License-Identifier: MIT */
#include "gradient.h"

#include <errno.h>

#include <reel.h>

#include "common/progress.h"
#include "common/report.h"
#include "loop.h"
#include "sweep.h"

/* The hierarchical planners and REEL_MIXED have tables of that many rows. */
#define MOST_SEGMENTS 500

static void keep_silent(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

static reel_store *open_store(const char *directory)
{
	reel_store *store;

	if (reel_store_open(&store, "file", directory))
		fail("--spill %s: %s", directory, reel_error_text(0));
	return store;
}

/* Where the plan has a tier on the disk, that has the directory, and tapes do not spill. */
static reel_pool *open_pool(const struct method *method)
{
	struct reel_pool_options options = {.hard_budget = (size_t)method->budget};
	reel_pool *pool;
	int error;

	if (method->spill && method->budget &&
	    (!method->scheme || !scheme_has_disk(method->scheme)))
		options.store = open_store(method->spill);
	reel_set_error_handler(keep_silent, NULL);
	error = reel_pool_open(&pool, &options);
	if (error)
		fail("no pool for the tapes: %s; choose a larger --budget", reel_error_text(error));
	return pool;
}

static void take_pool_cost(reel_pool *pool, struct cost *cost)
{
	struct reel_pool_stats stats;

	reel_pool_get_stats(pool, &stats);
	cost->resident_bytes = stats.peak_resident_bytes;
	cost->spilled_bytes += stats.written_bytes;
}

static double gradient_by_lanes(const struct model *model, enum objective objective,
				reel_pool *pool, struct state *state, struct adjoint *adjoint,
				struct cost *cost)
{
	double start = wall_time(), value;
	reel_lane *root;

	if (reel_lane_open(&root, pool, 0))
		fail("no memory for the tapes");
	forward_sweep(model, state, 0, root, 0);
	cost->forward_seconds = wall_time() - start;
	cost->steps = state->clock.steps;
	cost->tape_bytes = reel_lane_bytes(root);
	value = objective_of(objective, model, state);
	objective_reverse(objective, model, state, adjoint);
	start = wall_time();
	reverse_sweep(model, state, root, adjoint);
	cost->reverse_seconds = wall_time() - start;
	reel_lane_close(root);
	return value;
}

static reel_plan *open_plan(const struct method *method, int64_t segment)
{
	const struct scheme *scheme = method->scheme;
	int64_t segments = (method->steps + segment - 1) / segment;
	struct reel_problem problem = {
		.steps = scheme->planner == REEL_ONLINE ? REEL_UNKNOWN_STEPS : segments,
		.tiers = scheme->planner == REEL_STORE_ALL ? 0 : 1,
		.tier = {{.slots = scheme->states}},
		.period = scheme->period,
		.tape_states = scheme->tape_states,
	};
	reel_plan *plan;

	if (scheme_has_disk(scheme)) {
		problem.tiers = 2;
		problem.tier[1].slots = scheme->disk_states ? scheme->disk_states : segments + 1;
		problem.tier[1].store_cost = problem.tier[1].load_cost = 1.0;
	}
	if (reel_plan_open(&plan, scheme->planner, &problem))
		fail("--checkpoint %s: %s", scheme->text, reel_error_text(0));
	return plan;
}

static reel_run *open_run(const struct method *method, const struct loop *loop,
			  const reel_plan *plan, int64_t segment, reel_pool *pool)
{
	reel_model model = loop_model(loop);
	struct reel_run_options options = {
		.pool = pool,
		.segment_steps = segment,
		.restart = method->restart,
		.adjoint_bytes = loop_adjoint_bytes(loop),
		.save_adjoint = loop_save_adjoint,
		.load_adjoint = loop_load_adjoint,
	};
	reel_run *run;

	if (method->scheme->planner == REEL_ONLINE)
		options.finished = loop_is_finished;
	else
		options.steps = method->steps;
	if (scheme_has_disk(method->scheme)) {
		if (!method->spill)
			fail("--checkpoint %s keeps states on a disk: choose a directory there "
			     "with --spill", method->scheme->text);
		options.store[1] = open_store(method->spill);
	}
	if (reel_run_open(&run, plan, &model, &options))
		fail("--checkpoint %s: %s", method->scheme->text, reel_error_text(0));
	return run;
}

static void require(const struct loop *loop, const struct state *state, int error)
{
	progress_clear();
	if (error == -EINTR)
		stop(reel_error_text(0));
	if (error && loop->fields.trouble)
		report_trouble(&loop->fields, state);
	if (error)
		fail("the checkpointed sweep stopped: %s; choose a larger --budget or fewer "
		     "states", reel_error_text(0));
}

static void resume(reel_run *run, struct loop *loop, struct loop_adjoint *adjoint)
{
	int error = reel_run_resume(run, loop, adjoint);

	if (error && error != -ENOENT)
		fail("the restart file cannot be gone on with: %s; remove it to begin anew",
		     error == -ESTALE ? "it is of another run" : reel_error_text(0));
}

/* With a snapshot to replay in besides the last state, which stays with the adjoint. */
static void reverse_by_plan(reel_run *run, struct loop *loop, struct state *state,
			    struct loop_adjoint *adjoint, struct cost *cost)
{
	struct reel_run_stats stats;
	double start = wall_time();

	require(loop, state, reel_run_reverse(run, loop, state, adjoint));
	cost->reverse_seconds = wall_time() - start;
	reel_run_get_stats(run, &stats);
	cost->steps = stats.reversed;
	cost->advanced = stats.advanced;
	cost->tape_bytes = stats.peak_tape_bytes;
	cost->spilled_bytes = stats.put_bytes;
}

static double gradient_by_plan(const struct model *model, const struct controls *controls,
			       enum objective objective, const struct method *method,
			       reel_pool *pool, struct state *state, struct adjoint *adjoint,
			       struct cost *cost)
{
	int64_t segment = 1 + method->steps / MOST_SEGMENTS;
	struct loop loop = loop_open(model, controls, method->steps);
	struct loop_adjoint passed = {.adjoint = *adjoint, .after = state_create(model->mesh)};
	reel_plan *plan = open_plan(method, segment);
	reel_run *run = open_run(method, &loop, plan, segment, pool);
	double start = wall_time();

	if (method->restart)
		resume(run, &loop, &passed);
	if (!reel_run_is_reversing(run)) {
		struct state last;

		require(&loop, state, reel_run_forward(run, &loop, state));
		passed.objective = objective_of(objective, model, state);
		objective_reverse(objective, model, state, &passed.adjoint);
		last = *state;
		*state = passed.after;
		passed.after = last;
	}
	cost->forward_seconds = wall_time() - start;
	reverse_by_plan(run, &loop, state, &passed, cost);
	*adjoint = passed.adjoint;
	state_destroy(&passed.after);
	reel_run_close(run);
	reel_plan_close(plan);
	loop_close(&loop);
	return passed.objective;
}

double take_gradient(const struct model *model, const struct controls *controls,
		     enum objective objective, const struct method *method,
		     struct controls *gradient, struct cost *cost)
{
	struct adjoint adjoint = adjoint_create(model->mesh);
	struct state state = state_create(model->mesh);
	reel_pool *pool = open_pool(method);
	double value;

	*cost = (struct cost){0};
	state_start(model, controls, &state);
	value = method->scheme ? gradient_by_plan(model, controls, objective, method, pool, &state,
						  &adjoint, cost)
			       : gradient_by_lanes(model, objective, pool, &state, &adjoint, cost);
	controls_reverse(model, controls, &adjoint, gradient);
	take_pool_cost(pool, cost);
	adjoint_destroy(&adjoint);
	state_destroy(&state);
	reel_pool_close(pool);
	return value;
}
