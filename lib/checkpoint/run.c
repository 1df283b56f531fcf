/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/counter.h"
#include "plan/plan.h"
#include "tape/tape.h"

int reel_run_fail(reel_run *run, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	pthread_mutex_lock(&run->snapshots.lock);
	if (!run->message[0])
		vsnprintf(run->message, sizeof run->message, format, arguments);
	pthread_mutex_unlock(&run->snapshots.lock);
	va_end(arguments);
	return error;
}

/* Above 0 is no failure: the callback stops the sweep. */
static int callback(char *message, int error, const char *what, int64_t first, int64_t last)
{
	if (error < 0)
		snprintf(message, REEL_RUN_MESSAGE, "%s of steps %lld to %lld returned %d (%s)",
			 what, (long long)first, (long long)last - 1, error, strerror(-error));
	return error;
}

static void count(_Atomic int64_t *counter, int64_t steps)
{
	atomic_fetch_add_explicit(counter, steps, memory_order_relaxed);
}

static bool audits(const reel_run *run)
{
	return run->options.flags & REEL_RUN_AUDIT;
}

/*
 * The model's step at which a step of the plan begins. A loop without a known end may be
 * planned to where it cannot come.
 */
static int64_t step_of(const reel_run *run, int64_t segment)
{
	int64_t step = segment > REEL_MAX_STEPS / run->options.segment_steps ?
			       REEL_MAX_STEPS + 1 : segment * run->options.segment_steps;

	return run->steps != REEL_UNKNOWN_STEPS && step > run->steps ? run->steps : step;
}

/* ---- Running steps ---- */

static int advance(reel_run *run, void *context, void *state, int64_t first, int64_t last,
		   char *message)
{
	int error = run->model.advance(context, state, first, last);

	if (error)
		return callback(message, error, "advance", first, last);
	count(&run->advanced, last - first);
	return audits(run) ? reel_audit_state(run, context, state, first, last) : 0;
}

int reel_run_end_loop(reel_run *run, int64_t step)
{
	int64_t segments = (step + run->options.segment_steps - 1) / run->options.segment_steps;

	if (reel_schedule_end(&run->schedule, segments, segments))
		return -ERANGE;
	run->steps = step;
	reel_ahead_begin(run);
	return 0;
}

static int advance_to_end(reel_run *run, void *context, void *state, int64_t first, int64_t last,
			  char *message)
{
	for (int64_t step = first; step < last; step++) {
		int error;

		if (run->options.finished(context, state, step))
			return reel_run_end_loop(run, step);
		if (step == REEL_MAX_STEPS)
			return reel_run_fail(run, -ERANGE, "the loop has more than 2^40 steps");
		error = advance(run, context, state, step, step + 1, message);
		if (error)
			return error;
	}
	return 0;
}

static int advance_step_by_step(reel_run *run, void *context, void *state, int64_t first,
				int64_t last, char *message)
{
	int error = 0;

	for (int64_t step = first; step < last && !error; step++)
		error = advance(run, context, state, step, step + 1, message);
	return error;
}

static int run_advance(reel_run *run, void *context, void *state, int64_t first, int64_t last,
		       char *message)
{
	if (run->steps == REEL_UNKNOWN_STEPS)
		return advance_to_end(run, context, state, first, last, message);
	if (audits(run))
		return advance_step_by_step(run, context, state, first, last, message);
	return advance(run, context, state, first, last, message);
}

static int tape_error(char *message, const reel_tape *tape, const char *what, int64_t first,
		      int64_t last)
{
	int error = reel_tape_error(tape);

	if (error)
		snprintf(message, REEL_RUN_MESSAGE,
			 "the tape failed in %s of steps %lld to %lld: %s", what, (long long)first,
			 (long long)last - 1, reel_strerror(error));
	return error;
}

static int run_record(reel_run *run, void *context, void *state, reel_tape *tape, int64_t first,
		      int64_t last, char *message)
{
	int error = run->model.record(context, state, first, last, tape);

	if (error)
		return callback(message, error, "record", first, last);
	error = tape_error(message, tape, "record", first, last);
	if (error)
		return error;
	count(&run->recorded, last - first);
	if (tape == &run->tape)
		run->steps_on_tape += last - first;
	reel_counter_raise(&run->peak_tape_bytes, reel_tape_bytes(tape));
	return audits(run) ? reel_audit_state(run, context, state, first, last) : 0;
}

