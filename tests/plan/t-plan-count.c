/* SPDX-License-Identifier: MIT */
/* Counts in closed form: those of the walk for small problems, their own recursion for large ones. */
#include <config.h>

#include "helpers/plan-support.h"

#include "plan/plan.h"

static bool same_report(const struct reel_schedule_report *a, const struct reel_schedule_report *b)
{
	return a->advances == b->advances && a->recorded == b->recorded &&
	       a->reversed == b->reversed && a->peak_tape_steps == b->peak_tape_steps &&
	       a->actions == b->actions && a->makespan == b->makespan && a->wrong == b->wrong &&
	       !memcmp(a->stores, b->stores, sizeof a->stores) &&
	       !memcmp(a->loads, b->loads, sizeof a->loads) &&
	       !memcmp(a->peak_slots, b->peak_slots, sizeof a->peak_slots);
}

/* Plans of one planner that were counted and walked, and those whose counts differ. */
struct comparison {
	enum reel_planner planner;
	unsigned plans, wrong;
};

static void note_difference(const struct reel_problem *problem, int64_t steps,
			    const struct reel_schedule_report *walked,
			    const struct reel_schedule_report *counted)
{
	tap_note("%lld steps%s, slots %lld %lld %lld, period %lld: advances %lld %lld, actions "
		 "%lld %lld, stores %lld %lld, peak %lld %lld",
		 (long long)steps, problem->steps < 0 ? ", end unknown" : "",
		 (long long)problem->tier[0].slots, (long long)problem->tier[1].slots,
		 (long long)problem->tier[2].slots, (long long)problem->period,
		 (long long)walked->advances, (long long)counted->advances,
		 (long long)walked->actions, (long long)counted->actions,
		 (long long)walked->stores[0], (long long)counted->stores[0],
		 (long long)walked->peak_slots[0], (long long)counted->peak_slots[0]);
}

static void compare(struct comparison *comparison, const struct reel_problem *problem,
		    int64_t steps)
{
	struct reel_schedule_report walked, counted;
	reel_plan *plan = open_plan(comparison->planner, problem);
	int error = reel_plan_check(plan, NULL, steps, &walked);

	comparison->plans++;
	if (reel_plan_count(plan, steps, &counted) || error || !same_report(&walked, &counted))
		if (comparison->wrong++ < 3)
			note_difference(problem, steps, &walked, &counted);
	reel_plan_close(plan);
}

/* The end is known, and it is not. */
static void compare_ends(struct comparison *comparison, struct reel_problem problem)
{
	int64_t steps = problem.steps;

	compare(comparison, &problem, steps);
	problem.steps = REEL_UNKNOWN_STEPS;
	if (!reel_plan_problem(comparison->planner, &problem))
		compare(comparison, &problem, steps);
}

static void are_the_same(const struct comparison *comparison)
{
	is_int(comparison->wrong, 0, "%s: the counts of %u plans are those of the walk",
	       reel_planner_name(comparison->planner), comparison->plans);
}

/* ---- Small problems ---- */

static void one_tier_is_counted(enum reel_planner planner)
{
	struct comparison comparison = {planner, 0, 0};
	int64_t most = is_brief() ? 130 : 700;

	for (int64_t slots = 1; slots <= 12; slots++)
		for (int64_t steps = 0; steps <= most; steps++)
			compare_ends(&comparison, one_tier(steps, slots));
	for (int64_t slots = 13; slots <= 256; slots += 27)
		for (int64_t steps = 0; steps <= 3 * slots; steps += 1 + steps / 8)
			compare_ends(&comparison, one_tier(steps, slots));
	are_the_same(&comparison);
}

static struct reel_problem three_tiers(int64_t steps, int64_t first, int64_t second, int64_t third)
{
	struct reel_problem problem = problem_of(steps, first, second, 0.25, 0.5);

	problem.tiers = 3;
	problem.tier[2] = (struct reel_tier){third, 3, 2};
	return problem;
}

static void multistage_is_counted(void)
{
	struct comparison comparison = {REEL_MULTISTAGE, 0, 0};
	int64_t most = is_brief() ? 60 : 400;

	for (int64_t slots = 1; slots < 5 * 5 * 5; slots++)
		for (int64_t steps = 0; steps <= most; steps++) {
			struct reel_problem problem =
				three_tiers(steps, slots % 5, slots / 5 % 5, slots / 25);

			compare(&comparison, &problem, steps);
		}
	are_the_same(&comparison);
}

