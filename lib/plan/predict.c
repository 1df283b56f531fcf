/* SPDX-License-Identifier: MIT */
/*
 * Predicts the time and the memory of a plan by a walk through its actions with a clock.
 * walk->now is the time of the loop, and each slower tier has a time until which transfers keep
 * it busy. No time goes back. For each slower tier a second schedule walks ahead to the next LOAD
 * from it. The state of this LOAD is read as soon as the buffer for reading is free and the state
 * has been stored. All data belong to the call: any thread may run these functions.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "costs.h"

/* Values of tier_clock.readable_after besides the number of an action. */
#define AT_ONCE (-1)
#define NEVER INT64_MAX

struct tier_clock {
	double busy_until;      /* time at which the last transfer ends */
	double busy_seconds;    /* time that all transfers take together */
	double written_at;      /* time from which the buffer for writing is free */
	double read_at;         /* time from which the state that was read ahead is in memory */
	int64_t readable_after; /* number of the action after which the next state can be read */
	reel_schedule *ahead;   /* stands behind the next LOAD from this tier */
	int64_t ahead_actions;  /* number of actions taken from `ahead` */
};

struct walk {
	const struct reel_costs *costs;
	struct reel_prediction *prediction;
	reel_schedule *schedule;
	reel_schedule *from; /* of look_for_load() */
	double now;
	double first_record; /* time at which the first RECORD began; below 0: not yet */
	int64_t actions;
	int64_t advances_before_record;
	int64_t loads;
	int64_t slots, max_slots;           /* number of slots of memory in use */
	int64_t tape_steps, max_tape_steps; /* number of steps recorded and not reversed */
	struct tier_clock tier[REEL_MAX_TIERS];
};

/* ---- Transfers ---- */

static double transfer_seconds(const struct reel_cost_tier *tier, uint64_t bytes, double bandwidth)
{
	return tier->latency + (bandwidth > 0 ? (double)bytes / bandwidth : 0);
}

/* Starts a transfer when the tier is free, and returns when it ends. */
static double transfer(struct tier_clock *clock, double now, double seconds)
{
	REEL_ASSERT(now >= 0 && seconds >= 0);
	if (clock->busy_until < now)
		clock->busy_until = now;
	clock->busy_until += seconds;
	clock->busy_seconds += seconds;
	return clock->busy_until;
}

static void read_ahead(struct walk *walk, unsigned tier)
{
	const struct reel_cost_tier *costs = &walk->costs->tier[tier - 1];
	struct tier_clock *clock = &walk->tier[tier];
	uint64_t bytes = walk->costs->state_bytes;

	REEL_ASSERT(tier > 0 && clock->ahead_actions > walk->actions);
	clock->readable_after = NEVER;
	clock->read_at = transfer(clock, walk->now,
				  transfer_seconds(costs, bytes, costs->read_bandwidth));
}

static bool is_of(const reel_action *action, enum reel_action_kind kind, unsigned tier)
{
	return action->kind == kind && action->tier == tier;
}

/*
 * Returns the number of the last action from `first` to `last` - 1 that stores a state in the slot;
 * AT_ONCE: there is none, so the state was stored before.
 */
static int64_t last_store(reel_schedule *from, int64_t first, int64_t last, unsigned tier,
			  unsigned slot)
{
	int64_t stored = AT_ONCE;
	reel_action action;

	for (int64_t i = first; i < last; i++) {
		reel_schedule_next(from, &action);
		if (is_of(&action, REEL_ACTION_STORE, tier) && action.slot == slot)
			stored = i;
	}
	return stored;
}

/* Finds the next LOAD from the tier and reads its state at once if it has been stored. */
static void look_for_load(struct walk *walk, unsigned tier)
{
	struct tier_clock *clock = &walk->tier[tier];
	int64_t first = clock->ahead_actions;
	reel_action action;

	REEL_ASSERT(first >= walk->actions);
	reel_schedule_copy(walk->from, clock->ahead);
	do {
		reel_schedule_next(clock->ahead, &action);
		clock->ahead_actions++;
	} while (action.kind != REEL_ACTION_DONE && !is_of(&action, REEL_ACTION_LOAD, tier));
	clock->readable_after = NEVER;
	if (action.kind == REEL_ACTION_DONE)
		return;
	clock->readable_after =
		last_store(walk->from, first, clock->ahead_actions, tier, action.slot);
	if (clock->readable_after == AT_ONCE)
		read_ahead(walk, tier);
}

/* ---- Actions ---- */

static int64_t steps_of(const struct walk *walk, const reel_action *action)
{
	int64_t each = walk->prediction->segment_steps, all = walk->costs->steps;
	int64_t last = action->last * each;

	REEL_ASSERT(action->first * each <= all);
	return (last < all ? last : all) - action->first * each;
}

