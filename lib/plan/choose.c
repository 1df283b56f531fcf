/* SPDX-License-Identifier: MIT */
/*
 * Chooses a plan by cost. It tries segments of several lengths and all planners that suit, each
 * with all slots that memory holds, and takes the plan with the least time that reel_predict()
 * predicts. It skips a plan whose lower bound of the time is above the time of a plan of the same
 * planner that was found. All data belong to the call: any thread may run these functions. The
 * choice never takes more memory than the costs allow.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costs.h"
#include "os/error.h"
#include "os/integer.h"
#include "plan.h"

#define NO_MEMORY "no memory to choose a plan"
/* Maximum number of segments for the binomial planner. */
#define MAX_FINE_SEGMENTS ((int64_t)1 << 20)
/* In a loop of at most SHORT_LOOP steps each length of segments is tried. */
#define SHORT_LOOP ((int64_t)64)
/* With at most FEW_SEGMENTS each period is tried, with VERY_FEW_SEGMENTS each number of slots. */
#define FEW_SEGMENTS ((int64_t)32)
#define VERY_FEW_SEGMENTS ((int64_t)12)
/* Each number of tapes up to this one is tried. */
#define FEW_TAPES 16
/* Maximum number of operations that compute a table: some hundredths of a second. */
#define MAX_TABLE_WORK 64e6
#define MAX_MIXED_WORK 4e6
/* Each length of segments up to this one is tried. */
#define SHORT_SEGMENT 8
/* Ratio of a longer length to the one before: sqrt(2). */
#define RUNG 1.4142135623730951

/* A way is a planner, or store-all with tapes that are spilled. */
enum { WAY_SPILL = REEL_PLANNERS, WAYS };

struct search {
	struct reel_costs costs;
	struct reel_prediction found[WAYS];
	bool out_of_memory;
};

struct segments {
	int64_t each;   /* number of steps of a segment */
	int64_t count;  /* number of segments */
	unsigned tapes; /* number of tapes at the same time */
	uint64_t room;  /* bytes left for states and the buffers of transfers */
};

/* ---- Costs ---- */

/*
 * Returns true for 0 and for numbers from 1e-25 to 1e25, by which each cost of each candidate stays
 * within the bounds of reel_plan_open(). A NaN is not usable.
 */
static bool is_usable(double number)
{
	return number == 0 || (number >= 1e-25 && number <= 1e25);
}

static const char *problem_of_tier(const struct reel_cost_tier *tier)
{
	if (!is_usable(tier->write_bandwidth) || !is_usable(tier->read_bandwidth) ||
	    !is_usable(tier->latency))
		return "a bandwidth or latency of a tier is not 0, and not from 1e-25 to 1e25";
	return reel_reserved_problem(tier->reserved, sizeof tier->reserved);
}

static double or_else(double number, double other)
{
	return number > 0 ? number : other;
}

struct reel_costs reel_costs_filled(const struct reel_costs *costs)
{
	struct reel_costs filled = *costs;

	filled.advance_seconds = or_else(costs->advance_seconds, 1);
	filled.record_seconds = or_else(costs->record_seconds, filled.advance_seconds);
	filled.reverse_seconds = or_else(costs->reverse_seconds, filled.record_seconds);
	filled.workers = costs->workers ? costs->workers : 1;
	REEL_ASSERT(filled.advance_seconds > 0 && filled.reverse_seconds > 0);
	return filled;
}

/* ---- Comparing ---- */

uint64_t reel_bytes_moved(const struct reel_prediction *prediction)
{
	uint64_t bytes = 0;

	for (unsigned t = 0; t < REEL_MAX_TIERS; t++)
		bytes += prediction->written_bytes[t] + prediction->read_bytes[t];
	return bytes;
}

/*
 * Returns true if `a` is better: faster, or as fast with less memory, or else with fewer transfers.
 */
static bool is_better(const struct reel_prediction *a, const struct reel_prediction *b)
{
	if (!b->segment_steps)
		return true;
	if (fabs(a->makespan - b->makespan) > 1e-9 * b->makespan)
		return a->makespan < b->makespan;
	if (a->peak_memory_bytes != b->peak_memory_bytes)
		return a->peak_memory_bytes < b->peak_memory_bytes;
	return reel_bytes_moved(a) < reel_bytes_moved(b);
}

