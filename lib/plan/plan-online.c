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

const struct planner reel_planner_online = {
	.name = "online",
	.problem = reel_problem_of_first_tier,
	.decide = reel_binomial_decide,
	.unknown_end = true,
};