static void note_memory(struct walk *walk)
{
	uint64_t bytes = reel_bytes_of(walk->slots, walk->costs->state_bytes) +
			 reel_bytes_of(walk->tape_steps, walk->costs->tape_bytes);

	if (bytes > walk->prediction->peak_memory_bytes)
		walk->prediction->peak_memory_bytes = bytes;
}

/*
 * Adds the time to touch memory for the first time, when `now` things of `each` bytes are in memory
 * and *most is the largest number before.
 */
static void touch(struct walk *walk, int64_t *most, int64_t now, uint64_t each)
{
	if (now <= *most)
		return;
	walk->now += (double)(now - *most) * (double)each * walk->costs->touch_seconds;
	*most = now;
}

static void advance(struct walk *walk, int64_t steps)
{
	walk->prediction->advances += steps;
	walk->now += (double)steps * walk->costs->advance_seconds;
}

static void record(struct walk *walk, int64_t steps)
{
	if (walk->first_record < 0) {
		walk->first_record = walk->now;
		walk->advances_before_record = walk->prediction->advances;
	}
	walk->now += (double)steps * walk->costs->record_seconds;
	walk->tape_steps += steps;
	touch(walk, &walk->max_tape_steps, walk->tape_steps, walk->costs->tape_bytes);
	note_memory(walk);
}

static void reverse(struct walk *walk, int64_t steps)
{
	walk->now += (double)steps * walk->costs->reverse_seconds;
	walk->tape_steps -= steps;
	REEL_ASSERT(walk->tape_steps >= 0);
}

static void store(struct walk *walk, unsigned tier)
{
	const struct reel_costs *costs = walk->costs;
	struct tier_clock *clock = &walk->tier[tier];

	REEL_ASSERT(tier <= costs->tiers);
	if (walk->now < clock->written_at)
		walk->now = clock->written_at;
	walk->now += costs->copy_seconds;
	walk->prediction->written_bytes[tier] += costs->state_bytes;
	if (tier == 0) {
		walk->slots++;
		touch(walk, &walk->max_slots, walk->slots, costs->state_bytes);
		note_memory(walk);
	} else {
		const struct reel_cost_tier *to = &costs->tier[tier - 1];

		clock->written_at = transfer(
			clock, walk->now,
			transfer_seconds(to, costs->state_bytes, to->write_bandwidth));
	}
}

static void load(struct walk *walk, unsigned tier)
{
	REEL_ASSERT(tier == 0 || walk->tier[tier].readable_after == NEVER);
	REEL_ASSERT(tier == 0 || walk->tier[tier].ahead_actions == walk->actions + 1);
	if (walk->now < walk->tier[tier].read_at)
		walk->now = walk->tier[tier].read_at;
	walk->now += walk->costs->copy_seconds;
	walk->prediction->read_bytes[tier] += walk->costs->state_bytes;
	walk->loads++;
	if (tier > 0)
		look_for_load(walk, tier);
}

static void carry_out(struct walk *walk, const reel_action *action)
{
	switch (action->kind) {
	case REEL_ACTION_ADVANCE:
		advance(walk, steps_of(walk, action));
		break;
	case REEL_ACTION_RECORD:
		record(walk, steps_of(walk, action));
		break;
	case REEL_ACTION_REVERSE:
		reverse(walk, steps_of(walk, action));
		break;
	case REEL_ACTION_STORE:
		store(walk, action->tier);
		break;
	case REEL_ACTION_LOAD:
		load(walk, action->tier);
		break;
	case REEL_ACTION_DROP:
		walk->slots -= action->tier == 0;
		REEL_ASSERT(walk->slots >= 0);
		break;
	case REEL_ACTION_FORGET:
	case REEL_ACTION_DONE:
		break;
	}
}

static void walk_through(struct walk *walk)
{
	unsigned tiers = walk->prediction->problem.tiers;
	reel_action action;

	for (unsigned t = 1; t < tiers; t++) {
		reel_schedule_copy(walk->tier[t].ahead, walk->schedule);
		look_for_load(walk, t);
	}
	do {
		reel_schedule_next(walk->schedule, &action);
		carry_out(walk, &action);
		for (unsigned t = 1; t < tiers; t++)
			if (walk->tier[t].readable_after == walk->actions)
				read_ahead(walk, t);
		walk->actions++;
	} while (action.kind != REEL_ACTION_DONE);
	REEL_ASSERT(walk->slots == 0 && walk->tape_steps == 0);
}

/* ---- Look-ahead ---- */

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Returns the bytes of the tapes of all workers but one, whose tape the walk has counted. */
static uint64_t look_ahead_tapes(const struct walk *walk)
{
	int64_t each = walk->prediction->segment_steps;
	int64_t steps = each * (walk->prediction->tapes - 1);

	if (steps > walk->costs->steps - each)
		steps = walk->costs->steps - each;
	REEL_ASSERT(steps >= 0);
	return reel_bytes_of(steps, walk->costs->tape_bytes);
}

/*
 * Returns the time with a worker for each tape. The forward sweep takes as long as in the walk;
 * the workers share the reverse sweep, in which the reversals run one after the other.
 */
