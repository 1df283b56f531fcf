/* SPDX-License-Identifier: MIT */
/*
 * Formats events as lines of JSON. printf() would take most of the time of a traced slab, so
 * numbers are written here. Any thread.
 */
#include "config.h"

#include "trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif
#if HAVE_SYS_SDT_H
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
/* Warnings in its macros are not for this project to repair. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#endif

#include "os/assert.h"
#include "os/cancel.h"
#include "os/environment.h"
#include "os/signals.h"
#include "output.h"
#include "ring.h"

/*
 * Transfers overlap, so they are shown on tracks beside the tracks of threads: the number of such a
 * track is the number of the offload thread, times TRACKS, plus the number of the ticket, above all
 * numbers of threads (at most 2^22 on Linux).
 */
#define TRACKS 100
#define FIRST_TRACK 10000000
#define MAX_TRACKS 32

enum shown {
	ON_THREAD,
	ON_TRACK,  /* of its own, whose number the first argument is */
	AS_COUNTER /* the first argument is a part of its name */
};

static const struct kind {
	const char *name;
	const char *category;
	enum shown shown;
	const char *argument[REEL_TRACE_ARGUMENTS];
} kinds[REEL_TRACE_KINDS] = {
#define KIND(kind, name, category, shown, ...) {name, category, shown, {__VA_ARGS__}},
	REEL_TRACE_EVENTS(KIND)
#undef KIND
};

/* ---- Text ---- */

static char *add(char *at, const char *text)
{
	size_t length = strlen(text);

	memcpy(at, text, length);
	return at + length;
}

static char *add_digits(char *at, uint64_t number, unsigned min_digits)
{
	char digits[20];
	unsigned n = 0;

	for (; number || n < min_digits; number /= 10)
		digits[n++] = (char)('0' + number % 10);
	REEL_ASSERT(n <= sizeof digits);
	while (n)
		*at++ = digits[--n];
	return at;
}

