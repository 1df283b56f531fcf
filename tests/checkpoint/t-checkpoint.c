/* SPDX-License-Identifier: MIT */
/*
 * Tests runs of plans over the recurrence: with any plan, tiers and segments the gradient is
 * bitwise equal to the gradient by one plain tape.
 */
#include <config.h>


#include "checkpoint/run/run.h"
#include "spill/thread/thread.h"
#include "helpers/late-store.h"
#include "helpers/recurrence.h"
#include "helpers/store-count.h"
#include "helpers/store-fault.h"
#include "helpers/store-verbs.h"

/* The late stores of the present run, which the test frees. */
static struct late_store *lates[2];

static reel_store *late_store(uint64_t random)
{
	unsigned i = lates[0] != NULL;

	lates[i] = late_open(random);
	return &lates[i]->store;
}

/* Ends a run. Returns true if its stores were used rightly. */
static bool end_run(reel_run *checkpoint)
{
	bool rightly = true;

	reel_run_close(checkpoint);
	for (unsigned i = 0; i < COUNT(lates); i++) {
		rightly = rightly && (!lates[i] || (!lates[i]->wrongs && !lates[i]->used));
		free(lates[i]);
		lates[i] = NULL;
	}
	return rightly;
}

enum tiers { IN_MEMORY, ON_A_STORE, ON_TWO_STORES };

static bool is_right(const struct state *bar, const struct run *run, int64_t steps)
{
	struct state right = gradient_by_one_tape(*run, steps);

	return !memcmp(bar, &right, sizeof right);
}

/* Runs both sweeps. Returns the first error, also of a callback. */
static int sweep_both(reel_run *checkpoint, struct run *run, struct state *bar)
{
	struct state state = start;
	int error = reel_run_forward(checkpoint, run, &state);

	*bar = seed;
	return error ? error : reel_run_reverse(checkpoint, run, &state, bar);
}

static void lay_out_tiers(struct reel_run_options *options, enum tiers tiers, unsigned plan_tiers,
			  uint64_t random)
{
	if (tiers == ON_TWO_STORES || (tiers == ON_A_STORE && plan_tiers == 1))
		options->store[0] = late_store(random);
	if (tiers != IN_MEMORY && plan_tiers > 1)
		options->store[1] = late_store(random + 1);
}

static void one_gradient(enum reel_planner planner, int64_t steps, int64_t slots, int64_t segment,
			 enum tiers tiers, unsigned flags)
{
	int64_t segments = (steps + segment - 1) / segment;
	reel_plan *plan = plan_for(planner, segments, slots);
	struct reel_run_options options = {
		.segment_steps = segment, .steps = steps, .flags = flags};
	reel_run *checkpoint;
	struct run run = no_failure;
	struct state bar;
	bool both = true;

	lay_out_tiers(&options, tiers, tiers_of(planner), (uint64_t)(steps + slots));
	checkpoint = open_checkpoint(plan, &saved, &options);
	for (int pass = 0; pass < 2; pass++) {
		struct reel_run_stats stats;

		both = both && !sweep_both(checkpoint, &run, &bar) && is_right(&bar, &run, steps);
		reel_run_get_stats(checkpoint, &stats);
		both = both && stats.reversed == steps && stats.recorded == steps &&
		       stats.unlike_step == -1;
		run.coupling *= 1.5;
	}
	both = end_run(checkpoint) && both;
	ok(both, "%s: %lld steps in segments of %lld, %lld slots, tiers %d%s: two gradients",
	   reel_planner_name(planner), (long long)steps, (long long)segment, (long long)slots,
	   tiers, flags ? ", audited" : "");
	reel_plan_close(plan);
}

static void every_plan_gives_the_gradient(void)
{
	static const int64_t lengths[] = {1, 2, 3, 17, 60};
	unsigned turn = 0;

	tap_case("a gradient");
	for (unsigned planner = 0; planner < REEL_PLANNERS; planner++)
		for (size_t i = 0; i < COUNT(lengths); i++)
			for (unsigned tiers = IN_MEMORY; tiers <= ON_TWO_STORES; tiers++)
				for (int64_t segment = 1; segment <= 7; segment += 3)
					/* With a sanitizer one of five combinations runs. */
					if (turn++ % 5 == 0 || !is_brief() || !is_sanitized())
						one_gradient(planner, lengths[i], 4, segment, tiers, 0);
	one_gradient(REEL_BINOMIAL, 60, 4, 1, ON_A_STORE, REEL_RUN_AUDIT);
	one_gradient(REEL_HIERARCHICAL, 60, 3, 7, ON_TWO_STORES, REEL_RUN_AUDIT);
}

static void no_steps_are_none(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 0, 3);
	reel_run *checkpoint;
	struct run run = no_failure;
	struct state bar;

	tap_case("a loop of no steps");
	is_int(reel_run_open(&checkpoint, plan, &copied, NULL), 0, "has a run");
	is_int(sweep_both(checkpoint, &run, &bar), 0, "which runs");
	ok(!memcmp(&bar, &seed, sizeof bar), "the adjoint is as it was");
	is_int(run.advanced + run.recorded + run.reversed, 0, "no step was run");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

static void it_does_what_the_plan_says(void)
{
	reel_plan *plan = plan_for(REEL_MULTISTAGE, 50, 4);
	struct reel_schedule_report report;
	struct reel_run_stats stats;
	struct reel_run_options options = {.store = {NULL, late_store(5)}};
	reel_run *checkpoint;
	struct run run = no_failure;
	struct state bar;

	tap_case("a run's counts");
	reel_plan_check(plan, NULL, 50, &report);
	reel_run_open(&checkpoint, plan, &saved, &options);
	is_int(sweep_both(checkpoint, &run, &bar), 0, "it runs");
	reel_run_get_stats(checkpoint, &stats);
	is_int(stats.advanced, report.advances, "advances");
	is_int(run.advanced, report.advances, "as the model counts them");
	for (unsigned tier = 0; tier < 2; tier++) {
		is_int(stats.stores[tier], report.stores[tier], "stores to tier %u", tier);
		is_int(stats.loads[tier], report.loads[tier], "loads from tier %u", tier);
	}
	is_int(run.snapshots, report.stores[0] + report.stores[1], "each is one save");
	is_int(stats.failed_puts, 0, "no put failed");
	ok(end_run(checkpoint), "the store was used rightly");
	reel_plan_close(plan);
}

