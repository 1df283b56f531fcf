/* SPDX-License-Identifier: MIT */
/*
 * Threads that carry out plans, each a run of its own on one pool. Callbacks fail, or are left as
 * by an exception; the pool refuses memory, and its store loses some. A sweep gives the gradient of
 * one plain tape, or an error.
 */
#include <config.h>

#include <stdlib.h>

#include <reel/plan.h>

#include "stress.h"
#include "helpers/recurrence.h"

#define MAX_STEPS 60
#define MAX_SLOTS 6
/* Gradients take some hundred operations of a tape each. */
#define OPERATIONS_A_GRADIENT 20

/* How a sweep ends before its end. */
enum end { AT_ITS_END, BY_AN_ERROR, BY_A_JUMP, ENDS };

struct sweep {
	struct stress_stage *stage;
	struct stress_worker *worker;
	struct stress_random random;
	reel_plan *plan;
	reel_run *run;
	int64_t steps;
	bool pieces;
};

/* The end of a loop of unknown length, in the context. */
struct context {
	struct run run;
	int64_t steps;
};

static bool is_over(void *context, const void *state, int64_t step)
{
	(void)state;
	return step == ((struct context *)context)->steps;
}

/* ---- One run ---- */

static void open_run(struct sweep *sweep)
{
	struct stress_random *random = &sweep->random;
	enum reel_planner planner = (enum reel_planner)stress_below(random, REEL_PLANNERS);
	bool unknown = planner == REEL_ONLINE ||
		       (planner == REEL_AUTO && stress_one_in(random, 2));
	struct reel_run_options options = {
		.pool = sweep->stage->pool,
		.finished = unknown ? is_over : NULL,
		.puts = stress_below(random, 4),
		.gets = stress_below(random, 4),
		.flags = stress_one_in(random, 4) ? REEL_RUN_AUDIT : 0,
	};

	sweep->steps = 1 + stress_below(random, MAX_STEPS);
	sweep->pieces = !options.flags && stress_one_in(random, 3);
	sweep->plan = plan_for(planner, unknown ? REEL_UNKNOWN_STEPS : sweep->steps,
			       2 + stress_below(random, MAX_SLOTS));
	if (tiers_of(planner) > 1 && stress_one_in(random, 2) &&
	    reel_store_memory_open(&options.store[1], UINT64_MAX))
		abort();
	sweep->run = open_checkpoint(sweep->plan, &leaving, &options);
}

static void close_run(struct sweep *sweep)
{
	reel_run_close(sweep->run);
	reel_plan_close(sweep->plan);
}

/* Both sweeps. Returns whether a callback was left; *error is then the result of going on. */
static bool sweep_both(const struct sweep *sweep, struct context *context, struct state *bar,
		       int64_t place, int *error)
{
	struct state state = start;

	places_to_pass = place;
	if (setjmp(out_of_the_callback)) {
		places_to_pass = -1;
		*error = go_back(sweep->run, &context->run, &state, bar, sweep->pieces);
		return true;
	}
	*error = reel_run_forward(sweep->run, context, &state);
	if (!*error)
		*error = go_back(sweep->run, &context->run, &state, bar, sweep->pieces);
	return false;
}

static struct context context_of(struct sweep *sweep, enum end end)
{
	struct context context = {no_failure, sweep->steps};
	int64_t step = stress_below(&sweep->random, (unsigned)sweep->steps);

	if (end == BY_AN_ERROR)
		switch (stress_below(&sweep->random, 3)) {
		case 0:
			context.run.failing_advance = step;
			break;
		case 1:
			context.run.failing_record = step;
			break;
		default:
			context.run.failing_reverse = step;
		}
	return context;
}

static void judge_error(const struct sweep *sweep, int error, enum end end)
{
	if (error == -ECANCELED && end == BY_AN_ERROR)
		return;
	if (stress_is_refusal(sweep->stage, error)) {
		stress_refused++;
		return;
	}
	if (!stress_is_loss(sweep->stage, error))
		stress_fail("a run of %lld steps: error %d, %s", (long long)sweep->steps, error,
			    reel_error_text(error));
	stress_lost++;
	sweep->stage->lost++;
}

static void make_gradient(struct sweep *sweep)
{
	enum end end = (enum end)stress_below(&sweep->random, ENDS);
	struct context context = context_of(sweep, end);
	int64_t place = end == BY_A_JUMP ? (int)stress_below(&sweep->random, 10 * MAX_STEPS) : -1;
	static _Thread_local struct state bar;
	int error;

	bar = seed;
	if (sweep_both(sweep, &context, &bar, place, &error)) {
		if (!error)
			stress_fail("a run of %lld steps goes on although a callback was left at "
				    "place %lld", (long long)sweep->steps, (long long)place);
		return;
	}
	/* So that the harness itself can be tested. */
	if (stress_options.pretend)
		bar.x[0]++;
	if (error)
		judge_error(sweep, error, end);
	else if (!is_gradient(&bar, sweep->steps))
		stress_fail("the gradient of %lld steps is wrong", (long long)sweep->steps);
}

/* ---- Threads ---- */

static void work(struct stress_worker *worker, void *context)
{
	struct stress_stage *stage = context;
	uint64_t number = (uint64_t)(worker - stress_workers);
	struct sweep sweep = {.stage = stage, .worker = worker,
			      .random = {stage->draw->seed << 24 ^ number << 56}};

	for (unsigned i = 0; i <= stress_options.operations / OPERATIONS_A_GRADIENT; i++) {
		stress_at(worker, "opens a run", i);
		open_run(&sweep);
		for (unsigned n = 1 + stress_below(&sweep.random, 4); n; n--) {
			stress_at(worker, "makes a gradient", i);
			make_gradient(&sweep);
		}
		close_run(&sweep);
	}
}

void stress_runs(struct stress_draw *draw)
{
	static struct stress_stage stage;

	stage = (struct stress_stage){0};
	stress_stage_open(&stage, draw);
	stress_run(draw->threads, work, &stage);
	stress_stage_close(&stage);
}
