/* SPDX-License-Identifier: MIT */
/*
 * Regions and trees of tasks by plain threads, whose waits sanitizers can see. A region is
 * described by numbers alone, which the reverse sweep draws again.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include <reel/task.h>

#include "stress.h"
#include "helpers/support.h"
#include "helpers/thread-team.h"

#define MAX_REGIONS 5
#define MAX_LOOPS 3
#define MAX_PHASES 3
#define MAX_ITERATIONS 80
#define MAX_TASKS 40

static void watched(int member)
{
	stress_watch(&stress_workers[member + 1]);
}

static void unwatched(int member)
{
	stress_unwatch(&stress_workers[member + 1]);
}

/* ---- The plan of a region ---- */

struct plan {
	int lanes;
	int threads, threads_back;
	int phases;
	int loops;
	bool nested, single, ordered;
	struct {
		reel_chunking chunking;
		int low, high;
	} loop[MAX_LOOPS];
};

struct regions {
	struct stress_stage stage;
	struct stress_random random;
	reel_lane *root;
	struct plan plan[MAX_REGIONS];
	/* Of the region that runs now. */
	unsigned which;
	reel_region *region;
	bool reverse;
	reel_ordered order;
	_Atomic int ran[MAX_PHASES][MAX_LOOPS][MAX_ITERATIONS];
};

static reel_chunking draw_dealing(struct stress_random *random)
{
	int64_t chunk = stress_below(random, 12);

	switch (stress_below(random, 4)) {
	case 0:
		return reel_static(chunk);
	case 1:
		return reel_dynamic(chunk);
	case 2:
		return reel_guided(chunk);
	default:
		return (reel_chunking){REEL_STATIC_LOOP, 1, chunk};
	}
}

static struct plan draw_plan(struct stress_random *random, unsigned threads, bool ordered)
{
	struct plan plan = {
		.lanes = (int)stress_below(random, 7),
		.threads = 1 + (int)stress_below(random, threads),
		.threads_back = 1 + (int)stress_below(random, threads),
		.phases = 1 + (int)stress_below(random, MAX_PHASES),
		.loops = (int)stress_below(random, MAX_LOOPS + 1),
		.nested = stress_one_in(random, 3),
		.single = stress_one_in(random, 3),
		.ordered = ordered && stress_one_in(random, 4),
	};

	if (plan.ordered)
		plan.lanes = 0;
	for (int l = 0; l < plan.loops; l++) {
		plan.loop[l].chunking = draw_dealing(random);
		plan.loop[l].low = (int)stress_below(random, 100) - 50;
		plan.loop[l].high = plan.loop[l].low + (int)stress_below(random, MAX_ITERATIONS);
	}
	return plan;
}

/* ---- Values ---- */

static uint64_t value_of(const struct regions *regions, int phase, int loop, int i)
{
	return scramble(regions->stage.draw->seed << 40 ^ (uint64_t)regions->which << 32 ^
			(uint64_t)phase << 28 ^ (uint64_t)loop << 24 ^ (uint64_t)(unsigned)i) >> 1;
}

/* A lane that has an error gives all ones, as told. */
static void use_value(const struct regions *regions, reel_tape *tape, uint64_t value)
{
	if (!regions->reverse)
		reel_push(tape, value);
	else if (reel_pop(tape, uint64_t) != value && !reel_tape_error(tape))
		stress_fail("region %u: a value of a lane is wrong", regions->which);
}

/* One lane alone: in it, a region of two. */
static void run_nested(struct regions *regions, reel_lane *lane, uint64_t value)
{
	reel_region *inner = regions->reverse ? reel_region_reverse(lane)
					      : reel_region_begin(lane, 2);
	reel_worker worker = reel_worker_begin(inner, 0, 1);

	while (reel_worker_next(&worker))
		use_value(regions, reel_lane_tape(worker.lane),
			  value ^ (uint64_t)reel_lane_index(worker.lane));
	reel_region_end(inner);
}

