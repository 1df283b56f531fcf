/* SPDX-License-Identifier: MIT */
/*
 * Runs of plans that learn. Budgets go from memory for a few states to memory for all tapes; the
 * gradient is that of one tape, to the last bit, and the budget is never exceeded.
 */
#include <config.h>

#include <reel/plan.h>

#include <math.h>

#include "checkpoint/run/run-group.h"
#include "helpers/late-store.h"
#include "helpers/meeting.h"
#include "helpers/pool-support.h"
#include "helpers/thread-team.h"

enum { FEW_CELLS = 500, MAX_CELLS = 8000 };

static int cells = FEW_CELLS;

/* A state fills nearly a slab, and so does the tape of a step, `copies` times. */
struct loop {
	int64_t end;
	unsigned copies;
	int64_t advanced, recorded, reversed;
	int64_t stops_at; /* record and advance fail at this step, and reverse; -1: nowhere */
};

static void step(double *x, int64_t i)
{
	double first = x[0], weight = 0.25 * cos((double)i);

	for (int k = 0; k < cells; k++)
		x[k] = sin(x[k]) + weight * (k + 1 < cells ? x[k + 1] : first);
}

static void reverse_step(double *bar, const double *x, int64_t i)
{
	double weight = 0.25 * cos((double)i), above = bar[cells - 1];

	for (int k = cells; k-- > 0;) {
		double from_below = k > 0 ? bar[k - 1] : above;

		bar[k] = cos(x[k]) * bar[k] + weight * from_below;
	}
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	struct loop *loop = context;

	for (int64_t i = first; i < last; i++) {
		if (i == loop->stops_at)
			return -ECANCELED;
		step(state, i);
		loop->advanced++;
	}
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct loop *loop = context;

	for (int64_t i = first; i < last; i++) {
		if (i == loop->stops_at)
			return -ECANCELED;
		for (unsigned c = 0; c < loop->copies; c++) {
			double *kept = reel_push_span(tape, double, (size_t)cells);

			if (!kept)
				return reel_tape_error(tape);
			memcpy(kept, state, (size_t)cells * sizeof *kept);
		}
		step(state, i);
		loop->recorded++;
	}
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct loop *loop = context;
	const double *x = NULL;

	for (int64_t i = last; i-- > first;) {
		if (i == loop->stops_at)
			return -ECANCELED;
		for (unsigned c = 0; c < loop->copies; c++)
			x = reel_pop_span(tape, double, (size_t)cells);
		if (!x)
			return reel_tape_error(tape);
		reverse_step(adjoint, x, i);
		loop->reversed++;
	}
	return 0;
}

static bool finished(void *context, const void *state, int64_t i)
{
	(void)state;
	return i == ((const struct loop *)context)->end;
}

static reel_model model = {.state_bytes = FEW_CELLS * sizeof(double), .advance = advance,
			   .record = record, .reverse = reverse};

static void set_start(double *x, double *bar)
{
	for (int k = 0; k < cells; k++) {
		x[k] = sin(k);
		bar[k] = cos(k);
	}
}

static bool is_right(const double *bar, int64_t steps)
{
	double(*x)[MAX_CELLS] = malloc((size_t)(steps + 1) * sizeof *x);
	double right[MAX_CELLS];
	bool is_same;

	if (!x)
		abort();
	set_start(x[0], right);
	for (int64_t i = 0; i < steps; i++) {
		memcpy(x[i + 1], x[i], sizeof x[i]);
		step(x[i + 1], i);
	}
	for (int64_t i = steps; i-- > 0;)
		reverse_step(right, x[i], i);
	is_same = !memcmp(bar, right, (size_t)cells * sizeof *right);
	free(x);
	return is_same;
}

/* ---- Runs ---- */

struct scheme {
	int64_t steps, segment;
	size_t budget; /* bytes; 0: no bound */
	unsigned copies;
	bool knows_end, has_store, is_driven;
	int pause_ms; /* of the store, for each transfer */
};

struct outcome {
	int error;
	bool is_right;
	struct reel_run_stats stats;
	struct reel_pool_stats pool;
};

static reel_plan *plan_of(const struct scheme *scheme)
{
	struct reel_problem problem = {.steps = REEL_UNKNOWN_STEPS};
	reel_plan *plan;

	if (scheme->knows_end)
		problem.steps = (scheme->steps + scheme->segment - 1) / scheme->segment;
	if (reel_plan_open_auto(&plan, &problem, NULL)) {
		printf("Bail out! no plan\n");
		exit(EXIT_FAILURE);
	}
	return plan;
}

