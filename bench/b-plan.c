/* SPDX-License-Identifier: MIT */
/* Schedules: the cost of the next action, and the time to open plans that compute a table. */
#include "config.h"

#include <stdlib.h>

#include <reel/plan.h>

#include "common/bench.h"

#define SEGMENTS 1000
#define UNEVEN_STEPS 200

static struct reel_problem problem;

static reel_plan *open_plan(enum reel_planner planner)
{
	reel_plan *plan;

	if (reel_plan_open(&plan, planner, &problem))
		abort();
	return plan;
}

/* A schedule of many actions, of which a run takes n; from the start when it is done, or far. */
struct walk {
	reel_plan *plan;
	reel_schedule *schedule;
};

#define FAR 100001

static double run_walk(void *context, size_t n)
{
	struct walk *walk = context;
	reel_action action;
	int64_t mix = 0;

	for (size_t i = 0; i < n; i++) {
		reel_schedule_next(walk->schedule, &action);
		mix ^= action.last;
		if (action.kind == REEL_ACTION_DONE || action.last >= FAR)
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
	static struct walk binomial, tiers, online;
	static const struct measure_variant variants[] = {
		{.name = "binomial", .run = run_walk, .context = &binomial},
		{.name = "hierarchical", .run = run_walk, .context = &tiers},
		{.name = "online", .run = run_walk, .context = &online},
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
	problem = (struct reel_problem){
		.steps = REEL_UNKNOWN_STEPS, .tiers = 1, .tier = {{30, 0, 0}}};
	open_walk(&online, REEL_ONLINE);
	bench_run(&one);
	reel_plan_close(binomial.plan);
	reel_plan_close(tiers.plan);
	reel_plan_close(online.plan);
}

static reel_plan *open_hierarchical(void)
{
	problem = (struct reel_problem){
		.steps = SEGMENTS, .tiers = 2, .tier = {{64, 0, 0}, {64, 2, 2}}};
	return open_plan(REEL_HIERARCHICAL);
}

/* Memory for a third of the tapes, and a store behind it. */
static reel_plan *open_uneven(void)
{
	static struct reel_uneven_step step[UNEVEN_STEPS];
	struct reel_uneven_problem uneven = {.steps = UNEVEN_STEPS, .step = step,
					     .store_bandwidth = 2e9, .load_bandwidth = 2e9};
	reel_plan *plan;

	for (size_t i = 0; i < UNEVEN_STEPS; i++) {
		step[i] = (struct reel_uneven_step){
			.advance = 1e-3 * (double)(1 + i * 7 % 5),
			.record = 1.2e-3 * (double)(1 + i * 7 % 5),
			.reverse = 2e-3 * (double)(1 + i * 7 % 5),
			.state_bytes = 1000003 * (1 + i * 5 % 7),
			.tape_bytes = 4000037 * (1 + i * 11 % 13),
		};
		uneven.memory_bytes += step[i].tape_bytes / 3;
	}
	if (reel_plan_open_uneven(&plan, &uneven))
		abort();
	return plan;
}

static void measure_open(const struct bench_case *one, int64_t steps, reel_plan *(*open)(void))
{
	double times[5];
	struct measure_result result;

	if (!bench_starts(one))
		return;
	for (size_t i = 0; i < COUNT_OF(times); i++) {
		double start = measure_seconds();

		reel_plan_close(open());
		times[i] = 1e3 * (measure_seconds() - start);
	}
	result = measure_summary(times, COUNT_OF(times));
	bench_report(one, (size_t)steps, "ms/plan", &result);
}

void bench_plan(void)
{
	static const struct measure_variant variants[] = {{.name = "hierarchical"},
							  {.name = "uneven"}};
	static const struct bench_case alike = {
		.name = "plan/open", .variants = &variants[0], .count = 1};
	static const struct bench_case differing = {
		.name = "plan/open uneven", .variants = &variants[1], .count = 1};

	measure_next();
	measure_open(&alike, SEGMENTS, open_hierarchical);
	measure_open(&differing, UNEVEN_STEPS, open_uneven);
}
