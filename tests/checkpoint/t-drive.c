/* SPDX-License-Identifier: MIT */
/*
 * Tests driven runs: the program asks for the next action and carries it out itself. The gradient
 * is bitwise equal to the gradient of a model with callbacks, with equal counts.
 */
#include <config.h>

#include <sys/wait.h>

#include "helpers/recurrence.h"

enum { STEPS = 37, SLOTS = 4 };

#define PATH "driven"

/* A program with its own time loop. The state and the adjoint are two arrays each. */
struct loop {
	struct run counts;
	double first[2], rest[LENGTH - 2];
	double first_bar[2], rest_bar[LENGTH - 2];
	int64_t ends_at;       /* end of a loop whose plan does not know it */
	int64_t wanders_at;    /* step that computes another state when it is run again; -1: none */
	bool has_wandered;
	int64_t stops_before;  /* number of pieces until it calls reel_run_stop(); -1: never */
	int stops_with;
	int64_t pieces;
	int64_t longest;       /* maximum number of steps of an ADVANCE */
};

static const struct loop at_rest = {
	.counts = {.failing_advance = -1, .failing_record = -1, .failing_reverse = -1,
		   .coupling = 0.25},
	.ends_at = -1, .wanders_at = -1, .stops_before = -1};

static struct state gather(const double *first, const double *rest)
{
	struct state state;

	memcpy(state.x, first, 2 * sizeof *first);
	memcpy(state.x + 2, rest, (LENGTH - 2) * sizeof *rest);
	return state;
}

static void scatter(const struct state *state, double *first, double *rest)
{
	memcpy(first, state->x, 2 * sizeof *first);
	memcpy(rest, state->x + 2, (LENGTH - 2) * sizeof *rest);
}

static void begin(struct loop *loop)
{
	*loop = at_rest;
	scatter(&start, loop->first, loop->rest);
	scatter(&seed, loop->first_bar, loop->rest_bar);
}

/* Opens a run with the state and adjoint of the loop, in parts, one of which is empty. */
static reel_run *open_driven(const reel_plan *plan, struct loop *loop,
			     struct reel_run_options options)
{
	struct reel_part state[] = {{loop->first, sizeof loop->first}, {NULL, 0},
				    {loop->rest, sizeof loop->rest}};
	struct reel_part adjoint[] = {{loop->first_bar, sizeof loop->first_bar},
				      {loop->rest_bar, sizeof loop->rest_bar}};

	options.state_part = state;
	options.state_parts = COUNT(state);
	options.adjoint_part = adjoint;
	options.adjoint_parts = COUNT(adjoint);
	return open_checkpoint(plan, NULL, &options);
}

/* A program that has the addresses of its state only when it copies it. */
static int save_loop(void *context, const void *state, void *snapshot)
{
	const struct loop *loop = context;

	(void)state;
	memcpy(snapshot, loop->first, sizeof loop->first);
	memcpy((char *)snapshot + sizeof loop->first, loop->rest, sizeof loop->rest);
	return 0;
}

static int load_loop(void *context, void *state, const void *snapshot)
{
	struct loop *loop = context;

	(void)state;
	memcpy(loop->first, snapshot, sizeof loop->first);
	memcpy(loop->rest, (const char *)snapshot + sizeof loop->first, sizeof loop->rest);
	return 0;
}

static const reel_model of_copies = {sizeof(struct state), NULL, NULL, NULL, save_loop, load_loop};
static const struct reel_run_options with_copies = {.flags = REEL_RUN_COPIES};

/* Carries one piece out in the program's own loop, without callbacks. */
static void carry_out(struct loop *loop, const reel_action *action, reel_tape *tape)
{
	struct state state = gather(loop->first, loop->rest);
	struct state bar = gather(loop->first_bar, loop->rest_bar);

	if (action->kind == REEL_ACTION_ADVANCE) {
		advance(&loop->counts, &state, action->first, action->last);
		if (action->last - action->first > loop->longest)
			loop->longest = action->last - action->first;
	} else if (action->kind == REEL_ACTION_RECORD) {
		record(&loop->counts, &state, action->first, action->last, tape);
	} else {
		reverse(&loop->counts, &bar, action->first, action->last, tape);
	}
	if (loop->wanders_at >= action->first && loop->wanders_at < action->last &&
	    action->kind != REEL_ACTION_REVERSE) {
		if (loop->has_wandered)
			state.x[0] += 1e-12;
		loop->has_wandered = true;
	}
	scatter(&state, loop->first, loop->rest);
	scatter(&bar, loop->first_bar, loop->rest_bar);
}

