/* SPDX-License-Identifier: MIT */
/* The iterator and the checker: every planner, short loops, copies, unknown ends. */
#include <config.h>

#include <reel/plan.h>

#include "helpers/plan-support.h"

#include "plan/plan.h"

#define MAX_ACTIONS 40000

static reel_action list[MAX_ACTIONS];

/* ---- All planners ---- */

static struct reel_problem problem_for(enum reel_planner planner, int64_t steps, int64_t slots)
{
	struct reel_problem problem = problem_of(steps, slots, slots / 2 + 1, 2, 3);

	if (planner == REEL_MIXED)
		problem.tape_states = 1 + slots % 3;
	if (planner == REEL_TWO_LEVEL || planner == REEL_PERIODIC || planner == REEL_DISK_REVOLVE)
		problem.tier[1].slots = slots % 2 ? UNLIMITED : steps + 1;
	if (planner == REEL_TWO_LEVEL)
		problem.tier[0].slots--;
	return problem;
}

static unsigned wrong_plans(enum reel_planner planner, int64_t first, int64_t last, int64_t stride,
			    int64_t first_slots, int64_t last_slots)
{
	unsigned wrong = 0;

	for (int64_t steps = first; steps <= last; steps += stride)
		for (int64_t slots = first_slots; slots <= last_slots; slots++) {
			struct reel_problem problem = problem_for(planner, steps, slots);
			struct reel_schedule_report report = checked(planner, &problem, steps);

			wrong += report.recorded != steps || report.reversed != steps ||
				 report.advances < 0;
		}
	return wrong;
}

static void every_plan_is_right(void)
{
	for (int p = 0; p < REEL_PLANNERS; p++) {
		is_int(wrong_plans((enum reel_planner)p, 0, 60, 1, 1, 12), 0,
		       "%s: 0 to 60 steps, 1 to 12 slots", reel_planner_name((enum reel_planner)p));
		is_int(wrong_plans((enum reel_planner)p, 61, 200, 17, 13, 20), 0,
		       "%s: up to 200 steps, 13 to 20 slots",
		       reel_planner_name((enum reel_planner)p));
	}
}

static void many_slots_are_no_trouble(void)
{
	for (int p = 0; p < REEL_PLANNERS; p++) {
		struct reel_problem problem = one_tier(300, 250);
		struct reel_schedule_report report;

		problem.tiers = 2;
		problem.tier[1] = (struct reel_tier){6, 1, 1};
		if (p == REEL_TWO_LEVEL || p == REEL_PERIODIC || p == REEL_DISK_REVOLVE)
			problem.tier[1].slots = 300;
		report = checked((enum reel_planner)p, &problem, 300);
		is_int(report.reversed, 300, "%s: 256 slots",
		       reel_planner_name((enum reel_planner)p));
	}
}

/* Planners with a closed form may have thousands of slots. */
static void thousands_of_slots(void)
{
	static const enum reel_planner planners[] = {REEL_BINOMIAL, REEL_MULTISTAGE, REEL_TWO_LEVEL,
						     REEL_PERIODIC, REEL_ONLINE};

	for (size_t i = 0; i < COUNT(planners); i++) {
		struct reel_problem problem = one_tier(20000, 3000);
		struct reel_schedule_report report;

		problem.tiers = 2;
		problem.tier[1] = (struct reel_tier){1000, 1, 1};
		report = checked(planners[i], &problem, 20000);
		is_int(report.reversed, 20000, "%s: 4,000 slots", reel_planner_name(planners[i]));
	}
}

/* A call takes several actions, at most up to the end or to an action on which the loop may end. */
static void actions_are_taken_together(void)
{
	struct reel_problem problem = one_tier(300, 7), unknown = one_tier(REEL_UNKNOWN_STEPS, 7);
	reel_plan *plan = open_plan(REEL_BINOMIAL, &problem);
	reel_plan *open_end = open_plan(REEL_ONLINE, &unknown);
	reel_schedule *one = open_schedule(plan), *many = open_schedule(plan);
	reel_schedule *online = open_schedule(open_end);
	reel_action actions[64], action;
	unsigned wrong = 0;
	size_t n;

	do {
		n = reel_schedule_take(many, actions, COUNT(actions));
		for (size_t i = 0; i < n; i++)
			wrong += reel_schedule_next(one, &action) ||
				 !same_action(&action, &actions[i]);
		wrong += n < COUNT(actions) && actions[n - 1].kind != REEL_ACTION_DONE;
	} while (n == COUNT(actions) && !wrong);
	is_int(wrong, 0, "64 actions a call are those of single calls");
	is_int(reel_schedule_take(many, actions, 5), 1, "a call after the end takes one action");
	is_int(actions[0].kind, REEL_ACTION_DONE, "this action is DONE");
	n = reel_schedule_take(online, actions, COUNT(actions));
	ok(n > 0 && n < COUNT(actions) && actions[n - 1].kind == REEL_ACTION_ADVANCE,
	   "an ADVANCE on which the loop may end is the last of a call");
	is_int(reel_schedule_copy(online, one), -EINVAL, "a copy of another plan is refused");
	reel_schedule_close(one);
	reel_schedule_close(many);
	reel_schedule_close(online);
	reel_plan_close(plan);
	reel_plan_close(open_end);
}

static void is_refused(enum reel_planner planner, struct reel_problem problem, const char *remedy)
{
	reel_plan *plan = NULL;

	is_int(reel_plan_open(&plan, planner, &problem), -EINVAL, "%s is refused",
	       reel_planner_name(planner));
	ok(strstr(reel_error_text(-EINVAL), remedy), "%s", reel_error_text(-EINVAL));
	ok(!plan, "nothing is stored");
}

