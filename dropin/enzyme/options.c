/* SPDX-License-Identifier: MIT */
/*
 * The plan and the run of a loop. Enzyme gives a number of steps and the size of a state;
 * the rest is from the options, or from the environment.
 */
#include "config.h"

#include "enzyme.h"

#include <errno.h>
#include <string.h>

#include "os/environment.h"
#include "os/error.h"
#include "os/integer.h"

static int open_run(struct enzyme_loop *loop, bool needs_store)
{
	const reel_model model = {.state_bytes = loop->bytes ? (size_t)loop->bytes : 1,
				  .save = reel_enzyme_save, .load = reel_enzyme_load};
	struct reel_run_options options = {.pool = loop->pool, .flags = REEL_RUN_COPIES};
	int error = 0;

	if (loop->bytes > PTRDIFF_MAX)
		return reel_fail(-EOVERFLOW, "a state is larger than can be addressed");
	if (needs_store)
		error = reel_store_open(&options.store[1],
					loop->options.store ? loop->options.store
							    : reel_environment("REEL_STORE"),
					loop->options.directory);
	if (error)
		return error;
	error = reel_run_open(&loop->run, loop->plan, &model, &options);
	if (error && options.store[1])
		reel_store_close(options.store[1]);
	return error;
}

int reel_enzyme_open(struct enzyme_loop *loop, int64_t snapshots)
{
	const char *text = loop->options.plan ? loop->options.plan
					      : reel_environment("REEL_PLAN");
	const char *reserved = reel_reserved_problem(loop->options.reserved,
						     sizeof loop->options.reserved);
	bool all = text && !strcmp(text, "all");
	struct reel_problem problem = {.steps = loop->steps, .flags = REEL_REVERSE_AT_ONCE};
	enum reel_planner planner;
	int error;

	if (reserved)
		return reel_fail(-EINVAL, "%s", reserved);
	if (!text && snapshots > 0) {
		problem.tiers = 1;
		problem.tier[0].slots = reel_min_i64(snapshots, REEL_MAX_SLOTS);
	}
	error = reel_problem_from_text(&problem, &planner, loop->options.plan);
	if (error)
		return error;
	loop->first_slots = problem.tier[0].slots;
	error = reel_plan_open(&loop->plan, planner, &problem);
	if (!error)
		/* The states of all steps are in memory, as with plans of one tier. */
		error = open_run(loop, problem.tiers > 1 && !all);
	return error ? error : reel_run_start(loop->run, loop, NULL, NULL);
}