static void offer(struct search *search, const struct reel_prediction *prediction)
{
	struct reel_prediction *found =
		&search->found[prediction->spills ? WAY_SPILL : (int)prediction->planner];

	REEL_ASSERT(prediction->segment_steps > 0 && prediction->makespan >= 0);
	REEL_ASSERT(!search->costs.memory_bytes ||
		    prediction->peak_memory_bytes <= search->costs.memory_bytes);
	if (is_better(prediction, found))
		*found = *prediction;
}

static void attempt(struct search *search, struct reel_prediction *prediction)
{
	int error = reel_predict(&search->costs, prediction);

	REEL_ASSERT(error != -ENOSPC);
	if (!error)
		offer(search, prediction);
	search->out_of_memory = search->out_of_memory || error == -ENOMEM;
}

/*
 * Returns a lower bound of the time of all plans with `slots` slots: each state but the last is
 * loaded, at least one is stored, and no plan has fewer advances than a binomial schedule.
 */
static double min_time(const struct search *search, const struct segments *segments,
			 int64_t slots)
{
	const struct reel_costs *costs = &search->costs;
	double steps = (double)costs->steps, chain = steps * costs->reverse_seconds;
	double all = chain + steps * costs->record_seconds +
		     (double)segments->count * costs->copy_seconds;
	int64_t advances = reel_binomial_advances(segments->count, slots > 0 ? slots : 1);

	REEL_ASSERT(advances >= 0);
	if (segments->tapes > 1)
		all = all / segments->tapes > chain ? all / segments->tapes : chain;
	return all + (double)advances * (double)segments->each * costs->advance_seconds;
}

/* Returns true if no plan of this planner with `slots` slots can be faster than the one found. */
static bool is_hopeless(const struct search *search, const struct segments *segments,
			int64_t slots, enum reel_planner planner)
{
	const struct reel_prediction *found = &search->found[planner];

	return found->segment_steps && min_time(search, segments, slots) > found->makespan;
}

/* ---- States ---- */

/* Number of states in `bytes` bytes, at most `most`. */
static int64_t slots_in(uint64_t bytes, uint64_t state_bytes, int64_t most)
{
	REEL_ASSERT(most >= 0);
	if (!state_bytes || bytes / state_bytes >= (uint64_t)most)
		return most;
	return (int64_t)(bytes / state_bytes);
}

static int64_t slots_of_tier(const struct search *search, unsigned tier, int64_t most)
{
	uint64_t bytes = search->costs.tier[tier - 1].bytes;

	REEL_ASSERT(tier > 0 && tier <= search->costs.tiers);
	return slots_in(bytes ? bytes : UINT64_MAX, search->costs.state_bytes, most);
}

/* Maximum number of slots: more are never used, or a plan cannot have them. */
static int64_t max_slots(const struct segments *segments)
{
	return segments->count - 1 < REEL_MAX_TABLE_SLOTS ? segments->count - 1
							  : REEL_MAX_TABLE_SLOTS;
}

static int64_t slots_of_memory(const struct search *search, const struct segments *segments,
			       uint64_t buffers)
{
	REEL_ASSERT(buffers <= segments->room);
	return slots_in(segments->room - buffers, search->costs.state_bytes, max_slots(segments));
}

/* Returns the costs of a tier in units of `unit` seconds. */
static struct reel_tier costs_of_tier(const struct search *search, unsigned tier, double unit)
{
	const struct reel_costs *costs = &search->costs;
	double bytes = (double)costs->state_bytes;
	struct reel_tier of = {0, costs->copy_seconds / unit, costs->copy_seconds / unit};

	REEL_ASSERT(unit > 0);
	if (tier > 0) {
		const struct reel_cost_tier *slow = &costs->tier[tier - 1];

		if (slow->write_bandwidth > 0)
			of.store_cost += bytes / slow->write_bandwidth / unit;
		if (slow->read_bandwidth > 0)
			of.load_cost += bytes / slow->read_bandwidth / unit;
		of.store_cost += slow->latency / unit;
		of.load_cost += slow->latency / unit;
	}
	return of;
}