/* A schedule keeps track of one state of the last tier beside those of the first tier. */
static void an_unlimited_tier_takes_up_one_slot(void)
{
	static const enum reel_planner planners[] = {REEL_TWO_LEVEL, REEL_PERIODIC,
						     REEL_DISK_REVOLVE};

	for (size_t i = 0; i < COUNT(planners); i++) {
		struct reel_problem problem = problem_of(600, 255, 600, 0.1, 0.1);
		const char *name = reel_planner_name(planners[i]);

		bool has_table = planners[i] == REEL_DISK_REVOLVE;
		int64_t most = has_table ? REEL_MAX_TABLE_SLOTS : REEL_MAX_SLOTS;

		problem.tier[0].slots = most - 1;
		is_int(checked(planners[i], &problem, 600).reversed, 600,
		       "%s: all slots but one", name);
		problem.tier[0].slots = most;
		is_refused(planners[i], problem, "slots");
	}
}

static void limited_last_tiers_make_the_period_longer(void)
{
	unsigned wrong = 0;

	for (int64_t steps = 0; steps <= 60; steps++)
		for (int64_t slots = 1; slots <= 5; slots++) {
			struct reel_problem problem = problem_of(steps, 3, slots, 0, 0);

			wrong += checked(REEL_PERIODIC, &problem, steps).reversed != steps;
			wrong += checked(REEL_TWO_LEVEL, &problem, steps).reversed != steps;
			problem.period = 1;
			wrong += checked(REEL_PERIODIC, &problem, steps).reversed != steps;
			wrong += checked(REEL_TWO_LEVEL, &problem, steps).reversed != steps;
		}
	is_int(wrong, 0, "the last tier has no more states than slots");
}

/* Storing costs nothing. States may be stored up to the last step but one, and not for the last. */
static void periods_are_no_longer_than_they_have_to_be(void)
{
	unsigned wrong = 0;

	for (int64_t steps = 2; steps <= 60; steps++)
		for (int64_t slots = 1; slots <= 5; slots++) {
			struct reel_problem problem = problem_of(steps, 3, slots, 0, 0);
			int64_t period = 1;

			while ((steps - 2) / period + 1 > slots)
				period++;
			wrong += checked(REEL_TWO_LEVEL, &problem, steps).stores[1] !=
				 (steps - 2) / period + 1;
		}
	is_int(wrong, 0, "the last tier has as many states as even gaps allow");
}

/* ---- Single actions ---- */

static size_t collect(reel_schedule *schedule, reel_action *actions)
{
	size_t count = 0;

	do {
		if (count == MAX_ACTIONS || reel_schedule_next(schedule, &actions[count]))
			return 0;
	} while (actions[count++].kind != REEL_ACTION_DONE);
	return count;
}

static size_t actions_of(enum reel_planner planner, const struct reel_problem *problem,
			 reel_action *actions)
{
	reel_plan *plan = open_plan(planner, problem);
	reel_schedule *schedule;
	size_t count;

	schedule = open_schedule(plan);
	count = collect(schedule, actions);
	reel_schedule_close(schedule);
	reel_plan_close(plan);
	return count;
}

static void a_small_schedule_is_as_expected(void)
{
	static const reel_action expected[] = {
		{.kind = REEL_ACTION_STORE},
		{.kind = REEL_ACTION_ADVANCE, .last = 2},
		{.kind = REEL_ACTION_RECORD, .first = 2, .last = 3},
		{.kind = REEL_ACTION_REVERSE, .first = 2, .last = 3},
		{.kind = REEL_ACTION_LOAD},
		{.kind = REEL_ACTION_ADVANCE, .last = 1},
		{.kind = REEL_ACTION_RECORD, .first = 1, .last = 2},
		{.kind = REEL_ACTION_REVERSE, .first = 1, .last = 2},
		{.kind = REEL_ACTION_LOAD, .last_use = true},
		{.kind = REEL_ACTION_DROP},
		{.kind = REEL_ACTION_RECORD, .last = 1},
		{.kind = REEL_ACTION_REVERSE, .last = 1},
		{.kind = REEL_ACTION_DONE},
	};
	struct reel_problem problem = one_tier(3, 1);
	unsigned wrong = 0;

	is_int(actions_of(REEL_BINOMIAL, &problem, list), COUNT(expected), "three steps, one slot");
	for (size_t i = 0; i < COUNT(expected); i++)
		wrong += !same_action(&list[i], &expected[i]);
	is_int(wrong, 0, "each action is as expected");
}

static void no_steps_and_one_step_store_nothing(void)
{
	for (int p = 0; p < REEL_PLANNERS; p++) {
		struct reel_problem none = problem_for((enum reel_planner)p, 0, 3);
		struct reel_problem one = problem_for((enum reel_planner)p, 1, 3);

		is_int(actions_of((enum reel_planner)p, &none, list), 1, "%s: no steps, no actions",
		       reel_planner_name((enum reel_planner)p));
		is_int(actions_of((enum reel_planner)p, &one, list), 3, "one step: two actions");
	}
}

static void done_is_said_again(void)
{
	struct reel_problem problem = one_tier(5, 2);
	reel_plan *plan = open_plan(REEL_BINOMIAL, &problem);
	reel_schedule *schedule;
	reel_action action;

	schedule = open_schedule(plan);
	collect(schedule, list);
	is_int(reel_schedule_next(schedule, &action), 0, "after the end");
	is_int(action.kind, REEL_ACTION_DONE, "the action after the end is DONE");
	is_int(action.first + action.last, 0, "DONE has no steps");
	reel_schedule_close(schedule);
	reel_plan_close(plan);
}

/* ---- Copies ---- */

