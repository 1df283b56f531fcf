/* SPDX-License-Identifier: MIT */
/*
 * Pins. Any thread runs these functions.
 *
 * A pin is one addition to `count` while another pin holds the slab. A thread that sets or clears
 * REEL_PINS_HELD holds the lock. The bit is cleared only if there is no pin, by one
 * compare-and-swap, so that a pin which finds it set keeps it set.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/yield.h"
#include "pins.h"

/* Time after which a thread that waits for the lock until a certain time looks again. */
#define LOOK_AGAIN_NS 100000

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

/* Requires the lock, and a pin of the caller, which goes if acquire() fails. */
static int hold(struct reel_pins *pins, int (*acquire)(void *context), void *context)
{
	int error;

	/* Relaxed: a thread that sets the bit holds the lock. */
	if (atomic_load_explicit(&pins->count, memory_order_relaxed) & REEL_PINS_HELD)
		return 0;
	REEL_ASSERT(acquire);
	error = acquire(context);
	/*
	 * Release: pairs with the acquires in reel_pins_add(), add_to_held() and
	 * reel_pins_add_until(). Makes the contents of the frame visible. Relaxed after a failure:
	 * there are no contents. The pin goes before the lock is released. Otherwise the next
	 * thread that holds the slab would also count this pin, and its own unpin would not seal.
	 */
	if (!error)
		atomic_fetch_or_explicit(&pins->count, REEL_PINS_HELD, memory_order_release);
	else
		atomic_fetch_sub_explicit(&pins->count, 1, memory_order_relaxed);
	return error;
}

static int lock_and_hold(struct reel_pins *pins, int (*acquire)(void *context), void *context)
{
	REEL_UNCANCELLED;
	int error;

	pthread_mutex_lock(&pins->lock);
	error = hold(pins, acquire, context);
	pthread_mutex_unlock(&pins->lock);
	return error;
}

int reel_pins_add(struct reel_pins *pins, int (*acquire)(void *context), void *context)
{
	uint32_t before;

	reel_yield_point();
	/* Acquire: pairs with the release in hold(). Makes the contents of the frame visible. */
	before = atomic_fetch_add_explicit(&pins->count, 1, memory_order_acquire);
	return before & REEL_PINS_HELD ? 0 : lock_and_hold(pins, acquire, context);
}

/* Adds a pin if the slab is held. */
static bool add_to_held(struct reel_pins *pins)
{
	uint32_t count = atomic_load_explicit(&pins->count, memory_order_relaxed);

	/* Acquire: pairs with the release in hold(). Makes the contents of the frame visible. */
	while (count & REEL_PINS_HELD)
		if (atomic_compare_exchange_weak_explicit(&pins->count, &count, count + 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	return false;
}

/*
 * A thread that waits for the store holds the lock meanwhile. This one looks at intervals, since a
 * wait for a lock goes by a clock that people set (POSIX has no other one before 2024).
 */
static bool lock_until(struct reel_pins *pins, uint64_t until)
{
	while (pthread_mutex_trylock(&pins->lock)) {
		if (reel_clock_ns() >= until)
			return false;
		reel_clock_pause(LOOK_AGAIN_NS);
	}
	return true;
}

int reel_pins_add_until(struct reel_pins *pins, int (*acquire)(void *context), void *context,
			uint64_t until)
{
	REEL_UNCANCELLED;
	int error;

	reel_yield_point();
	if (add_to_held(pins))
		return 0;
	if (!lock_until(pins, until))
		return -EAGAIN;
	/* Acquire: pairs with the release in hold(), as above. */
	atomic_fetch_add_explicit(&pins->count, 1, memory_order_acquire);
	error = hold(pins, acquire, context);
	pthread_mutex_unlock(&pins->lock);
	return error;
}

static void release(struct reel_pins *pins, void (*seal)(void *context), void *context)
{
	uint32_t unpinned = REEL_PINS_HELD;

	pthread_mutex_lock(&pins->lock);
	/*
	 * Acquire: pairs with the release in reel_pins_drop(). All reads of former pins come before
	 * the seal. Release: pairs with the acquire in reel_pins_add().
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
	/* Release: pairs with the acquire in release(). The reads of this thread come before. */
	before = atomic_fetch_sub_explicit(&pins->count, 1, memory_order_release);
	REEL_ASSERT((before & ~REEL_PINS_HELD) > 0);
	if (before == (REEL_PINS_HELD | 1) && seal)
		release(pins, seal, context);
}
