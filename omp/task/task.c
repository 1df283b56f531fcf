/* SPDX-License-Identifier: MIT */
/*
 * Tasks: lanes that a lane makes one by one. The thread that has the parent lane makes and reverses
 * tasks; reel_task_end() runs in the thread of the task. lane-tree.c keeps the list of them.
 */
#include "config.h"

#include "task.h"

#include <errno.h>
#include <stdlib.h>

#include "omp/lane/note.h"
#include "omp/lane/observe.h"

/* Numbers of notes: odd for a task, even for a wait. */
#define A_TASK 1
#define A_WAIT(waits) ((waits) << 1)

/* ---- Forward sweep ---- */

static struct reel_task *new_task(reel_lane *parent, int64_t label,
				  const reel_dependence *dependences, int count)
{
	size_t bytes = sizeof *dependences + sizeof(struct reel_adder);
	struct reel_task *task = malloc(sizeof *task + (size_t)count * bytes);

	if (!task)
		return NULL;
	task->lane = reel_lane_new(parent, NULL, 0);
	if (!task->lane) {
		free(task);
		return NULL;
	}
	task->label = label;
	task->born = parent->holds;
	task->dependences = count;
	if (count)
		memcpy(task->dependence, dependences, (size_t)count * sizeof *dependences);
	reel_adders_open(task);
	REEL_ASSERT(task->lane->holds == parent->holds);
	reel_task_set_left(task);
	task->lane->task = task;
	return task;
}

/*
 * The lane that refuses may have been in a region that is gone. If the parent is that lane, it is
 * in its region still.
 */
static reel_lane *refuse(const reel_lane *parent)
{
	reel_lane *lane = reel_lane_refuse_all();

	if (parent != lane)
		lane->in = NULL;
	return lane;
}

reel_lane *reel_task_begin(reel_lane *parent, int64_t label, const reel_dependence *dependences,
			   int count)
{
	struct reel_task *task;

	reel_lane_check_left(parent);
	reel_tasks_drop_ended(parent);
	reel_lane_set_reverses(parent, false);
	task = reel_lane_refuses(parent) ? NULL : new_task(parent, label, dependences, count);
	if (!task) {
		reel_lane_fail(parent, -ENOMEM, "no memory for the lane of a task");
		return refuse(parent);
	}
	task->below = parent->made;
	task->next = parent->unreversed_task;
	parent->made = parent->unreversed_task = task;
	parent->tasks_left++;
	reel_lane_note(parent, REEL_NOTE_TASK, A_TASK, (uint64_t)(uintptr_t)task);
	REEL_OBSERVE(REEL_EVENT_TASK_BEGIN, .lane = parent, .task = task->lane,
		     .dependences = dependences, .count = count);
	return task->lane;
}

int64_t reel_task_label(const reel_lane *task)
{
	return task->task ? task->task->label : 0;
}

void reel_task_wait(reel_lane *parent)
{
	REEL_OBSERVE(REEL_EVENT_TASK_WAIT, .lane = parent);
	REEL_ASSERT(parent->tasks_left >= 0);
	parent->waits++;
	parent->has_waited = true;
	if (parent->tasks_left)
		reel_lane_note(parent, REEL_NOTE_TASK, A_WAIT(parent->waits),
			       (uint64_t)parent->tasks_left);
	parent->tasks_left = 0;
}

/* ---- Reverse sweep ---- */

void reel_task_wait_reverse(reel_lane *parent)
{
	uint64_t tasks;

	REEL_OBSERVE(REEL_EVENT_TASK_WAIT_REVERSE, .lane = parent);
	reel_lane_check_left(parent);
	reel_lane_forget_failure(parent);
	reel_lane_set_reverses(parent, true);
	reel_tasks_check_ended(parent);
	/* A lane that has never waited may reverse a wait for nothing. */
	if (!parent->waits && parent->has_waited && parent->tape.flags & REEL_CHECKED)
		reel_lane_fail(parent, -EBADMSG,
			       "more waits for tasks are reversed than the lane has recorded: call "
			       "reel_task_wait() and reel_task_wait_reverse() equally often");
	if (parent->tasks_left)
		reel_lane_fail(parent, -EBADMSG,
			       "%lld tasks of a later wait have not been reversed",
			       (long long)parent->tasks_left);
	if (reel_lane_take(parent, REEL_NOTE_TASK, A_WAIT(parent->waits), &tasks))
		parent->tasks_left = (int64_t)tasks;
	/* Not below 0: a wait that is recorded later notes its number. */
	parent->waits -= parent->waits > 0;
	/* The notes of a lane with an error may be of another wait. */
	if (parent->tape.error)
		parent->tasks_left = 0;
	reel_adders_order(parent);
}

int64_t reel_tasks_left(const reel_lane *parent)
{
	reel_lane_set_reverses(parent, true);
	return parent->tasks_left;
}

struct reel_task *reel_task_take(reel_lane *parent)
{
	struct reel_task *task;
	uint64_t note;

	reel_tasks_drop_ended(parent);
	task = parent->unreversed_task;
	/* If something was left out, the interval of a loop may look like the note of a task. */
	if (!reel_lane_take(parent, REEL_NOTE_TASK, A_TASK, &note) ||
	    note != (uint64_t)(uintptr_t)task) {
		/* So that a program that reverses tasks while some are left comes to its end. */
		parent->tasks_left = 0;
		reel_lane_fail(parent, -EBADMSG,
			       "a task is reversed where none was begun: reverse tasks, loops and "
			       "regions in the opposite order, and waits with "
			       "reel_task_wait_reverse()");
		return NULL;
	}
	REEL_ASSERT(task->lane->parent == parent && task->lane->task == task);
	parent->tasks_left--;
	parent->unreversed_task = task->next;
	return task;
}

reel_lane *reel_task_reverse(reel_lane *parent)
{
	struct reel_task *task = reel_task_take(parent);

	if (!task)
		return refuse(parent);
	reel_tape_hand_over(&task->lane->tape);
	REEL_OBSERVE(REEL_EVENT_TASK_REVERSE, .lane = parent, .task = task->lane);
	return task->lane;
}

void reel_task_end(reel_lane *lane)
{
	struct reel_task *task = lane->task;

	if (!task)
		return;
	REEL_OBSERVE(REEL_EVENT_TASK_END, .task = lane);
	reel_lane_check_left(lane);
	reel_lane_check_loops(lane);
	if (!reel_lane_error(lane) && !reel_lane_is_empty(lane))
		reel_lane_fail(lane, -EBADMSG,
			       "the task (label %lld) ends with %llu bytes of values and %llu of "
			       "notes that were not reversed",
			       (long long)task->label, (unsigned long long)reel_lane_bytes(lane),
			       (unsigned long long)reel_lane_note_bytes(lane));
	/* Gives the memory of the tape back. */
	if (!lane->holds && !lane->tape.error) {
		reel_pool *pool = lane->tape.pool;
		unsigned flags = lane->tape.flags;

		reel_tape_close(&lane->tape);
		reel_tape_open(&lane->tape, pool, flags & REEL_CHECKED);
	}
	REEL_ASSERT(lane->task == task);
	reel_adders_end(task);
	reel_task_release(task);
}
