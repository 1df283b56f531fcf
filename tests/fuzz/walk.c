/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <string.h>

#include "fuzz.h"
#include "walk.h"

void walk_begin(struct walk *walk, const struct reel_problem *problem, int64_t steps)
{
	memset(walk, 0, sizeof *walk);
	walk->problem = problem;
	walk->steps = walk->end = steps;
}

static struct walk_held *find(struct walk *walk, const reel_action *action)
{
	for (unsigned i = 0; i < walk->helds; i++)
		if (walk->held[i].tier == action->tier && walk->held[i].slot == action->slot)
			return &walk->held[i];
	return NULL;
}

static int64_t in_use(const struct walk *walk, unsigned tier)
{
	int64_t count = 0;

	for (unsigned i = 0; i < walk->helds; i++)
		count += walk->held[i].tier == tier;
	return count;
}

static int64_t tape_steps(const struct walk *walk)
{
	int64_t steps = 0;

	for (unsigned i = 0; i < walk->tapes; i++)
		steps += walk->tape[i].last - walk->tape[i].first;
	return steps;
}

static int64_t more(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- Actions of each kind ---- */

static bool are_steps(const struct walk *walk, const reel_action *action)
{
	return 0 <= action->first && action->first < action->last && action->last <= walk->steps;
}

static bool advance(struct walk *walk, const reel_action *action)
{
	if (!are_steps(walk, action) || walk->working != action->first)
		return false;
	walk->report.advances += action->last - action->first;
	walk->working = action->last;
	return true;
}

/* A tape lies on those of earlier steps. */
static bool record(struct walk *walk, const reel_action *action)
{
	if (!are_steps(walk, action) || walk->working != action->first || action->last > walk->end)
		return false;
	if (walk->tapes && walk->tape[walk->tapes - 1].last > action->first)
		return false;
	FUZZ_EXPECT(walk->tapes < WALK_MAX_TAPES);
	walk->tape[walk->tapes].first = action->first;
	walk->tape[walk->tapes++].last = action->last;
	walk->report.recorded += action->last - action->first;
	walk->report.peak_tape_steps = more(walk->report.peak_tape_steps, tape_steps(walk));
	walk->working = action->last;
	return true;
}

/* Reverses step by step, the last one first. */
static bool reverse(struct walk *walk, const reel_action *action)
{
	if (!are_steps(walk, action) || action->last != walk->end)
		return false;
	walk->report.reversed += action->last - action->first;
	while (walk->end > action->first) {
		if (!walk->tapes || walk->tape[walk->tapes - 1].last != walk->end)
			return false;
		walk->end = --walk->tape[walk->tapes - 1].last;
		if (walk->tape[walk->tapes - 1].first == walk->end)
			walk->tapes--;
	}
	return true;
}

/* Takes whole tapes off, the last one first, down to the first step of the action. */
static bool forget(struct walk *walk, const reel_action *action)
{
	int64_t last = action->last;

	if (!are_steps(walk, action))
		return false;
	while (last > action->first) {
		if (!walk->tapes || walk->tape[walk->tapes - 1].last != last)
			return false;
		last = walk->tape[--walk->tapes].first;
	}
	return last == action->first;
}

static bool store(struct walk *walk, const reel_action *action)
{
	int64_t *peak = &walk->report.peak_slots[action->tier];

	if (find(walk, action) || walk->working != action->first)
		return false;
	FUZZ_EXPECT(walk->helds < WALK_MAX_HELD);
	walk->held[walk->helds++] = (struct walk_held){action->tier, action->slot, action->first};
	walk->report.stores[action->tier]++;
	*peak = more(*peak, in_use(walk, action->tier));
	return true;
}

static bool load(struct walk *walk, const reel_action *action)
{
	const struct walk_held *held = find(walk, action);

	if (!held || held->state != action->first)
		return false;
	walk->report.loads[action->tier]++;
	walk->working = action->first;
	walk->owes_drop = action->last_use;
	walk->loaded = *action;
	return true;
}

static bool drop(struct walk *walk, const reel_action *action)
{
	struct walk_held *held = find(walk, action);

	if (!held || held->state != action->first)
		return false;
	*held = walk->held[--walk->helds];
	return true;
}

/* ---- Any action ---- */

static bool is_slot(const struct walk *walk, const reel_action *action)
{
	return action->tier < walk->problem->tiers &&
	       action->slot < walk->problem->tier[action->tier].slots;
}

static bool carry_out(struct walk *walk, const reel_action *action)
{
	switch (action->kind) {
	case REEL_ACTION_ADVANCE:
		return advance(walk, action);
	case REEL_ACTION_RECORD:
		return record(walk, action);
	case REEL_ACTION_REVERSE:
		return reverse(walk, action);
	case REEL_ACTION_STORE:
		return is_slot(walk, action) && store(walk, action);
	case REEL_ACTION_LOAD:
		return is_slot(walk, action) && load(walk, action);
	case REEL_ACTION_DROP:
		return is_slot(walk, action) && drop(walk, action);
	case REEL_ACTION_FORGET:
		return forget(walk, action);
	case REEL_ACTION_DONE:
		return !walk->end && !walk->tapes && !walk->helds;
	}
	return false;
}

/* Tapes take up slots of the first tier, except for the step that is recorded last. */
static bool fits_memory(const struct walk *walk, const reel_action *action)
{
	int64_t kept = tape_steps(walk) - (action->kind == REEL_ACTION_RECORD);

	if (!walk->problem->tape_states || !walk->problem->tiers || !kept)
		return true;
	return kept * walk->problem->tape_states + in_use(walk, 0) <= walk->problem->tier[0].slots;
}

bool walk_action(struct walk *walk, const reel_action *action)
{
	bool owes = walk->owes_drop;

	walk->owes_drop = false;
	if (owes && (action->kind != REEL_ACTION_DROP || action->tier != walk->loaded.tier ||
		     action->slot != walk->loaded.slot))
		return false;
	if (!carry_out(walk, action) || !fits_memory(walk, action))
		return false;
	walk->report.actions += action->kind != REEL_ACTION_DONE;
	return true;
}
