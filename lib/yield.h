/* SPDX-License-Identifier: MIT */
/*
 * Places in a lock-free operation where another thread may come between. Test
 * builds (configure --enable-yield-points) give up the processor at one in eight
 * of them, which finds in milliseconds what would take hours otherwise.
 */
#ifndef REEL_LIB_YIELD_H
#define REEL_LIB_YIELD_H

#if REEL_YIELD_POINTS

#include <sched.h>
#include <stdint.h>

static inline void reel_yield_point(void)
{
	static _Thread_local uint32_t state;

	if (!state)
		state = (uint32_t)(uintptr_t)&state | 1;
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	if (state % 8 == 0)
		sched_yield();
}

#else

static inline void reel_yield_point(void)
{
}

#endif

#endif
