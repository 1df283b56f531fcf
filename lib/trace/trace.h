/* SPDX-License-Identifier: MIT */
/*
 * REEL_TRACE=FILE: what the library does, as events in Chrome's trace format, which Perfetto and
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
 *	trace.c   formats events, and says what they are called
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

/* Kinds of events. The table in trace.c has the name and the arguments of each kind. */
enum reel_trace_kind {
	REEL_TRACE_POOL_OPEN,
	REEL_TRACE_POOL_CLOSE,
	REEL_TRACE_MEMORY,
	REEL_TRACE_TAPE,
	REEL_TRACE_PLACE,
	REEL_TRACE_REFUSE,
	REEL_TRACE_SOFT_BUDGET,
	REEL_TRACE_SEAL,
	REEL_TRACE_EVICT,
	REEL_TRACE_PUT,
	REEL_TRACE_GET,
	REEL_TRACE_FAILED_PUT,
	REEL_TRACE_FAILED_GET,
	REEL_TRACE_WAIT_FOR_MEMORY,
	REEL_TRACE_WAIT_FOR_SLAB,
	REEL_TRACE_WAIT_FOR_PUTS,
	REEL_TRACE_PARCEL_OPEN,
	REEL_TRACE_PARCEL_SEAL,
	REEL_TRACE_PARCEL_PIN,
	REEL_TRACE_PARCEL_CLOSE,
	REEL_TRACE_ADVANCE,
	REEL_TRACE_RECORD,
	REEL_TRACE_REVERSE,
	REEL_TRACE_PLANNED_ADVANCE,
	REEL_TRACE_PLANNED_RECORD,
	REEL_TRACE_PLANNED_REVERSE,
	REEL_TRACE_STORE,
	REEL_TRACE_LOAD,
	REEL_TRACE_DROP,
	REEL_TRACE_REGION,
	REEL_TRACE_REGION_REVERSE,
	REEL_TRACE_LANE,
	REEL_TRACE_WAIT_FOR_THREADS,
	REEL_TRACE_SEND,
	REEL_TRACE_RECEIVE,
	REEL_TRACE_SEND_ADJOINT,
	REEL_TRACE_RECEIVE_ADJOINT,
	REEL_TRACE_WAIT_FOR_RANK,
	REEL_TRACE_KINDS
};

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
 * Writes an event with the arguments that the table of trace.c names. It began at `since`, or is a
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
