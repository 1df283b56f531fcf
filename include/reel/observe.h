/* SPDX-License-Identifier: MIT */
/*
 * Events of a program that uses libreel-omp, for tools such as a verifier or a profiler.
 *
 * One observer gets events of regions, workers, phases, tasks and ordered sections, in the calling
 * thread, before or after the library has acted, as listed below; pushes, pops and loops have no
 * events. It may call functions that only read (reel_lane_index(), reel_tape_bytes(), ...) on a
 * lane that the calling thread has.
 *
 * omp/verifier/ is such an observer, which compares these events with events of OpenMP's runtime.
 */
#ifndef REEL_OBSERVE_H
#define REEL_OBSERVE_H

#include <reel/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function, and the members of the event that it sets besides `caller`. */
enum reel_event_kind {
	REEL_EVENT_LANE_OPEN = 1,  /* reel_lane_open(), after: lane */
	REEL_EVENT_LANE_CLOSE,     /* reel_lane_close() of a root, before: lane */
	REEL_EVENT_REGION_BEGIN,   /* reel_region_begin(), after: region, lane: its parent */
	REEL_EVENT_REGION_REVERSE, /* reel_region_reverse(), after: region, lane: its parent */
	REEL_EVENT_REGION_END,     /* reel_region_end(), before: region, lane: its parent */
	REEL_EVENT_WORKER_BEGIN,   /* reel_worker_begin(), after: region, thread, threads */
	REEL_EVENT_NEXT,           /* reel_worker_next(), after: region, lane: taken, or NULL */
	REEL_EVENT_NEXT_PHASE,     /* reel_worker_next_phase(), before: region */
	REEL_EVENT_LANE_PHASE,     /* reel_lane_phase(), before: lane */
	REEL_EVENT_TASK_BEGIN,     /* reel_task_begin(), after: lane: parent, task, dependences */
	REEL_EVENT_TASK_WAIT,      /* reel_task_wait(), before: lane: parent */
	REEL_EVENT_TASK_WAIT_REVERSE, /* reel_task_wait_reverse(), before: lane: parent */
	REEL_EVENT_TASK_REVERSE,      /* reel_task_reverse(), after: lane: parent, task */
	REEL_EVENT_TASK_END,          /* reel_task_end(), before: task */
	REEL_EVENT_ORDERED_NOTE,      /* reel_ordered_note(), before: lane */
	REEL_EVENT_ORDERED_AWAIT,     /* reel_ordered_await(), before: lane */
	REEL_EVENT_BARRIER            /* reel_worker_barrier(), before: region */
};

typedef struct reel_event {
	enum reel_event_kind kind;
	int32_t thread, threads;
	reel_region *region;
	reel_lane *lane;
	reel_lane *task;
	/* As the program gave them; valid during the call. */
	const reel_dependence *dependences;
	int64_t count;
	/* Where the program called, an address in its code; NULL: not known. */
	const void *caller;
} reel_event;

typedef void reel_observer(const reel_event *event);

/*
 * Send all events to `observer` from now on; NULL: send none. Many threads call it at a time, and
 * threads that are within a call when this function returns may still call it. `size` is
 * sizeof(reel_event). Any thread. Cost without an observer: a load and a branch in each of the
 * functions above.
 *
 * Returns 0, -EBUSY if there is another observer, or -EINVAL: the caller was compiled for another
 * layout of events.
 */
int reel_observe(reel_observer *observer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
