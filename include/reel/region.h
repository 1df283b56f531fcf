/* SPDX-License-Identifier: MIT */
/*
 * Parallel regions: lanes that record on tapes of their own, and reverse sweeps that run
 * them by any number of threads.
 *
 *	cc -fopenmp program.c $(pkg-config --cflags --libs reel-omp)
 *
 *	reel_lane *root;
 *	reel_region *region;
 *
 *	reel_lane_open(&root, NULL, 0);
 *
 *	region = reel_region_begin(root, 0);                 forward sweep
 *	#pragma omp parallel
 *	{
 *		reel_worker worker = reel_worker_of(region);
 *
 *		while (reel_worker_next(&worker)) {
 *			reel_tape *tape = reel_lane_tape(worker.lane);
 *
 *			REEL_FOR(worker.lane, int, i, 0, n, reel_dynamic(16)) {
 *				reel_push(tape, x[i]);
 *				x[i] = sin(x[i]) * a[i];
 *			}
 *		}
 *	}
 *	reel_region_end(region);
 *
 *	region = reel_region_reverse(root);                  reverse sweep
 *	#pragma omp parallel
 *	{
 *		reel_worker worker = reel_worker_of(region);
 *
 *		while (reel_worker_next(&worker)) {
 *			reel_tape *tape = reel_lane_tape(worker.lane);
 *
 *			REEL_FOR_REVERSE(worker.lane, int, i, 0, n, reel_dynamic(16)) {
 *				double x_i = reel_pop(tape, double);
 *
 *				a_bar[i] += sin(x_i) * x_bar[i];
 *				x_bar[i] *= cos(x_i) * a[i];
 *			}
 *		}
 *	}
 *	error = reel_region_end(region);
 *
 *	reel_lane_close(root);
 *
 * Lanes. What a thread of the team does in a region is a lane: a tape for values, and notes
 * for what OpenMP decided. Lanes, not threads, are what is reversed: the reverse sweep may
 * have more threads than there were, fewer, or one; each takes the next lane that nobody
 * has. A lane's values are popped in the reverse order of its pushes; that order is all that
 * a gradient depends on, so it is, bit for bit, the same for any number of threads, if the
 * lanes add to different adjoints, or by reel/adjoint.h with private copies.
 *
 * A lane belongs to its parent: to the root, or to the lane in which the region began, for
 * nested regions. It stays open between regions, so a program with a region in each time
 * step has as many tapes as lanes.
 *
 * Phases. A barrier ends a phase. The reverse sweep runs all lanes of a phase, then those of
 * the phase before.
 *
 * What is noted. A static loop: nothing, its bounds are computed again. A dynamic one: 16
 * bytes for each run of consecutive iterations, and 16 more. A phase, and a region: 16
 * bytes, in lanes that recorded something. A region on its parent: 32 bytes. A lane that
 * records nothing is empty.
 *
 * Nothing here needs an OpenMP runtime: threads are numbers that the program gives.
 * reel_worker_of(), reel_worker_phase() and reel_runtime() ask OpenMP for them, inline, in the
 * program; they are for one thread where it is compiled without OpenMP.
 *
 * Threads. A region is begun, reversed and ended by the thread that owns the parent. A lane
 * is used by the thread that took it, until that asks for the next one; between phases it may
 * change. A thread that is cancelled in a region never reaches its barrier, and the others wait
 * there for ever, as at OpenMP's own.
 *
 * Errors stick, as on tapes: a lane with an error pops all ones (quiet NaN), and the end of
 * the region returns it. A lane for which there was no memory is one that has an error, or is
 * not given out, and a region without memory gives out none: their part of the loops is undone, in
 * the forward sweep, too, so look at what reel_region_end() returns there as well. None of
 * these functions returns NULL.
 *
 * Checked mode (REEL_CHECKED, or of the pool, or of the environment), beyond what it does for
 * tapes: the bounds of static loops are noted and compared, and a lane that is used by a
 * thread that has not taken it is reported, with both places.
 */
