/* SPDX-License-Identifier: MIT */
/*
 * A lane is two tapes: one for the program's values, one for notes of 16 bytes. Notes are
 * pushed and popped in the order of the program, too, so what is on top tells what the
 * reverse sweep comes to next, and whether that is what it asks for.
 *
 *	lane.c    lanes, their notes, their errors, holds
 *	lane-table.c  the lanes of a lane
 *	region.c  regions: what a lane is part of
 *	phase.c   what a lane records between two barriers
 *	worker.c   which thread takes which lane
 *	loop.c    loops: chunks, runs
 *	ordered.c who was first in a critical section; wait.c, waiting for that
 *	task.c    tasks: lanes that are made one by one
 *
 * Numbers. Phases and loops of all regions of a parent are counted through, up in the forward
 * sweep and down in the reverse one, so a note with its number belongs to one of them. That
 * is what lets a lane without anything to note have no note.
 */
#ifndef REEL_OMP_LANE_H
#define REEL_OMP_LANE_H

#include <stdalign.h>
#include <stdatomic.h>

#include <reel/region.h>

/* Two cache lines: the second is fetched with the first. */
#define REEL_CACHE_SPACING 128

enum reel_note_kind {
	REEL_NOTE_PHASE,   /* of a phase, with the number of notes in it: where its values began */
	REEL_NOTE_STOPPED, /* of a static loop: the chunk in which it was left is below */
	REEL_NOTE_RUNS,    /* of a noted loop: how many runs are below */
	REEL_NOTE_BOUNDS,  /* of a static loop, in checked mode */
	REEL_NOTE_REGION,  /* of so many lanes: how many phases; a pair is below */
	REEL_NOTE_UNREACHED, /* of the last loop: how many the lane did not come to */
	REEL_NOTE_TURN,      /* which turn: of which order */
	REEL_NOTE_TASK       /* a task, or a wait for so many: task.c */
};

#define REEL_KIND_BITS 3
#define REEL_NUMBER(number) ((uint64_t)(number) << REEL_KIND_BITS)
/* A phase's number in its note; above it, how many notes are in the phase. */
#define REEL_PHASE_BITS 40
#define REEL_MAX_COUNTED ((uint64_t)1 << (64 - REEL_KIND_BITS - REEL_PHASE_BITS))

/* `key` is a kind and a number; without a key, two values. */
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

enum reel_region_state { REEL_ENDED, REEL_FORWARD, REEL_REVERSE_SWEEP, REEL_DEAD };

struct reel_region {
	/* What a thread reads when it comes for a lane, in 64 bytes: each region changes it. */
	reel_lane *parent;
	uint64_t visit; /* how often a region of the parent was begun, in either sweep */
	uint64_t first_phase, phases;
	uint64_t first_loop, loops;
	enum reel_region_state state;
	/* 0: a team has still to come. Relaxed: all threads set it to the same. */
	_Atomic int32_t lanes;
	bool has_ordered;
	bool refused; /* for want of threads: the lanes are as they were */
	_Atomic bool lacks_lane; /* there was no memory for one, at least for a phase */

	int64_t rounds; /* of all regions before it: less than this */

	/*
	 * Which of the loops that lanes share is the present one, and how many of its chunks
	 * are taken. Relaxed: iterations of different lanes are not ordered by it.
	 */
	alignas(REEL_CACHE_SPACING) _Atomic uint64_t dispatch;
	_Atomic uint64_t newest;

	/*
	 * How often a thread came to a barrier, and how many barriers all have passed. Acquire
	 * and release, in worker.c: what each thread did before is seen by all after it.
	 */
	alignas(REEL_CACHE_SPACING) _Atomic uint64_t arrivals;
	_Atomic uint64_t passed;
	/* The collective span of the barrier passed last: thread 0 writes it before `passed`. */
	const void *span;
};

/* Lanes of a lane, at places that do not move: block b has 2^b of them. */
#define REEL_LANE_BLOCKS 31
typedef _Atomic(reel_lane *) reel_lane_slot;

/* The count of an order when a hold began, to which replay goes back. */
struct reel_ordered_count {
	reel_ordered *order;
	uint64_t count;
	uint64_t outer; /* order->hold before it was this hold's number */
	struct reel_ordered_count *next;
};

struct reel_lane_hold {
	struct reel_lane_hold *outer;
	/* The hold of the lane that the program called reel_lane_hold() with: it has the orders. */
	struct reel_lane_hold *top;
	uint64_t number; /* of a top, from 1: no other hold of the process has it */
	/*
	 * Orders that lanes used in the hold, the newest first. Relaxed: lanes push, and the thread
	 * that replays or releases reads after their threads have joined.
	 */
	_Atomic(struct reel_ordered_count *) orders;
	uint64_t phases, loops, loop, waits;
	int64_t tasks_left;
	struct reel_task *unreversed_task;
};

struct reel_lane {
	/*
	 * All that the thread that ends a region reads of a lane, in 64 bytes. The lane's own
	 * thread has left its last phase then, as a rule, and so need not give up the lines
	 * of its tapes.
	 */
	reel_region *in; /* that it came to last; NULL: a root, or a task */
	uint64_t visit;  /* which of the region's */
	uint64_t phase;
	uint64_t loop;   /* the present one, or the last one */
	/*
	 * The last round in which a thread took it, and one. Relaxed: rounds are apart by
	 * a barrier, and within one a lane is taken once.
	 */
	_Atomic int64_t taken;
	int32_t error; /* when it left its phase */
	bool left_phase;
	bool has_ordered;
	int32_t index, count;

