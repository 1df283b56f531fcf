/* SPDX-License-Identifier: MIT */
/*
 * A lane is two tapes: one for the program's values, one for notes of 16 bytes. Notes are pushed
 * and popped in the order of the program, too. So the top note tells what the reverse sweep comes
 * to next, and whether this is what the program reverses.
 *
 *	lane.c        lanes, their notes, their errors
 *	lane-table.c  the lanes of a lane
 *	lane-tree.c   a lane with all that is in it: sizes, errors, the end, holds
 *	lane-recording.c  roots that are frozen, and roots that read them
 *	region.c      regions: what a lane is part of
 *	phase.c       what a lane records between two barriers
 *	barrier.c     the barriers of a team
 *	worker.c      which thread takes which lane
 *	loop.c        loops: chunks, and the intervals that the reverse sweep pops
 *	ordered.c     the turns of ordered sections; wait.c, waiting for a turn or a barrier
 *	deadlock.c    lanes that wait for turns that cannot come
 *	task.c        tasks: lanes that are made one by one
 *	task-add.c    additions by tasks, in the order of one thread
 *	task-replay.c reverses all tasks of one wait, by their dependences
 *	reduction.c   partial results of lanes become one
 *	observe.c     tells the observer and the trace; region-trace.c writes the trace
 *
 * Numbers. Phases and loops of all regions of a parent are counted through, up in the forward sweep
 * and down in the reverse sweep. So the number in a note belongs to one phase or loop, and a lane
 * that has nothing to note needs no note.
 *
 * Threads. One thread at a time uses a lane; a barrier, the end of a task, or an ordered section
 * hands it to the next thread.
 */
#ifndef REEL_OMP_LANE_H
#define REEL_OMP_LANE_H

#include <stdalign.h>
#include <stdatomic.h>

#include <reel/region.h>

#include "os/assert.h"
#include "omp/runtime/team-size.h"

/* Two cache lines: the second is fetched with the first. */
#define REEL_CACHE_SPACING 128

enum reel_note_kind {
	REEL_NOTE_PHASE, /* number of a phase and of its notes; height at which its values begin */
	REEL_NOTE_STOPPED,   /* of a static loop that was left: its chunk; a pair lies below */
	REEL_NOTE_INTERVALS, /* of a noted loop: number of intervals that lie below */
	REEL_NOTE_BOUNDS,    /* of a static loop, in checked mode: a hash of its bounds */
	REEL_NOTE_REGION,    /* number of lanes; number of phases; one pair or two lie below */
	REEL_NOTE_UNREACHED, /* number of loops at the end of a region that the lane did not reach */
	REEL_NOTE_TURN,      /* number of a turn; address of its ordered section */
	REEL_NOTE_TASK       /* a task, or a wait and its number of tasks: task.c */
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

/*
 * move_to() in region.c changes the state. Any other change follows an error, which the parent has:
 *
 *	from      to         by
 *	ENDED     FORWARD    reel_region_begin
 *	ENDED     REVERSE    reel_region_reverse
 *	REVERSE   DEAD       reel_region_reverse, if no region was recorded here
 *	FORWARD   ENDED      reel_region_end
 *	REVERSE   ENDED      reel_region_end
 *	DEAD      ENDED      reel_region_end
 */
enum reel_region_state {
	REEL_REGION_ENDED,   /* not begun, or ended */
	REEL_REGION_FORWARD, /* lanes record */
	REEL_REGION_REVERSE, /* lanes reverse what they recorded */
	REEL_REGION_DEAD,    /* gives out no lane, since its parent has an error */
	REEL_REGION_STATES
};

/* Mistakes of a program with workers. The texts are in region.c. */
enum reel_mistake_kind {
	REEL_MISTAKE_NONE,
	REEL_MISTAKE_TAKEN_TWICE, /* two threads came for one lane in one phase */
	REEL_MISTAKE_NOT_TAKEN,   /* a thread did not take lanes until none was left */
	REEL_MISTAKE_NO_PHASE,    /* a thread came for lanes after it had got the last one */
	REEL_MISTAKE_WORKERS,     /* there are more workers than threads */
	REEL_MISTAKE_CANCELLED,   /* OpenMP has cancelled the region while a thread waits in it */
	REEL_MISTAKE_ENDED,       /* a thread has ended its part before a barrier */
	REEL_MISTAKES
};

/* Those of three levels: 16, 4 and 1. */
#define REEL_BARRIER_GROUPS 21

/* Members of a group wait for `passed`, until the group may go on. */
struct reel_barrier_gate {
	/* The last barrier that the gate has let all of the group pass. */
	_Atomic uint64_t passed;
	const void *span; /* the collective span of that barrier; written before `passed` */
};

/* Threads that are neighbours, for barriers: barrier.c. Numbers are those since the region began. */
struct reel_barrier_group {
	/*
	 * Arrivals of its members at all barriers. If the last group has two members, they wait for this
	 * number, and for the gate only where thread 0 acts after it.
	 */
	alignas(REEL_CACHE_SPACING) _Atomic uint64_t arrived;
	/*
	 * In the first group: what the first calls of actions returned, at barriers with even numbers and
	 * with odd ones. Thread 0 writes one before it counts its arrival, while others may still read the
	 * other. Relaxed is enough: `arrived` orders them, except after a mistake.
	 */
	_Atomic(const void *) first_span[2];
	/*
	 * Some members come while others wait for `passed`, and would take its line from those if it
	 * were that of `arrived`.
	 */
	alignas(REEL_CACHE_SPACING) struct reel_barrier_gate gate;
};

/* In a trace: the lane that a thread runs, and when the thread took it. */
struct reel_lane_stay {
	bool has_lane;
	int32_t lane;
	uint64_t since;
};

struct reel_region {
	/* What a thread reads when it comes for a lane, in 64 bytes, which each region changes. */
	reel_lane *parent;
	uint64_t visit; /* number of regions of the parent begun so far, in either sweep */
	uint64_t first_phase, phases;
	uint64_t first_loop, loops;
	enum reel_region_state state;
	/* 0: no team has come yet. Relaxed is enough: all threads set it to the same number. */
	_Atomic int32_t lanes;
	bool has_ordered;
	bool refused;            /* too few threads came, so the lanes are as they were */
	_Atomic bool lacks_lane; /* there was no memory for a lane, at least in one phase */
	/*
	 * The first mistake of the program with workers, from reel_mistake(), or 0. Sequentially
	 * consistent: reel_region_note_mistake() sets it, is_over() (wait.c) reads it.
	 */
	_Atomic int32_t mistake;

