/* SPDX-License-Identifier: MIT */
/*
 * Plans with the least time for tiers that differ in the costs of storing and loading: H-Revolve
 * (Herrmann and Pallez 2020), and Disk-Revolve (Aupy, Herrmann, Hovland and Robert 2016) for an
 * unlimited last tier. The table is computed when the plan is opened and only read afterwards.
 *
 * While a state is held in a tier, the states above it are in the same tier or in faster tiers. So
 * the table needs one row for each tier k and each number m of free slots of this tier, while all
 * slots of the faster tiers are free:
 *
 *	free(k, m, l) = min(free(k - 1, all, l), store(k) + held(k, m, l))
 *	held(k, m, l) = min(free(k - 1, all, l),
 *			    min over j of j + free(k, m - 1, l - j) + load(k) + held(k, m, j))
 *
 * Both are the time of l steps from the working state, without recording and reversing; in held()
 * m counts the slot that holds this state. free(k - 1, all, l) within held() means that the state
 * gives up its slot and moves to a faster tier. The time of one step is 0, and the time of more
 * steps without a slot is infinite.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* Entry of `store_tier` for steps that cannot be reversed, since there is no slot. */
#define NO_TIER UINT8_MAX

/* Rows of the times of 0 to `steps` steps. */
struct times {
	double *faster; /* free(k - 1, all, l) */
	double *fewer;  /* free(k, m - 1, l) */
	double *free;   /* free(k, m, l) */
	double *held;   /* held(k, m, l) */
	double *memory;
	int64_t steps;
};

static int64_t row_length(const reel_plan *plan)
{
	return plan->problem.steps + 1;
}

static int32_t *split_row(const reel_plan *plan, unsigned tier, int64_t slots)
{
	REEL_ASSERT(tier < plan->table_tiers && slots >= 0 && slots <= plan->table_slots[tier]);
	return plan->split + (plan->first_row[tier] + slots) * row_length(plan);
}

static uint8_t *tier_row(const reel_plan *plan, unsigned tier, int64_t slots)
{
	REEL_ASSERT(tier < plan->table_tiers && slots >= 0 && slots <= plan->table_slots[tier]);
	return plan->store_tier + (plan->first_row[tier] + slots) * row_length(plan);
}

static int times_open(struct times *times, int64_t steps)
{
	size_t length = (size_t)steps + 1;
	double *memory = calloc(4 * length, sizeof *memory);

	if (!memory)
		return -ENOMEM;
	*times = (struct times){memory, memory + length, memory + 2 * length, memory + 3 * length,
				memory, steps};
	for (int64_t l = 2; l <= steps; l++)
		times->faster[l] = INFINITY;
	return 0;
}

static void swap_rows(double **a, double **b)
{
	double *kept = *a;

	*a = *b;
	*b = kept;
}

/*
 * Returns the time of a held state and sets *split, to 0 if a move to a faster tier takes no
 * longer. Of equal splits it takes the last one, which keeps fewer states.
 */
static double min_split(const struct times *times, double load, int64_t steps, int32_t *split)
{
	double best = INFINITY;
	int64_t at = 0;

	for (int64_t j = 1; j < steps; j++) {
		double time = (double)j + times->fewer[steps - j] + load + times->held[j];

		at = time <= best ? j : at;
		best = time <= best ? time : best;
	}
	REEL_ASSERT(at < steps && (at > 0 || best == (double)INFINITY));
	if (best < times->faster[steps]) {
		*split = (int32_t)at;
		return best;
	}
	*split = 0;
	return times->faster[steps];
}

/* Computes the rows of a tier with `slots` free slots, in times->held and times->free. */
static void fill_row(const reel_plan *plan, struct times *times, unsigned tier, int64_t slots)
{
	const struct reel_tier *costs = &plan->problem.tier[tier];
	/* Mutants survive (constant): any number of slots makes a lower tier store. */
	const uint8_t *faster = tier ? tier_row(plan, tier - 1, plan->table_slots[tier - 1]) : NULL;
	int32_t *split = split_row(plan, tier, slots);
	uint8_t *stored = tier_row(plan, tier, slots);

	for (int64_t l = 2; l <= times->steps; l++) {
		double here;

		times->held[l] = min_split(times, costs->load_cost, l, &split[l]);
		here = costs->store_cost + times->held[l];
		times->free[l] = here < times->faster[l] ? here : times->faster[l];
		if (here < times->faster[l])
			stored[l] = (uint8_t)tier;
		else
			stored[l] = faster ? faster[l] : NO_TIER;
		/* More slots never cost more. */
		REEL_ASSERT(times->free[l] <= times->fewer[l] && times->held[l] <= times->free[l]);
	}
}

