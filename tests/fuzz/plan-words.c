/* SPDX-License-Identifier: MIT */
/* The words of `reel plan`: values keep to their bounds, and small plans are made and shown. */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/plan.h"
#include "../../tools/verb.h"
#include "fuzz.h"
#include "targets.h"

enum { MAX_WORDS = 40, MAX_STEPS = 40 };

static bool is_cost(double cost)
{
	return cost >= 0 && isfinite(cost);
}

static void check_request(const struct request *request)
{
	const struct reel_costs *costs = &request->costs;

	FUZZ_EXPECT(request->has_steps && request->problem.steps >= 0);
	FUZZ_EXPECT(costs->steps == request->problem.steps);
	FUZZ_EXPECT(request->workers >= 0 && request->workers <= UINT16_MAX);
	FUZZ_EXPECT(!request->plan_option || !request->cost_option);
	FUZZ_EXPECT((unsigned)request->planner < REEL_PLANNERS);
	FUZZ_EXPECT(request->problem.tier[0].slots >= 0 && request->problem.tier[1].slots >= 0);
	FUZZ_EXPECT(request->problem.period >= 0 && request->problem.tape_states >= 0);
	FUZZ_EXPECT(is_cost(request->problem.record_cost));
	FUZZ_EXPECT(is_cost(request->problem.reverse_cost));
	FUZZ_EXPECT(is_cost(costs->advance_seconds) && is_cost(costs->copy_seconds));
	FUZZ_EXPECT(is_cost(costs->tier[0].write_bandwidth) && is_cost(costs->tier[0].latency));
}

static bool is_short(const struct request *request)
{
	const struct reel_problem *problem = &request->problem;

	return problem->steps <= MAX_STEPS && problem->tier[0].slots <= MAX_STEPS &&
	       problem->tier[1].slots <= 4 * MAX_STEPS;
}

/* Each line is a word. */
static int split(char *text, char **words)
{
	int count = 0;

	words[count++] = "plan";
	for (char *word = strtok(text, "\n"); word && count < MAX_WORDS; word = strtok(NULL, "\n"))
		words[count++] = word;
	return count;
}

/* Runs all of `reel plan`, except for drawings, which would write files of any name. */
static void run_words(char *text)
{
	char *words[MAX_WORDS];
	int count = split(text, words), status;
	struct request request;

	/* Makes getopt_long() begin again. */
	optind = 0;
	status = plan_read_request(&request, count, words);
	FUZZ_EXPECT(status == 0 || status == EXIT_USAGE);
	if (status)
		return;
	check_request(&request);
	if (!is_short(&request) || request.plot)
		return;
	optind = 0;
	status = plan_run(count, words);
	FUZZ_EXPECT(status == EXIT_SUCCESS || status == EXIT_FAILURE || status == EXIT_USAGE);
	fflush(stdout);
}

int fuzz_plan_words(const uint8_t *data, size_t size)
{
	char *text = fuzz_allocate(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	run_words(text);
	free(text);
	return 0;
}
