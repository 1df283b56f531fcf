/* SPDX-License-Identifier: MIT */
/*
 * A wake-up: one thread sleeps until another thread signals it. A signal that no thread waits for is
 * kept, and several signals are one. Any thread signals, without a lock, and without a system call
 * unless a thread has to be woken. One thread at a time waits.
 */
#ifndef REEL_LIB_WAKEUP_H
#define REEL_LIB_WAKEUP_H

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cancel.h"
#include "clock.h"
#include "yield.h"

struct reel_wakeup {
	_Atomic bool raised;
	sem_t count;
};

static inline void reel_wakeup_open(struct reel_wakeup *wakeup)
{
	atomic_init(&wakeup->raised, false);
	sem_init(&wakeup->count, 0, 0);
}

static inline void reel_wakeup_close(struct reel_wakeup *wakeup)
{
	sem_destroy(&wakeup->count);
}

static inline void reel_wakeup_signal(struct reel_wakeup *wakeup)
{
	bool raised;

	reel_yield_point();
	/*
	 * Release: pairs with the acquire in reel_wakeup_lower(). All that came before is visible
	 * there.
	 */
	raised = atomic_exchange_explicit(&wakeup->raised, true, memory_order_acq_rel);
	reel_yield_point();
	if (!raised)
		sem_post(&wakeup->count);
}

/* Forgets the signal. A signal that comes later wakes the next wait. */
static inline void reel_wakeup_lower(struct reel_wakeup *wakeup)
{
	reel_yield_point();
	/* Acquire: pairs with the release in reel_wakeup_signal(). */
	atomic_exchange_explicit(&wakeup->raised, false, memory_order_acq_rel);
}

/* Waits for a signal. */
static inline void reel_wakeup_wait(struct reel_wakeup *wakeup)
{
	REEL_UNCANCELLED;

	while (sem_wait(&wakeup->count) && errno == EINTR)
		;
	reel_wakeup_lower(wakeup);
}

/*
 * A store may keep completions until it is called again, so a thread that waits for one calls the
 * store after this time.
 */
#define REEL_PATIENCE_MS 1

/* Waits by the monotonic clock if the system can (glibc 2.30, not musl). */
#if HAVE_SEM_CLOCKWAIT
#define REEL_WAKEUP_CLOCK CLOCK_MONOTONIC
#define REEL_WAKEUP_WAIT_UNTIL(wakeup, end) sem_clockwait(&(wakeup)->count, REEL_WAKEUP_CLOCK, (end))
#else
#define REEL_WAKEUP_CLOCK CLOCK_REALTIME
#define REEL_WAKEUP_WAIT_UNTIL(wakeup, end) sem_timedwait(&(wakeup)->count, (end))
#endif

/* Waits for at most this time. Returns false if nothing was signalled. */
static inline bool reel_wakeup_wait_for(struct reel_wakeup *wakeup, uint32_t milliseconds)
{
	REEL_UNCANCELLED;
	struct timespec end = reel_clock_after(REEL_WAKEUP_CLOCK, (int64_t)milliseconds * 1000000);

	while (REEL_WAKEUP_WAIT_UNTIL(wakeup, &end))
		if (errno != EINTR)
			return false;
	reel_wakeup_lower(wakeup);
	return true;
}

#endif
