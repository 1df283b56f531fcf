/* SPDX-License-Identifier: MIT */
/*
 * Parallel regions: lanes that record on tapes of their own, and reverse sweeps that run
 * them by any number of threads.
 *
 *	cc -fopenmp program.c $(pkg-config --cflags --libs reel-omp)
 *
 *	reel_lane *root;
 *
 *	reel_lane_open(&root, NULL, 0);
 *
 *	REEL_PARALLEL(root, lane)                            forward sweep
 *		REEL_FOR(lane, int, i, 0, n, reel_dynamic(16)) {
 *			reel_push(reel_lane_tape(lane), x[i]);
 *			x[i] = sin(x[i]) * a[i];
 *		}
 *
 *	REEL_PARALLEL_REVERSE(root, lane)                    reverse sweep
 *		REEL_FOR_REVERSE(lane, int, i, 0, n, reel_dynamic(16)) {
 *			double x_i = reel_pop(reel_lane_tape(lane), double);
 *
 *			a_bar[i] += sin(x_i) * x_bar[i];
 *			x_bar[i] *= cos(x_i) * a[i];
 *		}
 *
 *	error = reel_lane_error(root);
 *	reel_lane_close(root);
 *
 * Lanes. A lane is one thread's part of a region: a tape for values, and notes about the decisions
 * of OpenMP. The reverse sweep reverses lanes, not threads. It may have more threads than the
 * forward sweep had, fewer, or one: each thread takes the next free lane. The values of a lane are
 * popped in the reverse order of its pushes, and a gradient depends on this order only. So the
 * gradient has the same bits for any number of threads, if different lanes add to different
 * adjoints, or add by reel/adjoint.h with private copies.
 *
 * The parent of a lane is the lane in which its region began: the root, or for a nested region
 * another lane. Lanes stay open between regions, so a program with a region in each time step has
 * one tape for each lane.
 *
 * Phases. A barrier ends a phase. The reverse sweep reverses all lanes of a phase, then all lanes
 * of the previous phase. REEL_REGION() has a worker for each thread, and the barrier is
 * reel_worker_barrier() (reel/worker.h).
 *
 * Notes, and their size on a lane that recorded something:
 *
 *	static loop     nothing: the bounds are computed again
 *	dynamic loop    16 bytes for each interval of consecutive iterations, and 16 bytes
 *	phase, region   16 bytes each; a region takes 32 bytes on its parent, 48 with collective
 *	                spans
 *
 * A lane that records nothing stays empty.
 *
 * OpenMP. The library needs no OpenMP runtime: the program passes the numbers of its threads. The
 * statements, reel_worker_of(), reel_worker_phase() and reel_runtime() are inline and ask OpenMP
 * for these numbers. In a program that is compiled without OpenMP they serve one thread.
 *
 * Threads. The thread that owns the parent begins, reverses and ends a region. A lane belongs to
 * the thread that took it, until this thread asks for its next lane. In the next phase another
 * thread may take the lane. If OpenMP cancels the parallel region (`cancel parallel`) while threads
 * wait in it for the others, at a Reel barrier or for a turn, their waits end within some
 * hundredths of a second, and the region has the error -EINVAL. The region also has this error if a
 * thread ends its part of the region, by REEL_REGION() or reel_worker_end(), before a Reel barrier
 * at which the others wait. A thread that ends otherwise in a region (pthread_cancel) never reaches
 * its barrier, and the other threads wait there for ever, as at an OpenMP barrier.
 *
 * Errors are sticky, as for tapes. A lane with an error pops all ones (quiet NaNs), and
 * reel_region_end() returns the error. If there is no memory for a lane, the lane has an error or
 * is not given out. If there is no memory for a region, it gives out no lane. No thread runs the
 * loop iterations of such lanes, not even in the forward sweep, so test the result of
 * reel_region_end() after both sweeps. None of these functions returns NULL.
 *
 * Exceptions. A C++ exception may not leave a parallel region of OpenMP, and a thread that catches
 * an exception in the region has left its lane in the middle. In a loop, this gives the lane the
 * error -EINVAL. Outside a loop, the lane counts as left early, and the reverse sweep reverses its
 * records until then. So catch exceptions in the loop's body, where the iteration can be completed,
 * or give up the gradient. If an exception or longjmp() skips reel_region_end(), the next region of
 * the parent has the error -EINVAL. The thread must still reach all barriers of the region.
 *
 * Checked mode (REEL_CHECKED of a root, of the pool, or in the environment) does more than for
 * tapes: it notes and compares the bounds of static loops, and if a thread uses a lane that it has
 * not taken, it reports both places. A root fixes the mode when it opens, for all lanes in it.
 */