static char *add_number(char *at, int64_t number)
{
	if (number < 0)
		*at++ = '-';
	return add_digits(at, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

/* Nanoseconds, as microseconds with three decimals: no time is rounded. */
static char *add_time(char *at, uint64_t ns)
{
	at = add_digits(at, ns / 1000, 1);
	*at++ = '.';
	return add_digits(at, ns % 1000, 3);
}

/* A name may have any bytes. Those that a string of JSON may not have become "_". */
static char *add_name(char *at, const char *name)
{
	for (; *name; name++)
		*at++ = *name < ' ' || *name > '~' || *name == '"' || *name == '\\' ? '_' : *name;
	return at;
}

/*
 * As sprintf(), without a 0 at the end: %s is a text, %n a name, %d an int64_t and %t a time, which
 * is a uint64_t in ns.
 */
static char *put(char *at, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	for (;; format += 2) {
		size_t length = strcspn(format, "%");

		memcpy(at, format, length);
		at += length;
		format += length;
		if (!*format)
			break;
		REEL_ASSERT(strchr("sndt", format[1]));
		at = format[1] == 's'   ? add(at, va_arg(values, const char *))
		     : format[1] == 'n' ? add_name(at, va_arg(values, const char *))
		     : format[1] == 'd' ? add_number(at, va_arg(values, int64_t))
					: add_time(at, va_arg(values, uint64_t));
	}
	va_end(values);
	return at;
}

/* ---- Threads ---- */

/* The number of this process. */
static int64_t process;
/* The number of this thread; 0: not asked yet. */
static _Thread_local int64_t number;

static int64_t thread_number(void)
{
#ifdef __linux__
	if (!number)
		number = syscall(SYS_gettid);
#else
	static _Atomic int64_t threads;

	/* Relaxed is enough: a number that orders nothing. */
	if (!number)
		number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
#endif
	return number;
}

static void get_thread_name(char *name, size_t bytes)
{
	snprintf(name, bytes, "thread");
#if HAVE_PTHREAD_GETNAME_NP
	pthread_getname_np(pthread_self(), name, bytes);
#endif
}

static char *begin_event(char *at, const char *name, const char *phase, int64_t track)
{
	return put(at, "{\"name\":\"%s\",\"ph\":\"%s\",\"pid\":%d,\"tid\":%d", name, phase, process,
		   track);
}

static char *add_thread_name(char *at, int64_t track, const char *name)
{
	return put(begin_event(at, "thread_name", "M", track), ",\"args\":{\"name\":\"%n\"}},\n",
		   name);
}

/* The tracks that this thread has shown something on: a bit for each. */
static _Thread_local uint32_t tracks;

static char *name_track(char *at, int64_t track)
{
	char name[32];

	REEL_ASSERT(track >= 0 && track < MAX_TRACKS);
	*put(name, "transfer %d", track) = '\0';
	return add_thread_name(at, FIRST_TRACK + TRACKS * thread_number() + track, name);
}

/* A reader of the file may not find the first block any more, so each block names its tracks. */
static size_t add_heading(char *text, uint64_t dropped)
{
	char name[32], *at = text;

	get_thread_name(name, sizeof name);
	at = add_thread_name(at, thread_number(),
			     thread_number() == process ? "main thread" : name);
	for (int64_t track = 0; track < MAX_TRACKS; track++)
		if (tracks >> track & 1)
			at = name_track(at, track);
	if (dropped)
		at = put(begin_event(at, "events dropped", "C", thread_number()),
			 ",\"ts\":%t,\"args\":{\"events\":%d}},\n", reel_clock_ns(),
			 (int64_t)dropped);
	return (size_t)(at - text);
}

/* ---- Lines ---- */

_Atomic bool reel_trace_is_on;

/* Returns whether there was a trace. */
static bool turn_off(void)
{
	/* Relaxed: threads that still see the flag write to the ring, which stays. */
	return atomic_exchange_explicit(&reel_trace_is_on, false, memory_order_relaxed);
}

static void stop(const char *why)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;

	if (turn_off())
		fprintf(stderr, "reel: the trace ends here: %s\n", why);
}

static void write_line(const char *line, const char *end, unsigned events)
{
	const char *why = reel_ring_write(line, (size_t)(end - line), events, add_heading);

	REEL_ASSERT(end > line && end - line <= REEL_TRACE_LINE);
	if (why)
		stop(why);
}

/* Names a track when it is used first. */
static int64_t track_of(const struct kind *kind, int64_t track)
{
	char line[REEL_TRACE_LINE];

	if (kind->shown != ON_TRACK)
		return thread_number();
	REEL_ASSERT(track >= 0 && track < MAX_TRACKS);
	if (!(tracks >> track & 1)) {
		tracks |= UINT32_C(1) << track;
		write_line(line, name_track(line, track), 0);
	}
	return FIRST_TRACK + TRACKS * thread_number() + track;
}

static char *add_arguments(char *at, const struct kind *kind, const int64_t *arguments)
{
	bool is_first = true;

	at = add(at, ",\"args\":{");
	for (unsigned i = 0; i < REEL_TRACE_ARGUMENTS; i++) {
		if (!kind->argument[i])
			continue;
		at = put(at, "%s\"%s\":%d", is_first ? "" : ",", kind->argument[i], arguments[i]);
		is_first = false;
	}
	return add(at, "}},\n");
}

/* A number that a tracer changes is in a section of its own, where tracers find it. */
#if HAVE_SYS_SDT_H
__attribute__((section(".probes")))
#else
#define STAP_PROBE6(provider, name, ...) ((void)0)
#endif
volatile unsigned short reel_event_semaphore;

void reel_trace_write(enum reel_trace_kind event, uint64_t since, uint64_t now,
		      const int64_t arguments[REEL_TRACE_ARGUMENTS])
{
	const struct kind *kind = &kinds[event];
	char line[REEL_TRACE_LINE], name[64], *at = add(name, kind->name);

	REEL_ASSERT(kind->name && since <= now);
	STAP_PROBE6(reel, event, kind->name, since ? now - since : 0, arguments[0], arguments[1],
		    arguments[2], arguments[3]);
	/* Acquire: as in reel_traces(), which may have seen a tracer and no trace. */
	if (!atomic_load_explicit(&reel_trace_is_on, memory_order_acquire))
		return;
	if (kind->shown == AS_COUNTER)
		at = add_number(at, arguments[0]);
	*at = '\0';
	at = begin_event(line, name, kind->shown == AS_COUNTER ? "C" : since ? "X" : "i",
			 track_of(kind, arguments[0]));
	at = put(at, ",\"cat\":\"%s\"%s,\"ts\":%t", kind->category,
		 since || kind->shown == AS_COUNTER ? "" : ",\"s\":\"t\"", since ? since : now);
	if (since)
		at = put(at, ",\"dur\":%t", now - since);
	at = add_arguments(at, kind, arguments);
	REEL_ASSERT(at < line + sizeof line);
	write_line(line, at, 1);
}

/* ---- Beginning and end ---- */

/* The beginning of the file, by which it is known to be a trace. */
#define MAGIC "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":"

/* The list of pools is locked while a thread uses this. */
static bool was_opened;

/* Reads the size of "FILE,SIZE". Returns the length of FILE. */
static size_t split_size(const char *text, size_t *bytes)
{
	const char *comma = strrchr(text, ',');

	*bytes = (size_t)64 << 20;
	return comma && !reel_parse_bytes(comma + 1, bytes) ? (size_t)(comma - text) : strlen(text);
}

/* When the clock of the events was 0, in nanoseconds since 1970. */
static int64_t clock_began(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * REEL_SECOND_NS + now.tv_nsec - (int64_t)reel_clock_ns();
}

static void make_header(char header[REEL_RING_HEADER])
{
	char name[32], *at;
	/* The name of the main thread, and a newline. Another thread may open the first pool. */
	FILE *file = fopen("/proc/self/comm", "re");

	get_thread_name(name, sizeof name);
	if (file) {
		size_t length = fread(name, 1, sizeof name, file);

		name[length ? length - 1 : 0] = '\0';
		fclose(file);
	}
	memset(header, ' ', REEL_RING_HEADER);
	/* Times are of a clock that each machine begins at another moment. */
	at = put(header, MAGIC "%d,\"args\":{\"name\":\"%n\",\"clock_began_ns\":%d}},", process,
		 name, clock_began());
	REEL_ASSERT(at < header + REEL_RING_HEADER);
	header[REEL_RING_HEADER - 1] = '\n';
}

/* Ends the last event, and the list. */
static void end_tail(char tail[REEL_RING_TAIL], char *at)
{
	at = add(at, "}}\n]");
	REEL_ASSERT(at < tail + REEL_RING_TAIL);
	memset(at, ' ', (size_t)(tail + REEL_RING_TAIL - 1 - at));
	tail[REEL_RING_TAIL - 1] = '\n';
}

void reel_trace_open(void)
{
	const char *text = reel_output_path("REEL_TRACE", &was_opened);
	/* The system refuses a name of 4096 characters, so a longer one may be cut. */
	char header[REEL_RING_HEADER], tail[REEL_RING_TAIL], path[4097];
	size_t bytes;
	int error;

	if (!text)
		return;
	process = getpid();
	make_header(header);
	/* Viewers show the label beside the name of the process. */
	end_tail(tail, add(begin_event(tail, "process_labels", "M", process),
			   ",\"args\":{\"labels\":\"running, or killed\""));
	snprintf(path, sizeof path, "%.*s", (int)split_size(text, &bytes), text);
	error = reel_ring_open(path, bytes, MAGIC, header, tail);
	if (error)
		reel_output_refuse("REEL_TRACE", text, error);
	else
		/* Release: pairs with the acquire in reel_traces(). Makes the ring visible. */
		atomic_store_explicit(&reel_trace_is_on, true, memory_order_release);
}

void reel_trace_leave(void)
{
	turn_off();
	reel_ring_leave();
	tracks = 0;
	number = 0;
	was_opened = false;
}

/*
 * Threads that still run drop their events from now on. A child that was made without the handlers
 * of fork() leaves the file to its parent.
 */
__attribute__((destructor)) static void end_trace(void)
{
	char tail[REEL_RING_TAIL], *at;
	uint64_t dropped;

	if (getpid() != process || !turn_off())
		return;
	dropped = reel_ring_end();
	at = put(begin_event(tail, "trace ends", "i", thread_number()),
		 ",\"s\":\"g\",\"ts\":%t,\"args\":{\"events_dropped\":%d", reel_clock_ns(),
		 (int64_t)dropped);
	end_tail(tail, at);
	reel_ring_finish(tail);
}
