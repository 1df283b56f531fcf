/* SPDX-License-Identifier: MIT */
/*
 * These functions act on a lane and on all lanes in it, of its regions and of its tasks: they
 * count, hold, replay, release and close the whole tree. The thread that has the lane calls them,
 * while no lane in it runs; reel_task_release() runs in the thread of the task.
 *
 * The list of a parent has its tasks in the order in which they were made, the last one first. A
 * task is freed when it was reversed and no hold keeps it.
 */
#include "config.h"

#include "lane-task.h"

#include <errno.h>

#include "note.h"
#include "observe.h"
#include "ordered-count.h"
#include "os/error.h"
#include "tape/tape.h"

/* ---- Sizes and errors ---- */

bool reel_lane_is_empty(const reel_lane *lane)
{
	bool empty = reel_tape_is_empty(&lane->tape) && reel_tape_is_empty(&lane->notes);
	const reel_lane *child;

	for (int32_t i = 0; empty && (child = reel_lane_next(lane, &i));)
		empty = reel_lane_is_empty(child);
	return empty;
}

/* Bytes in all lanes of the lane and of its tasks. */
static uint64_t inner_bytes(const reel_lane *lane, uint64_t (*bytes_of)(const reel_lane *lane))
{
	const reel_lane *child;
	uint64_t bytes = 0;

	for (const struct reel_task *task = lane->made; task; task = task->below)
		bytes += bytes_of(task->lane);
	for (int32_t i = 0; (child = reel_lane_next(lane, &i));)
		bytes += bytes_of(child);
	return bytes;
}

uint64_t reel_lane_bytes(const reel_lane *lane)
{
	return reel_tape_bytes(&lane->tape) + inner_bytes(lane, reel_lane_bytes);
}

uint64_t reel_lane_note_bytes(const reel_lane *lane)
{
	return reel_tape_bytes(&lane->notes) + inner_bytes(lane, reel_lane_note_bytes);
}

int reel_lane_error(const reel_lane *lane)
{
	int error = reel_tape_error(&lane->tape);
	const reel_lane *child;

	error = error || !lane->calls_bodies ? error : -EINVAL;
	for (const struct reel_task *task = lane->made; task && !error; task = task->below)
		error = reel_lane_error(task->lane);
	for (int32_t i = 0; !error && (child = reel_lane_next(lane, &i));)
		error = reel_lane_error(child);
	return error;
}

void reel_lane_forget_failure(reel_lane *lane)
{
	/* Relaxed is enough for both: no thread waits yet. */
	if (lane == lane->root && atomic_load_explicit(&lane->failed, memory_order_relaxed) &&
	    !reel_lane_error(lane))
		atomic_store_explicit(&lane->failed, 0, memory_order_relaxed);
}

/* ---- Tasks ---- */

static bool has_ended(const struct reel_task *task)
{
	/*
	 * Acquire: pairs with the release in reel_task_release(). The results of the task are
	 * visible.
	 */
	return atomic_load_explicit(&task->left, memory_order_acquire) == 0;
}

static void free_task(reel_lane *parent, struct reel_task *task)
{
	int error = reel_lane_error(task->lane);

	if (error && !reel_lane_refuses(task->lane))
		reel_lane_fail(parent, error, "a task (label %lld) has failed",
			       (long long)task->label);
	/* Mutants survive (constant): ASan alone sees the loss. */
	for (int32_t i = 0; i < task->adders; i++)
		reel_adder_clear(&task->adder[i]);
	reel_lane_close(task->lane);
	free(task);
}

void reel_task_release(struct reel_task *task)
{
	/*
	 * Release: pairs with the acquire in has_ended(). All uses of the task come before its
	 * parent frees it.
	 */
	int32_t left = atomic_fetch_sub_explicit(&task->left, 1, memory_order_release);

	REEL_ASSERT(left > 0);
	(void)left;
}

void reel_tasks_drop_ended(reel_lane *parent)
{
	while (parent->made && !parent->holds && has_ended(parent->made)) {
		struct reel_task *task = parent->made;

		parent->made = task->below;
		free_task(parent, task);
	}
}

