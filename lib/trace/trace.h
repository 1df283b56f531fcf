/* SPDX-License-Identifier: MIT */
/*
 * REEL_TRACE=FILE: the library's events, in Chrome's trace format, which Perfetto and
 * chrome://tracing show. An event is one line of the file. The slow paths of the library have
 * events, at most some for each slab; no inline push or pop has one.
 *
 * Where the system has sys/sdt.h, each event is also a probe for tracers of the system:
 *
 *	reel:event   name of the event, nanoseconds that it took or 0, and its first four arguments
 *
 * The file is a ring of blocks, so that it is bounded and keeps the newest events. It has each
 * event as soon as that has happened, and is a list that JSON's readers take, also if the process
 * is killed.
 *
 *	trace.c   formats events, and has their names
 *	ring.c    blocks of the file: one thread at a time writes to a block
 *
 * Any thread, without a lock.
 */
#ifndef REEL_LIB_TRACE_H
#define REEL_LIB_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <reel/compiler.h>

#include "os/clock.h"

/*
 * The kinds of events: a name, a category, how trace.c shows the event, and the names of its
 * arguments.
 */
#define REEL_TRACE_EVENTS(X) \
	X(POOL_OPEN, "pool opened", "pool", ON_THREAD, \
	  "pool", "hard_budget", "soft_budget", "slab_bytes") \
	X(POOL_CLOSE, "pool closed", "pool", ON_THREAD, "pool") \
	X(MEMORY, "memory of pool ", "pool", AS_COUNTER, NULL, "resident", "in_use") \
	X(TAPE, "bytes of tape ", "tape", AS_COUNTER, NULL, "bytes") \
	X(PLACE, "bytes of place ", "tape", AS_COUNTER, NULL, "bytes") \
	X(REFUSE, "refused", "pool", ON_THREAD, "pool", "bytes", "error") \
	X(SOFT_BUDGET, "soft budget", "pool", ON_THREAD, "pool", "bytes") \
	X(SEAL, "seal", "spill", ON_THREAD, "pool", "tape", "slab", "bytes") \
	X(EVICT, "evict", "spill", ON_THREAD, "pool", "tape", "slab", "bytes") \
	X(PUT, "put", "store", ON_TRACK, NULL, "pool", "tape", "slab", "bytes", "stored_bytes") \
	X(GET, "get", "store", ON_TRACK, NULL, "pool", "tape", "slab", "bytes") \
	X(FAILED_PUT, "failed put", "store", ON_TRACK, \
	  NULL, "pool", "tape", "slab", "bytes", "error") \
	X(FAILED_GET, "failed get", "store", ON_TRACK, \
	  NULL, "pool", "tape", "slab", "bytes", "error") \
	X(WAIT_FOR_MEMORY, "wait for memory", "wait", ON_THREAD, "pool") \
	X(WAIT_FOR_SLAB, "wait for a slab", "wait", ON_THREAD, "pool") \
	X(WAIT_FOR_PUTS, "wait for puts", "wait", ON_THREAD, "pool") \
	X(PARCEL_OPEN, "parcel opened", "parcel", ON_THREAD, "pool", "bytes") \
	X(PARCEL_SEAL, "parcel sealed", "parcel", ON_THREAD, "pool", "bytes") \
	X(PARCEL_PIN, "parcel pinned", "parcel", ON_THREAD, "pool", "bytes") \
	X(PARCEL_CLOSE, "parcel closed", "parcel", ON_THREAD, "pool", "bytes") \
	X(ADVANCE, "advance", "run", ON_THREAD, "first", "last") \
	X(RECORD, "record", "run", ON_THREAD, "first", "last") \
	X(REVERSE, "reverse", "run", ON_THREAD, "first", "last") \
	X(STORE, "store", "run", ON_THREAD, "step", "slot", "tier") \
	X(LOAD, "load", "run", ON_THREAD, "step", "slot", "tier") \
	X(DROP, "drop", "run", ON_THREAD, "step", "slot", "tier") \
	X(LEARN, "learn", "run", ON_THREAD, \
	  "step", "state_bytes", "tape_bytes", "memory_bytes", "advance_ns", "record_ns") \
	X(FORGET, "forget", "run", ON_THREAD, "first", "last") \
	X(ROUND, "states rounded", "run", ON_THREAD, "bytes", "stored_bytes") \
	X(BOUND, "error bounded", "run", ON_THREAD, "parts_of_1e15", "gradients") \
	X(REGION, "region", "region", ON_THREAD, "lanes", "phases") \
	X(REGION_REVERSE, "region, reverse", "region", ON_THREAD, "lanes", "phases") \
	X(LANE, "lane", "region", ON_THREAD, "lane") \
	X(WAIT_FOR_THREADS, "wait for threads", "wait", ON_THREAD, NULL) \
	X(SEND, "send", "ranks", ON_THREAD, "rank", "tag", "elements") \
	X(RECEIVE, "receive", "ranks", ON_THREAD, "rank", "tag", "elements") \
	X(SEND_ADJOINT, "send, reverse", "ranks", ON_THREAD, "rank", "tag", "elements") \
	X(RECEIVE_ADJOINT, "receive, reverse", "ranks", ON_THREAD, "rank", "tag", "elements") \
	X(WAIT_FOR_RANK, "wait for a rank", "wait", ON_THREAD, "rank", "tag", "forward")

#define REEL_TRACE_KIND(kind, ...) REEL_TRACE_##kind,
enum reel_trace_kind { REEL_TRACE_EVENTS(REEL_TRACE_KIND) REEL_TRACE_KINDS };

#define REEL_TRACE_ARGUMENTS 6

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

extern _Atomic bool reel_trace_is_on;

/*
 * Not 0 while a tracer of the system (bpftrace, SystemTap, perf) looks at the probe `event` of this
 * process. It changes the number from outside.
 */
extern volatile unsigned short reel_event_semaphore;

static inline bool reel_traces(void)
{
	/* Acquire: pairs with the release in reel_trace_open(). Makes the ring visible. */
	return REEL_UNLIKELY(atomic_load_explicit(&reel_trace_is_on, memory_order_acquire) ||
			     reel_event_semaphore);
}

/* When something begins whose end is an event. 0: there is no trace. */
static inline uint64_t reel_trace_begin(void)
{
	return reel_traces() ? reel_clock_ns() : 0;
}

/*
 * Writes an event with the arguments that REEL_TRACE_EVENTS() names. It began at `since`, or is a
 * moment if that is 0, and ends `now`.
 */
void reel_trace_write(enum reel_trace_kind kind, uint64_t since, uint64_t now,
		      const int64_t arguments[REEL_TRACE_ARGUMENTS]);

/* For an event that ends at a time which is known. */
#define REEL_TRACE_UNTIL(now, kind, since, ...)                                                    \
	do {                                                                                       \
		if (reel_traces())                                                                 \
			reel_trace_write(kind, since, now,                                         \
					 (const int64_t[REEL_TRACE_ARGUMENTS]){__VA_ARGS__});      \
	} while (0)

#define REEL_TRACE(kind, since, ...)                                                               \
	REEL_TRACE_UNTIL(reel_clock_ns(), REEL_TRACE_##kind, since, __VA_ARGS__)

/* ---- Within libreel ------------------------------------------------------------- */

/*
 * Opens the file that REEL_TRACE names, in the first call. Requires the lock of the list of pools.
 */
void reel_trace_open(void);

/*
 * In the child of a fork, which has one thread: the file is its parent's. The next pool that the
 * child opens begins a trace of its own.
 */
void reel_trace_leave(void);

#endif
