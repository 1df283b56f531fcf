/* SPDX-License-Identifier: MIT */
/*
 * The choice by cost: all segment lengths of a ladder, all planners that suit, each with
 * what the memory holds, and the least time that a walk through its plan predicts. What
 * cannot be better than what has been found is passed over by a bound from the number of
 * advances that no plan goes below.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costs.h"
#include "os/integer.h"
#include "plan.h"

/* Of the binomial planner. */
#define MAX_FINE_SEGMENTS ((int64_t)1 << 20)
/* Each length of so short a loop is tried. */
#define SHORT_LOOP ((int64_t)64)
/* Each period of so few segments, and each number of slots of even fewer. */
#define FEW_SEGMENTS ((int64_t)32)
#define VERY_FEW_SEGMENTS ((int64_t)12)
/* Each number of tapes at once up to this one is tried. */
#define FEW_TAPES 16
/* Operations that a table may take: some hundredths of a second. */
#define MAX_TABLE_WORK 64e6
#define MAX_MIXED_WORK 4e6
/* Each length up to this one is tried. */
#define SHORT_SEGMENT 8
/* Between longer ones: sqrt(2). */
#define RUNG 1.4142135623730951

/* The planners, and store-all that spills. */
enum { WAY_SPILL = REEL_PLANNERS, WAYS };

struct search {
	struct reel_costs costs;
	struct reel_prediction found[WAYS];
	bool out_of_memory;
};

struct segments {
	int64_t each;
	int64_t count;
	unsigned tapes;
	uint64_t room; /* for states and the buffers of transfers */
};

/* ---- What costs say ---- */

static const char *problem_of_tier(const struct reel_cost_tier *tier)
{
	if (!reel_is_cost(tier->write_bandwidth) || !reel_is_cost(tier->read_bandwidth) ||
	    !reel_is_cost(tier->latency))
		return "a bandwidth or latency of a tier is below 0, above 1e100 or no number";
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
	return filled;
}

/* ---- Comparing ---- */

static uint64_t bytes_moved(const struct reel_prediction *prediction)
{
	uint64_t bytes = 0;

	for (unsigned t = 1; t < REEL_MAX_TIERS; t++)
		bytes += prediction->written_bytes[t] + prediction->read_bytes[t];
	return bytes;
}

static bool is_better(const struct reel_prediction *a, const struct reel_prediction *b)
{
	if (!b->segment_steps)
		return true;
	if (fabs(a->makespan - b->makespan) > 1e-9 * b->makespan)
		return a->makespan < b->makespan;
	if (a->peak_memory_bytes != b->peak_memory_bytes)
		return a->peak_memory_bytes < b->peak_memory_bytes;
	return bytes_moved(a) < bytes_moved(b);
}

static void offer(struct search *search, const struct reel_prediction *prediction)
{
	struct reel_prediction *found =
		&search->found[prediction->spills ? WAY_SPILL : (int)prediction->planner];

	if (is_better(prediction, found))
		*found = *prediction;
}

static void attempt(struct search *search, struct reel_prediction *prediction)
{
	int error = reel_predict(&search->costs, prediction);

	if (!error)
		offer(search, prediction);
	search->out_of_memory = search->out_of_memory || error == -ENOMEM;
}

/*
 * No plan with so many slots takes less: every state but the last is loaded, and one is
 * stored, and nothing has fewer advances than a binomial schedule.
 */
static double min_time(const struct search *search, const struct segments *segments,
			 int64_t slots)
{
	const struct reel_costs *costs = &search->costs;
	double steps = (double)costs->steps, chain = steps * costs->reverse_seconds;
	double all = chain + steps * costs->record_seconds +
		     (double)segments->count * costs->copy_seconds;
	int64_t advances = reel_binomial_advances(segments->count, slots > 0 ? slots : 1);

	if (segments->tapes > 1)
		all = all / segments->tapes > chain ? all / segments->tapes : chain;
	return all + (double)advances * (double)segments->each * costs->advance_seconds;
}

