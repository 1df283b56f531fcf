/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lane.h"

#include <errno.h>

#include "observe.h"
#include "tape/tape.h"
#include "wait.h"
#include "os/yield.h"

/* Of a region without a number of lanes, its first team makes as many as it has threads. */
static int32_t lanes_for(reel_region *region, int threads)
{
	int32_t lanes = 0;

	if (region->state == REEL_REVERSE_SWEEP)
		return reel_region_lanes(region);
	/* Relaxed: a number, that belongs to no other data. */
	if (atomic_compare_exchange_strong_explicit(&region->lanes, &lanes, threads,
						    memory_order_relaxed, memory_order_relaxed))
		return threads;
	return lanes;
}

/* To wait for a turn, each lane needs a thread. */
static bool lacks_threads(const reel_region *region, int threads, int32_t lanes)
{
	return region->state == REEL_REVERSE_SWEEP && region->has_ordered && threads < lanes;
}

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

reel_worker reel_worker_begin(reel_region *region, int thread, int threads)
{
	reel_worker worker = {.region = region, .thread = thread, .threads = threads};
	int32_t lanes;

	if (region->state == REEL_DEAD || region->state == REEL_ENDED) {
		worker.tried = INT32_MAX;
		return worker;
	}
	lanes = lanes_for(region, threads);
	if (lacks_threads(region, threads, lanes))
		refuse(&worker, lanes);
	REEL_OBSERVE(REEL_EVENT_WORKER_BEGIN, .region = region, .thread = thread,
		     .threads = threads);
	return worker;
}

/* A lane is taken once in each round: they are counted through all regions of the parent. */
static bool take(const reel_worker *worker, reel_lane *lane)
{
	int64_t round = worker->region->rounds + worker->round;
	/* Relaxed: what the lane holds comes through the barrier between two rounds. */
	int64_t before = atomic_load_explicit(&lane->taken, memory_order_relaxed);

	reel_yield_point();
	return before <= round &&
	       atomic_compare_exchange_strong_explicit(&lane->taken, &before, round + 1,
						       memory_order_relaxed, memory_order_relaxed);
}

/* With a thread for each lane: its own. */
static int32_t own(reel_worker *worker, int32_t lanes)
{
	int32_t index = worker->tried ? lanes : worker->thread;

	worker->tried = lanes;
	return index;
}

/* With fewer: from its own part of them on, the next one that nobody has. */
static int32_t next_free(reel_worker *worker, int32_t lanes)
{
	while (worker->tried < lanes) {
		int64_t start = (int64_t)worker->thread * lanes / worker->threads;
		int32_t index = (int32_t)((start + worker->tried++) % lanes);
		reel_lane *lane = reel_lane_child(worker->region->parent, index);

		if (!lane)
			reel_region_note_no_memory(worker->region);
		else if (take(worker, lane))
			return index;
	}
	return lanes;
}

/*
 * The thread is done with its lane; this is when the lane's lines are in its cache. Not so, if
 * tasks of the lane may still run.
 */
static void let_go(reel_worker *worker)
{
	reel_lane *lane = worker->lane;

	if (!lane || lane->made)
		return;
	reel_phase_leave(worker->region, lane);
	if (lane == reel_lane_refuse_all())
		lane->in = NULL; /* the lane outlives the region */
}

void reel_worker_leave(reel_worker *worker)
{
	let_go(worker);
}

bool reel_worker_next(reel_worker *worker)
{
	int32_t lanes = reel_region_lanes(worker->region), index;

	let_go(worker);
	index = worker->threads < lanes ? next_free(worker, lanes) : own(worker, lanes);
	worker->lane =
		index < lanes ? reel_region_enter(worker->region, index, worker->round) : NULL;
	REEL_OBSERVE(REEL_EVENT_NEXT, .region = worker->region, .lane = worker->lane);
	return worker->lane != NULL;
}

static void next_phase(reel_worker *worker)
{
	if (worker->tried != INT32_MAX)
		worker->tried = 0;
	worker->round++;
	worker->lane = NULL;
	/* A phase counts, though no lane is taken in it. */
	if (worker->thread == 0 && worker->region->state == REEL_FORWARD)
		worker->region->phases = (uint64_t)worker->round + 1;
}

