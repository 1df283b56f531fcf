/* SPDX-License-Identifier: MIT */
/*
 * Workers: which thread takes which lane, and the phases of a region. Each thread of a team has a
 * worker of its own and calls these functions.
 *
 * In each round a lane is taken by one thread. Between two rounds all threads pass a barrier, so
 * the contents of a lane are visible to the thread that takes it next.
 */
#include "config.h"

#include "region.h"

#include <errno.h>

#include "barrier.h"
#include "mistake.h"
#include "omp/lane/observe.h"
#include "omp/order/deadlock.h"
#include "os/counter.h"
#include "os/yield.h"
#include "phase.h"
#include "tape/tape.h"

/*
 * A region that was begun without a number of lanes gets a lane for each thread of its first team.
 */
static int32_t lanes_for(reel_region *region, int threads)
{
	int32_t lanes = 0;

	if (region->state == REEL_REGION_REVERSE)
		return reel_region_lanes(region);
	/* Relaxed is enough: a number that guards no memory. */
	if (atomic_compare_exchange_strong_explicit(&region->lanes, &lanes, threads,
						    memory_order_relaxed, memory_order_relaxed))
		return threads;
	return lanes;
}

/* Lanes that wait for turns need a thread each, or they wait for each other. */
static void refuse(reel_worker *worker, int32_t lanes)
{
	if (worker->thread == 0) {
		worker->region->refused = true;
		reel_lane_fail(
			worker->region->parent, -EDEADLK,
			"a region of %d lanes with orders is reversed by %d threads, and lanes "
			"would wait for each other: use num_threads(reel_region_threads())",
			(int)lanes, (int)worker->threads);
	}
	worker->tried = INT32_MAX;
}

/*
 * A worker that a thread makes anew in a later phase would find all lanes taken, or take one again.
 * take() sees the latter.
 */
static void count_worker(const reel_worker *worker, int32_t lanes)
{
	reel_region *region = worker->region;
	int32_t threads = worker->threads;

	/* Relaxed is enough, for all: numbers that guard no memory. */
	if (atomic_load_explicit(&region->threads, memory_order_relaxed) != threads)
		atomic_store_explicit(&region->threads, threads, memory_order_relaxed);
	reel_counter_raise(&region->max_threads, (uint64_t)threads);
	if (threads >= lanes && !(region->parent->tape.flags & REEL_CHECKED))
		return;
	if (atomic_fetch_add_explicit(&region->workers, 1, memory_order_relaxed) >= threads)
		reel_region_note_mistake(region, REEL_MISTAKE_WORKERS, worker->thread);
}

reel_worker reel_worker_begin(reel_region *region, int thread, int threads)
{
	reel_worker worker = {.region = region, .thread = thread, .threads = threads};
	int32_t lanes;

	REEL_ASSERT(thread >= 0 && thread < threads);
	if (region->state == REEL_REGION_DEAD || region->state == REEL_REGION_ENDED) {
		worker.tried = INT32_MAX;
		return worker;
	}
	lanes = lanes_for(region, threads);
	count_worker(&worker, lanes);
	if (region->state == REEL_REGION_REVERSE && region->has_ordered && threads < lanes)
		refuse(&worker, lanes);
	REEL_OBSERVE(REEL_EVENT_WORKER_BEGIN, .region = region, .thread = thread,
		     .threads = threads);
	return worker;
}

/* Takes a lane that no thread has taken in this round. Rounds are counted through all regions. */
static bool take(const reel_worker *worker, reel_lane *lane)
{
	int64_t round = worker->region->rounds + worker->round;
	/*
	 * Relaxed is enough: the barrier between two rounds makes the contents of the lane visible.
	 */
	int64_t before = atomic_load_explicit(&lane->taken, memory_order_relaxed);

	reel_yield_point();
	return before <= round &&
	       atomic_compare_exchange_strong_explicit(&lane->taken, &before, round + 1,
						       memory_order_relaxed, memory_order_relaxed);
}

/* The thread's own lane, if there is a thread for each lane. No other thread has come for it. */
static int32_t own(reel_worker *worker, int32_t lanes)
{
	int32_t index = worker->tried ? lanes : worker->thread;
	reel_lane *lane = index < lanes ? reel_lane_child(worker->region->parent, index) : NULL;

	worker->tried = worker->tried > lanes ? worker->tried : lanes;
	if (!lane || take(worker, lane))
		return index;
	reel_region_note_mistake(worker->region, REEL_MISTAKE_TAKEN_TWICE, index);
	return lanes;
}

