/* SPDX-License-Identifier: MIT */
/* Shared by the tests of schedules. */
#ifndef TESTS_PLAN_SUPPORT_H
#define TESTS_PLAN_SUPPORT_H

#include <errno.h>
#include <math.h>

#include <reel/plan.h>

#include "os/annotate.h"
#include "support.h"

/*
 * Returns true if a test compares a plan with all other plans. AddressSanitizer examines the code
 * that makes a plan, which a few short loops reach; the other builds test that the plan is optimal.
 */
static inline bool is_exhaustive(void)
{
#ifdef REEL_ADDRESS_SANITIZER
	return !is_brief();
#else
	return true;
#endif
}

#define UNLIMITED ((int64_t)1 << 20)

/* A turn, recording and reversing a step, costs as much as an advance. */
static inline struct reel_problem problem_of(int64_t steps, int64_t fast, int64_t slow,
					     double store, double load)
{
	return (struct reel_problem){.steps = steps,
				     .record_cost = 0.5,
				     .reverse_cost = 0.5,
				     .tiers = 2,
				     .tier = {{fast, 0, 0}, {slow, store, load}}};
}

static inline struct reel_problem one_tier(int64_t steps, int64_t slots)
{
	struct reel_problem problem = problem_of(steps, slots, 0, 0, 0);

	problem.tiers = 1;
	return problem;
}

static inline reel_plan *open_plan(enum reel_planner planner, const struct reel_problem *problem)
{
	reel_plan *plan;

	if (reel_plan_open(&plan, planner, problem)) {
		printf("Bail out! no plan: %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return plan;
}

static inline reel_schedule *open_schedule(const reel_plan *plan)
{
	reel_schedule *schedule;

	if (reel_schedule_open(&schedule, plan)) {
		printf("Bail out! no schedule\n");
		exit(EXIT_FAILURE);
	}
	return schedule;
}

/* The report of a plan that the checker finds right; all 0 if not. */
static inline struct reel_schedule_report checked(enum reel_planner planner,
						  const struct reel_problem *problem,
						  int64_t steps)
{
	struct reel_schedule_report report;
	reel_plan *plan = open_plan(planner, problem);

	if (reel_plan_check(plan, NULL, steps, &report)) {
		tap_note("%s, %lld steps: action %lld: %s", reel_planner_name(planner),
			 (long long)steps, (long long)report.wrong_action, report.wrong);
		memset(&report, 0, sizeof report);
		report.advances = -1;
	}
	reel_plan_close(plan);
	return report;
}

static inline bool same_action(const reel_action *a, const reel_action *b)
{
	return a->kind == b->kind && a->first == b->first && a->last == b->last &&
	       a->tier == b->tier && a->slot == b->slot && a->last_use == b->last_use;
}

static inline bool close_to(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

#endif
