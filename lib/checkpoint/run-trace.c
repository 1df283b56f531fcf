/* SPDX-License-Identifier: MIT */
/*
 * The plan in the trace of a run: which piece is to be carried out at which share of the time, by
 * the costs of the plan. A report draws it under what the run did. The thread that owns the run.
 */
#include "config.h"

#include "run.h"

#include "plan/plan.h"
#include "trace/trace.h"

/* Maximum number of events: those of pieces that end where one more share of the time is over. */
#define MAX_EVENTS 500
/* Shares are written in parts of so many. */
#define WHOLE INT64_C(1000000000)
/* Longer plans are not walked through: that takes some tenths of a second. */
#define MAX_WALKED 5000000

static const enum reel_trace_kind kinds[REEL_PIECE_KINDS] = {
	[REEL_ACTION_ADVANCE] = REEL_TRACE_PLANNED_ADVANCE,
	[REEL_ACTION_RECORD] = REEL_TRACE_PLANNED_RECORD,
	[REEL_ACTION_REVERSE] = REEL_TRACE_PLANNED_REVERSE,
};

/* A walk through what the plan still has to do. */
struct walk {
	const reel_run *run;
	reel_schedule *later;
	reel_action action;
	double cost;  /* of all actions so far, this one included */
	double begin; /* the same, less this one */
	int64_t actions;
};

static double cost_of(const struct reel_problem *problem, const reel_action *action)
{
	const double step[REEL_PIECE_KINDS] = {
		[REEL_ACTION_ADVANCE] = problem->advance_cost,
		[REEL_ACTION_RECORD] = problem->record_cost,
		[REEL_ACTION_REVERSE] = problem->reverse_cost,
	};

	switch (action->kind) {
	case REEL_ACTION_STORE:
		return problem->tier[action->tier].store_cost;
	case REEL_ACTION_LOAD:
		return problem->tier[action->tier].load_cost;
	case REEL_ACTION_ADVANCE:
	case REEL_ACTION_RECORD:
	case REEL_ACTION_REVERSE:
		/* A problem that gives no cost of a step says that all steps cost the same. */
		return (step[action->kind] > 0 ? step[action->kind] : 1) *
		       (double)(action->last - action->first);
	default:
		return 0;
	}
}

/* Begins at the next action of the run. False: there is no memory. */
static bool begin(struct walk *walk, const reel_run *run)
{
	*walk = (struct walk){.run = run};
	if (reel_schedule_open(&walk->later, run->plan))
		return false;
	if (!reel_schedule_copy(walk->later, run->schedule))
		return true;
	reel_schedule_close(walk->later);
	return false;
}

/* False: the plan is done, or is too long. */
static bool go_on(struct walk *walk)
{
	if (walk->actions++ == MAX_WALKED || reel_schedule_next(walk->later, &walk->action) ||
	    walk->action.kind == REEL_ACTION_DONE)
		return false;
	walk->begin = walk->cost;
	walk->cost += cost_of(&walk->run->plan->problem, &walk->action);
	return true;
}

static bool is_done(const struct walk *walk)
{
	return walk->action.kind == REEL_ACTION_DONE;
}

static double cost_of_all(const reel_run *run)
{
	struct walk walk;
	double cost;

	if (!begin(&walk, run))
		return 0;
	while (go_on(&walk))
		;
	cost = is_done(&walk) ? walk.cost : 0;
	reel_schedule_close(walk.later);
	return cost;
}

static int64_t share_of(double cost, double all)
{
	return (int64_t)(cost / all * (double)WHOLE);
}

static void write_piece(const struct walk *walk, double all)
{
	reel_action piece = reel_run_piece_of(walk->run, &walk->action);

	REEL_TRACE_UNTIL(reel_clock_ns(), kinds[piece.kind], 0, piece.first, piece.last,
			 share_of(walk->begin, all), share_of(walk->cost, all));
}

void reel_run_trace_plan(reel_run *run)
{
	double all, next = 0;
	struct walk walk;

	/* A run of many sweeps has the same plan in each. */
	if (!reel_traces() || run->plan_is_traced || run->steps == REEL_UNKNOWN_STEPS)
		return;
	run->plan_is_traced = true;
	all = cost_of_all(run);
	if (all <= 0 || !begin(&walk, run))
		return;
	while (go_on(&walk))
		if (walk.action.kind < REEL_PIECE_KINDS && walk.cost >= next) {
			write_piece(&walk, all);
			next = walk.cost + all / MAX_EVENTS;
		}
	reel_schedule_close(walk.later);
}