/* Closes the plan. */
static void carry_out_plan(reel_plan *plan, int64_t steps)
{
	struct state state = start, last = start, replayed, bar = seed;
	/* volatile: a compiler may round a sine that it computes itself in another way. */
	int (*volatile run_steps)(void *, void *, int64_t, int64_t) = advance;
	struct run run = no_failure;
	reel_run *checkpoint;

	run_steps(&run, &last, 0, steps);
	is_int(reel_run_open(&checkpoint, plan, &copied, NULL), 0, "has a run");
	is_int(reel_run_forward(checkpoint, &run, &state), 0, "goes forward");
	ok(!memcmp(&state, &last, sizeof last), "to the last state");
	replayed = state;
	is_int(reel_run_reverse(checkpoint, &run, &replayed, &bar), 0, "and back");
	ok(is_right(&bar, &run, steps), "with the gradient");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* A plan of the program may load a state before the last recorded steps are reversed. */
static void the_forward_sweep_ends_in_the_last_state(void)
{
	static const reel_action actions[] = {
		{.kind = REEL_ACTION_STORE, .first = 0, .last = 0},
		{.kind = REEL_ACTION_ADVANCE, .first = 0, .last = 2},
		{.kind = REEL_ACTION_RECORD, .first = 2, .last = 4},
		{.kind = REEL_ACTION_LOAD, .first = 0, .last = 0, .last_use = true},
		{.kind = REEL_ACTION_DROP, .first = 0, .last = 0},
		{.kind = REEL_ACTION_REVERSE, .first = 2, .last = 4},
		{.kind = REEL_ACTION_RECORD, .first = 0, .last = 2},
		{.kind = REEL_ACTION_REVERSE, .first = 0, .last = 2}};
	struct reel_problem problem = {.steps = 4, .tiers = 1, .tier = {{1, 0, 0}}};
	reel_plan *plan;

	tap_case("a plan of one's own");
	reel_plan_open_actions(&plan, &problem, actions, COUNT(actions));
	carry_out_plan(plan, 4);
}

/* Steps that differ: states and tapes are kept in memory and in a second tier. */
static void uneven_steps(void)
{
	struct reel_uneven_step step[20];
	struct reel_uneven_problem uneven = {.steps = COUNT(step), .step = step, .memory_bytes = 700,
				   .store_bandwidth = 40, .load_bandwidth = 40};
	reel_plan *plan;

	tap_case("uneven steps");
	for (unsigned i = 0; i < COUNT(step); i++)
		step[i] = (struct reel_uneven_step){.advance = 1 + i % 5, .record = 2 + i % 5,
						   .reverse = 3, .state_bytes = 20 + i % 7,
						   .tape_bytes = 100 + 10 * (i % 3)};
	if (reel_plan_open_uneven(&plan, &uneven))
		abort();
	carry_out_plan(plan, COUNT(step));
}

/* ---- Ends that are found on the way ---- */

static bool ends_at_37(void *context, const void *state, int64_t step)
{
	(void)context;
	(void)state;
	return step == 37;
}

/* The segment is longer than any loop, so only its first steps are run. */
static void a_plan_goes_beyond_all_steps(void)
{
	struct reel_problem problem = {.steps = REEL_UNKNOWN_STEPS, .tiers = 2,
				       .period = REEL_MAX_STEPS,
				       .tier = {{4, 0, 0}, {8, 0.5, 0.5}}};
	struct reel_run_options options = {.segment_steps = REEL_MAX_STEPS, .finished = ends_at_37};
	struct run run = no_failure;
	reel_run *checkpoint;
	struct state bar;
	reel_plan *plan;

	tap_case("a plan to far beyond the end");
	is_int(reel_plan_open(&plan, REEL_PERIODIC, &problem), 0, "is a plan");
	is_int(reel_run_open(&checkpoint, plan, &copied, &options), 0, "and has a run");
	is_int(sweep_both(checkpoint, &run, &bar), 0, "it runs");
	ok(is_right(&bar, &run, 37), "and gives the gradient");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

static bool ends_at_once(void *context, const void *state, int64_t step)
{
	(void)context;
	(void)state;
	(void)step;
	return true;
}

static void an_end_is_found_on_the_way(enum reel_planner planner, int64_t segment)
{
	struct reel_problem problem = {.steps = REEL_UNKNOWN_STEPS, .tiers = 1, .period = 3,
				       .tier = {{4, 0, 0}, {8, 0.5, 0.5}}};
	struct reel_run_options options = {.segment_steps = segment, .finished = ends_at_37};
	struct run run = no_failure;
	reel_run *checkpoint;
	struct state bar;
	reel_plan *plan;

	tap_case("a loop whose end is found on the way");
	problem.tiers = planner == REEL_ONLINE ? 1 : 2;
	is_int(reel_plan_open(&plan, planner, &problem), 0, "%s has a plan",
	       reel_planner_name(planner));
	is_int(reel_run_open(&checkpoint, plan, &copied, &options), 0, "and a run");
	is_int(reel_run_steps(checkpoint), REEL_UNKNOWN_STEPS, "the end is not known");
	is_int(sweep_both(checkpoint, &run, &bar), 0, "it runs");
	is_int(reel_run_steps(checkpoint), 37, "then it is");
	ok(is_right(&bar, &run, 37), "its gradient, in segments of %lld", (long long)segment);
	is_int(sweep_both(checkpoint, &run, &bar), 0, "it runs again");
	ok(is_right(&bar, &run, 37), "with the same gradient");
	reel_run_close(checkpoint);
	options.finished = ends_at_once;
	reel_run_open(&checkpoint, plan, &copied, &options);
	is_int(sweep_both(checkpoint, &run, &bar), 0, "it may end before its first step");
	is_int(reel_run_steps(checkpoint), 0, "then it has none");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* ---- Failures ---- */

static int stop_at_20(void *context, void *state, int64_t first, int64_t last)
{
	return first >= 20 ? 7 : advance(context, state, first, last);
}

static void a_callback_stops_a_run(void)
{
	reel_model model = copied;
	reel_plan *plan = plan_for(REEL_BINOMIAL, 40, 4);
	reel_run *checkpoint;
	struct run run = no_failure;
	struct state bar;

	tap_case("a callback");
	model.advance = stop_at_20;
	reel_run_open(&checkpoint, plan, &model, NULL);
	is_int(sweep_both(checkpoint, &run, &bar), 7, "may stop a sweep early");
	is_int(reel_run_reverse(checkpoint, &run, &bar, &bar), -EINVAL,
	       "there is no reverse sweep then");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* ---- Callbacks that are left ---- */

static bool leaving_finished(void *context, const void *state, int64_t step)
{
	(void)context;
	(void)state;
	leave_in_time();
	return step == 40;
}

/*
 * Leaves callback number `place` of both sweeps by longjmp(), and then calls the reverse sweep.
 * Returns true if there was such a callback. Sets *error to the result of the reverse sweep.
 */
static bool leave_one_place(reel_run *checkpoint, int64_t place, bool pieces, int *error)
{
	static struct run run;
	static struct state state, bar;

	run = no_failure;
	state = start;
	bar = seed;
	places_to_pass = place;
	if (setjmp(out_of_the_callback)) {
		places_to_pass = -1;
		*error = go_back(checkpoint, &run, &state, &bar, pieces);
		return true;
	}
	*error = reel_run_forward(checkpoint, &run, &state);
	if (!*error)
		*error = go_back(checkpoint, &run, &state, &bar, pieces);
	return false;
}

static void each_callback_is_left(enum reel_planner planner, bool pieces)
{
	bool unknown = planner == REEL_ONLINE;
	reel_plan *plan = plan_for(planner, unknown ? REEL_UNKNOWN_STEPS : 40, 4);
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	struct reel_run_options options = {.pool = pool,
					   .finished = unknown ? leaving_finished : NULL};
	reel_run *checkpoint;
	unsigned silent = 0, wrong = 0;
	int64_t place = 0;
	int error;

	if (tiers_of(planner) > 1)
		options.store[1] = late_store(11);
	checkpoint = open_checkpoint(plan, &leaving, &options);
	for (; leave_one_place(checkpoint, place, pieces, &error); place++) {
		struct run run = no_failure;
		struct state bar;

		silent += !error;
		wrong += sweep_both(checkpoint, &run, &bar) || !is_right(&bar, &run, 40);
	}
	ok(place > 100 && !error, "%s: one of %d places in callbacks is left%s",
	   reel_planner_name(planner), (int)place, pieces ? ", in pieces" : "");
	is_int(silent, 0, "a reverse sweep after that is an error");
	is_int(wrong, 0, "the next two sweeps give the gradient");
	ok(end_run(checkpoint), "the stores have nothing left");
	close_pool(pool, "callbacks were left");
	reel_plan_close(plan);
}

static void callbacks_may_be_left(void)
{
	static const enum reel_planner planners[] = {REEL_BINOMIAL, REEL_MIXED, REEL_HIERARCHICAL,
						     REEL_ONLINE};

	tap_case("callbacks that are left");
	for (size_t i = 0; i < COUNT(planners); i++)
		for (int pieces = 0; pieces < 2; pieces++)
			each_callback_is_left(planners[i], pieces);
}

/* A callback fails at each step in turn, and after each failure the same run is right. */
static void a_failing_callback(int64_t steps, size_t member, const char *name)
{
	reel_plan *plan = plan_for(REEL_HIERARCHICAL, steps, 3);
	struct reel_run_options options = {.store = {NULL, late_store(9)}};
	reel_run *checkpoint;
	unsigned silent = 0, wrong = 0, nameless = 0;

	reel_run_open(&checkpoint, plan, &copied, &options);
	for (int64_t step = 0; step < steps; step++) {
		struct run run = no_failure;
		struct state bar;
		int error;

		*(int64_t *)((char *)&run + member) = step;
		error = sweep_both(checkpoint, &run, &bar);
		silent += error != -ECANCELED && !(error == 0 && step == steps - 1);
		nameless += error && !strstr(reel_error_text(0), name);
		run = no_failure;
		wrong += sweep_both(checkpoint, &run, &bar) != 0 || !is_right(&bar, &run, steps);
	}
	is_int(silent, 0, "%s: its error ends the sweep and comes back", name);
	is_int(nameless, 0, "%s: the message names it", name);
	is_int(wrong, 0, "%s: the next sweeps are right", name);
	ok(end_run(checkpoint), "%s: the store was used rightly", name);
	reel_plan_close(plan);
}

/* Tests each planner, also with several RECORDs on the tape. */
static void what_reverse_does_not_pop_is_seen(void)
{
	tap_case("a value that is left on the tape");
	for (unsigned planner = 0; planner < REEL_PLANNERS; planner++) {
		reel_plan *plan = plan_for(planner, 25, 3);
		reel_run *checkpoint = open_checkpoint(plan, &copied, NULL);
		unsigned silent = 0;

		for (int64_t step = 1; step <= 25; step++) {
			struct run run = no_failure;
			struct state bar;

			run.excess = step;
			silent += sweep_both(checkpoint, &run, &bar) != -EBADMSG ||
				  !strstr(reel_error_text(0), "reverse of steps");
		}
		is_int(silent, 0, "%s: ends the sweep", reel_planner_name(planner));
		reel_run_close(checkpoint);
		reel_plan_close(plan);
	}
}

static void callbacks_fail(void)
{
	tap_case("a callback that fails");
	a_failing_callback(25, offsetof(struct run, failing_advance), "advance");
	a_failing_callback(25, offsetof(struct run, failing_record), "record");
	a_failing_callback(25, offsetof(struct run, failing_reverse), "reverse");
}

/* ---- Messages ---- */

/* The callback of the kind `failing` fails at step `at`; REEL_ACTION_DONE: none fails. */
struct breaking {
	struct run run;
	enum reel_action_kind failing;
	int64_t at;
	int64_t pushed; /* number of additional values that the record of that step pushes */
};

static bool breaks(const struct breaking *breaking, enum reel_action_kind kind, int64_t first,
		   int64_t last)
{
	return breaking->failing == kind && first <= breaking->at && breaking->at < last;
}

static int breaking_advance(void *context, void *state, int64_t first, int64_t last)
{
	struct breaking *breaking = context;

	return breaks(breaking, REEL_ACTION_ADVANCE, first, last)
		       ? -ECANCELED : advance(&breaking->run, state, first, last);
}

static int breaking_record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct breaking *breaking = context;

	if (breaks(breaking, REEL_ACTION_RECORD, first, last))
		return -ECANCELED;
	for (int64_t i = 0; first <= breaking->at && breaking->at < last && i < breaking->pushed; i++)
		reel_push(tape, 1.0);
	return record(&breaking->run, state, first, last, tape);
}

static int breaking_reverse(void *context, void *adjoint, int64_t first, int64_t last,
			    reel_tape *tape)
{
	struct breaking *breaking = context;

	return breaks(breaking, REEL_ACTION_REVERSE, first, last)
		       ? -ECANCELED : reverse(&breaking->run, adjoint, first, last, tape);
}

static int breaking_save(void *context, const void *state, void *snapshot)
{
	struct breaking *breaking = context;
	int64_t now = breaking->run.advanced;

	return breaks(breaking, REEL_ACTION_STORE, now, now + 1)
		       ? -ECANCELED : save(&breaking->run, state, snapshot);
}

static int breaking_load(void *context, void *state, const void *snapshot)
{
	struct breaking *breaking = context;

	return breaks(breaking, REEL_ACTION_LOAD, breaking->at, breaking->at + 1)
		       ? -ECANCELED : load(&breaking->run, state, snapshot);
}

/* The segments are steps 0 to 3, 4 to 7, and 8 to 9. States 0 and 4 are stored. */
static void a_message_names_the_steps(struct breaking breaking, int error, const char *message)
{
	static const reel_action actions[] = {
		{.kind = REEL_ACTION_STORE, .first = 0, .last = 0},
		{.kind = REEL_ACTION_ADVANCE, .first = 0, .last = 1},
		{.kind = REEL_ACTION_STORE, .first = 1, .last = 1, .slot = 1},
		{.kind = REEL_ACTION_ADVANCE, .first = 1, .last = 2},
		{.kind = REEL_ACTION_RECORD, .first = 2, .last = 3},
		{.kind = REEL_ACTION_REVERSE, .first = 2, .last = 3},
		{.kind = REEL_ACTION_LOAD, .first = 1, .last = 1, .slot = 1, .last_use = true},
		{.kind = REEL_ACTION_DROP, .first = 1, .last = 1, .slot = 1},
		{.kind = REEL_ACTION_RECORD, .first = 1, .last = 2},
		{.kind = REEL_ACTION_REVERSE, .first = 1, .last = 2},
		{.kind = REEL_ACTION_LOAD, .first = 0, .last = 0, .last_use = true},
		{.kind = REEL_ACTION_DROP, .first = 0, .last = 0},
		{.kind = REEL_ACTION_RECORD, .first = 0, .last = 1},
		{.kind = REEL_ACTION_REVERSE, .first = 0, .last = 1}};
	static const reel_model model = {sizeof(struct state), breaking_advance, breaking_record,
					 breaking_reverse, breaking_save, breaking_load};
	struct reel_problem problem = {.steps = 3, .tiers = 1, .tier = {{2, 0, 0}}};
	struct reel_pool_options tight = {
		.slab_bytes = 4096, .first_slab_bytes = 64, .hard_budget = 8 * 4096};
	struct reel_run_options options = {
		.pool = open_pool(tight), .segment_steps = 4, .steps = 10};
	struct state state = start, bar = seed;
	reel_run *checkpoint;
	reel_plan *plan;
	int first;

	breaking.run = no_failure;
	if (reel_plan_open_actions(&plan, &problem, actions, COUNT(actions)))
		abort();
	reel_set_error_handler(record_report, NULL);
	checkpoint = open_checkpoint(plan, &model, &options);
	first = reel_run_forward(checkpoint, &breaking, &state);
	is_int(first ? first : reel_run_reverse(checkpoint, &breaking, &state, &bar), error,
	       "its error is returned");
	ok(strstr(reel_error_text(0), message), "and names its steps: %s", reel_error_text(0));
	reel_set_error_handler(NULL, NULL);
	reel_run_close(checkpoint);
	reel_plan_close(plan);
	close_pool(options.pool, "a failure");
}

static void messages_name_the_steps(void)
{
	tap_case("the message of a failure");
	a_message_names_the_steps((struct breaking){.failing = REEL_ACTION_ADVANCE, .at = 3},
				  -ECANCELED, "advance of steps 0 to 3 ");
	a_message_names_the_steps((struct breaking){.failing = REEL_ACTION_RECORD, .at = 8},
				  -ECANCELED, "record of steps 8 to 9 ");
	a_message_names_the_steps((struct breaking){.failing = REEL_ACTION_REVERSE, .at = 4},
				  -ECANCELED, "reverse of steps 4 to 7 ");
	a_message_names_the_steps((struct breaking){.failing = REEL_ACTION_STORE, .at = 4},
				  -ECANCELED, "save of steps 4 to 4 ");
	a_message_names_the_steps((struct breaking){.failing = REEL_ACTION_LOAD, .at = 4},
				  -ECANCELED, "load of steps 4 to 4 ");
	a_message_names_the_steps(
		(struct breaking){.failing = REEL_ACTION_DONE, .at = 8, .pushed = 10000}, -EDQUOT,
		"record of steps 8 to 9:");
	a_message_names_the_steps(
		(struct breaking){.failing = REEL_ACTION_DONE, .at = 4, .pushed = 1}, -EBADMSG,
		"reverse of steps 4 to 7:");
	ok(strstr(reported.message, "reverse of steps 4 to 7 popped"), "so does the report: %s",
	   reported.message);
}

static void a_sweep_out_of_order_says_so(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 20, 3);
	reel_run *checkpoint = open_checkpoint(plan, &copied, NULL);
	struct run run = no_failure;
	struct state bar, state;

	tap_case("a reverse sweep after one that failed");
	run.failing_reverse = 5;
	is_int(sweep_both(checkpoint, &run, &bar), -ECANCELED, "the one before");
	is_int(reel_run_reverse(checkpoint, &run, &state, &bar), -EINVAL, "is refused");
	ok(strstr(reel_error_text(0), "forward"), "and the message is of it: %s",
	   reel_error_text(0));
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* In the reverse sweep each save fails once. */
static int save_at_the_second_attempt(void *context, const void *state, void *snapshot)
{
	struct run *run = context;

	if (run->reversed && run->snapshots++ % 2 == 0)
		return -ENOMEM;
	memcpy(snapshot, state, sizeof(struct state));
	return 0;
}

/*
 * Runs both sweeps, the reverse one again after each failure. Returns the number of failed STOREs.
 */
static unsigned stores_tried_twice(reel_run *checkpoint, struct run *run, struct state *bar)
{
	struct state state = start;
	reel_action action;
	unsigned stores = 0;

	reel_run_forward(checkpoint, run, &state);
	*bar = seed;
	while (!reel_run_take(checkpoint, &action) && action.kind != REEL_ACTION_DONE) {
		int error = reel_run_carry_out(checkpoint, &action, run, &state, bar, NULL);

		stores += error == -ENOMEM && action.kind == REEL_ACTION_STORE;
		if (error)
			error = reel_run_carry_out(checkpoint, &action, run, &state, bar, NULL);
		if (error)
			return 0;
	}
	return stores;
}

static void a_save_that_fails_leaves_nothing(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 20, 3);
	reel_run *checkpoint;
	reel_model model = saved;
	struct run run = no_failure;
	struct state bar;

	tap_case("a save() that fails");
	model.save = save_at_the_second_attempt;
	reel_run_open(&checkpoint, plan, &model, NULL);
	ok(stores_tried_twice(checkpoint, &run, &bar) > 0, "may be called for again");
	ok(is_right(&bar, &run, 20), "the gradient is right");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

static void a_put_that_fails_costs_memory_only(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 60, 6);
	struct reel_run_options options = {.store = {late_store(3)}};
	struct reel_run_stats stats;
	reel_run *checkpoint;
	struct run run = no_failure;
	struct state bar;

	tap_case("a store of which every second put fails");
	late_fail(lates[0], 2);
	reel_run_open(&checkpoint, plan, &copied, &options);
	is_int(sweep_both(checkpoint, &run, &bar), 0, "is no error");
	ok(is_right(&bar, &run, 60), "the gradient is right");
	reel_run_get_stats(checkpoint, &stats);
	ok(stats.failed_puts > 0, "the failures are counted");
	ok(end_run(checkpoint), "the store was used rightly");
	reel_plan_close(plan);
}

/* Runs both sweeps with a fault at one put or get. Returns the error of the run. */
static int with_a_fault(reel_plan *plan, struct reel_fault_rule rule, struct state *bar)
{
	struct reel_run_options options = {0};
	struct run run = no_failure;
	reel_run *checkpoint;
	reel_store *memory;
	int error;

	if (reel_store_memory_open(&memory, 1 << 20) ||
	    reel_store_fault_open(&options.store[0], memory, &rule, 1) ||
	    reel_run_open(&checkpoint, plan, &copied, &options)) {
		printf("Bail out! no run on a faulty store\n");
		exit(EXIT_FAILURE);
	}
	error = sweep_both(checkpoint, &run, bar);
	reel_run_close(checkpoint);
	return error;
}

static void faults_of_the_store(void)
{
	static const struct reel_fault_rule kinds[] = {
		{.fault = REEL_FAULT_ERROR, .put = true, .error = -ENOSPC},
		{.fault = REEL_FAULT_ERROR, .put = false, .error = -EIO},
		{.fault = REEL_FAULT_LATE, .put = true},
		{.fault = REEL_FAULT_LATE, .put = false},
		{.fault = REEL_FAULT_FLIP, .put = true, .bit = 700},
		{.fault = REEL_FAULT_FLIP, .put = false, .bit = 9},
		{.fault = REEL_FAULT_MISPLACE, .put = false},
		{.fault = REEL_FAULT_VANISH, .put = true},
		{.fault = REEL_FAULT_VANISH, .put = false},
	};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 30, 4);

	tap_case("a fault of the store");
	for (size_t kind = 0; kind < 2 * COUNT(kinds); kind++) {
		unsigned wrong = 0, errors = 0;

		for (uint64_t at = 0; at < 24; at++) {
			struct reel_fault_rule rule = kinds[kind / 2];
			struct state bar;

			rule.at = at;
			rule.persistent = kind % 2;
			if (with_a_fault(plan, rule, &bar))
				errors++;
			else
				wrong += !is_right(&bar, &no_failure, 30);
		}
		is_int(wrong, 0, "kind %zu%s never gives a wrong gradient (%u errors)", kind / 2,
		       kind % 2 ? ", persistent," : "", errors);
		/* After a single fault a get is repeated. A failed put keeps its memory. */
		if (kinds[kind / 2].fault == REEL_FAULT_ERROR && kinds[kind / 2].put)
			is_int(errors, 0, "a put that fails is no error");
	}
	reel_plan_close(plan);
}

static void codes_of_stores_are_not_those_of_runs(void)
{
	static const int codes[][2] = {{-EIO, -EIO}, {-EPERM, -EACCES}, {-EDQUOT, -ENOSPC},
				       {-EILSEQ, -EIO}, {-EINVAL, -EIO}};
	struct reel_fault_rule rule = {.fault = REEL_FAULT_ERROR, .persistent = true};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 30, 4);
	struct state bar;

	for (size_t i = 0; i < COUNT(codes); i++) {
		rule.error = codes[i][0];
		is_int(with_a_fault(plan, rule, &bar), codes[i][1], "a store's %s",
		       strerror(-rule.error));
	}
	reel_plan_close(plan);
}