#ifndef REEL_REGION_H
#define REEL_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include <reel/recording.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_lane reel_lane;
typedef struct reel_region reel_region;

/* ---- Lanes ------------------------------------------------------------------- */

/*
 * Open a root: a lane that is part of no region. `flags` are those of reel_tape_open(), for
 * its tape and those of all lanes in it; the pool (NULL: the default one) is, too.
 *
 * Returns 0, -EINVAL for an unknown flag, or -ENOMEM.
 */
int reel_lane_open(reel_lane **lane, reel_pool *pool, unsigned flags);

/* Close a root, with all that is on it and in it. NULL is nothing. */
void reel_lane_close(reel_lane *lane);

/* Its tape, for pushes and pops; valid until the root is closed. Constant time. */
reel_tape *reel_lane_tape(reel_lane *lane);

/* Its number in its region, from 0, and how many lanes that has. Of a root: 0 of 1. */
int reel_lane_index(const reel_lane *lane);
int reel_lane_count(const reel_lane *lane);

/*
 * The sticky error of the lane, or of the first of its lanes that has one; 0. What a tape
 * has, and
 *   -EBADMSG   what is reversed does not mirror what was recorded
 *   -EDEADLK   a region with orders, with fewer threads than lanes: see reel_ordered
 *   -EINVAL    a region, loop or phase out of place
 * Costs a look at each lane.
 */
int reel_lane_error(const reel_lane *lane);

/* Whether nothing is recorded on it, nor in its lanes. */
bool reel_lane_is_empty(const reel_lane *lane);

/* Bytes of values, and of notes, on it and in its lanes. */
uint64_t reel_lane_bytes(const reel_lane *lane);
uint64_t reel_lane_note_bytes(const reel_lane *lane);

/*
 * Replay, as of a tape (reel_tape_hold()), of the lane with all that is in it: keep what is
 * popped; go back to where the hold began; end it. Not within a region of the lane.
 *
 * Returns 0, or the first error, which sticks.
 */
int reel_lane_hold(reel_lane *lane);
int reel_lane_replay(reel_lane *lane);
int reel_lane_release(reel_lane *lane);

/* ---- Recordings ---------------------------------------------------------------- */

/*
 * What was recorded in a root, for any number of readers at the same time (reel/recording.h). A
 * reader is a root with all that was in the frozen one. Its regions are reversed, held and replayed
 * as usual, by a team of its own, while other teams reverse other readers.
 */
typedef struct reel_lane_recording reel_lane_recording;

/*
 * Makes a recording of a root, and closes the root. Ordered sections that were used in it stay
 * where they are, and nothing else uses them, as long as there are readers, which count in copies
 * of them.
 *
 * Returns 0, or, and the root is as it was,
 *   -EINVAL   it is no root, or a region has not ended
 *   -EBUSY    a hold is open
 *   -ENOTSUP  a lane has tasks (reel/task.h), which can be reversed once only
 *   the error of a lane
 * or -ENOMEM: what was recorded is lost, and the root has that error.
 *
 * Cost: O(lanes + slabs).
 */
int reel_lane_freeze(reel_lane *root, reel_lane_recording **recording);

/* Opens a reader, to be closed by reel_lane_close(). Returns 0 or -ENOMEM. Cost: O(lanes). */
int reel_lane_reader_open(reel_lane **root, reel_lane_recording *recording);

/*
 * Ends the program's use of the recording, whose memory stays as long as a reader. NULL is allowed.
 */
void reel_lane_recording_close(reel_lane_recording *recording);

/* ---- Regions ------------------------------------------------------------------ */

/*
 * Begin to record a region of `lanes` lanes in `parent`. 0: as many as the team has threads
 * that comes to it, one lane each. More lanes than threads: a fixed number makes results
 * that depend on it, such as sums, the same on every machine.
 */
reel_region *reel_region_begin(reel_lane *parent, int lanes);

/*
 * Begin to reverse the region that was recorded last in `parent`, and was not reversed
 * since.
 */
