/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lane.h"

#include <errno.h>

#include "observe.h"
#include "wait.h"
#include "yield.h"

void reel_order_note(reel_lane *lane, reel_order *order)
{
	/* Relaxed: the program's own section orders it. */
	uint64_t turn = atomic_fetch_add_explicit(&order->count, 1, memory_order_relaxed);

	REEL_OBSERVE(REEL_EVENT_ORDER_NOTE, .lane = lane);
	lane->has_orders = true;
	reel_lane_note(lane, REEL_NOTE_TURN, turn, (uint64_t)(uintptr_t)order);
}

void reel_order_await(reel_lane *lane, reel_order *order)
{
	struct reel_note top = reel_lane_top(lane);
	reel_region *region = reel_lane_region(lane);
	struct reel_omp_wait wait = {.word = &order->count,
				     .value = reel_note_number(top) + 1,
				     .failed = region ? &region->failed : NULL,
				     .looks = REEL_OMP_FEW_LOOKS};

	REEL_OBSERVE(REEL_EVENT_ORDER_AWAIT, .lane = lane);
	if (reel_note_kind(top) != REEL_NOTE_TURN || top.value != (uint64_t)(uintptr_t)order) {
		reel_lane_fail(lane, -EBADMSG,
			       "it waits for a turn in an order that it did not note last");
		return;
	}
	(void)reel_lane_pop(lane);
	if (reel_omp_await(&wait))
		lane->turns++;
	else
		reel_lane_fail(lane, -EBADMSG, "its turn never comes: another lane has failed");
}

void reel_order_done(reel_lane *lane, reel_order *order)
{
	if (!lane->turns)
		return;
	lane->turns--;
	/* Sequentially consistent: pairs with reel_omp_await(). */
	atomic_fetch_sub_explicit(&order->count, 1, memory_order_seq_cst);
	reel_yield_point();
	reel_omp_wake(&order->count);
}