	/* The lane's own thread's. */
	alignas(REEL_CACHE_SPACING / 2) reel_tape tape;
	reel_tape notes;
	uint64_t height, note_height; /* where the phase began */
	uint64_t shared;    /* loops that lanes share, begun in this region in either sweep */
	uint64_t unreached; /* reverse sweep: loops ahead that it had not come to */
	uint64_t ahead;     /* loops that were begun since and are not reversed */
	int32_t open_loops;
	int32_t turns;          /* that it waited for and has not ended */
	struct reel_task *made; /* its tasks, the last one first */
	struct reel_task
		*unreversed_task; /* of those the first that no reverse sweep has come to */
	uint64_t waits;           /* how often it has waited for them */
	int64_t tasks_left;       /* made since the last wait, and not reversed */
	struct reel_task *task;   /* that it is the lane of; NULL: none */
	struct reel_lane_hold *hold;
	int32_t holds;

	/* As a parent: how many there are in all that is recorded. */
	uint64_t phases, loops;
	reel_region *region;

	/* Read by threads that come for its lanes. */
	alignas(REEL_CACHE_SPACING) reel_lane *parent;
	reel_lane *root;
	/*
	 * Root only: the first error of a lane in it since its last region began, or 0. Sequentially
	 * consistent: reel_lane_end_waits() sets it, is_over() in wait.c reads it.
	 */
	_Atomic int32_t failed;
	_Atomic(reel_lane_slot *) block[REEL_LANE_BLOCKS];
};

/* The region that it is in now; NULL: none. */
static inline reel_region *reel_lane_region(const reel_lane *lane)
{
	reel_region *region = lane->in;

	return region && region->state != REEL_ENDED && region->visit == lane->visit ? region : NULL;
}

/* ---- lane.c ---- */

/* NULL: no memory. */
reel_lane *reel_lane_new(reel_lane *parent, reel_pool *pool, unsigned flags);
/* Of the calling thread: one that has an error, of no region; it refuses what is pushed. */
reel_lane *reel_lane_refuse_all(void);

/* Make an error stick: pops give all ones from now on. */
void reel_lane_fail(reel_lane *lane, int error, const char *format, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 3, 4)))
#endif
	;

/*
 * A lane of the root has an error, so it may never take a turn that another lane waits for: all
 * waits for turns in the root end, and fail with that error.
 */
void reel_lane_end_waits(reel_lane *lane, int error);

/*
 * A sweep begins in a root, of which no lane runs. If no lane has an error any more, what failed
 * before ends no wait. Otherwise it does: the turns of a lane that failed are never taken.
 */
void reel_lane_forget_failure(reel_lane *lane);

/* Push a note, or two values. Does nothing after an error. */
void reel_lane_note(reel_lane *lane, enum reel_note_kind kind, uint64_t number, uint64_t value);
void reel_lane_note_pair(reel_lane *lane, uint64_t first, uint64_t second);
/* Pop what is on top, if it is this note; false: it is another one, or none, or no note is true. */
bool reel_lane_take(reel_lane *lane, enum reel_note_kind kind, uint64_t number, uint64_t *value);
/* The top note, all ones if there is none; and pop it, or two values without a key. */
struct reel_note reel_lane_top(reel_lane *lane);
struct reel_note reel_lane_pop(reel_lane *lane);

/* How high the tapes are, in an order that counts bits. */
uint64_t reel_lane_height(const reel_tape *tape);

/* ---- lane-table.c ---- */

/* Lane `index`, made if it is not there yet; NULL: no memory. */
reel_lane *reel_lane_child(reel_lane *parent, int32_t index);
/* The same, or NULL if it is not there. */
reel_lane *reel_lane_find(const reel_lane *parent, int32_t index);
/* The first one from *index on, which becomes the place behind it; NULL: there is none. */
reel_lane *reel_lane_next(const reel_lane *parent, int32_t *index);

/* ---- ordered.c ---- */

/* Bring all orders that were used in the hold back to their counts of its beginning. */
void reel_ordered_replay(struct reel_lane_hold *hold);
/* The hold ends by a release: the hold around it takes its counts. */
void reel_ordered_release(struct reel_lane_hold *hold);
/* Free what a hold keeps of orders, which may be gone. */
void reel_ordered_drop(struct reel_lane_hold *hold);

/* ---- phase.c ---- */

void reel_phase_open(reel_lane *lane, uint64_t phase);
/* The same phase in the reverse sweep. */
void reel_phase_reopen(reel_lane *lane, uint64_t phase);
/*
 * Leave it, unless that has been done: what was recorded is noted, or all of it has been
 * reversed, else it is an error. The thread that is done with a lane does so, or who comes
 * next: another one, or the one that ends the region.
 */
void reel_phase_leave(const reel_region *region, reel_lane *lane);
/* Which phase a round is, in the region's direction; and pin_and_start_read a lane to it. */
uint64_t reel_phase_of(const reel_region *region, int64_t round);
void reel_phase_go_to(const reel_region *region, reel_lane *lane, int64_t round);

/* ---- region.c ---- */

/* There is no memory for one of its lanes: an error of the region. */
void reel_region_note_no_memory(reel_region *region);

/* A lane for the thread that takes it, in its phase of this round. */
reel_lane *reel_region_enter(reel_region *region, int32_t index, int64_t round);

#endif