/* Returns a prediction to be made, whose slower tiers have no slots yet. */
static struct reel_prediction candidate(const struct search *search,
					const struct segments *segments, enum reel_planner planner,
					unsigned tiers, int64_t memory_slots)
{
	double each = (double)segments->each;
	struct reel_prediction prediction = {.planner = planner,
					     .tapes = segments->tapes,
					     .segment_steps = segments->each};
	struct reel_problem *problem = &prediction.problem;

	REEL_ASSERT(tiers > 0 && tiers <= search->costs.tiers + 1);
	REEL_ASSERT(memory_slots >= 0 && memory_slots <= REEL_MAX_TABLE_SLOTS);
	problem->steps = segments->count;
	problem->advance_cost = each * search->costs.advance_seconds;
	problem->record_cost = each * search->costs.record_seconds;
	problem->reverse_cost = each * search->costs.reverse_seconds;
	problem->tiers = tiers;
	for (unsigned t = 0; t < tiers; t++)
		problem->tier[t] = costs_of_tier(search, t, problem->advance_cost);
	problem->tier[0].slots = memory_slots;
	return prediction;
}

static const char *problem_of_costs(const struct reel_costs *costs)
{
	const char *wrong = NULL;

	if (costs->steps < 0)
		return "the number of steps has to be known: give 0 or more";
	if (costs->steps > REEL_MAX_STEPS)
		return "there are more than 2^40 steps: count several as one";
	if (!is_usable(costs->advance_seconds) || !is_usable(costs->record_seconds) ||
	    !is_usable(costs->reverse_seconds) || !is_usable(costs->copy_seconds) ||
	    !is_usable(costs->touch_seconds))
		return "a time is not 0, and not from 1e-25 to 1e25";
	if (costs->tiers > REEL_MAX_TIERS - 1)
		return "there are more than 3 tiers besides memory";
	for (unsigned t = 0; t < costs->tiers && !wrong; t++)
		wrong = problem_of_tier(&costs->tier[t]);
	return wrong ? wrong : reel_reserved_problem(costs->reserved, sizeof costs->reserved);
}

static void try_binomial(struct search *search, const struct segments *segments)
{
	int64_t slots = slots_of_memory(search, segments, 0);
	bool ahead = segments->tapes > 1;

	if (ahead && slots < segments->count - 1)
		return;
	for (; slots > 0 && !is_hopeless(search, segments, slots, REEL_BINOMIAL); slots--) {
		struct reel_prediction prediction =
			candidate(search, segments, REEL_BINOMIAL, 1, slots);

		attempt(search, &prediction);
		if (ahead || segments->count > REEL_MAX_SEGMENTS)
			break;
	}
}

/* ---- States and tapes ---- */

/* Tries REEL_MIXED with `slots` slots of `slot_bytes` bytes; a tape takes up one or more slots. */
static void try_mixed_slots(struct search *search, const struct segments *segments,
			    uint64_t slot_bytes, int64_t slots)
{
	uint64_t tape = reel_bytes_of(segments->each, search->costs.tape_bytes);
	int64_t each = slots_in(tape, slot_bytes, slots + 1);
	struct reel_prediction prediction = candidate(search, segments, REEL_MIXED, 1, slots);

	if (each <= slots && (each < 1 || (uint64_t)each * slot_bytes < tape))
		each++;
	REEL_ASSERT(slots > 0 && each > 0);
	prediction.problem.tape_states = each;
	if (each <= slots)
		attempt(search, &prediction);
}

/* Number of bytes that states and tapes can use: at most the bytes of all segments. */
static uint64_t mixed_room(const struct search *search, const struct segments *segments)
{
	const struct reel_costs *costs = &search->costs;
	uint64_t tape = reel_bytes_of(segments->each, costs->tape_bytes);
	uint64_t both = tape > UINT64_MAX - costs->state_bytes ? UINT64_MAX
							       : tape + costs->state_bytes;
	uint64_t all = reel_bytes_of(segments->count, both);

	return all < segments->room ? all : segments->room;
}

/*
 * Tries REEL_MIXED with slots of the size of a state and of 2, 4, 8, ... states. Most tapes are
 * larger than a state, and the number of slots is limited: with larger slots the plan can use all
 * memory.
 */
static void try_mixed(struct search *search, const struct segments *segments)
{
	double work = (double)segments->count * (double)segments->count / 2;
	int64_t most = work * REEL_MAX_TABLE_SLOTS > MAX_MIXED_WORK
			       ? (int64_t)(MAX_MIXED_WORK / work)
			       : REEL_MAX_TABLE_SLOTS;
	uint64_t slot = search->costs.state_bytes ? search->costs.state_bytes : 1;
	uint64_t room = mixed_room(search, segments);

	for (bool all = false; !all && room / slot > 0; slot *= 2) {
		int64_t slots = slots_in(room, slot, most);

		REEL_ASSERT(slot > 0);
		all = slots < most || slot > UINT64_MAX / 2;
		do
			try_mixed_slots(search, segments, slot, slots);
		while (segments->count <= VERY_FEW_SEGMENTS && --slots > 0);
	}
}