static reel_pool *pool_of(const struct scheme *scheme, struct late_store **late)
{
	struct reel_pool_options options = {.hard_budget = scheme->budget, .slab_bytes = 4096};
	reel_pool *pool;

	*late = scheme->has_store ? late_open(1) : NULL;
	if (*late) {
		(*late)->pause_ms = scheme->pause_ms;
		options.store = &(*late)->store;
	}
	if (reel_pool_open(&pool, &options)) {
		printf("Bail out! no pool: %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return pool;
}

static int drive(reel_run *run, struct loop *loop, double *x, double *bar)
{
	int64_t at = 0;
	reel_action action;
	int error = reel_run_start(run, loop, x, bar);

	while (!error) {
		if (reel_run_steps(run) == REEL_UNKNOWN_STEPS && at == loop->end)
			error = reel_run_end_loop(run);
		if (!error)
			error = reel_run_next(run, &action);
		if (error || action.kind == REEL_ACTION_DONE)
			return error;
		if (action.kind == REEL_ACTION_REVERSE)
			error = reverse(loop, bar, action.first, action.last, reel_run_tape(run));
		else if (action.kind == REEL_ACTION_RECORD)
			error = record(loop, x, action.first, action.last, reel_run_tape(run));
		else
			error = advance(loop, x, action.first, action.last);
		at = action.last;
	}
	return error;
}

static int sweep(reel_run *run, struct loop *loop, double *x, double *bar, bool is_driven)
{
	int error = 0;

	if (is_driven)
		return drive(run, loop, x, bar);
	if (!reel_run_is_reversing(run))
		error = reel_run_forward(run, loop, x);
	return error ? error : reel_run_reverse(run, loop, x, bar);
}

static struct outcome carry_out(const struct scheme *scheme)
{
	const reel_model driven = {.state_bytes = model.state_bytes};
	struct reel_run_options options = {.segment_steps = scheme->segment};
	struct loop loop = {.end = scheme->steps, .copies = scheme->copies, .stops_at = -1};
	double x[MAX_CELLS], bar[MAX_CELLS];
	reel_plan *plan = plan_of(scheme);
	struct outcome outcome = {0};
	struct late_store *late;
	reel_run *run;

	options.pool = pool_of(scheme, &late);
	options.steps = scheme->knows_end ? scheme->steps : 0;
	options.finished = scheme->knows_end || scheme->is_driven ? NULL : finished;
	outcome.error = reel_run_open(&run, plan, scheme->is_driven ? &driven : &model, &options);
	/* The second gradient knows what the first one has learnt. */
	for (int gradient = 0; gradient < 2 && !outcome.error; gradient++) {
		set_start(x, bar);
		outcome.error = sweep(run, &loop, x, bar, scheme->is_driven);
		if (!outcome.error && !is_right(bar, scheme->steps))
			outcome.error = -EDOM;
	}
	reel_run_get_stats(run, &outcome.stats);
	reel_run_close(run);
	reel_pool_get_stats(options.pool, &outcome.pool);
	reel_pool_close(options.pool);
	free(late);
	reel_plan_close(plan);
	return outcome;
}

static void describe(const struct scheme *scheme, const struct outcome *outcome)
{
	tap_note("%lld steps, segments of %lld, %zu KiB, %u copies%s%s%s: error %d (%s), advanced "
		 "%lld, stored %d, at most %d KiB", (long long)scheme->steps,
		 (long long)scheme->segment, scheme->budget >> 10, scheme->copies,
		 scheme->knows_end ? ", known" : "", scheme->has_store ? ", store" : "",
		 scheme->is_driven ? ", driven" : "", outcome->error,
		 reel_error_text(outcome->error), (long long)outcome->stats.advanced,
		 (int)outcome->stats.stores[0], (int)(outcome->pool.peak_resident_bytes >> 10));
}

/* ---- Cases ---- */

static void gradients_are_right_in_any_budget(struct scheme scheme, const char *name)
{
	static const int64_t steps[] = {0, 1, 2, 3, 7, 20, 61, 200};
	/* Slabs: a state, and the tape of a segment, which is its last slab and the next one. */
	static const unsigned slabs[] = {16, 20, 30, 50, 100, 200, 1000};
	int wrong = 0;

	for (size_t i = 0; i < COUNT(steps); i++)
		for (size_t k = 0; k < COUNT(slabs); k++) {
			struct outcome outcome;

			scheme.steps = steps[i];
			scheme.budget = slabs[k] * (size_t)4096;
			outcome = carry_out(&scheme);
			if (!outcome.error &&
			    outcome.pool.peak_resident_bytes <= outcome.pool.hard_budget &&
			    outcome.stats.reversed == steps[i])
				continue;
			describe(&scheme, &outcome);
			wrong++;
		}
	is_int(wrong, 0, "%s: gradients are right, and no budget is exceeded", name);
}

/* Where all tapes have room, no step runs again; nor where a fast store takes them. */
static void steps_run_once_where_tapes_have_room(bool knows_end)
{
	struct scheme scheme = {.steps = 100, .segment = 1, .copies = 1, .knows_end = knows_end,
				.budget = 140 * (size_t)4096};
	const char *name = knows_end ? "known end" : "unknown end";
	struct outcome outcome = carry_out(&scheme);

	ok(!outcome.error && !outcome.stats.advanced && outcome.stats.recorded == 100,
	   "%s: all steps are recorded once", name);
	scheme.budget = 70 * (size_t)4096;
	outcome = carry_out(&scheme);
	ok(!outcome.error && outcome.stats.advanced > 10 && outcome.stats.advanced <= 100,
	   "%s: in half of the memory steps run again once: %lld", name,
	   (long long)outcome.stats.advanced);
	describe(&scheme, &outcome);
	scheme.budget = 0;
	outcome = carry_out(&scheme);
	ok(!outcome.error && !outcome.stats.advanced, "%s: a pool without a bound has the memory of "
	   "the system", name);
}

/* A store that takes as long for the tape of a step as a hundred steps is left alone. */
static void slow_store_is_not_waited_for(bool knows_end)
{
	struct scheme scheme = {.steps = 400, .segment = 1, .copies = 1, .knows_end = knows_end,
				.budget = 60 * (size_t)4096, .has_store = true, .pause_ms = 2};
	struct outcome outcome = carry_out(&scheme);

	ok(!outcome.error && outcome.pool.written_bytes < 200 * 4096, "slow store: %d of 800 tapes are written",
	   (int)(outcome.pool.written_bytes / 4096));
	describe(&scheme, &outcome);
}

/* A state, and the tape of a step, have memory of their own, which is a sixth of the budget. */
static void large_states_fit_beside_the_tape(void)
{
	struct scheme scheme = {.steps = 48, .segment = 1, .copies = 1,
				.budget = 6 * (size_t)64 << 10};
	int wrong = 0;

	cells = MAX_CELLS;
	model.state_bytes = MAX_CELLS * sizeof(double);
	for (int knows_end = 0; knows_end < 2; knows_end++) {
		struct outcome outcome;

		scheme.knows_end = knows_end;
		outcome = carry_out(&scheme);
		wrong += outcome.error ||
			 outcome.pool.peak_resident_bytes > outcome.pool.hard_budget;
		if (wrong)
			describe(&scheme, &outcome);
	}
	is_int(wrong, 0, "states of a sixth of the budget");
	cells = FEW_CELLS;
	model.state_bytes = FEW_CELLS * sizeof(double);
}

#define PATH "learn-restart"

/* A run that is stopped at each step goes on from its file, in both sweeps. */
static void a_run_that_is_stopped_goes_on(bool knows_end)
{
	struct scheme scheme = {.steps = 60, .segment = 1, .copies = 1, .knows_end = knows_end,
				.budget = 40 * (size_t)4096};
	struct reel_run_options options = {.restart = PATH, .restart_seconds = 1e-9,
					   .adjoint_bytes = FEW_CELLS * sizeof(double)};
	struct late_store *late;
	int wrong = 0, resumed = 0;

	options.finished = knows_end ? NULL : finished;
	for (int64_t stop = 0; stop < scheme.steps; stop += is_brief() ? 7 : 1) {
		for (int pass = 0; pass < 2; pass++) {
			struct loop loop = {.end = scheme.steps, .copies = 1,
					    .stops_at = pass ? -1 : stop};
			double x[MAX_CELLS], bar[MAX_CELLS];
			reel_plan *plan = plan_of(&scheme);
			reel_run *run;
			int error;

			options.pool = pool_of(&scheme, &late);
			if (reel_run_open(&run, plan, &model, &options)) {
				printf("Bail out! %s\n", reel_error_text(0));
				exit(EXIT_FAILURE);
			}
			set_start(x, bar);
			error = reel_run_resume(run, &loop, bar);
			resumed += pass && !error;
			if (!error || error == -ENOENT)
				error = sweep(run, &loop, x, bar, false);
			if (pass && (error || !is_right(bar, scheme.steps))) {
				tap_note("stopped at %d: %s", (int)stop, reel_error_text(error));
				wrong++;
			}
			reel_run_close(run);
			reel_pool_close(options.pool);
			reel_plan_close(plan);
		}
	}
	ok(!wrong && resumed > 3, "%s: a run that is stopped goes on: %d files",
	   knows_end ? "known end" : "unknown end", resumed);
}

/* ---- Ranks ---- */

enum { MEMBERS = 3 };

static struct meeting meeting;

/* A rank with its own memory and its own size of a step's tape. */
struct part {
	struct scheme scheme;
	struct outcome outcome;
};

static void run_part(const struct member *member)
{
	struct part *part = (struct part *)member->team->context + member->number;
	struct reel_run_group group = {.rank = member->number, .ranks = MEMBERS, .max = meet,
				       .context = &meeting};
	struct loop loop = {.end = part->scheme.steps, .copies = part->scheme.copies,
			    .stops_at = -1};
	struct reel_run_options options = {.finished = finished};
	reel_plan *plan = plan_of(&part->scheme);
	struct late_store *late;
	double x[MAX_CELLS], bar[MAX_CELLS];
	reel_run *run;
	int error;

	options.pool = pool_of(&part->scheme, &late);
	error = reel_run_open_in_group(&run, plan, &model, &options, &group);
	set_start(x, bar);
	if (!error)
		error = sweep(run, &loop, x, bar, false);
	part->outcome.error = error;
	part->outcome.is_right = !error && is_right(bar, loop.end);
	reel_run_get_stats(run, &part->outcome.stats);
	reel_run_close(run);
	reel_pool_get_stats(options.pool, &part->outcome.pool);
	reel_pool_close(options.pool);
	reel_plan_close(plan);
}

/* The rank with the least memory for its data decides. */
static void ranks_learn_together(void)
{
	static const size_t slabs[MEMBERS] = {60, 200, 60};
	struct part parts[MEMBERS];
	int wrong = 0;

	for (int m = 0; m < MEMBERS; m++)
		parts[m].scheme = (struct scheme){.steps = 100, .segment = 1,
						  .copies = m == 0 ? 2 : 1,
						  .budget = slabs[m] * 4096};
	open_meeting(&meeting, MEMBERS);
	run_team(MEMBERS, run_part, parts);
	close_meeting(&meeting);
	for (int m = 0; m < MEMBERS; m++) {
		const struct outcome *outcome = &parts[m].outcome;

		if (outcome->error || !outcome->is_right ||
		    outcome->stats.advanced != parts[0].outcome.stats.advanced ||
		    outcome->pool.peak_resident_bytes > outcome->pool.hard_budget) {
			describe(&parts[m].scheme, outcome);
			wrong++;
		}
	}
	is_int(wrong, 0, "ranks of unlike memory run the same steps");
	ok(parts[0].outcome.stats.advanced > 0, "as many as the one with the least memory needs");
}

int main(void)
{
	tap_begin();
	for (int way = 0; way < 8; way++) {
		struct scheme scheme = {.segment = 1, .copies = 1, .knows_end = way & 1,
					.has_store = way & 2, .is_driven = way & 4};
		char name[80];

		snprintf(name, sizeof name, "%s end%s%s", way & 1 ? "known" : "unknown",
			 way & 2 ? ", store" : "", way & 4 ? ", driven" : "");
		gradients_are_right_in_any_budget(scheme, name);
		if (way & 4)
			continue;
		scheme.segment = 3;
		gradients_are_right_in_any_budget(scheme, name);
		scheme.segment = 1;
		scheme.copies = 3;
		gradients_are_right_in_any_budget(scheme, name);
	}
	steps_run_once_where_tapes_have_room(false);
	steps_run_once_where_tapes_have_room(true);
	large_states_fit_beside_the_tape();
	slow_store_is_not_waited_for(false);
	slow_store_is_not_waited_for(true);
	a_run_that_is_stopped_goes_on(false);
	a_run_that_is_stopped_goes_on(true);
	ranks_learn_together();
	return tap_end();
}