static int run_reverse(reel_run *run, void *context, void *adjoint, reel_tape *tape, int64_t first,
		       int64_t last, char *message)
{
	int error = run->model.reverse(context, adjoint, first, last, tape);

	if (error)
		return callback(message, error, "reverse", first, last);
	count(&run->reversed, last - first);
	/* One REVERSE may be of several records, or of a part of one. */
	if (tape == &run->tape && (run->steps_on_tape -= last - first) == 0)
		reel_tape_check_balance(tape, 0, first, last);
	return tape_error(message, tape, "reverse", first, last);
}

/* ---- Snapshots ---- */

static int fail_snapshot(const reel_run *run, int error, const char *what,
			 const reel_action *action, char *message)
{
	snprintf(message, REEL_RUN_MESSAGE, "%s of state %lld, slot %u of tier %u: %s", what,
		 (long long)step_of(run, action->first), action->slot, action->tier,
		 reel_store_strerror(error));
	return error;
}

static int save(const reel_run *run, void *context, const void *state, void *snapshot)
{
	if (run->model.save)
		return run->model.save(context, state, snapshot);
	memcpy(snapshot, state, run->model.state_bytes);
	return 0;
}

static int load(const reel_run *run, void *context, void *state, const void *snapshot)
{
	if (run->model.load)
		return run->model.load(context, state, snapshot);
	memcpy(state, snapshot, run->model.state_bytes);
	return 0;
}

static int run_store(reel_run *run, const reel_action *action, void *context, const void *state,
		     char *message)
{
	int64_t step = step_of(run, action->first);
	void *data;
	int error = reel_snapshot_reserve(&run->snapshots, action->tier, action->slot,
					  action->first, &data);

	if (error)
		return fail_snapshot(run, error, "store", action, message);
	error = save(run, context, state, data);
	if (error) {
		reel_snapshot_drop(&run->snapshots, action->tier, action->slot, action->first);
		return callback(message, error, "save", step, step + 1);
	}
	reel_snapshot_commit(&run->snapshots, action->tier, action->slot);
	atomic_fetch_add_explicit(&run->stores[action->tier], 1, memory_order_relaxed);
	return audits(run) ? reel_audit_state(run, context, state, step, step) : 0;
}

static int run_load(reel_run *run, const reel_action *action, void *context, void *state,
		    char *message)
{
	int64_t step = step_of(run, action->first);
	const void *data;
	int error = reel_snapshot_pin(&run->snapshots, action->tier, action->slot, action->first,
				      &data);

	if (error)
		return fail_snapshot(run, error, "load", action, message);
	error = load(run, context, state, data);
	reel_snapshot_unpin(&run->snapshots, action->tier, action->slot);
	if (error)
		return callback(message, error, "load", step, step + 1);
	atomic_fetch_add_explicit(&run->loads[action->tier], 1, memory_order_relaxed);
	return audits(run) ? reel_audit_state(run, context, state, step, step) : 0;
}

static int run_drop(reel_run *run, const reel_action *action, char *message)
{
	int error = reel_snapshot_drop(&run->snapshots, action->tier, action->slot, action->first);

	return error ? fail_snapshot(run, error, "drop", action, message) : 0;
}

/* ---- Sweeps ---- */

int reel_run_attempt(reel_run *run, const reel_action *action, void *context, void *state,
		     void *adjoint, reel_tape *tape, char message[REEL_RUN_MESSAGE])
{
	int64_t first = step_of(run, action->first), last = step_of(run, action->last);

	if (!tape)
		tape = &run->tape;
	message[0] = '\0';
	switch (action->kind) {
	case REEL_ACTION_ADVANCE:
		return run_advance(run, context, state, first, last, message);
	case REEL_ACTION_RECORD:
		return run_record(run, context, state, tape, first, last, message);
	case REEL_ACTION_REVERSE:
		return run_reverse(run, context, adjoint, tape, first, last, message);
	case REEL_ACTION_STORE:
		return run_store(run, action, context, state, message);
	case REEL_ACTION_LOAD:
		return run_load(run, action, context, state, message);
	case REEL_ACTION_DROP:
		return run_drop(run, action, message);
	case REEL_ACTION_DONE:
		break;
	}
	return 0;
}

