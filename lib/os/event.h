/* SPDX-License-Identifier: MIT */
/*
 * An event: one thread sleeps until another thread signals it. A signal that no thread waits for is
 * kept, and several signals are one. Any thread signals, without a lock, and without a system call
 * unless a thread has to be woken. One thread at a time waits.
 */
#ifndef REEL_LIB_EVENT_H
#define REEL_LIB_EVENT_H

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cancel.h"
#include "clock.h"
#include "yield.h"

struct reel_event {
	_Atomic bool raised;
	sem_t count;
};

static inline void reel_event_open(struct reel_event *event)
{
	atomic_init(&event->raised, false);
	sem_init(&event->count, 0, 0);
}

static inline void reel_event_close(struct reel_event *event)
{
	sem_destroy(&event->count);
}

static inline void reel_event_signal(struct reel_event *event)
{
	bool raised;

	reel_yield_point();
	/*
	 * Release: pairs with the acquire in reel_event_lower(). All that came before is visible
	 * there.
	 */
	raised = atomic_exchange_explicit(&event->raised, true, memory_order_acq_rel);
	reel_yield_point();
	if (!raised)
		sem_post(&event->count);
}

/* Forgets the signal. A signal that comes later wakes the next wait. */
static inline void reel_event_lower(struct reel_event *event)
{
	reel_yield_point();
	/* Acquire: pairs with the release in reel_event_signal(). */
	atomic_exchange_explicit(&event->raised, false, memory_order_acq_rel);
}

/* Waits for a signal. */
static inline void reel_event_wait(struct reel_event *event)
{
	REEL_UNCANCELLED;

	while (sem_wait(&event->count) && errno == EINTR)
		;
	reel_event_lower(event);
}

/*
 * A store may keep completions until it is called again, so a thread that waits for one calls the
 * store after this time.
 */
#define REEL_PATIENCE_MS 1

/* Waits by the monotonic clock if the system can (glibc 2.30, not musl). */
#if HAVE_SEM_CLOCKWAIT
#define REEL_EVENT_CLOCK CLOCK_MONOTONIC
#define REEL_EVENT_WAIT_UNTIL(event, end) sem_clockwait(&(event)->count, REEL_EVENT_CLOCK, (end))
#else
#define REEL_EVENT_CLOCK CLOCK_REALTIME
#define REEL_EVENT_WAIT_UNTIL(event, end) sem_timedwait(&(event)->count, (end))
#endif

/* Waits for at most this time. Returns false if nothing was signalled. */
static inline bool reel_event_wait_for(struct reel_event *event, uint32_t milliseconds)
{
	REEL_UNCANCELLED;
	struct timespec end = reel_clock_after(REEL_EVENT_CLOCK, (int64_t)milliseconds * 1000000);

	while (REEL_EVENT_WAIT_UNTIL(event, &end))
		if (errno != EINTR)
			return false;
	reel_event_lower(event);
	return true;
}

#endif
