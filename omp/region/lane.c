/* SPDX-License-Identifier: MIT */
/*
 * Lanes: their two tapes, their notes and their errors. lane-tree.c has what is done to a lane and
 * to all lanes in it. The thread that has a lane calls these functions; reel_lane_end_waits() is
 * called by any thread.
 *
 * After an error nothing more is noted, and both tapes give all ones. A lane that is made in a hold
 * is held as deep as its parent.
 */
#include "config.h"

#include "os/error.h"
#include "tape/lane-listener.h"
#include "lane.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "observe.h"
#include "pool/pool.h"
#include "tape/tape.h"
#include "wait.h"

/* ---- Beginning and end ---- */

static unsigned flags_of(const reel_lane *lane)
{
	return lane->tape.flags & REEL_CHECKED;
}

/*
 * The tape asks its pool for checked mode only at its first push, and a lane may compare loops
 * before that, or never push. So the root asks at once, and its lanes take its flag.
 */
static int open_tapes(reel_lane *lane, reel_pool *pool, unsigned flags)
{
	int error = reel_tape_open(&lane->tape, pool, flags);

	if (!error && lane->tape.pool->flags & REEL_POOL_CHECKED)
		lane->tape.flags |= REEL_CHECKED;
	lane->tape.flags |= REEL_TAPE_LANE;
	if (!error)
		error = reel_tape_open(&lane->notes, pool, 0);
	lane->notes.flags |= REEL_TAPE_SILENT | REEL_TAPE_NOTES;
	return error;
}

static reel_lane *allocate(void)
{
	reel_lane *lane = aligned_alloc(REEL_CACHE_SPACING, sizeof *lane);

	if (lane)
		memset(lane, 0, sizeof *lane);
	return lane;
}

/*
 * Holds a new lane as deep as its parent: it was empty when these holds began. A refusal is not
 * reported here, and ends no waits: the caller tries again, or reports that there is no lane.
 */
static int hold_as_parent(reel_lane *lane, const reel_lane *parent)
{
	int error = 0;

	lane->tape.flags = (lane->tape.flags & ~REEL_TAPE_LANE) | REEL_TAPE_SILENT;
	while (!error && lane->holds < parent->holds)
		error = reel_lane_hold(lane);
	lane->tape.flags = (lane->tape.flags & ~REEL_TAPE_SILENT) | REEL_TAPE_LANE;
	return error;
}

/* Called by the tape when it gets an error. */
static void lane_failed(reel_tape *tape)
{
	REEL_ASSERT(tape->flags & REEL_TAPE_LANE && tape->error);
	reel_lane *lane = (reel_lane *)((char *)tape - offsetof(reel_lane, tape));

	reel_lane_end_waits(lane, tape->error);
}

reel_lane *reel_lane_new(reel_lane *parent, reel_pool *pool, unsigned flags)
{
	reel_lane *lane = allocate();
	int error;

	if (!lane)
		return NULL;
	lane->parent = parent;
	lane->root = parent ? parent->root : lane;
	lane->count = 1;
	error = open_tapes(lane, parent ? parent->tape.pool : pool,
			   parent ? flags_of(parent) : flags);
	if (!error && parent)
		error = hold_as_parent(lane, parent);
	REEL_ASSERT(error || !parent || lane->holds == parent->holds);
	if (!error)
		return lane;
	reel_lane_close(lane);
	return NULL;
}

int reel_lane_open(reel_lane **lane, reel_pool *pool, unsigned flags)
{
	if (flags & ~REEL_CHECKED)
		return -EINVAL;
	reel_listen_to_lanes(lane_failed);
	*lane = reel_lane_new(NULL, pool, flags);
	if (!*lane)
		return -ENOMEM;
	(*lane)->root_number = reel_ordered_next_root();
	REEL_OBSERVE(REEL_EVENT_LANE_OPEN, .lane = *lane);
	return 0;
}

reel_lane *reel_lane_refuse_all(void)
{
	static _Thread_local reel_lane refusing;
	reel_lane *lane = &refusing;

	if (!lane->tape.error) {
		lane->root = lane;
		lane->count = 1;
		lane->tape.flags = lane->notes.flags = REEL_TAPE_SILENT;
		reel_tape_give_up(&lane->tape, -ENOMEM, "no memory for a lane");
		reel_tape_give_up(&lane->notes, -ENOMEM, "no memory for a lane");
	}
	return lane;
}

/* ---- What it is ---- */

