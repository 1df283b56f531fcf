/* SPDX-License-Identifier: MIT */
/*
 * The walk through a plan. All schedules are one recursion: to reverse the steps from the working
 * state to `end`, store the state, advance to a later one, reverse the steps from there, load the
 * state, and reverse the steps below. The levels are the stack of this recursion, in the order of
 * their states. A schedule belongs to one thread and the plan is only read. The bits of `used`, the
 * numbers in `in_use` and the levels agree after each action.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/error.h"
#include "plan.h"

/*
 * enter() changes the phase, by this table:
 *
 *	from       to                      in
 *	SWEEP      FORWARD, HELD, RETURN   leave_sweep
 *	FORWARD    HELD                    go_forward (STORE)
 *	FORWARD    REVERSE                 record (up to the end)
 *	HELD       FORWARD                 go_on_from_held
 *	REVERSE    RETURN                  reverse
 *	RETURN     RETURN                  reverse (a tape of earlier steps)
 *	RETURN     HELD                    load_top
 *	RETURN     DONE                    go_back
 */
enum phase {
	SWEEP,   /* the first forward sweep stores states at sites, before the recursion */
	FORWARD, /* no level holds the working state */
	HELD,    /* the topmost level holds the working state */
	REVERSE, /* the steps `at` to `end` were just recorded */
	RETURN,  /* the working state is not needed any more */
	DONE
};

#define PHASES (DONE + 1)
#define TO(phase) (1u << (phase))

static const uint8_t next_phases[PHASES] = {
	[SWEEP] = TO(FORWARD) | TO(HELD) | TO(RETURN),
	[FORWARD] = TO(HELD) | TO(REVERSE),
	[HELD] = TO(FORWARD),
	[REVERSE] = TO(RETURN),
	[RETURN] = TO(RETURN) | TO(HELD) | TO(DONE),
};

/* Values of schedule->ahead besides a number of steps to advance from the held state. */
#define AHEAD_UNKNOWN 0
/* Mutants survive (constant): the choice is made once more, and is the same. */
#define AHEAD_DROP (-1)

static void enter(reel_schedule *schedule, enum phase phase)
{
	REEL_ASSERT(next_phases[schedule->phase] >> phase & 1);
	REEL_ASSERT(phase != HELD || reel_schedule_top_holds_working_state(schedule));
	REEL_ASSERT(phase == SWEEP || schedule->steps != REEL_UNKNOWN_STEPS);
	schedule->phase = phase;
}

/* Returns true if the bits of `used` and the numbers in `in_use` agree. */
static bool slots_agree(const reel_schedule *schedule)
{
	int used = 0;

	for (unsigned word = 0; word < schedule->plan->slot_words; word++)
		used += __builtin_popcountll(schedule->used[word]);
	for (unsigned tier = 0; tier < REEL_MAX_TIERS; tier++)
		used -= (int)schedule->in_use[tier];
	return used == 0;
}

static void make(reel_action *action, enum reel_action_kind kind, int64_t first, int64_t last)
{
	REEL_ASSERT(first >= 0 && first <= last);
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
	REEL_ASSERT(last > schedule->at);
	make(action, REEL_ACTION_ADVANCE, schedule->at, last);
	schedule->at = last;
}

/* Claims the first slot of the tier that is not in use; the planner stores only if there is one. */
static unsigned claim_slot(reel_schedule *schedule, unsigned tier)
{
	unsigned first = schedule->plan->first_slot[tier], word = first / 64;
	uint64_t unused = ~schedule->used[word] & UINT64_MAX << first % 64;
	unsigned bit;

	REEL_ASSERT(tier < schedule->plan->problem.tiers);
	REEL_ASSERT(schedule->in_use[tier] < schedule->plan->problem.tier[tier].slots);
	while (!unused) {
		REEL_ASSERT(word + 1 < schedule->plan->slot_words);
		unused = ~schedule->used[++word];
	}
	bit = word * 64 + (unsigned)__builtin_ctzll(unused);
	schedule->used[word] |= (uint64_t)1 << bit % 64;
	schedule->in_use[tier]++;
	REEL_ASSERT(bit - first < schedule->plan->problem.tier[tier].slots);
	return bit - first;
}

static void free_slot(reel_schedule *schedule, unsigned tier, unsigned slot)
{
	unsigned bit = schedule->plan->first_slot[tier] + slot;

	REEL_ASSERT(schedule->used[bit / 64] >> bit % 64 & 1 && schedule->in_use[tier] > 0);
	schedule->used[bit / 64] &= ~((uint64_t)1 << bit % 64);
	schedule->in_use[tier]--;
}

