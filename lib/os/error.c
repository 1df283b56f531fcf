/* SPDX-License-Identifier: MIT */
/*
 * The texts of errors, and the handler to which errors of objects in loops are reported. Any
 * thread calls these functions; each thread has a text of its own. The handler is installed before
 * threads use tapes, so reading it needs no order.
 */
#include "config.h"

#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cancel.h"

static _Thread_local struct {
	int error;
	char text[512];
} last;

int reel_fail(int error, const char *format, ...)
{
	char text[sizeof last.text];
	va_list arguments;

	/* An argument may be the last text. */
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	memcpy(last.text, text, sizeof text);
	last.error = error;
	return error;
}

const char *reel_error_text(int error)
{
	return last.text[0] && (!error || error == last.error) ? last.text : reel_strerror(error);
}

/* ---- The handler ---- */

static void report_on_stderr(const struct reel_tape *tape, int error, const char *message,
			     void *context)
{
	REEL_UNCANCELLED;

	(void)tape;
	(void)error;
	(void)context;
	fprintf(stderr, "reel: %s\n", message);
}

static reel_error_handler *handler_in_use = report_on_stderr;
static void *handler_context;

void reel_set_error_handler(reel_error_handler *handler, void *context)
{
	handler_in_use = handler ? handler : report_on_stderr;
	handler_context = context;
}

int reel_report(const struct reel_tape *tape, int error, const char *message)
{
	reel_fail(error, "%s", message);
	handler_in_use(tape, error, message, handler_context);
	return error;
}

/* ---- What errors mean ---- */

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
