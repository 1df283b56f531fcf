/* SPDX-License-Identifier: MIT */
/*
 * Sticky errors of tapes. The owner of a tape runs these functions.
 *
 * The first error of a tape stays until it is cleared. While it does, pushes are refused, and their
 * pops give all ones.
 *
 * The error handler may leave by longjmp() or an exception. So an error is kept as unreported until
 * the function that the program called has undone and counted everything, and calls
 * reel_tape_report() as the last thing it does.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lane-listener.h"
#include "os/error.h"
#include "tape.h"

reel_error_handler *reel_dropin_error_handler;

static _Atomic(reel_lane_listener *) lane_listener;

void reel_listen_to_lanes(reel_lane_listener *listener)
{
	/* Relaxed is enough: the pointer leads to code only, which each thread sees. */
	atomic_store_explicit(&lane_listener, listener, memory_order_relaxed);
}

int reel_tape_fail(reel_tape *tape, int error, const char *format, ...)
{
	char message[512];
	va_list arguments;

	REEL_ASSERT(error != 0);
	if (tape->error)
		return error;
	tape->error = error;
	reel_tape_limits(tape);
	REEL_ASSERT(tape->ceiling == REEL_FALSE_CEILING);
	/* Relaxed is enough: the listener was set before the lane was handed to this thread. */
	if (tape->flags & REEL_TAPE_LANE)
		atomic_load_explicit(&lane_listener, memory_order_relaxed)(tape);
	if (tape->flags & REEL_TAPE_SILENT)
		return error;
	REEL_ASSERT(!(tape->flags & REEL_TAPE_DROPIN) || reel_dropin_error_handler);
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	if (tape->flags & REEL_TAPE_DROPIN) {
		reel_dropin_error_handler(tape, error, message, NULL);
		return error;
	}
	tape->flags |= REEL_TAPE_UNREPORTED;
	return reel_fail(error, "%s", message);
}

void reel_tape_report(reel_tape *tape)
{
	if (!(tape->flags & REEL_TAPE_UNREPORTED))
		return;
	tape->flags &= ~REEL_TAPE_UNREPORTED;
	REEL_ASSERT(tape->error);
	reel_report(tape, tape->error, reel_error_text(tape->error));
}

void reel_tape_put_out_of_step(reel_tape *tape)
{
	tape->refused = REEL_OUT_OF_STEP;
	reel_tape_limits(tape);
	REEL_ASSERT(tape->floor == REEL_FALSE_FLOOR);
}

int reel_tape_check_balance(reel_tape *tape, int64_t first, int64_t last)
{
	uint64_t left = reel_tape_bytes(tape);

	if (tape->error || !left)
		return tape->error;
	reel_tape_fail_out_of_step(
		tape, -EBADMSG,
		"reverse of steps %lld to %lld popped %llu bytes less than record pushed",
		(long long)first, (long long)last - 1, (unsigned long long)left);
	reel_tape_report(tape);
	return tape->error;
}

void reel_tape_give_up(reel_tape *tape, int error, const char *message)
{
	reel_tape_fail_out_of_step(tape, error, "%s", message);
	reel_tape_report(tape);
}

int reel_tape_error(const reel_tape *tape)
{
	return tape->error;
}

uint64_t reel_tape_refused(const reel_tape *tape)
{
	return tape->refused / 8 + (tape->refused % 8 != 0);
}

int reel_tape_clear_error(reel_tape *tape)
{
	reel_tape *entries = reel_check_entries(tape);
	int error = tape->error;

	if (tape->refused || reel_hold_retains_refused(tape))
		return -EBUSY;
	tape->error = 0;
	if (entries)
		reel_tape_clear_error(entries);
	if (tape->top)
		reel_tape_limits(tape);
	return error;
}