static unsigned differences_of_copies(enum reel_planner planner, uint64_t seed)
{
	struct reel_problem problem = problem_for(planner, 40 + (int64_t)(seed % 40), 5);
	reel_plan *plan = open_plan(planner, &problem);
	reel_schedule *schedule;
	size_t count;
	unsigned wrong = 0;

	schedule = open_schedule(plan);
	count = collect(schedule, list);
	reel_schedule_begin(schedule);
	for (size_t i = 0; i < count; i++) {
		reel_action action;

		if (scramble(seed + i) % 8 == 0) {
			reel_schedule *copy = open_schedule(plan);

			wrong += reel_schedule_copy(copy, schedule) != 0;
			/* The original moves on; the copy shares nothing with it. */
			while (!reel_schedule_next(schedule, &action) &&
			       action.kind != REEL_ACTION_DONE)
				;
			for (size_t c = i; c < count; c++)
				wrong += reel_schedule_next(copy, &action) ||
					 !same_action(&action, &list[c]);
			reel_schedule_close(copy);
			reel_schedule_begin(schedule);
			for (size_t c = 0; c < i; c++)
				reel_schedule_next(schedule, &action);
		}
		wrong += reel_schedule_next(schedule, &action) || !same_action(&action, &list[i]);
	}
	reel_schedule_close(schedule);
	reel_plan_close(plan);
	return wrong;
}

static void a_copy_continues_as_the_original(void)
{
	for (int p = 0; p < REEL_PLANNERS; p++) {
		unsigned wrong = 0;

		for (uint64_t seed = 0; seed < 10; seed++)
			wrong += differences_of_copies((enum reel_planner)p, 1000 * seed);
		is_int(wrong, 0, "%s: copies made at random moments",
		       reel_planner_name((enum reel_planner)p));
	}
}

/* ---- The checker finds what is wrong ---- */

static void is_found(const struct reel_problem *problem, size_t count, const char *wrong)
{
	struct reel_schedule_report report;
	reel_plan *plan;
	int error;

	if (reel_plan_open_actions(&plan, problem, list, count))
		abort();
	error = reel_plan_check(plan, NULL, 0, &report);
	is_int(error, wrong ? -EBADMSG : 0, "the checker returns %s", wrong ? "an error" : "0");
	is_string(report.wrong, wrong, "the report says: %s", wrong ? wrong : "nothing");
	reel_plan_close(plan);
}

static size_t find(enum reel_action_kind kind, size_t from)
{
	while (list[from].kind != kind)
		from++;
	return from;
}

static size_t take_out(size_t at, size_t count)
{
	memmove(&list[at], &list[at + 1], (count - at - 1) * sizeof list[0]);
	return count - 1;
}

static size_t put_in(size_t at, size_t count, reel_action action)
{
	memmove(&list[at + 1], &list[at], (count - at) * sizeof list[0]);
	list[at] = action;
	return count + 1;
}

static struct reel_problem broken_problem;

static size_t sound_list(void)
{
	broken_problem = one_tier(10, 3);
	return actions_of(REEL_BINOMIAL, &broken_problem, list);
}

static size_t sound_list_that_owes_no_drop(void)
{
	size_t count = sound_list();

	for (size_t i = 0; i < count; i++)
		list[i].last_use = false;
	return count;
}

static void a_list_of_ones_own_is_a_plan(void)
{
	size_t count = sound_list();

	is_found(&broken_problem, count, NULL);
	is_found(&broken_problem, count - 1, NULL);
	is_found(&broken_problem, 0, "it ends before all steps have been reversed");
}

/* Problems whose tapes must not outlive the next action. */
static void steps_are_reversed_at_once(void)
{
	reel_action record = {.kind = REEL_ACTION_RECORD, .first = 0, .last = 2};
	reel_plan *plan = NULL;
	size_t count;

	for (int p = 0; p < REEL_PLANNERS; p++) {
		enum reel_planner planner = (enum reel_planner)p;
		struct reel_problem problem = problem_for(planner, 60, 5);

		problem.flags = REEL_REVERSE_AT_ONCE;
		if (planner == REEL_STORE_ALL || planner == REEL_MIXED)
			is_refused(planner, problem, "another planner");
		else
			is_int(checked(planner, &problem, 60).peak_tape_steps, 1,
			       "%s: one step is on the tape", reel_planner_name(planner));
	}
	broken_problem = one_tier(2, 2);
	broken_problem.flags = REEL_REVERSE_AT_ONCE;
	count = actions_of(REEL_BINOMIAL, &broken_problem, list);
	is_found(&broken_problem, count, NULL);
	list[0] = record;
	is_found(&broken_problem, 1, "several steps are recorded at once");
	list[0].last = 1;
	list[1] = (reel_action){.kind = REEL_ACTION_ADVANCE, .first = 1, .last = 2};
	is_found(&broken_problem, 2, "a step is recorded that the next action does not reverse");
	broken_problem.flags = 2;
	is_refused(REEL_BINOMIAL, broken_problem, "flags");
	is_int(reel_plan_open_actions(&plan, &broken_problem, list, 2), -EINVAL,
	       "a list with an unknown flag is refused");
}

static void a_list_is_walked_from_its_first_action_to_its_last(void)
{
	size_t count = sound_list();
	reel_schedule *schedule;
	reel_action action;
	unsigned wrong = 0;
	reel_plan *plan;

	is_int(reel_plan_open_actions(&plan, &broken_problem, list, count), 0,
	       "the list is a plan");
	schedule = open_schedule(plan);
	for (size_t i = 0; i < count; i++)
		wrong += reel_schedule_next(schedule, &action) != 0 ||
			 action.kind != list[i].kind || action.first != list[i].first;
	is_int(wrong, 0, "a list is walked as it is");
	reel_schedule_close(schedule);
	reel_plan_close(plan);
}

