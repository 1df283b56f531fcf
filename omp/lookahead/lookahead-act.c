/* SPDX-License-Identifier: MIT */
/*
 * Carries out one action of a sweep that looks ahead. Any thread of the sweep runs these functions,
 * without the sweep's lock; the order of actions gives it the states and tapes that it touches. A
 * RECORD without memory leaves its tape MISSING, and its REVERSE records the steps again. Only the
 * thread that is alone takes the memory of tapes that other actions recorded.
 */
#include "config.h"

#include "lookahead.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/assert.h"
#include "os/counter.h"
#include "os/error.h"
#include "tape/tape.h"

/* ---- Agreement with the other processes ---- */

/*
 * A process tells the others its requests before an action, or its lack of memory in one. If one of
 * them does, all act alike.
 */
enum ahead_request {
	AHEAD_SKIP = 1,  /* an earlier action had no memory, or failed */
	AHEAD_AGAIN = 2, /* the steps are recorded when the sweep needs them */
	AHEAD_MEMORY = 4 /* a tape failed, or there was no memory: the action can be tried again */
};

/*
 * A DROP sends nothing, and fails only if the plan is wrong, which is the same on all processes:
 * each drops its snapshot for itself.
 */
static int agree(const struct ahead_action *entry, int error, unsigned *requests)
{
	switch (entry->action.kind) {
	case REEL_ACTION_DROP:
		return error;
	case REEL_ACTION_REVERSE:
		return reel_group_agree(&entry->sweep->reverse_group, error, requests);
	default:
		return reel_group_agree(&entry->state->group, error, requests);
	}
}

/* ---- Pieces of actions ---- */

/* With `aloud` the tape reports its errors. Without, the caller can still try something else. */
static int perform(struct ahead_action *entry, const reel_action *action,
		   const struct ahead_state *state, reel_tape *tape, bool aloud)
{
	struct ahead_sweep *sweep = entry->sweep;
	bool reverses = action->kind == REEL_ACTION_REVERSE;
	int error;

	REEL_ASSERT(!tape == (action->kind != REEL_ACTION_RECORD && !reverses));
	if (tape && !aloud)
		tape->flags |= REEL_TAPE_SILENT;
	error = reel_run_carry_out(sweep->run, action, reverses ? sweep->context : state->context,
				   state->data, reverses ? sweep->adjoint : NULL, tape);
	if (tape) {
		tape->flags &= ~REEL_TAPE_SILENT;
		reel_tape_hand_over(tape);
	}
	return error;
}

/* Sets *tape_failed if a process failed for its tape: such a RECORD can be tried again. */
static int perform_record(struct ahead_action *entry, const reel_action *action,
			  const struct ahead_state *state, reel_tape *tape, bool aloud,
			  bool *tape_failed)
{
	int error = perform(entry, action, state, tape, aloud);
	unsigned lacks = error && reel_tape_error(tape) ? AHEAD_MEMORY : 0;

	error = agree(entry, error, &lacks);
	*tape_failed = lacks;
	return error;
}

static int fail_copy(int error, const char *what)
{
	/* Mutants survive (sign): it changes the text only. */
	return error >= 0 ? error
			  : reel_fail(error, "%s of a state to record from again returned %d (%s)",
				      what, error, strerror(-error));
}

/* Copies a state to the memory beside an ahead tape, or brings it back from there. */
static int copy_state(struct ahead_action *entry, const struct ahead_tape *ahead_tape,
		      const struct ahead_state *state, bool back)
{
	const reel_model *model = entry->sweep->model;
	void *before = ahead_tape->before.data;
	int error = 0;

	REEL_ASSERT(before && !model->save == !model->load);
	if (!model->save)
		memcpy(back ? state->data : before, back ? before : state->data,
		       model->state_bytes);
	else if (back)
		error = fail_copy(model->load(state->context, state->data, before), "load");
	else
		error = fail_copy(model->save(state->context, state->data, before), "save");
	return agree(entry, error, NULL);
}

