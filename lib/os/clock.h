/* SPDX-License-Identifier: MIT */
/*
 * The one clock of the library. It never goes back; only differences of its times have a meaning.
 */
#ifndef REEL_LIB_CLOCK_H
#define REEL_LIB_CLOCK_H

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
 * Returns the time by `clock` at which a wait of `ns` >= 0 nanoseconds ends. A time_t may have 32
 * bits, so a wait of more than 30 years ends after 30 years.
 */
static inline struct timespec reel_clock_after(clockid_t clock, int64_t ns)
{
	const int64_t max_seconds = 1000000000;
	int64_t seconds = ns / REEL_SECOND_NS;
	struct timespec end;

	clock_gettime(clock, &end);
	end.tv_sec += (time_t)(seconds < max_seconds ? seconds : max_seconds);
	end.tv_nsec += (long)(ns % REEL_SECOND_NS);
	if (end.tv_nsec >= REEL_SECOND_NS) {
		end.tv_sec++;
		end.tv_nsec -= REEL_SECOND_NS;
	}
	return end;
}

#endif
