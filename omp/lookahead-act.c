/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lookahead.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tape/tape.h"

/* ---- Pieces of actions ---- */

/* With `aloud`, a tape that fails reports it: nothing is left to be tried. */
static int attempt(struct reel_omp_entry *entry, const reel_action *action,
		   const struct reel_omp_state *state, reel_tape *tape, bool aloud)
{
	struct reel_omp_sweep *sweep = entry->sweep;
	bool reverses = action->kind == REEL_ACTION_REVERSE;
	int error;

	if (tape && !aloud)
		tape->flags |= REEL_TAPE_SILENT;
	error = reel_checkpoint_attempt(sweep->run, action,
					reverses ? sweep->context : state->context, state->data,
					reverses ? sweep->adjoint : NULL, tape, entry->message);
	if (tape) {
		tape->flags &= ~REEL_TAPE_SILENT;
		reel_tape_hand_over(tape);
	}
	return error;
}

static int fail_copy(struct reel_omp_entry *entry, int error, const char *what)
{
	if (error < 0)
		snprintf(entry->message, sizeof entry->message,
			 "%s of a state to record from again returned %d (%s)", what, error,
			 strerror(-error));
	return error;
}

static int keep_state(struct reel_omp_entry *entry, struct reel_omp_lane *lane,
		      const struct reel_omp_state *state)
{
	const reel_model *model = entry->sweep->model;

	if (model->save)
		return fail_copy(entry, model->save(state->context, state->data, lane->before.data),
				 "save");
	memcpy(lane->before.data, state->data, model->state_bytes);
	return 0;
}

static int bring_back_state(struct reel_omp_entry *entry, const struct reel_omp_lane *lane,
			    struct reel_omp_state *state)
{
	const reel_model *model = entry->sweep->model;

	if (model->load)
		return fail_copy(entry, model->load(state->context, state->data, lane->before.data),
				 "load");
	memcpy(state->data, lane->before.data, model->state_bytes);
	return 0;
}

static int starve(struct reel_omp_entry *entry, int error)
{
	entry->starved = true;
	return error;
}

/* ---- Tapes that are counted ---- */