static void a_list_for_no_problem_is_refused(void)
{
	struct reel_problem problem = one_tier(-1, 3);
	reel_plan *plan = NULL;

	is_int(reel_plan_open_actions(&plan, &problem, list, 0), -EINVAL,
	       "a plan of less than 0 steps");
	problem = one_tier(10, 3);
	problem.tiers = 5;
	is_int(reel_plan_open_actions(&plan, &problem, list, 0), -EINVAL,
	       "a plan of more than 4 tiers");
	problem.tiers = 1;
	is_int(reel_plan_open_actions(&plan, NULL, list, 0), -EINVAL, "no problem");
	is_int(reel_plan_open_actions(&plan, &problem, NULL, 1), -EINVAL, "no list");
	is_int(reel_plan_open(&plan, REEL_BINOMIAL, NULL), -EINVAL, "no problem for a planner");
	ok(!plan, "nothing is stored");
}

static bool is_taken(enum reel_planner planner, struct reel_problem problem)
{
	reel_plan *plan = NULL;
	int error = reel_plan_open(&plan, planner, &problem);

	reel_plan_close(plan);
	return !error;
}

static void store_all_wants_room_for_its_tapes_only(void)
{
	struct reel_problem problem = one_tier(10, 18);

	problem.tape_states = 2;
	ok(is_taken(REEL_STORE_ALL, problem), "9 tapes of two states fit 18 slots");
	problem.tier[0].slots = 17;
	ok(!is_taken(REEL_STORE_ALL, problem), "9 tapes of two states do not fit 17 slots");
	problem = one_tier(1, 0);
	problem.tape_states = 2;
	ok(is_taken(REEL_STORE_ALL, problem), "one step has no tape beside it");
	problem.tiers = 0;
	problem.steps = 10;
	ok(is_taken(REEL_STORE_ALL, problem), "nothing is counted where there is no tier");
}

static void missing_actions_are_found(void)
{
	size_t count = sound_list();

	is_found(&broken_problem, take_out(find(REEL_ACTION_DROP, 0), count),
		 "the last use of a slot is not followed by its DROP");
	count = sound_list_that_owes_no_drop();
	is_found(&broken_problem, take_out(find(REEL_ACTION_DROP, find(REEL_ACTION_DROP, 0) + 1), count),
		 "a state is stored in a slot that is in use");
	count = sound_list_that_owes_no_drop();
	is_found(&broken_problem, take_out(count - 4, count), "it ends with a slot in use");
	count = sound_list();
	is_found(&broken_problem, take_out(find(REEL_ACTION_LOAD, 0), count),
		 "the working state is another one");
	count = sound_list();
	is_found(&broken_problem, take_out(find(REEL_ACTION_REVERSE, 0), count),
		 "steps are recorded above the tape of later ones");
	count = sound_list();
	count = take_out(find(REEL_ACTION_REVERSE, 0), count);
	is_found(&broken_problem, take_out(find(REEL_ACTION_RECORD, 0), count),
		 "steps are reversed before later ones");
	count = sound_list();
	is_found(&broken_problem, take_out(find(REEL_ACTION_RECORD, 0), count),
		 "steps are reversed that are not recorded");
	count = sound_list();
	is_found(&broken_problem, take_out(count - 2, count),
		 "it ends with a tape that has not been reversed");
	count = sound_list();
	is_found(&broken_problem, take_out(0, count), "a slot is loaded that is empty");
}

static void surplus_actions_are_found(void)
{
	size_t count = sound_list(), at = find(REEL_ACTION_REVERSE, 0);

	is_found(&broken_problem, put_in(at, count, list[at]), "steps are reversed twice");
	count = sound_list();
	at = find(REEL_ACTION_DROP, 0);
	is_found(&broken_problem, put_in(at, count, list[at]), "a slot is dropped that is empty");
	count = sound_list();
	at = find(REEL_ACTION_REVERSE, 0) + 1;
	count = put_in(at, count, (reel_action){.kind = REEL_ACTION_LOAD});
	count = put_in(at + 1, count, (reel_action){.kind = REEL_ACTION_ADVANCE, .last = 9});
	count = put_in(at + 2, count, (reel_action){.kind = REEL_ACTION_RECORD, .first = 9, .last = 10});
	is_found(&broken_problem, count, "steps are recorded that have been reversed");
}

/* Steps are recorded, given up and recorded again. */
static void steps_that_were_recorded_last_can_be_forgotten(void)
{
	static const reel_action first[] = {
		{.kind = REEL_ACTION_STORE},
		{.kind = REEL_ACTION_RECORD, .last = 4},
		{.kind = REEL_ACTION_RECORD, .first = 4, .last = 10},
	};
	static const reel_action last[] = {
		{.kind = REEL_ACTION_LOAD, .last_use = true},
		{.kind = REEL_ACTION_DROP},
		{.kind = REEL_ACTION_RECORD, .last = 10},
		{.kind = REEL_ACTION_REVERSE, .last = 10},
	};
	size_t at = COUNT(first), count = at + 1 + COUNT(last);

	broken_problem = one_tier(10, 3);
	memcpy(list, first, sizeof first);
	memcpy(&list[at + 1], last, sizeof last);
	list[at] = (reel_action){.kind = REEL_ACTION_FORGET, .last = 10};
	is_found(&broken_problem, count, NULL);
	list[at].first = 4;
	is_found(&broken_problem, count, "steps are recorded above the tape of later ones");
	list[at].first = 5;
	is_found(&broken_problem, count, "steps are forgotten that were not recorded last");
	list[at] = (reel_action){.kind = REEL_ACTION_FORGET, .last = 4};
	is_found(&broken_problem, count, "steps are forgotten that were not recorded last");
	list[at].first = 4;
	is_found(&broken_problem, count, "there are no such steps");
}

