/* SPDX-License-Identifier: MIT */
/* Takes the planner and the slots of a problem from a text, and defaults for what is left out. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <reel/plan.h>

#include "tap/tap.h"

#define UNKNOWN REEL_UNKNOWN_STEPS
#define MANY REEL_MAX_STEPS

static const struct {
	const char *text;
	int64_t steps;
	enum reel_planner planner;
	int64_t slots, store_slots, period, tape_states;
	unsigned tiers;
} texts[] = {
	{NULL, 100, REEL_AUTO, 1024, 0, 0, 0, 1},
	{NULL, UNKNOWN, REEL_AUTO, 1024, 0, 0, 0, 1},
	{"auto", UNKNOWN, REEL_AUTO, 1024, 0, 0, 0, 1},
	{"auto:50", 100, REEL_AUTO, 50, 0, 0, 0, 1},
	{"binomial", 100, REEL_BINOMIAL, 10, 0, 0, 0, 1},
	{"binomial", 0, REEL_BINOMIAL, 1, 0, 0, 0, 1},
	{"binomial", 120, REEL_BINOMIAL, 10, 0, 0, 0, 1},
	{"binomial", (int64_t)1 << 40, REEL_BINOMIAL, REEL_MAX_SLOTS, 0, 0, 0, 1},
	{"binomial:30", 100, REEL_BINOMIAL, 30, 0, 0, 0, 1},
	{"online:8", 100, REEL_ONLINE, 8, 0, 0, 0, 1},
	{"online", 100, REEL_ONLINE, 30, 0, 0, 0, 1},
	{"online", UNKNOWN, REEL_ONLINE, 30, 0, 0, 0, 1},
	{"store-all", 100, REEL_STORE_ALL, 0, 0, 0, 0, 1},
	{"mixed:8", 100, REEL_MIXED, 8, 0, 0, 0, 1},
	{"mixed:8:3", 100, REEL_MIXED, 8, 0, 0, 3, 1},
	{"multistage:5:200", 100, REEL_MULTISTAGE, 5, 200, 0, 0, 2},
	{"hierarchical:5:20", 100, REEL_HIERARCHICAL, 5, 20, 0, 0, 2},
	{"disk-revolve:5", 100, REEL_DISK_REVOLVE, 5, MANY, 0, 0, 2},
	{"two-level:5:20", 100, REEL_TWO_LEVEL, 5, MANY, 20, 0, 2},
	{"two-level", 100, REEL_TWO_LEVEL, 10, MANY, 0, 0, 2},
	{"periodic:5:20", UNKNOWN, REEL_PERIODIC, 5, MANY, 20, 0, 2},
	{"all", 100, REEL_TWO_LEVEL, 1, MANY, 1, 0, 2},
};

static bool is_as_wanted(size_t i, const struct reel_problem *problem, enum reel_planner planner)
{
	double cost = texts[i].tiers > 1 ? 5 : 0;

	return planner == texts[i].planner && problem->steps == texts[i].steps &&
	       problem->tiers == texts[i].tiers && problem->period == texts[i].period &&
	       problem->tape_states == texts[i].tape_states &&
	       problem->tier[0].slots == texts[i].slots &&
	       problem->tier[1].slots == texts[i].store_slots &&
	       problem->tier[1].store_cost == cost && problem->tier[1].load_cost == cost;
}

static void a_text_fills_in_a_problem(void)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct reel_problem problem = {.steps = texts[i].steps};
		enum reel_planner planner;
		reel_plan *plan;
		int error = reel_problem_from_text(&problem, &planner, texts[i].text);

		ok(!error && is_as_wanted(i, &problem, planner), "%s: %s",
		   texts[i].text ? texts[i].text : "the default",
		   error ? reel_error_text(error) : reel_planner_name(planner));
		is_int(reel_plan_open(&plan, planner, &problem), 0, "its plan opens");
		reel_plan_close(plan);
	}
}

/* Problems that have tiers. */
static const struct {
	int64_t steps, period;
	unsigned tiers;
	int64_t store_slots;
	double store_cost;
	enum reel_planner planner;
} defaults[] = {
	{100, 0, 1, 0, 0, REEL_BINOMIAL},
	{100, 0, 2, 20, 0, REEL_MULTISTAGE},
	{100, 0, 2, 20, 1.5, REEL_HIERARCHICAL},
	{1000, 0, 2, 20, 1.5, REEL_HIERARCHICAL},
	{1001, 0, 2, 20, 1.5, REEL_MULTISTAGE},
	{100, 0, 2, 300, 1.5, REEL_MULTISTAGE},
	{100, 10, 2, 20, 1.5, REEL_TWO_LEVEL},
	{UNKNOWN, 10, 2, 20, 0, REEL_TWO_LEVEL},
	{UNKNOWN, 0, 2, 20, 0, REEL_PERIODIC},
	{UNKNOWN, 0, 1, 0, 0, REEL_ONLINE},
};