/* A store with places of one size that loses one put, so that the old data stays. */
struct forgetful {
	reel_store store;
	struct {
		uint64_t header[REEL_HEADER_BYTES / 8];
		char data[sizeof(struct state)];
		bool used;
	} extent[16];
	int64_t puts, lost;
};

static void forgetful_put(reel_store *store, reel_transfer *transfer)
{
	struct forgetful *forgetful = (struct forgetful *)store;
	unsigned at = 0;

	while (forgetful->extent[at].used)
		at++;
	forgetful->extent[at].used = true;
	transfer->extent = (struct reel_extent){at, transfer->bytes};
	if (forgetful->puts++ != forgetful->lost) {
		memcpy(forgetful->extent[at].header, transfer->header, sizeof transfer->header);
		memcpy(forgetful->extent[at].data, transfer->data, transfer->bytes);
	}
	reel_transfer_complete(transfer, 0);
}

static void forgetful_get(reel_store *store, reel_transfer *transfer)
{
	struct forgetful *forgetful = (struct forgetful *)store;
	uint64_t at = transfer->extent.location;

	memcpy(transfer->header, forgetful->extent[at].header, sizeof transfer->header);
	memcpy(transfer->data, forgetful->extent[at].data, transfer->bytes);
	reel_transfer_complete(transfer, 0);
}

