/* SPDX-License-Identifier: MIT */
/*
 * Phases: the records of a lane between two barriers lie between two heights of its tapes. The
 * lower height is noted if anything lies above it. So the reverse sweep knows the height to which
 * it has to come down, and whether all of the phase was reversed. The thread that has the lane
 * calls these functions, or the thread that ends the region.
 */
#include "config.h"

#include "phase.h"

#include <errno.h>
#include <inttypes.h>

#include "omp/lane/note.h"
#include "omp/lane/observe.h"

#define UNKNOWN_HEIGHT UINT64_MAX

void reel_phase_open(reel_lane *lane, uint64_t phase)
{
	REEL_ASSERT(phase < (uint64_t)1 << REEL_PHASE_BITS || lane->tape.error ||
		    lane->parent->tape.error);
	lane->phase = phase;
	lane->left_phase = false;
	lane->height = reel_lane_height(&lane->tape);
	lane->note_height = reel_tape_bytes(&lane->notes);
}

static void close_phase(reel_lane *lane)
{
	uint64_t notes =
		(reel_tape_bytes(&lane->notes) - lane->note_height) / sizeof(struct reel_note);

	if (reel_lane_height(&lane->tape) == lane->height && !notes)
		return;
	notes = notes < REEL_MAX_COUNTED ? notes : REEL_MAX_COUNTED - 1;
	REEL_ASSERT(notes < REEL_MAX_COUNTED);
	reel_lane_note(lane, REEL_NOTE_PHASE, lane->phase | notes << REEL_PHASE_BITS, lane->height);
}

/* The height of the notes at the beginning of a phase. A number that does not fit is unknown. */
static uint64_t note_height(const reel_lane *lane, uint64_t notes)
{
	if (notes == REEL_MAX_COUNTED - 1)
		return UNKNOWN_HEIGHT;
	return reel_tape_bytes(&lane->notes) - notes * sizeof(struct reel_note);
}

/* A lane that recorded nothing in the phase has to stay at its height. */
void reel_phase_reopen(reel_lane *lane, uint64_t phase)
{
	struct reel_note top = reel_lane_top(lane);
	uint64_t number = reel_note_number(top);
	uint64_t mask = ((uint64_t)1 << REEL_PHASE_BITS) - 1;
	uint64_t ahead = (number - phase) & mask;

	reel_phase_open(lane, phase);
	if (reel_note_kind(top) != REEL_NOTE_PHASE || ahead > mask / 2)
		return;
	REEL_ASSERT(lane->phase == phase);
	if (ahead) {
		reel_lane_fail(lane, -EBADMSG, "a phase that was recorded was not reversed");
		return;
	}
	(void)reel_lane_pop(lane);
	lane->height = top.value;
	lane->note_height = note_height(lane, number >> REEL_PHASE_BITS);
}

static bool notes_are_left(const reel_lane *lane)
{
	return lane->note_height != UNKNOWN_HEIGHT &&
	       reel_tape_bytes(&lane->notes) != lane->note_height;
}

static void fail_notes_left(reel_lane *lane)
{
	reel_lane_fail(lane, -EBADMSG,
		       "a loop, section, region or wait for tasks that was recorded was not "
		       "reversed");
}

static void report_height(reel_lane *lane, uint64_t height)
{
	bool less = height > lane->height;
	uint64_t bits = less ? height - lane->height : lane->height - height;

	reel_lane_fail(lane, -EBADMSG,
		       "%" PRIu64
		       " bytes were popped %s than pushed in its phase: reverse all that "
		       "the forward sweep recorded",
		       (bits + 63) / 64, less ? "less" : "more");
}

static void check_reversed(reel_lane *lane)
{
	uint64_t height = reel_lane_height(&lane->tape);

	if (lane->tape.error)
		return;
	if (lane->ahead)
		reel_lane_fail(lane, -EBADMSG,
			       "a loop was begun in a reverse sweep and is not reversed: "
			       "REEL_FOR_REVERSE or reel_loop_reverse() reverse a recorded loop");
	else if (height != lane->height)
		report_height(lane, height);
	else if (notes_are_left(lane))
		fail_notes_left(lane);
}

/* The lanes whose turns come next would wait for ever. */
static void check_turns(reel_lane *lane)
{
	if (lane->turns)
		reel_lane_fail(lane, -EINVAL,
			       "%d turns did not end: call reel_ordered_done() at the end of each",
			       (int)lane->turns);
	lane->turns = 0;
}

void reel_phase_check_notes(const reel_region *region, reel_lane *lane)
{
	check_turns(lane);
	if (region->state == REEL_REGION_REVERSE && !lane->left_phase && notes_are_left(lane))
		fail_notes_left(lane);
}

static void leave(const reel_region *region, reel_lane *lane)
{
	reel_lane_check_left(lane);
	reel_lane_check_loops(lane);
	check_turns(lane);
	if (region->state == REEL_REGION_FORWARD)
		close_phase(lane);
	else
		check_reversed(lane);
	lane->error = reel_lane_error(lane);
	if (lane->error)
		reel_lane_end_waits(lane, lane->error);
	lane->left_phase = true;
}

void reel_phase_leave(const reel_region *region, reel_lane *lane)
{
	if (lane->left_phase)
		return;
	leave(region, lane);
	REEL_ASSERT(lane->left_phase && !lane->open_loops);
	reel_tape_hand_over(&lane->tape);
}

static int64_t round_of(const reel_region *region, const reel_lane *lane)
{
	uint64_t done = lane->phase - region->first_phase;

	REEL_ASSERT(lane->phase >= region->first_phase || lane->tape.error);
	return (int64_t)(region->state == REEL_REGION_FORWARD ? done : region->phases - 1 - done);
}

uint64_t reel_phase_of(const reel_region *region, int64_t round)
{
	uint64_t rounds = (uint64_t)round;

	if (region->state == REEL_REGION_FORWARD)
		return region->first_phase + rounds;
	return region->first_phase + region->phases - 1 - rounds;
}

static bool is_one_too_many(const reel_region *region, reel_lane *lane, int64_t round)
{
	if (region->state == REEL_REGION_FORWARD || round < reel_region_phases(region))
		return false;
	reel_lane_fail(lane, -EBADMSG,
		       "more phases are reversed than the region's %" PRId64 " that a lane came "
		       "to: where all lanes may leave early, ask reel_region_phases()",
		       reel_region_phases(region));
	lane->error = lane->tape.error;
	return true;
}

void reel_phase_go_to(const reel_region *region, reel_lane *lane, int64_t round)
{
	if (round <= round_of(region, lane))
		return;
	reel_phase_leave(region, lane);
	if (is_one_too_many(region, lane, round))
		return;
	if (region->state == REEL_REGION_FORWARD)
		reel_phase_open(lane, reel_phase_of(region, round));
	else
		reel_phase_reopen(lane, reel_phase_of(region, round));
}

void reel_lane_phase(reel_lane *lane)
{
	reel_region *region = reel_lane_region(lane);

	REEL_OBSERVE(REEL_EVENT_LANE_PHASE, .lane = lane);
	if (!region || region->state != REEL_REGION_FORWARD) {
		reel_lane_fail(lane, -EINVAL,
			       "a phase ends outside of the forward sweep of a region");
		return;
	}
	leave(region, lane);
	reel_phase_open(lane, lane->phase + 1);
}