static unsigned count_tape(struct reel_omp_sweep *sweep)
{
	unsigned before = atomic_fetch_add_explicit(&sweep->tapes, 1, memory_order_relaxed);
	unsigned most = atomic_load_explicit(&sweep->max_tapes, memory_order_relaxed);

	while (before + 1 > most &&
	       !atomic_compare_exchange_weak_explicit(&sweep->max_tapes, &most, before + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
	return before;
}

static void uncount_tape(struct reel_omp_sweep *sweep)
{
	atomic_fetch_sub_explicit(&sweep->tapes, 1, memory_order_relaxed);
}

static void empty_lane(struct reel_omp_sweep *sweep, struct reel_omp_lane *lane,
		       enum reel_omp_contents contents)
{
	reel_tape_close(lane->tape);
	uncount_tape(sweep);
	if (lane->contents == REEL_OMP_RECORDED)
		atomic_fetch_sub_explicit(&sweep->recorded, 1, memory_order_relaxed);
	lane->contents = contents;
	if (contents == REEL_OMP_MISSING)
		atomic_fetch_add_explicit(&sweep->dropped, 1, memory_order_relaxed);
}

/* Without the state before it, a tape is not recorded again. */
static bool can_be_given_up(const struct reel_omp_lane *lane)
{
	return lane->contents == REEL_OMP_RECORDED && lane->before.data;
}

/* Those that were recorded ahead, while this thread is alone. False: there was none. */
static bool give_up_tapes(struct reel_omp_sweep *sweep)
{
	bool any = false;

	for (unsigned i = 0; i < sweep->lanes; i++) {
		if (!can_be_given_up(&sweep->lane[i]))
			continue;
		empty_lane(sweep, &sweep->lane[i], REEL_OMP_MISSING);
		any = true;
	}
	return any;
}

/* ---- Records ---- */

/* The tape is counted; it is no more if this fails. */
static int record(struct reel_omp_entry *entry, struct reel_omp_lane *lane,
		  const struct reel_omp_state *state, bool aloud, bool *tape_failed)
{
	struct reel_omp_sweep *sweep = entry->sweep;
	int error;

	reel_tape_open(lane->tape, reel_checkpoint_pool(sweep->run), 0);
	error = attempt(entry, &lane->record, state, lane->tape, aloud);
	*tape_failed = error && reel_tape_error(lane->tape);
	if (error) {
		empty_lane(sweep, lane, REEL_OMP_EMPTY);
		return error;
	}
	lane->contents = REEL_OMP_RECORDED;
	atomic_fetch_add_explicit(&sweep->recorded, 1, memory_order_relaxed);
	reel_omp_note_record(sweep, lane->tape);
	return 0;
}

static void leave_missing(struct reel_omp_sweep *sweep, struct reel_omp_lane *lane)
{
	lane->contents = REEL_OMP_MISSING;
	atomic_fetch_add_explicit(&sweep->dropped, 1, memory_order_relaxed);
}

static int record_on_lane(struct reel_omp_entry *entry)
{
	struct reel_omp_sweep *sweep = entry->sweep;
	struct reel_omp_lane *lane = entry->lane;
	bool can_wait = lane->before.data, tape_failed;
	int error = can_wait ? keep_state(entry, lane, entry->state) : 0;
	unsigned others;

	if (error)
		return error;
	lane->record = entry->action;
	others = count_tape(sweep);
	if (can_wait && (sweep->alone || others >= atomic_load_explicit(&sweep->limit,
									memory_order_relaxed))) {
		uncount_tape(sweep);
		leave_missing(sweep, lane);
		return 0;
	}
	error = record(entry, lane, entry->state, !can_wait, &tape_failed);
	if (can_wait && tape_failed) {
		reel_omp_note_refusal(sweep, others);
		leave_missing(sweep, lane);
		return 0;
	}
	if (!error && others)
		atomic_fetch_add_explicit(&sweep->ahead, 1, memory_order_relaxed);
	return error;
}

/* What the plan keeps: in order, so that it can go on one tape. */
static int record_to_keep(struct reel_omp_entry *entry)
{
	struct reel_omp_lane *lane = entry->lane;
	reel_mark mark = reel_tape_mark(lane->tape);
	int error, other_error;

	if (!lane->before.data)
		return attempt(entry, &entry->action, entry->state, lane->tape, true);
	error = keep_state(entry, lane, entry->state);
	if (error)
		return error;
	error = attempt(entry, &entry->action, entry->state, lane->tape, false);
	if (!error || !reel_tape_error(lane->tape))
		return error;
	reel_tape_rewind(lane->tape, mark);
	reel_tape_clear_error(lane->tape);
	other_error = bring_back_state(entry, lane, entry->state);
	if (other_error)
		return other_error;
	if (!entry->sweep->alone)
		return starve(entry, error);
	give_up_tapes(entry->sweep);
	return attempt(entry, &entry->action, entry->state, lane->tape, true);
}

static int record_again_from(struct reel_omp_entry *entry, bool aloud, bool *tape_failed)
{
	struct reel_omp_sweep *sweep = entry->sweep;
	int error = bring_back_state(entry, entry->lane, &sweep->spare);

	*tape_failed = false;
	if (error)
		return error;
	count_tape(sweep);
	return record(entry, entry->lane, &sweep->spare, aloud, tape_failed);
}

/* It is next in line: if there is no memory now, those after it have to give theirs up. */
static int record_again(struct reel_omp_entry *entry)
{
	bool tape_failed;
	int error = record_again_from(entry, false, &tape_failed);

	if (!tape_failed)
		return error;
	entry->lane->contents = REEL_OMP_MISSING;
	if (!entry->sweep->alone)
		return starve(entry, error);
	give_up_tapes(entry->sweep);
	return record_again_from(entry, true, &tape_failed);
}

/* ---- Actions ---- */

static int reverse(struct reel_omp_entry *entry)
{
	struct reel_omp_lane *lane = entry->lane;
	int error = 0;

	if (lane->contents == REEL_OMP_MISSING)
		error = record_again(entry);
	if (error)
		return error;
	error = attempt(entry, &entry->action, entry->state, lane->tape, true);
	if (lane->contents != REEL_OMP_RECORDED)
		return error;
	/* It has the records of one action, and nothing below them. */
	if (!error)
		error = reel_checkpoint_check_balance(entry->sweep->run, &entry->action, lane->tape,
						      entry->message);
	empty_lane(entry->sweep, lane, REEL_OMP_EMPTY);
	return error;
}

static bool is_want_of_memory(int error)
{
	return error == -EDQUOT || error == -ENOMEM;
}

static int copy_snapshot(struct reel_omp_entry *entry)
{
	int error = attempt(entry, &entry->action, entry->state, NULL, true);

	if (!is_want_of_memory(error))
		return error;
	if (!entry->sweep->alone)
		return starve(entry, error);
	return give_up_tapes(entry->sweep) ?
		       attempt(entry, &entry->action, entry->state, NULL, true) : error;
}

static int act(struct reel_omp_entry *entry)
{
	switch (entry->action.kind) {
	case REEL_ACTION_RECORD:
		return entry->lane == &entry->sweep->kept ? record_to_keep(entry)
							  : record_on_lane(entry);
	case REEL_ACTION_REVERSE:
		return reverse(entry);
	case REEL_ACTION_STORE:
	case REEL_ACTION_LOAD:
		return copy_snapshot(entry);
	default:
		return attempt(entry, &entry->action, entry->state, NULL, true);
	}
}

/* All with lower numbers go on: one of them may be what a serial sweep fails at. */
static void stop_at(struct reel_omp_sweep *sweep, int64_t number)
{
	int64_t stop = atomic_load_explicit(&sweep->stop, memory_order_relaxed);

	while (number < stop &&
	       !atomic_compare_exchange_weak_explicit(&sweep->stop, &stop, number,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

bool reel_omp_carry_out(struct reel_omp_entry *entry)
{
	struct reel_omp_sweep *sweep = entry->sweep;
	int error;

	if (entry->number > atomic_load_explicit(&sweep->stop, memory_order_relaxed))
		return false;
	error = act(entry);
	if (!error) {
		atomic_fetch_add_explicit(&sweep->actions, 1, memory_order_relaxed);
		return true;
	}
	if (sweep->alone || !entry->starved)
		entry->error = error;
	stop_at(sweep, entry->number);
	return false;
}