int reel_run_check_balance(reel_run *run, const reel_action *reversed, reel_tape *tape,
			   char message[REEL_RUN_MESSAGE])
{
	int64_t first = step_of(run, reversed->first), last = step_of(run, reversed->last);

	reel_tape_check_balance(tape, 0, first, last);
	return tape_error(message, tape, "reverse", first, last);
}

int reel_run_carry_out(reel_run *run, const reel_action *action, void *context, void *state,
		       void *adjoint, reel_tape *tape)
{
	char message[REEL_RUN_MESSAGE];
	int error = reel_run_attempt(run, action, context, state, adjoint, tape, message);

	return message[0] ? reel_run_fail(run, error, "%s", message) : error;
}

static void take_action(reel_run *run, reel_action *action)
{
	/* -EAGAIN says what reel_run.steps says, too. */
	reel_schedule_next(&run->schedule, action);
	run->actions++;
	reel_ahead_follow(run);
}

struct reel_run_counts reel_run_get_counts(const reel_run *run)
{
	struct reel_run_counts counts;

	counts.advanced = atomic_load_explicit(&run->advanced, memory_order_relaxed);
	counts.recorded = atomic_load_explicit(&run->recorded, memory_order_relaxed);
	counts.reversed = atomic_load_explicit(&run->reversed, memory_order_relaxed);
	for (unsigned tier = 0; tier < REEL_MAX_TIERS; tier++) {
		counts.stores[tier] = atomic_load_explicit(&run->stores[tier],
							   memory_order_relaxed);
		counts.loads[tier] = atomic_load_explicit(&run->loads[tier], memory_order_relaxed);
	}
	return counts;
}

void reel_run_set_counts(reel_run *run, const struct reel_run_counts *counts)
{
	atomic_store_explicit(&run->advanced, counts->advanced, memory_order_relaxed);
	atomic_store_explicit(&run->recorded, counts->recorded, memory_order_relaxed);
	atomic_store_explicit(&run->reversed, counts->reversed, memory_order_relaxed);
	for (unsigned tier = 0; tier < REEL_MAX_TIERS; tier++) {
		atomic_store_explicit(&run->stores[tier], counts->stores[tier],
				      memory_order_relaxed);
		atomic_store_explicit(&run->loads[tier], counts->loads[tier], memory_order_relaxed);
	}
}

static const struct reel_run_counts nothing;

int64_t reel_run_steps_at_first(const reel_run *run)
{
	if (run->options.steps || run->plan->problem.steps == REEL_UNKNOWN_STEPS)
		return run->options.steps ? run->options.steps : REEL_UNKNOWN_STEPS;
	return run->plan->problem.steps * run->options.segment_steps;
}

void reel_run_begin(reel_run *run)
{
	reel_tape_close(&run->tape);
	reel_tape_open(&run->tape, run->options.pool, 0);
	reel_snapshots_empty(&run->snapshots);
	run->steps = reel_run_steps_at_first(run);
	run->steps_on_tape = 0;
	run->actions = 0;
	run->message[0] = '\0';
	reel_run_set_counts(run, &nothing);
	atomic_store_explicit(&run->peak_tape_bytes, 0, memory_order_relaxed);
	reel_audit_begin(run);
	reel_restart_begin(run);
	reel_schedule_begin(&run->schedule, run->plan);
	reel_ahead_begin(run);
}

static int begin_forward(reel_run *run, void *context, void *state)
{
	reel_action load = run->stored;

	load.kind = REEL_ACTION_LOAD;
	if (run->phase == REEL_RUN_FORWARD)
		return reel_run_carry_out(run, &load, context, state, NULL, NULL);
	reel_run_begin(run);
	/* Until the first one is written there is none: an earlier sweep had other controls. */
	reel_restart_remove(run);
	run->phase = REEL_RUN_FORWARD;
	return audits(run) ? reel_audit_state(run, context, state, 0, 0) : 0;
}

bool reel_run_turns_after(const reel_run *run, const reel_action *action)
{
	return action->kind == REEL_ACTION_RECORD && action->last == run->schedule.steps;
}