/* Drives the run to its end, or for `most` pieces. Returns the result of the last call. */
static int drive(reel_run *run, struct loop *loop, int64_t most)
{
	reel_action action = {.kind = REEL_ACTION_DONE};
	bool begins = true;

	for (int64_t piece = 0; piece < most; piece++) {
		int error;

		if (loop->ends_at == 0 && begins)
			reel_run_end_loop(run);
		begins = false;
		error = reel_run_next(run, &action);
		if (error || action.kind == REEL_ACTION_DONE)
			return error;
		loop->pieces++;
		if (action.kind == REEL_ACTION_STORE || action.kind == REEL_ACTION_LOAD)
			reel_run_copy(run, loop);
		else
			carry_out(loop, &action, reel_run_tape(run));
		if (action.kind < REEL_ACTION_REVERSE && action.last == loop->ends_at &&
		    reel_run_steps(run) == REEL_UNKNOWN_STEPS)
			reel_run_end_loop(run);
		if (loop->stops_before-- == 0)
			reel_run_stop(run, loop->stops_with);
	}
	return 0;
}

static bool is_right(const struct loop *loop, int64_t steps)
{
	struct state bar = gather(loop->first_bar, loop->rest_bar);

	return is_gradient(&bar, steps);
}

static bool counts_are_equal(const struct reel_run_stats *a, const struct reel_run_stats *b)
{
	return a->advanced == b->advanced && a->recorded == b->recorded &&
	       a->reversed == b->reversed && !memcmp(a->stores, b->stores, sizeof a->stores) &&
	       !memcmp(a->loads, b->loads, sizeof a->loads) &&
	       a->peak_snapshot_bytes == b->peak_snapshot_bytes &&
	       a->peak_tape_bytes == b->peak_tape_bytes;
}

static bool ends_at_37(void *context, const void *state, int64_t step)
{
	(void)context;
	(void)state;
	return step == STEPS;
}

static void by_callbacks(const reel_plan *plan, bool unknown, struct reel_run_stats *stats)
{
	struct reel_run_options options = {.finished = unknown ? ends_at_37 : NULL};
	reel_run *run = open_checkpoint(plan, &copied, &options);
	struct run counts = no_failure;
	struct state state = start, bar = seed;

	reel_run_forward(run, &counts, &state);
	reel_run_reverse(run, &counts, &state, &bar);
	reel_run_get_stats(run, stats);
	reel_run_close(run);
}

/* The run copies the state of the loop itself, or by callbacks if `copies` is set. */
static void both_ways_are_one(const reel_plan *plan, const char *name, bool unknown, bool copies)
{
	struct reel_run_stats wanted, stats;
	struct loop loop;
	reel_run *run;
	int error;

	begin(&loop);
	loop.ends_at = unknown ? STEPS : -1;
	by_callbacks(plan, unknown, &wanted);
	run = copies ? open_checkpoint(plan, &of_copies, &with_copies)
		     : open_driven(plan, &loop, (struct reel_run_options){0});
	error = reel_run_start(run, NULL, NULL, NULL);
	is_int(error ? error : drive(run, &loop, INT64_MAX), 0, "%s: comes to its end", name);
	ok(is_right(&loop, STEPS), "%s: with the bits of one tape", name);
	reel_run_get_stats(run, &stats);
	ok(counts_are_equal(&stats, &wanted), "%s: with the counts of the callbacks", name);
	ok(stats.advance_ns + stats.record_ns > 0 && stats.reverse_ns > 0,
	   "%s: actions take time", name);
	begin(&loop);
	loop.ends_at = unknown ? STEPS : -1;
	error = reel_run_start(run, NULL, NULL, NULL);
	ok(!error && !drive(run, &loop, INT64_MAX) && is_right(&loop, STEPS),
	   "%s: and once more", name);
	reel_run_close(run);
}