#ifndef REEL_REGION_H
#define REEL_REGION_H

#include <reel/recording.h>
#include <reel/worker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Lanes ------------------------------------------------------------------- */

/*
 * Opens a root: a lane that is part of no region. The pool (NULL: the default pool) and the flags
 * of reel_tape_open() are for the tapes of the root and of all lanes in it.
 *
 * Returns 0, -EINVAL for an unknown flag, or -ENOMEM.
 */
int reel_lane_open(reel_lane **lane, reel_pool *pool, unsigned flags);

/*
 * Closes a root and all lanes in it, and drops their records. NULL is allowed. In checked mode it
 * reports -EBADMSG to the error handler if a reverse sweep was begun after the last recording and
 * has not reversed everything, unless there is an error already, or a hold is open.
 */
void reel_lane_close(reel_lane *lane);

/* The tape of a lane, for pushes and pops. Valid until the root is closed. Constant time. */
reel_tape *reel_lane_tape(reel_lane *lane);

/*
 * The number of a lane in its region, from 0, and the number of lanes there. For a root: 0 and 1.
 */
int reel_lane_index(const reel_lane *lane);
int reel_lane_count(const reel_lane *lane);

/*
 * The sticky error of the lane, or else of the first lane in it with an error, or 0. The errors of
 * reel_tape_error(), and
 *   -EBADMSG   the reverse sweep does not mirror the recording
 *   -EDEADLK   a region with ordered sections has fewer threads than lanes, or all lanes wait for
 *              turns: see reel_ordered
 *   -EINVAL    a region, loop or phase is out of place
 *   -EOVERFLOW the index of a loop has a type that does not hold the bounds
 * Cost: O(lanes).
 */
int reel_lane_error(const reel_lane *lane);

/* Returns true if nothing is recorded on the lane and on all lanes in it. */
bool reel_lane_is_empty(const reel_lane *lane);

/* Number of bytes of values, and of notes, on the lane and on all lanes in it. */
uint64_t reel_lane_bytes(const reel_lane *lane);
uint64_t reel_lane_note_bytes(const reel_lane *lane);

/*
 * Replay of the lane and all lanes in it, like reel_tape_hold(), reel_tape_replay() and
 * reel_tape_release() for a tape. Not within a region of the lane.
 *
 * Returns 0, or the first error, which sticks. If a hold is refused, none of the lanes is held by
 * it.
 */
int reel_lane_hold(reel_lane *lane);
int reel_lane_replay(reel_lane *lane);
int reel_lane_release(reel_lane *lane);

/* ---- Recordings ---------------------------------------------------------------- */

/*
 * A recording of lanes is the recording of a frozen root, for any number of readers at the same
 * time (reel/recording.h). A reader acts as a root with this recording. A team reverses, holds and
 * replays the regions of its reader as usual, while other teams reverse other readers.
 */
typedef struct reel_lane_recording reel_lane_recording;

/*
 * Makes a recording of a root, and closes the root. Each struct reel_ordered that the root used
 * must keep its address, unchanged, as long as there are readers: a reader counts in its own copy.
 *
 * Returns 0. If it returns one of these errors, the root is unchanged:
 *   -EINVAL   the lane is no root, or a region has not ended
 *   -EBUSY    a hold is open
 *   -ENOTSUP  a lane has tasks (reel/task.h), which can be reversed only once
 *   the error of a lane
 * If it returns -ENOMEM, the recording is lost, and the root has this error.
 *
 * Cost: O(lanes + slabs).
 */
int reel_lane_freeze(reel_lane *root, reel_lane_recording **recording);

/* Opens a reader, to be closed by reel_lane_close(). Returns 0 or -ENOMEM. Cost: O(lanes). */
int reel_lane_reader_open(reel_lane **root, reel_lane_recording *recording);

