/* SPDX-License-Identifier: MIT */
/*
 * The one clock of the library. Nobody sets it, and it never goes back; only differences of its
 * times have a meaning. Waits with a limit also go by it: by a clock that people set, a wait would
 * end late when the clock is set back.
 */
#ifndef REEL_LIB_CLOCK_H
#define REEL_LIB_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define REEL_SECOND_NS 1000000000

/* As the time at which a wait ends: it has no limit. */
#define REEL_FOREVER UINT64_MAX

static inline uint64_t reel_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * REEL_SECOND_NS + (uint64_t)now.tv_nsec;
}

static inline double reel_clock_seconds(void)
{
	return 1e-9 * (double)reel_clock_ns();
}

/*
 * Returns the time at which a wait of `ns` >= 0 nanoseconds ends. A time_t may have 32 bits, so a
 * wait of more than 30 years ends after 30 years.
 */
static inline struct timespec reel_clock_after(int64_t ns)
{
	const int64_t max_seconds = 1000000000;
	int64_t seconds = ns / REEL_SECOND_NS;
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)(seconds < max_seconds ? seconds : max_seconds);
	end.tv_nsec += (long)(ns % REEL_SECOND_NS);
	if (end.tv_nsec >= REEL_SECOND_NS) {
		end.tv_sec++;
		end.tv_nsec -= REEL_SECOND_NS;
	}
	return end;
}

/*
 * Returns the rest of a timeout that began at `since`: 0 if it has passed. A negative timeout is
 * without limit, and is returned unchanged.
 */
static inline int64_t reel_clock_left(int64_t timeout_ns, uint64_t since)
{
	int64_t passed = (int64_t)(reel_clock_ns() - since);

	return timeout_ns < 0 ? timeout_ns : timeout_ns > passed ? timeout_ns - passed : 0;
}

/* Lets other threads and processes run for this time, less than a second. */
static inline void reel_clock_pause(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* Makes a condition whose waits with a limit go by this clock. Returns 0 or -errno. */
static inline int reel_clock_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int error = pthread_condattr_init(&attributes);

	if (error)
		return -error;
	error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (!error)
		error = pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return -error;
}

#endif
