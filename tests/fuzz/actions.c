/* SPDX-License-Identifier: MIT */
/*
 * Plans of arbitrary actions: the checker accepts a plan that can be carried out, and names the
 * first action that cannot in any other.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "targets.h"
#include "walk.h"

enum { MAX_ACTIONS = 600 };

static reel_action actions[MAX_ACTIONS];
static size_t count;

static struct reel_problem draw_problem(struct fuzz_input *input)
{
	struct reel_problem problem = {.steps = fuzz_below(input, 12)};

	problem.tiers = 1 + fuzz_below(input, 2);
	for (unsigned t = 0; t < problem.tiers; t++)
		problem.tier[t].slots = fuzz_below(input, 6);
	problem.tape_states = fuzz_below(input, 3);
	return problem;
}

/* Begins with the actions of a planner. */
static void take_plan(enum reel_planner planner, const struct reel_problem *problem)
{
	reel_schedule *schedule;
	reel_plan *plan;
	reel_action action;

	if (reel_plan_open(&plan, planner, problem))
		return;
	FUZZ_EXPECT(!reel_schedule_open(&schedule, plan));
	while (count < MAX_ACTIONS && !reel_schedule_next(schedule, &action) &&
	       action.kind != REEL_ACTION_DONE)
		actions[count++] = action;
	reel_schedule_close(schedule);
	reel_plan_close(plan);
}

static reel_action draw_action(struct fuzz_input *input)
{
	unsigned code = fuzz_byte(input), range = fuzz_byte(input), slot = fuzz_byte(input);

	return (reel_action){.kind = (enum reel_action_kind)(code % 8),
			     .first = (int64_t)(range % 16) - (code >> 7),
			     .last = range / 16,
			     .tier = slot % 4,
			     .slot = slot / 4 % 8,
			     .last_use = slot / 32 % 2};
}

/* Inserts, removes or replaces an action, or changes a member of it. */
static void edit(struct fuzz_input *input)
{
	unsigned how = fuzz_below(input, 5);
	size_t at = fuzz_below(input, (unsigned)count + 1);

	if (how == 0 && count < MAX_ACTIONS) {
		memmove(&actions[at + 1], &actions[at], (count - at) * sizeof *actions);
		actions[at] = draw_action(input);
		count++;
	} else if (at < count && how == 1) {
		count--;
		memmove(&actions[at], &actions[at + 1], (count - at) * sizeof *actions);
	} else if (at < count && how == 2) {
		actions[at] = draw_action(input);
	} else if (at < count && how == 3) {
		actions[at].first += (int64_t)fuzz_below(input, 3) - 1;
		actions[at].last += (int64_t)fuzz_below(input, 3) - 1;
	} else if (at < count) {
		actions[at].last_use = !actions[at].last_use;
	}
}

/* An ADVANCE that runs no step may be anywhere in the loop. */
static bool is_empty_advance(const struct walk *walk, const reel_action *action)
{
	return action->kind == REEL_ACTION_ADVANCE && action->first == action->last &&
	       action->first >= 0 && action->first <= walk->steps;
}

/* Returns whether all can be carried out. If not, the walk's count is the first that cannot. */
static bool carry_out(struct walk *walk)
{
	static const reel_action done = {.kind = REEL_ACTION_DONE};

	for (size_t i = 0; i < count; i++) {
		if (is_empty_advance(walk, &actions[i]))
			continue;
		if (!walk_action(walk, &actions[i]))
			return false;
		if (actions[i].kind == REEL_ACTION_DONE)
			return true;
	}
	return walk_action(walk, &done);
}

static void compare(const struct reel_problem *problem)
{
	static struct walk walk;
	struct reel_schedule_report report;
	reel_plan *plan;
	bool right;
	int error;

	FUZZ_EXPECT(reel_plan_open_actions(&plan, problem, actions, count) == 0);
	walk_begin(&walk, problem, problem->steps);
	right = carry_out(&walk);
	error = reel_plan_check(plan, NULL, 0, &report);
	FUZZ_EXPECT(error == (right ? 0 : -EBADMSG));
	FUZZ_EXPECT(!report.wrong == right);
	if (right)
		FUZZ_EXPECT(report.actions == walk.report.actions &&
			    report.advances == walk.report.advances &&
			    report.reversed == problem->steps);
	else
		FUZZ_EXPECT(report.wrong_action == walk.report.actions);
	reel_plan_close(plan);
}

int fuzz_actions(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	struct reel_problem problem = draw_problem(&input);

	count = 0;
	take_plan(fuzz_below(&input, REEL_PLANNERS + 1), &problem);
	while (input.left)
		edit(&input);
	compare(&problem);
	return 0;
}
