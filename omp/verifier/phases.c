/* SPDX-License-Identifier: MIT */
/*
 * Rules of regions, workers, barriers and phases. Each function handles an event and runs on the
 * thread that caused it, with the structure of the task that this thread runs. Threads of a team
 * share only the atomic members of the region. A rule reports a finding and changes no results.
 */
#include "verifier.h"

#include <stdlib.h>

#include "os/counter.h"

/* ---- Regions ---- */

void region_begins(struct task *task, const reel_event *event)
{
	static _Atomic uint64_t visits;
	struct region *region = make_region(event->region);
	struct lane *parent = make_lane(event->lane);

	task_uses(task, event->lane, event->caller);
	if (!region || !parent)
		return;
	count(REGIONS);
	region->forward = event->kind == REEL_EVENT_REGION_BEGIN;
	region->begun_at = event->caller;
	/* All relaxed: the parallel region starts after this and orders it before its threads. */
	region->visit = 1 + atomic_fetch_add_explicit(&visits, 1, memory_order_relaxed);
	region->owner = task->id;
	atomic_store_explicit(&region->team, 0, memory_order_relaxed);
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&region->recorded[i], 0, memory_order_relaxed);
	atomic_store_explicit(&region->active, true, memory_order_relaxed);
	parent->region = region;
	if (!region->forward)
		check_wait(parent);
}

void region_ends(struct task *task, const reel_event *event)
{
	struct region *region = find_region(event->region);

	if (!region)
		return;
	/* Relaxed: the end of the parallel region orders this after its threads. */
	atomic_store_explicit(&region->active, false, memory_order_relaxed);
	present_part(task);
	task->calls += region->forward;
}

/* ---- Workers ---- */

/* No other thread of a team uses a region that a task of the team has begun itself. */
static bool is_own(const struct task *task, const struct region *region)
{
	return region->owner == task->id;
}

static void check_team(const struct task *task, struct region *region, const reel_event *event)
{
	uint64_t none = 0;

	if (event->thread != task->index || event->threads != task->threads)
		report(WARNING, event->caller,
		       "a worker for thread %d of %d, in thread %d of a team of %d: use "
		       "reel_worker_of()",
		       (int)event->thread, (int)event->threads, task->index, task->threads);
	/* Relaxed: the id orders no other memory. */
	if (!atomic_compare_exchange_strong_explicit(&region->team, &none, task->team,
						     memory_order_relaxed, memory_order_relaxed) &&
	    none != task->team)
		report(ERROR, event->caller,
		       "a second team comes to a region: its lanes have been given to the threads "
		       "of "
		       "another parallel region; end the region, and begin one for each of them");
}

void worker_begins(struct task *task, const reel_event *event)
{
	struct region *region = find_region(event->region);
	struct part *part;

	if (!region || !region->visit)
		return;
	if (!is_own(task, region) && thread_task())
		check_team(thread_task(), region, event);
	if (part_of(task, region)) {
		report(ERROR, event->caller,
		       "a thread is a second worker of a region: its lanes are given out by one");
		return;
	}
	part = calloc(1, sizeof *part);
	if (!part)
		return;
	*part = (struct part){.outer = task->parts, .region = region, .visit = region->visit,
			      .threads = event->threads};
	task->parts = part;
}

/* ---- Lanes that record on both sides of a barrier ---- */

/*
 * A word of `recorded` has the round above and UINT32_MAX less the barrier below. So the largest
 * word stands for the last round and its first barrier. A word of 0 is lower than all others.
 */
#define BARRIER_BITS 32

static uint64_t word_of(const struct part *part, uint64_t barrier)
{
	return (uint64_t)(part->round + 1) << BARRIER_BITS | (UINT32_MAX - (uint32_t)barrier);
}

static _Atomic uint64_t *recorded_in(const struct part *part)
{
	return &part->region->recorded[part->round % 2];
}

/* Notes that the worker's lane recorded before the barrier that the worker comes to next. */
static void note_recorded(const struct task *task, const struct part *part)
{
	/* Relaxed, as in recorded_before_barrier(): see struct region. */
	if (part->lane && height_of(task, part->lane) != part->begin)
		reel_counter_raise(recorded_in(part), word_of(part, part->barriers + 1));
}