/* Drops the tasks that were made in at least `born` holds; with `ended`, those that have ended. */
static void drop_tasks(reel_lane *parent, int32_t born, bool ended)
{
	struct reel_task **at = &parent->made;

	REEL_ASSERT(born >= 0 && (!ended || !parent->holds));
	while (*at) {
		struct reel_task *task = *at;

		if (task->born < born || (ended && !has_ended(task))) {
			at = &task->below;
			continue;
		}
		*at = task->below;
		free_task(parent, task);
	}
}

bool reel_tasks_run(const reel_lane *parent)
{
	const struct reel_task *task = parent->made;

	while (task && task != parent->unreversed_task && has_ended(task))
		task = task->below;
	return task && task != parent->unreversed_task;
}

/* A task without reel_task_end() would never make the additions that it has kept. */
void reel_tasks_check_ended(reel_lane *parent)
{
	reel_tasks_drop_ended(parent);
	if (parent->made && !parent->holds && parent->made != parent->unreversed_task)
		reel_lane_fail(parent, -EINVAL,
			       "a task (label %lld) that was reversed has not ended: call "
			       "reel_task_end(), and wait for the task",
			       (long long)parent->made->label);
}

/* ---- End ---- */

static void end_hold(reel_lane *lane)
{
	struct reel_lane_hold *hold = lane->hold;

	REEL_ASSERT(hold && lane->holds > 0);
	reel_tape_release(&lane->tape);
	reel_tape_release(&lane->notes);
	lane->hold = hold->outer;
	lane->holds--;
	reel_ordered_drop(hold);
	free(hold);
}

/*
 * Looks for entries that a reverse sweep has left behind. A program may close a root that it has
 * recorded and not reversed; if it has begun to reverse, something was left out.
 */
static void check_closed(reel_lane *root)
{
	/* Relaxed is enough: see struct reel_lane. */
	bool reverses = atomic_load_explicit(&root->reverses, memory_order_relaxed);
	bool waits;

	if (!reverses || root->hold || reel_lane_error(root))
		return;
	reel_tasks_check_ended(root);
	reel_lane_check_loops(root);
	if (reel_lane_is_empty(root))
		return;
	waits = reel_note_kind(reel_lane_top(root)) == REEL_NOTE_TASK;
	reel_lane_fail(
		root, -EBADMSG,
		"the root is closed with %llu bytes of values and %llu of notes that a reverse "
		"sweep has left%s",
		(unsigned long long)reel_lane_bytes(root),
		(unsigned long long)reel_lane_note_bytes(root),
		waits ? ": tasks come next; begin their reversal by reel_task_wait_reverse()" : "");
}

void reel_lane_close(reel_lane *lane)
{
	reel_lane *child;

	if (!lane)
		return;
	if (!lane->parent) {
		REEL_OBSERVE(REEL_EVENT_LANE_CLOSE, .lane = lane);
		check_closed(lane);
	}
	drop_tasks(lane, 0, false);
	free(lane->bodies_memory);
	while (lane->hold)
		end_hold(lane);
	REEL_ASSERT(!lane->made && !lane->holds);
	for (int32_t i = 0; (child = reel_lane_next(lane, &i));)
		reel_lane_close(child);
	/* Relaxed is enough: no other thread uses the lane any more. */
	for (unsigned b = 0; b < REEL_LANE_BLOCKS; b++)
		free(atomic_load_explicit(&lane->block[b], memory_order_relaxed));
	/* A region that was left by a jump has not ended its measure. */
	if (lane->region)
		reel_team_size_end(&lane->region->measure, 0, 1);
	free(lane->region);
	reel_lane_drop_copies(lane);
	reel_tape_close(&lane->tape);
	reel_tape_close(&lane->notes);
	free(lane);
}

/* ---- Holds ---- */

/* Calls the function for the lanes in the lane, until one of them fails. */
static int each(const reel_lane *lane, int (*verb)(reel_lane *lane))
{
	reel_lane *child;
	int error = 0;

	for (const struct reel_task *task = lane->made; task && !error; task = task->below)
		error = verb(task->lane);
	for (int32_t i = 0; !error && (child = reel_lane_next(lane, &i));)
		error = verb(child);
	return error;
}