	int64_t rounds; /* above the numbers of all rounds of the regions before */
	/* Relaxed is enough for these four: numbers that guard no memory. */
	_Atomic int32_t threads; /* of the team; 0: no team has come yet */
	_Atomic int32_t max_threads; /* of the largest team that has come to the region */
	_Atomic int32_t workers; /* begun, if there are fewer threads than lanes or in checked mode */
	_Atomic int64_t left;    /* last round in which a thread called reel_worker_leave(), plus 1 */
	/*
	 * For threads that end their part of the region: barrier.c. A thread that has done so: the number
	 * of barriers that it has passed, above 32 bits of its own number plus 1; 0: none has. And the
	 * last barrier at which a thread sleeps.
	 */
	_Atomic uint64_t ended, sleeps_at;

	/*
	 * The number of the shared loop that was begun last, and how many of its chunks are taken
	 * (word_of() in loop.c). Relaxed is enough: it orders no iterations of different lanes.
	 */
	alignas(REEL_CACHE_SPACING) _Atomic uint64_t dispatch;
	/*
	 * The number of the newest shared loop of which a chunk was taken. It never falls.
	 * `dispatch` has 24 bits of a loop's number, so a lane that is 2^23 loops behind needs this
	 * number to see that its loop is over. Relaxed is enough, as above.
	 */
	_Atomic uint64_t newest;

	/*
	 * Line of the program that pushed or popped the last collective span. Only thread 0 writes
	 * it, and the thread that ends the region reads it.
	 */
	alignas(REEL_CACHE_SPACING) const char *span_call_site;
	/* Height of the parent's tape where the recording began, and where the reversal ends. */
	uint64_t height;
	/*
	 * Measures the present region, if Reel has chosen its threads. Only the thread that owns the
	 * parent uses it.
	 */
	struct reel_team_measure measure;
	/* In a trace: when the region began, and which lane its thread had then. */
	uint64_t began;
	struct reel_lane_stay outer;