static void forgetful_drop(reel_store *store, struct reel_extent extent)
{
	((struct forgetful *)store)->extent[extent.location].used = false;
}

static const struct reel_store_verbs forgetful_verbs = {
	.name = "forgetful", .put = forgetful_put, .get = forgetful_get,
	.drop = forgetful_drop, .sync = null_sync, .capacity = null_capacity,
	.close = null_close};

/* The place has a state of an earlier sweep, with the same step and other numbers. */
static void a_store_that_loses_a_put(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 8, 8);
	unsigned found = 0, wrong = 0;
	int64_t puts = 1;

	tap_case("a store that keeps old data for new");
	for (int64_t lost = 0; lost < puts; lost++) {
		struct forgetful forgetful = {.store = {&forgetful_verbs}, .lost = -1};
		struct reel_run_options options = {.store = {&forgetful.store}};
		struct run run = no_failure;
		reel_run *checkpoint;
		struct state bar;
		int error;

		reel_run_open(&checkpoint, plan, &copied, &options);
		wrong += sweep_both(checkpoint, &run, &bar) != 0;
		puts = forgetful.puts;
		forgetful.lost = forgetful.puts + lost;
		run.coupling *= 1.5;
		error = sweep_both(checkpoint, &run, &bar);
		found += error == -EBADMSG;
		wrong += !error && !is_right(&bar, &run, 8);
		reel_run_close(checkpoint);
	}
	is_int(wrong, 0, "never gives a wrong gradient");
	ok(found > 0, "it is found out (%u of %lld puts)", found, (long long)puts);
	reel_plan_close(plan);
}