static void periods_are_counted(enum reel_planner planner)
{
	static const int64_t last_slots[] = {1, 2, 3, 7, 1000, INT64_MAX};
	struct comparison comparison = {planner, 0, 0};
	int64_t most = is_brief() ? 40 : 300;

	for (int64_t slots = planner == REEL_PERIODIC; slots < 5; slots++)
		for (size_t last = 0; last < COUNT(last_slots); last++)
			for (int64_t period = 0; period <= 9; period++)
				for (int64_t steps = 0; steps <= most; steps++) {
					struct reel_problem problem =
						three_tiers(steps, slots, 0, last_slots[last]);

					problem.period = period;
					compare_ends(&comparison, problem);
				}
	are_the_same(&comparison);
}

static void two_tiers_are_counted(enum reel_planner planner)
{
	struct comparison comparison = {planner, 0, 0};

	for (int64_t steps = 0; steps <= 40; steps++) {
		struct reel_problem problem = problem_of(steps, 3, 50, 0.25, 0.5);

		compare(&comparison, &problem, steps);
	}
	are_the_same(&comparison);
}

/* ---- Large problems ---- */

/* A held schedule is a split, the schedule above it with one slot less, and the one below it. */
static bool holds_together(int64_t steps, int64_t slots)
{
	int64_t below = reel_binomial_split(steps, slots), above = steps - below;
	struct accesses all, higher, lower;
	bool right = true;

	if (reel_binomial_accesses(steps, slots, &all) ||
	    reel_binomial_accesses(below, slots, &lower) ||
	    reel_binomial_accesses(above, slots - 1, &higher))
		abort();
	right &= all.stores[0] == 1 && all.loads[0] == lower.loads[0] + 1;
	for (int64_t d = 1; d < slots; d++)
		right &= all.stores[d] == lower.stores[d] + higher.stores[d - 1] &&
			 all.loads[d] == lower.loads[d] + higher.loads[d - 1];
	free(all.stores);
	free(lower.stores);
	free(higher.stores);
	return right;
}

static void large_schedules_hold_together(void)
{
	unsigned wrong = 0, tried = 0;

	for (uint64_t n = 0; n < (is_brief() ? 2000 : 100000); n++) {
		int64_t steps = (int64_t)(scramble(n) % ((uint64_t)1 << (3 + n % 38))) + 2;
		uint64_t most = n % 8 ? 256 : REEL_MAX_SLOTS;
		int64_t slots = 4 + (int64_t)(scramble(n + 1000000) % (most - 3));

		wrong += !holds_together(steps, n % 3 ? slots % 7 + 4 : slots);
		tried++;
	}
	for (int64_t slots = 2; slots < 4; slots++)
		for (uint64_t n = 0; n < 20; n++, tried++)
			wrong += !holds_together(
				(int64_t)(scramble(n) % ((uint64_t)1 << (21 + n))) + 2, slots);
	is_int(wrong, 0, "%u schedules of up to 2^40 steps are made of smaller ones", tried);
}

static struct reel_schedule_report counted(enum reel_planner planner,
					   const struct reel_problem *problem, int64_t steps)
{
	struct reel_schedule_report report;
	reel_plan *plan = open_plan(planner, problem);
	int error = reel_plan_count(plan, steps, &report);

	is_int(error, 0, "%s counts %lld steps", reel_planner_name(planner), (long long)steps);
	reel_plan_close(plan);
	return report;
}

