/* SPDX-License-Identifier: MIT */
/*
 * Events for the observer, if there is one. Only public functions have events, with their caller.
 */
#ifndef REEL_OMP_OBSERVE_H
#define REEL_OMP_OBSERVE_H

#include <reel/observe.h>
#include <stdatomic.h>

#include "omp/runtime/caller.h"
#include "trace/trace.h"

extern _Atomic(reel_observer *) reel_present_observer;

static inline bool reel_is_observed(void)
{
	/* Relaxed is enough: it guards no memory. */
	return atomic_load_explicit(&reel_present_observer, memory_order_relaxed) != NULL;
}

/* Tells the observer and the trace. */
REEL_COLD void reel_tell(const reel_event *event);
/* In a trace: the thread leaves the lane that it has, if it has one. */
void reel_region_trace_leave(void);

/* REEL_OBSERVE(KIND, .member = value, ...) */
#define REEL_OBSERVE(...)                                                                          \
	do {                                                                                       \
		if (REEL_UNLIKELY(reel_is_observed() || reel_traces()))                            \
			reel_tell(&(const reel_event){__VA_ARGS__, .caller = REEL_CALLER});        \
	} while (0)

#endif