	struct reel_barrier_group group[REEL_BARRIER_GROUPS];
};

/* The lanes of a lane are in blocks that do not move: block b has 2^b of them. */
#define REEL_LANE_BLOCKS 31
typedef _Atomic(reel_lane *) reel_lane_slot;

/* The count of an ordered section when a hold began. Replay goes back to it. */
struct reel_ordered_count {
	reel_ordered *order;
	uint64_t count;
	uint64_t outer; /* order->hold before it became the number of this hold */
	struct reel_ordered_count *next;
};

struct reel_lane_hold {
	struct reel_lane_hold *outer;
	/* The hold of the lane that the program held. It has the counts of ordered sections. */
	struct reel_lane_hold *top;
	uint64_t number; /* of a top, from 1; no other hold of the process has it */
	/*
	 * Ordered sections that lanes used in the hold, the newest first. Relaxed is enough: lanes
	 * push, and the thread that replays or releases reads after their threads have joined.
	 */
	_Atomic(struct reel_ordered_count *) orders;
	uint64_t phases, loops, loop, waits;
	int64_t tasks_left;
	struct reel_task *unreversed_task;
};

struct reel_omp_wait;
struct reel_task_team;

/* Number of turns that a lane may have at a time; sections rarely nest deeper than two. */
#define REEL_MAX_TURNS 8

struct reel_lane {
	/*
	 * All that the thread that ends a region reads of a lane, in 64 bytes. The lane's own
	 * thread has usually left its last phase, so that the lines of its tapes stay in its cache.
	 */
	reel_region *in; /* the region that the lane came to last; NULL: a root, or a task */
	uint64_t visit;  /* of that region */
	uint64_t phase;
	uint64_t loop; /* number of the present loop, or of the last one */
	/*
	 * The last round in which a thread took the lane, plus one. Relaxed is enough: a barrier
	 * lies between two rounds, and a lane is taken once in a round.
	 */
	_Atomic int64_t taken;
	int32_t error; /* of the lane when it left its phase */
	bool left_phase;
	bool has_ordered;
	int32_t index, count;
	/* `taken` when a thread gave the lane back last, in a reverse sweep: deadlock.c. */
	_Atomic int64_t given_back;

	/* Only the lane's own thread uses the following. */
	alignas(REEL_CACHE_SPACING / 2) reel_tape tape;
	reel_tape notes;
	uint64_t height, note_height; /* of both tapes at the beginning of the phase */
	uint64_t shared;    /* number of shared loops begun in this region, in either sweep */
	uint64_t unreached; /* reverse sweep: number of loops ahead that the lane did not reach */
	uint64_t ahead;     /* number of loops begun in a reverse sweep and not reversed */
	int32_t open_loops;
	int32_t turns;          /* number of turns that it has and did not end */
	const reel_ordered *turn_of[REEL_MAX_TURNS]; /* the sections of the first of these turns */
	/* The turn for which the lane's thread sleeps, or NULL. The lock in deadlock.c guards it. */
	const struct reel_omp_wait *awaits;
	/* The threads of a reel_tasks_reverse() of the lane, or NULL. The same lock guards it. */
	struct reel_task_team *team;
	struct reel_task *made; /* tasks of the lane, the last one first */
	/* The first of these to which no reverse sweep has come. */
	struct reel_task *unreversed_task;
	uint64_t waits;         /* number of waits for tasks */
	bool has_waited;        /* in this root's life */
	int64_t tasks_left;     /* number of tasks made since the last wait and not reversed */
	struct reel_task *task; /* the task whose lane this is, or NULL */
	/* Not 0 while a body of reel_tasks_reverse() has this task: task-replay.c. */
	uint64_t body;
	/* reel_tasks_reverse() calls bodies for this parent, or one of them has never returned. */
	bool calls_bodies;
	/* Memory of that call. If the call never returns, the close of the lane frees it. */
	void *bodies_memory[4];
	struct reel_lane_hold *hold;
	int32_t holds;

	/* As a parent: numbers of phases and loops in all that is recorded. */
	uint64_t phases, loops;
	reel_region *region;
	/* `region` while it is reversed, else NULL. Threads that look for a deadlock read it. */
	_Atomic(reel_region *) reversed_region;

