/* SPDX-License-Identifier: MIT */
/*
 * Rules of tasks: their waits, their dependences and the lanes that they use. Each function handles
 * an event and runs on the thread that caused it. reel_task_begin() comes before OpenMP makes the
 * task, so a task keeps a list of promises, in order, for the tasks that it is going to make.
 */
#include "verifier.h"

#include <stdlib.h>
#include <string.h>

#include "os/assert.h"

/* ---- Tasks of reel_task_begin(), and tasks that OpenMP makes ---- */

static void add_promise(struct task *task, const reel_event *event)
{
	size_t bytes = (size_t)event->count * sizeof *event->dependences;
	struct promise *promise = malloc(sizeof *promise + bytes);

	if (!promise)
		return;
	promise->next = NULL;
	promise->count = event->count;
	if (bytes)
		memcpy(promise->dependence, event->dependences, bytes);
	REEL_ASSERT(!task->first || !task->last->next);
	if (task->first)
		task->last->next = promise;
	else
		task->first = promise;
	task->last = promise;
}

static struct promise *take_promise(struct task *task)
{
	struct promise *promise = task->first;

	if (promise)
		task->first = promise->next;
	return promise;
}

void drop_promises(struct task *task)
{
	struct promise *promise;

	while ((promise = take_promise(task)))
		free(promise);
}

void check_wait(struct lane *lane)
{
	if (lane->waited_at)
		report(ERROR, lane->waited_at,
		       "a taskwait without reel_task_wait(): the reverse sweep does not wait "
		       "there; call it after each taskwait or taskgroup");
	lane->waited_at = NULL;
}

static struct lane *parent_lane(struct task *task, const reel_event *event)
{
	struct lane *parent = make_lane(event->lane);

	task_uses(task, event->lane, event->caller);
	if (!parent)
		return NULL;
	/* Relaxed: read after the parallel region, whose end orders it after this. */
	atomic_store_explicit(&parent->makes_tasks, true, memory_order_relaxed);
	return parent;
}

void task_begins(struct task *task, const reel_event *event)
{
	struct lane *parent = parent_lane(task, event);

	forget_lane(event->task);
	if (!parent)
		return;
	check_wait(parent);
	parent->begun++;
	task->made_in = event->lane;
	task->calls++;
	add_promise(task, event);
}

/* The program waits with OpenMP first, and tells Reel afterwards. */
static void check_running(const struct task *task, const struct lane *parent,
			  const reel_event *event)
{
	if (task->running && (parent->begun || event->kind == REEL_EVENT_TASK_WAIT_REVERSE))
		report(ERROR, event->caller,
		       "%s while tasks may still run: a taskwait, a taskgroup or a barrier comes "
		       "first",
		       event->kind == REEL_EVENT_TASK_WAIT ? "reel_task_wait()"
							   : "reel_task_wait_reverse()");
}

void task_waits(struct task *task, const reel_event *event)
{
	struct lane *parent = parent_lane(task, event);

	if (!parent)
		return;
	check_running(task, parent, event);
	if (event->kind == REEL_EVENT_TASK_WAIT)
		task->calls += parent->begun > 0;
	else
		check_wait(parent);
	parent->begun = 0;
	parent->waited_at = NULL;
	drop_promises(task);
}

void task_is_reversed(struct task *task, const reel_event *event)
{
	struct lane *parent = parent_lane(task, event);

	if (!parent)
		return;
	check_wait(parent);
	parent->begun = 0;
	task->made_in = NULL;
	add_promise(task, event);
}

struct task *task_is_made(struct task *maker, bool undeferred, const void *at)
{
	struct task *task = new_task(EXPLICIT, at);

	if (!task)
		return NULL;
	count(TASKS);
	task->undeferred = undeferred;
	task->mine = maker ? take_promise(maker) : NULL;
	if (task->mine)
		maker->running = true;
	else if (maker && !undeferred && (recording_lane(maker) || maker->made_in || maker->used))
		report(WARNING, at,
		       "a task without reel_task_begin() or reel_task_reverse(): it has no lane, "
		       "and must record nothing");
	return task;
}

void tasks_have_ended(struct task *task, const void *at)
{
	struct lane *parent = task->made_in ? find_lane(task->made_in) : NULL;

	task->running = false;
	if (parent && parent->begun)
		parent->waited_at = at;
}

/* ---- Dependences ---- */

static const reel_dependence *told(const struct promise *promise, const void *address)
{
	for (int64_t i = 0; i < promise->count; i++)
		if (promise->dependence[i].address == address)
			return &promise->dependence[i];
	return NULL;
}

static bool writes(ompt_dependence_type_t type)
{
	return type == ompt_dependence_type_out || type == ompt_dependence_type_inout;
}

/* If reel_task_begin() was given no dependences, the program orders the reverse sweep itself. */
void task_depends(struct task *task, const ompt_dependence_t *dependence, int count)
{
	const struct promise *promise = task->mine;

	for (int i = 0; promise && promise->count && i < count; i++) {
		const void *address = dependence[i].variable.ptr;
		const reel_dependence *same = told(promise, address);

		if (!same)
			report(WARNING, task->at,
			       "a depend clause names an address (%p) that reel_task_begin() was "
			       "not given: the reverse sweep does not wait for it", address);
		else if (writes(dependence[i].dependence_type) && same->kind != REEL_TASK_OUT)
			report(WARNING, task->at,
			       "by a depend clause a task writes to an address (%p) that "
			       "reel_task_begin() was given as read", address);
	}
}

/* ---- Lanes of threads and of tasks ---- */

/* Reports an explicit task that recorded on the lane of the thread's implicit task. */
void task_switch(struct task *prior, struct task *next)
{
	struct task *implicit = thread_task();
	reel_lane *lane = implicit ? recording_lane(implicit) : NULL;

	if (!lane)
		return;
	if (prior && !prior->implicit && !prior->undeferred && implicit->thread_lane == lane &&
	    height_of(implicit, lane) != implicit->thread_height)
		report(ERROR, prior->at,
		       "a task recorded on the lane of the thread that runs it: give it one of its "
		       "own by reel_task_begin()");
	implicit->thread_lane = next && !next->implicit ? lane : NULL;
	implicit->thread_height = height_of(implicit, lane);
}

void task_uses(struct task *task, reel_lane *lane, const void *at)
{
	const struct lane *known = find_lane(lane);
	struct task *implicit = thread_task();

	/* Any task may use a root. */
	if (task->implicit || task->undeferred || task->has_bodies || part_with(task, lane) ||
	    (known && known->opened_by))
		return;
	if (implicit && part_with(implicit, lane))
		report(ERROR, at,
		       "a task uses the lane of the thread that runs it: another thread may run "
		       "it, or the rest of it; give it a lane of its own by reel_task_begin()");
	else if (task->used && task->used != lane)
		report(ERROR, at,
		       "a task goes on with another lane than it began with: take it from a "
		       "variable of the task, not of the thread, which may be another one after a "
		       "task scheduling point");
	else
		task->used = lane;
}
