/* SPDX-License-Identifier: MIT */
/*
 * The sweeps of a run. The thread that owns the run takes actions from the schedule. STORE, LOAD
 * and DROP are carried out here; ADVANCE, RECORD and REVERSE are handed out in pieces
 * (run-action.c), to the callbacks of the model or to the program that calls reel_run_next().
 * reel_run_enter() alone changes the phase. Each error of a piece ends the sweep and is returned. A
 * callback that is left by an exception or by longjmp() also ends it, which the next call sees by
 * `under_way`.
 */
#include "config.h"

#include "sweep.h"

#include <errno.h>

#include "os/clock.h"
#include "os/error.h"
#include "plan/plan.h"
#include "tape/tape.h"
#include "trace/trace.h"
#include "checkpoint/restart/restart.h"
#include "checkpoint/run/run-packer.h"
#include "checkpoint/watch/watch.h"
#include "spill/owner/offload.h"

static void end_sweep(reel_run *run)
{
	reel_run_enter(run, REEL_RUN_IDLE);
	reel_progress_end(run);
}

void reel_run_give_up(reel_run *run)
{
	run->sweep.driven = false;
	end_sweep(run);
}

/* ---- Callbacks that are left ---- */

static void enter_function(reel_run *run)
{
	atomic_fetch_add_explicit(&run->under_way, 1, memory_order_relaxed);
}

static void leave_function(reel_run *run)
{
	unsigned before = atomic_fetch_sub_explicit(&run->under_way, 1, memory_order_relaxed);

	REEL_ASSERT(before > 0);
	(void)before;
}

/*
 * Returns whether a callback was left. `entered` is the number of functions that are under way
 * because the caller runs in them.
 */
static bool was_left(const reel_run *run, unsigned entered)
{
	return atomic_load_explicit(&run->under_way, memory_order_relaxed) > entered;
}

/* Ends a sweep of which a callback was left: its action may be carried out in part. */
static void end_if_left(reel_run *run)
{
	if (was_left(run, 0))
		reel_run_give_up(run);
	atomic_store_explicit(&run->under_way, 0, memory_order_relaxed);
}

/* ---- Actions ---- */

static int no_callbacks(void)
{
	return reel_fail(-EINVAL, "the model has no advance(), record() and reverse(): call "
				  "reel_run_start() and reel_run_next()");
}

int reel_run_carry_out(reel_run *run, const reel_action *action, void *context, void *state,
		       void *adjoint, reel_tape *tape)
{
	int error;

	if (!run->model.advance)
		return no_callbacks();
	enter_function(run);
	error = reel_run_act(run, action, context, state, adjoint, tape);
	leave_function(run);
	return error;
}

static int take_action(reel_run *run, reel_action *action)
{
	int error = reel_learn(run);

	if (error) {
		*action = (reel_action){.kind = REEL_ACTION_DONE};
		return error;
	}
	/* The result -EAGAIN needs no care: `run->steps` also says that the end is unknown. */
	reel_schedule_next(run->schedule, action);
	REEL_ASSERT(action->kind > REEL_ACTION_REVERSE || action->first <= action->last);
	REEL_ASSERT(action->kind != REEL_ACTION_RECORD || run->phase == REEL_RUN_FORWARD ||
		    action->last <= run->schedule->steps);
	REEL_ASSERT(action->kind < REEL_ACTION_STORE || action->kind == REEL_ACTION_DONE ||
		    action->tier < run->snapshots.tiers);
	run->actions++;
	reel_ahead_extend(run);
	return action->kind == REEL_ACTION_RECORD ? reel_learn_start(run, action) : 0;
}

/*
 * The last action of the reverse sweep: before, all others have been carried out, in whatever
 * thread. `entered` as for was_left().
 */
static int complete(reel_run *run, unsigned entered)
{
	int64_t rounded, kept;

	REEL_ASSERT(run->phase == REEL_RUN_REVERSE);
	reel_learn_reverse_end(run);
	end_sweep(run);
	/* Relaxed, both: all threads that stored states have ended their actions. */
	rounded = (int64_t)atomic_load_explicit(&run->rounded_bytes, memory_order_relaxed);
	kept = (int64_t)atomic_load_explicit(&run->kept_bytes, memory_order_relaxed);
	if (rounded)
		REEL_TRACE(ROUND, 0, rounded, kept);
	if (was_left(run, entered))
		return reel_fail(-EINVAL,
				 "a callback of the reverse sweep was left by an exception "
				 "or by longjmp(): call reel_run_forward() first");
	reel_restart_remove(run);
	return 0;
}

