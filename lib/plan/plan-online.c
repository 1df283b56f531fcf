/* SPDX-License-Identifier: MIT */
/*
 * Plans of a loop whose end is unknown. While it is unknown, half of the slots hold the states
 * whose number is a multiple of a stride. When these slots are full, the stride doubles and every
 * other state is dropped. When the end is known, each gap between two states is reversed by a
 * binomial schedule with the slots that are free then. For 4 to 64 slots and up to 20,000 steps
 * this takes at most 1.36 times the forward steps of a loop whose end is known.
 */
#include "config.h"

#include <errno.h>

#include "plan.h"

/* Drops the next state that is no multiple of the stride; false: there is none. */
static bool drop_stale(reel_schedule *schedule, reel_action *action)
{
	for (; schedule->stale < schedule->levels; schedule->stale++)
		if (schedule->level[schedule->stale].first % schedule->stride) {
			reel_schedule_pop_level(schedule, schedule->stale, action);
			return true;
		}
	return false;
}

static bool wants_working_state(const reel_schedule *schedule)
{
	unsigned levels = schedule->levels;

	REEL_ASSERT(levels == 0 || schedule->level[levels - 1].first <= schedule->at);
	return schedule->at % schedule->stride == 0 &&
	       (levels == 0 || schedule->level[levels - 1].first != schedule->at);
}

int reel_online_next(reel_schedule *schedule, reel_action *action)
{
	int64_t kept = (schedule->plan->problem.tier[0].slots + 1) / 2;
	int64_t next;

	REEL_ASSERT(kept > 0 && schedule->in_use[0] <= kept);
	REEL_ASSERT((schedule->stride & (schedule->stride - 1)) == 0);
	if (wants_working_state(schedule) && schedule->in_use[0] == kept) {
		schedule->stride *= 2;
		/* Mutants survive (constant): the lowest state is state 0, which is never stale. */
		schedule->stale = 0;
	}
	if (drop_stale(schedule, action))
		return 0;
	if (wants_working_state(schedule)) {
		reel_schedule_push_level(schedule, 0, action);
		return 0;
	}
	next = (schedule->at / schedule->stride + 1) * schedule->stride;
	action->kind = REEL_ACTION_ADVANCE;
	action->first = schedule->at;
	action->last = next;
	schedule->at = next;
	return -EAGAIN;
}

/* ---- Counts ---- */

static void count_action(const reel_schedule *schedule, const reel_action *action,
			 struct reel_schedule_report *report)
{
	if (action->kind == REEL_ACTION_ADVANCE)
		report->advances += action->last - action->first;
	report->stores[0] += action->kind == REEL_ACTION_STORE;
	report->actions += action->kind != REEL_ACTION_ADVANCE || action->last > action->first;
	if (schedule->in_use[0] > report->peak_slots[0])
		report->peak_slots[0] = schedule->in_use[0];
}

/* Counts the forward sweep by a walk, which takes a few actions for each doubling of the stride. */
static void walk_sweep(reel_schedule *schedule, int64_t steps, struct reel_schedule_report *report)
{
	reel_action action;

	while (schedule->steps == REEL_UNKNOWN_STEPS) {
		if (reel_schedule_next(schedule, &action) == -EAGAIN && action.last >= steps) {
			action.last = steps;
			reel_schedule_end(schedule, steps, steps);
		}
		count_action(schedule, &action, report);
	}
}

/* Counts the gap from the topmost state to the end. A state at the end is only dropped. */
static int count_gap(reel_schedule *schedule, struct reel_schedule_report *report)
{
	int64_t first = schedule->level[--schedule->levels].first, steps = schedule->end - first;
	int64_t slots = schedule->plan->problem.tier[0].slots;

	REEL_ASSERT(steps >= 0 && schedule->levels < slots);
	report->actions++;
	schedule->end = first;
	if (steps == 0)
		return 0;
	report->loads[0]++;
	return reel_count_held(schedule->plan, 1, steps, slots - schedule->levels,
			       schedule->levels, report);
}

static int count_online(const reel_plan *plan, int64_t steps, struct reel_schedule_report *report)
{
	reel_schedule *schedule;
	int error;

	if (plan->problem.steps != REEL_UNKNOWN_STEPS)
		return reel_count_free(plan, 1, steps, plan->problem.tier[0].slots, report);
	error = reel_schedule_open(&schedule, plan);
	if (error)
		return error;
	walk_sweep(schedule, steps, report);
	while (!error && schedule->levels > 0)
		error = count_gap(schedule, report);
	REEL_ASSERT(error || schedule->end == 0);
	reel_schedule_close(schedule);
	return error;
}

const struct planner reel_planner_online = {
	.name = "online",
	.problem = reel_problem_of_first_tier,
	.decide = reel_binomial_decide,
	.count = count_online,
	.unknown_end = true,
};
