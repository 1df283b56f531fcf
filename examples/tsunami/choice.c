/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>

#include <reel.h>

#include "costs.h"
#include "report.h"

/* Bounds of what is tried: a table grows with the square of the segments. */
#define MOST_SEGMENTS 50000
#define MOST_TABLE_SEGMENTS 400
#define MOST_TABLE_STATES 32
#define MOST_DISK_STATES 64

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static const struct choice none = {.seconds = HUGE_VAL};

static struct choice begin(const struct tape_shape *shape, int64_t steps, int64_t segment)
{
	struct choice choice = {.seconds = HUGE_VAL};

	choice.layout.shape = *shape;
	choice.layout.steps = steps;
	choice.layout.segment = segment;
	choice.layout.segments = (steps + segment - 1) / segment;
	choice.layout.problem.steps = choice.layout.segments;
	return choice;
}

/* What memory for so many states, or steps on tape, costs where it is touched first. */
static double first_touch(const struct costs *costs, double states)
{
	return (costs->fresh_record - costs->record) * states;
}

static struct choice store_all(const struct costs *costs, const struct limits *limits,
			       const struct tape_shape *shape, int64_t steps)
{
	struct choice choice = begin(shape, steps, 1);
	double need = (double)tape_memory(shape, steps);
	double spilled = need - (double)limits->memory;
	double forward = costs->record * (double)steps, reverse = costs->reverse * (double)steps;
	double touched = fmin(need, (double)limits->memory) / (double)shape->state_bytes;

	choice.layout.planner = REEL_STORE_ALL;
	if (spilled > (double)limits->disk)
		return none;
	if (spilled > 0.0) {
		double states = spilled / (double)shape->state_bytes;

		/* Transfers go on beside the steps. */
		choice.layout.spills = 1;
		forward = fmax(forward, costs->disk_write * states);
		reverse = fmax(reverse, costs->disk_read * states);
	}
	choice.seconds = forward + reverse + first_touch(costs, touched);
	return choice;
}

/* The costs of a segment, and by them the time of a plan. */
static void evaluate(const struct costs *costs, struct choice *choice)
{
	struct reel_problem *problem = &choice->layout.problem;
	double segment = (double)choice->layout.steps / (double)choice->layout.segments;
	struct reel_schedule_report report;
	reel_plan *plan;

	problem->advance_cost = segment * costs->advance;
	problem->record_cost = segment * costs->record;
	problem->reverse_cost = segment * costs->reverse;
	problem->tier[0].store_cost = costs->copy / problem->advance_cost;
	problem->tier[0].load_cost = problem->tier[0].store_cost;
	if (choice->layout.has_disk) {
		problem->tier[1].store_cost = costs->disk_write / problem->advance_cost;
		problem->tier[1].load_cost = costs->disk_read / problem->advance_cost;
	}
	if (reel_plan_open(&plan, choice->layout.planner, problem))
		return;
	if (!reel_plan_check(plan, NULL, choice->layout.segments, &report))
		choice->seconds = report.makespan +
				  first_touch(costs, (double)(choice->layout.segment +
							      report.peak_slots[0]));
	reel_plan_close(plan);
}

static struct choice with_states(const struct costs *costs, const struct limits *limits,
				 const struct tape_shape *shape, int64_t steps, int64_t segment,
				 int has_disk)
{
	struct choice choice = begin(shape, steps, segment);
	struct reel_problem *problem = &choice.layout.problem;
	uint64_t tape = tape_memory(shape, segment);
	int64_t states;

	if (tape > limits->memory)
		return none;
	states = (int64_t)((limits->memory - tape) / shape->kept_bytes) -
		 (has_disk ? MOVING_STATES : 0);
	if (states < 1)
		return none;
	choice.layout.planner = has_disk ? REEL_HIERARCHICAL : REEL_BINOMIAL;
	choice.layout.has_disk = has_disk;
	problem->tiers = has_disk ? 2 : 1;
	problem->tier[0].slots = smaller(states, has_disk ? MOST_TABLE_STATES : REEL_MOST_SLOTS);
	problem->tier[0].slots = smaller(problem->tier[0].slots, choice.layout.segments);
	if (has_disk)
		problem->tier[1].slots = smaller((int64_t)(limits->disk / shape->kept_bytes),
						 MOST_DISK_STATES);
	if (has_disk && problem->tier[1].slots < 1)
		return none;
	evaluate(costs, &choice);
	return choice;
}

/* The best of all lengths of a segment, by factors of about 1.4. */
static struct choice best_of_states(const struct costs *costs, const struct limits *limits,
				    const struct tape_shape *shape, int64_t steps, int has_disk)
{
	int64_t most = has_disk ? MOST_TABLE_SEGMENTS : MOST_SEGMENTS;
	int64_t segment = (steps + most - 1) / most;
	struct choice best = none;

	for (; segment <= steps; segment += (2 * segment + 4) / 5) {
		struct choice choice = with_states(costs, limits, shape, steps, segment, has_disk);

		if (choice.seconds < best.seconds)
			best = choice;
	}
	return best;
}

struct choice costs_choose(const struct costs *costs, const struct limits *limits,
			   const struct tape_shape *shape, int64_t steps, struct choice *second)
{
	struct choice kinds[3] = {store_all(costs, limits, shape, steps),
				  best_of_states(costs, limits, shape, steps, 0), none};
	struct choice best = none;

	if (limits->disk)
		kinds[2] = best_of_states(costs, limits, shape, steps, 1);
	*second = none;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (kinds[k].seconds < best.seconds) {
			*second = best;
			best = kinds[k];
		} else if (kinds[k].seconds < second->seconds) {
			*second = kinds[k];
		}
	}
	if (isinf(best.seconds))
		fail("--budget of %.1f MB is too small: a state and the tape of a step need %.1f "
		     "MB; choose a larger --budget", (double)limits->memory / 1e6,
		     (double)(shape->kept_bytes + tape_memory(shape, 1)) / 1e6);
	return best;
}
