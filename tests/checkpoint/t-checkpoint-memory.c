/* SPDX-License-Identifier: MIT */
/* Tests runs without memory: each request for memory is refused in turn (refusals.h). */
#include <config.h>

#include <unistd.h>

#include "helpers/pool-support.h"
#include "helpers/recurrence.h"
#include "helpers/refusals.h"

enum { STEPS = 12 };

#define PATH "restart"

/* The parts of a run that could be opened. */
struct parts {
	reel_pool *pool;
	reel_plan *plan;
	reel_store *store[2];
	reel_run *run;
};

static int open_run(struct parts *parts, unsigned flags)
{
	struct reel_problem problem = {.steps = STEPS, .tiers = 2,
				       .tier = {{2, 0, 0}, {3, 0.5, 0.5}}};
	struct reel_run_options options = {.pool = parts->pool,
					   .flags = flags,
					   .restart = PATH,
					   .restart_seconds = 1e-9,
					   .adjoint_bytes = sizeof(struct state)};
	int error = reel_plan_open(&parts->plan, REEL_HIERARCHICAL, &problem);

	for (int i = 0; i < 2 && !error; i++)
		error = reel_store_memory_open(&parts->store[i], 1 << 20);
	if (error)
		return error;
	options.store[0] = parts->store[0];
	options.store[1] = parts->store[1];
	error = reel_run_open(&parts->run, parts->plan, &saved, &options);
	/* The run now owns the stores. */
	if (!error)
		parts->store[0] = parts->store[1] = NULL;
	return error;
}

static void close_parts(struct parts *parts)
{
	reel_run_close(parts->run);
	reel_store_close(parts->store[0]);
	reel_store_close(parts->store[1]);
	reel_plan_close(parts->plan);
}

static int sweep_both(reel_run *run, struct run *counts, struct state *bar)
{
	struct state state = start;
	int error = 0;

	if (!reel_run_is_reversing(run)) {
		error = reel_run_forward(run, counts, &state);
		*bar = seed;
	}
	return error ? error : reel_run_reverse(run, counts, &state, bar);
}

static int resume_and_sweep(struct parts *parts, struct run *counts, struct state *bar)
{
	int error = reel_run_resume(parts->run, NULL, bar);

	if (error && error != -ENOENT)
		return error;
	return sweep_both(parts->run, counts, bar);
}

/* Writes the restart file of a run that is stopped in its reverse sweep, or removes it. */
static void lay_restart_file(reel_pool *pool, bool wanted)
{
	struct parts parts = {.pool = pool};
	struct run stopped = no_failure;
	struct state bar;

	stopped.failing_reverse = 6;
	if (wanted && (open_run(&parts, 0) || sweep_both(parts.run, &stopped, &bar) != -ECANCELED))
		printf("Bail out! no restart file\n");
	close_parts(&parts);
}

static bool is_right(const struct state *bar)
{
	struct state right = gradient_by_one_tape(no_failure, STEPS);

	return !memcmp(bar, &right, sizeof right);
}

/*
 * Returns true if the run with the k-th request refused was right, and so was the same run again.
 */
static bool one_refusal(reel_pool *pool, unsigned k, bool all_that_follow, bool resumed,
			unsigned flags, unsigned *requests)
{
	struct parts parts = {.pool = pool};
	struct run run = no_failure;
	struct state bar = seed;
	bool well;
	int error;

	lay_restart_file(pool, resumed);
	/* Frames that the pool has kept would need no memory. */
	reel_pool_trim(pool, 0);
	refuse_from(k, all_that_follow);
	error = open_run(&parts, flags);
	if (!error)
		error = resume_and_sweep(&parts, &run, &bar);
	*requests = stop_refusing();
	well = error ? error == -ENOMEM || error == -EDQUOT : is_right(&bar);
	if (parts.run)
		well = well && !sweep_both(parts.run, &run, &bar) && is_right(&bar);
	close_parts(&parts);
	unlink(PATH);
	return well && slabs_in_use(pool) == 0;
}

static void refuse_each(bool resumed, unsigned flags, bool all_that_follow)
{
	reel_pool *pool = open_pool(small_options());
	unsigned step = stride_of(4), wrong = 0, k = 1, requests;

	for (;; k += step) {
		bool well = one_refusal(pool, k, all_that_follow, resumed, flags, &requests);

		if (!well && !wrong++)
			tap_note("the first one is request %u", k);
		if (requests < k || k > 2000)
			break;
	}
	ok(k > 20 && k < 2000, "%u requests for memory", requests);
	is_int(wrong, 0, "each may be refused%s", all_that_follow ? ", with all that follow" : "");
	close_pool(pool, "refusals");
}

int main(void)
{
	tap_begin();
	reel_set_error_handler(ignore_report, NULL);
	for (int all = 0; all < 2; all++) {
		tap_case("a run");
		refuse_each(false, 0, all);
		tap_case("a run with an audit");
		refuse_each(false, REEL_RUN_AUDIT, all);
		tap_case("a run that is resumed");
		refuse_each(true, 0, all);
	}
	return tap_end();
}