static void all_planners(void)
{
	tap_case("a run that is driven");
	for (enum reel_planner planner = 0; planner < REEL_PLANNERS; planner++) {
		bool unknown = planner == REEL_ONLINE;
		reel_plan *plan = plan_for(planner, unknown ? REEL_UNKNOWN_STEPS : STEPS, SLOTS);

		both_ways_are_one(plan, reel_planner_name(planner), unknown, false);
		both_ways_are_one(plan, reel_planner_name(planner), unknown, true);
		reel_plan_close(plan);
	}
}

static void unknown_ends(void)
{
	reel_plan *plan = plan_for(REEL_ONLINE, REEL_UNKNOWN_STEPS, SLOTS);
	unsigned wrong = 0;
	struct loop loop;
	reel_run *run;

	tap_case("a loop that ends where the program says");
	run = open_driven(plan, &loop, (struct reel_run_options){0});
	for (int64_t steps = 0; steps < 60; steps++) {
		begin(&loop);
		loop.ends_at = steps;
		wrong += reel_run_start(run, NULL, NULL, NULL) || drive(run, &loop, INT64_MAX) ||
			 !is_right(&loop, steps) || reel_run_steps(run) != steps;
	}
	is_int(wrong, 0, "at each of 60 ends the gradient is right");
	is_int(reel_run_end_loop(run), -EINVAL, "after the sweeps there is no loop to end");
	reel_run_close(run);
	reel_plan_close(plan);
}

static void a_run_with_callbacks_is_driven_to_an_unknown_end(void)
{
	enum { END = 25 };
	reel_plan *plan = plan_for(REEL_ONLINE, REEL_UNKNOWN_STEPS, SLOTS);
	reel_run *run = open_checkpoint(plan, &copied, NULL);
	struct run counts = no_failure;
	struct state state = start, bar = seed;
	unsigned again = 0;
	reel_action action;

	tap_case("a run with callbacks, of a loop whose end is unknown");
	is_int(reel_run_forward(run, &counts, &state), -EINVAL, "has no forward sweep by callbacks");
	ok(strstr(reel_error_text(-EINVAL), "finished()"), "and says: %s", reel_error_text(-EINVAL));
	is_int(reel_run_start(run, &counts, &state, NULL), 0, "is driven");
	while (!reel_run_next(run, &action) && action.kind != REEL_ACTION_DONE) {
		if (action.kind == REEL_ACTION_ADVANCE)
			advance(&counts, &state, action.first, action.last);
		else if (action.kind == REEL_ACTION_RECORD)
			record(&counts, &state, action.first, action.last, reel_run_tape(run));
		else
			reverse(&counts, &bar, action.first, action.last, reel_run_tape(run));
		if (action.last == END && reel_run_steps(run) == REEL_UNKNOWN_STEPS) {
			is_int(reel_run_end_loop(run), 0, "ends where the program says");
			again += reel_run_end_loop(run) == -EINVAL;
		}
	}
	is_int(again, 1, "ends once: the second time is refused");
	ok(is_gradient(&bar, END), "has the right gradient");
	reel_run_close(run);
	reel_plan_close(plan);
}

static void the_audit(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, STEPS, SLOTS);
	struct reel_run_stats stats;
	struct loop loop;
	reel_run *run;

	tap_case("a step that does not replay");
	run = open_driven(plan, &loop, (struct reel_run_options){.flags = REEL_RUN_AUDIT});
	begin(&loop);
	loop.wanders_at = 11;
	reel_run_start(run, NULL, NULL, NULL);
	is_int(drive(run, &loop, INT64_MAX), -EILSEQ, "ends the sweep");
	reel_run_get_stats(run, &stats);
	is_int(stats.unlike_step, 11, "and is named");
	is_int(loop.longest, 1, "since steps are advanced one by one");
	begin(&loop);
	reel_run_start(run, NULL, NULL, NULL);
	ok(!drive(run, &loop, INT64_MAX) && is_right(&loop, STEPS), "a loop that replays passes");
	reel_run_close(run);
	reel_plan_close(plan);
}