reel_region *reel_region_reverse(reel_lane *parent);

/*
 * End a region, begun by either of the two; after the threads have joined. A lane that has
 * left early (cancellation, a return) is as good as the others, if what it has left was not
 * in the middle of a loop; see reel_loop_stop().
 *
 * Returns 0, or the error of the first lane that has one. In the reverse sweep every lane must
 * have been popped to where the region began.
 */
int reel_region_end(reel_region *region);

/* How many lanes it has; before a team came, 0. */
int reel_region_lanes(const reel_region *region);

/*
 * How many threads to reverse it with, if there are so many: as many, or as many as it
 * has lanes, if it has orders. For num_threads().
 */
int reel_region_threads(const reel_region *region, int threads);

/* ---- Shares: who takes which lane ----------------------------------------------- */

/*
 * What one thread does in a region; `lane` is the one that it has, `thread` and `threads` are those
 * of reel_worker_begin().
 */
typedef struct reel_worker {
	reel_lane *lane;
	int32_t thread;
	int32_t threads;
	/* The library's own. */
	reel_region *region;
	int64_t round;
	int32_t tried;
	uint64_t barriers;
} reel_worker;

/*
 * The worker of thread `thread` of `threads`. All threads of a team say the same number, and
 * each is one worker of a region.
 */
reel_worker reel_worker_begin(reel_region *region, int thread, int threads);

/*
 * Take the next lane of this phase: worker->lane. False: all are taken. With as many threads
 * as lanes, or more, thread i takes lane i. Costs an atomic operation for each lane.
 */
bool reel_worker_next(reel_worker *worker);

/*
 * Leave the lane that the thread has. Needed before a barrier of the program's own in the reverse
 * sweep of a region with orders, unless reel_worker_next() was called until it returned false: if
 * the lane has missed its turns, the others then end with an error and do not wait for them.
 */
void reel_worker_leave(reel_worker *worker);

/*
 * Go to the next phase: in the reverse sweep, to the one before. Between the last call of a
 * phase and the first of the next one, all threads pass a barrier. All of them call it
 * equally often, lanes or not.
 */
void reel_worker_next_phase(reel_worker *worker);

/*
 * A barrier of Reel's own for all workers, and the next phase. It looks for
 * the others for some microseconds, where each thread has a processor, then gives the processor
 * up, then sleeps: fast between short phases, whatever OMP_WAIT_POLICY says. Unlike one of
 * OpenMP's it runs no tasks; and it needs no OpenMP.
 */
void reel_worker_barrier(reel_worker *worker);

/*
 * Collective spans: an array that all lanes fill in place, each its own part, and read, too. It
 * lies on the tape of the region's parent, and is spilled, held and replayed like all that is
 * there.
 *
 * TYPE *reel_worker_push_span(reel_worker *worker, TYPE, size_t n); const TYPE
 * *reel_worker_pop_span(reel_worker *worker, TYPE, size_t n);
 *
 * Both are called by all threads that have a worker, in place of reel_worker_barrier(), which they
 * contain: what was written into the span before is read by all lanes from here on. Thread 0 pushes
 * a span of n elements, or pops the one pushed last, and all get its address; NULL if it is
 * refused, or lost: then the parent has an error.
 *
 *	region = reel_region_begin(parent, 0);               forward sweep
 *	first = reel_push_span(reel_lane_tape(parent), double, n);
 *	in each thread of the team: u = first; each lane fills its part of u
 *		for (s = 0; s < steps; s++) {
 *			next = reel_worker_push_span(&worker, double, n);
 *			each lane calculates its part of next from u
 *			u = next;
 *		}
 *
 *	region = reel_region_reverse(parent);                reverse sweep
 *	last = reel_pop_span(reel_lane_tape(parent), double, n);
 *	in each thread of the team: u = last; each lane begins its part of the adjoint from u
 *		for (s = steps; s-- > 0;) {
 *			u = reel_worker_pop_span(&worker, double, n);
 *			each lane calculates its part of the adjoint from u
 *		}
 *
 * The two spans pushed last, or popped last, are there to be read, and the one pushed last to be
 * written, until the next call. In the region nothing else is pushed on the parent, or popped.
 * Where the parent's pool has a store, its tape keeps one slab more in memory from the first
 * collective span on. In checked mode a span on a new slab is all ones until it is written.
 *
 * Use them where lanes read what others wrote in the step before, as in a time step of a grid: the
 * state is calculated where it is kept. Where each lane reads only what it wrote itself, spans on
 * its own tape need no barrier. Costs one barrier, and a push or a pop by thread 0 in it.
 */
