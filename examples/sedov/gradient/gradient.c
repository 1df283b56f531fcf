/* SPDX-License-Identifier: MIT */
#include "gradient.h"

#include <errno.h>

#include <reel.h>

#include "common/disk.h"
#include "common/parallel.h"
#include "common/progress.h"
#include "common/report.h"
#include "look-ahead.h"
#include "loop.h"
#include "model/ranks.h"
#include "pack.h"
#include "sweep.h"

/* Bytes of the slabs that a lane fills in part. */
#define LANE_BYTES ((uint64_t)4 << 20)

static const struct scheme automatic = {.text = "auto", .planner = REEL_AUTO};

static void close_pool(reel_pool *pool, struct cost *cost)
{
	struct reel_pool_stats stats;

	reel_pool_get_stats(pool, &stats);
	cost->resident_bytes = stats.peak_resident_bytes;
	cost->spilled_bytes += stats.written_bytes;
	reel_pool_close(pool);
}

static double gradient_by_lanes(const struct model *model, enum objective objective,
				const struct method *method, struct state *state,
				struct adjoint *adjoint, struct cost *cost)
{
	reel_pool *pool = pool_open(method->budget, 0, method->spill);
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
	close_pool(pool, cost);
	return value;
}

static reel_plan *open_plan(const struct method *method, const struct layout *layout)
{
	reel_plan *plan;

	if (reel_plan_open(&plan, layout->planner, &layout->problem))
		fail("--checkpoint %s: %s", method->scheme->text, reel_error_text(0));
	return plan;
}

/* Each rank has an error if one has; a rank that has -ECANCELED knows no more than that. */
static void report_from_failed_rank(const struct mesh *mesh, int error)
{
	if (mesh->ranks && error)
		report_from(mesh->ranks->world->lowest(error != -ECANCELED));
}

static reel_run *open_run(const struct method *method, const struct loop *loop,
			  const struct layout *layout, const reel_plan *plan, reel_pool *pool)
{
	reel_model model = loop_model(loop);
	struct ranks *ranks = loop->model->mesh->ranks;
	struct reel_field field[STATE_FIELDS];
	const struct reel_loss loss = {.field = field, .fields = STATE_FIELDS,
				       .tolerance = method->tolerance};
	struct reel_run_options options = {
		.pool = pool,
		.segment_steps = layout->segment,
		.loss = method->rounds ? &loss : NULL,
		.restart = method->restart,
		.adjoint_bytes = loop_adjoint_bytes(loop),
		.save_adjoint = loop_save_adjoint,
		.load_adjoint = loop_load_adjoint,
	};
	reel_run *run;
	int error;

	state_list_fields(loop->model->mesh, field);
	if (layout->problem.steps == REEL_UNKNOWN_STEPS)
		options.finished = loop_is_finished;
	else
		options.steps = method->steps;
	if (layout->keeps_states_on_disk)
		options.store[1] = disk_open(method->spill);
	error = ranks ? ranks->world->open_run(&run, plan, &model, &options)
		      : reel_run_open(&run, plan, &model, &options);
	report_from_failed_rank(loop->model->mesh, error);
	if (error)
		fail("--checkpoint %s: %s", method->scheme->text, reel_error_text(0));
	return run;
}

static void require(const struct loop *loop, const struct state *state, int error)
{
	progress_clear();
	if (error == -EINTR)
		stop(reel_error_text(0));
	report_from_failed_rank(loop->model->mesh, error);
	if (error && loop->fields.trouble)
		report_trouble(&loop->fields, state);
	if (error)
		fail("the checkpointed sweep stopped: %s%s", reel_error_text(0),
		     error == -EDQUOT ? "; choose a larger --budget or fewer states" : "");
}

static void resume(reel_run *run, struct loop *loop, struct loop_adjoint *adjoint)
{
	int error = reel_run_resume(run, loop, adjoint);

	if (error == -ENOENT)
		return;
	report_from_failed_rank(loop->model->mesh, error);
	if (error)
		fail("the restart file cannot be gone on with: %s; remove it to begin anew",
		     error == -ESTALE ? "it is of another run" : reel_error_text(0));
}