static void stopping(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, STEPS, SLOTS);
	unsigned wrong = 0;
	reel_action action;
	struct loop loop;
	reel_run *run;
	int64_t pieces;

	tap_case("a sweep that the program stops");
	run = open_driven(plan, &loop, (struct reel_run_options){0});
	begin(&loop);
	reel_run_start(run, NULL, NULL, NULL);
	drive(run, &loop, INT64_MAX);
	pieces = loop.pieces;
	for (int64_t piece = 0; piece < pieces; piece++) {
		begin(&loop);
		loop.stops_before = piece;
		loop.stops_with = piece % 2 ? 7 : -EDOM;
		reel_run_start(run, NULL, NULL, NULL);
		wrong += drive(run, &loop, INT64_MAX) != loop.stops_with;
		wrong += loop.pieces != piece + 1 || reel_run_next(run, &action) != -EINVAL;
	}
	is_int(wrong, 0, "after each of %lld actions returns what the program says",
	       (long long)pieces);
	begin(&loop);
	reel_run_start(run, NULL, NULL, NULL);
	reel_run_stop(run, -EDOM);
	is_int(reel_run_next(run, &action), -EDOM, "may stop before the first action");
	begin(&loop);
	reel_run_start(run, NULL, NULL, NULL);
	ok(!drive(run, &loop, INT64_MAX) && is_right(&loop, STEPS), "the next one is as ever");
	reel_run_close(run);
	reel_plan_close(plan);
}

/* Leaves one value of the first step, which is reversed last, on the tape. */
static void the_tape_is_looked_at(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, STEPS, SLOTS);
	reel_action action;
	struct loop loop;
	reel_run *run;
	int error = 0;

	tap_case("the tape of a run that is driven");
	run = open_driven(plan, &loop, (struct reel_run_options){0});
	begin(&loop);
	reel_run_start(run, NULL, NULL, NULL);
	while (!error && !(error = reel_run_next(run, &action)) &&
	       action.kind != REEL_ACTION_DONE) {
		carry_out(&loop, &action, reel_run_tape(run));
		if (action.kind == REEL_ACTION_RECORD && action.first == 0)
			reel_push(reel_run_tape(run), 1.0);
	}
	is_int(error, -EBADMSG, "is empty when a step was reversed, or else it is an error");
	reel_run_close(run);
	reel_plan_close(plan);
}

static void what_is_refused(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, STEPS, SLOTS);
	struct reel_part part = {NULL, SIZE_MAX / 2};
	struct reel_part parts[] = {part, part, part};
	struct run counts = no_failure;
	struct state state = start, bar = seed;
	reel_action action;
	struct loop loop;
	reel_run *run;

	tap_case("what a run that is driven refuses");
	run = open_driven(plan, &loop, (struct reel_run_options){0});
	is_int(reel_run_next(run, &action), -EINVAL, "an action before it was started");
	is_int(reel_run_forward(run, &counts, &state), -EINVAL, "a forward sweep by callbacks");
	ok(strstr(reel_error_text(-EINVAL), "reel_run_start()"), "and says: %s",
	   reel_error_text(-EINVAL));
	is_int(reel_run_reverse(run, &counts, &state, &bar), -EINVAL, "a reverse sweep by callbacks");
	begin(&loop);
	reel_run_start(run, NULL, NULL, NULL);
	is_int(reel_run_end_loop(run), -EINVAL, "another end than the plan's");
	while (!reel_run_is_reversing(run) && !reel_run_next(run, &action))
		if (action.kind != REEL_ACTION_REVERSE)
			carry_out(&loop, &action, reel_run_tape(run));
	is_int(reel_run_take(run, &action), -EINVAL, "to be carried out in pieces");
	ok(strstr(reel_error_text(-EINVAL), "reel_run_next()"), "and says: %s",
	   reel_error_text(-EINVAL));
	reel_run_close(run);
	run = open_checkpoint(plan, &(reel_model){.state_bytes = 8},
			      &(struct reel_run_options){.restart = PATH, .adjoint_bytes = 8});
	is_int(reel_run_start(run, NULL, &state, NULL), -EINVAL, "no adjoint for a restart file");
	ok(strstr(reel_error_text(-EINVAL), "adjoint"), "the reason is: %s",
	   reel_error_text(-EINVAL));
	action = (reel_action){.kind = REEL_ACTION_ADVANCE, .last = 1};
	is_int(reel_run_carry_out(run, &action, NULL, &state, NULL, NULL), -EINVAL,
	       "an action to carry out without callbacks");
	reel_run_close(run);
	is_int(reel_run_open(&run, plan, &(reel_model){0}, NULL), -EINVAL, "no state at all");
	is_int(reel_run_open(&run, plan, NULL, &(struct reel_run_options){.state_part = parts,
			     .state_parts = 3}), -EOVERFLOW, "more parts than can be addressed");
	is_int(reel_run_open(&run, plan, NULL, &(struct reel_run_options){.state_parts = 1}),
	       -EINVAL, "parts without a list");
	is_int(reel_run_open(&run, plan, &copied, &(struct reel_run_options){.state_part = &part,
			     .state_parts = 1}), -EINVAL, "parts beside callbacks");
	part.bytes = 8;
	is_int(reel_run_open(&run, plan, &(reel_model){.state_bytes = 9},
			     &(struct reel_run_options){.state_part = &part, .state_parts = 1}),
	       -EINVAL, "parts of another size than the state");
	reel_plan_close(plan);
}