static void actions_that_cannot_be_are_found(void)
{
	size_t count = sound_list(), at = find(REEL_ACTION_STORE, 1);

	list[at].slot = 3;
	is_found(&broken_problem, count, "there is no such slot");
	list[at].tier = 1;
	is_found(&broken_problem, count, "there is no such tier");
	list[at].kind = (enum reel_action_kind)77;
	is_found(&broken_problem, count, "there is no such action");
	count = sound_list();
	list[find(REEL_ACTION_ADVANCE, 0)].last = 11;
	is_found(&broken_problem, count, "there are no such steps");
	count = sound_list();
	list[find(REEL_ACTION_LOAD, 0)].first++;
	is_found(&broken_problem, count, "the slot holds another state");
	count = sound_list();
	list[find(REEL_ACTION_STORE, 1)].first++;
	is_found(&broken_problem, count, "the working state is another one");
	count = sound_list();
	broken_problem.tier[0].slots = 2;
	is_found(&broken_problem, count, "there is no such slot");
}

static void ranges_that_cannot_be_are_found(void)
{
	size_t count = sound_list(), at = find(REEL_ACTION_ADVANCE, 0);

	list[at].first = -1;
	is_found(&broken_problem, count, "there are no such steps");
	count = sound_list();
	count = put_in(0, count, (reel_action){.kind = REEL_ACTION_ADVANCE});
	is_found(&broken_problem, count, NULL);
	list[0].first = list[0].last = 11;
	is_found(&broken_problem, count, "there are no such steps");
	list[0].first = list[0].last = -1;
	is_found(&broken_problem, count, "there are no such steps");
	count = sound_list();
	at = find(REEL_ACTION_RECORD, 0);
	list[at].last = list[at].first;
	is_found(&broken_problem, count, "there are no such steps");
	count = sound_list();
	at = find(REEL_ACTION_RECORD, 0);
	list[at].first--;
	is_found(&broken_problem, count, "the working state is another one");
	count = sound_list();
	at = find(REEL_ACTION_REVERSE, 0);
	list[at].last = 11;
	is_found(&broken_problem, count, "there are no such steps");
}

static void loads_and_drops_of_another_slot_are_found(void)
{
	size_t count = sound_list(), at = find(REEL_ACTION_LOAD, 0);

	list[at].slot = 3;
	is_found(&broken_problem, count, "there is no such slot");
	list[at].tier = 1;
	is_found(&broken_problem, count, "there is no such tier");
	for (int other = 0; other < 2; other++) {
		count = sound_list();
		at = find(REEL_ACTION_DROP, 0);
		list[at].tier = (unsigned)other;
		list[at].slot += 1 - (unsigned)other;
		is_found(&broken_problem, count,
			 "the last use of a slot is not followed by its DROP");
	}
	count = sound_list_that_owes_no_drop();
	list[find(REEL_ACTION_DROP, 0)].first++;
	is_found(&broken_problem, count, "the slot holds another state");
	count = sound_list_that_owes_no_drop();
	list[find(REEL_ACTION_DROP, 0)].slot = 3;
	is_found(&broken_problem, count, "there is no such slot");
}

static void tapes_out_of_order_or_too_large_are_found(void)
{
	struct reel_problem problem = one_tier(4, 2);
	size_t count = 0;

	list[count++] = (reel_action){.kind = REEL_ACTION_STORE};
	list[count++] = (reel_action){.kind = REEL_ACTION_ADVANCE, .last = 2};
	list[count++] = (reel_action){.kind = REEL_ACTION_RECORD, .first = 2, .last = 4};
	list[count++] = (reel_action){.kind = REEL_ACTION_LOAD};
	list[count++] = (reel_action){.kind = REEL_ACTION_RECORD, .last = 2};
	is_found(&problem, count, "steps are recorded above the tape of later ones");
	list[1] = (reel_action){.kind = REEL_ACTION_RECORD, .last = 2};
	list[3] = (reel_action){.kind = REEL_ACTION_REVERSE, .last = 4};
	list[4] = (reel_action){.kind = REEL_ACTION_DROP};
	is_found(&problem, count, NULL);
	problem.tape_states = 1;
	is_found(&problem, count, "states and tapes take up more than the slots of the first tier");
}

/* ---- Problems that are refused ---- */

