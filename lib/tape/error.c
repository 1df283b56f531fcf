/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lane-listener.h"
#include "os/cancel.h"
#include "tape.h"

static void report_on_stderr(const reel_tape *tape, int error, const char *message, void *context)
{
	REEL_UNCANCELLED;

	(void)tape;
	(void)error;
	(void)context;
	fprintf(stderr, "reel: %s\n", message);
}

static reel_error_handler *error_handler = report_on_stderr;
static void *error_context;

reel_error_handler *reel_dropin_error_handler;

void reel_set_error_handler(reel_error_handler *handler, void *context)
{
	error_handler = handler ? handler : report_on_stderr;
	error_context = context;
}

static _Atomic(reel_lane_listener *) lane_listener;

void reel_listen_to_lanes(reel_lane_listener *listener)
{
	/* Relaxed: the listener is code, which every thread can see. */
	atomic_store_explicit(&lane_listener, listener, memory_order_relaxed);
}

static void tell_lane(reel_tape *tape)
{
	/* Relaxed: set by the thread that opened the lane, before the lane was handed to this one. */
	atomic_load_explicit(&lane_listener, memory_order_relaxed)(tape);
}

static void fail(reel_tape *tape, int error, const char *format, va_list arguments)
{
	char message[512];

	tape->error = error;
	reel_tape_limits(tape);
	if (tape->flags & REEL_TAPE_LANE)
		tell_lane(tape);
	if (tape->flags & REEL_TAPE_SILENT)
		return;
	vsnprintf(message, sizeof message, format, arguments);
	if (tape->flags & REEL_TAPE_DROPIN)
		reel_dropin_error_handler(tape, error, message, NULL);
	else
		error_handler(tape, error, message, error_context);
}

int reel_tape_fail(reel_tape *tape, int error, const char *format, ...)
{
	va_list arguments;

	if (tape->error)
		return error;
	va_start(arguments, format);
	fail(tape, error, format, arguments);
	va_end(arguments);
	return error;
}

int reel_tape_fail_out_of_step(reel_tape *tape, int error, const char *format, ...)
{
	va_list arguments;

	tape->refused = REEL_OUT_OF_STEP;
	reel_tape_limits(tape);
	if (tape->error)
		return error;
	va_start(arguments, format);
	fail(tape, error, format, arguments);
	va_end(arguments);
	return error;
}

int reel_tape_check_balance(reel_tape *tape, uint64_t before, int64_t first, int64_t last)
{
	uint64_t now = reel_tape_bytes(tape);
	bool left = now > before;

	if (tape->error || now == before)
		return tape->error;
	return reel_tape_fail_out_of_step(
		tape, -EBADMSG, "reverse of steps %lld to %lld popped %llu bytes %s than record pushed",
		(long long)first, (long long)last - 1,
		(unsigned long long)(left ? now - before : before - now), left ? "less" : "more");
}

void reel_tape_give_up(reel_tape *tape, int error, const char *message)
{
	reel_tape_fail_out_of_step(tape, error, "%s", message);
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
	int error = tape->error;

	if (tape->refused || reel_hold_retains_refused(tape))
		return -EBUSY;
	tape->error = 0;
	reel_check_clear_error(tape);
	if (tape->top)
		reel_tape_limits(tape);
	return error;
}

const char *reel_store_strerror(int error)
{
	switch (error) {
	case -EBADMSG:
		return "it is not what was put there";
	case -ECHILD:
		return "in the child of a fork the store is its parent's";
	default:
		return strerror(-error);
	}
}

const char *reel_strerror(int error)
{
	switch (error) {
	case 0:
		return "no error";
	case -EDQUOT:
		return "the pool's hard budget is used up";
	case -ENOMEM:
		return "out of memory";
	case -EOVERFLOW:
		return "more bytes than can be addressed";
	case -ENODATA:
		return "pop of an empty tape";
	case -EBADMSG:
		return "a pop does not mirror its push, or a store gave back what was not put there";
	case -EPERM:
		return "used by a thread that does not own it";
	case -ENXIO:
		return "the store that the environment asks for cannot be opened";
	case -EINVAL:
		return "invalid argument, or a mark that is not on the tape";
	case -EBUSY:
		return "still in use";
	default:
		return strerror(error < 0 ? -error : error);
	}
}