/* ---- Memory ---- */

static void memory_runs_out(void)
{
	size_t page = 4096;
	unsigned refused = 0, wrong = 0, failed = 0;

	tap_case("a budget");
	for (size_t pages = 2; pages < 24; pages++) {
		struct reel_pool_options tight = {.slab_bytes = page, .first_slab_bytes = 64,
						  .hard_budget = pages * page};
		reel_pool *pool = open_pool(tight);
		reel_plan *plan = plan_for(REEL_BINOMIAL, 40, 12);
		struct reel_run_options options = {.pool = pool};
		reel_run *checkpoint;
		struct run run = no_failure;
		struct state bar;
		int error;

		reel_set_error_handler(record_report, NULL);
		reel_run_open(&checkpoint, plan, &copied, &options);
		error = sweep_both(checkpoint, &run, &bar);
		refused += error == -EDQUOT || error == -ENOMEM;
		failed += error && error != -EDQUOT && error != -ENOMEM;
		wrong += !error && !is_right(&bar, &run, 40);
		reel_run_close(checkpoint);
		reel_plan_close(plan);
		wrong += slabs_in_use(pool) != 0;
		reel_pool_close(pool);
	}
	reel_set_error_handler(NULL, NULL);
	ok(refused > 0 && refused < 22, "is refused where it is too small (%u of 22)", refused);
	is_int(failed, 0, "with an error that says so");
	is_int(wrong, 0, "and never gives a wrong gradient, or keeps a slab");
}

static void buffers_stay_within_the_budget(void)
{
	size_t page = 4096;
	struct reel_pool_options tight = {.slab_bytes = page, .first_slab_bytes = 64,
					  .hard_budget = 5 * page};
	reel_pool *pool = open_pool(tight);
	reel_plan *plan = plan_for(REEL_BINOMIAL, 60, 20);
	struct reel_run_options options = {
		.pool = pool, .store = {late_store(77)}, .gets = 8, .puts = 8};
	struct reel_run_stats stats;
	reel_run *checkpoint;
	struct run run = no_failure;
	struct state bar;

	tap_case("twenty snapshots in a store, with memory for five");
	reel_run_open(&checkpoint, plan, &copied, &options);
	is_int(sweep_both(checkpoint, &run, &bar), 0, "are no error");
	ok(is_right(&bar, &run, 60), "the gradient is right");
	reel_run_get_stats(checkpoint, &stats);
	ok(stats.peak_snapshot_bytes <= 5 * page, "the memory sufficed");
	ok(stats.fetched > 0, "some were read ahead");
	ok(end_run(checkpoint), "the store was used rightly");
	reel_plan_close(plan);
	close_pool(pool, "a tight run");
}

/* A read ahead has the last memory, and is not complete when a state has to be stored. */
static void slow_reads_hold_no_memory_back(void)
{
	size_t page = 4096;
	struct reel_fault_rule late = {.fault = REEL_FAULT_LATE, .persistent = true};
	unsigned failed = 0, wrong = 0;

	tap_case("gets that come when they are asked for");
	for (size_t pages = 1; pages < 8; pages++) {
		struct reel_pool_options tight = {.slab_bytes = page, .first_slab_bytes = 64,
						  .hard_budget = pages * page};
		reel_pool *pool = open_pool(tight);
		reel_plan *plan = plan_for(REEL_BINOMIAL, 60, 6);
		struct reel_run_options options = {.pool = pool, .gets = 4};
		reel_run *checkpoint;
		struct run run = no_failure;
		reel_store *memory;
		struct state bar;
		int error;

		reel_store_memory_open(&memory, 1 << 20);
		reel_store_fault_open(&options.store[0], memory, &late, 1);
		reel_run_open(&checkpoint, plan, &copied, &options);
		error = sweep_both(checkpoint, &run, &bar);
		failed += error != 0;
		wrong += !error && !is_right(&bar, &run, 60);
		reel_run_close(checkpoint);
		reel_plan_close(plan);
		reel_pool_close(pool);
	}
	is_int(failed, 0, "are no error where memory is short");
	is_int(wrong, 0, "and the gradients are right");
}

/* ---- Read ahead ---- */

#define REVERSES 64

