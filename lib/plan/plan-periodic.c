/* SPDX-License-Identifier: MIT */
/*
 * Plans with even gaps: the last tier holds a state each period, and each gap is reversed by a
 * binomial schedule. Any thread may run the functions; a plan is not changed when it is open.
 *
 * A two-level plan keeps the state of a gap in the last tier and loads it as often as the
 * binomial schedule asks for it. A periodic plan loads it once and then uses the first tier only.
 * The period is the limit of the gaps of Disk-Revolve (Aupy, Herrmann, Hovland and Robert 2016) in
 * a long loop.
 */
#include "config.h"

#include <errno.h>

#include "os/integer.h"
#include "plan.h"

/* Bound of the chosen period: with very high costs the formula would overflow. */
/* Mutants survive (constant): no test has costs that ask for a period of millions of steps. */
#define MAX_CHOSEN_PERIOD ((int64_t)1 << 24)

static const struct reel_tier *last_tier(const struct reel_problem *problem)
{
	return &problem->tier[problem->tiers - 1];
}

/* Number of slots of the last tier that the member `slot` of an action can name. */
static int64_t usable_slots(const struct reel_problem *problem)
{
	return reel_min_i64(last_tier(problem)->slots, UINT32_MAX);
}

/*
 * Returns C(c + t, t) for the first t for which C(c + 1 + t, t) is above the cost of storing and
 * loading a state; c is the number of slots of the first tier.
 */
static int64_t cheapest_period(const struct reel_problem *problem)
{
	double cost = last_tier(problem)->store_cost + last_tier(problem)->load_cost;
	int64_t slots = problem->tier[0].slots > 0 ? problem->tier[0].slots : 1;
	int64_t period = 1;
	double next = 1;

	for (int64_t t = 1; next <= cost && period < MAX_CHOSEN_PERIOD; t++) {
		period = period * (slots + t) / t;
		next = next * (double)(slots + 1 + t) / (double)t;
	}
	REEL_ASSERT(period > 0);
	return period;
}

/* Number of gaps before the last one, which may be one step longer than a period. */
static int64_t gaps_before_last(int64_t steps, int64_t period)
{
	return steps < 2 ? 0 : (steps - 2) / period;
}

static int compute_period(reel_plan *plan, bool last_gap_has_site)
{
	const struct reel_problem *problem = &plan->problem;
	int64_t gaps = usable_slots(problem) + !last_gap_has_site;

	REEL_ASSERT(gaps > 0);
	plan->period = problem->period ? problem->period : cheapest_period(problem);
	if (!problem->period && gaps_before_last(problem->steps, plan->period) >= gaps)
		plan->period = (problem->steps - 2) / gaps + 1;
	REEL_ASSERT(problem->period || gaps_before_last(problem->steps, plan->period) < gaps);
	return 0;
}

/* The state at the beginning of a gap is in the last tier, the states above it in the first. */
static int compute_two_level(reel_plan *plan)
{
	plan->tier_of_depth[0] = (uint8_t)(plan->problem.tiers - 1);
	return compute_period(plan, true);
}

static int compute_periodic(reel_plan *plan)
{
	return compute_period(plan, false);
}

static int64_t site(const reel_plan *plan, int64_t i)
{
	REEL_ASSERT(i >= 0 && i <= INT64_MAX / plan->period);
	return i * plan->period;
}

static int64_t sites_of_two_level(const reel_plan *plan, int64_t steps)
{
	if (steps == REEL_UNKNOWN_STEPS)
		return usable_slots(&plan->problem);
	if (steps < 2)
		return 0;
	return reel_min_i64(gaps_before_last(steps, plan->period) + 1,
			    usable_slots(&plan->problem));
}

static int64_t sites_of_periodic(const reel_plan *plan, int64_t steps)
{
	if (steps == REEL_UNKNOWN_STEPS)
		return usable_slots(&plan->problem);
	return reel_min_i64(gaps_before_last(steps, plan->period), usable_slots(&plan->problem));
}

static struct decision choose_periodic(const reel_schedule *schedule, int64_t steps, bool held)
{
	REEL_ASSERT(schedule->plan->period > 0);
	if (held && schedule->in_use[0] == 0)
		return (struct decision){DECIDE_MOVE, 0, 0};
	return reel_binomial_decide(schedule, steps, held);
}

static const char *problem_of_both(const struct reel_problem *problem)
{
	if (problem->tiers < 2)
		return "a second tier is needed, for the state of each period";
	if (last_tier(problem)->slots < 1)
		return "the last tier has no slot: give it one for each period";
	return NULL;
}

static const char *problem_of_periodic(const struct reel_problem *problem)
{
	const char *wrong = reel_problem_of_first_tier(problem);

	return wrong ? wrong : problem_of_both(problem);
}

const struct planner reel_planner_two_level = {
	.name = "two-level",
	.problem = problem_of_both,
	.compute = compute_two_level,
	/* The slot of the held state is in the last tier and counts as one more slot. */
	.decide = reel_binomial_decide,
	.site = site,
	.sites = sites_of_two_level,
	.last_gap_has_site = true,
	.unlimited_last_tier = true,
	.unknown_end = true,
};

const struct planner reel_planner_periodic = {
	.name = "periodic",
	.problem = problem_of_periodic,
	.compute = compute_periodic,
	.decide = choose_periodic,
	.site = site,
	.sites = sites_of_periodic,
	.unlimited_last_tier = true,
	.unknown_end = true,
};