reel_tape *reel_lane_tape(reel_lane *lane)
{
	if (REEL_UNLIKELY(lane->calls_bodies))
		reel_lane_check_left(lane);
	return &lane->tape;
}

int reel_lane_index(const reel_lane *lane)
{
	return lane->index;
}

int reel_lane_count(const reel_lane *lane)
{
	return lane->count;
}

uint64_t reel_lane_height(const reel_tape *tape)
{
	return reel_tape_bytes(tape) * 64 + tape->bit_count;
}

/* ---- Errors ---- */

void reel_lane_check_left(reel_lane *lane)
{
	if (!lane->calls_bodies)
		return;
	lane->calls_bodies = false;
	reel_lane_fail(lane, -EINVAL,
		       "a body of reel_tasks_reverse() was left by an exception or longjmp(), so that "
		       "tasks are not reversed: catch the exception in the body");
}

void reel_lane_end_waits(reel_lane *lane, int error)
{
	int32_t none = 0;

	REEL_ASSERT(error && lane->root);
	/*
	 * Sequentially consistent: pairs with is_over() (wait.c). A thread that is about to sleep
	 * either sees the error or is seen as a sleeper and is woken.
	 */
	if (atomic_compare_exchange_strong_explicit(&lane->root->failed, &none, error,
						    memory_order_seq_cst, memory_order_seq_cst))
		reel_omp_wake_all();
}

void reel_lane_forget_failure(reel_lane *lane)
{
	/* Relaxed is enough for both: no thread waits yet. */
	if (lane == lane->root && atomic_load_explicit(&lane->failed, memory_order_relaxed) &&
	    !reel_lane_error(lane))
		atomic_store_explicit(&lane->failed, 0, memory_order_relaxed);
}

void reel_lane_fail(reel_lane *lane, int error, const char *format, ...)
{
	char message[400];
	va_list arguments;
	int length = 0;

	if (reel_lane_region(lane))
		length = snprintf(message, sizeof message, "lane %d of %d: ", (int)lane->index,
				  (int)lane->count);
	va_start(arguments, format);
	vsnprintf(message + length, sizeof message - (size_t)length, format, arguments);
	va_end(arguments);
	reel_tape_give_up(&lane->tape, error, message);
}

/* ---- Notes ---- */

static void push(reel_lane *lane, struct reel_note note)
{
	REEL_ASSERT(reel_tape_bytes(&lane->notes) % sizeof note == 0);
	if (lane->notes.error)
		return;
	reel_push_record(&lane->notes, reel_note, note);
	if (REEL_UNLIKELY(lane->notes.error != 0))
		reel_lane_fail(lane, lane->notes.error,
			       "the note of a loop, phase, region or task is refused: %s",
			       reel_strerror(lane->notes.error));
}

void reel_lane_note(reel_lane *lane, enum reel_note_kind kind, uint64_t number, uint64_t value)
{
	REEL_ASSERT(number < (uint64_t)1 << (64 - REEL_KIND_BITS));
	push(lane, (struct reel_note){REEL_NUMBER(number) | (uint64_t)kind, value});
}

void reel_lane_note_pair(reel_lane *lane, uint64_t first, uint64_t second)
{
	push(lane, (struct reel_note){first, second});
}

/* After a note is lost, the lane would pop values of another phase, so it fails. */
static void report_loss(reel_lane *lane)
{
	if (lane->notes.error)
		reel_lane_fail(lane, lane->notes.error, "a note could not be read back: %s",
			       reel_strerror(lane->notes.error));
}

/* If a store could not give the note back, returns all ones, which is no note. */
struct reel_note reel_lane_top(reel_lane *lane)
{
	struct reel_note note = {~(uint64_t)0, 0};

	if (!lane->notes.error && reel_tape_bytes(&lane->notes))
		note = reel_look_record(&lane->notes, reel_note);
	report_loss(lane);
	return note;
}

bool reel_lane_take(reel_lane *lane, enum reel_note_kind kind, uint64_t number, uint64_t *value)
{
	struct reel_note note = reel_lane_top(lane);

	if (note.key != (REEL_NUMBER(number) | (uint64_t)kind))
		return false;
	*value = note.value;
	(void)reel_pop_record(&lane->notes, reel_note);
	return true;
}

struct reel_note reel_lane_pop(reel_lane *lane)
{
	struct reel_note pair = reel_pop_record(&lane->notes, reel_note);

	REEL_ASSERT(lane->notes.error || reel_tape_bytes(&lane->notes) % sizeof pair == 0);
	report_loss(lane);
	return pair;
}
