/* SPDX-License-Identifier: MIT */
/*
 * Opens plans: checks a problem, chooses the planner by its number, and lets it compute its
 * table. Also has the planner that records all steps. Any thread may run these functions, each on
 * its own plan. A plan that is open has costs above 0 and is not changed any more.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/error.h"
#include "os/integer.h"
#include "plan.h"

static struct decision choose_store_all(const reel_schedule *schedule, int64_t steps, bool held)
{
	REEL_ASSERT(!held && steps == schedule->steps);
	(void)schedule;
	(void)held;
	return (struct decision){DECIDE_RECORD, steps, 0};
}

static const char *problem_of_store_all(const struct reel_problem *problem)
{
	if (problem->tape_states && problem->tiers && problem->steps > 1 &&
	    problem->tier[0].slots / problem->tape_states < problem->steps - 1)
		return "the tapes of all steps do not fit: take another planner, or tape_states 0";
	return NULL;
}

static const struct planner store_all = {
	.name = "store-all",
	.problem = problem_of_store_all,
	.decide = choose_store_all,
	.keeps_tapes = true,
};

static const struct planner *const planners[REEL_PLANNERS] = {
	[REEL_STORE_ALL] = &store_all,
	[REEL_BINOMIAL] = &reel_planner_binomial,
	[REEL_MIXED] = &reel_planner_mixed,
	[REEL_MULTISTAGE] = &reel_planner_multistage,
	[REEL_TWO_LEVEL] = &reel_planner_two_level,
	[REEL_HIERARCHICAL] = &reel_planner_hierarchical,
	[REEL_DISK_REVOLVE] = &reel_planner_disk_revolve,
	[REEL_PERIODIC] = &reel_planner_periodic,
	[REEL_ONLINE] = &reel_planner_online,
	[REEL_AUTO] = &reel_planner_auto,
};

static const struct planner *planner_of(enum reel_planner planner)
{
	REEL_ASSERT((unsigned)planner >= REEL_PLANNERS || planners[planner]);
	return (unsigned)planner < REEL_PLANNERS ? planners[planner] : NULL;
}

/*
 * Checks the number of slots. A schedule has a level for each slot that is in use, and one more
 * level for all slots of an unlimited last tier.
 */
static const char *problem_of_slots(const struct planner *planner,
				    const struct reel_problem *problem)
{
	unsigned tiers = problem->tiers - planner->unlimited_last_tier;
	int64_t slots = planner->unlimited_last_tier;
	int64_t most = planner->uses_table ? REEL_MAX_TABLE_SLOTS : REEL_MAX_SLOTS;

	for (unsigned t = 0; t < tiers; t++) {
		if (problem->tier[t].slots > most - slots)
			return "there are more than 4,096 slots, or than 256 of a planner that "
			       "computes a table, one of them for all of an unlimited last tier: "
			       "group the steps into segments";
		slots += problem->tier[t].slots;
	}
	return NULL;
}

static const char *problem_of_steps(const struct planner *planner, int64_t steps)
{
	if (steps == REEL_UNKNOWN_STEPS)
		return planner->unknown_end
			       ? NULL
			       : "the number of steps has to be known: auto, online, "
				 "two-level and periodic do without";
	if (steps < 0)
		return "there are less than 0 steps";
	if (steps > REEL_MAX_STEPS)
		return "there are more than 2^40 steps: group them into segments";
	if (planner->uses_table && steps > REEL_MAX_TABLE_STEPS)
		return "there are more than 16,384 steps, too many for a table: group them into "
		       "segments";
	return NULL;
}

#define UNKNOWN_FLAGS "flags must be REEL_REVERSE_AT_ONCE, or 0"

static const char *problem_of_numbers(const struct planner *planner,
				      const struct reel_problem *problem)
{
	if (!reel_is_cost(problem->advance_cost) || !reel_is_cost(problem->record_cost) ||
	    !reel_is_cost(problem->reverse_cost))
		return "a cost of a step is below 0, above 1e100 or no number";
	if (problem->tape_states < 0)
		return "tape_states is below 0";
	if (problem->period < 0)
		return "the period is below 0";
	if (problem->period > REEL_MAX_STEPS)
		return "the period is above 2^40 steps";
	if (problem->flags & ~REEL_REVERSE_AT_ONCE)
		return UNKNOWN_FLAGS;
	if (problem->flags & REEL_REVERSE_AT_ONCE && planner->keeps_tapes)
		return "store-all and mixed keep the tapes of several steps, which "
		       "REEL_REVERSE_AT_ONCE forbids: take another planner";
	return reel_reserved_problem(problem->reserved, sizeof problem->reserved);
}

static const char *problem_of_tiers(const struct planner *planner,
				    const struct reel_problem *problem)
{
	if (problem->tiers > REEL_MAX_TIERS)
		return "there are more than 4 tiers";
	for (unsigned t = 0; t < problem->tiers; t++) {
		const struct reel_tier *tier = &problem->tier[t];

		if (tier->slots < 0)
			return "a tier has less than 0 slots";
		if (!reel_is_cost(tier->store_cost) || !reel_is_cost(tier->load_cost))
			return "a cost of a tier is below 0, above 1e100 or no number";
	}
	if (planner == &store_all)
		return NULL;
	return problem->tiers ? problem_of_slots(planner, problem)
			      : "there is no tier: give one, with its slots";
}

const char *reel_plan_problem(enum reel_planner planner, const struct reel_problem *problem)
{
	const struct planner *of = planner_of(planner);
	const char *wrong;

	REEL_ASSERT(!of || (of->name && of->decide && !of->site == !of->sites));
	if (!of)
		return "there is no such planner";
	if (!problem)
		return "a plan needs a problem";
	wrong = problem_of_steps(of, problem->steps);
	if (!wrong)
		wrong = problem_of_numbers(of, problem);
	if (!wrong)
		wrong = problem_of_tiers(of, problem);
	if (!wrong && of->problem)
		wrong = of->problem(problem);
	return wrong;
}