/* With a snapshot to replay in besides the last state, which stays with the adjoint. */
static void reverse_by_plan(reel_run *run, const struct method *method, struct loop *loop,
			    struct state *state, struct loop_adjoint *adjoint, struct cost *cost)
{
	struct reel_run_stats stats;
	double start = wall_time();
	int error = method->looks_ahead ? look_ahead_reverse(run, loop, state, adjoint)
					: reel_run_reverse(run, loop, state, adjoint);

	if (error && loop->fields.trouble && method->tolerance > 0)
		fail("states that are rounded to %.1e of their largest value have no next step: "
		     "choose a smaller --tolerance, or more --digits", method->tolerance);
	require(loop, state, error);
	cost->reverse_seconds = wall_time() - start;
	reel_run_get_stats(run, &stats);
	cost->steps = stats.reversed;
	cost->advanced = stats.advanced;
	cost->tape_bytes = stats.peak_tape_bytes;
	cost->spilled_bytes = stats.put_bytes;
	cost->rounded_bytes = stats.rounded_bytes;
	cost->kept_bytes = stats.kept_bytes;
}

static double gradient_by_plan(const struct model *model, const struct controls *controls,
			       enum objective objective, const struct method *method,
			       struct state *state, struct adjoint *adjoint, struct cost *cost)
{
	struct loop loop = loop_open(model, controls, method->steps);
	struct loop_adjoint passed = {.adjoint = *adjoint, .after = state_create(model->mesh)};
	struct layout layout = layout_create(method, &loop);
	reel_pool *pool = pool_open(layout.budget, layout.slab_bytes,
				    layout.spills_tapes ? method->spill : NULL);
	reel_plan *plan = open_plan(method, &layout);
	reel_run *run = open_run(method, &loop, &layout, plan, pool);
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
	reverse_by_plan(run, method, &loop, state, &passed, cost);
	cost->planner = reel_planner_name(layout.planner);
	cost->segment = layout.segment;
	*adjoint = passed.adjoint;
	state_destroy(&passed.after);
	reel_run_close(run);
	close_pool(pool, cost);
	reel_plan_close(plan);
	loop_close(&loop);
	return passed.objective;
}

void require_gradient(const struct model *model, const struct controls *controls,
		      const struct method *method)
{
	struct loop loop = loop_open(model, controls, 0);

	report_alone();
	if (method->scheme)
		layout_require(method, &loop);
	else
		reel_pool_close(pool_open(method->budget, 0, method->spill));
	loop_close(&loop);
}

/* Returns true if lanes of all steps have no room in the budget of a rank, and do not spill. */
static bool exceeds_budget(const struct model *model, const struct method *method)
{
	struct ranks *ranks = model->mesh->ranks;
	uint64_t need = (uint64_t)method->steps * loop_step_bytes(model->mesh) +
			(uint64_t)default_threads() * LANE_BYTES;
	bool exceeds = method->budget && !method->spill && need > method->budget;

	return ranks ? ranks->world->lowest(exceeds) >= 0 : exceeds;
}

double take_gradient(const struct model *model, const struct controls *controls,
		     enum objective objective, const struct method *given,
		     struct controls *gradient, struct cost *cost)
{
	struct method method = *given;
	struct adjoint adjoint = adjoint_create(model->mesh);
	struct state state = state_create(model->mesh);
	double value;

	*cost = (struct cost){0};
	state_start(model, controls, &state);
	if (!method.scheme && exceeds_budget(model, &method))
		method.scheme = &automatic;
	if (method.scheme)
		value = gradient_by_plan(model, controls, objective, &method, &state, &adjoint,
					 cost);
	else
		value = gradient_by_lanes(model, objective, &method, &state, &adjoint, cost);
	controls_reverse(model, controls, &adjoint, gradient);
	adjoint_destroy(&adjoint);
	state_destroy(&state);
	return value;
}
