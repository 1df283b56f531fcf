/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel plan`: computes a plan for a loop and prints its costs, its actions, or both as
 * text or JSON. The command has one thread. plan-options.c reads the words, plan-costs.c chooses by
 * cost, plan-plot.c draws.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "plan.h"
#include "verb.h"

const char plan_help[] =
	"Usage: reel plan --steps N [OPTION]...\n"
	"       reel plan --steps N --costs COSTS --memory SIZE [OPTION]...\n"
	"       reel plan --costs FILE --memory SIZE [OPTION]...\n"
	"\n"
	"Plans the reversal of a loop of N steps with memory for some of its states and shows\n"
	"what it takes: one 'name: value' a line.\n"
	"Steps are counted in 'advances' where they are run without being recorded.\n"
	"\n"
	"  --steps N         of the loop\n"
	"  --planner TEXT    binomial:S or disk-revolve:S, for S states in memory;\n"
	"                    multistage:S:D, hierarchical:S:D; two-level:S:P, periodic:S:P;\n"
	"                    mixed:S:K; online:S, which is not told N in advance; store-all;\n"
	"                    all, a state for each step; or auto, which learns as it goes,\n"
	"                    also with the costs below, all known at first; default:\n"
	"                    binomial, S the square root of N\n"
	"  --slots S         room for S states in memory; --planner is then a name alone\n"
	"  --disk-slots D    room for D states more, on a disk; default: hierarchical with\n"
	"                    costs, else multistage\n"
	"  --write-cost W    of a state, in the time of a step; default 0, or 5 where\n"
	"                    --planner says the slots\n"
	"  --read-cost R     the same\n"
	"  --record-cost C   of a step, where an advance costs 1; default 1\n"
	"  --reverse-cost C  the same\n"
	"  --tape-states K   a step's tape takes up as much memory as K states\n"
	"  --period P        steps between states on the disk: two-level, periodic\n"
	"\n"
	"With costs instead of slots, the way that takes the least time is chosen, and shown\n"
	"with what it is expected to take and with the runner-up.\n"
	"\n"
	"  --costs COSTS     seconds of a step and of a copy of a state in memory:\n"
	"                    advance=0.1,record=0.3,reverse=0.2,copy=0.01,\n"
	"                    touch=1e-10 (a byte of memory used for the first time)\n"
	"  --state-bytes SIZE, --tape-bytes SIZE\n"
	"                    a state, and the tape of a step: 4096, 64K, 1.5G\n"
	"  --memory SIZE     for states and tapes; default: no limit\n"
	"  --disk SIZE       the same on a disk\n"
	"  --write-bandwidth SIZE, --read-bandwidth SIZE\n"
	"                    of the disk, a second; default: transfers take no time\n"
	"  --latency SECONDS of each transfer; default 0\n"
	"  --workers P       threads, which record segments ahead where each has its state\n"
	"\n"
	"  --costs FILE      steps that differ: a line for each with its times (advance record\n"
	"                    reverse) and bytes (state tape, and what it needs besides while\n"
	"                    it runs); --memory and the bandwidths of a disk are then known\n"
	"\n"
	"  --actions         the actions themselves, one a line, instead of the counts\n"
	"  --plot FILE.svg   draw the plan: steps over time, and which states are kept\n"
	"  --json            as JSON; an object for each action\n"
	"  --help            this text\n";

int plan_status(int error)
{
	if (error)
		fprintf(stderr, "reel plan: %s\n", strerror(-error));
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
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

static void show_counts(const struct request *request, const struct reel_schedule_report *report)
{
	struct facts facts = { 0 };

	facts_add_text(&facts, "planner",
		       request->steps_file ? "uneven" : reel_planner_name(request->planner));
	facts_add_number(&facts, "steps", report->reversed);
	facts_add_number(&facts, "advances", report->advances);
	facts_add_number(&facts, "forward_steps", report->advances + report->recorded);
	add_tier_facts(&facts, report,
		       request->steps_file ? 1 + (request->costs.tiers > 0)
					   : request->problem.tiers);
	facts_add_number(&facts, "peak_tape_steps", report->peak_tape_steps);
	facts_add_number(&facts, "actions", report->actions);
	facts_add_real(&facts, request->steps_file ? "makespan" : "makespan_in_advances",
		       report->makespan);
	if (request->steps_file)
		facts_add_bytes(&facts, "peak_memory", (long long)report->peak_bytes);
	facts_print(&facts, request->json, stdout);
	facts_release(&facts);
}

static void show_action(const reel_action *action, bool json)
{
	static const char *const tiers[] = {"memory", "disk"};
	const char *kind = reel_action_name(action->kind);
	bool of_slot = action->kind >= REEL_ACTION_STORE && action->kind <= REEL_ACTION_DROP;

	if (action->kind == REEL_ACTION_DONE)
		printf(json ? "{\"action\": \"%s\"}\n" : "%s\n", kind);
	else if (of_slot)
		printf(json ? "{\"action\": \"%s\", \"state\": %lld, \"tier\": \"%s\", \"slot\": "
			      "%u}\n"
			    : "%s %lld %s %u\n",
		       kind, (long long)action->first, tiers[action->tier], action->slot);
	else
		printf(json ? "{\"action\": \"%s\", \"first\": %lld, \"last\": %lld}\n"
			    : "%s %lld %lld\n",
		       kind, (long long)action->first, (long long)action->last);
}

void plan_next_action(reel_schedule *schedule, int64_t steps, reel_action *action)
{
	do
		if (reel_schedule_next(schedule, action) == -EAGAIN && action->last >= steps) {
			action->last = steps;
			reel_schedule_end(schedule, steps, steps);
		}
	while (action->kind == REEL_ACTION_ADVANCE && action->first == action->last);
}

static int show_actions(const reel_plan *plan, int64_t steps, bool json)
{
	reel_schedule *schedule;
	reel_action action;
	int error = reel_schedule_open(&schedule, plan);

	if (error)
		return error;
	do {
		plan_next_action(schedule, steps, &action);
		show_action(&action, json);
	} while (action.kind != REEL_ACTION_DONE && !ferror(stdout));
	reel_schedule_close(schedule);
	return 0;
}

int plan_show_parts(const struct request *request, const reel_plan *plan,
		    const struct reel_problem *problem, int64_t steps)
{
	int error = request->actions ? show_actions(plan, steps, request->json) : 0;

	if (error)
		return plan_status(error);
	return request->plot ? plan_draw(plan, problem, steps, request->plot) : EXIT_SUCCESS;
}

/* Counts by a replay, which takes about a fifth of a microsecond for each step. */
static int count(const reel_plan *plan, int64_t steps, struct reel_schedule_report *report)
{
	double seconds = (double)steps * 2e-7;

	if (seconds > 10)
		fprintf(stderr, "reel plan: counting %lld steps takes about %.0f s\n",
			(long long)steps, seconds);
	return reel_plan_check(plan, NULL, steps, report);
}

int plan_show(const struct request *request, const reel_plan *plan, int64_t steps)
{
	struct reel_schedule_report report;
	int error = request->actions ? 0 : count(plan, steps, &report);

	if (error)
		return plan_status(error);
	if (!request->actions)
		show_counts(request, &report);
	return plan_show_parts(request, plan, &request->problem, steps);
}

static int plan_by_slots(struct request *request)
{
	int64_t steps = request->problem.steps;
	reel_plan *plan;
	int error, status;

	/* Numbers of steps that other planners refuse are also refused here. */
	if (request->planner == REEL_ONLINE && steps >= 0 && steps <= REEL_MAX_STEPS)
		request->problem.steps = REEL_UNKNOWN_STEPS;
	error = request->planner == REEL_AUTO
			? reel_plan_open_auto(&plan, &request->problem, &request->costs)
			: reel_plan_open(&plan, request->planner, &request->problem);
	if (error == -EINVAL)
		return plan_refuse(reel_error_text(error), "");
	if (error)
		return plan_status(error);
	status = plan_show(request, plan, steps);
	reel_plan_close(plan);
	return status;
}

int plan_run(int count, char **words)
{
	struct request request;
	int status = plan_read_request(&request, count, words);

	if (status)
		return status;
	if (request.steps_file)
		return plan_uneven(&request);
	if (request.cost_option && request.planner != REEL_AUTO)
		return plan_by_costs(&request);
	return plan_by_slots(&request);
}