static bool is_hopeless(const struct search *search, const struct segments *segments,
			int64_t slots, enum reel_planner planner)
{
	const struct reel_prediction *found = &search->found[planner];

	return found->segment_steps && min_time(search, segments, slots) > found->makespan;
}

/* ---- States ---- */

static int64_t slots_in(uint64_t bytes, uint64_t state_bytes, int64_t most)
{
	if (!state_bytes || bytes / state_bytes >= (uint64_t)most)
		return most;
	return (int64_t)(bytes / state_bytes);
}

static int64_t slots_of_tier(const struct search *search, unsigned tier, int64_t most)
{
	uint64_t bytes = search->costs.tier[tier - 1].bytes;

	return slots_in(bytes ? bytes : UINT64_MAX, search->costs.state_bytes, most);
}

/* More are of no use, or more than a plan can have. */
static int64_t max_slots(const struct segments *segments)
{
	return segments->count - 1 < REEL_MAX_SLOTS ? segments->count - 1 : REEL_MAX_SLOTS;
}

static int64_t slots_of_memory(const struct search *search, const struct segments *segments,
			       uint64_t buffers)
{
	return slots_in(segments->room - buffers, search->costs.state_bytes, max_slots(segments));
}

static struct reel_tier costs_of_tier(const struct search *search, unsigned tier, double unit)
{
	const struct reel_costs *costs = &search->costs;
	double bytes = (double)costs->state_bytes;
	struct reel_tier of = {0, costs->copy_seconds / unit, costs->copy_seconds / unit};

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

/* Without slots but for those of memory. */
static struct reel_prediction candidate(const struct search *search,
					const struct segments *segments, enum reel_planner planner,
					unsigned tiers, int64_t memory_slots)
{
	double each = (double)segments->each;
	struct reel_prediction prediction = {.planner = planner,
					     .tapes = segments->tapes,
					     .segment_steps = segments->each};
	struct reel_problem *problem = &prediction.problem;

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

/*
 * A plan takes costs within bounds: reel_plan_open() must take all candidates. A candidate's
 * relative costs are largest with segments of one step, its times with a single segment.
 * Transfers are those of any size, since tapes are transferred as well as states.
 */
static const char *problem_of_plans(const struct reel_costs *costs)
{
	struct search search = {.costs = reel_costs_filled(costs)};
	int64_t steps = costs->steps > 0 ? costs->steps : 1;
	struct segments extremes[] = {{.each = 1, .count = steps}, {.each = steps, .count = 1}};

	search.costs.state_bytes = UINT64_MAX;
	for (unsigned e = 0; e < 2; e++) {
		struct reel_prediction prediction = candidate(&search, &extremes[e], REEL_STORE_ALL,
							      costs->tiers + 1, 0);

		if (reel_plan_problem(REEL_STORE_ALL, &prediction.problem))
			return "the times and bandwidths are too far apart: a cost of a plan would "
			       "be above 1e100";
	}
	return NULL;
}

const char *reel_costs_problem(const struct reel_costs *costs)
{
	const char *wrong = NULL;

	if (costs->steps < 0)
		return "the number of steps has to be known: give 0 or more";
	if (costs->steps > REEL_MAX_STEPS)
		return "there are more than 2^40 steps: count several as one";
	if (!reel_is_cost(costs->advance_seconds) || !reel_is_cost(costs->record_seconds) ||
	    !reel_is_cost(costs->reverse_seconds) || !reel_is_cost(costs->copy_seconds) ||
	    !reel_is_cost(costs->touch_seconds))
		return "a time is below 0, above 1e100 or no number";
	if (costs->tiers > REEL_MAX_TIERS - 1)
		return "there are more than 3 tiers besides memory";
	for (unsigned t = 0; t < costs->tiers && !wrong; t++)
		wrong = problem_of_tier(&costs->tier[t]);
	if (!wrong)
		wrong = reel_reserved_problem(costs->reserved, sizeof costs->reserved);
	return wrong ? wrong : problem_of_plans(costs);
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

/* Slots of so many bytes, the tape of a segment taking up several. */
static void try_mixed_slots(struct search *search, const struct segments *segments,
			    uint64_t slot_bytes, int64_t slots)
{
	uint64_t tape = reel_bytes_of(segments->each, search->costs.tape_bytes);
	int64_t each = slots_in(tape, slot_bytes, slots + 1);
	struct reel_prediction prediction = candidate(search, segments, REEL_MIXED, 1, slots);

	if (each <= slots && (each < 1 || (uint64_t)each * slot_bytes < tape))
		each++;
	prediction.problem.tape_states = each;
	if (each <= slots)
		attempt(search, &prediction);
}

/* Of the segments that are not recorded for good each is run once more. */
static bool mixed_is_hopeless(const struct search *search, const struct segments *segments)
{
	const struct reel_prediction *found = &search->found[REEL_MIXED];
	const struct reel_costs *costs = &search->costs;
	uint64_t tape = reel_bytes_of(segments->each, costs->tape_bytes);
	int64_t again = segments->count - 1 - slots_in(segments->room, tape, segments->count - 1);
	double least = (double)costs->steps * (costs->record_seconds + costs->reverse_seconds) +
		       (double)again * (double)segments->each * costs->advance_seconds;

	return found->segment_steps && least > found->makespan;
}

/* Of all segments' states and tapes; more memory is of no use. */
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
 * The tapes of segments are larger than states, mostly: slots larger than a state, by
 * powers of 2, let the table reach over as many tapes as there is room for.
 */
static void try_mixed(struct search *search, const struct segments *segments)
{
	double work = (double)segments->count * (double)segments->count / 2;
	int64_t most = work * REEL_MAX_SLOTS > MAX_MIXED_WORK ? (int64_t)(MAX_MIXED_WORK / work)
								: REEL_MAX_SLOTS;
	uint64_t slot = search->costs.state_bytes ? search->costs.state_bytes : 1;
	uint64_t room = mixed_room(search, segments);

	for (bool all = false; !all && room / slot > 0; slot *= 2) {
		int64_t slots = slots_in(room, slot, most);

		if (mixed_is_hopeless(search, segments))
			break;
		all = slots < most || slot > UINT64_MAX / 2;
		do
			try_mixed_slots(search, segments, slot, slots);
		while (segments->count <= VERY_FEW_SEGMENTS && --slots > 0);
	}
}

/* ---- Slower tiers ---- */

/* So that a table is computed in time; of the tiers whose slots are in it. */
static int64_t max_table_slots(const struct segments *segments)
{
	double rows = (double)segments->count * (double)segments->count / 2;
	int64_t most = max_slots(segments);

	return rows * (double)most > MAX_TABLE_WORK ? (int64_t)(MAX_TABLE_WORK / rows) : most;
}

/* A limited number of slots of all tiers together, the fastest first. */
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
	if (prediction.problem.tier[tiers - 1].slots < 1 ||
	    (segments->tapes > 1 && all < segments->count - 1))
		return;
	if (!is_hopeless(search, segments, all, planner))
		attempt(search, &prediction);
}

/* The last tier has a slot for each segment, or for each period, as far as it goes. */
static void try_last_tier(struct search *search, const struct segments *segments,
			  enum reel_planner planner, unsigned tiers, int64_t memory_slots,
			  int64_t period)
{
	int64_t most = planner == REEL_DISK_REVOLVE ? max_table_slots(segments)
						    : max_slots(segments);
	int64_t slots = slots_of_tier(search, tiers - 1, segments->count);
	struct reel_prediction prediction =
		candidate(search, segments, planner, tiers,
			  reel_min_i64(reel_min_i64(memory_slots, most), REEL_MAX_SLOTS - 1));

	prediction.problem.tier[tiers - 1].slots = slots;
	prediction.problem.period = period;
	if (slots > 0 && !is_hopeless(search, segments, segments->count, planner))
		attempt(search, &prediction);
}

/* Segments that are run while a state is written: as often as the tier can take one. */
static int64_t write_period(const struct search *search, const struct segments *segments,
			    unsigned tier)
{
	double unit = (double)segments->each * search->costs.advance_seconds;
	double cost = costs_of_tier(search, tier, unit).store_cost;
	int64_t period = cost < (double)segments->count ? (int64_t)cost : segments->count;

	period += (double)period < cost;
	return period > 1 ? period : 1;
}

static void try_period(struct search *search, const struct segments *segments, unsigned tiers,
		       int64_t slots, int64_t period)
{
	try_last_tier(search, segments, REEL_TWO_LEVEL, tiers, slots, period);
	if (segments->tapes == 1)
		try_last_tier(search, segments, REEL_PERIODIC, tiers, slots, period);
}

/* That of 0 is chosen by the costs; others are powers of 2, or all of few segments. */
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

/* Memory and the slower tiers up to the one before `tiers`, each with its buffers. */
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
	if (costs->memory_bytes && bytes > costs->memory_bytes)
		return false;
	if (costs->memory_bytes)
		segments->room = costs->memory_bytes - bytes;
	return segments->count > 1 && (int64_t)tapes <= segments->count;
}

/*
 * If the reversals one by one take as long as all work that the workers share, more tapes at once
 * take up more memory and gain little: the state of a segment is stored and loaded at most once.
 */
static bool more_tapes_are_useless(const struct search *search, const struct segments *segments)
{
	const struct reel_costs *costs = &search->costs;
	double steps = (double)costs->steps, chain = steps * costs->reverse_seconds;
	double touched = (double)segments->tapes * (double)segments->each * (double)costs->tape_bytes;
	double work = chain + steps * costs->record_seconds + touched * costs->touch_seconds +
		      2 * (double)segments->count * costs->copy_seconds;

	return segments->tapes >= FEW_TAPES && work <= chain * segments->tapes;
}

static void try_length(struct search *search, int64_t each)
{
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

/* Without the mathematics library; of numbers of at least 1. */
static double square_root(double square)
{
	double root = square, better = (root + 1) / 2;

	while (better < root) {
		root = better;
		better = (root + square / root) / 2;
	}
	return root;
}

/* Where states and the tape of a segment take up the least memory together. */
static double rule_length(const struct reel_costs *costs)
{
	double steps = (double)costs->steps;
	double square = steps * (double)costs->state_bytes;

	if (square >= steps * steps * (double)costs->tape_bytes)
		return steps;
	square /= (double)costs->tape_bytes;
	return square > 1 ? square_root(square) : 1;
}

/* `last` is the length tried before, to be passed over. */
static void try_rung(struct search *search, double length, int64_t *last)
{
	int64_t steps = search->costs.steps;
	int64_t each = length < (double)steps ? (int64_t)(length + 0.5) : steps;

	if (each >= reel_segment_count(steps, MAX_FINE_SEGMENTS) && each < steps && each != *last)
		try_length(search, each);
	*last = each;
}

static void try_ladder(struct search *search)
{
	int64_t steps = search->costs.steps, last = 0;
	double rule = rule_length(&search->costs);

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

/* Two steps' tapes, and what the tiers have no room for. */
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

/* The least memory: for a state and the tape of a segment, for all tapes, or to spill them. */
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
	return -ENOSPC;
}

static int conclude(const struct search *search, struct reel_choice *choice)
{
	const struct reel_prediction *best = best_but(search, NULL);

	if (search->out_of_memory)
		return -ENOMEM;
	if (!best->segment_steps)
		return refuse(search, choice);
	choice->best = *best;
	choice->runner_up = *best_but(search, best);
	reel_choice_explain(&search->costs, choice);
	return 0;
}

int reel_costs_choose(const struct reel_costs *costs, struct reel_choice *choice)
{
	const char *wrong = reel_costs_problem(costs);
	struct search *search;
	int error;

	memset(choice, 0, sizeof *choice);
	if (wrong) {
		strncpy(choice->reason, wrong, sizeof choice->reason - 1);
		return -EINVAL;
	}
	search = calloc(1, sizeof *search);
	if (!search)
		return -ENOMEM;
	search->costs = reel_costs_filled(costs);
	try_store_all(search);
	try_all_lengths(search);
	error = conclude(search, choice);
	free(search);
	return error;
}
