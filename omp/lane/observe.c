/* SPDX-License-Identifier: MIT */
/*
 * Tells the one observer and the trace of events. Any thread installs or removes the observer; each
 * public function of libreel-omp that has an event asks for both, with one load each.
 *
 * In the trace each thread shows the lanes that it has, one after the other. Waits between phases
 * are traced where they are (worker.c).
 */
#include "config.h"

#include "observe.h"

#include <errno.h>

#include "lane.h"
#include "os/clock.h"

/* ---- Regions and lanes in the trace ---- */

static _Thread_local struct reel_lane_stay present;

void reel_region_trace_leave(void)
{
	if (present.has_lane)
		REEL_TRACE(LANE, present.since, present.lane);
	present.has_lane = false;
}

static void end_region(reel_region *region)
{
	enum reel_trace_kind kind = region->state == REEL_REGION_REVERSE
					    ? REEL_TRACE_REGION_REVERSE
					    : REEL_TRACE_REGION;

	reel_region_trace_leave();
	REEL_TRACE_UNTIL(reel_clock_ns(), kind, region->began, reel_region_lanes(region),
			 reel_region_phases(region));
	if (region->began)
		present = region->outer;
	region->began = 0;
}

static void trace(const reel_event *event)
{
	switch (event->kind) {
	case REEL_EVENT_REGION_BEGIN:
	case REEL_EVENT_REGION_REVERSE:
		/* A lane may have a region of its own: the thread has the lane again after that. */
		event->region->outer = present;
		present.has_lane = false;
		event->region->began = reel_clock_ns();
		break;
	case REEL_EVENT_REGION_END:
		end_region(event->region);
		break;
	case REEL_EVENT_NEXT:
		reel_region_trace_leave();
		if (event->lane)
			present = (struct reel_lane_stay){true, event->lane->index,
							  reel_clock_ns()};
		break;
	case REEL_EVENT_WORKER_BEGIN:
		/* A thread may have left its last region by a jump. */
		present.has_lane = false;
		break;
	case REEL_EVENT_NEXT_PHASE:
	case REEL_EVENT_BARRIER:
		reel_region_trace_leave();
		break;
	default:
		break;
	}
}

/* ---- The observer ---- */

_Atomic(reel_observer *) reel_present_observer;

void reel_tell(const reel_event *event)
{
	/* Acquire: pairs with the release in reel_observe(). */
	reel_observer *observer =
		atomic_load_explicit(&reel_present_observer, memory_order_acquire);

	if (reel_traces())
		trace(event);
	if (observer)
		observer(event);
}

int reel_observe(reel_observer *observer, size_t size)
{
	reel_observer *none = NULL;

	if (size != sizeof(reel_event))
		return -EINVAL;
	/* Relaxed is enough: a thread that still sees the observer may call it. */
	if (!observer) {
		atomic_store_explicit(&reel_present_observer, NULL, memory_order_relaxed);
		return 0;
	}
	/*
	 * Release: pairs with the acquire in reel_tell(). The memory that the observer uses is
	 * visible.
	 */
	if (atomic_compare_exchange_strong_explicit(&reel_present_observer, &none, observer,
						    memory_order_release, memory_order_relaxed))
		return 0;
	return none == observer ? 0 : -EBUSY;
}