/* To the last state, whatever the plan does then. A loop of no steps is there at once. */
static int go_forward(reel_run *run, void *context, void *state)
{
	reel_action action = {.kind = REEL_ACTION_DONE};

	while (run->schedule.steps != 0 && !reel_run_turns_after(run, &action)) {
		int error;

		take_action(run, &action);
		error = reel_run_carry_out(run, &action, context, state, NULL, &run->tape);
		if (error)
			return error;
		if (action.kind == REEL_ACTION_STORE)
			reel_restart_save_if_due(run, NULL);
	}
	run->phase = REEL_RUN_REVERSE;
	return 0;
}

int reel_run_forward(reel_run *run, void *context, void *state)
{
	int error = begin_forward(run, context, state);

	if (!error)
		error = go_forward(run, context, state);
	if (error)
		run->phase = REEL_RUN_IDLE;
	return error;
}

int reel_run_resume(reel_run *run, void *adjoint)
{
	int error;

	reel_run_begin(run);
	run->phase = REEL_RUN_IDLE;
	error = reel_restart_read(run, adjoint);
	if (error) {
		reel_snapshots_empty(&run->snapshots);
		run->phase = REEL_RUN_IDLE;
	}
	reel_ahead_begin(run);
	return error;
}

/* What an earlier sweep failed with is not what is wrong now. */
static int fail_out_of_order(reel_run *run)
{
	run->message[0] = '\0';
	return reel_run_fail(run, -EINVAL,
			     "the reverse sweep of a run whose forward sweep has not come to its "
			     "end: call reel_run_forward() first");
}

int reel_run_next(reel_run *run, reel_action *action)
{
	if (!reel_run_is_reversing(run))
		return fail_out_of_order(run);
	take_action(run, action);
	if (action->kind == REEL_ACTION_DONE) {
		reel_restart_remove(run);
		run->phase = REEL_RUN_IDLE;
	}
	return 0;
}

int reel_run_reverse(reel_run *run, void *context, void *state, void *adjoint)
{
	for (;;) {
		reel_action action;
		int error = reel_run_next(run, &action);

		if (error)
			return error;
		if (action.kind == REEL_ACTION_DONE)
			return 0;
		error = reel_run_carry_out(run, &action, context, state, adjoint, &run->tape);
		if (error) {
			run->phase = REEL_RUN_IDLE;
			return error;
		}
		if (action.kind == REEL_ACTION_REVERSE)
			reel_restart_save_if_due(run, adjoint);
	}
}

void reel_run_give_up(reel_run *run, const char *message)
{
	run->phase = REEL_RUN_IDLE;
	reel_run_fail(run, 0, "%s", message);
}

bool reel_run_is_reversing(const reel_run *run)
{
	return run->phase == REEL_RUN_REVERSE;
}

/* ---- What a run knows ---- */

int64_t reel_run_steps(const reel_run *run)
{
	return run->steps;
}

const char *reel_run_message(const reel_run *run)
{
	return run->message[0] ? run->message : run->save_message;
}

const reel_model *reel_run_model(const reel_run *run)
{
	return &run->model;
}

reel_pool *reel_run_pool(const reel_run *run)
{
	return run->options.pool;
}

unsigned reel_run_flags(const reel_run *run)
{
	return run->options.flags;
}

reel_tape *reel_run_tape(reel_run *run)
{
	return &run->tape;
}

void reel_run_get_stats(reel_run *run, struct reel_run_stats *stats)
{
	struct reel_snapshots *snapshots = &run->snapshots;
	struct reel_run_counts counts = reel_run_get_counts(run);

	*stats = (struct reel_run_stats){
		.advanced = counts.advanced,
		.recorded = counts.recorded,
		.reversed = counts.reversed,
		.peak_tape_bytes =
			atomic_load_explicit(&run->peak_tape_bytes, memory_order_relaxed),
		.unlike_step = run->unlike_step,
		.saves = run->saves,
		.failed_saves = run->failed_saves,
	};
	memcpy(stats->stores, counts.stores, sizeof stats->stores);
	memcpy(stats->loads, counts.loads, sizeof stats->loads);
	pthread_mutex_lock(&snapshots->lock);
	stats->put_bytes = snapshots->put_bytes;
	stats->got_bytes = snapshots->got_bytes;
	stats->failed_puts = snapshots->failed_puts;
	stats->fetched = snapshots->fetched;
	stats->waits = snapshots->waits;
	stats->wait_ns = snapshots->wait_ns;
	stats->peak_snapshot_bytes = snapshots->peak_bytes;
	pthread_mutex_unlock(&snapshots->lock);
}