#define NO_MEMORY "no memory for a plan"

/* Neither a list of the caller's own actions nor a plan that keeps all tapes has levels. */
static bool has_levels(const struct planner *planner)
{
	return planner && planner != &store_all;
}

static void number_slots(reel_plan *plan)
{
	const struct planner *planner = plan->planner;
	unsigned limited = plan->problem.tiers - planner->unlimited_last_tier;
	unsigned slots = 0;

	for (unsigned t = 0; t < plan->problem.tiers; t++) {
		plan->first_slot[t] = slots;
		if (t < limited)
			slots += (unsigned)plan->problem.tier[t].slots;
	}
	plan->slot_words = (slots + 63) / 64;
	plan->max_levels = slots + planner->unlimited_last_tier;
	REEL_ASSERT(plan->max_levels <= REEL_MAX_SLOTS);
	/* Below and above each state there may be a tape. */
	if (reel_plan_learns(plan))
		plan->max_levels = 2 * slots + 1;
}

static reel_plan *new_plan(const struct planner *planner, const struct reel_problem *problem)
{
	reel_plan *plan = calloc(1, sizeof *plan);

	if (!plan)
		return NULL;
	REEL_ASSERT(problem->tiers <= REEL_MAX_TIERS);
	plan->planner = planner;
	plan->problem = *problem;
	plan->problem.advance_cost = reel_or_one(problem->advance_cost);
	plan->problem.record_cost = reel_or_one(problem->record_cost);
	plan->problem.reverse_cost = reel_or_one(problem->reverse_cost);
	REEL_ASSERT(reel_is_cost(plan->problem.advance_cost) || !planner);
	if (has_levels(planner))
		number_slots(plan);
	plan->tier_of_depth = calloc(plan->max_levels + 1, sizeof *plan->tier_of_depth);
	if (plan->tier_of_depth)
		return plan;
	free(plan);
	return NULL;
}

int reel_plan_open(reel_plan **plan, enum reel_planner planner, const struct reel_problem *problem)
{
	const struct planner *of = planner_of(planner);
	const char *wrong = reel_plan_problem(planner, problem);
	reel_plan *opened;
	int error = 0;

	if (wrong)
		return reel_fail(-EINVAL, "%s", wrong);
	opened = new_plan(of, problem);
	if (!opened)
		return reel_fail(-ENOMEM, NO_MEMORY);
	REEL_ASSERT(problem->steps != REEL_UNKNOWN_STEPS || of->unknown_end);
	if (of->compute)
		error = of->compute(opened);
	REEL_ASSERT(error || !of->uses_table || opened->split);
	REEL_ASSERT(error || !of->site || opened->period > 0 || opened->site);
	if (error) {
		reel_plan_close(opened);
		return reel_fail(error, NO_MEMORY);
	}
	*plan = opened;
	return 0;
}

static const struct reel_costs nothing_known;

int reel_plan_open_auto(reel_plan **plan, const struct reel_problem *problem,
			const struct reel_costs *costs)
{
	struct reel_problem complete = problem ? *problem : (struct reel_problem){0};
	int error;

	if (!complete.tiers) {
		complete.tiers = 1;
		complete.tier[0].slots = REEL_AUTO_SLOTS;
	}
	error = reel_plan_open(plan, REEL_AUTO, problem ? &complete : NULL);
	if (!error)
		(*plan)->costs = costs ? *costs : nothing_known;
	return error;
}

int reel_plan_open_actions(reel_plan **plan, const struct reel_problem *problem,
			   const reel_action *actions, size_t count)
{
	reel_plan *opened;

	if (!problem || (count && !actions) || problem->steps < 0 ||
	    problem->tiers > REEL_MAX_TIERS)
		return reel_fail(-EINVAL,
				 "a plan of actions needs a problem of 0 or more steps and "
				 "at most 4 tiers, and a list");
	if (problem->flags & ~REEL_REVERSE_AT_ONCE)
		return reel_fail(-EINVAL, UNKNOWN_FLAGS);
	opened = new_plan(NULL, problem);
	if (!opened)
		return reel_fail(-ENOMEM, NO_MEMORY);
	REEL_ASSERT(!opened->planner);
	opened->actions = actions;
	opened->action_count = count;
	*plan = opened;
	return 0;
}

void reel_plan_close(reel_plan *plan)
{
	if (!plan)
		return;
	free(plan->split);
	free(plan->store_tier);
	free(plan->site);
	free(plan->tier_of_depth);
	if (plan->uneven)
		free((void *)plan->actions);
	free(plan->uneven);
	free(plan);
}

const char *reel_action_name(enum reel_action_kind kind)
{
	static const char *const names[] = {
		[REEL_ACTION_ADVANCE] = "advance", [REEL_ACTION_RECORD] = "record",
		[REEL_ACTION_REVERSE] = "reverse", [REEL_ACTION_STORE] = "store",
		[REEL_ACTION_LOAD] = "load",	   [REEL_ACTION_DROP] = "drop",
		[REEL_ACTION_DONE] = "done",	   [REEL_ACTION_FORGET] = "forget",
	};

	return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

const char *reel_planner_name(enum reel_planner planner)
{
	const struct planner *of = planner_of(planner);

	return of ? of->name : "unknown";
}

int reel_planner_by_name(const char *name, enum reel_planner *planner)
{
	for (int p = 0; p < REEL_PLANNERS; p++)
		if (strcmp(planners[p]->name, name) == 0) {
			*planner = (enum reel_planner)p;
			return 0;
		}
	return -EINVAL;
}