static void run_iteration(struct regions *regions, reel_lane *lane, int phase, int loop, int i)
{
	const struct plan *plan = &regions->plan[regions->which];
	uint64_t value = value_of(regions, phase, loop, i);
	bool nested = plan->nested && value % 8 == 0;

	if (nested && regions->reverse)
		run_nested(regions, lane, value);
	for (unsigned k = 0; k < 1 + value % 5; k++)
		use_value(regions, reel_lane_tape(lane), value);
	if (nested && !regions->reverse)
		run_nested(regions, lane, value);
	regions->ran[phase][loop][i - plan->loop[loop].low] += regions->reverse ? -1 : 1;
}

/* ---- A lane's part of a phase ---- */

static void record_part(struct regions *regions, reel_lane *lane, int phase,
			const struct member *member)
{
	const struct plan *plan = &regions->plan[regions->which];

	for (int l = 0; l < plan->loops; l++)
		REEL_FOR(lane, int, i, plan->loop[l].low, plan->loop[l].high,
			 plan->loop[l].chunking)
			run_iteration(regions, lane, phase, l, i);
	if (plan->single)
		REEL_SINGLE(lane)
			use_value(regions, reel_lane_tape(lane), (uint64_t)phase);
	if (plan->ordered) {
		team_lock(member);
		reel_ordered_note(lane, &regions->order);
		team_unlock(member);
	}
}

static void reverse_part(struct regions *regions, reel_lane *lane, int phase)
{
	const struct plan *plan = &regions->plan[regions->which];

	if (plan->ordered) {
		reel_ordered_await(lane, &regions->order);
		reel_ordered_done(lane, &regions->order);
	}
	if (plan->single)
		REEL_SINGLE_REVERSE(lane)
			use_value(regions, reel_lane_tape(lane), (uint64_t)phase);
	for (int l = plan->loops; l-- > 0;)
		REEL_FOR_REVERSE(lane, int, i, plan->loop[l].low, plan->loop[l].high,
				 plan->loop[l].chunking)
			run_iteration(regions, lane, phase, l, i);
}

static void run_phase(struct regions *regions, reel_worker *worker, int phase,
		      const struct member *member)
{
	struct stress_worker *self = &stress_workers[member->number + 1];

	while (reel_worker_next(worker)) {
		stress_at(self, regions->reverse ? "reverses a lane" : "records a lane",
			  (uint64_t)reel_lane_index(worker->lane));
		if (regions->reverse)
			reverse_part(regions, worker->lane, phase);
		else
			record_part(regions, worker->lane, phase, member);
	}
	stress_at(self, "waits for its team", (uint64_t)phase);
}

static void run_region_of(const struct member *member)
{
	struct regions *regions = member->team->context;
	int phases = regions->plan[regions->which].phases;
	reel_worker worker =
		reel_worker_begin(regions->region, member->number, member->team->threads);

	watched(member->number);
	for (int p = 0; p < phases; p++) {
		run_phase(regions, &worker, regions->reverse ? phases - 1 - p : p, member);
		if (p == phases - 1)
			break;
		team_barrier(member);
		reel_worker_next_phase(&worker);
	}
	unwatched(member->number);
}

/* ---- Regions, one after the other ---- */

static void check_runs(const struct regions *regions, int times)
{
	const struct plan *plan = &regions->plan[regions->which];

	for (int p = 0; p < plan->phases; p++)
		for (int l = 0; l < plan->loops; l++)
			for (int i = 0; i < plan->loop[l].high - plan->loop[l].low; i++)
				if (regions->ran[p][l][i] != times)
					stress_fail("region %u: iteration %d of loop %d in phase "
						    "%d ran %d times too often", regions->which, i,
						    l, p, regions->ran[p][l][i] - times);
}

static bool may_be_refused(const struct stress_stage *stage, int error)
{
	return (error == -EDQUOT && stage->draw->pool.hard_budget) ||
	       (stage->store.refuses &&
		(error == -EIO || error == -ENOSPC || error == -ENODEV));
}

static int record_region(struct regions *regions)
{
	const struct plan *plan = &regions->plan[regions->which];
	int error;

	memset(regions->ran, 0, sizeof regions->ran);
	regions->reverse = false;
	use_value(regions, reel_lane_tape(regions->root), regions->which);
	regions->region = reel_region_begin(regions->root, plan->lanes);
	run_team(plan->threads, run_region_of, regions);
	error = reel_region_end(regions->region);
	if (!error)
		check_runs(regions, 1);
	return error;
}