static void fill_row_without_slots(const reel_plan *plan, struct times *times, unsigned tier)
{
	size_t length = (size_t)row_length(plan);

	memcpy(times->fewer, times->faster, length * sizeof *times->fewer);
	if (tier)
		memcpy(tier_row(plan, tier, 0),
		       tier_row(plan, tier - 1, plan->table_slots[tier - 1]), length);
	else
		memset(tier_row(plan, tier, 0), NO_TIER, length);
}

static void fill_tier(const reel_plan *plan, struct times *times, unsigned tier)
{
	fill_row_without_slots(plan, times, tier);
	REEL_ASSERT(times->steps == plan->problem.steps);
	for (int64_t slots = 1; slots <= plan->table_slots[tier]; slots++) {
		fill_row(plan, times, tier, slots);
		swap_rows(&times->fewer, &times->free);
	}
	swap_rows(&times->faster, &times->fewer);
}

/*
 * Numbers the rows of the table and returns how many there are. A tier has at most one row for each
 * step, since more slots are never used.
 */
static size_t lay_out_rows(reel_plan *plan, unsigned tiers)
{
	unsigned rows = 0;

	plan->table_tiers = tiers;
	for (unsigned t = 0; t < tiers; t++) {
		int64_t slots = plan->problem.tier[t].slots;

		plan->table_slots[t] = slots < plan->problem.steps ? slots : plan->problem.steps;
		plan->first_row[t] = rows;
		rows += (unsigned)plan->table_slots[t] + 1;
	}
	return rows;
}

int reel_tiers_compute(reel_plan *plan, unsigned tiers, double **least)
{
	size_t entries = lay_out_rows(plan, tiers) * (size_t)row_length(plan);
	struct times times;

	plan->split = calloc(entries, sizeof *plan->split);
	plan->store_tier = calloc(entries, sizeof *plan->store_tier);
	if (!plan->split || !plan->store_tier || times_open(&times, plan->problem.steps))
		return -ENOMEM;
	for (unsigned t = 0; t < tiers; t++)
		fill_tier(plan, &times, t);
	REEL_ASSERT(times.faster[plan->problem.steps > 0] == 0);
	if (least) {
		memmove(times.memory, times.faster,
			(size_t)row_length(plan) * sizeof *times.memory);
		*least = times.memory;
	} else {
		free(times.memory);
	}
	return 0;
}

/* Returns the slowest tier in which states above the topmost level may be stored. */
static unsigned open_tier(const reel_schedule *schedule)
{
	unsigned last = schedule->plan->table_tiers - 1;
	unsigned top = schedule->levels ? schedule->level[schedule->levels - 1].tier : last;

	return top < last ? top : last;
}

static struct decision choose_of_held(const reel_schedule *schedule, int64_t steps)
{
	const reel_plan *plan = schedule->plan;
	unsigned tier = schedule->level[schedule->levels - 1].tier;
	int64_t split, slots;

	if (tier >= plan->table_tiers)
		return (struct decision){DECIDE_MOVE, 0, 0};
	slots = plan->table_slots[tier] - schedule->in_use[tier] + 1;
	split = split_row(plan, tier, slots)[steps];
	REEL_ASSERT(split >= 0 && split < steps);
	return (struct decision){split ? DECIDE_ADVANCE : DECIDE_MOVE, split, 0};
}

struct decision reel_tiers_decide(const reel_schedule *schedule, int64_t steps, bool held)
{
	const reel_plan *plan = schedule->plan;
	unsigned tier;

	if (steps == 1)
		return (struct decision){DECIDE_RECORD, 1, 0};
	if (held)
		return choose_of_held(schedule, steps);
	tier = open_tier(schedule);
	tier = tier_row(plan, tier, plan->table_slots[tier] - schedule->in_use[tier])[steps];
	REEL_ASSERT(tier != NO_TIER && schedule->in_use[tier] < plan->table_slots[tier]);
	return (struct decision){DECIDE_STORE, 0, tier};
}

static int compute_hierarchical(reel_plan *plan)
{
	return reel_tiers_compute(plan, plan->problem.tiers, NULL);
}

