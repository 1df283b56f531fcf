/* SPDX-License-Identifier: MIT */
/*
 * The sweeps of a run. The thread that owns the run takes actions from the schedule. It carries
 * them out itself, or other threads do so by reel_run_carry_out(). Members
 * that several threads change are atomic or guarded by `snapshots.lock`. reel_run_enter() alone
 * changes the phase. Each error of a callback ends the sweep and is returned. A callback that is
 * left by an exception or by longjmp() ends it, too, which the next call sees by `under_way`.
 */
#include "config.h"

#include "run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/counter.h"
#include "os/error.h"
#include "plan/plan.h"
#include "store/store.h"
#include "tape/tape.h"

#define TO(phase) (1u << REEL_RUN_##phase)

/* The table of run.h: the phases that may follow each phase. */
static const uint8_t next_phases[REEL_RUN_PHASES] = {
	[REEL_RUN_IDLE] = TO(IDLE) | TO(RESUMED) | TO(FORWARD) | TO(REVERSE),
	[REEL_RUN_RESUMED] = TO(IDLE) | TO(FORWARD),
	[REEL_RUN_FORWARD] = TO(IDLE) | TO(FORWARD) | TO(REVERSE),
	[REEL_RUN_REVERSE] = TO(IDLE) | TO(FORWARD),
};

void reel_run_enter(reel_run *run, enum reel_run_phase phase)
{
	REEL_ASSERT(next_phases[run->phase] >> phase & 1);
	REEL_ASSERT(phase != REEL_RUN_REVERSE || run->schedule.steps != REEL_UNKNOWN_STEPS);
	run->phase = phase;
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
		reel_run_enter(run, REEL_RUN_IDLE);
	atomic_store_explicit(&run->under_way, 0, memory_order_relaxed);
}

/* ---- Errors and counts ---- */

/* Describes the error of a callback. A value above 0 is no failure: it stops the sweep early. */
static int callback(int error, const char *what, int64_t first, int64_t last)
{
	REEL_ASSERT(error && first <= last);
	return error > 0
		       ? error
		       : reel_fail(error, "%s of steps %lld to %lld returned %d (%s)", what,
				   (long long)first, (long long)last - 1, error, strerror(-error));
}

static void count(_Atomic int64_t *counter, int64_t steps)
{
	REEL_ASSERT(steps >= 0);
	/* Relaxed is enough: a counter, which orders nothing. */
	atomic_fetch_add_explicit(counter, steps, memory_order_relaxed);
}

static bool audits(const reel_run *run)
{
	return run->options.flags & REEL_RUN_AUDIT;
}

/*
 * Converts a step of the plan to the step of the model at which it begins. A plan of an unknown end
 * may name steps above REEL_MAX_STEPS: all of them become REEL_MAX_STEPS + 1, so that the product
 * does not overflow.
 */
static int64_t step_of(const reel_run *run, int64_t segment)
{
	int64_t step = segment > REEL_MAX_STEPS / run->options.segment_steps ?
			       REEL_MAX_STEPS + 1 : segment * run->options.segment_steps;

	REEL_ASSERT(run->options.segment_steps > 0);
	return run->steps != REEL_UNKNOWN_STEPS && step > run->steps ? run->steps : step;
}

/* ---- Running steps ---- */

static int advance(reel_run *run, void *context, void *state, int64_t first, int64_t last)
{
	int error = run->model.advance(context, state, first, last);

	if (error)
		return callback(error, "advance", first, last);
	count(&run->advanced, last - first);
	return audits(run) ? reel_audit_state(run, context, state, first, last) : 0;
}

int reel_run_end_loop(reel_run *run, int64_t step)
{
	int64_t segments = (step + run->options.segment_steps - 1) / run->options.segment_steps;

	REEL_ASSERT(step >= 0 && run->steps == REEL_UNKNOWN_STEPS);
	if (reel_schedule_end(&run->schedule, segments, segments))
		return -ERANGE;
	REEL_ASSERT(run->schedule.steps == segments);
	run->steps = step;
	reel_ahead_begin(run);
	return 0;
}

/* An error of a step is agreed on before the next step: all processes leave the loop there. */
static int advance_to_end(reel_run *run, void *context, void *state, int64_t first, int64_t last)
{
	int error = 0;

	REEL_ASSERT(run->options.finished);
	for (int64_t step = first; step < last; step++) {
		bool ends = !error && run->options.finished(context, state, step);
		unsigned wishes = ends ? REEL_WISH_FINISH : 0;

		error = reel_group_agree(&run->group, error, &wishes);
		if (error)
			return error;
		if (wishes)
			return reel_run_end_loop(run, step);
		if (step == REEL_MAX_STEPS)
			return reel_fail(-ERANGE, "the loop has more than 2^40 steps");
		error = advance(run, context, state, step, step + 1);
	}
	return error;
}