/* ---- The beginning of a sweep ---- */

static const struct reel_run_counts nothing;

void reel_run_begin(reel_run *run)
{
	reel_tape_close(&run->tape);
	reel_tape_open(&run->tape, run->options.pool, 0);
	reel_packer_begin(run);
	reel_snapshots_empty(&run->snapshots);
	run->steps = reel_run_steps_at_first(run);
	run->steps_on_tape = 0;
	run->actions = 0;
	reel_run_set_counts(run, &nothing);
	/* Relaxed, all: no other thread carries actions out now. */
	atomic_store_explicit(&run->peak_tape_bytes, 0, memory_order_relaxed);
	for (unsigned kind = 0; kind < REEL_PIECE_KINDS; kind++) {
		atomic_store_explicit(&run->ns[kind], 0, memory_order_relaxed);
		atomic_store_explicit(&run->waited_ns[kind], 0, memory_order_relaxed);
	}
	reel_audit_begin(run);
	reel_restart_begin(run);
	reel_schedule_begin(run->schedule);
	reel_learning_begin(run);
	reel_ahead_begin(run);
	reel_progress_begin(run);
	REEL_ASSERT(run->steps == REEL_UNKNOWN_STEPS ||
		    reel_run_step_of(run, run->schedule->steps) == run->steps);
}

static int begin_forward(reel_run *run, void *context, void *state)
{
	reel_action load = run->stored;

	/* The run was resumed in its forward sweep: the slot of its last STORE has the state. */
	load.kind = REEL_ACTION_LOAD;
	if (run->phase == REEL_RUN_RESUMED) {
		REEL_ASSERT(run->stored.kind == REEL_ACTION_STORE);
		reel_run_enter(run, REEL_RUN_FORWARD);
		reel_progress_go_on(run);
		return reel_run_act(run, &load, context, state, NULL, NULL);
	}
	reel_run_begin(run);
	REEL_ASSERT(!run->actions && !run->steps_on_tape);
	/* A restart file of an earlier sweep would resume a loop with other controls. */
	reel_restart_remove(run);
	reel_run_enter(run, REEL_RUN_FORWARD);
	reel_progress_count(run);
	reel_progress_go_on(run);
	return reel_audit_state(run, context, state, 0, 0);
}

/* ---- Pieces ---- */

/* Returns true if the loop ends in the state that the sweep has reached. */
static bool is_at_end(const reel_run *run)
{
	const struct reel_sweep *sweep = &run->sweep;

	return sweep->ends || (run->options.finished &&
			       run->options.finished(sweep->context, sweep->state, sweep->at));
}

static int meet_end(reel_run *run)
{
	int error = reel_run_meet_end(run, run->sweep.at);

	if (error)
		return error;
	REEL_ASSERT(run->steps == run->sweep.at);
	reel_ahead_begin(run);
	reel_progress_count(run);
	return 0;
}

/*
 * Before a step of a loop whose end is unknown: the processes of the run agree on the error of the
 * step before, so that all of them leave the loop there, and on whether it ends here. Sets *ends if
 * the loop ends here; the schedule then knows the number of steps.
 */
static int look_for_end(reel_run *run, int error, bool *ends)
{
	unsigned requests = !error && is_at_end(run) ? REEL_REQUEST_FINISH : 0;

	REEL_ASSERT(run->steps == REEL_UNKNOWN_STEPS && run->phase == REEL_RUN_FORWARD);
	error = reel_group_agree(&run->group, error, &requests);
	*ends = requests;
	if (error)
		return error;
	if (requests)
		return meet_end(run);
	return run->sweep.at == REEL_MAX_STEPS
		       ? reel_fail(-ERANGE, "the loop has more than 2^40 steps")
		       : 0;
}

/*
 * Returns true if the action is handed out in pieces. A loop of an unknown end is run step by step,
 * and so is an ADVANCE that is audited, so that the audit names the first step that does not
 * replay.
 */
static bool is_cut(const reel_run *run, const reel_action *action)
{
	return action->kind == REEL_ACTION_ADVANCE ||
	       (action->kind == REEL_ACTION_RECORD && run->steps == REEL_UNKNOWN_STEPS);
}

/*
 * Cuts the next piece off an action. If the loop ends before it and its last steps are recorded
 * already, the forward sweep ends as after their RECORD. Returns whether there is a piece.
 */
