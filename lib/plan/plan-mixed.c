/* SPDX-License-Identifier: MIT */
/*
 * Plans that keep tapes of steps where these are better than states (Maddison 2024, here with
 * tapes as large as k states). The table is computed when the plan is opened and only read
 * afterwards.
 *
 * The number of forward runs of l steps from the working state, with memory for m states, is
 *
 *	runs(l, m) = min(1 + runs(l - 1, m - k),
 *			 min over i of i + runs(i, m) + runs(l - i, m - 1))
 *
 * In the first case the first step is recorded and its tape kept. In the second case the state is
 * stored, and the steps from i on are reversed first. runs(1, m) = 1, since the tape of a step
 * that is reversed at once takes up no memory. More steps without memory are impossible.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "plan.h"

/* A sum of two of them does not overflow. */
/* Mutants survive (constant): a third or a fifth is as good. */
#define IMPOSSIBLE (INT64_MAX / 4)

static int64_t row_length(const reel_plan *plan)
{
	/* Mutants survive (constant): a longer row has unused entries at its end. */
	return plan->problem.steps + 1;
}

/* Row of plan->split: where to split; 0: record the first step and keep its tape. */
static int32_t *split_row(const reel_plan *plan, int64_t memory)
{
	REEL_ASSERT(memory >= 0 && memory <= plan->problem.tier[0].slots);
	return plan->split + memory * row_length(plan);
}

/*
 * Returns the least number of runs and sets *split. `row` is the row of the same memory, `fewer`
 * the row of one state less, `kept` the row of one tape less, or NULL if no tape fits.
 */
static int64_t min_runs(const int64_t *row, const int64_t *fewer, const int64_t *kept,
			  int64_t steps, int32_t *split)
{
	int64_t best = kept ? 1 + kept[steps - 1] : IMPOSSIBLE;

	*split = 0;
	for (int64_t i = 1; i < steps; i++) {
		int64_t runs = i + row[i] + fewer[steps - i];

		if (runs < best) {
			best = runs;
			*split = (int32_t)i;
		}
	}
	return best;
}

static void fill_runs(const reel_plan *plan, int64_t *runs)
{
	int64_t length = row_length(plan), tape = plan->problem.tape_states;

	for (int64_t l = 0; l < length; l++)
		runs[l] = l < 2 ? l : IMPOSSIBLE;
	for (int64_t m = 1; m <= plan->problem.tier[0].slots; m++) {
		int64_t *row = runs + m * length;
		const int64_t *kept = m < tape ? NULL : row - tape * length;
		int32_t *split = split_row(plan, m);

		row[1] = 1;
		for (int64_t l = 2; l < length; l++) {
			row[l] = min_runs(row, row - length, kept, l, &split[l]);
			/* More memory never costs more. */
			REEL_ASSERT(row[l] < IMPOSSIBLE && row[l] <= (row - length)[l]);
		}
	}
}

static int compute_mixed(reel_plan *plan)
{
	size_t rows = (size_t)plan->problem.tier[0].slots + 1;
	size_t entries = rows * (size_t)row_length(plan);
	int64_t *runs;

	if (!plan->problem.tape_states)
		plan->problem.tape_states = 1;
	plan->split = calloc(entries, sizeof *plan->split);
	runs = calloc(entries + 1, sizeof *runs);
	if (!plan->split || !runs) {
		free(runs);
		return -ENOMEM;
	}
	fill_runs(plan, runs);
	free(runs);
	return 0;
}

/*
 * Records the steps that follow one another and are all recorded, in one tape: steps whose tapes
 * are kept, and the last step of all.
 */
static struct decision record_choice(const reel_plan *plan, int64_t steps, int64_t memory)
{
	int64_t recorded = 1;

	while (recorded < steps && (steps - recorded == 1 ||
				    !split_row(plan, memory - recorded * plan->problem.tape_states)
					     [steps - recorded]))
		recorded++;
	REEL_ASSERT(recorded <= steps);
	return (struct decision){DECIDE_RECORD, recorded, 0};
}

static struct decision choose_mixed(const reel_schedule *schedule, int64_t steps, bool held)
{
	const reel_plan *plan = schedule->plan;
	int64_t memory = plan->problem.tier[0].slots - schedule->in_use[0] + held -
			 plan->problem.tape_states * schedule->tape_steps;
	int64_t split = steps == 1 ? 0 : split_row(plan, memory)[steps];

	REEL_ASSERT(memory >= 0 && split < steps);
	if (split == 0)
		return record_choice(plan, steps, memory);
	return held ? (struct decision){DECIDE_ADVANCE, split, 0}
		    : (struct decision){DECIDE_STORE, 0, 0};
}

const struct planner reel_planner_mixed = {
	.name = "mixed",
	.problem = reel_problem_of_first_tier,
	.compute = compute_mixed,
	.decide = choose_mixed,
	.uses_table = true,
	.keeps_tapes = true,
};
