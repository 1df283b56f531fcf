/* SPDX-License-Identifier: MIT */
/*
 * The words of a choice: why the runner-up lost, or how much memory is needed. The functions
 * write to choice->reason and change nothing else. Any thread may run them.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "costs.h"
#include "os/numerals.h"

struct amount {
	char text[32];
};

static struct amount amount_of(uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct amount amount;
	double size = (double)bytes;
	unsigned unit = 0;

	REEL_POINT_NUMERALS;
	for (; size >= 1024 && unit < 6; unit++)
		size /= 1024;
	REEL_ASSERT(size < 1024);
	snprintf(amount.text, sizeof amount.text, "%.4g %s", size, units[unit]);
	return amount;
}

static const char *name_of(const struct reel_prediction *prediction)
{
	return prediction->spills ? "store-all, spilled," : reel_planner_name(prediction->planner);
}

/* Time of one worker without transfers and copies. */
static double computing(const struct reel_costs *costs, const struct reel_prediction *prediction)
{
	return (double)costs->steps * (costs->record_seconds + costs->reverse_seconds) +
	       (double)prediction->advances * costs->advance_seconds;
}

static uint64_t transferred(const struct reel_prediction *prediction)
{
	uint64_t bytes = 0;

	for (unsigned t = 0; t < REEL_MAX_TIERS; t++)
		bytes += prediction->written_bytes[t] + prediction->read_bytes[t];
	return bytes;
}

static void explain_equal(struct reel_choice *choice)
{
	const struct reel_prediction *best = &choice->best, *other = &choice->runner_up;
	uint64_t memory = other->peak_memory_bytes;

	if (memory > best->peak_memory_bytes)
		snprintf(choice->reason, sizeof choice->reason,
			 "%s takes as long, with %s of memory, not %s", name_of(other),
			 amount_of(memory).text, amount_of(best->peak_memory_bytes).text);
	else if (transferred(other) > transferred(best))
		snprintf(choice->reason, sizeof choice->reason,
			 "%s takes as long, and stores and loads %s, not %s", name_of(other),
			 amount_of(transferred(other)).text, amount_of(transferred(best)).text);
	else
		snprintf(choice->reason, sizeof choice->reason,
			 "%s takes as long, in as much memory; the simpler one is taken",
			 name_of(other));
}

static double touching(const struct reel_costs *costs, const struct reel_prediction *prediction)
{
	return (double)prediction->peak_memory_bytes * costs->touch_seconds;
}

/* Names the cause of at least half of the time by which the runner-up is slower, if there is. */
static void explain_slower(const struct reel_costs *costs, struct reel_choice *choice)
{
	REEL_POINT_NUMERALS;
	const struct reel_prediction *best = &choice->best, *other = &choice->runner_up;
	double slower = other->makespan - best->makespan;
	double again = (double)(other->advances - best->advances) * costs->advance_seconds;
	double waits = other->makespan - computing(costs, other) - touching(costs, other);
	double touches = touching(costs, other) - touching(costs, best);
	int length = snprintf(choice->reason, sizeof choice->reason,
			      "%s takes %.4g s, %.3g s more: ", name_of(other), other->makespan,
			      slower);
	char *end = choice->reason + length;
	size_t room = sizeof choice->reason - (size_t)length;

	REEL_ASSERT(length > 0 && (size_t)length < sizeof choice->reason);
	if (2 * again >= slower)
		snprintf(end, room,
			 "it runs %" PRId64 " steps without recording them, not %" PRId64,
			 other->advances, best->advances);
	else if (2 * touches >= slower)
		snprintf(end, room, "it takes %.3g s to use %s of memory for the first time",
			 touching(costs, other), amount_of(other->peak_memory_bytes).text);
	else if (2 * waits >= slower)
		snprintf(end, room, "it waits %.3g s for the %s that it stores and loads", waits,
			 amount_of(transferred(other)).text);
	else if (best->tapes > other->tapes)
		snprintf(end, room, "fewer workers share it, %u, not %u", other->tapes,
			 best->tapes);
	else
		snprintf(end, room, "it stores and loads %s, not %s",
			 amount_of(transferred(other)).text, amount_of(transferred(best)).text);
}

static void explain_alone(const struct reel_costs *costs, struct reel_choice *choice)
{
	if (costs->steps < 2)
		snprintf(choice->reason, sizeof choice->reason,
			 "there is no other way for so short a loop");
	else
		snprintf(choice->reason, sizeof choice->reason,
			 "no other planner fits the memory%s: store-all takes %s",
			 costs->steps > REEL_MAX_SEGMENTS
				 ? " in as few segments as it is tried with"
				 : "",
			 amount_of(reel_bytes_of(costs->steps, costs->tape_bytes)).text);
}

void reel_choice_explain(const struct reel_costs *costs, struct reel_choice *choice)
{
	REEL_ASSERT(choice->best.segment_steps > 0);
	if (!choice->runner_up.segment_steps)
		explain_alone(costs, choice);
	else if (choice->runner_up.makespan - choice->best.makespan <=
		 1e-9 * choice->best.makespan)
		explain_equal(choice);
	else
		explain_slower(costs, choice);
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