static void bad_problems_are_refused(void)
{
	struct reel_problem good = problem_of(10, 3, 3, 1, 1), bad;

	is_refused(REEL_PLANNERS, good, "no such planner");
	is_refused(REEL_BINOMIAL, one_tier(-2, 3), "less than 0 steps");
	is_refused(REEL_BINOMIAL, one_tier(REEL_MAX_STEPS + 1, 3), "segments");
	is_refused(REEL_BINOMIAL, one_tier(10, 0), "no slot");
	is_refused(REEL_BINOMIAL, one_tier(10, REEL_MAX_SLOTS + 1), "segments");
	is_refused(REEL_MIXED, one_tier(10, REEL_MAX_TABLE_SLOTS + 1), "segments");
	is_refused(REEL_BINOMIAL, one_tier(10, -1), "less than 0 slots");
	is_refused(REEL_BINOMIAL, one_tier(REEL_UNKNOWN_STEPS, 3), "online");
	is_refused(REEL_MIXED, one_tier(REEL_MAX_TABLE_STEPS + 1, 3), "segments");
	is_refused(REEL_MIXED, one_tier(10, 0), "no slot");
	is_refused(REEL_ONLINE, one_tier(REEL_UNKNOWN_STEPS, 0), "no slot");
	is_refused(REEL_MULTISTAGE, problem_of(10, 0, 0, 0, 0), "no tier has a slot");
	is_refused(REEL_HIERARCHICAL, problem_of(10, 0, 0, 0, 0), "no tier has a slot");
	is_refused(REEL_HIERARCHICAL, problem_of(10, 3, 3, -1, 0), "cost of a tier");
	is_refused(REEL_HIERARCHICAL, problem_of(10, 3, 3, NAN, 0), "cost of a tier");
	is_refused(REEL_TWO_LEVEL, one_tier(10, 3), "second tier");
	is_refused(REEL_TWO_LEVEL, problem_of(10, REEL_MAX_SLOTS, 9, 0, 0), "4,096");
	is_refused(REEL_PERIODIC, problem_of(10, 3, 0, 0, 0), "no slot");
	is_refused(REEL_PERIODIC, problem_of(10, 0, 3, 0, 0), "no slot");
	is_refused(REEL_DISK_REVOLVE, problem_of(10, 3, 3, 0, 0), "a slot for each step");
	is_refused(REEL_DISK_REVOLVE, problem_of(10, 0, 10, 0, 0), "no tier but the last");
	is_refused(REEL_DISK_REVOLVE, one_tier(10, 3), "second tier");
	bad = good;
	bad.tier[0].store_cost = 2;
	is_refused(REEL_HIERARCHICAL, bad, "fastest tier first");
	bad = good;
	bad.tiers = 0;
	is_refused(REEL_BINOMIAL, bad, "no tier");
	bad.tiers = 5;
	is_refused(REEL_BINOMIAL, bad, "4 tiers");
	bad = good;
	bad.record_cost = -1;
	is_refused(REEL_BINOMIAL, bad, "cost of a step");
	bad = good;
	bad.advance_cost = -1;
	is_refused(REEL_BINOMIAL, bad, "cost of a step");
	bad = good;
	bad.reverse_cost = INFINITY;
	is_refused(REEL_BINOMIAL, bad, "cost of a step");
	bad.reverse_cost = 1e101;
	is_refused(REEL_BINOMIAL, bad, "1e100");
	bad = good;
	bad.tier[1].load_cost = 1e308;
	is_refused(REEL_HIERARCHICAL, bad, "1e100");
	bad = good;
	bad.tier[1].load_cost = -1;
	is_refused(REEL_HIERARCHICAL, bad, "cost of a tier");
	bad = good;
	bad.tier[0].load_cost = 2;
	is_refused(REEL_HIERARCHICAL, bad, "fastest tier first");
	bad = good;
	bad.tape_states = -1;
	is_refused(REEL_MIXED, bad, "tape_states");
	bad.tape_states = 1;
	is_refused(REEL_STORE_ALL, bad, "do not fit");
	bad = good;
	bad.period = -1;
	is_refused(REEL_TWO_LEVEL, bad, "period");
	bad.period = REEL_MAX_STEPS + 1;
	is_refused(REEL_TWO_LEVEL, bad, "period");
	bad = good;
	bad.reserved[2] = 1;
	is_refused(REEL_BINOMIAL, bad, "reserved");
}

static void the_largest_numbers_are_taken(void)
{
	struct reel_problem dear = problem_of(30, 3, 3, 1e100, 1e100);
	struct reel_problem roomy = problem_of(10, 3, INT64_MAX, 1, 1);

	is_int(checked(REEL_HIERARCHICAL, &dear, 30).reversed, 30, "costs of 1e100");
	dear.tier[1].slots = 30;
	is_int(checked(REEL_DISK_REVOLVE, &dear, 30).reversed, 30,
	       "costs of 1e100, where the last tier has no limit");
	is_int(checked(REEL_DISK_REVOLVE, &roomy, 10).reversed, 10, "the largest number of slots");
	roomy.tier[0].slots = 0;
	is_refused(REEL_DISK_REVOLVE, roomy, "no tier but the last");
}

/* One action records the steps, and one reverses them. */
static void steps_that_are_all_recorded_are_one_tape(void)
{
	struct reel_problem problem = {
		.steps = 10, .tape_states = 1, .tiers = 1, .tier = {{20, 0, 0}}};

	is_int(checked(REEL_MIXED, &problem, 10).actions, 2,
	       "mixed: steps that are all recorded are one tape");
}

static double makespan_of(const struct reel_problem *problem, const reel_plan *plan)
{
	struct reel_schedule_report report;

	return reel_plan_check(plan, problem, 10, &report) ? -1 : report.makespan;
}

static void a_step_costs_one_unless_it_is_said(void)
{
	struct reel_problem problem = one_tier(10, 10);
	reel_plan *plan = open_plan(REEL_STORE_ALL, &problem);

	problem.advance_cost = problem.record_cost = problem.reverse_cost = 0;
	is_int((int64_t)makespan_of(&problem, plan), 20,
	       "ten steps are recorded and reversed in the time of twenty");
	problem.record_cost = 3;
	problem.reverse_cost = 4;
	is_int((int64_t)makespan_of(&problem, plan), 70,
	       "steps are reversed in the time of more workers");
	reel_plan_close(plan);
}

static void names_come_back(void)
{
	enum reel_planner found = REEL_PLANNERS;

	for (int p = 0; p < REEL_PLANNERS; p++) {
		const char *name = reel_planner_name((enum reel_planner)p);

		ok(!reel_planner_by_name(name, &found) && (int)found == p, "%s", name);
	}
	is_int(reel_planner_by_name("revolve", &found), -EINVAL, "an unknown name");
	is_string(reel_planner_name(REEL_PLANNERS), "unknown", "an unknown planner");
	is_string(reel_action_name(REEL_ACTION_LOAD), "load", "the name of an action");
	is_string(reel_action_name(REEL_ACTION_FORGET + 1), "unknown", "an unknown action");
}

/* ---- Unknown ends ---- */

static size_t collect_until(reel_schedule *schedule, int64_t steps, int64_t at)
{
	size_t count = 0;
	int error;

	do {
		error = reel_schedule_next(schedule, &list[count]);
		if (error && list[count].last >= at) {
			list[count].last = at;
			if (reel_schedule_end(schedule, steps, at))
				return 0;
		}
		if (list[count].kind != REEL_ACTION_ADVANCE || list[count].first < list[count].last)
			count++;
	} while (count < MAX_ACTIONS && list[count - (count > 0)].kind != REEL_ACTION_DONE);
	return count;
}

