/* SPDX-License-Identifier: MIT */
/*
 * Recordings of roots: a tree of lanes, each with the recordings of its two tapes, and roots that
 * read them. Any thread runs these functions.
 *
 * A recording of a root is not changed any more, so any number of threads may open readers of it. A
 * reader is a root with lanes of its own, whose tapes are readers. Only the ordered sections are
 * the program's, so a reader counts their turns in copies (ordered-count.c).
 */
#include "config.h"

#include "region.h"

#include <errno.h>
#include <stdlib.h>

#include "os/error.h"
#include "tape/tape.h"

struct reel_lane_recording {
	reel_recording *values, *notes;
	uint64_t phases, loops, loop, waits;
	int32_t index;
	struct reel_lane_recording *lanes,
		*next; /* recordings of its lanes; the next one of its parent */
};

/* ---- Freezing ---- */

static bool has_tasks(const reel_lane *lane)
{
	bool has = lane->made;
	const reel_lane *child;

	for (int32_t i = 0; !has && (child = reel_lane_next(lane, &i));)
		has = has_tasks(child);
	return has;
}

static int may_freeze(const reel_lane *lane)
{
	if (lane->parent)
		return reel_fail(-EINVAL, "freeze refused: only a root can be frozen");
	if (lane->region && lane->region->state != REEL_REGION_ENDED)
		return reel_fail(-EINVAL, "freeze refused: end the region first");
	if (lane->hold)
		return reel_fail(-EBUSY, "freeze refused: a hold is open; release it first");
	if (has_tasks(lane))
		return reel_fail(-ENOTSUP,
				 "freeze refused: a lane has tasks, which are reversed once");
	return reel_lane_error(lane);
}

static struct reel_lane_recording *freeze(reel_lane *lane);

static bool freeze_lanes(struct reel_lane_recording *recording, reel_lane *lane)
{
	reel_lane *child;

	for (int32_t i = 0; (child = reel_lane_next(lane, &i));) {
		struct reel_lane_recording *frozen = freeze(child);

		if (!frozen)
			return false;
		frozen->next = recording->lanes;
		recording->lanes = frozen;
	}
	return true;
}

/* NULL: no memory. */
static struct reel_lane_recording *freeze(reel_lane *lane)
{
	struct reel_lane_recording *recording = calloc(1, sizeof *recording);

	if (!recording)
		return NULL;
	recording->phases = lane->phases;
	recording->loops = lane->loops;
	recording->loop = lane->loop;
	recording->waits = lane->waits;
	recording->index = lane->index;
	if (!reel_tape_freeze(&lane->tape, &recording->values) &&
	    !reel_tape_freeze(&lane->notes, &recording->notes) && freeze_lanes(recording, lane))
		return recording;
	reel_lane_recording_close(recording);
	return NULL;
}

int reel_lane_freeze(reel_lane *lane, reel_lane_recording **recording)
{
	struct reel_lane_recording *frozen;
	int error = may_freeze(lane);

	if (error)
		return error;
	frozen = freeze(lane);
	if (!frozen) {
		reel_lane_fail(lane, -ENOMEM,
			       "freeze refused: out of memory; the recording is lost");
		return -ENOMEM;
	}
	reel_lane_close(lane);
	*recording = frozen;
	return 0;
}

void reel_lane_recording_close(reel_lane_recording *recording)
{
	struct reel_lane_recording *next;

	if (!recording)
		return;
	for (struct reel_lane_recording *lane = recording->lanes; lane; lane = next) {
		next = lane->next;
		reel_lane_recording_close(lane);
	}
	reel_recording_close(recording->values);
	reel_recording_close(recording->notes);
	free(recording);
}

/* ---- Readers ---- */

static bool open_tapes(reel_lane *lane, const struct reel_lane_recording *recording)
{
	if (reel_reader_open(&lane->tape, recording->values))
		return false;
	lane->tape.flags |= REEL_TAPE_LANE;
	return !reel_reader_open(&lane->notes, recording->notes);
}

/* Makes a new lane one that reads. */
static bool read_by(reel_lane *lane, const struct reel_lane_recording *recording)
{
	bool is_open = open_tapes(lane, recording) && (!recording->lanes || reel_region_of(lane));

	lane->phases = recording->phases;
	lane->loops = recording->loops;
	lane->loop = recording->loop;
	lane->waits = recording->waits;
	for (const struct reel_lane_recording *next = recording->lanes; is_open && next;
	     next = next->next) {
		reel_lane *child = reel_lane_child(lane, next->index);

		is_open = child && read_by(child, next);
	}
	return is_open;
}

int reel_lane_reader_open(reel_lane **lane, reel_lane_recording *recording)
{
	int error = reel_lane_open(lane, NULL, 0);

	if (error)
		return reel_fail(error, "a reader could not be opened: out of memory");
	(*lane)->is_reader = true;
	/* Relaxed is enough: no other thread has the root. */
	atomic_store_explicit(&(*lane)->has_turns, true, memory_order_relaxed);
	if (read_by(*lane, recording))
		return 0;
	reel_lane_close(*lane);
	return reel_fail(-ENOMEM, "a reader could not be opened: out of memory");
}