static bool is_cheaper(const struct reel_tier *tier, const struct reel_tier *faster)
{
	return tier->store_cost < faster->store_cost || tier->load_cost < faster->load_cost;
}

static const char *problem_of_tiers(const struct reel_problem *problem)
{
	for (unsigned t = 1; t < problem->tiers; t++)
		if (is_cheaper(&problem->tier[t], &problem->tier[t - 1]))
			return "a tier is cheaper than the one before: put the fastest tier first";
	return NULL;
}

static const char *problem_of_hierarchical(const struct reel_problem *problem)
{
	if (reel_plan_all_slots(problem) < 1)
		return "no tier has a slot: give one to one of them";
	return problem_of_tiers(problem);
}

const struct planner reel_planner_hierarchical = {
	.name = "hierarchical",
	.problem = problem_of_hierarchical,
	.compute = compute_hierarchical,
	.decide = reel_tiers_decide,
	.uses_table = true,
};

/* ---- An unlimited last tier ---- */

/*
 * disk(l) = min(free(l), min over j of store + j + disk(l - j) + load + free(j)): the state is
 * stored in the last tier, and the first j steps are reversed from it in the faster tiers.
 */
static void fill_disk(const struct reel_tier *tier, const double *times, double *disk,
		      int32_t *gaps, int64_t steps)
{
	for (int64_t l = 2; l <= steps; l++) {
		double best = INFINITY;
		int64_t at = 0;

		for (int64_t j = 1; j < l; j++) {
			double time = tier->store_cost + (double)j + disk[l - j] +
				      tier->load_cost + times[j];

			at = time <= best ? j : at;
			best = time <= best ? time : best;
		}
		disk[l] = best < times[l] ? best : times[l];
		gaps[l] = best < times[l] ? (int32_t)at : 0;
		REEL_ASSERT(gaps[l] >= 0 && gaps[l] < l);
	}
}

/* Sets the sites of the plan from the best first gap of each number of steps. */
static void lay_sites(reel_plan *plan, const int32_t *gaps)
{
	int64_t at = 0, count = 0;

	for (int64_t gap; (gap = gaps[plan->problem.steps - at]); at += gap)
		plan->site[count++] = at;
	REEL_ASSERT(at <= plan->problem.steps && count <= plan->problem.steps);
	plan->site[count] = at;
	plan->site_count = count;
}

static int compute_disk_revolve(reel_plan *plan)
{
	size_t length = (size_t)row_length(plan);
	unsigned last = plan->problem.tiers - 1;
	double *times = NULL, *disk = calloc(length, sizeof *disk);
	int32_t *gaps = calloc(length, sizeof *gaps);
	int error = disk && gaps ? reel_tiers_compute(plan, last, &times) : -ENOMEM;

	plan->site = calloc(length, sizeof *plan->site);
	if (!plan->site)
		error = -ENOMEM;
	if (!error) {
		fill_disk(&plan->problem.tier[last], times, disk, gaps, plan->problem.steps);
		lay_sites(plan, gaps);
	}
	free(times);
	free(disk);
	free(gaps);
	return error;
}

static int64_t site(const reel_plan *plan, int64_t i)
{
	REEL_ASSERT(i >= 0 && plan->site);
	return plan->site[i < plan->site_count ? i : plan->site_count];
}

static int64_t sites(const reel_plan *plan, int64_t steps)
{
	REEL_ASSERT(steps == plan->problem.steps);
	(void)steps;
	return plan->site_count;
}

static const char *problem_of_disk_revolve(const struct reel_problem *problem)
{
	if (problem->tiers < 2)
		return "a second tier is needed, one without limit";
	if (problem->tier[problem->tiers - 1].slots < problem->steps - 1)
		return "the last tier needs a slot for each step; the planner hierarchical does "
		       "not";
	if (problem->steps > 1 && !reel_plan_slots_of(problem, problem->tiers - 1))
		return "no tier but the last has a slot: give one to the first";
	return problem_of_tiers(problem);
}

const struct planner reel_planner_disk_revolve = {
	.name = "disk-revolve",
	.problem = problem_of_disk_revolve,
	.compute = compute_disk_revolve,
	.decide = reel_tiers_decide,
	.site = site,
	.sites = sites,
	.uses_table = true,
	.unlimited_last_tier = true,
};