static void the_default_planner_is_that_of_the_tiers(void)
{
	for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
		struct reel_problem before = {.steps = defaults[i].steps,
					      .period = defaults[i].period,
					      .tiers = defaults[i].tiers,
					      .tier = {{.slots = 5}}};
		struct reel_problem problem;
		enum reel_planner planner;

		before.tier[1] = (struct reel_tier){.slots = defaults[i].store_slots,
						    .store_cost = defaults[i].store_cost};
		problem = before;
		is_int(reel_problem_from_text(&problem, &planner, NULL), 0, "tiers are given");
		is_string(reel_planner_name(planner), reel_planner_name(defaults[i].planner),
			  "the default planner");
		ok(!memcmp(&before, &problem, sizeof problem), "the tiers stay as they are");
		is_int(reel_problem_from_text(&problem, &planner, "disk-revolve"), 0,
		       "a planner is named");
		ok(planner == REEL_DISK_REVOLVE && !memcmp(&before, &problem, sizeof problem),
		   "only the planner is taken from the text");
	}
}

/* REEL_PLAN is for loops of which the program says nothing. */
static void the_environment_names_a_plan(void)
{
	struct reel_problem known = {.steps = 100}, unknown = {.steps = UNKNOWN};
	struct reel_problem tiers = {.steps = 100, .tiers = 1, .tier = {{.slots = 5}}};
	enum reel_planner planner;

	setenv("REEL_PLAN", "binomial:7", 1);
	ok(!reel_problem_from_text(&known, &planner, NULL) && planner == REEL_BINOMIAL &&
	   known.tier[0].slots == 7, "binomial:7 for a loop of a known end");
	ok(!reel_problem_from_text(&unknown, &planner, NULL) && planner == REEL_ONLINE &&
	   unknown.tier[0].slots == 7, "online:7 for a loop of an unknown end");
	ok(!reel_problem_from_text(&tiers, &planner, NULL) && planner == REEL_BINOMIAL &&
	   tiers.tier[0].slots == 5, "not where the program gives the slots");
	known = (struct reel_problem){.steps = 100};
	ok(!reel_problem_from_text(&known, &planner, "mixed:3") && planner == REEL_MIXED,
	   "nor where it names a planner");
	setenv("REEL_PLAN", "twice", 1);
	known = (struct reel_problem){.steps = 100};
	is_int(reel_problem_from_text(&known, &planner, NULL), -EINVAL, "a wrong one is refused");
	unsetenv("REEL_PLAN");
}

static void costs_that_are_given_stay(void)
{
	struct reel_problem problem = {.steps = 100};
	enum reel_planner planner;

	problem.tier[1].load_cost = 2;
	is_int(reel_problem_from_text(&problem, &planner, "hierarchical:3:4"), 0, "a cost is given");
	ok(problem.tier[1].store_cost == 0 && problem.tier[1].load_cost == 2, "the cost stays");
}

static const struct {
	const char *text, *said;
} wrong[] = {
	{"", "there is no such planner"},
	{"revolve", "plan \"revolve\": there is no such planner"},
	{"binomial-and-much-more:3", "there is no such planner"},
	{"binomials:3", "there is no such planner"},
	{"all:3", "there is no such planner"},
	{"binomial:", "plan \"binomial:\": it is binomial:SLOTS"},
	{"binomial:0", "it is binomial:SLOTS"},
	{"binomial:-3", "it is binomial:SLOTS"},
	{"binomial: 3", "it is binomial:SLOTS"},
	{"binomial:3x", "it is binomial:SLOTS"},
	{"binomial:3:4", "it is binomial:SLOTS"},
	{"store-all:3", "it is store-all"},
	{"multistage", "it is multistage:SLOTS:STORE_SLOTS"},
	{"multistage:3", "it is multistage:SLOTS:STORE_SLOTS"},
	{"hierarchical:3:4:5", "it is hierarchical:SLOTS:STORE_SLOTS"},
	{"two-level::5", "it is two-level:SLOTS:PERIOD"},
	{"disk-revolve:3:4", "it is disk-revolve:SLOTS"},
};

static void a_wrong_text_is_named(void)
{
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct reel_problem problem = {.steps = 100}, before = problem;
		enum reel_planner planner = REEL_PLANNERS;
		int error = reel_problem_from_text(&problem, &planner, wrong[i].text);

		ok(error == -EINVAL && strstr(reel_error_text(error), wrong[i].said), "\"%s\": %s",
		   wrong[i].text, reel_error_text(error));
		ok(planner == REEL_PLANNERS && !memcmp(&before, &problem, sizeof problem),
		   "nothing is changed");
	}
}

static void slots_are_given_once(void)
{
	struct reel_problem problem = {.steps = 100, .tiers = 1, .tier = {{.slots = 5}}};
	enum reel_planner planner;
	int error = reel_problem_from_text(&problem, &planner, "binomial:5");

	ok(error == -EINVAL && strstr(reel_error_text(error), "name the planner alone"), "%s",
	   reel_error_text(error));
}

static void numbers_that_are_too_large_are_left_to_the_plan(void)
{
	struct reel_problem problem = {.steps = 100};
	enum reel_planner planner;
	reel_plan *plan;

	is_int(reel_problem_from_text(&problem, &planner, "binomial:99999999999999999999"), 0,
	       "a number that is too large is read");
	is_int(reel_plan_open(&plan, planner, &problem), -EINVAL, "the plan refuses it");
}

int main(void)
{
	tap_begin();
	a_text_fills_in_a_problem();
	the_default_planner_is_that_of_the_tiers();
	the_environment_names_a_plan();
	costs_that_are_given_stay();
	a_wrong_text_is_named();
	slots_are_given_once();
	numbers_that_are_too_large_are_left_to_the_plan();
	return tap_end();
}