/* Returns whether the call is refused: within a region, or without the hold that it needs. */
static bool refuses(reel_lane *lane, const char *call, bool needs_hold)
{
	bool in_region = lane->region && lane->region->state != REEL_REGION_ENDED;

	if (in_region)
		reel_lane_fail(lane, -EINVAL, "%s within a region: end the region first", call);
	else if (needs_hold && !lane->hold)
		reel_lane_fail(lane, -EINVAL,
			       "%s without a hold: call reel_lane_hold() first", call);
	return in_region || (needs_hold && !lane->hold);
}

static int hold_tapes(reel_lane *lane)
{
	int error = reel_tape_hold(&lane->tape);

	if (!error && (error = reel_tape_hold(&lane->notes)))
		reel_tape_release(&lane->tape);
	return error;
}

/* A lane whose parent is held takes part in the parent's hold. Any other lane begins one. */
static struct reel_lane_hold *top_of(const reel_lane *lane, struct reel_lane_hold *hold)
{
	struct reel_lane_hold *outer = lane->parent ? lane->parent->hold : NULL;
	int32_t holds = lane->parent ? lane->parent->holds : 0;

	if (holds <= lane->holds)
		return hold;
	while (--holds > lane->holds)
		outer = outer->outer;
	REEL_ASSERT(outer && outer->top);
	return outer->top;
}

/*
 * Ends the newest hold of a lane and of the lanes in it that have begun it, as if it had not
 * begun: some of them had no memory for it. No lane has run since then.
 */
static void undo_hold(reel_lane *lane)
{
	int32_t holds = lane->holds;
	reel_lane *child;

	for (struct reel_task *task = lane->made; task; task = task->below)
		if (task->lane->holds == holds)
			undo_hold(task->lane);
	for (int32_t i = 0; (child = reel_lane_next(lane, &i));)
		if (child->holds == holds)
			undo_hold(child);
	end_hold(lane);
}

int reel_lane_hold(reel_lane *lane)
{
	static _Atomic uint64_t holds;
	struct reel_lane_hold *hold;
	int error;

	reel_lane_check_left(lane);
	if (refuses(lane, "hold", false))
		return -EINVAL;
	hold = malloc(sizeof *hold);
	error = hold ? hold_tapes(lane) : -ENOMEM;
	if (error) {
		free(hold);
		reel_lane_fail(lane, error, "hold refused: %s", reel_strerror(error));
		return error;
	}
	/* Relaxed is enough: a number that guards no memory. */
	*hold = (struct reel_lane_hold){
		.outer = lane->hold,
		.top = top_of(lane, hold),
		.number = 1 + atomic_fetch_add_explicit(&holds, 1, memory_order_relaxed),
		.phases = lane->phases,
		.loops = lane->loops,
		.loop = lane->loop,
		.waits = lane->waits,
		.tasks_left = lane->tasks_left,
		.unreversed_task = lane->unreversed_task};
	lane->hold = hold;
	lane->holds++;
	error = each(lane, reel_lane_hold);
	if (error)
		undo_hold(lane);
	return error;
}

int reel_lane_replay(reel_lane *lane)
{
	if (refuses(lane, "replay", true))
		return -EINVAL;
	REEL_ASSERT(lane->holds > 0 && lane->hold->number);
	reel_tape_replay(&lane->tape);
	reel_tape_replay(&lane->notes);
	lane->phases = lane->hold->phases;
	lane->loops = lane->hold->loops;
	lane->loop = lane->hold->loop;
	lane->waits = lane->hold->waits;
	lane->tasks_left = lane->hold->tasks_left;
	reel_ordered_replay(lane->hold);
	reel_lane_set_reverses(lane, false);
	drop_tasks(lane, lane->holds, false);
	lane->unreversed_task = lane->hold->unreversed_task;
	for (struct reel_task *task = lane->unreversed_task; task; task = task->next)
		reel_task_set_left(task);
	return each(lane, reel_lane_replay);
}

int reel_lane_release(reel_lane *lane)
{
	int error;

	if (refuses(lane, "release", true))
		return -EINVAL;
	reel_ordered_release(lane->hold);
	end_hold(lane);
	error = each(lane, reel_lane_release);
	for (struct reel_task *task = lane->made; task; task = task->below)
		if (task->born > lane->holds)
			task->born = lane->holds;
	if (!lane->holds)
		drop_tasks(lane, 0, true);
	return error;
}
