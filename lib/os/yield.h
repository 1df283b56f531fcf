/* SPDX-License-Identifier: MIT */
/*
 * Places where another thread may come between. Test builds (configure
 * --enable-yield-points) give up the processor at one in eight of them, which finds in
 * milliseconds what would take hours otherwise; a program that has reel_yield_hook() decides
 * by itself who goes on (stress/scheduler.c). In other builds there is nothing.
 */
#ifndef REEL_LIB_YIELD_H
#define REEL_LIB_YIELD_H

#if REEL_YIELD_POINTS

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the program has decided; if not, or if it has no such function, chance does. */
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
