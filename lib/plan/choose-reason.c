/* SPDX-License-Identifier: MIT */
/*
 * The words of a choice: the cost of the runner-up, or the memory that is needed. The
 * functions write to choice->reason and change nothing else. Any thread may run them.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "costs.h"
#include "os/bytes.h"
#include "os/numerals.h"

struct amount {
	char text[16];
};

static struct amount amount_of(uint64_t bytes)
{
	struct amount amount;

	REEL_POINT_NUMERALS;
	reel_bytes_text(amount.text, sizeof amount.text, (double)bytes, true);
	return amount;
}

void reel_choice_explain(struct reel_choice *choice)
{
	REEL_POINT_NUMERALS;
	const struct reel_prediction *best = &choice->best, *other = &choice->runner_up;

	REEL_ASSERT(best->segment_steps > 0);
	if (other->segment_steps)
		snprintf(choice->reason, sizeof choice->reason,
			 "%s takes %.4g s, %.3g s more: it runs %" PRId64
			 " steps without recording them, not %" PRId64
			 ", in %s of memory, not %s, and stores and loads %s, not %s",
			 other->spills ? "store-all, spilled," : reel_planner_name(other->planner),
			 other->makespan, other->makespan - best->makespan, other->advances,
			 best->advances, amount_of(other->peak_memory_bytes).text,
			 amount_of(best->peak_memory_bytes).text,
			 amount_of(reel_bytes_moved(other)).text,
			 amount_of(reel_bytes_moved(best)).text);
	else
		snprintf(choice->reason, sizeof choice->reason,
			 "no other planner has a way for this loop in this memory");
}

void reel_choice_refuse(const struct reel_costs *costs, uint64_t least, struct reel_choice *choice)
{
	REEL_ASSERT(costs->memory_bytes > 0 && least > costs->memory_bytes);
	snprintf(choice->reason, sizeof choice->reason,
		 "no plan fits %s of memory: with tapes of %s a step and states of %s at least "
		 "%s are needed (%" PRIu64 " bytes)",
		 amount_of(costs->memory_bytes).text, amount_of(costs->tape_bytes).text,
		 amount_of(costs->state_bytes).text, amount_of(least).text, least);
}
