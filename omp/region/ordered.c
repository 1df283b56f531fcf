/* SPDX-License-Identifier: MIT */
/*
 * Ordered sections: the forward sweep notes the turn of each lane, and the reverse sweep waits
 * until all later turns have ended. The lane that is in the program's critical section, or has its
 * turn, calls these functions; replay and release run while no lane runs.
 *
 * `order->count` is the number of turns noted and not reversed. Turn n is next if the count is n +
 * 1.
 */
#include "config.h"

#include "lane.h"

#include <errno.h>
#include <stdlib.h>

#include "observe.h"
#include "wait.h"
#include "os/yield.h"

/* ---- Holds ---- */

static void add_count(struct reel_lane_hold *hold, struct reel_ordered_count *count)
{
	/* Relaxed is enough, here and below: see struct reel_lane_hold. */
	count->next = atomic_load_explicit(&hold->orders, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&hold->orders, &count->next, count,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/*
 * Keeps the count of an ordered section before its first change in a hold. The lane is in the
 * program's section, or has its turn, so no other lane looks at the section now.
 */
static void keep_count(reel_lane *lane, reel_ordered *order)
{
	struct reel_lane_hold *hold = lane->hold ? lane->hold->top : NULL;
	struct reel_ordered_count *count;

	if (!hold || order->hold == hold->number)
		return;
	count = malloc(sizeof *count);
	if (!count) {
		reel_lane_fail(lane, -ENOMEM, "no memory to use an order in a hold");
		return;
	}
	/*
	 * Relaxed is enough: the lane that changed it was in the section, or had its turn, before.
	 */
	*count = (struct reel_ordered_count){
		.order = order,
		.outer = order->hold,
		.count = atomic_load_explicit(&order->count, memory_order_relaxed)};
	order->hold = hold->number;
	add_count(hold, count);
}

static struct reel_ordered_count *take_counts(struct reel_lane_hold *hold)
{
	return atomic_exchange_explicit(&hold->orders, NULL, memory_order_relaxed);
}

void reel_ordered_replay(struct reel_lane_hold *hold)
{
	struct reel_ordered_count *count =
		atomic_load_explicit(&hold->orders, memory_order_relaxed);

	for (; count; count = count->next)
		/* Relaxed is enough: no lane runs. */
		atomic_store_explicit(&count->order->count, count->count, memory_order_relaxed);
}

/*
 * If the outer hold has not kept the count of an ordered section, the count did not change between
 * the beginnings of both holds, so the outer hold takes this one.
 */
void reel_ordered_release(struct reel_lane_hold *hold)
{
	struct reel_lane_hold *outer = hold->outer ? hold->outer->top : NULL;
	struct reel_ordered_count *count = take_counts(hold), *next;

	for (; count; count = next) {
		next = count->next;
		REEL_ASSERT(count->order->hold == hold->number);
		count->order->hold = count->outer;
		if (outer && count->outer != outer->number) {
			count->order->hold = outer->number;
			add_count(outer, count);
		} else {
			free(count);
		}
	}
}

void reel_ordered_drop(struct reel_lane_hold *hold)
{
	struct reel_ordered_count *count = take_counts(hold), *next;

	for (; count; count = next) {
		next = count->next;
		free(count);
	}
}

/* ---- Turns ---- */

void reel_ordered_note(reel_lane *lane, reel_ordered *order)
{
	reel_ordered *counted = reel_lane_ordered(lane, order);
	uint64_t turn;

	if (!counted)
		return;
	keep_count(lane, counted);
	/* Relaxed is enough: the program's critical section orders it. */
	turn = atomic_fetch_add_explicit(&counted->count, 1, memory_order_relaxed);
	REEL_OBSERVE(REEL_EVENT_ORDERED_NOTE, .lane = lane);
	lane->has_ordered = true;
	reel_lane_note(lane, REEL_NOTE_TURN, turn, (uint64_t)(uintptr_t)order);
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
	(void)reel_lane_pop(lane);
	if (!reel_omp_await(&wait)) {
		/* Relaxed is enough: reel_omp_await() has read it, and it stays in this region. */
		reel_lane_fail(lane, atomic_load_explicit(&lane->root->failed, memory_order_relaxed),
			       "its turn never comes: another lane has failed");
		return;
	}
	keep_count(lane, counted);
	lane->turns++;
}

void reel_ordered_done(reel_lane *lane, reel_ordered *order)
{
	reel_ordered *counted = lane->turns ? reel_lane_ordered(lane, order) : NULL;
	uint64_t turns;

	if (!counted)
		return;
	lane->turns--;
	/*
	 * Sequentially consistent: pairs with reel_omp_await() of the lane whose turn is next. It
	 * sees all that this lane did in its turn.
	 */
	turns = atomic_fetch_sub_explicit(&counted->count, 1, memory_order_seq_cst);
	REEL_ASSERT(turns > 0);
	(void)turns;
	reel_yield_point();
	reel_omp_wake(&counted->count);
}