/* Leaves the action to the thread that goes on alone. */
static int starve(struct ahead_action *entry, int error)
{
	entry->had_no_memory = true;
	return error;
}

/* ---- The number of tapes in use ---- */

/* Returns the number of other ahead tapes in use. */
static unsigned count_tape(struct ahead_sweep *sweep)
{
	unsigned before = atomic_fetch_add_explicit(&sweep->tapes, 1, memory_order_relaxed);

	REEL_ASSERT(before < sweep->ahead_tapes);
	reel_counter_raise(&sweep->max_tapes, before + 1);
	return before;
}

static void uncount_tape(struct ahead_sweep *sweep)
{
	atomic_fetch_sub_explicit(&sweep->tapes, 1, memory_order_relaxed);
}

static void empty_tape(struct ahead_sweep *sweep, struct ahead_tape *ahead_tape,
		       enum ahead_contents contents)
{
	REEL_ASSERT(ahead_tape != &sweep->kept && contents != AHEAD_RECORDED);
	reel_tape_close(ahead_tape->tape);
	uncount_tape(sweep);
	if (ahead_tape->contents == AHEAD_RECORDED)
		atomic_fetch_sub_explicit(&sweep->recorded, 1, memory_order_relaxed);
	ahead_tape->contents = contents;
	if (contents == AHEAD_MISSING)
		atomic_fetch_add_explicit(&sweep->dropped, 1, memory_order_relaxed);
}

/* Frees the tapes that were recorded ahead. Returns false if there was none. */
static bool give_up_tapes(struct ahead_sweep *sweep)
{
	bool any = false;

	REEL_ASSERT(sweep->alone);
	for (unsigned i = 0; i < sweep->ahead_tapes; i++) {
		struct ahead_tape *ahead_tape = &sweep->ahead_tape[i];

		/* A tape can be recorded again only if the state before it was kept. */
		if (ahead_tape->contents != AHEAD_RECORDED || !ahead_tape->before.data)
			continue;
		empty_tape(sweep, ahead_tape, AHEAD_MISSING);
		any = true;
	}
	return any;
}

/* ---- Records ---- */

/* Records on a tape that count_tape() has counted. If this fails, the tape is no longer counted. */
static int record(struct ahead_action *entry, struct ahead_tape *ahead_tape,
		  const struct ahead_state *state, bool aloud, bool *tape_failed)
{
	struct ahead_sweep *sweep = entry->sweep;
	int error;

	REEL_ASSERT(ahead_tape->contents != AHEAD_RECORDED);
	reel_tape_open(ahead_tape->tape, reel_run_pool(sweep->run), 0);
	error = perform_record(entry, &ahead_tape->record, state, ahead_tape->tape, aloud,
			       tape_failed);
	if (error) {
		empty_tape(sweep, ahead_tape, AHEAD_EMPTY);
		return error;
	}
	ahead_tape->contents = AHEAD_RECORDED;
	atomic_fetch_add_explicit(&sweep->recorded, 1, memory_order_relaxed);
	reel_omp_note_record(sweep, ahead_tape->tape);
	return 0;
}

static void leave_missing(struct ahead_sweep *sweep, struct ahead_tape *ahead_tape)
{
	REEL_ASSERT(sweep->keeps_states);
	ahead_tape->contents = AHEAD_MISSING;
	atomic_fetch_add_explicit(&sweep->dropped, 1, memory_order_relaxed);
}

