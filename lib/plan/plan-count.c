/* SPDX-License-Identifier: MIT */
/*
 * The counts of a plan without a walk through it, which any thread may ask for. A schedule is a
 * forward sweep, which stores states, and the reversals of the gaps between these states. The
 * schedule of a gap is binomial, so its stores and loads at each depth have a closed form. Gaps
 * of equal length are counted once and multiplied. At most REEL_MAX_STEPS steps are reversed, and
 * each load, store and recording belongs to one of these steps: only the number of advances can
 * exceed an int64_t.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

static void add_advances(int64_t times, int64_t each, struct reel_schedule_report *report)
{
	int64_t more;

	REEL_ASSERT(times >= 0 && each >= 0 && report->advances >= 0);
	if (each == INT64_MAX || __builtin_mul_overflow(times, each, &more) ||
	    __builtin_add_overflow(report->advances, more, &report->advances))
		report->advances = INT64_MAX;
}

static void note_peaks(const reel_plan *plan, int64_t used, int64_t below,
		       struct reel_schedule_report *report)
{
	int64_t in_use[REEL_MAX_TIERS] = {below};

	for (int64_t d = 0; d < used; d++)
		in_use[plan->tier_of_depth[d]]++;
	for (unsigned t = 0; t < plan->problem.tiers; t++)
		REEL_ASSERT(in_use[t] <= plan->problem.tier[t].slots);
	for (unsigned t = 0; t < REEL_MAX_TIERS; t++)
		if (in_use[t] > report->peak_slots[t])
			report->peak_slots[t] = in_use[t];
}

/* Counts a RECORD and a REVERSE of each step, and an ADVANCE to each step but the last. */
static void count_steps(int64_t times, int64_t steps, struct reel_schedule_report *report)
{
	report->recorded += times * steps;
	report->reversed += times * steps;
	report->actions += times * (2 * steps + steps - 1);
	report->peak_tape_steps = 1;
}

int reel_count_held(const reel_plan *plan, int64_t times, int64_t steps, int64_t slots,
		    int64_t below, struct reel_schedule_report *report)
{
	int64_t used = steps - 1 < slots ? steps - 1 : slots;
	struct accesses accesses;

	if (times == 0)
		return 0;
	REEL_ASSERT(times > 0 && steps > 0 && slots > 0 && below >= 0);
	if (reel_binomial_accesses(steps, slots, &accesses))
		return -ENOMEM;
	accesses.stores[0] = 0;
	for (int64_t d = 0; d < used; d++) {
		unsigned tier = plan->tier_of_depth[d];

		report->stores[tier] += times * accesses.stores[d];
		report->loads[tier] += times * accesses.loads[d];
		report->actions += times * (2 * accesses.stores[d] + accesses.loads[d]);
	}
	free(accesses.stores);
	report->actions += times;
	add_advances(times, reel_binomial_advances(steps, slots), report);
	count_steps(times, steps, report);
	note_peaks(plan, used > 1 ? used : 1, below, report);
	return 0;
}

int reel_count_free(const reel_plan *plan, int64_t times, int64_t steps, int64_t slots,
		    struct reel_schedule_report *report)
{
	if (times == 0 || steps == 0)
		return 0;
	if (steps == 1) {
		count_steps(times, 1, report);
		return 0;
	}
	report->stores[plan->tier_of_depth[0]] += times;
	report->actions += times;
	return reel_count_held(plan, times, steps, slots, 0, report);
}

int reel_plan_count(const reel_plan *plan, int64_t steps, struct reel_schedule_report *report)
{
	if (!plan->planner || !plan->planner->count)
		return reel_plan_check(plan, NULL, steps, report);
	memset(report, 0, sizeof *report);
	if (plan->problem.steps != REEL_UNKNOWN_STEPS)
		steps = plan->problem.steps;
	if (steps < 0 || steps > REEL_MAX_STEPS)
		return -EINVAL;
	if (plan->planner->count(plan, steps, report))
		return -ENOMEM;
	REEL_ASSERT(report->recorded == steps && report->reversed == steps);
	report->makespan = reel_plan_makespan(&plan->problem, report);
	return report->advances == INT64_MAX ? -EOVERFLOW : 0;
}
