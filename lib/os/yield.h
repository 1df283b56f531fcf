/* SPDX-License-Identifier: MIT */
/*
 * Yield points: places at which another thread may come between. Test builds (configure
 * --enable-yield-points) give the processor up at one point in eight, which finds faults in
 * milliseconds instead of hours. A program that has reel_yield_hook() decides itself which thread
 * goes on (stress/scheduler.c). Other builds have none.
 */
#ifndef REEL_LIB_YIELD_H
#define REEL_LIB_YIELD_H

#if REEL_YIELD_POINTS

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns whether the program has decided. If not, chance decides. */
__attribute__((weak)) bool reel_yield_hook(const char *function, int line);

static inline void reel_yield_at(const char *function, int line)
{
	static _Thread_local uint32_t state;

	if (reel_yield_hook && reel_yield_hook(function, line))
		return;
	if (!state)
		state = (uint32_t)(uintptr_t)&state | 1;
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	if (state % 8 == 0)
		sched_yield();
}

#define reel_yield_point() reel_yield_at(__func__, __LINE__)

#else

#define reel_yield_point() ((void)0)

#endif

#endif
