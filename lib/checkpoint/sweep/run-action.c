/* SPDX-License-Identifier: MIT */
/*
 * Carries one action of a run out. The owner of the run does so, or several threads at the same
 * time by reel_run_carry_out(): the members that they change are atomic or guarded by
 * `snapshots.lock`.
 *
 * An action of the plan counts its steps, which are segments. A piece counts steps of the model: it
 * is a RECORD or a REVERSE, or an ADVANCE or a part of one. The model's callbacks carry a piece
 * out, or the program does (reel_run_next()); reel_piece_end() then looks at the tape and the
 * state.
 */
#include "config.h"

#include "sweep.h"

#include <errno.h>
#include <string.h>

#include "os/clock.h"
#include "os/counter.h"
#include "os/error.h"
#include "os/integer.h"
#include "plan/plan.h"
#include "store/store.h"
#include "tape/tape.h"
#include "trace/trace.h"
#include "checkpoint/run/run-loss.h"
#include "checkpoint/run/run-packer.h"
#include "checkpoint/watch/watch.h"
#include "spill/owner/offload.h"

static const enum reel_trace_kind kinds[] = {
	[REEL_ACTION_ADVANCE] = REEL_TRACE_ADVANCE, [REEL_ACTION_RECORD] = REEL_TRACE_RECORD,
	[REEL_ACTION_REVERSE] = REEL_TRACE_REVERSE, [REEL_ACTION_STORE] = REEL_TRACE_STORE,
	[REEL_ACTION_LOAD] = REEL_TRACE_LOAD,	    [REEL_ACTION_DROP] = REEL_TRACE_DROP,
};

/* ---- Pieces ---- */

static void count(reel_run *run, unsigned counter, int64_t more)
{
	REEL_ASSERT(counter < REEL_RUN_COUNTS && more >= 0);
	/* Relaxed is enough: a counter, which orders nothing. */
	atomic_fetch_add_explicit(&run->counts[counter], (uint64_t)more, memory_order_relaxed);
}

/* Describes the error of a callback. A value above 0 is no failure: it stops the sweep early. */
static int callback(int error, const char *what, int64_t first, int64_t last)
{
	REEL_ASSERT(error && first <= last);
	return error > 0
		       ? error
		       : reel_fail(error, "%s of steps %lld to %lld returned %d (%s)", what,
				   (long long)first, (long long)last - 1, error, strerror(-error));
}

static int tape_error(const reel_tape *tape, const reel_action *piece)
{
	int error = reel_tape_error(tape);

	return error ? reel_fail(error, "the tape failed in %s of steps %lld to %lld: %s",
				 reel_action_name(piece->kind), (long long)piece->first,
				 (long long)piece->last - 1, reel_strerror(error))
		     : 0;
}

int reel_piece_end(reel_run *run, const reel_action *piece, void *context, const void *state,
		   reel_tape *tape, int error)
{
	int64_t steps = piece->last - piece->first;

	REEL_ASSERT(piece->kind < REEL_PIECE_KINDS && steps >= 0);
	/* Also after an error: the steps may be on the tape in part. */
	if (tape == &run->tape && piece->kind == REEL_ACTION_RECORD)
		run->steps_on_tape += steps;
	if (error)
		return callback(error, reel_action_name(piece->kind), piece->first, piece->last);
	/*
	 * One REVERSE may undo several RECORDs or a part of one. So the tape is known to be empty
	 * only when no recorded step is left on it.
	 */
	if (tape == &run->tape && piece->kind == REEL_ACTION_REVERSE) {
		run->steps_on_tape -= steps;
		if (!run->steps_on_tape)
			reel_tape_check_balance(tape, piece->first, piece->last);
	}
	error = piece->kind == REEL_ACTION_ADVANCE ? 0 : tape_error(tape, piece);
	if (error)
		return error;
	count(run, piece->kind, steps);
	if (piece->kind == REEL_ACTION_REVERSE)
		return 0;
	if (piece->kind == REEL_ACTION_RECORD)
		reel_counter_raise(&run->peak_tape_bytes, reel_tape_bytes(tape));
	return reel_audit_state(run, context, state, piece->first, piece->last);
}

static int call(reel_run *run, const reel_action *piece, void *context, void *state, void *adjoint,
		reel_tape *tape)
{
	const reel_model *model = &run->model;

	switch (piece->kind) {
	case REEL_ACTION_ADVANCE:
		return model->advance(context, state, piece->first, piece->last);
	case REEL_ACTION_RECORD:
		return model->record(context, state, piece->first, piece->last, tape);
	default:
		REEL_ASSERT(piece->kind == REEL_ACTION_REVERSE);
		return model->reverse(context, adjoint, piece->first, piece->last, tape);
	}
}

static void trace_piece(const reel_action *piece, uint64_t ns)
{
	uint64_t now = reel_clock_ns();

	/* A program may say how long a piece took, on a device for one. */
	REEL_TRACE_UNTIL(now, kinds[piece->kind], ns < now ? now - ns : 1, piece->first,
			 piece->last);
}

void reel_piece_note_time(reel_run *run, const reel_action *piece, uint64_t ns,
			  uint64_t waited_ns)
{
	REEL_ASSERT(piece->kind <= REEL_ACTION_REVERSE);
	/* Relaxed, both: counters, which order nothing. */
	atomic_fetch_add_explicit(&run->ns[piece->kind], ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&run->waited_ns[piece->kind], reel_min_u64(ns, waited_ns),
				  memory_order_relaxed);
	if (reel_traces())
		trace_piece(piece, ns);
}

