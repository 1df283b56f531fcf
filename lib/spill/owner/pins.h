/* SPDX-License-Identifier: MIT */
/*
 * The pins of a slab that several threads read at once. While REEL_PINS_HELD is set, the slab is in
 * a state in which its owner may read it, and all threads that have pinned it are its owner
 * together. The first pin acquires the slab, and the last unpin seals it (slab-owner.h).
 */
#ifndef REEL_LIB_PINS_H
#define REEL_LIB_PINS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* Below this bit, `count` has the number of pins. */
#define REEL_PINS_HELD ((uint32_t)1 << 31)

struct reel_pins {
	_Atomic uint32_t count;
	pthread_mutex_t lock; /* of threads that set or clear REEL_PINS_HELD */
};

/* `count` is 0: the slab is sealed; or REEL_PINS_HELD | 1: the caller owns it. */
void reel_pins_open(struct reel_pins *pins, uint32_t count);
void reel_pins_close(struct reel_pins *pins);
/*
 * In the child of a fork: no thread holds the lock, though a thread of the parent may have held it.
 */
void reel_pins_unlock_in_child(struct reel_pins *pins);
/*
 * Adds a pin. If the slab is not held, calls acquire(context) with the lock; other threads that pin
 * the slab wait for its end then. Returns 0, or the error of acquire(): nothing is pinned.
 */
int reel_pins_add(struct reel_pins *pins, int (*acquire)(void *context), void *context);
/*
 * Does the same, but waits for other threads that pin the slab at most until `until`, a time in ns
 * (os/clock.h); the limit does not bind acquire(). Returns -EAGAIN: nothing is pinned.
 */
int reel_pins_add_until(struct reel_pins *pins, int (*acquire)(void *context), void *context,
			uint64_t until);
/*
 * Takes a pin away. If it was the last one, calls seal(context) with the lock, unless `seal` is
 * NULL: the slab stays held.
 */
void reel_pins_drop(struct reel_pins *pins, void (*seal)(void *context), void *context);

/* An estimate, unless the caller has a pin himself. */
static inline uint32_t reel_pins_count(const struct reel_pins *pins)
{
	/* Relaxed: threads that add and drop pins order their reads. */
	return atomic_load_explicit(&pins->count, memory_order_relaxed) & ~REEL_PINS_HELD;
}

#endif
