/* SPDX-License-Identifier: MIT */
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
	/* Relaxed, here and below: see struct reel_lane_hold. */
	count->next = atomic_load_explicit(&hold->orders, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&hold->orders, &count->next, count,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/*
 * Before the first change of an order in a hold: keep its count. The lane is in the program's
 * section, or has its turn, so no other lane looks at the order now.
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
	/* Relaxed: whoever changed the count was in the section, or had a turn, before this lane. */
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
		/* Relaxed: no lane runs. */
		atomic_store_explicit(&count->order->count, count->count, memory_order_relaxed);
}

/* An order that the outer hold has not kept has not changed between the beginnings of both. */
void reel_ordered_release(struct reel_lane_hold *hold)
{
	struct reel_lane_hold *outer = hold->outer ? hold->outer->top : NULL;
	struct reel_ordered_count *count = take_counts(hold), *next;

	for (; count; count = next) {
		next = count->next;
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
	uint64_t turn;

	keep_count(lane, order);
	/* Relaxed: the program's own section orders it. */
	turn = atomic_fetch_add_explicit(&order->count, 1, memory_order_relaxed);
	REEL_OBSERVE(REEL_EVENT_ORDERED_NOTE, .lane = lane);
	lane->has_ordered = true;
	reel_lane_note(lane, REEL_NOTE_TURN, turn, (uint64_t)(uintptr_t)order);
}

void reel_ordered_await(reel_lane *lane, reel_ordered *order)
{
	struct reel_note top = reel_lane_top(lane);
	struct reel_omp_wait wait = {.word = &order->count,
				     .value = reel_note_number(top) + 1,
				     .failed = &lane->root->failed,
				     .looks = REEL_OMP_FEW_LOOKS};

	REEL_OBSERVE(REEL_EVENT_ORDERED_AWAIT, .lane = lane);
	if (reel_note_kind(top) != REEL_NOTE_TURN || top.value != (uint64_t)(uintptr_t)order) {
		reel_lane_fail(lane, -EBADMSG,
			       "it waits for a turn in an order that it did not note last");
		return;
	}
	(void)reel_lane_pop(lane);
	if (!reel_omp_await(&wait)) {
		/* Relaxed: reel_omp_await() has read it, and it changes no more in this region. */
		reel_lane_fail(lane, atomic_load_explicit(&lane->root->failed, memory_order_relaxed),
			       "its turn never comes: another lane has failed");
		return;
	}
	keep_count(lane, order);
	lane->turns++;
}

void reel_ordered_done(reel_lane *lane, reel_ordered *order)
{
	if (!lane->turns)
		return;
	lane->turns--;
	/* Sequentially consistent: pairs with reel_omp_await(). */
	atomic_fetch_sub_explicit(&order->count, 1, memory_order_seq_cst);
	reel_yield_point();
	reel_omp_wake(&order->count);
}
