/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/schedule.h>

#include "facts.h"
#include "verb.h"

const char plan_help[] =
	"Usage: reel plan --steps N --slots S [OPTION]...\n"
	"\n"
	"Plans the reversal of a loop of N steps with memory for S of its states, walks\n"
	"through the plan, checks it, and shows what it takes: one 'name: value' a line.\n"
	"Steps are counted in 'advances' where they are run without being recorded.\n"
	"\n"
	"  --planner NAME    store-all, binomial, mixed, multistage, two-level,\n"
	"                    hierarchical, disk-revolve, periodic or online, which is not\n"
	"                    told N in advance; default: hierarchical with a disk, else\n"
	"                    binomial\n"
	"  --disk-slots D    room for D states more, on a disk\n"
	"  --write-cost W    of a state, in the time of a step; default 0\n"
	"  --read-cost R     the same\n"
	"  --record-cost C   of a step, where an advance costs 1; default 1\n"
	"  --reverse-cost C  the same\n"
	"  --tape-states K   a step's tape takes up as much memory as K states\n"
	"  --period P        steps between states on the disk: two-level, periodic\n"
	"  --actions         the actions themselves, one a line, instead of the counts\n"
	"  --json            as JSON; an object for each action\n"
	"  --help            this text\n";

struct request {
	struct reel_problem problem;
	enum reel_planner planner;
	bool has_planner;
	bool has_steps;
	bool json;
	bool actions;
};

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "reel plan: %s%s; 'reel plan --help' describes the options\n", what, why);
	return EXIT_USAGE;
}

static int64_t *whole_option(struct request *request, const char *name)
{
	struct reel_problem *problem = &request->problem;

	if (strcmp(name, "--steps") == 0)
		return &problem->steps;
	if (strcmp(name, "--slots") == 0)
		return &problem->tier[0].slots;
	if (strcmp(name, "--disk-slots") == 0)
		return &problem->tier[1].slots;
	if (strcmp(name, "--tape-states") == 0)
		return &problem->tape_states;
	return strcmp(name, "--period") == 0 ? &problem->period : NULL;
}

static double *cost_option(struct request *request, const char *name)
{
	struct reel_problem *problem = &request->problem;

	if (strcmp(name, "--write-cost") == 0)
		return &problem->tier[1].store_cost;
	if (strcmp(name, "--read-cost") == 0)
		return &problem->tier[1].load_cost;
	if (strcmp(name, "--record-cost") == 0)
		return &problem->record_cost;
	return strcmp(name, "--reverse-cost") == 0 ? &problem->reverse_cost : NULL;
}

static bool flag_option(struct request *request, const char *name)
{
	if (strcmp(name, "--json") == 0)
		return request->json = true;
	return strcmp(name, "--actions") == 0 ? (request->actions = true) : false;
}

static int set_whole(struct request *request, int64_t *number, const char *name, const char *text)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	if (errno || end == text || *end || *number < 0)
		return refuse(name, " takes a whole number, 0 or more");
	request->has_steps = request->has_steps || number == &request->problem.steps;
	if (number == &request->problem.tier[1].slots)
		request->problem.tiers = 2;
	return 0;
}

static int set_cost(double *cost, const char *name, const char *text)
{
	char *end;

	*cost = strtod(text, &end);
	if (end == text || *end || !(*cost >= 0))
		return refuse(name, " takes a number, 0 or more");
	return 0;
}

static int set_planner(struct request *request, const char *name)
{
	request->has_planner = true;
	if (reel_planner_by_name(name, &request->planner))
		return refuse("there is no planner ", name);
	return 0;
}

/* An option that takes the next word; -1: it is none. */
static int set_option(struct request *request, const char *name, const char *text)
{
	int64_t *number = whole_option(request, name);
	double *cost = cost_option(request, name);

	if (!number && !cost && strcmp(name, "--planner") != 0)
		return -1;
	if (!text)
		return refuse(name, " takes a value");
	if (number)
		return set_whole(request, number, name, text);
	return cost ? set_cost(cost, name, text) : set_planner(request, text);
}