/* Known without the code that counts: loads are one less than steps, and so on. */
static void the_longest_loops_are_counted(void)
{
	int64_t steps = REEL_MAX_STEPS;
	struct reel_problem problem = one_tier(steps, 2);
	struct reel_schedule_report report = counted(REEL_STORE_ALL, &problem, steps);

	ok(report.peak_tape_steps == steps && report.actions == 2, "store-all has one tape");
	for (int64_t slots = 2; slots <= REEL_MAX_SLOTS; slots *= 2) {
		problem.tier[0].slots = slots;
		report = counted(REEL_BINOMIAL, &problem, steps);
		ok(report.loads[0] == steps - 1 && report.reversed == steps &&
		   report.peak_slots[0] == slots,
		   "binomial has the loads and reversals of %lld slots", (long long)slots);
		ok(report.actions == 4 * steps - 2 + 2 * report.stores[0],
		   "binomial counts all actions");
	}
	problem.steps = REEL_UNKNOWN_STEPS;
	report = counted(REEL_ONLINE, &problem, steps);
	ok(report.reversed == steps && report.loads[0] >= steps - 1, "online does without the end");
	problem = three_tiers(steps, 3, 4, 5);
	report = counted(REEL_MULTISTAGE, &problem, steps);
	ok(report.loads[0] + report.loads[1] + report.loads[2] == steps - 1,
	   "states of three tiers are loaded");
	problem = problem_of(steps, 9, INT64_MAX, 1, 1);
	problem.period = 1 << 12;
	report = counted(REEL_TWO_LEVEL, &problem, steps);
	is_int(report.stores[1], 1 << 28, "a state each period");
	report = counted(REEL_PERIODIC, &problem, steps);
	is_int(report.loads[1], (1 << 28) - 1, "each of which is loaded once");
}

static void what_cannot_be_counted_is_refused(void)
{
	struct reel_problem problem = one_tier((int64_t)1 << 32, 1);
	struct reel_schedule_report report = counted(REEL_BINOMIAL, &problem, problem.steps);
	reel_plan *plan;

	ok(report.advances == INT64_MAX - ((int64_t)1 << 31) + 1, "all of them are");
	problem.steps++;
	plan = open_plan(REEL_BINOMIAL, &problem);
	is_int(reel_plan_count(plan, 0, &report), -EOVERFLOW,
	       "the advances of one step more cannot be counted");
	ok(report.advances == INT64_MAX, "the number of advances is the largest one then");
	reel_plan_close(plan);
	problem = problem_of(REEL_MAX_STEPS, 0, INT64_MAX, 0, 0);
	problem.period = (int64_t)1 << 31;
	plan = open_plan(REEL_TWO_LEVEL, &problem);
	is_int(reel_plan_count(plan, 0, &report), -EOVERFLOW,
	       "the advances of many gaps cannot be counted");
	reel_plan_close(plan);
	problem.steps = REEL_UNKNOWN_STEPS;
	plan = open_plan(REEL_TWO_LEVEL, &problem);
	is_int(reel_plan_count(plan, -1, &report), -EINVAL, "an end below 0");
	is_int(reel_plan_count(plan, REEL_MAX_STEPS + 1, &report), -EINVAL, "an end above 2^40");
	reel_plan_close(plan);
}

/* Steps that are run again and again; a walk comes to them one after the other. */
static void a_walk_that_runs_too_many_steps_is_wrong(void)
{
	struct reel_problem problem = one_tier(INT64_MAX, 1);
	reel_action actions[] = {{.kind = REEL_ACTION_STORE},
				 {.kind = REEL_ACTION_ADVANCE, .last = INT64_MAX - 1},
				 {.kind = REEL_ACTION_LOAD},
				 {.kind = REEL_ACTION_ADVANCE, .last = 2}};
	struct reel_schedule_report report;
	reel_plan *plan;

	if (reel_plan_open_actions(&plan, &problem, actions, COUNT(actions)))
		return;
	is_int(reel_plan_count(plan, 0, &report), -EBADMSG,
	       "a plan of more than 2^63 steps is refused");
	ok(report.wrong && strstr(report.wrong, "can be counted"),
	   "the report says that they cannot be counted");
	is_int(report.wrong_action, 3, "the report has the number of the action");
	reel_plan_close(plan);
}

int main(void)
{
	tap_begin();
	for (int p = 0; p < REEL_PLANNERS; p++) {
		enum reel_planner planner = (enum reel_planner)p;

		if (planner == REEL_STORE_ALL || planner == REEL_BINOMIAL || planner == REEL_ONLINE)
			one_tier_is_counted(planner);
		else if (planner == REEL_MULTISTAGE)
			multistage_is_counted();
		else if (planner == REEL_TWO_LEVEL || planner == REEL_PERIODIC)
			periods_are_counted(planner);
		else
			two_tiers_are_counted(planner);
	}
	large_schedules_hold_together();
	the_longest_loops_are_counted();
	what_cannot_be_counted_is_refused();
	a_walk_that_runs_too_many_steps_is_wrong();
	return tap_end();
}
