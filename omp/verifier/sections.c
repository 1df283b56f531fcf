/* SPDX-License-Identifier: MIT */
/*
 * Rules of critical sections, worksharing and lanes outside of a parallel region. Each function
 * handles an event and runs on the thread that caused it. `sections` counts all sections that a
 * task is in; only the first MAX_SECTIONS of them are checked.
 */
#include "verifier.h"

/* ---- Critical sections, locks, ordered ---- */

void section_begins(struct task *task, ompt_wait_id_t id, const void *at)
{
	reel_lane *lane = recording_lane(task);

	if (task->sections < MAX_SECTIONS)
		task->section[task->sections] = (struct section){
			.id = id, .at = at, .height = lane ? height_of(task, lane) : 0};
	task->sections++;
}

static void check_section(struct task *task, const struct section *section, ompt_mutex_t kind)
{
	const char *name = kind == ompt_mutex_critical  ? "critical section"
			   : kind == ompt_mutex_ordered ? "ordered section"
							: "section under a lock";
	reel_lane *lane = recording_lane(task);

	if (section->noted || !lane)
		return;
	if (height_of(task, lane) != section->height)
		report(WARNING, section->at,
		       "a %s in which a lane recorded, without reel_ordered_note(): unless its "
		       "adjoints commute, the reverse sweep has to come to it in the opposite "
		       "order", name);
	else
		report(NOTE, section->at,
		       "a %s without reel_ordered_note(): its adjoints have to commute", name);
}

/* Locks may be released in any order, so the sections above the one that ends move down. */
void section_ends(struct task *task, ompt_mutex_t kind, ompt_wait_id_t id)
{
	int held = task->sections < MAX_SECTIONS ? task->sections : MAX_SECTIONS;
	int i = held;

	while (i-- > 0 && task->section[i].id != id)
		;
	if (task->sections)
		task->sections--;
	if (i < 0)
		return;
	check_section(task, &task->section[i], kind);
	task->work_ordered |= kind == ompt_mutex_ordered && task->section[i].noted;
	for (; i + 1 < held; i++)
		task->section[i] = task->section[i + 1];
}

void order_noted(struct task *task, const reel_event *event)
{
	task_uses(task, event->lane, event->caller);
	task->calls++;
	if (!task->sections)
		report(WARNING, event->caller,
		       "reel_ordered_note() outside of a critical section, a lock or ordered: "
		       "nothing decides which lane is first");
	else if (task->sections <= MAX_SECTIONS)
		task->section[task->sections - 1].noted = true;
}

void order_awaited(struct task *task, const reel_event *event)
{
	task_uses(task, event->lane, event->caller);
	if (task->sections)
		report(ERROR, event->caller,
		       "reel_ordered_await() within a critical section, or with a lock: an "
		       "earlier turn may wait for it for ever; the reverse sweep needs no section");
}

/* ---- Worksharing ---- */

void work_begins(struct task *task, bool dynamic, const void *at)
{
	reel_lane *lane = recording_lane(task);

	task->work_at = lane ? at : NULL;
	task->work = lane ? height_of(task, lane) : 0;
	task->work_dynamic = dynamic;
	task->work_ordered = false;
}

static void check_loop(const struct task *task)
{
	if (task->work_dynamic && !task->work_ordered)
		report(ERROR, task->work_at,
		       "a lane recorded in a loop that OpenMP deals out as threads come: the "
		       "reverse sweep cannot know which lane had which iterations; use REEL_FOR");
	else
		report(WARNING, task->work_at,
		       "a lane recorded in a worksharing loop of OpenMP: its reverse needs the "
		       "same number of threads; use REEL_FOR");
}

void work_ends(struct task *task, ompt_work_t kind)
{
	reel_lane *lane = recording_lane(task);
	bool recorded = task->work_at && lane && height_of(task, lane) != task->work;

	if (recorded && kind == ompt_work_single_executor)
		report(ERROR, task->work_at,
		       "a lane recorded in a single construct: the reverse sweep cannot know which "
		       "one; use REEL_SINGLE()");
	else if (recorded && kind == ompt_work_sections)
		report(ERROR, task->work_at,
		       "a lane recorded in sections: the reverse sweep cannot know which one; use "
		       "REEL_FOR with a switch");
	else if (recorded)
		check_loop(task);
	task->work_at = NULL;
}

void reduction_begins(struct task *task, const void *at)
{
	if (recording_lane(task))
		report(NOTE, at,
		       "a reduction of OpenMP: a sum needs nothing, for others see reel_reduce()");
}

/* ---- Lanes outside of a parallel region ---- */

static reel_lane *lane_of(const struct lane *lane)
{
	return (reel_lane *)(uintptr_t)lane->node.key;
}

static void measure_root(struct task *task, struct lane *root)
{
	root->height = height_of(task, lane_of(root));
	/* Relaxed: the parallel region starts after this and orders it before its threads. */
	atomic_store_explicit(&root->makes_tasks, false, memory_order_relaxed);
}

/* A lane may record in the parallel region if one thread uses it as the parent of tasks. */
static void check_height(const struct task *task, const struct lane *known, uint64_t before,
			 uint64_t now)
{
	/* Relaxed: the end of the parallel region orders this after its threads. */
	if (now == before ||
	    (known && atomic_load_explicit(&known->makes_tasks, memory_order_relaxed)))
		return;
	if (known && known->region &&
	    atomic_load_explicit(&known->region->active, memory_order_relaxed))
		report(WARNING, task->parallel_at,
		       "a team recorded on the lane in which its region was begun: use the lanes "
		       "of the region");
	else
		report(ERROR, task->parallel_at,
		       "a team recorded on a lane without a region: call reel_region_begin() "
		       "before the parallel region, or reel_region_reverse(), and use the lanes of "
		       "its workers");
}

static void check_root(struct task *task, struct lane *root)
{
	check_height(task, root, root->height, height_of(task, lane_of(root)));
}

void parallel_begins(struct task *task, const void *at)
{
	count(TEAMS);
	task->parallel_at = at;
	each_root(task, measure_root);
	for (struct part *part = present_part(task); part; part = part->outer) {
		struct lane *known = part->lane ? find_lane(part->lane) : NULL;

		part->parallel = part->lane ? height_of(task, part->lane) : 0;
		/* Relaxed: as in measure_root(). */
		if (known)
			atomic_store_explicit(&known->makes_tasks, false, memory_order_relaxed);
	}
}

void parallel_ends(struct task *task)
{
	each_root(task, check_root);
	for (struct part *part = present_part(task); part; part = part->outer)
		if (part->lane)
			check_height(task, find_lane(part->lane), part->parallel,
				     height_of(task, part->lane));
}
