/* SPDX-License-Identifier: MIT */
/*
 * Notes of a lane. The thread that has the lane calls these functions. After an error nothing more
 * is noted, and the tape of notes gives all ones.
 */
#include "config.h"

#include "note.h"

#include "os/error.h"

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
