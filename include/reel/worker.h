/* SPDX-License-Identifier: MIT */
/*
 * Workers: parallel regions as calls, for threads that a program or a runtime makes itself, and for
 * tools. The statements of reel/region.h consist of these calls; that header explains lanes and
 * regions.
 *
 * REEL_PARALLEL(root, lane) of reel/region.h is short for
 *
 *	region = reel_region_begin(root, 0);
 *	#pragma omp parallel
 *	{
 *		reel_worker worker = reel_worker_of(region);
 *
 *		while (reel_worker_next(&worker))
 *			REEL_FOR(worker.lane, ...) { ... }
 *	}
 *	error = reel_region_end(region);
 *
 * Phases. A barrier ends a phase. The reverse sweep reverses all lanes of a phase, then all lanes
 * of the previous phase. The barrier is reel_worker_barrier(). Use instead:
 *
 *	reel_worker_phase()         where tasks of OpenMP have to run at the barrier
 *	reel_worker_next_phase()    after a barrier of the program's own
 *	reel_lane_phase()           the same, for a lane that a thread keeps in a variable
 *	reel_worker_push_span(), reel_worker_pop_span()
 *	                            which contain it
 */
#ifndef REEL_WORKER_H
#define REEL_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <reel/tape.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_lane reel_lane;
typedef struct reel_region reel_region;

/* ---- Regions ------------------------------------------------------------------ */

/*
 * Begins to record a region of `lanes` lanes in `parent`. If `lanes` is 0, each thread of the team
 * has one lane. A fixed number of lanes makes results that depend on it, such as sums, the same on
 * every machine; it may be above the number of threads.
 */
reel_region *reel_region_begin(reel_lane *parent, int lanes);

/* Begins to reverse the last region in `parent` that was recorded and is not reversed yet. */
reel_region *reel_region_reverse(reel_lane *parent);

/*
 * Ends a region of either sweep, after its threads have joined. A thread may leave a region early
 * (by cancellation or a return), but not in the middle of a loop: see reel_loop_stop().
 *
 * Returns 0, or the error of the first lane that has one. In the reverse sweep it is an error if a
 * lane has not been popped to where the region began.
 */
int reel_region_end(reel_region *region);

/* Number of lanes of a region; 0 before the first thread has come, if the team decides it. */
int reel_region_lanes(const reel_region *region);

/*
 * Number of threads to reverse the region with, for num_threads(): `threads`, or the number of
 * lanes if the region has ordered sections.
 */
int reel_region_threads(const reel_region *region, int threads);

/*
 * Returns the same number, or 1 if Reel chooses one thread. For each call site Reel measures the
 * time of regions with `threads` threads and with one thread that takes all lanes, and chooses the
 * faster number: small regions lose more by waiting than they gain. A region has one number of
 * threads in all of its phases, and the first region of a call site has `threads`. After a first
 * trial Reel tries the other number in at most 3 % of the time. The bits of a gradient do not
 * depend on the choice, since it changes no lane.
 *
 * With one thread the lanes run one after the other. So the code of a lane must not wait for
 * another lane, and must have no OpenMP barrier or work-sharing loop; otherwise set the number of
 * threads.
 *
 * Called by the thread that began the region, right before its team begins. Returns `threads`
 * unchanged if one thread would deadlock or would mask the fault being hunted: in the forward sweep
 * of a region with one lane per thread; in forward sweeps of this call site after a region in which
 * lanes shared a dynamic, guided or single loop; if the root has ordered sections; in checked mode;
 * under an observer (reel/observe.h). A call site that alternates between team sizes never settles;
 * nor does a call site compiled by anything but GCC or Clang.
 */
int reel_region_choose_threads(reel_region *region, int threads);

/* ---- Workers: which thread takes which lane -------------------------------------- */

/*
 * A thread in a region. `lane` is the lane that the thread has taken; `thread` and `threads` are
 * the arguments of reel_worker_begin().
 */
typedef struct reel_worker {
	reel_lane *lane;
	int32_t thread, threads;
	/* The library's own. */
	reel_region *region;
	int64_t round;
	int32_t tried;
	uint64_t barriers;
} reel_worker;

/*
 * The worker of thread `thread`, from 0, of `threads` threads. Each thread of a team has one worker
 * in a region, and all pass the same number of threads. Mistakes are -EINVAL, which ends all waits
 * in the region and which reel_region_end() returns: a lane that is taken twice in a phase, for
 * example by a new worker in each phase or by the threads of a nested team; and lanes that are left
 * over in a phase in which others were taken. A thread that may leave the region before its last
 * barrier calls reel_worker_end().
 */
reel_worker reel_worker_begin(reel_region *region, int thread, int threads);

/*
 * Takes the next free lane of this phase: worker->lane. False: all lanes are taken. A thread that
 * has taken a lane repeats this call until then. If the number of threads is not below the number
 * of lanes, thread i takes lane i. Calling it again in this phase after it has returned false is
 * -EINVAL. Cost: an atomic operation for each lane.
 */
bool reel_worker_next(reel_worker *worker);