/* The audit looks at each state, so that it names the first step that does not replay. */
static int advance_step_by_step(reel_run *run, void *context, void *state, int64_t first,
				int64_t last)
{
	int error = 0;

	for (int64_t step = first; step < last && !error; step++)
		error = advance(run, context, state, step, step + 1);
	return error;
}

static int run_advance(reel_run *run, void *context, void *state, int64_t first, int64_t last)
{
	if (run->steps == REEL_UNKNOWN_STEPS)
		return advance_to_end(run, context, state, first, last);
	if (audits(run))
		return advance_step_by_step(run, context, state, first, last);
	return advance(run, context, state, first, last);
}

static int tape_error(const reel_tape *tape, const char *what, int64_t first, int64_t last)
{
	int error = reel_tape_error(tape);

	return error ? reel_fail(error, "the tape failed in %s of steps %lld to %lld: %s", what,
				 (long long)first, (long long)last - 1, reel_strerror(error))
		     : 0;
}

static int run_record(reel_run *run, void *context, void *state, reel_tape *tape, int64_t first,
		      int64_t last)
{
	int error = run->model.record(context, state, first, last, tape);

	if (tape == &run->tape)
		run->steps_on_tape += last - first;
	if (error)
		return callback(error, "record", first, last);
	error = tape_error(tape, "record", first, last);
	if (error)
		return error;
	count(&run->recorded, last - first);
	reel_counter_raise(&run->peak_tape_bytes, reel_tape_bytes(tape));
	return audits(run) ? reel_audit_state(run, context, state, first, last) : 0;
}

void reel_run_take_back(reel_run *run, const reel_action *record, reel_mark before)
{
	run->steps_on_tape -= step_of(run, record->last) - step_of(run, record->first);
	REEL_ASSERT(run->steps_on_tape >= 0);
	reel_tape_rewind(&run->tape, before);
	reel_tape_clear_error(&run->tape);
}

static int run_reverse(reel_run *run, void *context, void *adjoint, reel_tape *tape, int64_t first,
		       int64_t last)
{
	int error = run->model.reverse(context, adjoint, first, last, tape);

	if (error)
		return callback(error, "reverse", first, last);
	count(&run->reversed, last - first);
	/*
	 * One REVERSE may undo several RECORDs or a part of one. So the tape is known to be empty
	 * only when no recorded step is left on it.
	 */
	if (tape == &run->tape && (run->steps_on_tape -= last - first) == 0)
		reel_tape_check_balance(tape, 0, first, last);
	return tape_error(tape, "reverse", first, last);
}

/* ---- Snapshots ---- */

static int fail_snapshot(const reel_run *run, int error, const char *what,
			 const reel_action *action)
{
	REEL_ASSERT(error < 0);
	return reel_fail(error, "%s of state %lld, slot %u of tier %u: %s", what,
			 (long long)step_of(run, action->first), action->slot, action->tier,
			 reel_store_strerror(error));
}