/* The end is learnt in state `at`. */
static bool unknown_end_is_right(enum reel_planner planner, int64_t steps, int64_t at,
				 int64_t slots)
{
	struct reel_problem problem = problem_for(planner, REEL_UNKNOWN_STEPS, slots);
	struct reel_schedule_report report = {0};
	reel_plan *plan, *replayed;
	reel_schedule *schedule;
	size_t count;
	bool right;

	if (planner != REEL_ONLINE)
		problem.tier[1].slots = slots % 2 ? UNLIMITED : 3;
	problem.period = slots;
	plan = open_plan(planner, &problem);
	schedule = open_schedule(plan);
	count = collect_until(schedule, steps, at);
	problem.steps = steps;
	if (reel_plan_open_actions(&replayed, &problem, list, count))
		abort();
	right = count && !reel_plan_check(replayed, NULL, 0, &report) &&
		report.reversed == steps;
	if (!right)
		tap_note("%s: %lld steps, learnt at %lld: action %lld: %s",
			 reel_planner_name(planner), (long long)steps, (long long)at,
			 (long long)report.wrong_action, report.wrong);
	reel_plan_close(replayed);
	reel_schedule_close(schedule);
	reel_plan_close(plan);
	return right;
}

static void an_end_may_be_learnt_at_any_time(void)
{
	static const enum reel_planner planners[] = {REEL_ONLINE, REEL_TWO_LEVEL, REEL_PERIODIC};

	for (size_t p = 0; p < COUNT(planners); p++) {
		unsigned wrong = 0;

		for (int64_t steps = 0; steps <= 40; steps++)
			for (int64_t at = 0; at <= steps; at++)
				for (int64_t slots = 1; slots <= 7; slots++)
					wrong += !unknown_end_is_right(planners[p], steps, at,
								       slots);
		is_int(wrong, 0, "%s: every end, learnt in every state before it",
		       reel_planner_name(planners[p]));
	}
}

static void what_is_stored_depends_on_nothing_to_come(void)
{
	static reel_action shorter[MAX_ACTIONS];
	struct reel_problem problem = one_tier(REEL_UNKNOWN_STEPS, 6);
	reel_plan *plan = open_plan(REEL_ONLINE, &problem);
	reel_schedule *schedule;
	size_t same = 0;

	schedule = open_schedule(plan);
	memcpy(shorter, list, collect_until(schedule, 30, 30) * sizeof list[0]);
	reel_schedule_begin(schedule);
	collect_until(schedule, 300, 300);
	while (same_action(&shorter[same], &list[same]))
		same++;
	is_int(list[same].kind == REEL_ACTION_ADVANCE ? list[same].first : list[same - 1].last, 30,
	       "30 and 300 steps begin alike, up to the ADVANCE that meets the first end");
	reel_schedule_close(schedule);
	reel_plan_close(plan);
}

static void an_end_that_cannot_be_is_refused(void)
{
	struct reel_problem unknown = one_tier(REEL_UNKNOWN_STEPS, 6), known = one_tier(9, 6);
	reel_plan *plan = open_plan(REEL_ONLINE, &unknown);
	struct reel_schedule_report report;
	reel_schedule *schedule;
	reel_action action = {0};

	schedule = open_schedule(plan);
	while (action.last < 10)
		reel_schedule_next(schedule, &action);
	is_int(reel_schedule_end(schedule, 9, 7), -EINVAL, "a state passed long ago");
	is_int(reel_schedule_end(schedule, 20, 13), -EINVAL, "a state to come");
	is_int(reel_schedule_end(schedule, 8, 9), -EINVAL, "fewer steps than were run");
	is_int(reel_schedule_end(schedule, REEL_MAX_STEPS + 1, 9), -EINVAL,
	       "an end beyond REEL_MAX_STEPS");
	is_int(reel_schedule_end(schedule, 9, 9), 0, "a valid end");
	is_int(reel_schedule_end(schedule, 9, 9), -EINVAL, "a second end");
	is_int(reel_plan_check(plan, NULL, -1, &report), -EINVAL, "a check with less than 0 steps");
	reel_schedule_close(schedule);
	reel_plan_close(plan);
	plan = open_plan(REEL_ONLINE, &known);
	schedule = open_schedule(plan);
	is_int(reel_schedule_end(schedule, 9, 0), -EINVAL, "an end that is known");
	reel_schedule_close(schedule);
	reel_plan_close(plan);
}

/* ---- The bound of online schedules ---- */

/* The states that the plan keeps when the sweep reaches state `at`; the last one is not stored. */
struct sweep {
	int64_t state[REEL_MAX_SLOTS];
	int64_t kept;
	int64_t next; /* the next state that could be kept */
};

/* The advances of the reverse sweep from `end`, with all states but number `without`. */
static int64_t advances_without(const struct sweep *sweep, int64_t without, int64_t end,
				int64_t slots)
{
	int64_t advances = 0, first = 0;

	for (int64_t i = 1; i < sweep->kept; i++) {
		if (i == without)
			continue;
		advances += reel_binomial_advances(sweep->state[i] - first, slots);
		first = sweep->state[i];
		slots--;
	}
	return advances + reel_binomial_advances(end - first, slots);
}

static int64_t stretch_at(const struct sweep *sweep, int64_t at, int64_t slots)
{
	int64_t stretch = 1;

	while (sweep->kept == slots &&
	       128 * stretch * stretch <= reel_binomial_advances(at, slots))
		stretch *= 2;
	return stretch;
}