static int read_request(struct request *request, int count, char **words)
{
	*request = (struct request){.problem = {.tiers = 1}};
	for (int i = 0; i < count; i++) {
		int status;

		if (flag_option(request, words[i]))
			continue;
		status = set_option(request, words[i], i + 1 < count ? words[i + 1] : NULL);
		if (status)
			return status < 0 ? reject_word("plan", words[i]) : status;
		i++;
	}
	if (!request->has_steps)
		return refuse("--steps N", " is missing");
	if (!request->has_planner)
		request->planner = request->problem.tiers > 1 ? REEL_HIERARCHICAL : REEL_BINOMIAL;
	return 0;
}

static void add_tier_facts(struct facts *facts, const struct reel_schedule_report *report,
			   unsigned tiers)
{
	static const char *const names[2][3] = {
		{"memory_stores", "memory_loads", "memory_peak_slots"},
		{"disk_stores", "disk_loads", "disk_peak_slots"},
	};

	for (unsigned t = 0; t < tiers; t++) {
		facts_add_number(facts, names[t][0], report->stores[t]);
		facts_add_number(facts, names[t][1], report->loads[t]);
		facts_add_number(facts, names[t][2], report->peak_slots[t]);
	}
}

static int show_counts(const struct request *request, const struct reel_schedule_report *report)
{
	struct facts facts = { 0 };
	int error;

	facts_add_text(&facts, "planner", reel_planner_name(request->planner));
	facts_add_number(&facts, "steps", report->reversed);
	facts_add_number(&facts, "advances", report->advances);
	facts_add_number(&facts, "forward_steps", report->advances + report->recorded);
	add_tier_facts(&facts, report, request->problem.tiers);
	facts_add_number(&facts, "peak_tape_steps", report->peak_tape_steps);
	facts_add_number(&facts, "actions", report->actions);
	facts_add_real(&facts, "makespan", report->makespan);
	error = facts_print(&facts, request->json, stdout);
	facts_release(&facts);
	return error;
}

static void show_action(const reel_action *action, bool json)
{
	static const char *const kinds[] = {"advance", "record", "reverse", "store",
					    "load",    "drop",   "done"};
	static const char *const tiers[] = {"memory", "disk"};
	const char *kind = kinds[action->kind];
	bool of_slot = action->kind >= REEL_STORE && action->kind <= REEL_DROP;

	if (action->kind == REEL_DONE)
		printf(json ? "{\"action\": \"%s\"}\n" : "%s\n", kind);
	else if (of_slot)
		printf(json ? "{\"action\": \"%s\", \"state\": %lld, \"tier\": \"%s\", \"slot\": %u}\n"
			    : "%s %lld %s %u\n",
		       kind, (long long)action->first, tiers[action->tier], action->slot);
	else
		printf(json ? "{\"action\": \"%s\", \"first\": %lld, \"last\": %lld}\n"
			    : "%s %lld %lld\n",
		       kind, (long long)action->first, (long long)action->last);
}

/* An unknown end comes after `steps` steps. */
static void show_actions(const reel_plan *plan, int64_t steps, bool json)
{
	reel_schedule schedule;
	reel_action action;

	reel_schedule_begin(&schedule, plan);
	do {
		if (reel_schedule_next(&schedule, &action) == -EAGAIN && action.last >= steps) {
			action.last = steps;
			reel_schedule_end(&schedule, steps, steps);
		}
		if (action.kind != REEL_ADVANCE || action.first < action.last)
			show_action(&action, json);
	} while (action.kind != REEL_DONE && !ferror(stdout));
}

static int show_plan(const struct request *request, const reel_plan *plan, int64_t steps)
{
	struct reel_schedule_report report;
	int error = 0;

	if (request->actions)
		show_actions(plan, steps, request->json);
	else
		error = reel_plan_check(plan, NULL, steps, &report);
	return error || request->actions ? error : show_counts(request, &report);
}

int plan_run(int count, char **words)
{
	struct request request;
	reel_plan *plan = NULL;
	int status = read_request(&request, count, words);
	int64_t steps = request.problem.steps;
	const char *wrong;
	int error;

	if (status)
		return status;
	wrong = reel_plan_problem(request.planner, &request.problem);
	if (wrong)
		return refuse(wrong, "");
	if (request.planner == REEL_ONLINE)
		request.problem.steps = REEL_UNKNOWN_STEPS;
	error = reel_plan_open(&plan, request.planner, &request.problem);
	if (!error)
		error = show_plan(&request, plan, steps);
	reel_plan_close(plan);
	if (error)
		fprintf(stderr, "reel plan: %s\n", strerror(-error));
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