	/* Threads that come for the lanes of this lane read the following. */
	alignas(REEL_CACHE_SPACING) reel_lane *parent;
	reel_lane *root;
	/*
	 * Root only: the first error of a lane below it since its last region began, or 0.
	 * Sequentially consistent: reel_lane_end_waits() sets it, is_over() (wait.c) reads it.
	 */
	_Atomic int32_t failed;
	_Atomic(reel_lane_slot *) block[REEL_LANE_BLOCKS];
	/*
	 * Root only: it reads a recording, and has copies of the ordered sections that it came to.
	 */
	bool is_reader;
	/*
	 * Root only, in checked mode: the program has begun to reverse since it recorded last.
	 * Relaxed is enough: the thread that closes the root has joined the others.
	 */
	_Atomic bool reverses;
	/*
	 * Root only: whether lanes have noted turns, and how many lanes sleep until their turns come.
	 * The first is relaxed: it is set in the forward sweep. The second: deadlock.c.
	 */
	_Atomic bool has_turns;
	_Atomic int32_t sleepers;
	/* Root only: from 1; marks the ordered sections that lanes of this root note. */
	uint32_t root_number;
	_Atomic(struct reel_ordered_copy *) copies;
};

/*
 * Returns whether the lane is what reel_lane_refuse_all() returned, in this or another thread: one
 * thread makes the lane of a task, and another one may use it.
 */
static inline bool reel_lane_refuses(const reel_lane *lane)
{
	return !lane->parent && !lane->root_number;
}

/* The region that the lane is in now, or NULL. */
static inline reel_region *reel_lane_region(const reel_lane *lane)
{
	reel_region *region = lane->in;

	return region && region->state != REEL_REGION_ENDED && region->visit == lane->visit ? region
											    : NULL;
}

/* ---- lane.c ---- */

/* Returns NULL if there is no memory. */
reel_lane *reel_lane_new(reel_lane *parent, reel_pool *pool, unsigned flags);
/* A lane of the calling thread that has an error, is in no region, and refuses what is pushed. */
reel_lane *reel_lane_refuse_all(void);

/*
 * Makes it an error if an earlier reel_tasks_reverse() of the lane was left by an exception or by
 * longjmp(). Called at the beginning of what the lane's owner does next.
 */
void reel_lane_check_left(reel_lane *lane);

/* Makes an error stick. From now on pops give all ones. */
void reel_lane_fail(reel_lane *lane, int error, const char *format, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 3, 4)))
#endif
	;

/*
 * Ends all waits for turns in the root of this lane, with this error: a lane that has an error may
 * never take a turn for which another lane waits.
 */
void reel_lane_end_waits(reel_lane *lane, int error);

/*
 * Called when a sweep begins in a root, while no lane of it runs. If no lane has an error any more,
 * an earlier error no longer ends waits.
 */
void reel_lane_forget_failure(reel_lane *lane);

/*
 * Notes in checked mode in which direction the program goes. What is left of a reversal is an error
 * when the root is closed.
 */
static inline void reel_lane_set_reverses(const reel_lane *lane, bool reverses)
{
	_Atomic bool *now = &lane->root->reverses;

	/* Relaxed is enough: see struct reel_lane. Most calls find it as it is to be. */
	if (lane->tape.flags & REEL_CHECKED &&
	    atomic_load_explicit(now, memory_order_relaxed) != reverses)
		atomic_store_explicit(now, reverses, memory_order_relaxed);
}

/* Pushes a note, or a pair of values. Does nothing after an error. */
void reel_lane_note(reel_lane *lane, enum reel_note_kind kind, uint64_t number, uint64_t value);
void reel_lane_note_pair(reel_lane *lane, uint64_t first, uint64_t second);
/* Pops the top note if it is this one. Returns false if it is another one, or if there is none. */
bool reel_lane_take(reel_lane *lane, enum reel_note_kind kind, uint64_t number, uint64_t *value);
/* Returns the top note, all ones if there is none. reel_lane_pop() pops it, or a pair. */
struct reel_note reel_lane_top(reel_lane *lane);
struct reel_note reel_lane_pop(reel_lane *lane);

/* Returns 64 times the bytes of a tape plus its pending bits (at most 63), so bits count, too. */
uint64_t reel_lane_height(const reel_tape *tape);

/* ---- lane-table.c ---- */

/* Returns lane `index`, which is made if it is not there; NULL if there is no memory. */
reel_lane *reel_lane_child(reel_lane *parent, int32_t index);
/* Returns lane `index`, or NULL if it is not there. */
reel_lane *reel_lane_find(const reel_lane *parent, int32_t index);
/* Returns the first lane from *index on and sets *index behind it; NULL if there is none. */
reel_lane *reel_lane_next(const reel_lane *parent, int32_t *index);

/* ---- lane-recording.c ---- */

/*
 * The section whose turns the lane counts: the program's, or a reader's copy of it. NULL: no
 * memory, and the lane has that error.
 */
reel_ordered *reel_lane_ordered(reel_lane *lane, reel_ordered *order);
/* At the end of a root. */
void reel_lane_drop_copies(reel_lane *root);

/* ---- ordered.c ---- */

/* Returns the number of a new root. */
uint32_t reel_ordered_next_root(void);

/* Sets all ordered sections that were used in the hold back to their counts at its beginning. */
void reel_ordered_replay(struct reel_lane_hold *hold);
/* Ends the hold by a release. The hold around it takes its counts. */
void reel_ordered_release(struct reel_lane_hold *hold);
/* Frees the counts of a hold. The ordered sections may be gone. */
void reel_ordered_drop(struct reel_lane_hold *hold);

/* ---- deadlock.c ---- */

