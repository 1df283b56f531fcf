/* SPDX-License-Identifier: MIT */
/* The choice by cost can be planned, passes the check, fits, and takes the least time. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include <reel/plan.h>

#include "fuzz.h"
#include "targets.h"

enum { MAX_STEPS = 24 };

/* Draws small and large numbers; now and then, any bits. */
static double draw_seconds(struct fuzz_input *input)
{
	unsigned code = fuzz_byte(input);
	uint64_t bits;
	double seconds;

	if (code < 250)
		return ldexp(code % 16, (int)(code / 16) - 8);
	bits = fuzz_number(input, 8);
	memcpy(&seconds, &bits, sizeof seconds);
	return seconds;
}

static uint64_t draw_bytes(struct fuzz_input *input)
{
	unsigned code = fuzz_byte(input);

	return code < 250 ? (uint64_t)(code % 16) << code / 16 : fuzz_number(input, 8);
}

static struct reel_costs draw_costs(struct fuzz_input *input)
{
	struct reel_costs costs = {
		.steps = (int64_t)fuzz_below(input, MAX_STEPS + 2) - 1,
		.advance_seconds = draw_seconds(input),
		.record_seconds = draw_seconds(input),
		.reverse_seconds = draw_seconds(input),
		.copy_seconds = draw_seconds(input),
		.state_bytes = draw_bytes(input),
		.tape_bytes = draw_bytes(input),
		.memory_bytes = draw_bytes(input),
		.workers = fuzz_below(input, 6),
		.tiers = fuzz_below(input, 4),
		.touch_seconds = draw_seconds(input),
	};

	for (unsigned t = 0; t < costs.tiers && t < REEL_MAX_TIERS - 1; t++)
		costs.tier[t] = (struct reel_cost_tier){
			.bytes = draw_bytes(input), .write_bandwidth = draw_seconds(input),
			.read_bandwidth = draw_seconds(input), .latency = draw_seconds(input)};
	return costs;
}

static void check_prediction(const struct reel_costs *costs, const struct reel_prediction *best)
{
	int64_t segments = costs->steps / best->segment_steps +
			   (costs->steps % best->segment_steps != 0);
	struct reel_schedule_report report;
	reel_plan *plan;

	FUZZ_EXPECT(best->makespan >= 0);
	FUZZ_EXPECT(!costs->memory_bytes || best->spills ||
		    best->peak_memory_bytes <= costs->memory_bytes);
	FUZZ_EXPECT(best->problem.steps == segments);
	FUZZ_EXPECT(reel_plan_open(&plan, best->planner, &best->problem) == 0);
	FUZZ_EXPECT(reel_plan_check(plan, NULL, segments, &report) == 0);
	FUZZ_EXPECT(report.reversed == segments);
	reel_plan_close(plan);
}

int fuzz_choose(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	struct reel_costs costs = draw_costs(&input);
	struct reel_choice choice;
	int error = reel_costs_choose(&costs, &choice);

	FUZZ_EXPECT(error == 0 || error == -EINVAL || error == -ENOSPC);
	FUZZ_EXPECT(*choice.reason && memchr(choice.reason, 0, sizeof choice.reason));
	if (error) {
		FUZZ_EXPECT(!strcmp(choice.reason, reel_error_text(error)));
		return 0;
	}
	check_prediction(&costs, &choice.best);
	if (!choice.runner_up.segment_steps)
		return 0;
	check_prediction(&costs, &choice.runner_up);
	/* If times differ by a rounding error only, the choice has less memory. */
	FUZZ_EXPECT(choice.best.makespan <= choice.runner_up.makespan * (1 + 1e-8));
	return 0;
}
