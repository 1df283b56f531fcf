/* SPDX-License-Identifier: MIT */
/*
 * The plan and the run of a loop. What Enzyme gives is a number of steps and the size of a state;
 * the rest is from the options, or from the environment.
 */
#include "config.h"

#include "enzyme.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/environment.h"
#include "os/error.h"
#include "os/integer.h"

#define DEFAULT_SLOTS 30
/* Relative to a step. Plans with two kinds of memory weigh them so, if nobody says better. */
#define STORE_COST 5

/* The parts of the text "PLANNER:SLOTS:MORE". */
struct request {
	enum reel_planner planner;
	int64_t slots, more; /* 0: not given */
};

static int refuse(const char *text, const char *why)
{
	return reel_fail(-EINVAL, "the plan '%s': %s", text, why);
}

static bool read_number(const char **at, int64_t *number)
{
	char *end;

	if (**at != ':')
		return **at == '\0';
	if ((*at)[1] < '1' || (*at)[1] > '9')
		return false;
	*number = strtoll(*at + 1, &end, 10);
	*at = end;
	return true;
}

static bool has_unlimited_tier(enum reel_planner planner)
{
	return planner == REEL_TWO_LEVEL || planner == REEL_PERIODIC ||
	       planner == REEL_DISK_REVOLVE;
}

static bool has_two_tiers(enum reel_planner planner)
{
	return has_unlimited_tier(planner) || planner == REEL_MULTISTAGE ||
	       planner == REEL_HIERARCHICAL;
}

static int parse(const char *text, struct request *request)
{
	char name[32];
	size_t length = strcspn(text, ":");
	const char *at = text + length;

	snprintf(name, sizeof name, "%.*s", (int)reel_min_size(length, sizeof name - 1), text);
	if (!strcmp(text, "all")) {
		*request = (struct request){REEL_TWO_LEVEL, 1, 1};
		return 0;
	}
	if (reel_planner_by_name(name, &request->planner))
		return refuse(text, "there is no such planner; take binomial, multistage, "
				    "two-level, hierarchical, disk-revolve, periodic, online or all");
	if (!read_number(&at, &request->slots) || !read_number(&at, &request->more) || *at)
		return refuse(text, "it is PLANNER:SLOTS or PLANNER:SLOTS:MORE, as binomial:30");
	if (request->more && (!has_two_tiers(request->planner) ||
			      request->planner == REEL_DISK_REVOLVE))
		return refuse(text, "this planner takes one number, that of the slots in memory");
	return 0;
}

static int64_t root_of(int64_t steps)
{
	int64_t root = 1;

	while ((root + 1) <= steps / (root + 1))
		root++;
	return root;
}

/* A plan without a number of slots gets one that grows with the loop, as Enzyme's schemes do. */
static void complete(struct request *request, int64_t steps, int64_t snapshots)
{
	if (request->slots)
		return;
	request->slots = snapshots > 0			   ? snapshots
			 : steps == REEL_UNKNOWN_STEPS	   ? DEFAULT_SLOTS
							   : root_of(steps);
	if (request->slots > REEL_MAX_SLOTS)
		request->slots = REEL_MAX_SLOTS;
}

static struct reel_problem problem_of(const struct request *request, int64_t steps)
{
	struct reel_problem problem = {.steps = steps, .tiers = 1, .flags = REEL_REVERSE_AT_ONCE};

	problem.tier[0].slots = request->slots;
	if (has_unlimited_tier(request->planner))
		problem.period = request->more;
	if (!has_two_tiers(request->planner))
		return problem;
	problem.tiers = 2;
	problem.tier[1].slots =
		has_unlimited_tier(request->planner) ? REEL_MAX_STEPS : request->more;
	problem.tier[1].store_cost = problem.tier[1].load_cost = STORE_COST;
	return problem;
}

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
					      : reel_environment("REEL_ENZYME");
	bool all = text && !strcmp(text, "all");
	struct request request = {.planner = loop->steps == REEL_UNKNOWN_STEPS ? REEL_ONLINE
									       : REEL_BINOMIAL};
	struct reel_problem problem;
	int error = text ? parse(text, &request) : 0;

	/* The environment says one plan for all loops. */
	if (!loop->options.plan && request.planner == REEL_BINOMIAL &&
	    loop->steps == REEL_UNKNOWN_STEPS)
		request.planner = REEL_ONLINE;
	if (!error)
		error = reel_reserved_problem(loop->options.reserved,
					      sizeof loop->options.reserved)
				? reel_fail(-EINVAL, "reserved options must be 0")
				: 0;
	if (error)
		return error;
	complete(&request, loop->steps, snapshots);
	problem = problem_of(&request, loop->steps);
	loop->first_slots = problem.tier[0].slots;
	error = reel_plan_open(&loop->plan, request.planner, &problem);
	if (!error)
		/* The states of all steps are in memory, as those of plans with one tier. */
		error = open_run(loop, problem.tiers > 1 && !all);
	return error ? error : reel_run_start(loop->run, loop, NULL, NULL);
}