static void push_level(reel_schedule *schedule, int64_t first, int64_t last, unsigned tier,
		       unsigned slot)
{
	unsigned level = schedule->levels++;

	REEL_ASSERT(level < schedule->plan->max_levels && first <= last);
	REEL_ASSERT(level == 0 || schedule->level[level - 1].last <= first);
	schedule->level[level].first = first;
	schedule->level[level].last = last;
	schedule->level[level].tier = tier;
	schedule->level[level].slot = slot;
}

/* Slots at sites are not claimed: schedule->sites counts them. */
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

	REEL_ASSERT(level < schedule->levels && tier != TAPE_TIER);
	make_slot(action, REEL_ACTION_DROP, schedule->level[level].first, tier, slot);
	if (!tier_has_sites(schedule, tier))
		free_slot(schedule, tier, slot);
	schedule->levels--;
	memmove(&schedule->level[level], &schedule->level[level + 1],
		(schedule->levels - level) * sizeof schedule->level[0]);
}

/* Makes a level of the last site, from which the steps above it are reversed next. */
static void adopt_site(reel_schedule *schedule)
{
	const reel_plan *plan = schedule->plan;
	int64_t site = plan->planner->site(plan, --schedule->sites);

	REEL_ASSERT(schedule->levels == 0 && site <= schedule->end);
	push_level(schedule, site, site, plan->problem.tiers - 1, (unsigned)schedule->sites);
}

static int leave_sweep(reel_schedule *schedule, reel_action *action)
{
	if (schedule->sites > 0)
		adopt_site(schedule);
	if (schedule->at >= schedule->end)
		enter(schedule, RETURN);
	else
		enter(schedule, reel_schedule_top_holds_working_state(schedule) ? HELD : FORWARD);
	return reel_schedule_next(schedule, action);
}

static void store_at_site(reel_schedule *schedule, reel_action *action)
{
	make_slot(action, REEL_ACTION_STORE, schedule->at, schedule->plan->problem.tiers - 1,
		  (unsigned)schedule->sites++);
}

/*
 * Advances while the end is unknown: to the next site, or by a period if no slot is left for one.
 * The result -EAGAIN tells the caller that the loop may end on the way.
 */
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
	/* Mutants survive (boundary): at the end sweep_sites() also leaves the sweep. */
	if (!unknown && schedule->at >= schedule->end)
		return leave_sweep(schedule, action);
	if (schedule->plan->planner->site)
		return sweep_sites(schedule, action);
	return unknown ? reel_online_next(schedule, action) : leave_sweep(schedule, action);
}

static void record(reel_schedule *schedule, int64_t steps, reel_action *action)
{
	int64_t first = schedule->at, last = first + steps;

	REEL_ASSERT(steps > 0 && last <= schedule->end);
	make(action, REEL_ACTION_RECORD, first, last);
	if (last == schedule->end) {
		enter(schedule, REVERSE);
		return;
	}
	/* Mutants survive (constant): a tape has no slot; nothing reads its number. */
	push_level(schedule, first, last, TAPE_TIER, 0);
	schedule->tape_steps += steps;
	schedule->at = last;
}

static void go_forward(reel_schedule *schedule, reel_action *action)
{
	int64_t steps = schedule->end - schedule->at;
	struct decision decision = schedule->plan->planner->decide(schedule, steps, false);

	REEL_ASSERT(steps > 0 && decision.kind != DECIDE_MOVE);
	REEL_ASSERT(decision.kind != DECIDE_ADVANCE || decision.steps < steps);
	if (decision.kind == DECIDE_RECORD) {
		record(schedule, decision.steps, action);
	} else if (decision.kind == DECIDE_STORE) {
		reel_schedule_push_level(schedule, decision.tier, action);
		enter(schedule, HELD);
		schedule->ahead = AHEAD_UNKNOWN;
	} else {
		advance(schedule, schedule->at + decision.steps, action);
	}
}

/* Decides the next action of the held state, so that its LOAD can tell whether it is the last. */
static void look_ahead(reel_schedule *schedule)
{
	int64_t steps = schedule->end - schedule->at;
	struct decision decision = schedule->plan->planner->decide(schedule, steps, true);

	REEL_ASSERT(steps > 0 && decision.kind != DECIDE_STORE);
	REEL_ASSERT(decision.kind != DECIDE_ADVANCE ||
		    (decision.steps > 0 && decision.steps < steps));
	schedule->ahead = decision.kind == DECIDE_ADVANCE ? decision.steps : AHEAD_DROP;
}

