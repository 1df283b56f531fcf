/* SPDX-License-Identifier: MIT */
/* `reel plan --planner halving`: what the parallel reversal of a loop takes. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "facts.h"
#include "plan.h"
#include "verb.h"

/* Blocks of one length, reversed one after the other; the last one may be shorter. */
struct blocks {
	int64_t steps;
	int64_t each;
	int64_t count;
	struct reel_halving_report full;
	struct reel_halving_report last;
};

static bool set_cost(int64_t *cost, double number)
{
	if (number > 0x1p30 || number != (double)(int64_t)number)
		return false;
	*cost = (int64_t)number;
	return true;
}

/* The longest blocks of a power of 2 for so many workers, or one of all steps. */
static int divide(const struct reel_halving *halving, int64_t steps, int64_t workers,
		  struct blocks *blocks)
{
	int error = reel_halving_simulate(halving, steps, &blocks->full);

	blocks->steps = blocks->each = steps;
	while (!error && workers && blocks->full.peak_workers > workers) {
		int64_t power = 1;

		while (2 * power < blocks->each)
			power *= 2;
		blocks->each = power;
		error = reel_halving_simulate(halving, power, &blocks->full);
	}
	blocks->count = steps ? (steps - 1) / blocks->each + 1 : 0;
	if (!error && blocks->count)
		error = reel_halving_simulate(halving, steps - (blocks->count - 1) * blocks->each,
					      &blocks->last);
	return error;
}

/* The sweep to the last block, and the blocks. */
static int64_t total(const struct blocks *blocks, int64_t advance, int64_t full, int64_t last)
{
	if (!blocks->count)
		return 0;
	return (blocks->count - 1) * (blocks->each * advance + full) + last;
}

static int show(const struct request *request, const struct reel_halving *halving,
		const struct blocks *blocks)
{
	struct facts facts = { 0 };
	int64_t advance = halving->advance_cost ? halving->advance_cost : 1;
	int error;

	facts_add_text(&facts, "planner", "halving");
	facts_add_text(&facts, "rule", reel_halving_rule_name(halving->rule));
	facts_add_number(&facts, "steps", blocks->steps);
	facts_add_number(&facts, "block_steps", blocks->each);
	facts_add_number(&facts, "blocks", blocks->count);
	facts_add_number(&facts, "block_states", blocks->count ? blocks->count - 1 : 0);
	facts_add_number(&facts, "peak_workers", blocks->full.peak_workers);
	facts_add_number(&facts, "peak_checkpoints", blocks->full.peak_checkpoints);
	facts_add_number(&facts, "peak_resources", blocks->full.peak_resources);
	facts_add_number(&facts, "work",
			 total(blocks, advance, blocks->full.work, blocks->last.work));
	facts_add_number(&facts, "makespan",
			 total(blocks, advance, blocks->full.makespan, blocks->last.makespan));
	error = facts_print(&facts, request->json, stdout);
	facts_release(&facts);
	return error;
}

int plan_by_halving(const struct request *request)
{
	struct reel_halving halving = {.rule = request->rule};
	struct blocks blocks = { 0 };
	int error;

	if (!set_cost(&halving.record_cost, request->problem.record_cost) ||
	    !set_cost(&halving.reverse_cost, request->problem.reverse_cost))
		return plan_refuse("halving", " takes costs that are whole numbers of advances");
	if (request->problem.steps > REEL_MOST_HALVING_STEPS)
		return plan_refuse("halving", " takes at most 2^20 steps: group them");
	error = divide(&halving, request->problem.steps, request->workers, &blocks);
	return plan_status(error ? error : show(request, &halving, &blocks));
}