static int refuse_to_load(void *context, void *state, const void *snapshot)
{
	(void)context;
	(void)state;
	(void)snapshot;
	return -EIO;
}

/* Drives the run to the next action of this kind. */
static bool go_to(reel_run *run, struct loop *loop, enum reel_action_kind kind)
{
	reel_action action;

	while (!reel_run_next(run, &action) && action.kind != REEL_ACTION_DONE) {
		if (action.kind == kind)
			return true;
		if (action.kind == REEL_ACTION_STORE)
			reel_run_copy(run, loop);
		else
			carry_out(loop, &action, reel_run_tape(run));
	}
	return false;
}

static void copies(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, STEPS, SLOTS);
	reel_model failing = of_copies;
	reel_action action;
	struct loop loop;
	reel_run *run;

	tap_case("states that the program copies");
	begin(&loop);
	run = open_checkpoint(plan, &of_copies, &with_copies);
	reel_run_start(run, NULL, NULL, NULL);
	is_int(reel_run_copy(run, &loop), -EINVAL, "before an action there is nothing to copy");
	ok(go_to(run, &loop, REEL_ACTION_STORE), "a STORE");
	is_int(reel_run_copy(run, &loop), 0, "is carried out");
	is_int(reel_run_copy(run, &loop), -EINVAL, "once");
	ok(go_to(run, &loop, REEL_ACTION_STORE), "the next one");
	is_int(reel_run_next(run, &action), -EINVAL, "that is not carried out ends the sweep");
	ok(strstr(reel_error_text(-EINVAL), "reel_run_copy()"), "and says: %s",
	   reel_error_text(-EINVAL));
	reel_run_close(run);

	failing.load = refuse_to_load;
	run = open_checkpoint(plan, &failing, &with_copies);
	begin(&loop);
	reel_run_start(run, NULL, NULL, NULL);
	ok(go_to(run, &loop, REEL_ACTION_LOAD), "a LOAD");
	is_int(reel_run_copy(run, &loop), -EIO, "that fails");
	is_int(reel_run_next(run, &action), -EIO, "ends the sweeps");
	is_int(action.kind, REEL_ACTION_DONE, "with nothing to do");
	begin(&loop);
	ok(!reel_run_start(run, NULL, NULL, NULL) && go_to(run, &loop, REEL_ACTION_LOAD),
	   "it begins anew");
	reel_run_stop(run, 5);
	is_int(reel_run_next(run, &action), 5, "and may be stopped at a LOAD");
	reel_run_close(run);
	is_int(reel_run_open(&run, plan, &copied, &with_copies), -EINVAL, "not with callbacks");
	is_int(reel_run_open(&run, plan, &of_copies,
			     &(struct reel_run_options){.flags = REEL_RUN_COPIES | REEL_RUN_AUDIT}),
	       -EINVAL, "nor with the audit");
	reel_plan_close(plan);
}

static void times(void)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 1, SLOTS);
	struct reel_run_stats stats;
	reel_action action;
	struct loop loop;
	reel_run *run;

	tap_case("a time that the program has measured");
	run = open_driven(plan, &loop, (struct reel_run_options){0});
	begin(&loop);
	reel_run_start(run, NULL, NULL, NULL);
	reel_run_next(run, &action);
	carry_out(&loop, &action, reel_run_tape(run));
	reel_run_set_time(run, 123456789012);
	reel_run_next(run, &action);
	reel_run_get_stats(run, &stats);
	is_int(stats.record_ns, 123456789012, "takes the place of the clock's");
	is_int(stats.advance_ns, 0, "of no other kind of action");
	reel_run_close(run);
	reel_plan_close(plan);
}

