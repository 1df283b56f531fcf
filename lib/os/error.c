/* SPDX-License-Identifier: MIT */
/*
 * The texts of errors, and the handler to which errors of objects in loops are reported. Any
 * thread calls these functions; each thread has a text of its own. The handler is installed before
 * threads use tapes, so reading it needs no order.
 */
#include "config.h"

#include "error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cancel.h"
#include "numerals.h"
#include "signals.h"

struct text {
	/* The error that the text is of. */
	int error;
	char text[512];
};

/*
 * The last error of a thread, and its text, which is NULL before the first error and without
 * memory. It is allocated, because the loader has few bytes for the thread-local variables of
 * libreel-adstack, which it may load when the program runs.
 */
static _Thread_local int last_error;
static _Thread_local struct text *last;

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

static void free_text(void *text)
{
	last = NULL;
	free(text);
}

static void create_key(void)
{
	has_key = !pthread_key_create(&key, free_text);
}

/* The text of the calling thread; NULL: there is no memory for it. */
static struct text *own_text(void)
{
	if (last)
		return last;
	last = calloc(1, sizeof *last);
	if (!last)
		return NULL;
	/* A thread that ends does not free its text if the system refuses the key. */
	pthread_once(&key_once, create_key);
	if (has_key)
		pthread_setspecific(key, last);
	return last;
}

int reel_fail(int error, const char *format, ...)
{
	REEL_POINT_NUMERALS;
	struct text *own = own_text();
	char text[sizeof own->text];
	va_list arguments;

	last_error = error;
	if (!own)
		return error;
	/* An argument may be the last text. */
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	memcpy(own->text, text, sizeof text);
	own->error = error;
	return error;
}

const char *reel_error_text(int error)
{
	bool is_last = !error || error == last_error;

	if (is_last && last && last->error == last_error && last->text[0])
		return last->text;
	return reel_strerror(error ? error : last_error);
}

/* ---- The handler ---- */

/* Which message was printed last, and how often it has come again since. */
static _Atomic uint64_t printed_hash;
static _Atomic uint64_t repeats;

/* FNV-1a */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

/* Relaxed, here and below: the numbers guard no data, and an order of lines is not promised. */
static void print_repeats(void)
{
	uint64_t times = atomic_exchange_explicit(&repeats, 0, memory_order_relaxed);

	if (times)
		fprintf(stderr, "reel: the same %llu times more\n", (unsigned long long)times);
}

/* A program with 100,000 tapes may report one cause 100,000 times, so equal lines are counted. */
static void report_on_stderr(const struct reel_tape *tape, int error, const char *message,
			     void *context)
{
	REEL_UNCANCELLED;
	uint64_t hash = hash_of(message);

	(void)tape;
	(void)error;
	(void)context;
	if (atomic_exchange_explicit(&printed_hash, hash, memory_order_relaxed) == hash) {
		atomic_fetch_add_explicit(&repeats, 1, memory_order_relaxed);
		return;
	}
	REEL_UNSIGNALLED;
	print_repeats();
	fprintf(stderr, "reel: %s\n", message);
}

__attribute__((destructor)) static void end_reports(void)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;

	print_repeats();
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

/* ---- Meanings of errors ---- */

static const struct {
	int error;
	const char *text;
} meanings[] = {
	{0, "no error"},
	{-EDQUOT, "the pool's hard budget is used up"},
	{-ENOMEM, "out of memory"},
	{-EOVERFLOW, "more bytes than can be addressed, or a number that its type does not hold"},
	{-ENODATA, "pop of an empty tape"},
	{-EBADMSG,
	 "a pop does not mirror its push, or a store gave back other bytes than were put"},
	{-EPERM, "used by a thread that does not own it"},
	{-ENXIO, "the store that the environment asks for cannot be opened"},
	{-ECHILD, "in the child of a fork the store is its parent's"},
	{-EINVAL, "invalid argument, or a mark that is not on the tape"},
	{-EBUSY, "still in use"},
};

const char *reel_strerror(int error)
{
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
		if (meanings[i].error == error)
			return meanings[i].text;
	return strerror(error < 0 ? -error : error);
}