static double look_ahead_makespan(const struct walk *walk)
{
	const struct reel_costs *costs = walk->costs;
	double steps = (double)costs->steps;
	double copies = (double)walk->loads * costs->copy_seconds;
	double chain = steps * costs->reverse_seconds;
	double touches = (double)look_ahead_tapes(walk) * costs->touch_seconds;
	double shared = (steps * costs->record_seconds + copies + touches + chain) /
			walk->prediction->tapes;
	double segment = (double)walk->prediction->segment_steps * costs->record_seconds;
	double makespan = walk->first_record + segment + larger(chain, shared);

	REEL_ASSERT(walk->first_record >= 0);
	for (unsigned t = 1; t < walk->prediction->problem.tiers; t++)
		makespan = larger(makespan, walk->tier[t].busy_seconds);
	return makespan < walk->now ? makespan : walk->now;
}

static int conclude(const struct walk *walk)
{
	struct reel_prediction *prediction = walk->prediction;

	REEL_ASSERT(walk->now >= 0 && walk->advances_before_record <= prediction->advances);
	prediction->makespan = walk->now;
	for (unsigned t = 1; t < prediction->problem.tiers; t++)
		if (prediction->written_bytes[t])
			prediction->peak_memory_bytes +=
				TRANSFER_BUFFERS * walk->costs->state_bytes;
	if (prediction->tapes < 2)
		return 0;
	if (prediction->advances > walk->advances_before_record ||
	    walk->loads < prediction->problem.steps - 1 ||
	    (int64_t)prediction->tapes > prediction->problem.steps)
		return -ENOTSUP;
	prediction->makespan = look_ahead_makespan(walk);
	prediction->peak_memory_bytes += look_ahead_tapes(walk);
	return 0;
}

static int open_schedules(struct walk *walk, const reel_plan *plan)
{
	int error = reel_schedule_open(&walk->schedule, plan);

	if (!error)
		error = reel_schedule_open(&walk->from, plan);
	for (unsigned t = 1; t < walk->prediction->problem.tiers && !error; t++)
		error = reel_schedule_open(&walk->tier[t].ahead, plan);
	return error;
}

static void close_schedules(struct walk *walk)
{
	reel_schedule_close(walk->schedule);
	reel_schedule_close(walk->from);
	for (unsigned t = 1; t < walk->prediction->problem.tiers; t++)
		reel_schedule_close(walk->tier[t].ahead);
}

int reel_predict(const struct reel_costs *costs, struct reel_prediction *prediction)
{
	struct walk walk = {.costs = costs, .prediction = prediction, .first_record = -1};
	reel_plan *plan;
	int error = reel_plan_open(&plan, prediction->planner, &prediction->problem);

	REEL_ASSERT(prediction->segment_steps > 0 && prediction->tapes > 0);
	if (error)
		return error;
	error = open_schedules(&walk, plan);
	if (!error) {
		walk_through(&walk);
		error = conclude(&walk);
	}
	close_schedules(&walk);
	reel_plan_close(plan);
	return error;
}

/* ---- All tapes ---- */

/*
 * Spills `bytes` bytes to the tiers, the fastest first, and adds the times to *write and *read.
 * Returns the number of bytes for which no tier has room.
 */
static uint64_t spill(const struct reel_costs *costs, uint64_t bytes, double *write, double *read,
		      struct reel_prediction *prediction)
{
	for (unsigned t = 0; t < costs->tiers && bytes; t++) {
		const struct reel_cost_tier *tier = &costs->tier[t];
		uint64_t part = tier->bytes && tier->bytes < bytes ? tier->bytes : bytes;

		*write += transfer_seconds(tier, part, tier->write_bandwidth);
		*read += transfer_seconds(tier, part, tier->read_bandwidth);
		prediction->written_bytes[t + 1] = prediction->read_bytes[t + 1] = part;
		REEL_ASSERT(part <= bytes);
		bytes -= part;
	}
	return bytes;
}

int reel_predict_store_all(const struct reel_costs *costs, struct reel_prediction *prediction)
{
	uint64_t all = reel_bytes_of(costs->steps, costs->tape_bytes), memory = costs->memory_bytes;
	double steps = (double)costs->steps, write = 0, read = 0, touches;

	prediction->peak_memory_bytes = all;
	if (memory && all > memory) {
		/* Memory holds two tapes of a step: one is transferred while the other is used. */
		if (all == UINT64_MAX || memory / 2 < costs->tape_bytes ||
		    spill(costs, all - memory, &write, &read, prediction))
			return -ENOSPC;
		prediction->spills = true;
		prediction->peak_memory_bytes = memory;
	}
	REEL_ASSERT(!memory || prediction->peak_memory_bytes <= memory);
	touches = (double)prediction->peak_memory_bytes * costs->touch_seconds;
	prediction->makespan = larger(steps * costs->record_seconds + touches, write) +
			       larger(steps * costs->reverse_seconds, read);
	return 0;
}
