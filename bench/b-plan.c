/* SPDX-License-Identifier: MIT */
/* Schedules: the cost of the next action, and the time of a plan for two tiers. */
#include "config.h"

#include <stdlib.h>

#include <reel/plan.h>

#include "common/bench.h"

#define SEGMENTS 1000

static struct reel_problem problem;

static reel_plan *open_plan(enum reel_planner planner)
{
	reel_plan *plan;

	if (reel_plan_open(&plan, planner, &problem))
		abort();
	return plan;
}

/* A schedule of many actions, of which a run takes n; from the start when it is done. */
struct walk {
	reel_plan *plan;
	reel_schedule *schedule;
};

static double run_walk(void *context, size_t n)
{
	struct walk *walk = context;
	reel_action action;
	int64_t mix = 0;

	for (size_t i = 0; i < n; i++) {
		reel_schedule_next(walk->schedule, &action);
		mix ^= action.last;
		if (action.kind == REEL_ACTION_DONE)
			reel_schedule_begin(walk->schedule);
	}
	return (double)mix;
}

static void open_walk(struct walk *walk, enum reel_planner planner)
{
	walk->plan = open_plan(planner);
	if (reel_schedule_open(&walk->schedule, walk->plan))
		abort();
}

static void measure_next(void)
{
	static struct walk binomial, tiers;
	static const struct measure_variant variants[] = {
		{.name = "binomial", .run = run_walk, .context = &binomial},
		{.name = "hierarchical", .run = run_walk, .context = &tiers},
	};
	static const struct bench_case one = {
		"plan/next", variants, COUNT_OF(variants), 0, {400000}, 400000, 9};

	if (!bench_wants(&one, 1))
		return;
	problem = (struct reel_problem){.steps = 100000, .tiers = 1, .tier = {{10, 0, 0}}};
	open_walk(&binomial, REEL_BINOMIAL);
	problem = (struct reel_problem){
		.steps = SEGMENTS, .tiers = 2, .tier = {{5, 0, 0}, {20, 2, 2}}};
	open_walk(&tiers, REEL_HIERARCHICAL);
	bench_run(&one);
	reel_plan_close(binomial.plan);
	reel_plan_close(tiers.plan);
}

static double milliseconds_to_open(void)
{
	double start = measure_seconds();

	reel_plan_close(open_plan(REEL_HIERARCHICAL));
	return 1e3 * (measure_seconds() - start);
}

static void measure_open(void)
{
	static const struct measure_variant variants[] = {{.name = "hierarchical"}};
	static const struct bench_case one = {.name = "plan/open",
					      .variants = variants,
					      .count = COUNT_OF(variants)};
	double times[5];
	struct measure_result result;

	if (!bench_starts(&one))
		return;
	problem = (struct reel_problem){
		.steps = SEGMENTS, .tiers = 2, .tier = {{64, 0, 0}, {64, 2, 2}}};
	for (size_t i = 0; i < COUNT_OF(times); i++)
		times[i] = milliseconds_to_open();
	result = measure_summary(times, COUNT_OF(times));
	bench_report(&one, SEGMENTS, "ms/plan", &result);
}

void bench_plan(void)
{
	measure_next();
	measure_open();
}