/* The lane that a thread comes to in its turn, if there are fewer threads than lanes. */
static int32_t lane_at(const reel_worker *worker, int32_t turn, int32_t lanes)
{
	int64_t start = (int64_t)worker->thread * lanes / worker->threads;

	return (int32_t)((start + turn) % lanes);
}

/* With fewer threads: the next lane that no thread has taken, from the thread's own part on. */
static int32_t next_free(reel_worker *worker, int32_t lanes)
{
	while (worker->tried < lanes) {
		int32_t index = lane_at(worker, worker->tried++, lanes);
		reel_lane *lane = reel_lane_child(worker->region->parent, index);

		REEL_ASSERT(index >= 0 && index < lanes);
		if (!lane)
			reel_region_note_no_memory(worker->region);
		else if (take(worker, lane))
			return index;
	}
	return lanes;
}

/*
 * Leaves the phase of the lane that the thread is done with, while the lines of the lane are in its
 * cache. Not if the lane has tasks, which may still run.
 */
static void leave_lane(reel_worker *worker)
{
	reel_lane *lane = worker->lane;

	if (!lane)
		return;
	if (lane->made)
		reel_phase_check_notes(worker->region, lane);
	else
		reel_phase_leave(worker->region, lane);
	if (worker->region->state == REEL_REGION_REVERSE)
		reel_deadlock_give_back(lane);
	if (reel_lane_refuses(lane))
		lane->in = NULL; /* the lane outlives the region */
}

void reel_worker_leave(reel_worker *worker)
{
	reel_region *region = worker->region;

	/*
	 * Relaxed is enough: a number that guards no memory. A load and a store are also enough:
	 * threads that store at the same time are in one round and store the same number, since a
	 * barrier lies between two rounds.
	 */
	if (atomic_load_explicit(&region->left, memory_order_relaxed) <= worker->round)
		atomic_store_explicit(&region->left, worker->round + 1, memory_order_relaxed);
	if (reel_traces())
		reel_region_trace_leave();
	leave_lane(worker);
}

bool reel_worker_next(reel_worker *worker)
{
	int32_t lanes = reel_region_lanes(worker->region), index;

	leave_lane(worker);
	if (worker->tried > lanes && worker->tried != INT32_MAX)
		reel_region_note_mistake(worker->region, REEL_MISTAKE_NO_PHASE, worker->thread);
	index = worker->threads < lanes ? next_free(worker, lanes) : own(worker, lanes);
	if (REEL_UNLIKELY(reel_region_has_mistake(worker->region)))
		index = lanes;
	if (index >= lanes && worker->tried <= lanes)
		worker->tried = lanes + 1;
	worker->lane =
		index < lanes ? reel_region_enter(worker->region, index, worker->round) : NULL;
	REEL_OBSERVE(REEL_EVENT_NEXT, .region = worker->region, .lane = worker->lane);
	return worker->lane != NULL;
}

/*
 * A thread that took lanes, but not until none was left, sees whether others took the rest. All
 * threads have come to the barrier.
 */
static void check_taken(const reel_worker *worker)
{
	reel_region *region = worker->region;
	int32_t lanes = reel_region_lanes(region);

	if (!worker->tried || worker->threads >= lanes || reel_region_lacks_lane(region))
		return;
	for (int32_t turn = worker->tried; turn < lanes; turn++) {
		int32_t index = lane_at(worker, turn, lanes);
		const reel_lane *lane = reel_lane_find(region->parent, index);

		/* Relaxed is enough: take() came before the barrier. */
		if (!lane || atomic_load_explicit(&lane->taken, memory_order_relaxed) <=
				     region->rounds + worker->round)
			reel_region_note_mistake(region, REEL_MISTAKE_NOT_TAKEN, index);
	}
}

static void next_phase(reel_worker *worker)
{
	check_taken(worker);
	if (worker->tried != INT32_MAX)
		worker->tried = 0;
	worker->round++;
	worker->lane = NULL;
	/* A phase counts even if no lane is taken in it. */
	if (worker->thread == 0 && worker->region->state == REEL_REGION_FORWARD)
		worker->region->phases = (uint64_t)worker->round + 1;
}

void reel_worker_next_phase(reel_worker *worker)
{
	REEL_OBSERVE(REEL_EVENT_NEXT_PHASE, .region = worker->region);
	next_phase(worker);
}