/* With one more state than slots, drops the one without which the reverse sweep is shortest. */
static void keep_or_drop(struct sweep *sweep, int64_t at, int64_t slots)
{
	int64_t end, worst, least = INT64_MAX;

	if (at != sweep->next)
		return;
	end = at + stretch_at(sweep, at, slots);
	sweep->state[sweep->kept++] = at;
	worst = sweep->kept;
	for (int64_t i = sweep->kept; sweep->kept > slots && --i > 0;) {
		int64_t advances = advances_without(sweep, i, end, slots);

		if (advances < least) {
			least = advances;
			worst = i;
		}
	}
	if (worst < sweep->kept)
		memmove(&sweep->state[worst], &sweep->state[worst + 1],
			(size_t)(--sweep->kept - worst) * sizeof *sweep->state);
	sweep->next = at + stretch_at(sweep, at, slots);
}

static int64_t online_advances(const struct sweep *sweep, int64_t steps, int64_t slots)
{
	int64_t last = sweep->kept - 1;
	int64_t advances = steps - 1 + reel_binomial_advances(steps - 1 - sweep->state[last],
							      slots - last);

	for (int64_t i = 0; i < last; i++)
		advances += reel_binomial_advances(sweep->state[i + 1] - sweep->state[i],
						   slots - i);
	return advances;
}

static int64_t walked_advances(int64_t steps, int64_t slots)
{
	struct reel_problem problem = one_tier(REEL_UNKNOWN_STEPS, slots);
	reel_plan *plan = open_plan(REEL_ONLINE, &problem);
	reel_schedule *schedule;
	size_t count;
	int64_t advances = 0;

	schedule = open_schedule(plan);
	count = collect_until(schedule, steps, steps - 1);
	for (size_t i = 0; i < count; i++)
		if (list[i].kind == REEL_ACTION_ADVANCE)
			advances += list[i].last - list[i].first;
	reel_schedule_close(schedule);
	reel_plan_close(plan);
	return advances;
}

/* Walks short loops, and every `stride`-th longer one. The ratios are to loops with known ends. */
static void judge_online(int64_t slots, int64_t max_steps, int64_t stride)
{
	struct sweep sweep = {.kept = 1, .next = 1};
	double worst = 1, sum = 0;
	unsigned differing = 0;

	for (int64_t steps = 2; steps <= max_steps; steps++) {
		int64_t advances = online_advances(&sweep, steps, slots);
		double ratio = (double)(steps + advances) /
			       (double)(steps + reel_binomial_advances(steps, slots));

		worst = fmax(worst, ratio);
		sum += ratio;
		if (steps <= 200 || (steps <= 2000 && steps % stride == 0))
			differing += walked_advances(steps, slots) != advances;
		keep_or_drop(&sweep, steps - 1, slots);
	}
	ok(worst <= 1.07 && sum / (double)(max_steps - 1) <= 1.015,
	   "%lld slots, 2 to 20,000 steps: %.4f times the optimum on average, at most %.3f",
	   (long long)slots, sum / (double)(max_steps - 1), worst);
	is_int(differing, 0, "schedules have as many advances as the formula");
}

static void online_schedules_stay_near_the_optimum(void)
{
	static const int64_t slots[] = {3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64};

	for (size_t i = 0; i < COUNT(slots); i++)
		judge_online(slots[i], 20000, 37);
}

/* The actions run more steps than can be counted; the last action passes the limit. */
static void a_walk_that_runs_too_many_steps_is_wrong(void)
{
	struct reel_problem problem = one_tier(INT64_MAX, 1);
	reel_action actions[] = {{.kind = REEL_ACTION_STORE},
				 {.kind = REEL_ACTION_ADVANCE, .last = INT64_MAX - 1},
				 {.kind = REEL_ACTION_LOAD},
				 {.kind = REEL_ACTION_ADVANCE, .last = 2}};
	struct reel_schedule_report report;
	reel_plan *plan;

	if (reel_plan_open_actions(&plan, &problem, actions, COUNT(actions)))
		return;
	is_int(reel_plan_check(plan, NULL, 0, &report), -EBADMSG,
	       "a plan of more than 2^63 steps is refused");
	ok(report.wrong && strstr(report.wrong, "can be counted"),
	   "the report says that they cannot be counted");
	is_int(report.wrong_action, 3, "the report has the number of the action");
	reel_plan_close(plan);
}

int main(void)
{
	tap_begin();
	every_plan_is_right();
	many_slots_are_no_trouble();
	thousands_of_slots();
	actions_are_taken_together();
	an_unlimited_tier_takes_up_one_slot();
	limited_last_tiers_make_the_period_longer();
	periods_are_no_longer_than_they_have_to_be();
	a_small_schedule_is_as_expected();
	no_steps_and_one_step_store_nothing();
	done_is_said_again();
	a_copy_continues_as_the_original();
	a_list_of_ones_own_is_a_plan();
	steps_are_reversed_at_once();
	a_list_is_walked_from_its_first_action_to_its_last();
	a_list_for_no_problem_is_refused();
	store_all_wants_room_for_its_tapes_only();
	missing_actions_are_found();
	surplus_actions_are_found();
	steps_that_were_recorded_last_can_be_forgotten();
	actions_that_cannot_be_are_found();
	ranges_that_cannot_be_are_found();
	loads_and_drops_of_another_slot_are_found();
	tapes_out_of_order_or_too_large_are_found();
	bad_problems_are_refused();
	the_largest_numbers_are_taken();
	steps_that_are_all_recorded_are_one_tape();
	a_step_costs_one_unless_it_is_said();
	names_come_back();
	an_end_may_be_learnt_at_any_time();
	what_is_stored_depends_on_nothing_to_come();
	an_end_that_cannot_be_is_refused();
	online_schedules_stay_near_the_optimum();
	a_walk_that_runs_too_many_steps_is_wrong();
	return tap_end();
}