static int save(const reel_run *run, void *context, const void *state, void *snapshot)
{
	REEL_ASSERT(!run->model.save == !run->model.load);
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

static int run_store(reel_run *run, const reel_action *action, void *context, const void *state)
{
	int64_t step = step_of(run, action->first);
	void *data;
	int error = reel_snapshot_reserve(&run->snapshots, action->tier, action->slot,
					  action->first, &data);

	if (error)
		return fail_snapshot(run, error, "store", action);
	error = save(run, context, state, data);
	if (error) {
		reel_snapshot_drop(&run->snapshots, action->tier, action->slot, action->first);
		return callback(error, "save", step, step + 1);
	}
	reel_snapshot_commit(&run->snapshots, action->tier, action->slot);
	/* Relaxed is enough: a counter, which orders nothing. */
	atomic_fetch_add_explicit(&run->stores[action->tier], 1, memory_order_relaxed);
	return audits(run) ? reel_audit_state(run, context, state, step, step) : 0;
}

static int run_load(reel_run *run, const reel_action *action, void *context, void *state)
{
	int64_t step = step_of(run, action->first);
	const void *data;
	int error = reel_snapshot_pin(&run->snapshots, action->tier, action->slot, action->first,
				      &data);

	if (error)
		return fail_snapshot(run, error, "load", action);
	error = load(run, context, state, data);
	reel_snapshot_unpin(&run->snapshots, action->tier, action->slot);
	if (error)
		return callback(error, "load", step, step + 1);
	/* Relaxed is enough: a counter, which orders nothing. */
	atomic_fetch_add_explicit(&run->loads[action->tier], 1, memory_order_relaxed);
	return audits(run) ? reel_audit_state(run, context, state, step, step) : 0;
}

static int run_drop(reel_run *run, const reel_action *action)
{
	int error = reel_snapshot_drop(&run->snapshots, action->tier, action->slot, action->first);

	return error ? fail_snapshot(run, error, "drop", action) : 0;
}

/* ---- Sweeps ---- */

static int carry_out(reel_run *run, const reel_action *action, void *context, void *state,
		     void *adjoint, reel_tape *tape)
{
	int64_t first = step_of(run, action->first), last = step_of(run, action->last);

	if (!tape)
		tape = &run->tape;
	switch (action->kind) {
	case REEL_ACTION_ADVANCE:
		return run_advance(run, context, state, first, last);
	case REEL_ACTION_RECORD:
		return run_record(run, context, state, tape, first, last);
	case REEL_ACTION_REVERSE:
		return run_reverse(run, context, adjoint, tape, first, last);
	case REEL_ACTION_STORE:
		return run_store(run, action, context, state);
	case REEL_ACTION_LOAD:
		return run_load(run, action, context, state);
	case REEL_ACTION_DROP:
		return run_drop(run, action);
	case REEL_ACTION_DONE:
		break;
	}
	return 0;
}

int reel_run_carry_out(reel_run *run, const reel_action *action, void *context, void *state,
		       void *adjoint, reel_tape *tape)
{
	int error;

	enter_function(run);
	error = carry_out(run, action, context, state, adjoint, tape);
	leave_function(run);
	return error;
}

int reel_run_check_balance(reel_run *run, const reel_action *reversed, reel_tape *tape)
{
	int64_t first = step_of(run, reversed->first), last = step_of(run, reversed->last);

	reel_tape_check_balance(tape, 0, first, last);
	return tape_error(tape, "reverse", first, last);
}

static void take_action(reel_run *run, reel_action *action)
{
	/* The result -EAGAIN needs no care: `run->steps` says that the end is unknown, too. */
	reel_schedule_next(&run->schedule, action);
	REEL_ASSERT(action->kind > REEL_ACTION_REVERSE || action->first <= action->last);
	REEL_ASSERT(action->kind < REEL_ACTION_STORE || action->kind == REEL_ACTION_DONE ||
		    action->tier < run->snapshots.tiers);
	run->actions++;
	reel_ahead_follow(run);
}

struct reel_run_counts reel_run_get_counts(const reel_run *run)
{
	struct reel_run_counts counts;

	/* Relaxed is enough, for all: counters, which order nothing. */
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
	/* Relaxed, all: no other thread carries actions out now. */
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
	REEL_ASSERT(run->plan->problem.steps <= REEL_MAX_STEPS / run->options.segment_steps);
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
	reel_run_set_counts(run, &nothing);
	/* Relaxed: no other thread carries actions out now. */
	atomic_store_explicit(&run->peak_tape_bytes, 0, memory_order_relaxed);
	reel_audit_begin(run);
	reel_restart_begin(run);
	reel_schedule_begin(&run->schedule, run->plan);
	reel_ahead_begin(run);
	REEL_ASSERT(run->steps == REEL_UNKNOWN_STEPS ||
		    step_of(run, run->schedule.steps) == run->steps);
}

static int begin_forward(reel_run *run, void *context, void *state)
{
	reel_action load = run->stored;

	/* The run was resumed in its forward sweep: the slot of its last STORE has the state. */
	load.kind = REEL_ACTION_LOAD;
	if (run->phase == REEL_RUN_RESUMED) {
		REEL_ASSERT(run->stored.kind == REEL_ACTION_STORE);
		reel_run_enter(run, REEL_RUN_FORWARD);
		return carry_out(run, &load, context, state, NULL, NULL);
	}
	reel_run_begin(run);
	REEL_ASSERT(!run->actions && !run->steps_on_tape);
	/* A restart file of an earlier sweep would resume a loop with other controls. */
	reel_restart_remove(run);
	reel_run_enter(run, REEL_RUN_FORWARD);
	return audits(run) ? reel_audit_state(run, context, state, 0, 0) : 0;
}

bool reel_run_turns_after(const reel_run *run, const reel_action *action)
{
	return action->kind == REEL_ACTION_RECORD && action->last == run->schedule.steps;
}

/*
 * The end of an action: the processes of the run agree on its error, and write restart files if one
 * of them wants to.
 */
static int conclude(reel_run *run, const reel_action *action, void *context, const void *adjoint,
		    int error)
{
	unsigned wishes = error ? 0 : reel_restart_wishes(run, action);

	error = reel_group_agree(&run->group, error, &wishes);
	return error || !wishes ? error
				: reel_restart_save(run, context, adjoint, wishes & REEL_WISH_END);
}

/* Carries actions out up to the last state. A loop of no steps has no such action. */
static int go_forward(reel_run *run, void *context, void *state)
{
	reel_action action = {.kind = REEL_ACTION_DONE};

	while (run->schedule.steps != 0 && !reel_run_turns_after(run, &action)) {
		int error;

		take_action(run, &action);
		REEL_ASSERT(action.kind != REEL_ACTION_DONE);
		error = carry_out(run, &action, context, state, NULL, &run->tape);
		error = conclude(run, &action, context, NULL, error);
		if (error)
			return error;
	}
	REEL_ASSERT(run->steps != REEL_UNKNOWN_STEPS);
	reel_run_enter(run, REEL_RUN_REVERSE);
	return 0;
}

int reel_run_forward(reel_run *run, void *context, void *state)
{
	int error;

	end_if_left(run);
	enter_function(run);
	error = reel_group_agree(&run->group, begin_forward(run, context, state), NULL);
	if (!error)
		error = go_forward(run, context, state);
	if (error)
		reel_run_enter(run, REEL_RUN_IDLE);
	leave_function(run);
	return error;
}

int reel_run_resume(reel_run *run, void *context, void *adjoint)
{
	int error;

	end_if_left(run);
	enter_function(run);
	reel_run_begin(run);
	reel_run_enter(run, REEL_RUN_IDLE);
	error = reel_group_find_epoch(run);
	if (!error)
		error = reel_restart_read(run, context, adjoint);
	error = reel_group_agree(&run->group, error, NULL);
	if (error) {
		reel_snapshots_empty(&run->snapshots);
		reel_run_enter(run, REEL_RUN_IDLE);
	}
	reel_ahead_begin(run);
	leave_function(run);
	return error;
}

static int no_reverse_sweep(void)
{
	return reel_fail(-EINVAL, "the reverse sweep of a run whose forward sweep has not come to "
				  "its end, or of which a callback was left by an exception or by "
				  "longjmp(): call reel_run_forward() first");
}

/* Before the last action all others have been carried out, in whatever thread. */
static int next(reel_run *run, reel_action *action, unsigned entered)
{
	if (!reel_run_is_reversing(run))
		return no_reverse_sweep();
	take_action(run, action);
	REEL_ASSERT(action->kind != REEL_ACTION_RECORD || action->last <= run->schedule.steps);
	if (action->kind != REEL_ACTION_DONE)
		return 0;
	reel_run_enter(run, REEL_RUN_IDLE);
	if (was_left(run, entered))
		return no_reverse_sweep();
	reel_restart_remove(run);
	return 0;
}

int reel_run_next(reel_run *run, reel_action *action)
{
	return next(run, action, 0);
}

static int go_back(reel_run *run, void *context, void *state, void *adjoint)
{
	for (;;) {
		reel_action action;
		int error = next(run, &action, 1);

		if (error || action.kind == REEL_ACTION_DONE)
			return error;
		error = carry_out(run, &action, context, state, adjoint, &run->tape);
		REEL_ASSERT(error || run->steps_on_tape >= 0);
		error = conclude(run, &action, context, adjoint, error);
		if (error) {
			reel_run_enter(run, REEL_RUN_IDLE);
			return error;
		}
	}
}

int reel_run_reverse(reel_run *run, void *context, void *state, void *adjoint)
{
	int error;

	end_if_left(run);
	enter_function(run);
	error = go_back(run, context, state, adjoint);
	leave_function(run);
	return error;
}

void reel_run_give_up(reel_run *run)
{
	reel_run_enter(run, REEL_RUN_IDLE);
}

bool reel_run_is_reversing(const reel_run *run)
{
	return run->phase == REEL_RUN_REVERSE;
}

/* ---- Queries ---- */

int64_t reel_run_steps(const reel_run *run)
{
	return run->steps;
}

const struct reel_run_group *reel_run_group(const reel_run *run)
{
	return &run->group;
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
		/* Relaxed is enough: a counter, which orders nothing. */
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
