/* SPDX-License-Identifier: MIT */
/*
 * Plans of all planners for problems of all kinds. Each one is carried out, and the checker has to
 * report the same counts.
 */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <string.h>


#include "fuzz.h"
#include "targets.h"
#include "walk.h"

enum { MAX_STEPS = 300, MAX_TABLE_STEPS = 60, MAX_ACTIONS = 200000 };

/* Draws a small number, or any number if `wild`. */
static int64_t draw_whole(struct fuzz_input *input, unsigned bound, bool wild)
{
	return wild ? (int64_t)fuzz_number(input, 8) : fuzz_below(input, bound);
}

static double draw_cost(struct fuzz_input *input, bool wild)
{
	uint64_t bits;
	double cost;

	if (!wild)
		return fuzz_byte(input) / 8.0;
	bits = fuzz_number(input, 8);
	memcpy(&cost, &bits, sizeof cost);
	return cost;
}

static struct reel_problem draw_problem(struct fuzz_input *input)
{
	unsigned wild = fuzz_byte(input);
	struct reel_problem problem = {
		.steps = draw_whole(input, MAX_STEPS + 1, wild == 255),
		.tiers = fuzz_below(input, wild == 254 ? 256 : 3),
		.tape_states = draw_whole(input, 4, wild == 253),
		.period = draw_whole(input, 12, wild == 252),
		.advance_cost = draw_cost(input, wild == 251),
		.record_cost = draw_cost(input, wild == 250),
		.reverse_cost = draw_cost(input, wild == 249),
	};

	for (unsigned t = 0; t < problem.tiers && t < REEL_MAX_TIERS; t++) {
		problem.tier[t].slots = draw_whole(input, t ? 40 : 12, wild == 248 + t);
		problem.tier[t].store_cost = draw_cost(input, wild == 246);
		problem.tier[t].load_cost = draw_cost(input, wild == 245);
	}
	problem.reserved[0] = wild == 244;
	if (wild == 243)
		problem.steps = REEL_UNKNOWN_STEPS;
	return problem;
}

static bool uses_table(enum reel_planner planner)
{
	return planner == REEL_MIXED || planner == REEL_HIERARCHICAL ||
	       planner == REEL_DISK_REVOLVE;
}

/* Returns true if the problem is small enough to walk through its plan. */
static bool is_short(enum reel_planner planner, const struct reel_problem *problem)
{
	int64_t most = uses_table(planner) ? MAX_TABLE_STEPS : MAX_STEPS;

	return problem->steps <= most;
}

/* Ends the loop in any state from the one where the last action began. */
static void meet_end(struct fuzz_input *input, reel_schedule *schedule, reel_action *action,
		     int64_t steps)
{
	if (action->last < steps)
		return;
	action->last = action->first + fuzz_below(input, (unsigned)(steps - action->first) + 1);
	FUZZ_EXPECT(reel_schedule_end(schedule, steps, action->last) == 0);
	FUZZ_EXPECT(reel_schedule_end(schedule, steps, action->last) == -EINVAL);
}

static void carry_out(struct fuzz_input *input, const reel_plan *plan, struct walk *walk)
{
	reel_schedule *schedule;
	reel_action action;
	unsigned count = 0;

	FUZZ_EXPECT(!reel_schedule_open(&schedule, plan));
	do {
		int error = reel_schedule_next(schedule, &action);

		FUZZ_EXPECT(error == 0 || (error == -EAGAIN && action.kind <= REEL_ACTION_RECORD));
		FUZZ_EXPECT(++count < MAX_ACTIONS);
		if (error)
			meet_end(input, schedule, &action, walk->steps);
		if (action.kind > REEL_ACTION_RECORD || action.first != action.last)
			FUZZ_EXPECT(walk_action(walk, &action));
	} while (action.kind != REEL_ACTION_DONE);
	FUZZ_EXPECT(reel_schedule_next(schedule, &action) == 0 && action.kind == REEL_ACTION_DONE);
	reel_schedule_close(schedule);
}

static bool same_counts(const struct reel_schedule_report *a, const struct reel_schedule_report *b)
{
	return a->advances == b->advances && a->recorded == b->recorded &&
	       a->reversed == b->reversed && a->peak_tape_steps == b->peak_tape_steps &&
	       a->actions == b->actions && !memcmp(a->stores, b->stores, sizeof a->stores) &&
	       !memcmp(a->loads, b->loads, sizeof a->loads) &&
	       !memcmp(a->peak_slots, b->peak_slots, sizeof a->peak_slots);
}

static void run_plan(struct fuzz_input *input, const reel_plan *plan,
		     const struct reel_problem *problem)
{
	static struct walk walk;
	struct reel_schedule_report report;
	bool unknown = problem->steps == REEL_UNKNOWN_STEPS;
	int64_t steps = unknown ? fuzz_below(input, MAX_STEPS) : problem->steps;

	walk_begin(&walk, problem, steps);
	carry_out(input, plan, &walk);
	FUZZ_EXPECT(walk.report.reversed == steps);
	FUZZ_EXPECT(reel_plan_check(plan, NULL, steps, &report) == 0);
	FUZZ_EXPECT(!report.wrong && isfinite(report.makespan) && report.makespan >= 0);
	if (!unknown)
		FUZZ_EXPECT(same_counts(&walk.report, &report));
}

int fuzz_schedule(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	enum reel_planner planner = fuzz_below(&input, REEL_PLANNERS + 1);
	struct reel_problem problem = draw_problem(&input);
	reel_plan *plan = NULL;
	int error;

	if (!is_short(planner, &problem))
		return 0;
	error = reel_plan_open(&plan, planner, &problem);
	FUZZ_EXPECT(error == 0 || error == -EINVAL);
	if (error)
		return 0;
	run_plan(&input, plan, &problem);
	reel_plan_close(plan);
	return 0;
}