/* ---- Slower tiers ---- */

/* Maximum number of slots in a table, so that computing it takes at most MAX_TABLE_WORK. */
static int64_t max_table_slots(const struct segments *segments)
{
	double rows = (double)segments->count * (double)segments->count / 2;
	int64_t most = max_slots(segments);

	return rows * (double)most > MAX_TABLE_WORK ? (int64_t)(MAX_TABLE_WORK / rows) : most;
}

/* Tries a planner with limited slots in all tiers; the fastest tiers get slots first. */
static void try_all_slots(struct search *search, const struct segments *segments,
			  enum reel_planner planner, unsigned tiers, int64_t memory_slots)
{
	int64_t most = planner == REEL_HIERARCHICAL ? max_table_slots(segments)
						    : max_slots(segments);
	int64_t all = reel_min_i64(memory_slots, most);
	struct reel_prediction prediction = candidate(search, segments, planner, tiers, all);

	for (unsigned t = 1; t < tiers; t++) {
		int64_t slots = slots_of_tier(search, t, most - all);

		prediction.problem.tier[t].slots = slots;
		all += slots;
	}
	REEL_ASSERT(all <= most);
	if (prediction.problem.tier[tiers - 1].slots < 1 ||
	    (segments->tapes > 1 && all < segments->count - 1))
		return;
	if (!is_hopeless(search, segments, all, planner))
		attempt(search, &prediction);
}

/* Tries a planner whose last tier has a slot for each segment or period, as far as it has room. */
static void try_last_tier(struct search *search, const struct segments *segments,
			  enum reel_planner planner, unsigned tiers, int64_t memory_slots,
			  int64_t period)
{
	int64_t most = planner == REEL_DISK_REVOLVE ? max_table_slots(segments)
						    : max_slots(segments);
	int64_t slots = slots_of_tier(search, tiers - 1, segments->count);
	struct reel_prediction prediction =
		candidate(search, segments, planner, tiers,
			  reel_min_i64(reel_min_i64(memory_slots, most), REEL_MAX_TABLE_SLOTS - 1));

	REEL_ASSERT(tiers > 1 && period >= 0);
	prediction.problem.tier[tiers - 1].slots = slots;
	prediction.problem.period = period;
	if (slots > 0 && !is_hopeless(search, segments, segments->count, planner))
		attempt(search, &prediction);
}

/* Number of segments that are advanced while the tier writes a state: the shortest period. */
static int64_t write_period(const struct search *search, const struct segments *segments,
			    unsigned tier)
{
	double unit = (double)segments->each * search->costs.advance_seconds;
	double cost = costs_of_tier(search, tier, unit).store_cost;
	int64_t period = cost < (double)segments->count ? (int64_t)cost : segments->count;

	period += (double)period < cost;
	REEL_ASSERT((double)period >= cost || period > segments->count);
	return period > 1 ? period : 1;
}

static void try_period(struct search *search, const struct segments *segments, unsigned tiers,
		       int64_t slots, int64_t period)
{
	try_last_tier(search, segments, REEL_TWO_LEVEL, tiers, slots, period);
	if (segments->tapes == 1)
		try_last_tier(search, segments, REEL_PERIODIC, tiers, slots, period);
}

/*
 * Tries the planners with a period: 0, for which the planner chooses one, powers of 2, or each
 * period if there are few segments.
 */
static void try_periods(struct search *search, const struct segments *segments, unsigned tiers,
			int64_t slots)
{
	int64_t period = write_period(search, segments, tiers - 1);
	bool few = segments->count <= FEW_SEGMENTS;

	try_period(search, segments, tiers, slots, 1);
	if (segments->tapes > 1)
		return;
	try_period(search, segments, tiers, slots, 0);
	try_period(search, segments, tiers, slots, period);
	for (period = 2; period < segments->count; period = few ? period + 1 : 2 * period)
		try_period(search, segments, tiers, slots, period);
}

