/* SPDX-License-Identifier: MIT */
/*
 * A loop whose end is not known. Until it is, half of the slots hold the states whose
 * number is a multiple of a stride, which doubles when they are full: what is stored
 * depends on nothing that comes later. Then each gap is reversed by the binomial schedule
 * of the slots that are free by then. For 4 to 64 slots and up to 20,000 steps that is at
 * most 1.36 times the forward steps of a loop whose end is known.
 */
#include "config.h"

#include <errno.h>

#include "plan.h"

static bool drop_stale(reel_schedule *schedule, reel_action *action)
{
	for (; schedule->stale < schedule->levels; schedule->stale++)
		if (schedule->level[schedule->stale].first % schedule->stride) {
			reel_schedule_release(schedule, schedule->stale, action);
			return true;
		}
	return false;
}

static bool wants_working_state(const reel_schedule *schedule)
{
	unsigned levels = schedule->levels;

	return schedule->at % schedule->stride == 0 &&
	       (levels == 0 || schedule->level[levels - 1].first != schedule->at);
}

int reel_online_next(reel_schedule *schedule, reel_action *action)
{
	int64_t kept = (schedule->plan->problem.tier[0].slots + 1) / 2;
	int64_t next;

	if (wants_working_state(schedule) && schedule->in_use[0] == kept) {
		schedule->stride *= 2;
		schedule->stale = 0;
	}
	if (drop_stale(schedule, action))
		return 0;
	if (wants_working_state(schedule)) {
		reel_schedule_hold(schedule, 0, action);
		return 0;
	}
	next = (schedule->at / schedule->stride + 1) * schedule->stride;
	action->kind = REEL_ADVANCE;
	action->first = schedule->at;
	action->last = next;
	schedule->at = next;
	return -EAGAIN;
}

static const char *problem_of_online(const struct reel_problem *problem)
{
	return problem->tier[0].slots < 1 ? "the first tier has no slot: give it one or more" : NULL;
}

const struct planner reel_planner_online = {
	.name = "online",
	.problem = problem_of_online,
	.choose = reel_binomial_choose,
	.unknown_end = true,
};
