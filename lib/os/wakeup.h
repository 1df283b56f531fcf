/* SPDX-License-Identifier: MIT */
/*
 * A wake-up: one thread sleeps until another thread signals it. A signal that no thread waits for
 * is kept, and several signals are one. Any thread signals, without a lock where there is
 * sem_clockwait(), and without a system call unless a thread has to be woken. One thread at a time
 * waits.
 */
#ifndef REEL_LIB_WAKEUP_H
#define REEL_LIB_WAKEUP_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cancel.h"
#include "clock.h"
#include "yield.h"

/*
 * A semaphore, if it can be waited for by the clock of the library (glibc from 2.30 on); else, as
 * with musl, a condition and a lock, which signals also take.
 */
struct reel_wakeup {
	_Atomic bool raised;
#if HAVE_SEM_CLOCKWAIT
	sem_t count;
#else
	bool is_posted; /* `lock` guards it */
	pthread_mutex_t lock;
	pthread_cond_t posted;
#endif
};

static inline void reel_wakeup_open(struct reel_wakeup *wakeup)
{
	atomic_init(&wakeup->raised, false);
#if HAVE_SEM_CLOCKWAIT
	sem_init(&wakeup->count, 0, 0);
#else
	wakeup->is_posted = false;
	pthread_mutex_init(&wakeup->lock, NULL);
	reel_clock_condition(&wakeup->posted);
#endif
}

static inline void reel_wakeup_close(struct reel_wakeup *wakeup)
{
#if HAVE_SEM_CLOCKWAIT
	sem_destroy(&wakeup->count);
#else
	pthread_cond_destroy(&wakeup->posted);
	pthread_mutex_destroy(&wakeup->lock);
#endif
}

static inline void reel_wakeup_post(struct reel_wakeup *wakeup)
{
#if HAVE_SEM_CLOCKWAIT
	sem_post(&wakeup->count);
#else
	/* Signals before the unlock: the thread that waits may close the wake-up right after it. */
	pthread_mutex_lock(&wakeup->lock);
	wakeup->is_posted = true;
	pthread_cond_signal(&wakeup->posted);
	pthread_mutex_unlock(&wakeup->lock);
#endif
}

/* Returns false if the time `end` has come; NULL: it never comes. */
static inline bool reel_wakeup_take_post(struct reel_wakeup *wakeup, const struct timespec *end)
{
#if HAVE_SEM_CLOCKWAIT
	while (end ? sem_clockwait(&wakeup->count, CLOCK_MONOTONIC, end) : sem_wait(&wakeup->count))
		if (errno != EINTR)
			return false;
	return true;
#else
	bool is_posted;
	int error = 0;

	pthread_mutex_lock(&wakeup->lock);
	while (!wakeup->is_posted && !error)
		error = end ? pthread_cond_timedwait(&wakeup->posted, &wakeup->lock, end) :
			pthread_cond_wait(&wakeup->posted, &wakeup->lock);
	is_posted = wakeup->is_posted;
	wakeup->is_posted = false;
	pthread_mutex_unlock(&wakeup->lock);
	return is_posted;
#endif
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
		reel_wakeup_post(wakeup);
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

	reel_wakeup_take_post(wakeup, NULL);
	reel_wakeup_lower(wakeup);
}

/*
 * A store may keep completions until it is called again, so a thread that waits for one calls the
 * store after this time.
 */
#define REEL_PATIENCE_MS 1

/* Waits for at most this time. Returns false if nothing was signalled. */
static inline bool reel_wakeup_wait_for(struct reel_wakeup *wakeup, uint32_t milliseconds)
{
	REEL_UNCANCELLED;
	struct timespec end = reel_clock_after((int64_t)milliseconds * 1000000);

	if (!reel_wakeup_take_post(wakeup, &end))
		return false;
	reel_wakeup_lower(wakeup);
	return true;
}

#endif
