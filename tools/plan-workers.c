/* SPDX-License-Identifier: MIT */
/*
 * Predicts the time and the memory that several workers need. If the state of each segment is kept,
 * segments are recorded ahead of the reverse chain, each by one worker.
 */
#include "config.h"

#include "plan.h"
#include "plan/plan.h"

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static int64_t all_loads(const struct reel_problem *problem,
			 const struct reel_schedule_report *report)
{
	int64_t loads = 0;

	for (unsigned t = 0; t < problem->tiers; t++)
		loads += report->loads[t];
	return loads;
}

/* Time of the forward sweep, of one recording, and of the reverse chain or the shared work. */
static double shared_makespan(const struct reel_problem *problem, int64_t workers,
			      const struct reel_schedule_report *report)
{
	double advance = reel_or_one(problem->advance_cost),
	       record = reel_or_one(problem->record_cost);
	double chain = (double)report->reversed * reel_or_one(problem->reverse_cost);
	double shared = chain + (double)report->recorded * record;
	double sweep = (double)report->advances * advance;

	for (unsigned t = 0; t < problem->tiers; t++) {
		sweep += (double)report->stores[t] * problem->tier[t].store_cost * advance;
		shared += (double)report->loads[t] * problem->tier[t].load_cost * advance;
	}
	return sweep + record + larger(chain, shared / (double)workers);
}

struct plan_workers plan_look_ahead(const struct reel_problem *problem, int64_t workers,
				    const struct reel_schedule_report *report)
{
	struct plan_workers result = {false, report->makespan, report->peak_tape_steps};
	double makespan;

	if (workers < 2 || report->recorded < 2 || report->peak_tape_steps > 1 ||
	    report->advances != report->recorded - 1 ||
	    all_loads(problem, report) != report->recorded - 1)
		return result;
	makespan = shared_makespan(problem, workers, report);
	result.look_ahead = true;
	result.peak_tape_steps = workers < report->recorded ? workers : report->recorded;
	result.makespan = makespan < report->makespan ? makespan : report->makespan;
	return result;
}
