/* SPDX-License-Identifier: MIT */
/*
 * Events for the observer, if there is one. Only public functions have events, with their caller.
 */
#ifndef REEL_OMP_OBSERVE_H
#define REEL_OMP_OBSERVE_H

#include <reel/observe.h>
#include <stdatomic.h>

extern _Atomic(reel_observer *) reel_present_observer;

#if defined(__GNUC__)
#define REEL_CALLER __builtin_return_address(0)
#else
#define REEL_CALLER NULL
#endif

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
