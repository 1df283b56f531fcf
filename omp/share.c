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
	return region->state == REEL_REVERSE_SWEEP && region->has_orders && threads < lanes;
}

static void refuse(reel_share *share, int32_t lanes)
{
	if (share->thread == 0) {
		share->region->refused = true;
		reel_lane_fail(share->region->parent, -EDEADLK,
			       "a region of %d lanes with orders is reversed by %d threads, and lanes "
			       "would wait for each other: use num_threads(reel_region_threads())",
			       (int)lanes, (int)share->threads);
	}
	share->tried = INT32_MAX;
}

reel_share reel_share_begin(reel_region *region, int thread, int threads)
{
	reel_share share = {.region = region, .thread = thread, .threads = threads};
	int32_t lanes;

	if (region->state == REEL_DEAD || region->state == REEL_ENDED) {
		share.tried = INT32_MAX;
		return share;
	}
	lanes = lanes_for(region, threads);
	if (lacks_threads(region, threads, lanes))
		refuse(&share, lanes);
	REEL_OBSERVE(REEL_EVENT_SHARE, .region = region, .thread = thread, .threads = threads);
	return share;
}

/* A lane is taken once in each round: they are counted through all regions of the parent. */
static bool take(const reel_share *share, reel_lane *lane)
{
	int64_t round = share->region->rounds + share->round;
	/* Relaxed: what the lane holds comes through the barrier between two rounds. */
	int64_t before = atomic_load_explicit(&lane->taken, memory_order_relaxed);

	reel_yield_point();
	return before <= round &&
	       atomic_compare_exchange_strong_explicit(&lane->taken, &before, round + 1,
						       memory_order_relaxed, memory_order_relaxed);
}

/* With a thread for each lane: its own. */
static int32_t own(reel_share *share, int32_t lanes)
{
	int32_t index = share->tried ? lanes : share->thread;

	share->tried = lanes;
	return index;
}

/* With fewer: from its own part of them on, the next one that nobody has. */
static int32_t next_free(reel_share *share, int32_t lanes)
{
	while (share->tried < lanes) {
		int64_t start = (int64_t)share->thread * lanes / share->threads;
		int32_t index = (int32_t)((start + share->tried++) % lanes);
		reel_lane *lane = reel_lane_child(share->region->parent, index);

		if (!lane)
			reel_region_lacks_lane(share->region);
		else if (take(share, lane))
			return index;
	}
	return lanes;
}

/*
 * The thread is done with its lane; this is when the lane's lines are in its cache. Not so, if
 * tasks of the lane may still run.
 */
static void let_go(reel_share *share)
{
	reel_lane *lane = share->lane;

	if (!lane || lane->made)
		return;
	reel_phase_leave(share->region, lane);
	if (lane == reel_lane_refusing())
		lane->in = NULL; /* the lane outlives the region */
}

void reel_share_leave(reel_share *share)
{
	let_go(share);
}

bool reel_share_next(reel_share *share)
{
	int32_t lanes = reel_region_lanes(share->region), index;

	let_go(share);
	index = share->threads < lanes ? next_free(share, lanes) : own(share, lanes);
	share->lane = index < lanes ? reel_region_enter(share->region, index, share->round) : NULL;
	REEL_OBSERVE(REEL_EVENT_NEXT, .region = share->region, .lane = share->lane);
	return share->lane != NULL;
}

static void next_phase(reel_share *share)
{
	if (share->tried != INT32_MAX)
		share->tried = 0;
	share->round++;
	share->lane = NULL;
	/* A phase counts, though no lane is taken in it. */
	if (share->thread == 0 && share->region->state == REEL_FORWARD)
		share->region->phases = (uint64_t)share->round + 1;
}

void reel_share_next_phase(reel_share *share)
{
	REEL_OBSERVE(REEL_EVENT_NEXT_PHASE, .region = share->region);
	next_phase(share);
}

/* True: all threads have come to the barrier. */
static bool arrive(reel_share *share)
{
	_Atomic uint64_t *arrivals = &share->region->arrivals;

	share->barriers++;
	/*
	 * Release: what was done before; acquire: what others did, for the last one to come.
	 * Sequentially consistent: pairs with reel_omp_await() of thread 0.
	 */
	return 1 + atomic_fetch_add_explicit(arrivals, 1, memory_order_seq_cst) ==
	       share->barriers * (uint64_t)share->threads;
}

static void wait_until(const reel_share *share, const _Atomic uint64_t *word, uint64_t value)
{
	const struct reel_omp_wait wait = {
		.word = word, .value = value, .looks = reel_omp_looks(share->threads)};

	reel_yield_point();
	reel_omp_await(&wait);
}

/* All have come: let them go on. */
static void open_barrier(const reel_share *share)
{
	reel_region *region = share->region;

	reel_yield_point();
	/* Sequentially consistent: pairs with reel_omp_await(). */
	atomic_store_explicit(&region->passed, share->barriers, memory_order_seq_cst);
	reel_yield_point();
	reel_omp_wake(&region->passed);
}

static void pass_barrier(reel_share *share)
{
	if (arrive(share))
		open_barrier(share);
	else
		wait_until(share, &share->region->passed, share->barriers);
}

static void end_phase(reel_share *share)
{
	let_go(share);
	if (share->threads > 1)
		pass_barrier(share);
	next_phase(share);
}

void reel_share_barrier(reel_share *share)
{
	REEL_OBSERVE(REEL_EVENT_BARRIER, .region = share->region);
	end_phase(share);
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
static void lead(reel_share *share, tape_action *act, const reel_type *type, size_t n,
		 const char *site)
{
	reel_region *region = share->region;
	reel_tape *tape = &region->parent->tape;

	if (!arrive(share))
		wait_until(share, &region->arrivals, share->barriers * (uint64_t)share->threads);
	reel_tape_hand_over(tape);
	region->span = act(tape, type, n, site);
	reel_tape_hand_over(tape);
	open_barrier(share);
}

static void follow(reel_share *share)
{
	reel_region *region = share->region;

	if (arrive(share))
		reel_omp_wake(&region->arrivals);
	wait_until(share, &region->passed, share->barriers);
}

static const void *act_together(reel_share *share, tape_action *act, const reel_type *type, size_t n,
				const char *site)
{
	REEL_OBSERVE(REEL_EVENT_BARRIER, .region = share->region);
	let_go(share);
	if (share->thread == 0)
		lead(share, act, type, n, site);
	else
		follow(share);
	next_phase(share);
	return share->region->span;
}

void *reel_share_push_span_at(reel_share *share, reel_type type, size_t n, const char *site)
{
	return (void *)(uintptr_t)act_together(share, push_span, &type, n, site);
}

const void *reel_share_pop_span_at(reel_share *share, reel_type type, size_t n, const char *site)
{
	return act_together(share, reel_pop_span_slow, &type, n, site);
}
