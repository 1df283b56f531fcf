/* SPDX-License-Identifier: MIT */
/* `reel plan --costs`: prints the choice by cost, its predicted time, and the runner-up. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "facts.h"
#include "plan.h"
#include "verb.h"

static long long bytes_of(uint64_t bytes)
{
	return bytes > INT64_MAX ? INT64_MAX : (long long)bytes;
}

static void add_best(struct facts *facts, const struct request *request,
		     const struct reel_prediction *best)
{
	facts_add_text(facts, "planner", reel_planner_name(best->planner));
	facts_add_flag(facts, "spills", best->spills);
	facts_add_number(facts, "steps", request->costs.steps);
	facts_add_number(facts, "segment_steps", best->segment_steps);
	facts_add_number(facts, "segments", best->problem.steps);
	facts_add_number(facts, "memory_slots", best->problem.tier[0].slots);
	facts_add_number(facts, "disk_slots", best->problem.tier[1].slots);
	facts_add_number(facts, "period", best->problem.period);
	facts_add_number(facts, "tape_states", best->problem.tape_states);
	facts_add_number(facts, "tapes_at_once", best->tapes);
	facts_add_number(facts, "advances", best->advances);
	facts_add_real(facts, "makespan_seconds", best->makespan);
	facts_add_bytes(facts, "peak_memory", bytes_of(best->peak_memory_bytes));
	facts_add_bytes(facts, "memory_copied",
			bytes_of(best->written_bytes[0] + best->read_bytes[0]));
	facts_add_bytes(facts, "disk_written", bytes_of(best->written_bytes[1]));
	facts_add_bytes(facts, "disk_read", bytes_of(best->read_bytes[1]));
}

static void show_choice(const struct request *request, const struct reel_choice *choice)
{
	const struct reel_prediction *other = &choice->runner_up;
	struct facts facts = { 0 };

	add_best(&facts, request, &choice->best);
	facts_add_text(&facts, "runner_up",
		       other->segment_steps ? reel_planner_name(other->planner) : "none");
	facts_add_text(&facts, "reason", choice->reason);
	facts_print(&facts, request->json, stdout);
	facts_release(&facts);
}

int plan_by_costs(const struct request *request)
{
	struct reel_choice choice;
	const struct reel_problem *problem = &choice.best.problem;
	reel_plan *plan;
	int error = reel_costs_choose(&request->costs, &choice), status;

	if (error == -EINVAL)
		return plan_refuse(choice.reason, "");
	if (error == -ENOSPC) {
		fprintf(stderr, "reel plan: %s\n", choice.reason);
		return EXIT_FAILURE;
	}
	if (error)
		return plan_status(error);
	if (!request->actions)
		show_choice(request, &choice);
	error = reel_plan_open(&plan, choice.best.planner, problem);
	if (error)
		return plan_status(error);
	status = plan_show_parts(request, plan, problem, problem->steps);
	reel_plan_close(plan);
	return status;
}