/* Returns a plan that stores states 0 and 1, reverses REVERSES steps, and then loads state 0. */
static reel_plan *plan_with_late_load(void)
{
	static const reel_action begin[] = {
		{.kind = REEL_ACTION_STORE, .first = 0, .last = 0},
		{.kind = REEL_ACTION_ADVANCE, .first = 0, .last = 1},
		{.kind = REEL_ACTION_STORE, .first = 1, .last = 1, .slot = 1},
		{.kind = REEL_ACTION_ADVANCE, .first = 1, .last = 2},
		{.kind = REEL_ACTION_RECORD, .first = 2, .last = 2 + REVERSES}};
	static const reel_action end[] = {
		{.kind = REEL_ACTION_LOAD, .first = 0, .last = 0, .last_use = true},
		{.kind = REEL_ACTION_DROP, .first = 0, .last = 0},
		{.kind = REEL_ACTION_DROP, .first = 1, .last = 1, .slot = 1},
		{.kind = REEL_ACTION_RECORD, .first = 0, .last = 2},
		{.kind = REEL_ACTION_REVERSE, .first = 0, .last = 2}};
	static reel_action actions[COUNT(begin) + REVERSES + COUNT(end)];
	struct reel_problem problem = {.steps = 2 + REVERSES, .tiers = 1, .tier = {{2, 0, 0}}};
	reel_action *action = actions + COUNT(begin);
	reel_plan *plan;

	memcpy(actions, begin, sizeof begin);
	for (int64_t step = 2 + REVERSES; step-- > 2;)
		*action++ = (reel_action){
			.kind = REEL_ACTION_REVERSE, .first = step, .last = step + 1};
	memcpy(action, end, sizeof end);
	if (reel_plan_open_actions(&plan, &problem, actions, COUNT(actions)))
		abort();
	return plan;
}

/*
 * Waits until states have left memory. Waits twice, because the first round of the offload thread
 * may have begun before the last state was stored.
 */
static void let_states_leave(reel_run *checkpoint)
{
	for (unsigned i = 0; i < 2; i++)
		reel_offload_settle(reel_offload_of(checkpoint->snapshots.tier[0].pool));
}

/*
 * The LOAD is taken before it can be announced. Returns the number of snapshots that were read
 * before it.
 */
static uint64_t reverse_unannounced(reel_run *checkpoint, struct run *run, struct state *state,
				    struct state *bar, reel_store *counted)
{
	struct reel_store_counts counts = {0};
	reel_action action;

	while (!reel_run_take(checkpoint, &action) && action.kind != REEL_ACTION_DONE) {
		if (action.kind == REEL_ACTION_LOAD) {
			reel_store_get_counts(counted, &counts);
			checkpoint->snapshots.max_ahead = 1;
		}
		if (reel_run_carry_out(checkpoint, &action, run, state, bar, NULL))
			break;
	}
	return counts.gets;
}

static void a_load_that_was_taken_is_not_read_ahead(void)
{
	struct reel_store_counts counts;
	struct reel_run_options options = {.pool = NULL};
	reel_plan *plan = plan_with_late_load();
	struct run run = no_failure;
	struct state state = start, bar = seed;
	reel_store *memory, *counted;
	reel_run *checkpoint;

	tap_case("a load that was not announced");
	if (reel_store_memory_open(&memory, 1 << 20) || reel_store_count_open(&counted, memory))
		abort();
	options.store[0] = counted;
	checkpoint = open_checkpoint(plan, &copied, &options);
	checkpoint->snapshots.max_ahead = 0;
	is_int(reel_run_forward(checkpoint, &run, &state), 0, "the sweep goes forward");
	let_states_leave(checkpoint);
	is_int(reverse_unannounced(checkpoint, &run, &state, &bar, counted), 0,
	       "it is not read ahead");
	ok(is_right(&bar, &run, 2 + REVERSES), "the gradient is right");
	let_states_leave(checkpoint);
	reel_store_get_counts(counted, &counts);
	is_int(counts.gets, 1, "the load reads the snapshot, and nobody after it");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* Stores each state in a tier or in the pool. Returns the number of loads without announcement. */
static long long loads_without_announcement(reel_pool *pool, reel_store *store)
{
	struct reel_problem problem = {.steps = 40, .tiers = 2, .period = 1,
				       .tier = {{.slots = 1}, {REEL_MAX_STEPS, 1, 1}},
				       .flags = REEL_REVERSE_AT_ONCE};
	struct reel_run_options options = {.pool = pool, .store = {NULL, store}};
	struct reel_parcel_stats parcels;
	struct reel_run_stats stats;
	struct run run = no_failure;
	struct state bar;
	reel_run *checkpoint;
	reel_plan *plan;

	if (reel_plan_open(&plan, REEL_TWO_LEVEL, &problem))
		abort();
	checkpoint = open_checkpoint(plan, &copied, &options);
	if (sweep_both(checkpoint, &run, &bar) || !is_right(&bar, &run, problem.steps))
		abort();
	reel_run_get_stats(checkpoint, &stats);
	reel_parcel_get_stats(checkpoint->snapshots.tier[1].pool, &parcels);
	reel_run_close(checkpoint);
	reel_plan_close(plan);
	return (long long)(stats.loads[1] - parcels.announced);
}

/* The schedule reaches these loads in the forward sweep, before their states are stored. */
static void loads_are_announced_when_their_states_are_stored(void)
{
	struct reel_pool_options spilling = {.slab_bytes = 4096, .first_slab_bytes = 64,
					     .hard_budget = 16 * 4096};
	reel_store *memory;
	reel_pool *pool;

	tap_case("loads of states that are stored later");
	if (reel_store_memory_open(&memory, 1 << 20))
		abort();
	is_int(loads_without_announcement(NULL, memory), 0, "from a tier's store: all announced");
	if (reel_store_memory_open(&spilling.store, 1 << 20))
		abort();
	pool = open_pool(spilling);
	is_int(loads_without_announcement(pool, NULL), 0, "from the pool's: all announced");
	close_pool(pool, "loads that are announced");
}

/* ---- Audit ---- */

struct unsteady {
	struct run run;
	int64_t at;
	bool again;
};

/* One step computes another state when it is run again. */
static int unsteady_advance(void *context, void *state, int64_t first, int64_t last)
{
	struct unsteady *unsteady = context;
	struct state *now = state;

	for (int64_t step = first; step < last; step++) {
		primal_step(&unsteady->run, now, step);
		if (step == unsteady->at && unsteady->again)
			now->x[2] += 1e-14;
		unsteady->again |= step == unsteady->at;
	}
	return 0;
}

static int unsteady_record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct unsteady *unsteady = context;

	return record(&unsteady->run, state, first, last, tape);
}

static int unsteady_reverse(void *context, void *adjoint, int64_t first, int64_t last,
			    reel_tape *tape)
{
	struct unsteady *unsteady = context;

	return reverse(&unsteady->run, adjoint, first, last, tape);
}

static void an_audit_names_the_step(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct state),
					 .advance = unsteady_advance, .record = unsteady_record,
					 .reverse = unsteady_reverse};
	struct reel_run_options options = {.flags = REEL_RUN_AUDIT};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 40, 4);
	struct unsteady unsteady = {.run = no_failure, .at = 13};
	struct reel_run_stats stats;
	struct state state = start, bar = seed;
	reel_run *checkpoint;

	tap_case("an audit");
	reel_run_open(&checkpoint, plan, &model, &options);
	is_int(reel_run_forward(checkpoint, &unsteady, &state), 0, "goes forward");
	is_int(reel_run_reverse(checkpoint, &unsteady, &state, &bar), -EILSEQ,
	       "ends where a step does not replay");
	reel_run_get_stats(checkpoint, &stats);
	is_int(stats.unlike_step, 13, "and names it");
	ok(strstr(reel_error_text(0), "step 13 "), "in words, too");
	unsteady = (struct unsteady){.run = no_failure, .at = -1};
	state = start;
	bar = seed;
	is_int(reel_run_forward(checkpoint, &unsteady, &state) +
		       reel_run_reverse(checkpoint, &unsteady, &state, &bar),
	       0, "finds nothing where all is steady");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* The steps of one record are compared as a whole, so the audit names the first one. */