static int record_on_tape(struct ahead_action *entry, bool later)
{
	struct ahead_sweep *sweep = entry->sweep;
	struct ahead_tape *ahead_tape = entry->ahead_tape;
	bool can_wait = sweep->keeps_states, tape_failed;
	int error = can_wait ? copy_state(entry, ahead_tape, entry->state, false) : 0;

	REEL_ASSERT(ahead_tape->contents == AHEAD_EMPTY && entry->counted);
	ahead_tape->record = entry->action;
	if (error || later)
		uncount_tape(sweep);
	if (error)
		return error;
	if (later) {
		leave_missing(sweep, ahead_tape);
		return 0;
	}
	error = record(entry, ahead_tape, entry->state, !can_wait, &tape_failed);
	if (can_wait && tape_failed) {
		reel_omp_note_refusal(sweep, entry->others);
		leave_missing(sweep, ahead_tape);
		return 0;
	}
	if (!error && entry->others)
		atomic_fetch_add_explicit(&sweep->ahead, 1, memory_order_relaxed);
	return error;
}

/*
 * Records on the tape of the run. These RECORDs are carried out in the order of the plan, so one
 * tape is enough for all of them.
 */
static int record_to_keep(struct ahead_action *entry)
{
	struct ahead_tape *ahead_tape = entry->ahead_tape;
	bool can_wait = entry->sweep->keeps_states, tape_failed;
	reel_mark before = reel_tape_mark(ahead_tape->tape);
	int error = can_wait ? copy_state(entry, ahead_tape, entry->state, false) : 0, other_error;

	/* `contents` is for ahead tapes: nothing may free the tape of the run. */
	REEL_ASSERT(ahead_tape->contents == AHEAD_EMPTY);
	if (error)
		return error;
	error = perform_record(entry, &entry->action, entry->state, ahead_tape->tape, !can_wait,
			       &tape_failed);
	if (!can_wait || !tape_failed)
		return error;
	reel_run_take_back(entry->sweep->run, &entry->action, before);
	other_error = copy_state(entry, ahead_tape, entry->state, true);
	if (other_error)
		return other_error;
	if (!entry->sweep->alone)
		return starve(entry, error);
	give_up_tapes(entry->sweep);
	return perform_record(entry, &entry->action, entry->state, ahead_tape->tape, true,
			      &tape_failed);
}

static int record_again_from(struct ahead_action *entry, bool aloud, bool *tape_failed)
{
	struct ahead_sweep *sweep = entry->sweep;
	int error = copy_state(entry, entry->ahead_tape, &sweep->spare, true);

	REEL_ASSERT(entry->ahead_tape->contents == AHEAD_MISSING);
	*tape_failed = false;
	if (error)
		return error;
	count_tape(sweep);
	return record(entry, entry->ahead_tape, &sweep->spare, aloud, tape_failed);
}

/*
 * The sweep cannot go on without this tape. If there is no memory for it, the tapes recorded ahead
 * are freed. The tape of this process may be recorded when the tape of another is not.
 */
static int record_again(struct ahead_action *entry)
{
	bool tape_failed;
	int error;

	if (entry->ahead_tape->contents == AHEAD_RECORDED)
		empty_tape(entry->sweep, entry->ahead_tape, AHEAD_MISSING);
	error = record_again_from(entry, false, &tape_failed);
	if (!tape_failed)
		return error;
	entry->ahead_tape->contents = AHEAD_MISSING;
	if (!entry->sweep->alone)
		return starve(entry, error);
	give_up_tapes(entry->sweep);
	return record_again_from(entry, true, &tape_failed);
}

/* ---- Actions ---- */

static int reverse(struct ahead_action *entry, bool again)
{
	struct ahead_tape *ahead_tape = entry->ahead_tape;
	bool is_recorded;
	int error = again ? record_again(entry) : 0;

	if (error)
		return error;
	is_recorded = ahead_tape->contents == AHEAD_RECORDED;
	REEL_ASSERT(ahead_tape == &entry->sweep->kept || is_recorded);
	error = perform(entry, &entry->action, entry->state, ahead_tape->tape, true);
	/* An ahead tape has the values of one action only, so it is empty now. */
	if (!error && is_recorded)
		error = reel_run_check_balance(entry->sweep->run, &entry->action, ahead_tape->tape);
	if (is_recorded)
		empty_tape(entry->sweep, ahead_tape, AHEAD_EMPTY);
	return agree(entry, error, NULL);
}