/*
 * Gives back the lane that the thread has taken. Needed before a barrier of the program's own, in
 * the reverse sweep of a region with ordered sections, unless reel_worker_next() has returned
 * false. If the lane has missed its turns, the other lanes get an error; without this call they
 * would wait for ever. In checked mode, if the team is smaller than the number of lanes, a thread
 * also calls it before it leaves the region early: lanes may be left over then.
 */
void reel_worker_leave(reel_worker *worker);

/*
 * Goes to the next phase; in the reverse sweep, to the previous phase. All threads pass a barrier
 * between their last call of a phase and their first call of the next phase. All threads call it
 * the same number of times, including threads without a lane.
 */
void reel_worker_next_phase(reel_worker *worker);

/*
 * A barrier for all workers, and the next phase. If each thread has a processor, a waiting thread
 * polls for some microseconds, then yields, then sleeps. So it is fast between short phases for
 * every OMP_WAIT_POLICY. It needs no OpenMP, and unlike a barrier of OpenMP it runs no tasks.
 */
void reel_worker_barrier(reel_worker *worker);

/*
 * Ends the thread's part of the region. Its worker is not used after this. The statements
 * REEL_REGION() call it in each thread, however the thread leaves them. If other threads wait at a
 * Reel barrier for this thread, or reach one later, the region has the error -EINVAL and all waits
 * in it end. If this thread did not reverse a lane that no other thread takes, waits for turns of
 * that lane end with the lane's error.
 *
 * A program that makes its workers itself calls it in each thread that may leave the region before
 * the last barrier: otherwise the other threads wait for ever. It is not needed after the last
 * barrier. Cost: an atomic operation in the first thread of a team.
 */
void reel_worker_end(reel_worker *worker);

/*
 * Collective spans. A collective span is an array that all lanes fill in place, each lane its own
 * part, and that all lanes can read. It lies on the tape of the region's parent, and is spilled,
 * held and replayed with it.
 *
 * TYPE *reel_worker_push_span(reel_worker *worker, TYPE, size_t n);
 * const TYPE *reel_worker_pop_span(reel_worker *worker, TYPE, size_t n);
 *
 * All threads that have a worker call these instead of reel_worker_barrier(), which they contain:
 * all lanes see the values that the others wrote into the span before. Thread 0 pushes a span of n
 * elements, or pops the last one, and all threads get its address, or NULL if it is refused or
 * lost. Then the parent has an error.
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
 * The reverse sweep pops all spans that were pushed on the parent in the region. If it pops one
 * less or one more, the parent gets the error -EBADMSG.
 *
 * Until the next call, the two spans that were pushed last, or popped last, can be read, and the
 * span that was pushed last can be written. In the region nothing else is pushed on the parent, or
 * popped from it. If the pool has a store, the tape of the parent keeps one more slab in memory
 * from its first collective span on. In checked mode a span on a new slab is all ones until it is
 * written.
 *
 * Use collective spans if lanes read values that other lanes wrote in the previous step, as in a
 * time step on a grid: the state is computed directly on the tape, without a copy. If each lane
 * reads only its own values, use spans on the tapes of the lanes, which need no barrier. Cost: a
 * barrier. For a span on another slab, and in checked mode, the others wait until thread 0 has
 * pushed or popped it.
 */
#define reel_worker_push_span(worker, type, n) \
	((type *)reel_worker_push_span_at((worker), REEL_TYPE_OF(type), (n), REEL_HERE))
#define reel_worker_pop_span(worker, type, n) \
	((const type *)reel_worker_pop_span_at((worker), REEL_TYPE_OF(type), (n), REEL_HERE))

void *reel_worker_push_span_at(reel_worker *worker, reel_type type, size_t n,
			       const char *call_site);
const void *reel_worker_pop_span_at(reel_worker *worker, reel_type type, size_t n,
				    const char *call_site);

/*
 * Ends the phase of a lane, after the barrier, in place of reel_worker_next_phase(). For forward
 * sweeps with one lane for each thread, where a thread keeps its lane in a variable.
 */
void reel_lane_phase(reel_lane *lane);

/*
 * Number of phases of the region, in the forward sweep until now: at least 1. In the reverse sweep
 * also the number of loops, including REEL_SINGLE(), that the farthest lane reached. If all lanes
 * may have left the region early, the reverse sweep begins with the last of these loops. Reversing
 * more loops is -EBADMSG.
 */
int64_t reel_region_phases(const reel_region *region);
int64_t reel_region_loops(const reel_region *region);

/* ---- With OpenMP ------------------------------------------------------------------ */

/* The worker of the calling thread in its team. */
REEL_ALWAYS_INLINE reel_worker reel_worker_of(reel_region *region)
{
#ifdef _OPENMP
	return reel_worker_begin(region, omp_get_thread_num(), omp_get_num_threads());
#else
	return reel_worker_begin(region, 0, 1);
#endif
}

/* A barrier of OpenMP, and the next phase. Each thread of the team calls it. */
REEL_ALWAYS_INLINE void reel_worker_phase(reel_worker *worker)
{
#ifdef _OPENMP
	if (worker->lane)
		reel_worker_leave(worker);
	/* Also in a team of one thread: tasks may still have to run. */
	_Pragma("omp barrier")
#endif
		reel_worker_next_phase(worker);
}

#ifdef __cplusplus
}
#endif

#endif
