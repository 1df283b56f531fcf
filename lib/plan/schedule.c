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
	if (schedule->phase == SWEEP)
		schedule->swept = schedule->levels;
}

static void remove_level(reel_schedule *schedule, unsigned level)
{
	REEL_ASSERT(level < schedule->levels);
	schedule->levels--;
	memmove(&schedule->level[level], &schedule->level[level + 1],
		(schedule->levels - level) * sizeof schedule->level[0]);
	if (schedule->swept > schedule->levels)
		schedule->swept = schedule->levels;
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
	remove_level(schedule, level);
}

/* The tape grows by the steps that are recorded one by one, until its level is not the last one. */
void reel_schedule_record_step(reel_schedule *schedule, reel_action *action)
{
	struct level *top = schedule->levels ? &schedule->level[schedule->levels - 1] : NULL;

	REEL_ASSERT(schedule->phase == SWEEP && schedule->at < REEL_MAX_STEPS + 1);
	make(action, REEL_ACTION_RECORD, schedule->at, schedule->at + 1);
	if (top && top->tier == TAPE_TIER && top->last == schedule->at)
		top->last++;
	else
		push_level(schedule, schedule->at, schedule->at + 1, TAPE_TIER, 1);
	schedule->tape_steps++;
	schedule->at++;
}