static bool is_want_of_memory(int error)
{
	return error == -EDQUOT || error == -ENOMEM;
}

/*
 * A process that has copied its snapshot does not copy it again when the action is carried out once
 * more because another process had no memory.
 */
static int copy_snapshot(struct ahead_action *entry)
{
	bool alone = entry->sweep->alone;
	int error = entry->copied ? 0 : perform(entry, &entry->action, entry->state, NULL, true);
	unsigned lacks;

	if (alone && is_want_of_memory(error) && give_up_tapes(entry->sweep))
		error = perform(entry, &entry->action, entry->state, NULL, true);
	entry->copied = !error;
	lacks = is_want_of_memory(error) ? AHEAD_MEMORY : 0;
	error = agree(entry, error, &lacks);
	return lacks && !alone ? starve(entry, error) : error;
}

static int act(struct ahead_action *entry, bool again)
{
	switch (entry->action.kind) {
	case REEL_ACTION_RECORD:
		return entry->ahead_tape == &entry->sweep->kept ? record_to_keep(entry)
								: record_on_tape(entry, again);
	case REEL_ACTION_REVERSE:
		return reverse(entry, again);
	case REEL_ACTION_STORE:
	case REEL_ACTION_LOAD:
		return copy_snapshot(entry);
	default:
		return agree(entry, perform(entry, &entry->action, entry->state, NULL, true), NULL);
	}
}

/* Counts the ahead tape of a RECORD, so that no two threads take the last one within the limit. */
static unsigned requests_before(struct ahead_action *entry)
{
	struct ahead_sweep *sweep = entry->sweep;
	const struct ahead_tape *ahead_tape = entry->ahead_tape;

	entry->counted = false;
	if (entry->number > atomic_load_explicit(&sweep->stop, memory_order_relaxed))
		return AHEAD_SKIP;
	if (entry->action.kind == REEL_ACTION_REVERSE)
		return ahead_tape->contents == AHEAD_MISSING ? AHEAD_AGAIN : 0;
	if (entry->action.kind != REEL_ACTION_RECORD || ahead_tape == &sweep->kept)
		return 0;
	entry->others = count_tape(sweep);
	entry->counted = true;
	/* Beyond the limit of tapes the sweep records the steps when it needs them. */
	return sweep->keeps_states &&
			       (sweep->alone ||
				entry->others >= atomic_load_explicit(&sweep->limit,
								      memory_order_relaxed))
		       ? AHEAD_AGAIN
		       : 0;
}

/* Actions with lower numbers go on: a serial sweep may fail at one of them first. */
static void stop_at(struct ahead_sweep *sweep, int64_t number)
{
	int64_t stop = atomic_load_explicit(&sweep->stop, memory_order_relaxed);

	while (number < stop &&
	       !atomic_compare_exchange_weak_explicit(&sweep->stop, &stop, number,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

bool reel_omp_carry_out(struct ahead_action *entry)
{
	struct ahead_sweep *sweep = entry->sweep;
	unsigned requests = requests_before(entry);
	int error;

	REEL_ASSERT(!entry->done);
	error = agree(entry, 0, &requests);
	if (entry->counted && (error || requests & AHEAD_SKIP))
		uncount_tape(sweep);
	if (!error && requests & AHEAD_SKIP) {
		/*
		 * Also if only another process skips: later actions must also be skipped here. A
		 * DROP is not agreed on, so without this it would come before the action that it
		 * waits for.
		 */
		stop_at(sweep, entry->number);
		return false;
	}
	if (!error)
		error = act(entry, requests & AHEAD_AGAIN);
	if (!error) {
		atomic_fetch_add_explicit(&sweep->actions, 1, memory_order_relaxed);
		return true;
	}
	if (sweep->alone || !entry->had_no_memory) {
		entry->error = error;
		snprintf(entry->text, sizeof entry->text, "%s", reel_error_text(error));
	}
	stop_at(sweep, entry->number);
	return false;
}
