/* SPDX-License-Identifier: MIT */
/* Tests that an observer gets the events of a program in order, with the address of the call. */
#include "config.h"

#include "helpers/support.h"

#include <errno.h>

#include <reel/observe.h>

#define MOST 64

static struct {
	int count;
	reel_event event[MOST];
} observed;

static void note_event(const reel_event *event)
{
	if (observed.count < MOST)
		observed.event[observed.count++] = *event;
}

static void hear_other(const reel_event *event)
{
	(void)event;
}

static reel_lane *root;

static void forward(void)
{
	reel_region *region = reel_region_begin(root, 1);
	reel_worker worker = reel_worker_begin(region, 0, 1);
	static reel_ordered order;

	reel_worker_next(&worker);
	reel_ordered_note(worker.lane, &order);
	reel_lane_phase(worker.lane);
	reel_worker_next_phase(&worker);
	reel_region_end(region);
	reel_task_begin(root, 7, &(reel_dependence){&order, REEL_TASK_IN}, 1);
	reel_task_wait(root);
	reel_task_wait_reverse(root);
	reel_task_end(reel_task_reverse(root));
	region = reel_region_reverse(root);
	worker = reel_worker_begin(region, 0, 1);
	reel_worker_barrier(&worker);
	reel_worker_next(&worker);
	reel_ordered_await(worker.lane, &order);
	reel_ordered_done(worker.lane, &order);
	reel_region_end(region);
}

static const enum reel_event_kind wanted[] = {
	REEL_EVENT_LANE_OPEN,
	REEL_EVENT_REGION_BEGIN,
	REEL_EVENT_WORKER_BEGIN,
	REEL_EVENT_NEXT,
	REEL_EVENT_ORDERED_NOTE,
	REEL_EVENT_LANE_PHASE,
	REEL_EVENT_NEXT_PHASE,
	REEL_EVENT_REGION_END,
	REEL_EVENT_TASK_BEGIN,
	REEL_EVENT_TASK_WAIT,
	REEL_EVENT_TASK_WAIT_REVERSE,
	REEL_EVENT_TASK_REVERSE,
	REEL_EVENT_TASK_END,
	REEL_EVENT_REGION_REVERSE,
	REEL_EVENT_WORKER_BEGIN,
	REEL_EVENT_BARRIER,
	REEL_EVENT_NEXT,
	REEL_EVENT_ORDERED_AWAIT,
	REEL_EVENT_REGION_END,
	REEL_EVENT_LANE_CLOSE,
};

static bool is_complete(const reel_event *event)
{
	switch (event->kind) {
	case REEL_EVENT_LANE_OPEN:
	case REEL_EVENT_LANE_CLOSE:
	case REEL_EVENT_TASK_WAIT:
	case REEL_EVENT_TASK_WAIT_REVERSE:
		return event->lane == root;
	case REEL_EVENT_REGION_BEGIN:
	case REEL_EVENT_REGION_REVERSE:
	case REEL_EVENT_REGION_END:
		return event->region && event->lane == root;
	case REEL_EVENT_WORKER_BEGIN:
		return event->region && event->thread == 0 && event->threads == 1;
	case REEL_EVENT_NEXT:
		return event->region && event->lane && event->lane != root;
	case REEL_EVENT_NEXT_PHASE:
	case REEL_EVENT_BARRIER:
		return event->region;
	case REEL_EVENT_LANE_PHASE:
	case REEL_EVENT_ORDERED_NOTE:
	case REEL_EVENT_ORDERED_AWAIT:
		return event->lane && event->lane != root;
	case REEL_EVENT_TASK_BEGIN:
		return event->lane == root && event->task && event->dependences &&
		       event->count == 1;
	case REEL_EVENT_TASK_REVERSE:
		return event->lane == root && event->task;
	case REEL_EVENT_TASK_END:
		return event->task;
	}
	return false;
}

static void test_events(void)
{
	int wrong = 0, incomplete = 0, homeless = 0;

	tap_case("events");
	is_int(reel_observe(note_event, sizeof(reel_event)), 0, "an observer");
	reel_lane_open(&root, NULL, 0);
	forward();
	is_int(reel_lane_error(root), 0, "a program without a mistake");
	reel_lane_close(root);
	is_int(observed.count, COUNT(wanted), "all of it is told");
	for (int i = 0; i < observed.count && i < (int)COUNT(wanted); i++) {
		wrong += observed.event[i].kind != wanted[i];
		incomplete += !is_complete(&observed.event[i]);
		homeless += !observed.event[i].caller;
	}
	is_int(wrong, 0, "all events come in order");
	is_int(incomplete, 0, "each event has what it is about");
#if defined(__GNUC__)
	is_int(homeless, 0, "each event says where it comes from");
#endif
}

static void test_registration(void)
{
	tap_case("who is told");
	is_int(reel_observe(hear_other, sizeof(reel_event)), -EBUSY,
	       "a second observer is refused");
	is_int(reel_observe(note_event, sizeof(reel_event)), 0, "the observer may come again");
	is_int(reel_observe(NULL, sizeof(reel_event)), 0, "the observer may leave");
	observed.count = 0;
	reel_lane_open(&root, NULL, 0);
	reel_lane_close(root);
	is_int(observed.count, 0, "an observer that has left gets no event");
	is_int(reel_observe(hear_other, sizeof(reel_event)), 0, "another one may come");
	is_int(reel_observe(NULL, sizeof(reel_event) - 8), -EINVAL,
	       "one that knows other events is refused");
	reel_observe(NULL, sizeof(reel_event));
}

int main(void)
{
	tap_begin();
	test_events();
	test_registration();
	return tap_end();
}
