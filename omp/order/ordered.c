/* SPDX-License-Identifier: MIT */
/*
 * Ordered sections: the forward sweep notes the turn of each lane, and the reverse sweep waits
 * until all later turns have ended. The lane that is in the program's critical section, or has its
 * turn, calls these functions. Turn n is next if `order->count` is n + 1.
 */
#include "config.h"

#include "omp/lane/ordered-count.h"

#include <errno.h>

#include "deadlock.h"
#include "omp/lane/note.h"
#include "omp/lane/observe.h"
#include "omp/runtime/wait.h"
#include "os/yield.h"

void reel_ordered_note(reel_lane *lane, reel_ordered *order)
{
	reel_ordered *counted = reel_lane_refuses(lane) ? NULL : reel_lane_ordered(lane, order);
	uint64_t turn;

	if (!counted || reel_ordered_is_of_other_root(lane, counted))
		return;
	reel_ordered_keep_count(lane, counted);
	/* Relaxed is enough: the program's critical section orders it. */
	turn = atomic_fetch_add_explicit(&counted->count, 1, memory_order_relaxed);
	REEL_OBSERVE(REEL_EVENT_ORDERED_NOTE, .lane = lane);
	lane->has_ordered = true;
	/* Relaxed is enough: threads that read it have come after the forward sweep. */
	if (!atomic_load_explicit(&lane->root->has_turns, memory_order_relaxed))
		atomic_store_explicit(&lane->root->has_turns, true, memory_order_relaxed);
	reel_lane_note(lane, REEL_NOTE_TURN, turn, (uint64_t)(uintptr_t)order);
}

/* Returns the place of a section among the turns that the lane has, or -1. */
static int32_t turn_in(const reel_lane *lane, const reel_ordered *order)
{
	int32_t at = lane->turns;

	REEL_ASSERT(at >= 0 && at <= REEL_MAX_TURNS);
	while (--at >= 0 && lane->turn_of[at] != order)
		;
	return at;
}

/* Returns true if the lane would wait for itself, or has no place to keep its turn. */
static bool may_not_await(reel_lane *lane, const reel_ordered *order)
{
	if (turn_in(lane, order) >= 0)
		reel_lane_fail(lane, -EINVAL,
			       "it waits for a turn in an order in which it has one: call "
			       "reel_ordered_done() at the end of each turn");
	else if (lane->turns == REEL_MAX_TURNS)
		reel_lane_fail(lane, -EINVAL,
			       "it has %d turns, and waits for one more: call reel_ordered_done() "
			       "at the end of each turn", REEL_MAX_TURNS);
	else
		return false;
	return true;
}

static bool await(reel_lane *lane, const struct reel_omp_wait *wait)
{
	bool has_come;

	if (reel_omp_look(wait))
		return reel_omp_has_come(wait);
	reel_deadlock_sleep(lane, wait);
	has_come = reel_omp_sleep(wait);
	reel_deadlock_wake(lane);
	return has_come;
}

static void fail_to_come(reel_lane *lane)
{
	/* Relaxed is enough: the wait has read it, and it stays in this region. */
	int error = atomic_load_explicit(&lane->root->failed, memory_order_relaxed);

	if (error == -EDEADLK)
		reel_lane_fail(lane, error,
			       "its turn never comes, since no lane can go on: end each turn by "
			       "reel_ordered_done(), end each phase in all lanes, and reverse a "
			       "region around regions with turns with one thread for each lane");
	else if (error)
		reel_lane_fail(lane, error, "its turn never comes: another lane has failed");
	else
		reel_lane_fail(lane, -EINVAL,
			       "its turn never comes: the parallel region was cancelled");
}

void reel_ordered_await(reel_lane *lane, reel_ordered *order)
{
	reel_ordered *counted = reel_lane_ordered(lane, order);
	struct reel_note top = reel_lane_top(lane);
	struct reel_omp_wait wait = {.word = counted ? &counted->count : NULL,
				     .value = reel_note_number(top) + 1,
				     .failed = &lane->root->failed,
				     .looks = REEL_OMP_FEW_LOOKS};

	if (!counted)
		return;
	REEL_OBSERVE(REEL_EVENT_ORDERED_AWAIT, .lane = lane);
	if (reel_note_kind(top) != REEL_NOTE_TURN || top.value != (uint64_t)(uintptr_t)order) {
		reel_lane_fail(lane, -EBADMSG,
			       "it waits for a turn in an order that it did not note last");
		return;
	}
	if (may_not_await(lane, order))
		return;
	(void)reel_lane_pop(lane);
	if (!await(lane, &wait)) {
		fail_to_come(lane);
		return;
	}
	reel_ordered_keep_count(lane, counted);
	lane->turn_of[lane->turns++] = order;
}

/* Returns whether the lane has a turn in the section, and takes it from the lane. */
static bool end_turn(reel_lane *lane, const reel_ordered *order)
{
	int32_t at = turn_in(lane, order);

	if (at < 0) {
		reel_lane_fail(lane, -EINVAL,
			       "reel_ordered_done() of an order in which it has no turn: end the "
			       "turn that reel_ordered_await() began");
		return false;
	}
	lane->turns--;
	for (; at < lane->turns; at++)
		lane->turn_of[at] = lane->turn_of[at + 1];
	return true;
}

void reel_ordered_done(reel_lane *lane, reel_ordered *order)
{
	reel_ordered *counted = reel_lane_ordered(lane, order);
	uint64_t turns;

	if (!counted || !end_turn(lane, order))
		return;
	/*
	 * Sequentially consistent: pairs with reel_omp_has_come() of the lane whose turn is next.
	 * It sees all that this lane did in its turn.
	 */
	turns = atomic_fetch_sub_explicit(&counted->count, 1, memory_order_seq_cst);
	REEL_ASSERT(turns > 0);
	(void)turns;
	reel_yield_point();
	reel_omp_wake(&counted->count);
}
