/* SPDX-License-Identifier: MIT */
/*
 * The plan in the trace of a run: which piece is to be carried out at which share of the time, by
 * the costs of the plan. A report draws it under the pieces of the run. The thread that owns the
 * run runs these functions.
 */
#include "config.h"

#include "watch.h"

#include "plan/plan.h"
#include "trace/trace.h"

/* Maximum number of events: an event for the first piece that ends in each share of the time. */
#define MAX_EVENTS 500
/* A share of 1 is written as this number. */
#define WHOLE INT64_C(1000000000)
static const enum reel_trace_kind kinds[REEL_PIECE_KINDS] = {
	[REEL_ACTION_ADVANCE] = REEL_TRACE_PLANNED_ADVANCE,
	[REEL_ACTION_RECORD] = REEL_TRACE_PLANNED_RECORD,
	[REEL_ACTION_REVERSE] = REEL_TRACE_PLANNED_REVERSE,
};

struct walk {
	const reel_run *run;
	double cost; /* of all actions so far */
	double all;  /* of the whole plan */
	double next; /* cost from which the next event is written */
};

static void add_cost(void *context, const reel_action *action)
{
	struct walk *walk = context;

	walk->all += reel_action_cost(&walk->run->plan->problem, action);
}

static int64_t share_of(double cost, double all)
{
	REEL_ASSERT(all > 0 && cost >= 0 && cost <= all);
	return (int64_t)(cost / all * (double)WHOLE);
}

static void write_piece(void *context, const reel_action *action)
{
	struct walk *walk = context;
	double begin = walk->cost;
	reel_action piece;

	walk->cost += reel_action_cost(&walk->run->plan->problem, action);
	if (action->kind >= REEL_PIECE_KINDS || walk->cost < walk->next)
		return;
	piece = reel_run_piece_of(walk->run, action);
	REEL_TRACE_UNTIL(reel_clock_ns(), kinds[piece.kind], 0, piece.first, piece.last,
			 share_of(begin, walk->all), share_of(walk->cost, walk->all));
	walk->next = walk->cost + walk->all / MAX_EVENTS;
}

void reel_run_trace_plan(reel_run *run)
{
	struct walk walk = {.run = run};

	/* A run of many sweeps has the same plan in each. */
	if (!reel_traces() || run->plan_is_traced || run->steps == REEL_UNKNOWN_STEPS)
		return;
	run->plan_is_traced = true;
	if (reel_run_walk_plan(run, add_cost, &walk) && walk.all > 0)
		reel_run_walk_plan(run, write_piece, &walk);
}
