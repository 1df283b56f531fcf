/* SPDX-License-Identifier: MIT */
/*
 * The reversal of a block by a simulated clock. The reverse chain goes from step to step
 * without a wait, and so every time is known: the chain comes down to step i at
 * down(i) = (n - 1) advances + a recording + (n - i) reversals. A sweep of [first, last)
 * records its last step up to down(last), and is busy to the end of its reversal.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "halving.h"

#define MOST_COST ((int64_t)1 << 30)

/* At that time so many workers and states more are in use, or fewer. */
struct change {
	int64_t time;
	int workers;
	int checkpoints;
};

struct sweep {
	int64_t first;
	int64_t last;
	int64_t start;
};

struct simulation {
	struct reel_halving costs;
	int64_t steps;
	struct change *changes;
	size_t count;
	/* Sweeps that have to be looked at: the left parts of those before. */
	struct sweep *pending;
	size_t pending_count;
	/* Of each state, when the last sweep from it starts, and when it is passed; or -1. */
	int64_t *taken;
	int64_t *kept;
	int64_t work;
};

static int64_t down(const struct simulation *simulation, int64_t step)
{
	const struct reel_halving *costs = &simulation->costs;

	return (simulation->steps - 1) * costs->advance_cost + costs->record_cost +
	       (simulation->steps - step) * costs->reverse_cost;
}

static void change(struct simulation *simulation, int64_t time, int workers, int checkpoints)
{
	simulation->changes[simulation->count++] = (struct change){time, workers, checkpoints};
}

static void leave(struct simulation *simulation, int64_t first, int64_t middle)
{
	const struct reel_halving *costs = &simulation->costs;
	int64_t length = (middle - 1 - first) * costs->advance_cost + costs->record_cost;

	simulation->pending[simulation->pending_count++] =
		(struct sweep){first, middle, down(simulation, middle) - length};
}

static void carry_out(struct simulation *simulation, struct sweep sweep)
{
	int64_t end = down(simulation, sweep.last) + simulation->costs.reverse_cost;
	int64_t first = sweep.first;

	change(simulation, sweep.start, 1, 0);
	change(simulation, end, -1, 0);
	simulation->work += end - sweep.start;
	if (simulation->taken[first] < sweep.start)
		simulation->taken[first] = sweep.start;
	while (sweep.last - first > 1) {
		int64_t middle = reel_halving_split(&simulation->costs, first, sweep.last);

		if (simulation->kept[first] < 0)
			simulation->kept[first] = sweep.start + (first - sweep.first) *
								simulation->costs.advance_cost;
		leave(simulation, first, middle);
		first = middle;
	}
}

static void simulate(struct simulation *simulation)
{
	for (int64_t i = 0; i < simulation->steps; i++)
		simulation->taken[i] = simulation->kept[i] = -1;
	simulation->pending[simulation->pending_count++] =
		(struct sweep){0, simulation->steps, 0};
	while (simulation->pending_count > 0)
		carry_out(simulation, simulation->pending[--simulation->pending_count]);
	for (int64_t i = 0; i < simulation->steps; i++)
		if (simulation->kept[i] >= 0) {
			change(simulation, simulation->kept[i], 0, 1);
			change(simulation, simulation->taken[i], 0, -1);
		}
}

static int compare_times(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

static void raise_to(int64_t *peak, int64_t number)
{
	if (*peak < number)
		*peak = number;
}

/* All changes of a time are one. */
static void find_peaks(const struct simulation *simulation, struct reel_halving_report *report)
{
	int64_t workers = 0, checkpoints = 0;

	for (size_t i = 0; i < simulation->count; i++) {
		workers += simulation->changes[i].workers;
		checkpoints += simulation->changes[i].checkpoints;
		if (i + 1 < simulation->count &&
		    simulation->changes[i + 1].time == simulation->changes[i].time)
			continue;
		raise_to(&report->peak_workers, workers);
		raise_to(&report->peak_checkpoints, checkpoints);
		raise_to(&report->peak_resources, workers + checkpoints);
	}
}

static bool is_cost(int64_t cost)
{
	return cost >= 0 && cost <= MOST_COST;
}

static bool is_right(const struct reel_halving *halving, int64_t steps)
{
	return steps >= 0 && steps <= REEL_MOST_HALVING_STEPS &&
	       (unsigned)halving->rule < REEL_HALVING_RULES && is_cost(halving->advance_cost) &&
	       is_cost(halving->record_cost) && is_cost(halving->reverse_cost) &&
	       !halving->reserved[0] && !halving->reserved[1];
}

/* A sweep a step, and a state at most. */
static int open_simulation(struct simulation *simulation)
{
	size_t steps = (size_t)simulation->steps + 1;

	simulation->changes = malloc(4 * steps * sizeof *simulation->changes);
	simulation->pending = malloc(steps * sizeof *simulation->pending);
	simulation->taken = malloc(steps * sizeof *simulation->taken);
	simulation->kept = malloc(steps * sizeof *simulation->kept);
	return simulation->changes && simulation->pending && simulation->taken && simulation->kept
		       ? 0
		       : -ENOMEM;
}

static void close_simulation(struct simulation *simulation)
{
	free(simulation->changes);
	free(simulation->pending);
	free(simulation->taken);
	free(simulation->kept);
}

int reel_halving_simulate(const struct reel_halving *halving, int64_t steps,
			  struct reel_halving_report *report)
{
	struct simulation simulation = {.costs = reel_halving_filled(halving), .steps = steps};
	int error;

	*report = (struct reel_halving_report){0};
	if (!is_right(halving, steps))
		return -EINVAL;
	if (steps == 0)
		return 0;
	error = open_simulation(&simulation);
	if (!error) {
		simulate(&simulation);
		qsort(simulation.changes, simulation.count, sizeof *simulation.changes,
		      compare_times);
		find_peaks(&simulation, report);
		report->work = simulation.work;
		report->makespan = down(&simulation, 0);
	}
	close_simulation(&simulation);
	return error;
}