/* As reel_barrier_pass(), and the trace shows how long the thread has waited. */
static const void *pass_barrier(reel_worker *worker, reel_barrier_action *act, const void *argument)
{
	uint64_t since = reel_trace_begin();
	const void *result = reel_barrier_pass(worker, act, argument);

	REEL_TRACE(WAIT_FOR_THREADS, since, 0);
	return result;
}

void reel_worker_barrier(reel_worker *worker)
{
	REEL_OBSERVE(REEL_EVENT_BARRIER, .region = worker->region);
	leave_lane(worker);
	if (worker->threads > 1)
		pass_barrier(worker, NULL, NULL);
	next_phase(worker);
}

void reel_worker_end(reel_worker *worker)
{
	const reel_region *region = worker->region;

	/* Gives back the lane that no other thread takes: other lanes may wait for its turns. */
	if (region->state == REEL_REGION_REVERSE && region->has_ordered) {
		if (!worker->tried && worker->round < reel_region_phases(region))
			reel_worker_next(worker);
		reel_worker_leave(worker);
	}
	if (worker->threads > 1)
		reel_barrier_end(worker);
}

/* ---- Collective spans ---- */

/* A push or a pop of a collective span. */
struct span_action {
	const reel_type *type;
	size_t n;
	const char *call_site;
};

/*
 * Returns the bytes of a span that a tape may push or pop by its top alone, which disturbs no
 * thread that uses the spans beside it; SIZE_MAX / 2, which no window has, for all other spans.
 */
static size_t bytes_in_window(const struct span_action *span)
{
	bool is_plain =
		span->n && !REEL_TOO_MANY(span->n, span->type->size) && span->type->align <= 8;

	return is_plain ? REEL_ROUND(span->n * span->type->size) : SIZE_MAX / 2;
}

static const void *push_span(reel_worker *worker, const void *argument, bool all_have_come)
{
	const struct span_action *push = argument;
	reel_tape *tape = &worker->region->parent->tape;
	size_t bytes = bytes_in_window(push);
	const void *span;

	worker->region->span_call_site = push->call_site;
	if (!reel_above(tape->top, bytes, tape->ceiling)) {
		tape->top += bytes;
		return tape->top - bytes;
	}
	if (!all_have_come)
		return NULL;
	reel_tape_hand_over(tape);
	/* All lanes go on reading the span before. */
	tape->flags |= REEL_TAPE_KEEPS_BELOW;
	span = reel_push_span_slow(tape, push->type, push->n, push->call_site);
	reel_tape_hand_over(tape);
	return span;
}

/* The span below belongs to the program before the region, which may have other elements. */
static const void *pop_span(reel_worker *worker, const void *argument, bool all_have_come)
{
	const struct span_action *pop = argument;
	reel_region *region = worker->region;
	reel_tape *tape = &region->parent->tape;
	size_t bytes = bytes_in_window(pop);
	/* A dead region has the lane that refuses as its parent, and that lane has no region. */
	bool is_bounded = region->parent->region && region->state == REEL_REGION_REVERSE;
	const void *span;

	region->span_call_site = pop->call_site;
	if (is_bounded && !reel_under(tape->top, bytes, tape->floor) &&
	    reel_lane_height(tape) >= region->height + (uint64_t)bytes * 64) {
		tape->top -= bytes;
		return tape->top;
	}
	if (!all_have_come)
		return NULL;
	reel_tape_hand_over(tape);
	span = reel_pop_span_slow(tape, pop->type, pop->n, pop->call_site);
	reel_tape_hand_over(tape);
	if (!is_bounded || reel_lane_height(tape) >= region->height)
		return span;
	reel_lane_fail(region->parent, -EBADMSG,
		       "a collective span is popped at %s where the region pushed none: pop one "
		       "span for each that was pushed", pop->call_site);
	return NULL;
}

static const void *act_together(reel_worker *worker, reel_barrier_action *act,
				const reel_type *type, size_t n, const char *call_site)
{
	const struct span_action action = {type, n, call_site};
	const void *span;

	REEL_OBSERVE(REEL_EVENT_BARRIER, .region = worker->region);
	leave_lane(worker);
	span = pass_barrier(worker, act, &action);
	next_phase(worker);
	return reel_region_has_mistake(worker->region) ? NULL : span;
}

void *reel_worker_push_span_at(reel_worker *worker, reel_type type, size_t n, const char *call_site)
{
	return (void *)(uintptr_t)act_together(worker, push_span, &type, n, call_site);
}

const void *reel_worker_pop_span_at(reel_worker *worker, reel_type type, size_t n,
				    const char *call_site)
{
	return act_together(worker, pop_span, &type, n, call_site);
}
