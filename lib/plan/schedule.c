/* SPDX-License-Identifier: MIT */
/*
 * The walk through a plan. All schedules are one recursion: from the working state the
 * steps up to `end` are reversed by storing the state, advancing, reversing what is
 * above and then, from the state loaded again, what is below. The levels are its stack.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "plan.h"

enum phase {
	SWEEP,   /* states are laid down on the way up, before the recursion */
	FORWARD, /* the working state is not held */
	HELD,    /* it is, by the topmost level */
	REVERSE, /* steps at to end have just been recorded */
	RETURN,  /* the working state serves no more */
	DONE
};

/* schedule->ahead: the choice for the state that is held is known. */
#define AHEAD_UNKNOWN 0
#define AHEAD_DROP (-1)

static void make(reel_action *action, enum reel_action_kind kind, int64_t first, int64_t last)
{
	action->kind = kind;
	action->first = first;
	action->last = last;
}

static void make_slot(reel_action *action, enum reel_action_kind kind, int64_t state,
		      unsigned tier, unsigned slot)
{
	make(action, kind, state, state);
	action->tier = tier;
	action->slot = slot;
}

static void advance(reel_schedule *schedule, int64_t last, reel_action *action)
{
	make(action, REEL_ACTION_ADVANCE, schedule->at, last);
	schedule->at = last;
}

static unsigned claim_slot(reel_schedule *schedule, unsigned tier)
{
	unsigned first = schedule->plan->first_slot[tier], word = first / 64;
	uint64_t unused = ~schedule->used[word] & UINT64_MAX << first % 64;
	unsigned bit;

	while (!unused)
		unused = ~schedule->used[++word];
	bit = word * 64 + (unsigned)__builtin_ctzll(unused);
	schedule->used[word] |= (uint64_t)1 << bit % 64;
	schedule->in_use[tier]++;
	return bit - first;
}

static void free_slot(reel_schedule *schedule, unsigned tier, unsigned slot)
{
	unsigned bit = schedule->plan->first_slot[tier] + slot;

	schedule->used[bit / 64] &= ~((uint64_t)1 << bit % 64);
	schedule->in_use[tier]--;
}

static void push_level(reel_schedule *schedule, int64_t first, int64_t last, unsigned tier,
		       unsigned slot)
{
	unsigned level = schedule->levels++;

	schedule->level[level].first = first;
	schedule->level[level].last = last;
	schedule->level[level].tier = tier;
	schedule->level[level].slot = slot;
}

/* Slots at sites are counted by schedule->sites, not claimed. */
static bool tier_has_sites(const reel_schedule *schedule, unsigned tier)
{
	const reel_plan *plan = schedule->plan;

	return plan->planner->site && tier == plan->problem.tiers - 1;
}

void reel_schedule_push_level(reel_schedule *schedule, unsigned tier, reel_action *action)
{
	unsigned slot = claim_slot(schedule, tier);

	push_level(schedule, schedule->at, schedule->at, tier, slot);
	make_slot(action, REEL_ACTION_STORE, schedule->at, tier, slot);
}

void reel_schedule_pop_level(reel_schedule *schedule, unsigned level, reel_action *action)
{
	unsigned tier = schedule->level[level].tier, slot = schedule->level[level].slot;

	make_slot(action, REEL_ACTION_DROP, schedule->level[level].first, tier, slot);
	if (!tier_has_sites(schedule, tier))
		free_slot(schedule, tier, slot);
	schedule->levels--;
	memmove(&schedule->level[level], &schedule->level[level + 1],
		(schedule->levels - level) * sizeof schedule->level[0]);
}

/* The last state at a site becomes a level: what is above it is reversed from it. */
static void adopt_place(reel_schedule *schedule)
{
	const reel_plan *plan = schedule->plan;
	int64_t site = plan->planner->site(plan, --schedule->sites);

	push_level(schedule, site, site, plan->problem.tiers - 1, (unsigned)schedule->sites);
}

static bool top_holds_working_state(const reel_schedule *schedule)
{
	return schedule->levels > 0 &&
	       schedule->level[schedule->levels - 1].first == schedule->at;
}

static int leave_sweep(reel_schedule *schedule, reel_action *action)
{
	if (schedule->sites > 0)
		adopt_place(schedule);
	if (schedule->at >= schedule->end)
		schedule->phase = RETURN;
	else
		schedule->phase = top_holds_working_state(schedule) ? HELD : FORWARD;
	return reel_schedule_next(schedule, action);
}

static void store_at_site(reel_schedule *schedule, reel_action *action)
{
	make_slot(action, REEL_ACTION_STORE, schedule->at, schedule->plan->problem.tiers - 1,
		  (unsigned)schedule->sites++);
}

/* The end is not known: to the next site or, where slots are used up, on and on. */
static int sweep_on(reel_schedule *schedule, bool more_slots, int64_t site, reel_action *action)
{
	advance(schedule, more_slots ? site : schedule->at + schedule->plan->period, action);
	return -EAGAIN;
}

static int sweep_sites(reel_schedule *schedule, reel_action *action)
{
	const reel_plan *plan = schedule->plan;
	const struct planner *planner = plan->planner;
	int64_t count = planner->sites(plan, schedule->steps);
	int64_t site = planner->site(plan, schedule->sites);
	bool more = schedule->sites < count;

	if (more && schedule->at == site) {
		store_at_site(schedule, action);
		return 0;
	}
	if (schedule->steps == REEL_UNKNOWN_STEPS)
		return sweep_on(schedule, more, site, action);
	if (more ||
	    (schedule->sites == count && !planner->last_gap_has_site && schedule->at < site)) {
		advance(schedule, site, action);
		return 0;
	}
	return leave_sweep(schedule, action);
}

