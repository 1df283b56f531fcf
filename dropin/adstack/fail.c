/* SPDX-License-Identifier: MIT */
/*
 * Errors end the program: one line on stderr, then the handler of the program, then exit status 1.
 * The thread whose call failed runs these functions. They never return, because generated code does
 * not test for errors; the handler may leave by longjmp().
 */
#include "stack.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/cancel.h"
#include "os/signals.h"

static reel_adstack_handler *handler;
static void *handler_context;

void reel_adstack_set_handler(reel_adstack_handler *new_handler, void *context)
{
	handler = new_handler;
	handler_context = context;
}

static void report(const char *message)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;

	fprintf(stderr, "reel: adstack: %s\n", message);
}

void reel_adstack_fail(int error, const char *format, ...)
{
	char message[640];
	va_list arguments;
	size_t length;

	reel_adstack_begin();
	va_start(arguments, format);
	length = (size_t)vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	if (length < sizeof message)
		snprintf(message + length, sizeof message - length,
			 " (thread %u, repeat level %u, %llu bytes on the stack)",
			 reel_adstack.number, reel_adstack.stack.levels,
			 (unsigned long long)reel_adstack_bytes());
	report(message);
	if (handler)
		handler(error, message, handler_context);
	exit(EXIT_FAILURE);
}

void reel_adstack_tape_failed(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)context;
	reel_adstack_fail(error, "%s", message);
}