int reel_piece_call(reel_run *run, const reel_action *piece, void *context, void *state,
		    void *adjoint, reel_tape *tape)
{
	uint64_t since = reel_clock_ns(), waited = reel_offload_waited_ns(), ns;
	int error = call(run, piece, context, state, adjoint, tape);

	REEL_ASSERT(run->model.advance && run->model.record && run->model.reverse);
	ns = reel_clock_ns() - since;
	reel_piece_note_time(run, piece, ns, reel_offload_waited_ns() - waited);
	error = reel_piece_end(run, piece, context, state, tape, error);
	if (!error)
		reel_progress_note(run, piece, ns);
	return error;
}

void reel_run_take_back(reel_run *run, const reel_action *record, reel_mark before)
{
	run->steps_on_tape -= reel_run_step_of(run, record->last) -
			      reel_run_step_of(run, record->first);
	REEL_ASSERT(run->steps_on_tape >= 0);
	reel_tape_rewind(&run->tape, before);
	reel_tape_clear_error(&run->tape);
}

int reel_run_check_balance(reel_run *run, const reel_action *reversed, reel_tape *tape)
{
	reel_action piece = reel_run_piece_of(run, reversed);

	REEL_ASSERT(tape != &run->tape);
	reel_tape_check_balance(tape, piece.first, piece.last);
	return tape_error(tape, &piece);
}

/* ---- Snapshots ---- */

static int fail_snapshot(const reel_run *run, int error, const char *what,
			 const reel_action *action)
{
	REEL_ASSERT(error < 0);
	return reel_fail(error, "%s of state %lld, slot %u of tier %u: %s", what,
			 (long long)reel_run_step_of(run, action->first), action->slot,
			 action->tier, reel_store_strerror(error));
}

/* Returns the error of a STORE whose snapshot the packer could not bring to its slot. */
static int packing_error(reel_run *run)
{
	reel_action failed;
	int error = reel_packer_error(run, &failed);

	return error ? fail_snapshot(run, error, "store", &failed) : 0;
}

static int store_whole(reel_run *run, const reel_action *action, void *context, const void *state)
{
	int64_t step = reel_run_step_of(run, action->first);
	void *data;
	int error = reel_snapshot_reserve(&run->snapshots, action->tier, action->slot,
					  action->first, run->model.state_bytes, &data);

	if (error)
		return fail_snapshot(run, error, "store", action);
	error = reel_run_save_state(run, context, state, data);
	if (error) {
		reel_snapshot_drop(&run->snapshots, action->tier, action->slot, action->first);
		return callback(error, "save", step, step + 1);
	}
	reel_snapshot_commit(&run->snapshots, action->tier, action->slot);
	return 0;
}

static int store_packed(reel_run *run, const reel_action *action, void *context, const void *state)
{
	int64_t step = reel_run_step_of(run, action->first);
	int error = reel_packer_store(run, action, context, state);

	return error ? callback(error, "save", step, step + 1) : packing_error(run);
}

static int run_store(reel_run *run, const reel_action *action, void *context, const void *state)
{
	int64_t step = reel_run_step_of(run, action->first);
	int error = (reel_loss_in(run, action->tier) ? store_packed : store_whole)(
		run, action, context, state);

	if (error)
		return error;
	count(run, REEL_RUN_STORES + action->tier, 1);
	return reel_audit_state(run, context, state, step, step);
}

static int run_load(reel_run *run, const reel_action *action, void *context, void *state)
{
	int64_t step = reel_run_step_of(run, action->first);
	const void *data;
	int error;

	reel_packer_finish(run, action);
	error = packing_error(run);
	if (error)
		return error;
	error = reel_snapshot_pin(&run->snapshots, action->tier, action->slot, action->first, true,
				  &data);
	if (error)
		return fail_snapshot(run, error, "load", action);
	if (reel_loss_in(run, action->tier))
		error = reel_packer_load(run, context, state, data,
					 reel_snapshot_bytes(&run->snapshots, action->tier,
							     action->slot));
	else
		error = reel_run_load_state(run, context, state, data);
	reel_snapshot_unpin(&run->snapshots, action->tier, action->slot);
	if (error)
		return callback(error, "load", step, step + 1);
	count(run, REEL_RUN_LOADS + action->tier, 1);
	return reel_audit_state(run, context, state, step, step);
}

static int run_drop(reel_run *run, const reel_action *action)
{
	int error;

	reel_packer_finish(run, action);
	error = packing_error(run);
	if (error)
		return error;
	error = reel_snapshot_drop(&run->snapshots, action->tier, action->slot, action->first);
	return error ? fail_snapshot(run, error, "drop", action) : 0;
}

static int act_on_snapshot(reel_run *run, const reel_action *action, void *context, void *state)
{
	uint64_t since = reel_trace_begin();
	int error = action->kind == REEL_ACTION_STORE  ? run_store(run, action, context, state)
		    : action->kind == REEL_ACTION_LOAD ? run_load(run, action, context, state)
						       : run_drop(run, action);

	REEL_ASSERT(action->kind >= REEL_ACTION_STORE && action->tier < run->snapshots.tiers);
	REEL_TRACE_UNTIL(reel_clock_ns(), kinds[action->kind], since,
			 reel_run_step_of(run, action->first), action->slot, action->tier);
	return error;
}

/* ---- All actions ---- */

int reel_run_act(reel_run *run, const reel_action *action, void *context, void *state,
		 void *adjoint, reel_tape *tape)
{
	reel_action piece;

	if (action->kind == REEL_ACTION_DONE)
		return 0;
	if (action->kind >= REEL_PIECE_KINDS)
		return act_on_snapshot(run, action, context, state);
	piece = reel_run_piece_of(run, action);
	return reel_piece_call(run, &piece, context, state, adjoint, tape ? tape : &run->tape);
}
