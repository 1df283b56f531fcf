/* SPDX-License-Identifier: MIT */
/*
 * Regions and lanes in the trace: each thread shows the lanes that it has, one after the other. The
 * threads of a region run this. Waits between phases are traced where they are (worker.c).
 */
#include "config.h"

#include "observe.h"

#include "lane.h"
#include "os/clock.h"

static _Thread_local struct reel_lane_stay present;

void reel_region_trace_leave(void)
{
	if (present.has_lane)
		REEL_TRACE(LANE, present.since, present.lane);
	present.has_lane = false;
}

static void enter_lane(const reel_lane *lane)
{
	reel_region_trace_leave();
	if (lane)
		present = (struct reel_lane_stay){true, lane->index, reel_clock_ns()};
}

/* A lane may have a region of its own: the thread has the lane again after that. */
static void begin_region(reel_region *region)
{
	region->outer = present;
	present.has_lane = false;
	region->began = reel_clock_ns();
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

void reel_region_trace(const reel_event *event)
{
	switch (event->kind) {
	case REEL_EVENT_REGION_BEGIN:
	case REEL_EVENT_REGION_REVERSE:
		begin_region(event->region);
		break;
	case REEL_EVENT_REGION_END:
		end_region(event->region);
		break;
	case REEL_EVENT_NEXT:
		enter_lane(event->lane);
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