/* A process that is asked to end after `pieces` pieces leaves a restart file. */
static int begins_and_is_ended(const reel_plan *plan, int64_t ends_at, int64_t pieces)
{
	struct reel_run_options options = {.restart = PATH};
	struct loop loop;
	reel_run *run = open_driven(plan, &loop, options);
	int error;

	begin(&loop);
	loop.ends_at = ends_at;
	error = reel_run_start(run, NULL, NULL, NULL);
	if (!error)
		error = drive(run, &loop, pieces);
	reel_save_now(1);
	if (!error && loop.pieces == pieces)
		error = drive(run, &loop, INT64_MAX);
	return error == -EINTR ? 0 : error ? 1 : 2;
}

static bool goes_on(const reel_plan *plan, int64_t ends_at, bool *was_reversing)
{
	struct reel_run_options options = {.restart = PATH};
	struct loop loop;
	reel_run *run = open_driven(plan, &loop, options);
	bool right;

	begin(&loop);
	loop.ends_at = ends_at;
	right = !reel_run_resume(run, NULL, NULL);
	*was_reversing = reel_run_is_reversing(run);
	right = right && !reel_run_start(run, NULL, NULL, NULL) &&
		!drive(run, &loop, INT64_MAX) && is_right(&loop, STEPS);
	reel_run_close(run);
	return right && access(PATH, F_OK);
}

static void restarts(enum reel_planner planner, bool unknown)
{
	reel_plan *plan = plan_for(planner, unknown ? REEL_UNKNOWN_STEPS : STEPS, SLOTS);
	int64_t ends_at = unknown ? STEPS : -1;
	unsigned ended = 0, resumed = 0, forward = 0, wrong = 0;

	tap_case("a program that is ended and goes on");
	for (int64_t pieces = 0; pieces < 60; pieces += 3) {
		pid_t child = fork_with_timeout();
		bool was_reversing = false;
		int status;

		if (child == 0)
			_exit(begins_and_is_ended(plan, ends_at, pieces));
		wrong += waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
			 WEXITSTATUS(status) == 1;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			continue;
		ended++;
		resumed += goes_on(plan, ends_at, &was_reversing);
		forward += !was_reversing;
	}
	is_int(wrong, 0, "%s: ends with -EINTR, or comes to its end", reel_planner_name(planner));
	is_int(resumed, ended, "%s: goes on to the same bits", reel_planner_name(planner));
	ok(forward > 0 && forward < ended, "%s: in the forward and in the reverse sweep",
	   reel_planner_name(planner));
	reel_plan_close(plan);
}

/* reel_run_next() calls save(), which leaves it. */
static void a_callback_that_is_left(void)
{
	reel_model model = {.state_bytes = sizeof(struct state), .save = leaving_save,
			    .load = leaving_load};
	reel_plan *plan = plan_for(REEL_BINOMIAL, STEPS, SLOTS);
	reel_run *run = open_checkpoint(plan, &model, NULL);
	struct run counts = no_failure;
	struct state state = start, bar = seed;
	reel_action action;

	tap_case("a save that is left");
	places_to_pass = 0;
	reel_run_start(run, &counts, &state, &bar);
	if (!setjmp(out_of_the_callback)) {
		reel_run_next(run, &action);
		ok(false, "is left");
	}
	is_int(reel_run_next(run, &action), -EINVAL, "ends the sweep");
	places_to_pass = INT64_MAX;
	is_int(reel_run_start(run, &counts, &state, &bar), 0, "another one begins anew");
	is_int(reel_run_next(run, &action), 0, "and has actions");
	reel_run_close(run);
	reel_plan_close(plan);
}

int main(void)
{
	tap_begin();
	all_planners();
	unknown_ends();
	a_run_with_callbacks_is_driven_to_an_unknown_end();
	the_audit();
	stopping();
	the_tape_is_looked_at();
	what_is_refused();
	copies();
	times();
	restarts(REEL_BINOMIAL, false);
	restarts(REEL_HIERARCHICAL, false);
	restarts(REEL_ONLINE, true);
	restarts(REEL_AUTO, true);
	restarts(REEL_AUTO, false);
	a_callback_that_is_left();
	return tap_end();
}