static int reverse_region(struct regions *regions)
{
	const struct plan *plan = &regions->plan[regions->which];
	int threads, error;

	memset(regions->ran, 0, sizeof regions->ran);
	regions->reverse = true;
	regions->region = reel_region_reverse(regions->root);
	threads = reel_region_threads(regions->region, plan->threads_back);
	run_team(threads, run_region_of, regions);
	error = reel_region_end(regions->region);
	if (!error) {
		check_runs(regions, -1);
		use_value(regions, reel_lane_tape(regions->root), regions->which);
	}
	return error ? error : reel_lane_error(regions->root);
}

static bool reverse_all(struct regions *regions)
{
	for (regions->which = MAX_REGIONS; regions->which-- > 0;) {
		int error = reverse_region(regions);

		if (!error)
			continue;
		if (!regions->stage.store.loses)
			stress_fail("region %u cannot be reversed: error %d", regions->which,
				    error);
		stress_lost++;
		regions->stage.lost++;
		return false;
	}
	if (!reel_lane_is_empty(regions->root))
		stress_fail("regions have left something behind");
	return true;
}

static bool record_all(struct regions *regions)
{
	for (regions->which = 0; regions->which < MAX_REGIONS; regions->which++) {
		int error = record_region(regions);

		if (!error)
			error = reel_lane_error(regions->root);
		if (!error)
			continue;
		if (!may_be_refused(&regions->stage, error))
			stress_fail("region %u cannot be recorded: error %d", regions->which,
				    error);
		stress_refused++;
		return false;
	}
	return true;
}

/* Some are reversed twice. */
static void record_and_reverse(struct regions *regions)
{
	bool held = stress_one_in(&regions->random, 4);

	for (unsigned i = 0; i < MAX_REGIONS; i++)
		regions->plan[i] = draw_plan(&regions->random, regions->stage.draw->threads, !held);
	if (!record_all(regions))
		return;
	if (held && (reel_lane_hold(regions->root) || !reverse_all(regions) ||
		     reel_lane_replay(regions->root)))
		return;
	if (reverse_all(regions) && held && reel_lane_release(regions->root))
		stress_fail("a hold of a lane cannot be ended");
}

static reel_lane *open_root(struct stress_stage *stage)
{
	reel_lane *root;

	if (reel_lane_open(&root, stage->pool, stage->draw->flags))
		stress_fail("a lane does not open");
	return root;
}

void stress_regions(struct stress_draw *draw)
{
	static struct regions regions;
	unsigned rounds = 1 + stress_options.operations / 200;

	stress_stage_open(&regions.stage, draw);
	regions.random.next = draw->seed << 24;
	for (unsigned i = 0; i < rounds; i++) {
		memset(&regions.order, 0, sizeof regions.order);
		regions.root = open_root(&regions.stage);
		record_and_reverse(&regions);
		reel_lane_close(regions.root);
	}
	stress_stage_close(&regions.stage);
}

/* ---- Tasks ---- */

struct tasks {
	struct stress_stage stage;
	struct stress_random random;
	reel_lane *root;
	int count;
	reel_lane *task[MAX_TASKS];
	_Atomic int next;
	bool reverse;
};

static uint64_t value_of_task(const struct tasks *tasks, int64_t label, unsigned k)
{
	return scramble(tasks->stage.draw->seed << 32 ^ (uint64_t)label << 12 ^ k) >> 1;
}

static unsigned values_of_task(const struct tasks *tasks, int64_t label)
{
	uint64_t number = value_of_task(tasks, label, 4095);

	return number % 4 ? (unsigned)(number >> 8) % 8 : (unsigned)(number >> 8) % 400;
}

static int children_of_task(const struct tasks *tasks, int64_t label, int depth)
{
	return depth ? (int)(value_of_task(tasks, label, 4094) % 4) : 0;
}

static void record_task(struct tasks *tasks, reel_lane *lane, int64_t label, int depth)
{
	int children = children_of_task(tasks, label, depth);

	for (unsigned k = 0; k < values_of_task(tasks, label); k++)
		reel_push(reel_lane_tape(lane), value_of_task(tasks, label, k));
	for (int i = 0; i < children; i++) {
		int64_t child = 4 * label + i;

		record_task(tasks, reel_task_begin(lane, child, NULL, 0), child, depth - 1);
	}
	reel_task_wait(lane);
}