/*
 * Called by the lane's thread before and after it sleeps until the lane's turn comes, and in the
 * reverse sweep when it gives back a lane that has left its phase. If no lane of the root can end a
 * turn any more, all waits for turns end with -EDEADLK.
 */
void reel_deadlock_sleep(reel_lane *lane, const struct reel_omp_wait *wait);
void reel_deadlock_wake(reel_lane *lane);
void reel_deadlock_give_back(reel_lane *lane);
/*
 * Looks for such a deadlock, if a lane of the root sleeps. Called by a thread that finds no task to
 * reverse.
 */
void reel_deadlock_look(reel_lane *root);
/* Called by the lane's thread before a team reverses tasks of the lane, and with NULL after it. */
void reel_deadlock_set_team(reel_lane *lane, struct reel_task_team *team);

/* ---- phase.c ---- */

void reel_phase_open(reel_lane *lane, uint64_t phase);
/* Opens the same phase in the reverse sweep. */
void reel_phase_reopen(reel_lane *lane, uint64_t phase);
/*
 * Leaves the phase of the lane, unless that was done. In a forward sweep it notes what was
 * recorded; in a reverse sweep it is an error if not all of it was reversed. The thread that is
 * done with the lane calls this, or the next thread that takes it, or the thread that ends the
 * region.
 */
void reel_phase_leave(const reel_region *region, reel_lane *lane);
/* Makes it an error if a loop of the lane has begun and not ended. */
void reel_phase_check_loops(reel_lane *lane);
/*
 * Called where a thread gives back a lane whose tasks may still run, so that it cannot leave its
 * phase yet: other lanes must not wait for turns that it has left out, or did not end.
 */
void reel_phase_check_notes(const reel_region *region, reel_lane *lane);
/* The phase of a round, in the direction of the region; and takes a lane to that phase. */
uint64_t reel_phase_of(const reel_region *region, int64_t round);
void reel_phase_go_to(const reel_region *region, reel_lane *lane, int64_t round);

/* ---- region.c ---- */

/* The region of a parent, which is made if it is not there; NULL: no memory. */
reel_region *reel_region_of(reel_lane *parent);

/* Notes that there is no memory for a lane, which is an error of the region; whether that is so. */
void reel_region_note_no_memory(reel_region *region);
static inline bool reel_region_lacks_lane(const reel_region *region)
{
	/* Relaxed is enough: the threads that noted it have come to a barrier, or have joined. */
	return atomic_load_explicit(&region->lacks_lane, memory_order_relaxed);
}

/* A mistake and the lane that it hit, as region->mistake has it. */
static inline int32_t reel_mistake(enum reel_mistake_kind kind, int32_t lane)
{
	return lane << REEL_KIND_BITS | (int32_t)kind;
}

/*
 * Notes a mistake of the program, for the thread that ends the region to report: the parent belongs
 * to that thread. From now on no lane is given out, and no thread waits in the region. Any thread
 * of the team.
 */
void reel_region_note_mistake(reel_region *region, enum reel_mistake_kind kind, int32_t lane);

static inline bool reel_region_has_mistake(const reel_region *region)
{
	/* Relaxed is enough: a thread that does not see it yet goes on as before it. */
	return atomic_load_explicit(&region->mistake, memory_order_relaxed) != 0;
}

/*
 * Returns whether Reel may choose the number of threads for the lanes or tasks of a parent. Lanes that
 * wait for turns, also those of regions and tasks in these lanes, need a thread each.
 */
bool reel_region_may_choose(const reel_lane *parent);

/* Returns lane `index` in its phase of this round, for the thread that takes it. */
reel_lane *reel_region_enter(reel_region *region, int32_t index, int64_t round);

/* ---- barrier.c ---- */

/*
 * Returns the collective span that all threads see after the barrier. Before all have come, the others
 * may still use the spans of the present phase. An action that could take one of them away changes no
 * tape then, and returns NULL.
 */
typedef const void *reel_barrier_action(reel_worker *worker, const void *argument,
					bool all_have_come);

/*
 * Passes a barrier. All threads pass an `act`, or all pass NULL. Thread 0 alone calls its `act`: when
 * it comes, and again when all have come if the first call returned NULL. Returns the span of the
 * action, or NULL if a mistake has ended the barrier early.
 */
const void *reel_barrier_pass(reel_worker *worker, reel_barrier_action *act, const void *argument);
/* The thread passes no further barrier of the region. It is a mistake if another thread waits at one. */
void reel_barrier_end(const reel_worker *worker);
/* Before a region begins, and before its team and mistake are forgotten. */
void reel_barrier_clear(reel_region *region);

#endif