static bool cut(reel_run *run, reel_action *piece, int *error)
{
	struct reel_sweep *sweep = &run->sweep;
	bool is_unknown = run->steps == REEL_UNKNOWN_STEPS;
	bool ends = false;
	int64_t last;

	if (!is_cut(run, &sweep->action))
		return false;
	last = reel_run_step_of(run, sweep->action.last);
	REEL_ASSERT(sweep->at <= last);
	if (sweep->at == last || (*error && !is_unknown))
		return false;
	if (is_unknown)
		*error = look_for_end(run, *error, &ends);
	if (ends && reel_schedule_is_recorded(run->schedule))
		sweep->action = (reel_action){.kind = REEL_ACTION_RECORD,
					      .first = run->schedule->steps,
					      .last = run->schedule->steps};
	if (*error || ends)
		return false;
	*piece = (reel_action){.kind = sweep->action.kind, .first = sweep->at, .last = last};
	if (is_unknown || reel_run_audits(run))
		piece->last = sweep->at + 1;
	sweep->at = piece->last;
	return true;
}

/*
 * The end of an action: the processes of the run agree on its error, and write restart files if one
 * of them wants to. Before the first action only a program that drives the run may have an error.
 */
static int conclude(reel_run *run, int error)
{
	struct reel_sweep *sweep = &run->sweep;
	bool is_first = sweep->action.kind == REEL_ACTION_DONE;
	unsigned requests;

	if (is_first && !sweep->driven)
		return error;
	requests = error || is_first ? 0 : reel_restart_requests(run, &sweep->action);
	error = reel_group_agree(&run->group, error, &requests);
	if (error || !requests)
		return error;
	return reel_restart_save(run, sweep->context,
				 run->phase == REEL_RUN_REVERSE ? sweep->adjoint : NULL,
				 requests & REEL_REQUEST_END);
}

/* Returns true at the end of the forward sweep. A loop of no steps has no last action. */
static bool has_turned(const reel_run *run)
{
	return run->phase == REEL_RUN_FORWARD &&
	       (run->schedule->steps == 0 || reel_run_turns_after(run, &run->sweep.action));
}

static bool is_copy(const reel_action *action)
{
	return action->kind == REEL_ACTION_STORE || action->kind == REEL_ACTION_LOAD;
}

/*
 * Takes the next action of the plan. Returns whether it is handed out: STORE, LOAD and DROP are
 * carried out here, as FORGET is, unless the program copies its state itself, and some actions are
 * cut into pieces first.
 */
static bool take(reel_run *run, reel_action *piece, int *error)
{
	struct reel_sweep *sweep = &run->sweep;
	reel_action *action = &sweep->action;

	REEL_ASSERT(sweep->piece.kind == REEL_ACTION_DONE);
	*error = take_action(run, action);
	*piece = reel_run_piece_of(run, action);
	if (*error)
		return false;
	if (action->kind == REEL_ACTION_DONE)
		*error = complete(run, 1);
	else if (is_cut(run, action))
		sweep->at = piece->first;
	if (action->kind < REEL_PIECE_KINDS || action->kind == REEL_ACTION_DONE)
		return !is_cut(run, action);
	if (action->kind == REEL_ACTION_FORGET) {
		reel_learn_forget(run, action);
		return false;
	}
	if (is_copy(action) && run->options.flags & REEL_RUN_COPIES) {
		piece->tier = action->tier;
		piece->slot = action->slot;
		piece->last_use = action->last_use;
		return true;
	}
	*error = reel_run_act(run, action, sweep->context, sweep->state, sweep->adjoint, NULL);
	/* The slab that the tape left last may be as large as the state that has no room. */
	if (*error == -EDQUOT) {
		reel_tape_drop_spare(&run->tape);
		*error = reel_run_act(run, action, sweep->context, sweep->state, sweep->adjoint,
				      NULL);
	}
	return false;
}

/*
 * Goes on with the sweep, whose last piece has ended with `error`, up to the next piece. *piece is
 * a DONE at the end of both sweeps, and at the end of the forward sweep unless the program drives
 * the run.
 */
static int go_on(reel_run *run, reel_action *piece, int error)
{
	for (;;) {
		if (cut(run, piece, &error))
			return 0;
		error = conclude(run, error);
		if (error)
			return error;
		if (has_turned(run)) {
			REEL_ASSERT(run->steps != REEL_UNKNOWN_STEPS);
			reel_run_enter(run, REEL_RUN_REVERSE);
			error = reel_learn_reverse_begin(run);
			if (error)
				return error;
			reel_progress_end(run);
			*piece = run->sweep.action = (reel_action){.kind = REEL_ACTION_DONE};
			if (!run->sweep.driven)
				return 0;
			reel_progress_go_on(run);
		}
		if (take(run, piece, &error))
			return error;
	}
}