static void reverse_task(struct tasks *tasks, reel_lane *lane, int depth)
{
	int64_t label = reel_task_label(lane);
	int children = children_of_task(tasks, label, depth);

	if (children)
		reel_task_wait_reverse(lane);
	for (int i = children; i-- > 0;) {
		reel_lane *child = reel_task_reverse(lane);

		if (reel_lane_error(lane))
			return;
		if (reel_task_label(child) != 4 * label + i)
			stress_fail("task %lld comes instead of %lld",
				    (long long)reel_task_label(child), (long long)(4 * label + i));
		reverse_task(tasks, child, depth - 1);
		reel_task_end(child);
	}
	for (unsigned k = values_of_task(tasks, label); k-- > 0;)
		if (reel_pop(reel_lane_tape(lane), uint64_t) != value_of_task(tasks, label, k) &&
		    !reel_lane_error(lane))
			stress_fail("a value of task %lld is wrong", (long long)label);
}

#define DEPTH 3

static void run_tasks_of(const struct member *member)
{
	struct tasks *tasks = member->team->context;
	struct stress_worker *self = &stress_workers[member->number + 1];
	int i;

	watched(member->number);
	while ((i = tasks->next++) < tasks->count) {
		stress_at(self, tasks->reverse ? "reverses a task" : "records a task", (uint64_t)i);
		if (!tasks->reverse) {
			record_task(tasks, tasks->task[i], reel_task_label(tasks->task[i]), DEPTH);
			continue;
		}
		reverse_task(tasks, tasks->task[i], DEPTH);
		reel_task_end(tasks->task[i]);
	}
	unwatched(member->number);
}

static void run_tasks(struct tasks *tasks, bool reverse)
{
	tasks->reverse = reverse;
	tasks->next = 0;
	run_team(1 + (int)stress_below(&tasks->random, tasks->stage.draw->threads), run_tasks_of,
		 tasks);
}

static int record_tasks(struct tasks *tasks)
{
	tasks->count = 1 + (int)stress_below(&tasks->random, MAX_TASKS);
	for (int i = 0; i < tasks->count; i++)
		tasks->task[i] = reel_task_begin(tasks->root, 1 + i, NULL, 0);
	run_tasks(tasks, false);
	reel_task_wait(tasks->root);
	return reel_lane_error(tasks->root);
}

static int reverse_tasks(struct tasks *tasks)
{
	reel_task_wait_reverse(tasks->root);
	if (reel_tasks_left(tasks->root) != tasks->count)
		return reel_lane_error(tasks->root);
	for (int i = 0; i < tasks->count; i++)
		tasks->task[i] = reel_task_reverse(tasks->root);
	if (!reel_lane_error(tasks->root) && reel_task_label(tasks->task[0]) != tasks->count)
		stress_fail("task %lld comes first", (long long)reel_task_label(tasks->task[0]));
	run_tasks(tasks, true);
	return reel_lane_error(tasks->root);
}

static void record_and_reverse_tasks(struct tasks *tasks)
{
	int error = record_tasks(tasks);

	if (error) {
		if (!may_be_refused(&tasks->stage, error))
			stress_fail("tasks cannot be recorded: error %d", error);
		stress_refused++;
		return;
	}
	error = reverse_tasks(tasks);
	if (error) {
		if (!tasks->stage.store.loses)
			stress_fail("tasks cannot be reversed: error %d", error);
		stress_lost++;
		tasks->stage.lost++;
	} else if (!reel_lane_is_empty(tasks->root)) {
		stress_fail("tasks have left something behind");
	}
}

void stress_tasks(struct stress_draw *draw)
{
	static struct tasks tasks;
	unsigned rounds = 1 + stress_options.operations / 200;

	stress_stage_open(&tasks.stage, draw);
	tasks.random.next = draw->seed << 24;
	for (unsigned i = 0; i < rounds; i++) {
		tasks.root = open_root(&tasks.stage);
		record_and_reverse_tasks(&tasks);
		reel_lane_close(tasks.root);
	}
	stress_stage_close(&tasks.stage);
}