/*
 * Ends the program's use of the recording. Its memory is freed when the last reader is closed. NULL
 * is allowed.
 */
void reel_lane_recording_close(reel_lane_recording *recording);

/* ---- Loops ---------------------------------------------------------------------- */

enum reel_loop_kind { REEL_STATIC_LOOP, REEL_DYNAMIC_LOOP, REEL_GUIDED_LOOP };

/* How a loop hands out its iterations to lanes. */
typedef struct reel_chunking {
	int32_t kind;
	int32_t noted; /* not 0: the bounds are noted, even if they could be computed again */
	int64_t chunk;
} reel_chunking;

/*
 * reel_static(0): a block of equal size for each lane. reel_static(chunk): chunks to the lanes in
 * turn. reel_dynamic(chunk): the next chunk to the lane that asks first. reel_guided(chunk): the
 * same, with larger chunks at first. In the last two a chunk of 0 is 1.
 */
REEL_ALWAYS_INLINE reel_chunking reel_static(int64_t chunk)
{
	reel_chunking chunking = {REEL_STATIC_LOOP, 0, chunk};

	return chunking;
}

REEL_ALWAYS_INLINE reel_chunking reel_dynamic(int64_t chunk)
{
	reel_chunking chunking = {REEL_DYNAMIC_LOOP, 1, chunk};

	return chunking;
}

REEL_ALWAYS_INLINE reel_chunking reel_guided(int64_t chunk)
{
	reel_chunking chunking = {REEL_GUIDED_LOOP, 1, chunk};

	return chunking;
}

/* A lane's part of a loop. Its current chunk is first <= i < end. */
typedef struct reel_loop {
	int64_t first, end;
	/* The library's own. */
	reel_lane *lane;
	int64_t low, high, chunk, at;
	int64_t interval_first, interval_end, intervals;
	int16_t state;
	int16_t in_chunk; /* not 0 while REEL_FOR runs a chunk: a break leaves it so */
	int32_t kind, noted, lanes;
} reel_loop;

/*
 * Begins the lane's part of a loop over low <= i < high. As with OpenMP loops, all lanes of a
 * region reach the same loops in the same order. There is no barrier at the end, and loops of one
 * lane do not nest.
 */
reel_loop reel_loop_begin(reel_lane *lane, reel_chunking chunking, int64_t low, int64_t high);
/* The same loop in the reverse sweep: the lane's chunks, last to first. */
reel_loop reel_loop_reverse(reel_lane *lane, reel_chunking chunking, int64_t low, int64_t high);

/*
 * Sets loop->first and loop->end to the lane's next chunk. False: there is no more. A dynamic chunk
 * costs one atomic operation. Consecutive chunks are noted as one interval.
 */
bool reel_loop_next(reel_loop *loop);

/*
 * Leaves the loop before its end. Needed in the forward sweep before a break or a return. The lane
 * has run the iterations below `end` of its current chunk. Other lanes still take free chunks,
 * until a lane that has stopped reaches the next dynamic, guided or single loop of the region. From
 * then on no lane runs them. If the other lanes have to run all chunks, put a barrier before that
 * loop. The reverse sweep reverses the iterations that were run.
 */
void reel_loop_stop(reel_loop *loop, int64_t end);

/*
 * A loop as one statement: i takes the lane's iterations, in the reverse sweep the same iterations
 * backwards. `continue` is allowed. A break is -EINVAL; in the forward sweep reel_loop_stop() of
 * i_loop, the loop of REEL_FOR over i, comes before it.
 *
 * If `type` cannot hold both bounds, as an unsigned char cannot hold 256, the loop runs no
 * iteration, and the lane has the error -EOVERFLOW. With constant bounds GCC, and Clang from 14 on,
 * report this at compile time.
 */
