/* SPDX-License-Identifier: MIT */
/*
 * The planner and the slots of a problem from a text, "multistage:5:200", and the defaults: all
 * that programs leave open when they open a plan.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/environment.h"
#include "os/error.h"
#include "os/integer.h"
#include "plan.h"

#define UNKNOWN_SLOTS 30
/* A disk is slower than memory. How much slower is measured by reel_costs_choose() alone. */
#define STORE_COST 5
/* The table of a hierarchical plan takes O(steps^2 slots). */
#define QUICK_TABLE_STEPS 1000

/* The numbers that may follow a planner's name, and the tiers that the planner has. */
struct form {
	const char *numbers;
	size_t second; /* the member that the second number is; 0: there is none */
	bool has_two_tiers, is_unlimited;
};

#define SECOND(member) offsetof(struct reel_problem, member)

static const struct form forms[REEL_PLANNERS] = {
	[REEL_STORE_ALL] = {.numbers = ""},
	[REEL_BINOMIAL] = {.numbers = ":SLOTS"},
	[REEL_MIXED] = {.numbers = ":SLOTS:TAPE_STATES", .second = SECOND(tape_states)},
	[REEL_MULTISTAGE] = {.numbers = ":SLOTS:STORE_SLOTS", .second = SECOND(tier[1].slots),
			     .has_two_tiers = true},
	[REEL_TWO_LEVEL] = {.numbers = ":SLOTS:PERIOD", .second = SECOND(period),
			    .has_two_tiers = true, .is_unlimited = true},
	[REEL_HIERARCHICAL] = {.numbers = ":SLOTS:STORE_SLOTS", .second = SECOND(tier[1].slots),
			       .has_two_tiers = true},
	[REEL_DISK_REVOLVE] = {.numbers = ":SLOTS", .has_two_tiers = true, .is_unlimited = true},
	[REEL_PERIODIC] = {.numbers = ":SLOTS:PERIOD", .second = SECOND(period),
			   .has_two_tiers = true, .is_unlimited = true},
	[REEL_ONLINE] = {.numbers = ":SLOTS"},
	[REEL_AUTO] = {.numbers = ":SLOTS"},
};

/*
 * A hierarchical plan takes the least time by the costs of its tiers, and computes a table for
 * that. A multistage plan has the fewest advances, whatever the costs are, and no table.
 */
static enum reel_planner default_planner(const struct reel_problem *problem)
{
	bool has_costs = problem->tier[1].store_cost > 0 || problem->tier[1].load_cost > 0;

	if (problem->tiers > 1 && problem->period)
		return REEL_TWO_LEVEL;
	if (!problem->tiers)
		return REEL_AUTO;
	if (problem->steps == REEL_UNKNOWN_STEPS)
		return problem->tiers > 1 ? REEL_PERIODIC : REEL_ONLINE;
	if (problem->tiers < 2)
		return REEL_BINOMIAL;
	if (!has_costs || problem->steps > QUICK_TABLE_STEPS ||
	    reel_plan_problem(REEL_HIERARCHICAL, problem))
		return REEL_MULTISTAGE;
	return REEL_HIERARCHICAL;
}

static int64_t default_slots(int64_t steps)
{
	int64_t root = 1;

	if (steps == REEL_UNKNOWN_STEPS)
		return UNKNOWN_SLOTS;
	while (root < REEL_MAX_SLOTS && root + 1 <= steps / (root + 1))
		root++;
	return root;
}

static int read_planner(const char *text, enum reel_planner *planner)
{
	char name[16] = "";
	size_t length = strcspn(text, ":");

	memcpy(name, text, reel_min_size(length, sizeof name - 1));
	if (length < sizeof name && !reel_planner_by_name(name, planner))
		return 0;
	return reel_fail(
		-EINVAL,
		"plan \"%s\": there is no such planner; there are store-all, binomial, mixed, "
		"multistage, two-level, hierarchical, disk-revolve, periodic, online, auto and all",
		text);
}

/* Reads ":30". A text without it leaves the number as it is. */
static bool read_number(const char **text, int64_t *number)
{
	char *end;

	if (**text != ':')
		return true;
	if ((*text)[1] < '1' || (*text)[1] > '9')
		return false;
	*number = strtoll(*text + 1, &end, 10);
	*text = end;
	return true;
}

static bool read_numbers(const char *text, const struct form *form, struct reel_problem *problem)
{
	bool is_read = !*form->numbers || read_number(&text, &problem->tier[0].slots);

	if (is_read && form->second)
		is_read = read_number(&text, (int64_t *)((char *)problem + form->second));
	return is_read && !*text && (!form->has_two_tiers || problem->tier[1].slots);
}

/* Gives a problem without tiers those that the planner has. */
static void add_tiers(struct reel_problem *problem, const struct form *form)
{
	struct reel_tier *second = &problem->tier[1];

	problem->tiers = form->has_two_tiers ? 2 : 1;
	if (*form->numbers)
		problem->tier[0].slots =
			form == &forms[REEL_AUTO]     ? REEL_AUTO_SLOTS
			: form == &forms[REEL_ONLINE] ? UNKNOWN_SLOTS
						      : default_slots(problem->steps);
	if (form->is_unlimited)
		second->slots = REEL_MAX_STEPS;
	if (form->has_two_tiers && !(second->store_cost > 0) && !(second->load_cost > 0))
		second->store_cost = second->load_cost = STORE_COST;
}

int reel_problem_from_text(struct reel_problem *problem, enum reel_planner *planner,
			   const char *text)
{
	struct reel_problem complete = *problem;
	enum reel_planner chosen = default_planner(problem);
	const char *named = text || problem->tiers ? text : reel_environment("REEL_PLAN");
	const char *words = named && !strcmp(named, "all") ? "two-level:1:1" : named;
	const struct form *form;
	const char *numbers;

	if (named && read_planner(words, &chosen))
		return -EINVAL;
	/* The environment says one plan for all loops, whether or not their ends are known. */
	if (named != text && chosen == REEL_BINOMIAL && problem->steps == REEL_UNKNOWN_STEPS)
		chosen = REEL_ONLINE;
	form = &forms[chosen];
	numbers = words ? words + strcspn(words, ":") : "";
	if (problem->tiers && *numbers)
		return reel_fail(-EINVAL,
				 "plan \"%s\": its slots are given otherwise: name the planner "
				 "alone",
				 named);
	if (!problem->tiers) {
		add_tiers(&complete, form);
		if (!read_numbers(numbers, form, &complete))
			return reel_fail(-EINVAL, "plan \"%s\": it is %s%s, with numbers from 1 on",
					 named, reel_planner_name(chosen), form->numbers);
	}
	*problem = complete;
	*planner = chosen;
	return 0;
}
