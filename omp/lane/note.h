/* SPDX-License-Identifier: MIT */
/*
 * Notes: records of 16 bytes on the second tape of a lane. They are pushed and popped in the order
 * of the program, so the top note names the entry that the reverse sweep comes to next, and shows
 * whether the program reverses it.
 *
 * Numbers. Phases and loops of all regions of a parent are counted through, up in the forward sweep
 * and down in the reverse sweep. So the number in a note belongs to one phase or loop, and a lane
 * that has nothing to note needs no note.
 */
#ifndef REEL_OMP_NOTE_H
#define REEL_OMP_NOTE_H

#include "lane.h"

enum reel_note_kind {
	REEL_NOTE_PHASE, /* number of a phase and of its notes; height at which its values begin */
	REEL_NOTE_STOPPED,   /* of a static loop that was left: its chunk; a pair lies below */
	REEL_NOTE_INTERVALS, /* of a noted loop: number of intervals that lie below */
	REEL_NOTE_BOUNDS,    /* of a static loop, in checked mode: a hash of its bounds */
	REEL_NOTE_REGION,    /* number of lanes; number of phases; one pair or two lie below */
	REEL_NOTE_UNREACHED, /* number of loops that the lane did not reach, at a region's end */
	REEL_NOTE_TURN,	     /* number of a turn; address of its ordered section */
	REEL_NOTE_TASK	     /* a task, or a wait and its number of tasks: task.c */
};

#define REEL_KIND_BITS 3
#define REEL_NUMBER(number) ((uint64_t)(number) << REEL_KIND_BITS)
/* Bits of the number of a phase in its note. The number of notes in the phase is above them. */
#define REEL_PHASE_BITS 40
#define REEL_MAX_COUNTED ((uint64_t)1 << (64 - REEL_KIND_BITS - REEL_PHASE_BITS))

/* `key` is a kind and a number. A pair has no key: both members are values. */
struct reel_note {
	uint64_t key;
	uint64_t value;
};

REEL_RECORD(reel_note, struct reel_note);

static inline enum reel_note_kind reel_note_kind(struct reel_note note)
{
	return (enum reel_note_kind)(note.key & (((uint64_t)1 << REEL_KIND_BITS) - 1));
}

static inline uint64_t reel_note_number(struct reel_note note)
{
	return note.key >> REEL_KIND_BITS;
}

/* Pushes a note, or a pair of values. Does nothing after an error. */
void reel_lane_note(reel_lane *lane, enum reel_note_kind kind, uint64_t number, uint64_t value);
void reel_lane_note_pair(reel_lane *lane, uint64_t first, uint64_t second);
/* Pops the top note if it is this one. Returns false if it is another one, or if there is none. */
bool reel_lane_take(reel_lane *lane, enum reel_note_kind kind, uint64_t number, uint64_t *value);
/* Returns the top note, all ones if there is none. reel_lane_pop() pops it, or a pair. */
struct reel_note reel_lane_top(reel_lane *lane);
struct reel_note reel_lane_pop(reel_lane *lane);

#endif