#define reel_worker_push_span(worker, type, n) \
	((type *)reel_worker_push_span_at((worker), REEL_TYPE_OF(type), (n), REEL_HERE))
#define reel_worker_pop_span(worker, type, n) \
	((const type *)reel_worker_pop_span_at((worker), REEL_TYPE_OF(type), (n), REEL_HERE))

void *reel_worker_push_span_at(reel_worker *worker, reel_type type, size_t n, const char *site);
const void *reel_worker_pop_span_at(reel_worker *worker, reel_type type, size_t n,
				    const char *site);

/*
 * With one lane per thread, and in the forward sweep only: the lane may stay in a variable,
 * and this ends its phase, after the barrier.
 */
void reel_lane_phase(reel_lane *lane);

/*
 * How many phases the region has, recorded so far or in all: at least 1. In the reverse sweep also
 * how many loops, with those of REEL_SINGLE(), its lanes came to: the lane that came farthest
 * counts. Where all lanes may have left early, the reverse sweep begins with the last one of so
 * many; to reverse one more is -EBADMSG.
 */
int64_t reel_region_phases(const reel_region *region);
int64_t reel_region_loops(const reel_region *region);

/* ---- Loops ---------------------------------------------------------------------- */

enum reel_loop_kind { REEL_STATIC_LOOP, REEL_DYNAMIC_LOOP, REEL_GUIDED_LOOP };

/* How iterations are dealt to lanes. */
typedef struct reel_chunking {
	int32_t kind;
	int32_t noted; /* even if its bounds could be computed again */
	int64_t chunk;
} reel_chunking;

/*
 * static: blocks of equal size, or chunks in turn, if chunk is above 0. dynamic: chunks to
 * who comes first; guided: at first larger ones. A chunk of 0 is 1 there.
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

/* A loop over first <= i < end, and the lane's present chunk of it. */
typedef struct reel_loop {
	int64_t first;
	int64_t end;
	/* The library's own. */
	reel_lane *lane;
	int64_t low, high, chunk, at;
	int64_t run_first, run_end, runs;
	int32_t state;
	int32_t kind;
	int32_t noted;
	int32_t lanes;
} reel_loop;

/*
 * Begin the lane's part of a loop over low <= i < high. Like loops of OpenMP, one that all lanes of
 * a region come to, in the same order, or none; it has no barrier at its end, and loops of one lane
 * do not nest.
 */
reel_loop reel_loop_begin(reel_lane *lane, reel_chunking chunking, int64_t low, int64_t high);
/* The same loop in the reverse sweep: the lane's chunks, last to first. */
reel_loop reel_loop_reverse(reel_lane *lane, reel_chunking chunking, int64_t low, int64_t high);

/*
 * The lane's next chunk, in loop->first and loop->end; false: there is none. A dynamic chunk
 * costs one atomic operation; consecutive ones are noted as one run.
 */
bool reel_loop_next(reel_loop *loop);

/*
 * Leave the loop before its end; iterations up to `end` - 1 of the present chunk have been
 * done. Chunks that no lane has taken are left to the others, until a lane that has stopped comes
 * to the region's next loop that is dynamic or guided, or single: then nobody runs them, and what
 * is reversed is what was run. Where the others are to run them all, a barrier comes first. Needed
 * before a break or a return; forward sweep only.
 */
void reel_loop_stop(reel_loop *loop, int64_t end);

