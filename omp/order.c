/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lane.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "observe.h"
#include "yield.h"

/*
 * Threads that wait long sleep at one of these places, by the address of what they wait for;
 * an order is too small for a lock of its own.
 */
#define PLACES 64

static struct place {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic unsigned sleepers;
} places[PLACES] = {
#define PLACE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}
#define FOUR PLACE, PLACE, PLACE, PLACE
#define SIXTEEN FOUR, FOUR, FOUR, FOUR
	SIXTEEN, SIXTEEN, SIXTEEN, SIXTEEN
#undef SIXTEEN
#undef FOUR
#undef PLACE
};

static struct place *place_of(const reel_order *order)
{
	return &places[(uintptr_t)order / sizeof *order % PLACES];
}

void reel_order_note(reel_lane *lane, reel_order *order)
{
	/* Relaxed: the program's own section orders it. */
	uint64_t turn = atomic_fetch_add_explicit(&order->count, 1, memory_order_relaxed);

	REEL_OBSERVE(REEL_EVENT_ORDER_NOTE, .lane = lane);
	lane->has_orders = true;
	reel_lane_note(lane, REEL_NOTE_TURN, turn, (uint64_t)(uintptr_t)order);
}

/* ---- Waiting ---- */

struct wait {
	reel_order *order;
	uint64_t count;
	const reel_region *region;
};

/* Sequentially consistent: pairs with reel_order_done(); see sleep_until_over(). */
static bool has_come(const struct wait *wait)
{
	return atomic_load_explicit(&wait->order->count, memory_order_seq_cst) == wait->count;
}

/* Also by a failure of another lane, whose turn never ends. */
static bool is_over(const struct wait *wait)
{
	/* Sequentially consistent: pairs with reel_lane_fail(). */
	return has_come(wait) ||
	       (wait->region &&
		atomic_load_explicit(&wait->region->failed, memory_order_seq_cst));
}

/*
 * All are sequentially consistent: either this thread sees the new count, or who changes it
 * sees that somebody sleeps, and wakes him after he has begun to.
 */
static void sleep_until_over(const struct wait *wait)
{
	struct place *place = place_of(wait->order);

	pthread_mutex_lock(&place->lock);
	atomic_fetch_add_explicit(&place->sleepers, 1, memory_order_seq_cst);
	while (!is_over(wait))
		pthread_cond_wait(&place->changed, &place->lock);
	atomic_fetch_sub_explicit(&place->sleepers, 1, memory_order_seq_cst);
	pthread_mutex_unlock(&place->lock);
}

static void wake(struct place *place)
{
	if (!atomic_load_explicit(&place->sleepers, memory_order_seq_cst))
		return;
	pthread_mutex_lock(&place->lock);
	pthread_cond_broadcast(&place->changed);
	pthread_mutex_unlock(&place->lock);
}

void reel_order_wake_all(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		wake(&places[i]);
}

static bool await(const struct wait *wait)
{
	for (int tries = 0; tries < 100 && !is_over(wait); tries++)
		if (tries >= 20)
			sched_yield();
	if (!is_over(wait))
		sleep_until_over(wait);
	return has_come(wait);
}

/* ---- The reverse sweep ---- */

void reel_order_await(reel_lane *lane, reel_order *order)
{
	struct reel_note top = reel_lane_top(lane);
	struct wait wait = {order, (top.key >> REEL_KIND_BITS) + 1, lane->in};

	REEL_OBSERVE(REEL_EVENT_ORDER_AWAIT, .lane = lane);
	if ((top.key & 7) != REEL_NOTE_TURN || top.value != (uint64_t)(uintptr_t)order) {
		reel_lane_fail(lane, -EBADMSG,
			       "it waits for a turn in an order that it did not note last");
		return;
	}
	(void)reel_lane_take_pair(lane);
	if (await(&wait))
		lane->turns++;
	else
		reel_lane_fail(lane, -EBADMSG, "its turn never comes: another lane has failed");
}

void reel_order_done(reel_lane *lane, reel_order *order)
{
	if (!lane->turns)
		return;
	lane->turns--;
	/* Sequentially consistent: pairs with has_come() and sleep_until_over(). */
	atomic_fetch_sub_explicit(&order->count, 1, memory_order_seq_cst);
	wake(place_of(order));
}