#define REEL_FOR(lane, type, i, low, high, chunking)                                       \
	for (reel_loop i##_loop = reel_loop_begin(lane, chunking, low, high),              \
		       *i##_held = REEL_LOOP_HELD(type, i##_loop, low, high);              \
	     reel_loop_next(i##_held);)                                                    \
		for (type i = (type)(i##_loop.in_chunk = 1, i##_loop.first),               \
			  i##_end = (type)i##_loop.end;                                    \
		     i < i##_end || (i##_loop.in_chunk = 0); i++)

#define REEL_FOR_REVERSE(lane, type, i, low, high, chunking)                               \
	for (reel_loop i##_loop = reel_loop_reverse(lane, chunking, low, high),            \
		       *i##_held = REEL_LOOP_HELD(type, i##_loop, low, high);              \
	     reel_loop_next(i##_held);)                                                    \
		for (type i = (type)(i##_loop.in_chunk = 1, i##_loop.end),                 \
			  i##_first = (type)i##_loop.first;                                \
		     i-- > i##_first || (i##_loop.in_chunk = 0);)

/* The library's own, down to REEL_SINGLE(). */
#define REEL_LOOP_HELD(type, loop, from, to)                                                     \
	(REEL_REFUSE_CONSTANTS(type, (int64_t)(from), (int64_t)(to)),                           \
	 REEL_HOLDS(type, (loop).low, (loop).high) ? &(loop) : reel_loop_refuse(&(loop)))
/* The last term is for negative bounds of an unsigned type of 64 bits. */
#define REEL_HOLDS(type, low, high)                                                              \
	((low) >= (high) || ((int64_t)(type)(low) == (low) && (int64_t)(type)(high) == (high) && \
			     (type)(low) < (type)(high)))
#ifdef REEL_ERROR_IF_CALLED
#define REEL_REFUSE_CONSTANTS(type, low, high)                                               \
	(__builtin_constant_p(REEL_HOLDS(type, low, high)) && !REEL_HOLDS(type, low, high) ? \
		 reel_index_type_does_not_hold_the_bounds() : (void)0)
void reel_index_type_does_not_hold_the_bounds(void)
	REEL_ERROR_IF_CALLED("the type of the index of this loop does not hold the bounds");
#else
#define REEL_REFUSE_CONSTANTS(type, low, high) (void)0
#endif
reel_loop *reel_loop_refuse(reel_loop *loop);

/*
 * The first lane that reaches REEL_SINGLE(lane) { ... } runs it, and the same lane runs
 * REEL_SINGLE_REVERSE(lane) { ... } in the reverse sweep. There is no barrier. It is a dynamic loop
 * of one iteration with the name `reel_single`: all lanes reach it, and a break or a return needs
 * reel_loop_stop() before it.
 */
#define REEL_SINGLE(lane)                                                                          \
	for (reel_loop reel_single = reel_loop_begin(lane, reel_dynamic(1), 0, 1);                 \
	     reel_loop_next(&reel_single);)

#define REEL_SINGLE_REVERSE(lane)                                                                  \
	for (reel_loop reel_single = reel_loop_reverse(lane, reel_dynamic(1), 0, 1);               \
	     reel_loop_next(&reel_single);)

/* ---- Ordered sections: critical, locks, ordered -------------------------------------- */

/*
 * The order in which lanes entered a critical section, or acquired a lock. The program has one
 * struct for each critical section, or lock, and each root. It is all zero at first. It must keep
 * its address from the forward sweep to the end of the reverse sweep, and to the end of all holds
 * in which it is used: they also replay it.
 *
 *	#pragma omp critical                        forward sweep
 *	{
 *		reel_ordered_note(lane, &order);
 *		...
 *	}
 *
 *	reel_ordered_await(lane, &order);             reverse sweep, without a critical section
 *	...
 *	reel_ordered_done(lane, &order);
 *
 * In the reverse sweep lanes wait for their turns, so each lane of the region needs a thread. Use
 * num_threads(reel_region_threads(region, ...)), and omp_set_dynamic(0), since OpenMP may give
 * fewer threads otherwise. If there are fewer threads than lanes, the region gives out no lane, and
 * its parent has the error -EDEADLK, which cannot be cleared. If the adjoints of a section commute,
 * it needs no order: use a critical section in both sweeps.
 *
 * Mistakes: a lane gets the error -EINVAL, which ends the waits of all lanes of the root, if it
 * waits for a turn before it has ended its turn in the same section, ends a turn that it does not
 * have, is given back with a turn, or notes a turn in a struct in which another root has turns that
 * are not reversed. A lane has at most 8 turns at a time.
 *
 * If no lane of the root can make progress, since each lane waits for a turn or has ended its
 * phase, all waits end with -EDEADLK: a turn or a phase did not end, or inner lanes, or tasks of
 * reel_tasks_reverse(), wait for turns of lanes without a thread. This is not detected while lanes
 * wait in tasks that OpenMP runs in the reverse sweep, since Reel does not know which task runs
 * next.
 */
typedef struct reel_ordered {
#ifdef __cplusplus
	uint64_t count;
#else
	_Atomic uint64_t count;
#endif
	uint64_t hold; /* the library's own */
} reel_ordered;

/* Notes the lane's turn, inside the section. 16 bytes. */
void reel_ordered_note(reel_lane *lane, reel_ordered *order);

/*
 * reel_ordered_await() waits until all later turns have been reversed; reel_ordered_done() lets the
 * previous turn begin. A waiting thread soon yields, then sleeps.
 */
void reel_ordered_await(reel_lane *lane, reel_ordered *order);
void reel_ordered_done(reel_lane *lane, reel_ordered *order);

/* ---- With OpenMP ------------------------------------------------------------------ */

/*
 * Regions as statements. Each begins a region, or its reverse, in the parent, runs the statement
 * that follows in an OpenMP team, and ends the region. The errors stay in the lanes:
 * reel_lane_error() of the root returns the first of them. Without OpenMP the same source runs in
 * one thread.
 *
 *	REEL_PARALLEL(parent, lane) { ... }                 in each lane of a region
 *	REEL_PARALLEL_REVERSE(parent, lane) { ... }
 *	REEL_PARALLEL_FOR(parent, lane, type, i, low, high, chunking) { ... }
 *	REEL_PARALLEL_FOR_REVERSE(parent, lane, type, i, low, high, chunking) { ... }
 *	                                                    a REEL_FOR in each lane
 *	REEL_REGION(parent, worker) { ... }                 in each thread of the team, with its
 *	REEL_REGION_REVERSE(parent, worker) { ... }         worker: for regions with phases
 *	REEL_LANES(worker, lane) { ... }                    in these: all lanes of a phase
 *
 *	REEL_PARALLEL_WITH(parent, lane, lanes, threads, clauses) { ... }
 *	REEL_PARALLEL_REVERSE_WITH(parent, lane, threads, clauses) { ... }
 *	REEL_REGION_WITH(parent, worker, lanes, threads, clauses) { ... }
 *	REEL_REGION_REVERSE_WITH(parent, worker, threads, clauses) { ... }
 *
 * `lane` and `worker` name variables, a reel_lane * and a reel_worker. The number of lanes is
 * passed to reel_region_begin(); in REEL_PARALLEL_FOR it is the number of threads that OpenMP
 * gives. With 0 threads, and in statements that have no such argument, reel_region_choose_threads()
 * chooses OpenMP's number or 1. The reverse of a region with ordered sections has a thread for each
 * lane.
 *
 * Clauses are passed to `omp parallel`, as in if(n > 1000) firstprivate(a, b), and may be left
 * empty. The clause reduction adds up in an order that depends on the number of threads: also set
 * this number, or use reel/reduction.h, for the same bits each time.
 *
 * In the statement of a lane `break` and `continue` end the lane's part of the phase. In the
 * statement of a region they end the thread's part of the region, by reel_worker_end(). In one of
 * the two FOR statements a break is -EINVAL, as in REEL_FOR. A return or a goto out of the
 * statement does not compile with OpenMP; without OpenMP it leaves the region without an end, which
 * is an error of the parent's next region.
 */
#define REEL_PARALLEL(parent, lane) REEL_PARALLEL_WITH(parent, lane, 0, 0, )
#define REEL_PARALLEL_REVERSE(parent, lane) REEL_PARALLEL_REVERSE_WITH(parent, lane, 0, )
#define REEL_PARALLEL_WITH(parent, lane, lanes, threads, clauses)                       \
	REEL_IN_TEAM(reel_region_begin(parent, lanes), lane##_worker, threads, clauses) \
	REEL_LANES(lane##_worker, lane)
#define REEL_PARALLEL_REVERSE_WITH(parent, lane, threads, clauses)                 \
	REEL_IN_TEAM(reel_region_reverse(parent), lane##_worker, threads, clauses) \
	REEL_LANES(lane##_worker, lane)

#define REEL_PARALLEL_FOR(parent, lane, type, i, low, high, chunking) \
	REEL_PARALLEL_WITH(parent, lane, reel_max_threads(), 0, )             \
	REEL_FOR(lane, type, i, low, high, chunking)
#define REEL_PARALLEL_FOR_REVERSE(parent, lane, type, i, low, high, chunking) \
	REEL_PARALLEL_REVERSE(parent, lane) REEL_FOR_REVERSE(lane, type, i, low, high, chunking)

#define REEL_REGION(parent, worker) REEL_REGION_WITH(parent, worker, 0, 0, )
#define REEL_REGION_REVERSE(parent, worker) REEL_REGION_REVERSE_WITH(parent, worker, 0, )

#define REEL_REGION_WITH(parent, worker, lanes, threads, clauses) \
	REEL_IN_TEAM(reel_region_begin(parent, lanes), worker, threads, clauses) REEL_PART(worker)
#define REEL_REGION_REVERSE_WITH(parent, worker, threads, clauses) \
	REEL_IN_TEAM(reel_region_reverse(parent), worker, threads, clauses) REEL_PART(worker)

#define REEL_LANES(worker, name)            \
	while (reel_worker_next(&(worker))) \
		for (reel_lane *name = (worker).lane; name; name = NULL)

/* The library's own, down to reel_team_threads(). */
#define REEL_IN_TEAM(begun, worker, threads, clauses)                                              \
	for (reel_region *worker##_region = (begun); worker##_region;                              \
	     worker##_region = reel_region_finish(worker##_region))                                \
	REEL_OMP_PARALLEL(num_threads(reel_team_threads(worker##_region, threads)) clauses)        \
	for (reel_worker worker = reel_worker_of(worker##_region), *worker##_once = &worker;       \
	     worker##_once; worker##_once = NULL)
/*
 * A thread's part of a region. It ends in the outer loop, also after a break out of the inner loop.
 */
#define REEL_PART(worker)                                                      \
	for (; worker##_once; reel_worker_end(&worker), worker##_once = NULL) \
		for (; worker##_once; worker##_once = NULL)

#ifdef _OPENMP
#define REEL_OMP_PARALLEL(clauses) REEL_OMP_PRAGMA(omp parallel clauses)
#define REEL_OMP_PRAGMA(text) _Pragma(#text)
#else
#define REEL_OMP_PARALLEL(clauses)
#endif

REEL_ALWAYS_INLINE reel_region *reel_region_finish(reel_region *region)
{
	reel_region_end(region);
	return NULL;
}

/* Number of threads of a team that OpenMP makes here, which OMP_THREAD_LIMIT may bound. */
REEL_ALWAYS_INLINE int reel_max_threads(void)
{
#ifdef _OPENMP
	int threads = omp_get_max_threads(), limit = omp_get_thread_limit();
	bool has_team = omp_get_active_level() < omp_get_max_active_levels();

	return !has_team ? 1 : threads < limit ? threads : limit;
#else
	return 1;
#endif
}

REEL_ALWAYS_INLINE int reel_team_threads(reel_region *region, int threads)
{
	return threads > 0 ? reel_region_threads(region, threads)
			   : reel_region_choose_threads(region, reel_max_threads());
}

/* The schedule of OMP_SCHEDULE. It is noted, so that the reverse sweep does not ask again. */
REEL_ALWAYS_INLINE reel_chunking reel_runtime(void)
{
	reel_chunking chunking = {REEL_STATIC_LOOP, 1, 0};
#ifdef _OPENMP
	omp_sched_t kind;
	int chunk;

	omp_get_schedule(&kind, &chunk);
	chunking.chunk = chunk > 0 ? chunk : 0;
	if (((unsigned)kind & 0xff) == (unsigned)omp_sched_dynamic)
		chunking.kind = REEL_DYNAMIC_LOOP;
	else if (((unsigned)kind & 0xff) == (unsigned)omp_sched_guided)
		chunking.kind = REEL_GUIDED_LOOP;
#endif
	return chunking;
}

#ifdef __cplusplus
}
#endif

#endif