/*
 * The same as one statement: i goes through the lane's iterations, and in the reverse sweep
 * through the same ones backwards. `continue` is allowed; for break see reel_loop_stop().
 */
#define REEL_FOR(lane, type, i, low, high, chunking)                          \
	for (reel_loop i##_loop = reel_loop_begin(lane, chunking, low, high); \
	     reel_loop_next(&i##_loop);)                                      \
		for (type i = (type)i##_loop.first, i##_end = (type)i##_loop.end; i < i##_end; i++)

#define REEL_FOR_REVERSE(lane, type, i, low, high, chunking)                        \
	for (reel_loop i##_loop = reel_loop_reverse(lane, chunking, low, high);     \
	     reel_loop_next(&i##_loop);)                                            \
		for (type i = (type)i##_loop.end, i##_first = (type)i##_loop.first; \
		     i-- > i##_first;)

/*
 * REEL_SINGLE(lane) { ... } is done by one lane, the first to come; in the reverse sweep
 * REEL_SINGLE_REVERSE(lane) { ... } by the same one. No barrier. It is a dynamic loop of one
 * iteration, so all lanes come to it, and a break or a return needs reel_loop_stop() before it; the
 * loop is `reel_single`.
 */
#define REEL_SINGLE(lane)                                                                          \
	for (reel_loop reel_single = reel_loop_begin(lane, reel_dynamic(1), 0, 1);                 \
	     reel_loop_next(&reel_single);)

#define REEL_SINGLE_REVERSE(lane)                                                                  \
	for (reel_loop reel_single = reel_loop_reverse(lane, reel_dynamic(1), 0, 1);               \
	     reel_loop_next(&reel_single);)

/* ---- Orders: critical sections, locks, ordered -------------------------------------- */

/*
 * The order in which lanes came to something that only one may do at a time. One for each
 * critical section, or lock, of the lanes of one root; all zero to begin with; it belongs to the
 * program, and stays where it is from the forward sweep to the reverse one, and to the end of the
 * holds in which it is used, which replay it, too.
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
 * The reverse sweep waits for its turn, so each lane of the region needs a thread: use
 * num_threads(reel_region_threads(region, ...)), and omp_set_dynamic(0), or else OpenMP may give
 * fewer. Then the region gives out no lane, and its parent has the error -EDEADLK, for good.
 * Sections whose adjoints commute need no order: a critical section does in both sweeps.
 */
typedef struct reel_ordered {
#ifdef __cplusplus
	uint64_t count;
#else
	_Atomic uint64_t count;
#endif
	uint64_t hold; /* in which the count was last kept; 0: in none */
} reel_ordered;

/* Note the lane's turn; inside of the section. 16 bytes. */
void reel_ordered_note(reel_lane *lane, reel_ordered *order);

/*
 * Wait until all later turns have been reversed; and let the turn before begin. A thread that
 * waits gives up the processor soon, then sleeps.
 */
void reel_ordered_await(reel_lane *lane, reel_ordered *order);
void reel_ordered_done(reel_lane *lane, reel_ordered *order);

/* ---- With OpenMP ------------------------------------------------------------------ */

/* The calling thread as a worker of its team. */
REEL_ALWAYS_INLINE reel_worker reel_worker_of(reel_region *region)
{
#ifdef _OPENMP
	return reel_worker_begin(region, omp_get_thread_num(), omp_get_num_threads());
#else
	return reel_worker_begin(region, 0, 1);
#endif
}

/* OpenMP's barrier, and the next phase, for each thread of the team. */
REEL_ALWAYS_INLINE void reel_worker_phase(reel_worker *worker)
{
#ifdef _OPENMP
	if (worker->lane)
		reel_worker_leave(worker);
	/* In a team of one thread, too: tasks may still have to run. */
	_Pragma("omp barrier")
#endif
		reel_worker_next_phase(worker);
}

/* As OMP_SCHEDULE says. It is noted: the reverse sweep does not ask again. */
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