static void an_audit_names_the_segment(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct state),
					 .advance = unsteady_advance, .record = unsteady_record,
					 .reverse = unsteady_reverse};
	struct reel_run_options options = {.flags = REEL_RUN_AUDIT, .segment_steps = 5};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 2, 1);
	struct unsteady unsteady = {.run = no_failure, .at = -1};
	struct reel_run_stats stats;
	struct state state = start, bar = seed;
	reel_run *checkpoint;

	tap_case("an audit of segments");
	reel_run_open(&checkpoint, plan, &model, &options);
	is_int(reel_run_forward(checkpoint, &unsteady, &state), 0, "goes forward");
	unsteady.run.coupling = 0.5;
	is_int(reel_run_reverse(checkpoint, &unsteady, &state, &bar), -EILSEQ,
	       "ends where steps do not replay");
	reel_run_get_stats(checkpoint, &stats);
	is_int(stats.unlike_step, 0, "and names the first of them");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* A load gives another state than was saved. */
static int load_with_a_slip(void *context, void *state, const void *snapshot)
{
	load(context, state, snapshot);
	((struct state *)state)->x[1] += 1e-9;
	return 0;
}

static void an_audit_tells_snapshots_from_steps(void)
{
	struct reel_run_options options = {.flags = REEL_RUN_AUDIT};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 10, 2);
	reel_run *checkpoint;
	reel_model model = saved;
	struct run run = no_failure;
	struct state bar;

	tap_case("an audit of a load() that does not give back what was saved");
	model.load = load_with_a_slip;
	reel_run_open(&checkpoint, plan, &model, &options);
	is_int(sweep_both(checkpoint, &run, &bar), -EILSEQ, "ends there");
	ok(strstr(reel_error_text(0), "snapshot"), "and says so: %s", reel_error_text(0));
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* A snapshot with two places for a state, one of which is in use. */
struct places {
	int64_t used;
	struct state extent[2];
};

static int save_in_place(void *context, const void *state, void *snapshot)
{
	const struct state *now = state;
	struct places *places = snapshot;

	(void)context;
	places->used = now->x[0] > 0;
	places->extent[places->used] = *now;
	return 0;
}

static int load_from_place(void *context, void *state, const void *snapshot)
{
	const struct places *places = snapshot;

	(void)context;
	memcpy(state, &places->extent[places->used], sizeof places->extent[0]);
	return 0;
}

static void an_audit_sees_what_is_saved_only(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct places), .advance = advance,
					 .record = record, .reverse = reverse,
					 .save = save_in_place, .load = load_from_place};
	struct reel_run_options options = {.flags = REEL_RUN_AUDIT};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 40, 4);
	reel_run *checkpoint = open_checkpoint(plan, &model, &options);
	struct run run = no_failure;
	struct state bar;

	tap_case("an audit of a save() that leaves some of a snapshot as it is");
	is_int(sweep_both(checkpoint, &run, &bar), 0, "finds nothing: %s", reel_error_text(0));
	ok(is_right(&bar, &run, 40), "the gradient is right");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

static void an_audit_says_that_a_save_failed(void)
{
	struct reel_run_options options = {.flags = REEL_RUN_AUDIT};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 10, 2);
	struct run run = no_failure;
	reel_run *checkpoint;
	reel_model model = saved;
	struct state bar;

	tap_case("an audit of a save() that fails");
	model.save = save_at_the_second_attempt;
	run.reversed = 1;
	checkpoint = open_checkpoint(plan, &model, &options);
	is_int(sweep_both(checkpoint, &run, &bar), -ENOMEM, "ends there");
	ok(strstr(reel_error_text(0), "save of state 0 "), "and says so: %s", reel_error_text(0));
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* ---- Loops in loops ---- */

REEL_RECORD(state, struct state);

struct outer {
	struct run inner;
	reel_plan *plan;
};

enum { INNER_STEPS = 12 };

static int advance_outer(void *context, void *state, int64_t first, int64_t last)
{
	struct outer *outer = context;

	for (int64_t step = first; step < last; step++)
		for (int64_t i = 0; i < INNER_STEPS; i++)
			primal_step(&outer->inner, state, i);
	return 0;
}

static int record_outer(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	for (int64_t step = first; step < last; step++) {
		reel_push_record(tape, state, *(struct state *)state);
		advance_outer(context, state, step, step + 1);
	}
	return 0;
}

/* The adjoint of a step of the outer loop is another run. */
static int reverse_outer(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct outer *outer = context;
	int error = 0;

	for (int64_t step = last; step-- > first && !error;) {
		struct state state = reel_pop_record(tape, state);
		reel_run *checkpoint;

		error = reel_run_open(&checkpoint, outer->plan, &copied, NULL);
		if (error)
			return error;
		error = reel_run_forward(checkpoint, &outer->inner, &state);
		if (!error)
			error = reel_run_reverse(checkpoint, &outer->inner, &state, adjoint);
		reel_run_close(checkpoint);
	}
	return error;
}

/* Steps depend on their number, which begins at 0 in each inner loop. */
static struct state nested_gradient_by_one_tape(void)
{
	struct run run = no_failure;
	struct state state = start, bar = seed;
	reel_tape tape = {0};

	for (int i = 0; i < 9; i++)
		record(&run, &state, 0, INNER_STEPS, &tape);
	for (int i = 0; i < 9; i++)
		reverse(&run, &bar, 0, INNER_STEPS, &tape);
	reel_tape_close(&tape);
	return bar;
}

static void a_loop_in_a_loop(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct state),
					 .advance = advance_outer, .record = record_outer,
					 .reverse = reverse_outer};
	struct outer outer = {no_failure, plan_for(REEL_BINOMIAL, INNER_STEPS, 2)};
	reel_plan *plan = plan_for(REEL_BINOMIAL, 9, 3);
	struct state state = start, bar = seed, right = nested_gradient_by_one_tape();
	reel_run *checkpoint;

	tap_case("a loop in a loop");
	reel_run_open(&checkpoint, plan, &model, NULL);
	is_int(reel_run_forward(checkpoint, &outer, &state) +
		       reel_run_reverse(checkpoint, &outer, &state, &bar),
	       0, "runs");
	ok(!memcmp(&bar, &right, sizeof bar), "and gives the gradient");
	reel_run_close(checkpoint);
	reel_plan_close(outer.plan);
	reel_plan_close(plan);
}

/* ---- Snapshots larger than a piece ---- */

enum { FIELD = 700001 };

struct field {
	double x[FIELD];
};

static int advance_field(void *context, void *state, int64_t first, int64_t last)
{
	struct field *field = state;

	(void)context;
	for (int64_t step = first; step < last; step++)
		for (int i = 0; i < FIELD; i++)
			field->x[i] = 0.9 * field->x[i] * (1 + 1e-3 * field->x[i]);
	return 0;
}

static int record_field(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct field *field = state;

	for (int64_t step = first; step < last; step++) {
		memcpy(reel_push_span(tape, double, FIELD), field->x, sizeof field->x);
		advance_field(context, state, step, step + 1);
	}
	return 0;
}

static int reverse_field(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct field *bar = adjoint;

	(void)context;
	for (int64_t step = last; step-- > first;) {
		const double *x = reel_pop_span(tape, double, FIELD);

		for (int i = 0; i < FIELD; i++)
			bar->x[i] *= 0.9 + 2 * 0.9e-3 * x[i];
	}
	return 0;
}

static void begin_field(struct field *field)
{
	for (int i = 0; i < FIELD; i++)
		field->x[i] = 1.0 + i % 101;
}