/* ---- Sweeps by the callbacks of the model ---- */

static void begin_sweep(reel_run *run, void *context, void *state, void *adjoint)
{
	run->sweep = (struct reel_sweep){.context = context, .state = state, .adjoint = adjoint,
					 .action.kind = REEL_ACTION_DONE,
					 .piece.kind = REEL_ACTION_DONE};
}

static int sweep_by_callbacks(reel_run *run)
{
	const struct reel_sweep *sweep = &run->sweep;
	int error = 0;

	REEL_ASSERT(!sweep->driven);
	for (;;) {
		reel_action piece;

		error = go_on(run, &piece, error);
		if (error)
			end_sweep(run);
		if (error || piece.kind == REEL_ACTION_DONE)
			return error;
		error = reel_piece_call(run, &piece, sweep->context, sweep->state, sweep->adjoint,
					&run->tape);
	}
}

/* Callbacks tell the end of a loop by finished() alone. */
static int check_end(const reel_run *run)
{
	if (run->plan->problem.steps != REEL_UNKNOWN_STEPS || run->options.finished)
		return 0;
	return reel_fail(-EINVAL,
			 "a forward sweep by callbacks of a plan of REEL_UNKNOWN_STEPS needs "
			 "finished(): give it, or drive the run by reel_run_start()");
}

int reel_run_forward(reel_run *run, void *context, void *state)
{
	int error;

	if (!run->model.advance)
		return no_callbacks();
	end_if_left(run);
	enter_function(run);
	begin_sweep(run, context, state, NULL);
	error = check_end(run);
	if (!error)
		error = begin_forward(run, context, state);
	error = reel_group_agree(&run->group, error, NULL);
	if (error)
		end_sweep(run);
	else
		error = sweep_by_callbacks(run);
	leave_function(run);
	return error;
}

static int no_reverse_sweep(const reel_run *run)
{
	if (run->sweep.driven)
		return reel_fail(-EINVAL,
				 "reel_run_start() has begun this sweep: only "
				 "reel_run_next() goes on with it, and nothing looks ahead");
	return reel_fail(-EINVAL, "the reverse sweep of a run whose forward sweep has not come to "
				  "its end, or of which a callback was left by an exception or by "
				  "longjmp(): call reel_run_forward() first");
}

/* Returns 0, or -EINVAL: the restart files of the reverse sweep would lack the adjoint. */
static int check_adjoint(const reel_run *run, const void *adjoint)
{
	const struct reel_run_options *options = &run->options;

	if (!options->restart || !options->adjoint_bytes || options->adjoint_parts ||
	    options->save_adjoint || adjoint)
		return 0;
	return reel_fail(-EINVAL, "a run with a restart file needs the adjoint, which is written "
				  "to it");
}

static bool may_reverse(const reel_run *run)
{
	return reel_run_is_reversing(run) && !run->sweep.driven;
}

int reel_run_reverse(reel_run *run, void *context, void *state, void *adjoint)
{
	int error;

	if (!run->model.reverse)
		return no_callbacks();
	end_if_left(run);
	if (!may_reverse(run))
		return no_reverse_sweep(run);
	error = check_adjoint(run, adjoint);
	if (error)
		return error;
	enter_function(run);
	begin_sweep(run, context, state, adjoint);
	reel_progress_go_on(run);
	error = sweep_by_callbacks(run);
	leave_function(run);
	return error;
}

void reel_run_look_ahead(reel_run *run, void *context)
{
	run->sweep.context = context;
	reel_progress_go_on(run);
}

int reel_run_take(reel_run *run, reel_action *action)
{
	int error;

	if (!run->model.reverse)
		return no_callbacks();
	if (!may_reverse(run))
		return no_reverse_sweep(run);
	run->sweep.resumed = false;
	error = take_action(run, action);
	return !error && action->kind == REEL_ACTION_DONE ? complete(run, 0) : error;
}

/* ---- Sweeps that the program drives ---- */

int reel_run_start(reel_run *run, void *context, void *state, void *adjoint)
{
	int error = check_adjoint(run, adjoint);
	bool goes_on;

	if (error)
		return error;
	end_if_left(run);
	enter_function(run);
	goes_on = run->sweep.resumed && reel_run_is_reversing(run);
	begin_sweep(run, context, state, adjoint);
	if (goes_on)
		reel_progress_go_on(run);
	else
		error = reel_group_agree(&run->group, begin_forward(run, context, state), NULL);
	if (error)
		end_sweep(run);
	run->sweep.driven = !error;
	leave_function(run);
	return error;
}

