/* SPDX-License-Identifier: MIT */
/*
 * A lane: its properties, its region, and its errors. After an error both tapes give all ones. The
 * thread that has a lane calls these functions; reel_lane_end_waits() is called by any thread.
 */
#include "config.h"

#include "lane.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "omp/runtime/wait.h"
#include "tape/tape.h"

/* ---- Properties ---- */

reel_tape *reel_lane_tape(reel_lane *lane)
{
	if (REEL_UNLIKELY(lane->calls_bodies))
		reel_lane_check_left(lane);
	return &lane->tape;
}

int reel_lane_index(const reel_lane *lane)
{
	return lane->index;
}

int reel_lane_count(const reel_lane *lane)
{
	return lane->count;
}

int reel_region_lanes(const reel_region *region)
{
	/* Relaxed is enough: a number that guards no memory. */
	return atomic_load_explicit(&region->lanes, memory_order_relaxed);
}

int64_t reel_region_loops(const reel_region *region)
{
	return (int64_t)region->loops;
}

int64_t reel_region_phases(const reel_region *region)
{
	return (int64_t)(region->phases ? region->phases : 1);
}

uint64_t reel_lane_height(const reel_tape *tape)
{
	return reel_tape_bytes(tape) * 64 + tape->bit_count;
}

/* ---- Errors ---- */

void reel_lane_check_left(reel_lane *lane)
{
	if (!lane->calls_bodies)
		return;
	lane->calls_bodies = false;
	reel_lane_fail(lane, -EINVAL,
		       "a body of reel_tasks_reverse() was left by an exception or longjmp(), so "
		       "that tasks are not reversed: catch the exception in the body");
}

void reel_lane_end_waits(reel_lane *lane, int error)
{
	int32_t none = 0;

	REEL_ASSERT(error && lane->root);
	/*
	 * Sequentially consistent: pairs with is_over() (wait.c). A thread that is about to sleep
	 * either sees the error or is seen as a sleeper and is woken.
	 */
	if (atomic_compare_exchange_strong_explicit(&lane->root->failed, &none, error,
						    memory_order_seq_cst, memory_order_seq_cst))
		reel_omp_wake_all();
}

void reel_lane_fail(reel_lane *lane, int error, const char *format, ...)
{
	char message[400];
	va_list arguments;
	int length = 0;

	if (reel_lane_region(lane))
		length = snprintf(message, sizeof message, "lane %d of %d: ", (int)lane->index,
				  (int)lane->count);
	va_start(arguments, format);
	vsnprintf(message + length, sizeof message - (size_t)length, format, arguments);
	va_end(arguments);
	reel_tape_give_up(&lane->tape, error, message);
}

void reel_lane_check_loops(reel_lane *lane)
{
	if (lane->open_loops)
		reel_lane_fail(lane, -EINVAL,
			       "a loop was left before its end: call reel_loop_stop() first");
	lane->open_loops = 0;
}