void reel_worker_next_phase(reel_worker *worker)
{
	REEL_OBSERVE(REEL_EVENT_NEXT_PHASE, .region = worker->region);
	next_phase(worker);
}

/* True: all threads have come to the barrier. */
static bool arrive(reel_worker *worker)
{
	_Atomic uint64_t *arrivals = &worker->region->arrivals;

	worker->barriers++;
	/*
	 * Release: what was done before; acquire: what others did, for the last one to come.
	 * Sequentially consistent: pairs with reel_omp_await() of thread 0.
	 */
	return 1 + atomic_fetch_add_explicit(arrivals, 1, memory_order_seq_cst) ==
	       worker->barriers * (uint64_t)worker->threads;
}

static void wait_until(const reel_worker *worker, const _Atomic uint64_t *word, uint64_t value)
{
	const struct reel_omp_wait wait = {
		.word = word, .value = value, .looks = reel_omp_looks(worker->threads)};

	reel_yield_point();
	reel_omp_await(&wait);
}

/* All have come: let them go on. */
static void open_barrier(const reel_worker *worker)
{
	reel_region *region = worker->region;

	reel_yield_point();
	/* Sequentially consistent: pairs with reel_omp_await(). */
	atomic_store_explicit(&region->passed, worker->barriers, memory_order_seq_cst);
	reel_yield_point();
	reel_omp_wake(&region->passed);
}

static void pass_barrier(reel_worker *worker)
{
	if (arrive(worker))
		open_barrier(worker);
	else
		wait_until(worker, &worker->region->passed, worker->barriers);
}

static void end_phase(reel_worker *worker)
{
	let_go(worker);
	if (worker->threads > 1)
		pass_barrier(worker);
	next_phase(worker);
}

void reel_worker_barrier(reel_worker *worker)
{
	REEL_OBSERVE(REEL_EVENT_BARRIER, .region = worker->region);
	end_phase(worker);
}

/* ---- Collective spans ---- */

typedef const void *tape_action(reel_tape *tape, const reel_type *type, size_t n, const char *site);

static const void *push_span(reel_tape *tape, const reel_type *type, size_t n, const char *site)
{
	/* The one before it is read on, by all lanes. */
	tape->flags |= REEL_TAPE_KEEPS_BELOW;
	return reel_push_span_slow(tape, type, n, site);
}

/*
 * A barrier. Thread 0 pushes or pops when all have come and none reads the spans before any more:
 * always the same thread, so that the tape stays in its cache.
 */
static void lead(reel_worker *worker, tape_action *act, const reel_type *type, size_t n,
		 const char *site)
{
	reel_region *region = worker->region;
	reel_tape *tape = &region->parent->tape;

	if (!arrive(worker))
		wait_until(worker, &region->arrivals, worker->barriers * (uint64_t)worker->threads);
	reel_tape_hand_over(tape);
	region->span = act(tape, type, n, site);
	reel_tape_hand_over(tape);
	open_barrier(worker);
}

static void follow(reel_worker *worker)
{
	reel_region *region = worker->region;

	if (arrive(worker))
		reel_omp_wake(&region->arrivals);
	wait_until(worker, &region->passed, worker->barriers);
}

static const void *act_together(reel_worker *worker, tape_action *act, const reel_type *type,
				size_t n, const char *site)
{
	REEL_OBSERVE(REEL_EVENT_BARRIER, .region = worker->region);
	let_go(worker);
	if (worker->thread == 0)
		lead(worker, act, type, n, site);
	else
		follow(worker);
	next_phase(worker);
	return worker->region->span;
}

void *reel_worker_push_span_at(reel_worker *worker, reel_type type, size_t n, const char *site)
{
	return (void *)(uintptr_t)act_together(worker, push_span, &type, n, site);
}

const void *reel_worker_pop_span_at(reel_worker *worker, reel_type type, size_t n, const char *site)
{
	return act_together(worker, reel_pop_span_slow, &type, n, site);
}
