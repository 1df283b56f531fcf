/* SPDX-License-Identifier: MIT */
/*
 * Pins. Any thread runs these functions.
 *
 * A pin is one addition to `count` while another pin holds the slab. Who sets or clears
 * REEL_PINS_HELD has the lock. The bit is cleared only if there is no pin, by one compare-and-swap,
 * so that a pin which finds it set keeps it set.
 */
#include "config.h"

#include <stdbool.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/yield.h"
#include "pins.h"

void reel_pins_open(struct reel_pins *pins, uint32_t count)
{
	REEL_ASSERT(count == 0 || count == (REEL_PINS_HELD | 1));
	pthread_mutex_init(&pins->lock, NULL);
	atomic_store_explicit(&pins->count, count, memory_order_relaxed);
}

void reel_pins_close(struct reel_pins *pins)
{
	pthread_mutex_destroy(&pins->lock);
}

void reel_pins_unlock_in_child(struct reel_pins *pins)
{
	pthread_mutex_init(&pins->lock, NULL);
}

static int hold(struct reel_pins *pins, int (*acquire)(void *context), void *context)
{
	REEL_UNCANCELLED;
	int error = 0;

	pthread_mutex_lock(&pins->lock);
	/* Relaxed: who sets the bit has the lock. */
	if (!(atomic_load_explicit(&pins->count, memory_order_relaxed) & REEL_PINS_HELD)) {
		error = acquire(context);
		/*
		 * Release: pairs with the acquire in reel_pins_add(). Shows the contents.
		 * Relaxed: an acquire that failed has left the slab as it was. With the lock: a
		 * thread that acquires the slab next, and drops its pin, must find itself the last.
		 */
		if (!error)
			atomic_fetch_or_explicit(&pins->count, REEL_PINS_HELD,
						 memory_order_release);
		else
			atomic_fetch_sub_explicit(&pins->count, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&pins->lock);
	return error;
}

int reel_pins_add(struct reel_pins *pins, int (*acquire)(void *context), void *context)
{
	uint32_t before;

	reel_yield_point();
	/* Acquire: pairs with the release in hold(). Makes the contents of the frame visible. */
	before = atomic_fetch_add_explicit(&pins->count, 1, memory_order_acquire);
	return before & REEL_PINS_HELD ? 0 : hold(pins, acquire, context);
}

static void let_go(struct reel_pins *pins, void (*seal)(void *context), void *context)
{
	uint32_t unpinned = REEL_PINS_HELD;

	pthread_mutex_lock(&pins->lock);
	/*
	 * Acquire: pairs with the release in reel_pins_drop(). Release: pairs with the acquire in
	 * reel_pins_add(), whose hold() acquires the slab anew.
	 */
	if (atomic_compare_exchange_strong_explicit(&pins->count, &unpinned, 0,
						    memory_order_acq_rel, memory_order_relaxed))
		seal(context);
	pthread_mutex_unlock(&pins->lock);
}

void reel_pins_drop(struct reel_pins *pins, void (*seal)(void *context), void *context)
{
	uint32_t before;

	reel_yield_point();
	/* Release: pairs with the acquire in let_go(). The reads of this thread come before. */
	before = atomic_fetch_sub_explicit(&pins->count, 1, memory_order_release);
	REEL_ASSERT((before & ~REEL_PINS_HELD) > 0);
	if (before == (REEL_PINS_HELD | 1) && seal)
		let_go(pins, seal, context);
}