/* Tries all planners with the first `tiers` tiers; each slower tier has buffers in memory. */
static void try_tiers(struct search *search, const struct segments *segments, unsigned tiers)
{
	uint64_t buffers = reel_bytes_of(TRANSFER_BUFFERS * ((int64_t)tiers - 1),
					 search->costs.state_bytes);
	int64_t slots;

	if (segments->room < buffers)
		return;
	slots = slots_of_memory(search, segments, buffers);
	try_all_slots(search, segments, REEL_MULTISTAGE, tiers, slots);
	try_periods(search, segments, tiers, slots);
	try_all_slots(search, segments, REEL_HIERARCHICAL, tiers, slots);
	if (segments->tapes == 1)
		try_last_tier(search, segments, REEL_DISK_REVOLVE, tiers, slots, 0);
}

/* ---- Segments ---- */

/*
 * Divides the loop into segments of `each` steps. Returns false if memory does not hold the
 * tapes, or if there are fewer segments than tapes or only one.
 */
static bool divide(const struct search *search, int64_t each, unsigned tapes,
		   struct segments *segments)
{
	const struct reel_costs *costs = &search->costs;
	int64_t steps = each > costs->steps / tapes ? costs->steps : each * tapes;
	uint64_t bytes = reel_bytes_of(steps, costs->tape_bytes);

	*segments = (struct segments){.each = each,
				      .count = reel_segment_count(costs->steps, each),
				      .tapes = tapes,
				      .room = UINT64_MAX};
	REEL_ASSERT(each > 0 && each <= costs->steps && tapes > 0);
	if (costs->memory_bytes && bytes > costs->memory_bytes)
		return false;
	if (costs->memory_bytes)
		segments->room = costs->memory_bytes - bytes;
	return segments->count > 1 && (int64_t)tapes <= segments->count;
}

/*
 * Returns true if more tapes gain little: all reversals, one after the other, take as long as a
 * worker's part of all work. The work counts one store and one load of the state of each segment.
 */
static bool more_tapes_are_useless(const struct search *search, const struct segments *segments)
{
	const struct reel_costs *costs = &search->costs;
	double steps = (double)costs->steps, chain = steps * costs->reverse_seconds;
	double touched =
		(double)segments->tapes * (double)segments->each * (double)costs->tape_bytes;
	double work = chain + steps * costs->record_seconds + touched * costs->touch_seconds +
		      2 * (double)segments->count * costs->copy_seconds;

	return segments->tapes >= FEW_TAPES && work <= chain * segments->tapes;
}

static void try_length(struct search *search, int64_t each)
{
	REEL_ASSERT(search->costs.workers > 0);
	struct segments segments;

	for (unsigned tapes = 1; tapes <= search->costs.workers; tapes++) {
		if (!divide(search, each, tapes, &segments))
			break;
		try_binomial(search, &segments);
		if (segments.count > REEL_MAX_SEGMENTS)
			break;
		if (tapes == 1)
			try_mixed(search, &segments);
		for (unsigned tiers = 2; tiers <= search->costs.tiers + 1; tiers++)
			try_tiers(search, &segments, tiers);
		if (more_tapes_are_useless(search, &segments))
			break;
	}
}

/* Computes the square root of a number of at least 1, without the mathematics library. */
static double square_root(double square)
{
	double root = square, better = (root + 1) / 2;

	while (better < root) {
		root = better;
		better = (root + square / root) / 2;
	}
	REEL_ASSERT(root >= 1 && fabs(root * root - square) <= 1e-9 * square);
	return root;
}

/* Returns the length of segments for which all states and a tape take up the least memory. */
static double rule_length(const struct reel_costs *costs)
{
	double steps = (double)costs->steps;
	double square = steps * (double)costs->state_bytes;

	if (square >= steps * steps * (double)costs->tape_bytes)
		return steps;
	square /= (double)costs->tape_bytes;
	return square > 1 ? square_root(square) : 1;
}

/* Tries a length, rounded to steps, unless it is *last, the length before. */
static void try_rung(struct search *search, double length, int64_t *last)
{
	int64_t steps = search->costs.steps;
	int64_t each = length < (double)steps ? (int64_t)(length + 0.5) : steps;

	REEL_ASSERT(each > 0 && each <= steps);
	if (each >= reel_segment_count(steps, MAX_FINE_SEGMENTS) && each < steps && each != *last)
		try_length(search, each);
	*last = each;
}