static bool recorded_before_barrier(const struct part *part)
{
	return atomic_load_explicit(recorded_in(part), memory_order_relaxed) >=
	       word_of(part, part->barriers);
}

/* Reports a lane that recorded after a barrier without a phase, if one also recorded before it. */
static void check_barrier(const struct task *task, struct part *part)
{
	const struct region *region = part->region;

	if (!part->barrier_at || !part->lane || !region->forward || part->threads < 2 ||
	    height_of(task, part->lane) == part->barrier ||
	    !recorded_before_barrier(part))
		return;
	report(ERROR, part->barrier_at,
	       "a barrier without a phase: the records of lanes before and after it would be "
	       "reversed together; call reel_worker_phase(), or reel_lane_phase() after the "
	       "barrier");
	part->barrier_at = NULL;
}

static void check_lane_at_barrier(const struct part *part, const void *at)
{
	if (part->lane && part->threads < reel_lane_count(part->lane))
		report(ERROR, at,
		       "a barrier while threads have lanes, by %d threads for %d lanes: other "
		       "lanes have not come to it; give all lanes back first, as in while "
		       "(reel_worker_next(&worker)) { ... } reel_worker_phase(&worker)",
		       (int)part->threads, reel_lane_count(part->lane));
}

static bool is_shared(const struct task *task, const struct part *part)
{
	return part->threads > 1 && !is_own(task, part->region);
}

void barrier_begins(struct task *task, const void *at)
{
	struct part *first = present_part(task);

	for (struct part *part = first; part; part = part->outer) {
		check_barrier(task, part);
		note_recorded(task, part);
		/*
		 * The barrier at the end of a parallel region; some threads get no address for it.
		 */
		if (!at || at == task->at)
			continue;
		check_lane_at_barrier(part, at);
		part->asked = false;
		part->barriers++;
		part->barrier_at = at;
		part->barrier = part->lane ? height_of(task, part->lane) : 0;
	}
}

void barrier_ends(struct task *task)
{
	task->running = false;
}

/* ---- Lanes ---- */

static struct part *part_at(struct task *task, const reel_event *event)
{
	struct region *region = find_region(event->region);

	return region ? part_of(task, region) : NULL;
}

void worker_next(struct task *task, const reel_event *event)
{
	struct part *part = part_at(task, event);

	if (!part)
		return;
	check_barrier(task, part);
	note_recorded(task, part);
	if (part->phase_at && part->asked && is_shared(task, part))
		report(ERROR, part->phase_at,
		       "a phase without a barrier: lanes of the next phase are taken while others "
		       "may be in the last one; call reel_worker_phase()");
	if (!part->phase_at && part->exhausted && part->barrier_at && is_shared(task, part))
		report(ERROR, part->barrier_at,
		       "a barrier without a phase: all lanes of the phase have been taken, and "
		       "reel_worker_next() after the barrier gives none; call reel_worker_phase()");
	part->lane = event->lane;
	part->begin = event->lane ? height_of(task, event->lane) : 0;
	part->exhausted = !event->lane;
	part->asked = true;
	part->phase_at = part->barrier_at = NULL;
}

void worker_phase(struct task *task, const reel_event *event)
{
	struct part *part = part_at(task, event);

	if (!part)
		return;
	check_barrier(task, part);
	part->round++;
	part->lane = NULL;
	part->phase_at = event->caller;
	part->barrier_at = NULL;
}

void lane_phase(struct task *task, const reel_event *event)
{
	struct part *part = part_with(task, event->lane);

	task_uses(task, event->lane, event->caller);
	if (!part)
		return;
	check_barrier(task, part);
	if (!part->barrier_at && part->asked && is_shared(task, part))
		report(ERROR, event->caller,
		       "a phase without a barrier: call reel_lane_phase() after one");
	part->round++;
	part->begin = height_of(task, part->lane);
	part->asked = true;
	part->barrier_at = NULL;
}
