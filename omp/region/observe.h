/* SPDX-License-Identifier: MIT */
/*
 * Events for the observer, if there is one. Only public functions have events, with their caller.
 */
#ifndef REEL_OMP_OBSERVE_H
#define REEL_OMP_OBSERVE_H

#include <reel/observe.h>
#include <stdatomic.h>

#include "omp/runtime/caller.h"

extern _Atomic(reel_observer *) reel_present_observer;

static inline bool reel_is_observed(void)
{
	/* Relaxed is enough: it guards no memory. */
	return atomic_load_explicit(&reel_present_observer, memory_order_relaxed) != NULL;
}

/* REEL_OBSERVE(KIND, .member = value, ...) */
#define REEL_OBSERVE(...)                                                                          \
	do {                                                                                       \
		/* Acquire: pairs with the release in reel_observe(). */                           \
		reel_observer *observer_ =                                                         \
			atomic_load_explicit(&reel_present_observer, memory_order_acquire);        \
		if (REEL_UNLIKELY(observer_ != NULL))                                              \
			observer_(&(const reel_event){__VA_ARGS__, .caller = REEL_CALLER});        \
	} while (0)

#endif