static void go_on_from_held(reel_schedule *schedule, reel_action *action)
{
	REEL_ASSERT(reel_schedule_top_holds_working_state(schedule));
	if (schedule->ahead == AHEAD_UNKNOWN)
		look_ahead(schedule);
	if (schedule->ahead == AHEAD_DROP)
		reel_schedule_pop_level(schedule, schedule->levels - 1, action);
	else
		advance(schedule, schedule->at + schedule->ahead, action);
	enter(schedule, FORWARD);
}

static void reverse(reel_schedule *schedule, int64_t first, reel_action *action)
{
	REEL_ASSERT(first < schedule->end);
	make(action, REEL_ACTION_REVERSE, first, schedule->end);
	schedule->end = first;
	enter(schedule, RETURN);
}

static void load_top(reel_schedule *schedule, reel_action *action)
{
	unsigned top = schedule->levels - 1;

	schedule->at = schedule->level[top].first;
	enter(schedule, HELD);
	look_ahead(schedule);
	make_slot(action, REEL_ACTION_LOAD, schedule->at, schedule->level[top].tier,
		  schedule->level[top].slot);
	action->last_use = schedule->ahead == AHEAD_DROP;
}

static void go_back(reel_schedule *schedule, reel_action *action)
{
	unsigned top;

	if (schedule->levels == 0 && schedule->sites > 0)
		adopt_site(schedule);
	if (schedule->levels == 0) {
		REEL_ASSERT(schedule->end == 0 && schedule->tape_steps == 0);
		enter(schedule, DONE);
		make(action, REEL_ACTION_DONE, 0, 0);
		return;
	}
	top = schedule->levels - 1;
	if (schedule->level[top].tier == TAPE_TIER) {
		schedule->levels--;
		REEL_ASSERT(schedule->level[top].last == schedule->end);
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

	REEL_ASSERT((uint64_t)schedule->at <= plan->action_count);
	if ((uint64_t)schedule->at < plan->action_count)
		*action = plan->actions[schedule->at++];
	else
		make(action, REEL_ACTION_DONE, 0, 0);
}

int reel_schedule_open(reel_schedule **opened, const reel_plan *plan)
{
	size_t levels = plan->max_levels * sizeof(struct level);
	reel_schedule *schedule =
		malloc(sizeof *schedule + levels + plan->slot_words * sizeof(uint64_t));

	if (!schedule)
		return reel_fail(-ENOMEM, "no memory for a schedule");
	schedule->plan = plan;
	schedule->used = (uint64_t *)&schedule->level[plan->max_levels];
	reel_schedule_begin(schedule);
	*opened = schedule;
	return 0;
}

void reel_schedule_close(reel_schedule *schedule)
{
	free(schedule);
}

void reel_schedule_begin(reel_schedule *schedule)
{
	const reel_plan *plan = schedule->plan;
	uint64_t *used = schedule->used;

	*schedule = (reel_schedule){.plan = plan,
				    .steps = plan->problem.steps,
				    .end = plan->problem.steps,
				    .phase = SWEEP,
				    .used = used};
	memset(used, 0, plan->slot_words * sizeof *used);
}

int reel_schedule_copy(reel_schedule *to, const reel_schedule *from)
{
	uint64_t *used = to->used;

	if (to->plan != from->plan)
		return reel_fail(-EINVAL, "a copy of a schedule is of the same plan");
	memcpy(used, from->used, from->plan->slot_words * sizeof *used);
	memcpy(to->level, from->level, from->levels * sizeof *from->level);
	*to = *from;
	to->used = used;
	return 0;
}

int reel_schedule_next(reel_schedule *schedule, reel_action *action)
{
	memset(action, 0, sizeof *action);
	if (!schedule->plan->planner) {
		next_of_list(schedule, action);
		return 0;
	}
	REEL_ASSERT_EXPENSIVE(slots_agree(schedule));
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

size_t reel_schedule_take(reel_schedule *schedule, reel_action *actions, size_t n)
{
	size_t taken = 0;
	int error = 0;

	while (taken < n && !error) {
		error = reel_schedule_next(schedule, &actions[taken]);
		if (actions[taken++].kind == REEL_ACTION_DONE)
			break;
	}
	return taken;
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
