/* SPDX-License-Identifier: MIT */
/*
 * Tests sweeps by several threads without memory: each request for memory, or for a slab within the
 * budget, is refused in turn (refusals.h). A sweep ends with the right gradient or with an error
 * for want of memory, it frees all memory, and the next sweep is right.
 */
#include <config.h>

#include <reel/omp.h>

#include "checkpoint/run/run.h"
#include "helpers/pool-support.h"
#include "helpers/recurrence.h"
#include "helpers/slab-refusals.h"

enum { STEPS = 16, THREADS = 3, MAX_REQUESTS = 4000 };

/* A model for several threads at a time, which only reads its context. A step fills some slabs. */
enum { BALLAST = 1000 };

static int advance_shared(void *context, void *state, int64_t first, int64_t last)
{
	for (int64_t step = first; step < last; step++)
		primal_step(context, state, step);
	return 0;
}

static int record_shared(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	for (int64_t step = first; step < last; step++) {
		push_state(tape, state);
		for (int i = 0; i < BALLAST; i++)
			reel_push(tape, (double)i);
		primal_step(context, state, step);
	}
	return 0;
}

/* A tape on which the reverse of each step but the last one leaves a value. */
static const reel_tape *not_emptied;

static int reverse_shared(void *context, void *adjoint, int64_t first, int64_t last,
			  reel_tape *tape)
{
	for (int64_t step = last; step-- > first;) {
		/* The last step is recorded before the sweep looks ahead. */
		int left = tape == not_emptied && step < STEPS - 1 ? 1 : 0;

		for (int i = left; i < BALLAST; i++)
			(void)reel_pop(tape, double);
		reverse_step(context, adjoint, step, tape);
	}
	return 0;
}

static const reel_model shared = {.state_bytes = sizeof(struct state), .advance = advance_shared,
				  .record = record_shared, .reverse = reverse_shared};

static struct state right; /* the gradient, by one tape */

static bool is_right(const struct state *bar)
{
	return !memcmp(bar, &right, sizeof right);
}

static bool is_want_of_memory(int error)
{
	return error == -ENOMEM || error == -EDQUOT;
}

struct sweep {
	reel_pool *pool;
	reel_run *run;
};

static int look_ahead(const struct sweep *sweep, struct state *bar)
{
	struct reel_omp_options options = {.threads = THREADS, .tapes = THREADS};
	struct run run = no_failure;
	struct state state = start;
	int error = reel_run_forward(sweep->run, &run, &state);

	*bar = seed;
	return error ? error : reel_omp_run_reverse(sweep->run, &run, &state, bar, &options, NULL);
}

/*
 * Leaves values on the run's own tape. Returns 0 if the sweep reports them, and sets the right
 * gradient, because one_refusal() compares one.
 */
static int leave_values(const struct sweep *sweep, struct state *bar)
{
	int error;

	not_emptied = &sweep->run->tape;
	error = look_ahead(sweep, bar);
	not_emptied = NULL;
	*bar = right;
	return error == -EBADMSG ? 0 : error ? error : -EPROTO;
}

typedef int sweep_function(const struct sweep *sweep, struct state *bar);

/* Returns true if the sweep with the k-th request refused was right, and also the next one. */
static bool one_refusal(const struct sweep *sweep, sweep_function *function, unsigned k,
			bool all_that_follow, unsigned *requests, unsigned *errors)
{
	struct state bar;
	bool well;
	int error;

	/* Frames that the pool has kept would need no memory. */
	reel_pool_trim(sweep->pool, 0);
	refuse_from(k, all_that_follow);
	error = function(sweep, &bar);
	*requests = stop_refusing();
	*errors += error != 0;
	well = error ? is_want_of_memory(error) : is_right(&bar);
	return !function(sweep, &bar) && is_right(&bar) && well;
}

/* The number of requests depends on the timing of threads. */
static void refuse_each(const struct sweep *sweep, sweep_function *function, const char *name,
			bool all_that_follow)
{
	unsigned wrong = 0, errors = 0, k = 0, requests;

	do {
		bool well = one_refusal(sweep, function, ++k, all_that_follow, &requests, &errors);

		if (!well && !wrong++)
			tap_note("the first one is request %u", k);
	} while (requests >= k && k < MAX_REQUESTS);
	ok(k > 20 && k < MAX_REQUESTS && errors > 0, "%s: %u requests for memory, %u errors",
	   name, k, errors);
	is_int(wrong, 0, "%s: each may be refused%s", name,
	       all_that_follow ? ", with all that follow" : "");
}

static void refuse_in_look_ahead(enum reel_planner planner, size_t budget)
{
	struct reel_pool_options small = small_options();
	struct reel_run_options options = {0};
	/* With 5 the mixed plan keeps a tape while others are reversed. */
	reel_plan *plan = plan_for(planner, STEPS, 5);
	struct sweep sweep;

	tap_case(budget ? "looking ahead, within a budget" : "looking ahead");
	small.hard_budget = budget;
	options.pool = sweep.pool = open_pool(small);
	sweep.run = open_checkpoint(plan, &shared, &options);
	for (int all = 0; all < 2; all++)
		refuse_each(&sweep, look_ahead, reel_planner_name(planner), all);
	/*
	 * The sweep has to report values that are left with -EBADMSG, also after it has recorded
	 * steps again.
	 */
	if (planner == REEL_MIXED)
		refuse_each(&sweep, leave_values, "values that are left on its tape", false);
	reel_run_close(sweep.run);
	close_pool(sweep.pool, "refusals");
	reel_plan_close(plan);
}

int main(void)
{
	/* There are more threads than processors; libomp's own tool does not know other threads. */
	setenv("OMP_WAIT_POLICY", "passive", 1);
	setenv("OMP_TOOL", "disabled", 1);
	tap_begin();
	reel_set_error_handler(ignore_report, NULL);
	right = gradient_by_one_tape(no_failure, STEPS);
	refuse_in_look_ahead(REEL_BINOMIAL, 0);
	refuse_in_look_ahead(REEL_MIXED, 0);
	refuse_in_look_ahead(REEL_BINOMIAL, 64 * small_slab());
	refuse_in_look_ahead(REEL_MIXED, 64 * small_slab());
	return tap_end();
}