void reel_schedule_forget(reel_schedule *schedule, unsigned level, reel_action *action)
{
	struct level tape = schedule->level[level];

	REEL_ASSERT(tape.tier == TAPE_TIER && level > 0);
	make(action, REEL_ACTION_FORGET, tape.first, tape.last);
	schedule->tape_steps -= tape.last - tape.first;
	remove_level(schedule, level);
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

int reel_schedule_sweep_to(reel_schedule *schedule, int64_t last, reel_action *action)
{
	advance(schedule, last, action);
	return schedule->steps == REEL_UNKNOWN_STEPS ? -EAGAIN : 0;
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
	/* If no slot is left for a site, the sweep goes on by a period. */
	if (schedule->steps == REEL_UNKNOWN_STEPS)
		return reel_schedule_sweep_to(schedule, more ? site : schedule->at + plan->period,
					      action);
	if (more ||
	    (schedule->sites == count && !planner->last_gap_has_site && schedule->at < site)) {
		advance(schedule, site, action);
		return 0;
	}
	return leave_sweep(schedule, action);
}

static int sweep(reel_schedule *schedule, reel_action *action)
{
	const struct planner *planner = schedule->plan->planner;
	int result = -ENOENT;

	schedule->passed = schedule->at;
	/* Mutants survive (boundary): at the end sweep_sites() also leaves the sweep. */
	if (schedule->steps != REEL_UNKNOWN_STEPS && schedule->at >= schedule->end)
		return leave_sweep(schedule, action);
	if (planner->site)
		return sweep_sites(schedule, action);
	if (planner->sweep)
		result = planner->sweep(schedule, action);
	return result == -ENOENT ? leave_sweep(schedule, action) : result;
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

/* Reverses the steps of a tape; of steps that were recorded one by one the last one. */
static void reverse_tape(reel_schedule *schedule, struct level *tape, reel_action *action)
{
	int64_t first = tape->slot ? tape->last - 1 : tape->first;

	REEL_ASSERT(tape->last == schedule->end && first >= tape->first);
	schedule->tape_steps -= tape->last - first;
	tape->last = first;
	if (first == tape->first)
		remove_level(schedule, schedule->levels - 1);
	reverse(schedule, first, action);
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
		reverse_tape(schedule, &schedule->level[top], action);
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
	schedule->costs = plan->costs;
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
				    .costs = schedule->costs,
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

struct schedule_place reel_schedule_place(const reel_schedule *schedule)
{
	REEL_ASSERT(!schedule->tape_steps && !schedule->sites);
	return (struct schedule_place){.steps = schedule->steps,
				       .at = schedule->at,
				       .end = schedule->end,
				       .phase = schedule->phase,
				       .levels = schedule->levels,
				       .costs = schedule->costs};
}

/* Claims the slot of a level; false: there is no such slot, or it is in use. */
static bool reclaim_slot(reel_schedule *schedule, const struct level *level)
{
	const struct reel_problem *problem = &schedule->plan->problem;
	unsigned bit;

	REEL_ASSERT(problem->tiers <= REEL_MAX_TIERS);
	if (level->tier >= problem->tiers || level->slot >= problem->tier[level->tier].slots)
		return false;
	bit = schedule->plan->first_slot[level->tier] + level->slot;
	if (schedule->used[bit / 64] >> bit % 64 & 1)
		return false;
	schedule->used[bit / 64] |= (uint64_t)1 << bit % 64;
	schedule->in_use[level->tier]++;
	return true;
}

static bool is_place(const struct schedule_place *place)
{
	bool is_open = place->steps == REEL_UNKNOWN_STEPS;

	if (place->at < 0 || place->end != place->steps)
		return place->phase == RETURN && place->end >= 0 && place->end <= place->steps;
	if (is_open)
		return place->phase == SWEEP;
	return place->steps >= 0 && place->at <= place->steps &&
	       (place->phase == SWEEP || place->phase == HELD || place->phase == RETURN);
}

int reel_schedule_go_to(reel_schedule *schedule, const struct schedule_place *place,
			const struct level *level)
{
	int64_t below = 0;

	reel_schedule_begin(schedule);
	if (!is_place(place) || place->levels > schedule->plan->max_levels)
		return -EBADMSG;
	for (uint32_t k = 0; k < place->levels; k++) {
		if (level[k].first < below || level[k].last != level[k].first ||
		    !reclaim_slot(schedule, &level[k])) {
			reel_schedule_begin(schedule);
			return -EBADMSG;
		}
		schedule->level[k] = level[k];
		below = level[k].first;
	}
	schedule->levels = place->levels;
	schedule->swept = place->levels;
	schedule->steps = place->steps;
	schedule->at = schedule->passed = place->at;
	schedule->end = place->end;
	schedule->phase = place->phase;
	schedule->costs = place->costs;
	return 0;
}

bool reel_schedule_returns(const reel_schedule *schedule)
{
	return schedule->phase == RETURN;
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

/* The loop has ended before the step that was to be recorded next. */
static void take_back_step(reel_schedule *schedule)
{
	struct level *top = schedule->levels ? &schedule->level[schedule->levels - 1] : NULL;

	if (!top || top->last <= schedule->at)
		return;
	REEL_ASSERT(top->tier == TAPE_TIER && top->last == schedule->at + 1);
	top->last--;
	schedule->tape_steps--;
	if (top->last == top->first)
		remove_level(schedule, schedule->levels - 1);
}

bool reel_schedule_learns(const reel_schedule *schedule)
{
	return reel_plan_learns(schedule->plan) && schedule->phase == SWEEP;
}

void reel_schedule_learn(reel_schedule *schedule, const struct reel_costs *costs)
{
	if (reel_plan_learns(schedule->plan))
		schedule->costs = *costs;
}

bool reel_schedule_is_recorded(const reel_schedule *schedule)
{
	unsigned k = schedule->levels;

	REEL_ASSERT(schedule->steps != REEL_UNKNOWN_STEPS);
	while (k > 0 && schedule->level[k - 1].first == schedule->steps)
		k--;
	return k > 0 && schedule->level[k - 1].tier == TAPE_TIER &&
	       schedule->level[k - 1].last == schedule->steps;
}

bool reel_schedule_begins_tape(const reel_schedule *schedule, int64_t step)
{
	const struct level *top = schedule->levels ? &schedule->level[schedule->levels - 1] : NULL;

	return top && top->tier == TAPE_TIER && top->first == step && top->last == step + 1;
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
	take_back_step(schedule);
	return 0;
}
