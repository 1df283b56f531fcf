/* SPDX-License-Identifier: MIT */
/*
 * A lane is two tapes: one for the program's values, one for notes (note.h). One thread at a time
 * uses a lane; a barrier, the end of a task, or an ordered section hands it to the next thread.
 */
#ifndef REEL_OMP_LANE_H
#define REEL_OMP_LANE_H

#include "os/assert.h"
#include "region-state.h"

/* The lanes of a lane are in blocks that do not move: block b has 2^b of them. */
#define REEL_LANE_BLOCKS 31
typedef _Atomic(reel_lane *) reel_lane_slot;

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
/*
 * Returns whether the team can end no task: each lane whose task runs now is stuck, or waits for
 * other tasks of the team, and no task is ready or no thread is left to run it. Any thread may call
 * it while a lane has the team.
 */
typedef bool reel_task_team_is_stuck(struct reel_task_team *team,
				     bool (*lane_is_stuck)(const reel_lane *lane));

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
	/*
	 * The turn for which the lane's thread sleeps, or NULL. The lock in deadlock.c guards it.
	 */
	const struct reel_omp_wait *awaits;
	/*
	 * The threads of a reel_tasks_reverse() of the lane, or NULL, and the function that tells
	 * whether they can end no task. The same lock guards both.
	 */
	struct reel_task_team *team;
	reel_task_team_is_stuck *team_is_stuck;
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
	void *bodies_memory;
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
	 * Root only: whether lanes have noted turns, and how many lanes sleep until their turns
	 * come. The first is relaxed: it is set in the forward sweep. The second: deadlock.c.
	 */
	_Atomic bool has_turns;
	_Atomic int32_t sleepers;
	/* Root only: from 1; marks the ordered sections that lanes of this root note. */
	uint32_t root_number;
	_Atomic(struct reel_ordered_copy *) copies;
};

/*
 * Returns whether the lane is one that reel_lane_refuse_all() returned, in this or another thread:
 * one thread makes the lane of a task, and another one may use it.
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

/*
 * Makes it an error if an earlier reel_tasks_reverse() of the lane was left by an exception or by
 * longjmp(). Called at the beginning of the owner's next call.
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
 * Notes in checked mode in which direction the program goes. An incomplete reversal is an error
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

/* Makes it an error if a loop of the lane has begun and not ended. */
void reel_lane_check_loops(reel_lane *lane);

/* Returns 64 times the bytes of a tape plus its pending bits (at most 63), so bits also count. */
uint64_t reel_lane_height(const reel_tape *tape);

/* ---- lane-table.c ---- */

/* Returns lane `index`, or NULL if it is not there. */
reel_lane *reel_lane_find(const reel_lane *parent, int32_t index);
/* Returns the first lane from *index on and sets *index behind it; NULL if there is none. */
reel_lane *reel_lane_next(const reel_lane *parent, int32_t *index);

/*
 * Returns the place of lane `index`, which is made if it is not there; NULL if there is no memory.
 * Any thread of a team.
 */
reel_lane_slot *reel_lane_slot_at(reel_lane *parent, int32_t index);

/* ---- lane-tree.c ---- */

/*
 * Called when a sweep begins in a root, while no lane of it runs. If no lane has an error any more,
 * an earlier error no longer ends waits.
 */
void reel_lane_forget_failure(reel_lane *lane);

/* ---- lane-open.c ---- */

/* Returns NULL if there is no memory. */
reel_lane *reel_lane_new(reel_lane *parent, reel_pool *pool, unsigned flags);
/* A lane of the calling thread that has an error, is in no region, and refuses all pushes. */
reel_lane *reel_lane_refuse_all(void);
/* Returns lane `index`, which is made if it is not there; NULL if there is no memory. */
reel_lane *reel_lane_child(reel_lane *parent, int32_t index);

#endif