static void try_ladder(struct search *search)
{
	int64_t steps = search->costs.steps, last = 0;
	double rule = rule_length(&search->costs);

	REEL_ASSERT(rule >= 1 && rule <= (double)steps);
	for (double length = rule; length < (double)steps; length *= RUNG)
		if (length > SHORT_SEGMENT)
			try_rung(search, length, &last);
	for (double length = rule / RUNG; length > SHORT_SEGMENT; length /= RUNG)
		try_rung(search, length, &last);
	for (int length = SHORT_SEGMENT; length > 0; length--)
		try_rung(search, length, &last);
	try_length(search, reel_segment_count(steps, REEL_MAX_SEGMENTS));
	try_length(search, reel_segment_count(steps, MAX_FINE_SEGMENTS));
}

static void try_all_lengths(struct search *search)
{
	if (search->costs.steps > SHORT_LOOP)
		try_ladder(search);
	else
		for (int64_t each = search->costs.steps; each > 0; each--)
			try_length(search, each);
}

static void try_store_all(struct search *search)
{
	int64_t steps = search->costs.steps;
	struct segments segments = {.each = 1, .tapes = 1};
	struct reel_prediction prediction;

	if (steps > REEL_MAX_SEGMENTS)
		segments.each = reel_segment_count(steps, REEL_MAX_SEGMENTS);
	segments.count = reel_segment_count(steps, segments.each);
	prediction = candidate(search, &segments, REEL_STORE_ALL, 1, 0);
	if (!reel_predict_store_all(&search->costs, &prediction))
		offer(search, &prediction);
}

/* ---- The choice ---- */

/* Returns the best prediction except `but`; segment_steps is 0 if there is none. */
static const struct reel_prediction *best_but(const struct search *search,
					      const struct reel_prediction *but)
{
	static const struct reel_prediction none;
	const struct reel_prediction *best = &none;

	for (unsigned w = 0; w < WAYS; w++)
		if (&search->found[w] != but && search->found[w].segment_steps &&
		    is_better(&search->found[w], best))
			best = &search->found[w];
	return best;
}

/* Minimum memory to spill: two tapes of a step, and the tapes that the tiers have no room for. */
static uint64_t min_to_spill(const struct reel_costs *costs)
{
	uint64_t least = reel_bytes_of(2, costs->tape_bytes);
	uint64_t rest = reel_bytes_of(costs->steps, costs->tape_bytes);

	for (unsigned t = 0; t < costs->tiers; t++) {
		uint64_t bytes = costs->tier[t].bytes;

		rest = !bytes || bytes > rest ? 0 : rest - bytes;
	}
	return rest > least ? rest : least;
}

/*
 * Says how much memory is needed. That is the least of three: a state and the tape of a segment,
 * all tapes, or the memory to spill them.
 */
static int refuse(const struct search *search, struct reel_choice *choice)
{
	const struct reel_costs *costs = &search->costs;
	int64_t each = reel_segment_count(costs->steps, MAX_FINE_SEGMENTS);
	uint64_t tape = reel_bytes_of(each, costs->tape_bytes);
	uint64_t all = reel_bytes_of(costs->steps, costs->tape_bytes);
	uint64_t spilling = min_to_spill(costs), least;

	least = tape > UINT64_MAX - costs->state_bytes ? UINT64_MAX : tape + costs->state_bytes;
	least = all < least ? all : least;
	least = spilling < least ? spilling : least;
	reel_choice_refuse(costs, least, choice);
	return reel_fail(-ENOSPC, "%s", choice->reason);
}

static int conclude(const struct search *search, struct reel_choice *choice)
{
	const struct reel_prediction *best = best_but(search, NULL);

	if (search->out_of_memory)
		return reel_fail(-ENOMEM, NO_MEMORY);
	if (!best->segment_steps)
		return refuse(search, choice);
	REEL_ASSERT(best->problem.steps == reel_segment_count(search->costs.steps,
							      best->segment_steps));
	choice->best = *best;
	choice->runner_up = *best_but(search, best);
	reel_choice_explain(choice);
	return 0;
}

int reel_costs_choose(const struct reel_costs *costs, struct reel_choice *choice)
{
	const char *wrong = problem_of_costs(costs);
	struct search *search;
	int error;

	memset(choice, 0, sizeof *choice);
	if (wrong) {
		strncpy(choice->reason, wrong, sizeof choice->reason - 1);
		return reel_fail(-EINVAL, "%s", wrong);
	}
	search = calloc(1, sizeof *search);
	if (!search)
		return reel_fail(-ENOMEM, NO_MEMORY);
	search->costs = reel_costs_filled(costs);
	REEL_ASSERT(!problem_of_costs(&search->costs));
	try_store_all(search);
	try_all_lengths(search);
	error = conclude(search, choice);
	free(search);
	return error;
}