static int end_copy(const struct reel_sweep *sweep)
{
	REEL_ASSERT(sweep->piece.kind == REEL_ACTION_DONE);
	if (sweep->error)
		return sweep->error;
	return sweep->copied
		       ? sweep->copy_error
		       : reel_fail(-EINVAL, "reel_run_next() has given a STORE or LOAD that the "
					    "program did not carry out: call reel_run_copy()");
}

/* Takes the result of the piece that the program has carried out. */
static int end_piece(reel_run *run)
{
	struct reel_sweep *sweep = &run->sweep;
	reel_action piece = sweep->piece;
	uint64_t ns = sweep->ns ? sweep->ns : reel_clock_ns() - sweep->since;
	int error;

	if (piece.kind == REEL_ACTION_DONE)
		return sweep->error;
	sweep->piece.kind = REEL_ACTION_DONE;
	if (is_copy(&piece))
		return end_copy(sweep);
	reel_piece_note_time(run, &piece, ns, reel_offload_waited_ns() - sweep->waited);
	error = reel_piece_end(run, &piece, sweep->context, sweep->state, &run->tape, sweep->error);
	if (!error)
		reel_progress_note(run, &piece, ns);
	return error;
}

int reel_run_next(reel_run *run, reel_action *action)
{
	struct reel_sweep *sweep = &run->sweep;
	int error;

	end_if_left(run);
	if (!sweep->driven)
		return reel_fail(-EINVAL, "reel_run_next() without a sweep to go on with: call "
					  "reel_run_start() first");
	enter_function(run);
	error = go_on(run, action, end_piece(run));
	if (error) {
		end_sweep(run);
		*action = (reel_action){.kind = REEL_ACTION_DONE};
	}
	sweep->driven = !error && action->kind != REEL_ACTION_DONE;
	sweep->piece = *action;
	sweep->copied = false;
	sweep->since = reel_clock_ns();
	sweep->waited = reel_offload_waited_ns();
	sweep->ns = 0;
	leave_function(run);
	return error;
}

int reel_run_copy(reel_run *run, void *context)
{
	struct reel_sweep *sweep = &run->sweep;

	end_if_left(run);
	if (!sweep->driven || !is_copy(&sweep->piece) || sweep->copied)
		return reel_fail(-EINVAL, "reel_run_copy() without a STORE or LOAD that "
					  "reel_run_next() has given");
	enter_function(run);
	sweep->copied = true;
	sweep->copy_error = reel_run_act(run, &sweep->action, context, sweep->state, NULL, NULL);
	leave_function(run);
	return sweep->copy_error;
}

int reel_run_end_loop(reel_run *run)
{
	if (!run->sweep.driven || run->phase != REEL_RUN_FORWARD ||
	    run->steps != REEL_UNKNOWN_STEPS)
		return reel_fail(-EINVAL,
				 "reel_run_end_loop() is for the forward sweep of a plan of "
				 "REEL_UNKNOWN_STEPS that reel_run_start() has begun");
	if (run->sweep.ends)
		return reel_fail(-EINVAL,
				 "reel_run_end_loop() was called before, so the end of the loop "
				 "is known: call reel_run_next()");
	run->sweep.ends = true;
	return 0;
}

void reel_run_stop(reel_run *run, int error)
{
	run->sweep.error = error;
}

void reel_run_set_time(reel_run *run, uint64_t ns)
{
	run->sweep.ns = ns ? ns : 1;
}

/* ---- Resuming ---- */

int reel_run_resume(reel_run *run, void *context, void *adjoint)
{
	int error;

	end_if_left(run);
	enter_function(run);
	begin_sweep(run, context, NULL, adjoint);
	reel_run_begin(run);
	end_sweep(run);
	error = reel_restart_find_epoch(run);
	if (!error)
		error = reel_restart_read(run, context, adjoint);
	error = reel_group_agree(&run->group, error, NULL);
	if (error) {
		reel_snapshots_empty(&run->snapshots);
		end_sweep(run);
	}
	REEL_ASSERT(error || run->phase != REEL_RUN_IDLE);
	run->sweep.resumed = !error;
	reel_learning_resume(run);
	reel_ahead_begin(run);
	reel_progress_begin(run);
	reel_progress_count(run);
	leave_function(run);
	return error;
}