static int sweep(reel_schedule *schedule, reel_action *action)
{
	bool unknown = schedule->steps == REEL_UNKNOWN_STEPS;

	schedule->passed = schedule->at;
	if (!unknown && schedule->at >= schedule->end)
		return leave_sweep(schedule, action);
	if (schedule->plan->planner->site)
		return sweep_sites(schedule, action);
	return unknown ? reel_online_next(schedule, action) : leave_sweep(schedule, action);
}

static void record(reel_schedule *schedule, int64_t steps, reel_action *action)
{
	int64_t first = schedule->at, last = first + steps;

	make(action, REEL_ACTION_RECORD, first, last);
	if (last == schedule->end) {
		schedule->phase = REVERSE;
		return;
	}
	push_level(schedule, first, last, TAPE_TIER, 0);
	schedule->tape_steps += steps;
	schedule->at = last;
}

static void go_forward(reel_schedule *schedule, reel_action *action)
{
	int64_t steps = schedule->end - schedule->at;
	struct decision decision = schedule->plan->planner->decide(schedule, steps, false);

	if (decision.kind == DECIDE_RECORD) {
		record(schedule, decision.steps, action);
	} else if (decision.kind == DECIDE_STORE) {
		reel_schedule_push_level(schedule, decision.tier, action);
		schedule->phase = HELD;
		schedule->ahead = AHEAD_UNKNOWN;
	} else {
		advance(schedule, schedule->at + decision.steps, action);
	}
}

static void look_ahead(reel_schedule *schedule)
{
	int64_t steps = schedule->end - schedule->at;
	struct decision decision = schedule->plan->planner->decide(schedule, steps, true);

	schedule->ahead = decision.kind == DECIDE_ADVANCE ? decision.steps : AHEAD_DROP;
}

static void go_on_from_held(reel_schedule *schedule, reel_action *action)
{
	if (schedule->ahead == AHEAD_UNKNOWN)
		look_ahead(schedule);
	if (schedule->ahead == AHEAD_DROP)
		reel_schedule_pop_level(schedule, schedule->levels - 1, action);
	else
		advance(schedule, schedule->at + schedule->ahead, action);
	schedule->phase = FORWARD;
}

static void reverse(reel_schedule *schedule, int64_t first, reel_action *action)
{
	make(action, REEL_ACTION_REVERSE, first, schedule->end);
	schedule->end = first;
	schedule->phase = RETURN;
}

static void load_top(reel_schedule *schedule, reel_action *action)
{
	unsigned top = schedule->levels - 1;

	schedule->at = schedule->level[top].first;
	schedule->phase = HELD;
	look_ahead(schedule);
	make_slot(action, REEL_ACTION_LOAD, schedule->at, schedule->level[top].tier,
		  schedule->level[top].slot);
	action->last_use = schedule->ahead == AHEAD_DROP;
}

static void go_back(reel_schedule *schedule, reel_action *action)
{
	unsigned top;

	if (schedule->levels == 0 && schedule->sites > 0)
		adopt_place(schedule);
	if (schedule->levels == 0) {
		schedule->phase = DONE;
		make(action, REEL_ACTION_DONE, 0, 0);
		return;
	}
	top = schedule->levels - 1;
	if (schedule->level[top].tier == TAPE_TIER) {
		schedule->levels--;
		schedule->tape_steps -= schedule->level[top].last - schedule->level[top].first;
		reverse(schedule, schedule->level[top].first, action);
	} else if (schedule->level[top].first >= schedule->end) {
		reel_schedule_pop_level(schedule, top, action);
	} else {
		load_top(schedule, action);
	}
}

static void next_of_list(reel_schedule *schedule, reel_action *action)
{
	const reel_plan *plan = schedule->plan;

	if ((uint64_t)schedule->at < plan->action_count)
		*action = plan->actions[schedule->at++];
	else
		make(action, REEL_ACTION_DONE, 0, 0);
}

void reel_schedule_begin(reel_schedule *schedule, const reel_plan *plan)
{
	*schedule = (reel_schedule){.plan = plan,
				    .steps = plan->problem.steps,
				    .end = plan->problem.steps,
				    .stride = 1,
				    .phase = SWEEP};
}

int reel_schedule_next(reel_schedule *schedule, reel_action *action)
{
	memset(action, 0, sizeof *action);
	if (!schedule->plan->planner) {
		next_of_list(schedule, action);
		return 0;
	}
	switch ((enum phase)schedule->phase) {
	case SWEEP:
		return sweep(schedule, action);
	case FORWARD:
		go_forward(schedule, action);
		break;
	case HELD:
		go_on_from_held(schedule, action);
		break;
	case REVERSE:
		reverse(schedule, schedule->at, action);
		break;
	case RETURN:
		go_back(schedule, action);
		break;
	case DONE:
		make(action, REEL_ACTION_DONE, 0, 0);
		break;
	}
	return 0;
}

int reel_schedule_end(reel_schedule *schedule, int64_t steps, int64_t at)
{
	if (schedule->steps != REEL_UNKNOWN_STEPS || !schedule->plan->planner)
		return -EINVAL;
	if (at < schedule->passed || at > schedule->at || steps < at || steps > REEL_MAX_STEPS)
		return -EINVAL;
	schedule->steps = steps;
	schedule->end = steps;
	schedule->at = at;
	return 0;
}