static void a_large_state_is_put_in_pieces(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct field),
					 .advance = advance_field, .record = record_field,
					 .reverse = reverse_field};
	struct field *state = malloc(sizeof *state), *bar = malloc(sizeof *bar);
	struct field *right = malloc(sizeof *right);
	reel_plan *plan = plan_for(REEL_BINOMIAL, 6, 2);
	struct reel_run_options options = {0};
	reel_run *checkpoint;
	reel_tape tape = {0};

	tap_case("a snapshot of several pieces");
	if (!HAVE_LZ4)
		tap_note("without LZ4 they are not compressed");
	begin_field(state);
	begin_field(right);
	record_field(NULL, state, 0, 6, &tape);
	reverse_field(NULL, right, 0, 6, &tape);
	reel_tape_close(&tape);
	is_int(reel_store_open(&options.store[0], HAVE_LZ4 ? "lz4,memory=64M" : "memory=64M", NULL), 0,
	       "a store");
	is_int(reel_run_open(&checkpoint, plan, &model, &options), 0, "has a run");
	begin_field(state);
	begin_field(bar);
	is_int(reel_run_forward(checkpoint, NULL, state) +
		       reel_run_reverse(checkpoint, NULL, state, bar),
	       0, "runs");
	ok(!memcmp(bar, right, sizeof *bar), "and gives the gradient");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
	free(state);
	free(bar);
	free(right);
}

/* ---- Errors ---- */

static void refuses(const reel_plan *plan, const reel_model *model, struct reel_run_options options,
		    const char *why)
{
	reel_run *checkpoint;

	is_int(reel_run_open(&checkpoint, plan, model, &options), -EINVAL, "is refused");
	ok(strstr(reel_error_text(-EINVAL), why), "%s: %s", why, reel_error_text(-EINVAL));
}

/* These sizes wrap if they are rounded up. Most programs get them from negative numbers. */
static void sizes_that_wrap_are_refused(const reel_plan *plan)
{
	struct reel_run_options options = {0};
	reel_model model = copied;
	reel_run *checkpoint = NULL;
	unsigned wrong = 0;

	for (size_t k = 0; k <= 8192; k++) {
		model.state_bytes = SIZE_MAX - k;
		options.adjoint_bytes = 0;
		wrong += reel_run_open(&checkpoint, plan, &model, &options) != -EOVERFLOW;
		model.state_bytes = sizeof(double);
		options.adjoint_bytes = SIZE_MAX - k;
		wrong += reel_run_open(&checkpoint, plan, &model, &options) != -EOVERFLOW;
	}
	is_int(wrong, 0, "states and adjoints from SIZE_MAX - 8192 bytes on are refused");
	is_pointer(checkpoint, NULL, "nothing was opened");
}

static size_t no_bytes(void *context, const void *adjoint)
{
	(void)context;
	(void)adjoint;
	return 0;
}

static void what_is_refused(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 10, 3);
	reel_plan *none = plan_for(REEL_BINOMIAL, 0, 3), *two = plan_for(REEL_MULTISTAGE, 10, 3);
	reel_plan *unknown = plan_for(REEL_ONLINE, REEL_UNKNOWN_STEPS, 3);
	reel_model half = copied, mute = copied;
	reel_store *store;
	reel_plan *wrong;
	static const reel_action actions[] = {{.kind = REEL_ACTION_RECORD, .first = 0, .last = 5}};
	struct reel_problem problem = {.steps = 10, .tiers = 1, .tier = {{1, 0, 0}}};

	tap_case("a run");
	half.save = save;
	mute.record = NULL;
	refuses(NULL, &copied, (struct reel_run_options){0}, "plan");
	refuses(plan, NULL, (struct reel_run_options){0}, "model");
	refuses(plan, &half, (struct reel_run_options){0}, "save()");
	refuses(plan, &mute, (struct reel_run_options){0}, "record()");
	mute = copied;
	mute.advance = NULL;
	refuses(plan, &mute, (struct reel_run_options){0}, "advance()");
	mute = copied;
	mute.reverse = NULL;
	refuses(plan, &mute, (struct reel_run_options){0}, "reverse()");
	sizes_that_wrap_are_refused(plan);
	refuses(plan, &copied, (struct reel_run_options){.flags = 64}, "flags");
	refuses(plan, &copied, (struct reel_run_options){.puts = 65}, "puts");
	refuses(plan, &copied, (struct reel_run_options){.gets = 65}, "gets");
	refuses(plan, &copied, (struct reel_run_options){.restart = "file"}, "adjoint_bytes");
	refuses(plan, &copied, (struct reel_run_options){.save_adjoint = save}, "load_adjoint()");
	refuses(plan, &copied, (struct reel_run_options){.packed_bytes = no_bytes},
		"packed_bytes()");
	refuses(plan, &copied,
		(struct reel_run_options){.loss = &(struct reel_loss){.reserved = {1}}},
		"reserved");
	refuses(plan, &copied, (struct reel_run_options){.segment_steps = -1}, "segment_steps");
	refuses(plan, &copied, (struct reel_run_options){.segment_steps = REEL_MAX_STEPS + 1},
		"segment_steps");
	refuses(plan, &copied, (struct reel_run_options){.segment_steps = REEL_MAX_STEPS / 10 + 1},
		"times the plan's steps");
	refuses(plan, &copied, (struct reel_run_options){.segment_steps = 4, .steps = 41},
		"last segment");
	refuses(unknown, &copied, (struct reel_run_options){.steps = 10}, "steps must be 0");
	refuses(plan, &copied, (struct reel_run_options){.segment_steps = 4, .steps = 36},
		"last segment");
	refuses(plan, &copied, (struct reel_run_options){.finished = ends_at_37}, "finished()");
	reel_store_memory_open(&store, 4096);
	refuses(plan, &copied, (struct reel_run_options){.store = {NULL, store}}, "tier");
	refuses(two, &copied, (struct reel_run_options){.store = {store, store}}, "one store");
	reel_store_close(store);
	refuses(none, &copied, (struct reel_run_options){.segment_steps = 5, .steps = -3}, "steps");
	reel_plan_open_actions(&wrong, &problem, actions, COUNT(actions));
	refuses(wrong, &copied, (struct reel_run_options){0}, "reel_plan_check()");
	reel_plan_close(wrong);
	reel_plan_close(unknown);
	reel_plan_close(none);
	reel_plan_close(two);
	reel_plan_close(plan);
}

int main(void)
{
	tap_begin();
	every_plan_gives_the_gradient();
	no_steps_are_none();
	it_does_what_the_plan_says();
	an_end_is_found_on_the_way(REEL_ONLINE, 1);
	an_end_is_found_on_the_way(REEL_ONLINE, 5);
	an_end_is_found_on_the_way(REEL_PERIODIC, 1);
	a_plan_goes_beyond_all_steps();
	the_forward_sweep_ends_in_the_last_state();
	uneven_steps();
	a_callback_stops_a_run();
	callbacks_may_be_left();
	callbacks_fail();
	messages_name_the_steps();
	a_sweep_out_of_order_says_so();
	what_reverse_does_not_pop_is_seen();
	a_save_that_fails_leaves_nothing();
	a_store_that_loses_a_put();
	a_put_that_fails_costs_memory_only();
	faults_of_the_store();
	codes_of_stores_are_not_those_of_runs();
	memory_runs_out();
	buffers_stay_within_the_budget();
	slow_reads_hold_no_memory_back();
	a_load_that_was_taken_is_not_read_ahead();
	loads_are_announced_when_their_states_are_stored();
	an_audit_names_the_step();
	an_audit_names_the_segment();
	an_audit_tells_snapshots_from_steps();
	an_audit_sees_what_is_saved_only();
	an_audit_says_that_a_save_failed();
	a_loop_in_a_loop();
	a_large_state_is_put_in_pieces();
	what_is_refused();
	return tap_end();
}
