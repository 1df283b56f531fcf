/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <string.h>

#include "program.h"
#include "helpers/support.h"

/* clang 14 warns of its own code for a taskloop. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wsign-conversion"
#pragma clang diagnostic ignored "-Wshorten-64-to-32"
#endif

/* A group of tasks in the reverse sweep. */
struct group {
	const struct node *node;
	const struct place *place;
	/* Sums that are rounded: their bits tell in which order tasks added to them. */
	double rounded[MAX_OBJECTS];
};

static const enum reel_dependence_kind kinds[ACCESSES] = {
	[READS] = REEL_TASK_IN, [READS_SHARED] = REEL_TASK_IN_SHARED, [WRITES] = REEL_TASK_OUT,
	[COMMUTES] = REEL_TASK_COMMUTES};

static struct place place_of_task(const struct node *tasks, const struct node *task,
				  const struct place *parent, reel_lane *lane)
{
	struct place place = program_part(tasks, parent, task->task.label);

	place.base += MAX_OBJECTS;
	place.lane = lane;
	place.lane_cell = NO_CELL;
	place.team = NULL;
	place.by_hand = parent->by_hand || tasks->tasks.making_back != BY_REEL;
	place.view = NULL;
	return place;
}

static unsigned object_of(const struct node *tasks, const struct place *parent,
			  const struct use *use)
{
	return parent->base + tasks->offset + use->object;
}

/* ---- The statements of a task on its objects ---- */

static struct statement statement_of(const struct node *tasks, const struct node *task,
				     const struct place *parent, const struct place *place,
				     unsigned k)
{
	const struct use *use = &task->task.use[k];
	unsigned object = object_of(tasks, parent, use);
	struct node node = {.construct = STATEMENT, .seed = scramble(task->seed + k)};
	struct statement statement = program_statement(&node, place);

	switch (use->access) {
	case READS:
		statement.left = object;
		break;
	case READS_SHARED:
		statement.shared = object;
		break;
	case WRITES:
		statement.to = object;
		break;
	default:
		statement.to = object;
		statement.shared = NO_CELL;
		if (tasks->tasks.scaled >> use->object & 1)
			statement.left = NO_CELL;
		else
			statement.keep = 1;
	}
	return statement;
}

static bool is_before_body(const struct use *use)
{
	return use->access == READS || use->access == READS_SHARED;
}

static void record_uses(const struct node *tasks, const struct node *task,
			const struct place *parent, const struct place *place, bool before)
{
	for (unsigned k = 0; k < task->task.uses; k++) {
		struct statement statement;

		if (is_before_body(&task->task.use[k]) != before)
			continue;
		statement = statement_of(tasks, task, parent, place, k);
		program_record_statement(place, &statement);
	}
}

/* A number whose sums are rounded. */
static double part_of(const struct node *task, unsigned k)
{
	uint64_t random = scramble(task->seed + 100 + k);

	return (double)(random % 1000003) / (double)(1 + random % 97);
}

static void round_sum(const struct node *task, unsigned k, double *rounded)
{
	switch (task->task.use[k].access) {
	case READS_SHARED:
		break;
	case WRITES:
		*rounded = *rounded / 3 + part_of(task, k);
		break;
	default:
		*rounded += part_of(task, k);
	}
}

static void reverse_uses(struct group *group, const struct node *task, const struct place *place,
			 bool before)
{
	for (unsigned k = task->task.uses; k-- > 0;) {
		const struct use *use = &task->task.use[k];
		struct statement statement;

		if (is_before_body(use) != before)
			continue;
		statement = statement_of(group->node, task, group->place, place, k);
		program_reverse_statement(place, &statement);
		round_sum(task, k, &group->rounded[use->object]);
	}
}

/* ---- Forward sweep ---- */

static reel_lane *begin_task(const struct node *tasks, const struct node *task,
			     const struct place *parent)
{
	reel_dependence dependence[MAX_DEPENDENCES];

	/* Relaxed: a count. */
	atomic_fetch_add_explicit(&program_counts[TASK], 1, memory_order_relaxed);
	for (unsigned k = 0; k < task->task.uses; k++)
		dependence[k] = (reel_dependence){
			&program_cells.x[object_of(tasks, parent, &task->task.use[k])],
			kinds[task->task.use[k].access]};
	return reel_task_begin(parent->lane, task->task.label, dependence, (int)task->task.uses);
}

static void record_first_half(const struct node *tasks, const struct node *task,
			      const struct place *parent, reel_lane *lane)
{
	struct place place = place_of_task(tasks, task, parent, lane);

	record_uses(tasks, task, parent, &place, true);
}

static void record_second_half(const struct node *tasks, const struct node *task,
			       const struct place *parent, reel_lane *lane)
{
	struct place place = place_of_task(tasks, task, parent, lane);

	if (!program_record_caught(task->inside, &place))
		return;
	record_uses(tasks, task, parent, &place, false);
	if (tasks->tasks.may_be_dropped)
		reel_push_bit(reel_lane_tape(lane), true);
}

static void record_task(const struct node *tasks, const struct node *task,
			const struct place *parent, reel_lane *lane)
{
	record_first_half(tasks, task, parent, lane);
	record_second_half(tasks, task, parent, lane);
}

/* The objects that a task uses, as OpenMP wants them: in an array for each kind of dependence. */
struct dependences {
	unsigned count[ACCESSES];
	unsigned cell[ACCESSES][MAX_DEPENDENCES];
};

static struct dependences dependences_of(const struct node *tasks, const struct node *task,
					 const struct place *parent, bool reverse)
{
	struct dependences list = {{0}, {{0}}};

	for (unsigned k = 0; k < task->task.uses; k++) {
		const struct use *use = &task->task.use[k];
		enum access access = use->access;

		/* A task that reads adds to the adjoint in the reverse sweep. */
		if (reverse && access == READS)
			access = WRITES;
		list.cell[access][list.count[access]++] = object_of(tasks, parent, use);
	}
	/* Not in OpenMP's sense: others may read the object at the same time. */
	for (unsigned k = 0; k < list.count[READS_SHARED]; k++)
		list.cell[READS][list.count[READS]++] = list.cell[READS_SHARED][k];
	return list;
}

#define DEPEND(list, cells)                                                                        \
	depend(iterator(unsigned i = 0 : list.count[READS]), in : cells[list.cell[READS][i]])      \
		depend(iterator(unsigned j = 0 : list.count[WRITES]),                              \
		       inout : cells[list.cell[WRITES][j]])                                        \
			depend(iterator(unsigned k = 0 : list.count[COMMUTES]),                    \
			       mutexinoutset : cells[list.cell[COMMUTES][k]])
#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define TASK_PRAGMA(...) PRAGMA(__VA_ARGS__)

static bool cancels(const struct node *tasks, const struct node *task)
{
	return tasks->tasks.cancels && task->task.label == tasks->seed % tasks->tasks.count;
}

static void spawn(const struct node *tasks, const struct node *task, const struct place *parent)
{
	const struct dependences list = dependences_of(tasks, task, parent, false);
	reel_lane *lane = begin_task(tasks, task, parent);
	struct place place = *parent;

	if (tasks->tasks.untied) {
		TASK_PRAGMA(omp task untied firstprivate(tasks, task, place, lane)
				    DEPEND(list, program_cells.x))
		{
			record_first_half(tasks, task, &place, lane);
			reel_tape_hand_over(reel_lane_tape(lane));
#pragma omp taskyield
			record_second_half(tasks, task, &place, lane);
		}
		return;
	}
	TASK_PRAGMA(omp task firstprivate(tasks, task, place, lane) DEPEND(list, program_cells.x))
	{
		record_task(tasks, task, &place, lane);
#pragma omp cancel taskgroup if (cancels(tasks, task))
	}
}

#define MAX_TASKS 16

static void record_taskloop(const struct node *tasks, const struct place *place)
{
	const struct node *list[MAX_TASKS];
	reel_lane *lane[MAX_TASKS];
	unsigned count = 0;

	for (const struct node *task = tasks->inside; task; task = task->next) {
		list[count] = task;
		lane[count++] = begin_task(tasks, task, place);
	}
#pragma omp taskloop grainsize(1)
	for (unsigned i = 0; i < count; i++)
		record_task(tasks, list[i], place, lane[i]);
}

static void spawn_all(const struct node *tasks, const struct place *place)
{
	for (const struct node *task = tasks->inside; task; task = task->next)
		spawn(tasks, task, place);
}

static void record_serially(const struct node *tasks, const struct place *place)
{
	for (const struct node *task = tasks->inside; task; task = task->next)
		record_task(tasks, task, place, begin_task(tasks, task, place));
}

static void record_all(const struct node *tasks, const struct place *place)
{
	switch (tasks->tasks.making) {
	case SERIALLY:
		record_serially(tasks, place);
		break;
	case TASKGROUP:
#pragma omp taskgroup
		spawn_all(tasks, place);
		break;
	case TASKLOOP:
		record_taskloop(tasks, place);
		break;
	default:
		spawn_all(tasks, place);
		if (!tasks->tasks.late) {
#pragma omp taskwait
		}
	}
}

static bool has_turns(const struct node *list)
{
	for (; list; list = list->next)
		if (list->construct == CRITICAL || list->construct == ORDERED ||
		    has_turns(list->inside))
			return true;
	return false;
}

/*
 * Without the wait, tasks of two waits are reversed together, and may wait for turns of each other.
 */
static bool omits_wait(const struct node *tasks, const struct place *place)
{
	bool by_hand = place->by_hand || tasks->tasks.making_back != BY_REEL;

	return !(by_hand && has_turns(tasks->inside)) && program_omits(OMIT_TASK_WAIT);
}

bool program_record_tasks(const struct node *tasks, const struct place *place)
{
	int threads = program_threads(tasks, (int)program_max_threads);

	if (omp_in_parallel() || tasks->tasks.making == SERIALLY) {
		record_all(tasks, place);
	} else {
#pragma omp parallel num_threads(threads)
#pragma omp master
		record_all(tasks, place);
	}
	if (!omits_wait(tasks, place))
		reel_task_wait(place->lane);
	return true;
}

/* ---- Reverse sweep ---- */

static const struct node *task_of(const struct node *tasks, const reel_lane *lane)
{
	const struct node *task = tasks->inside;

	while (task->next && task->task.label != (unsigned)reel_task_label(lane))
		task = task->next;
	return task;
}

static void reverse_task(void *context, reel_lane *lane)
{
	struct group *group = context;
	const struct node *task = task_of(group->node, lane);
	struct place place = place_of_task(group->node, task, group->place, lane);

	if (group->node->tasks.may_be_dropped) {
		/* A task that was cancelled before it began has recorded nothing. */
		if (reel_lane_is_empty(lane))
			return;
		(void)reel_pop_bit(reel_lane_tape(lane));
	}
	reverse_uses(group, task, &place, false);
	if (!program_reverse_caught(task->inside, &place))
		return;
	reverse_uses(group, task, &place, true);
}

static void reverse_and_end(struct group *group, reel_lane *lane)
{
	reverse_task(group, lane);
	if (!program_omits(OMIT_TASK_END))
		reel_task_end(lane);
}

static void spawn_reverse(struct group *group, reel_lane *lane)
{
	const struct dependences list =
		dependences_of(group->node, task_of(group->node, lane), group->place, true);

	TASK_PRAGMA(omp task firstprivate(group, lane) DEPEND(list, program_cells.bar))
	reverse_and_end(group, lane);
}

static bool is_left(const struct group *group)
{
	return reel_tasks_left(group->place->lane) > 0;
}

/* The last one that was made and is not reversed. */
static reel_lane *next_task(const struct group *group)
{
	int64_t left = reel_tasks_left(group->place->lane);
	reel_lane *lane = reel_task_reverse(group->place->lane);

	if (reel_task_label(lane) != left - 1 && !program_error && !program_has_omitted())
		stress_fail("task %lld comes instead of %lld", (long long)reel_task_label(lane),
			    (long long)left - 1);
	return lane;
}

static void spawn_all_reverse(struct group *group)
{
	while (is_left(group))
		spawn_reverse(group, next_task(group));
}

static void reverse_taskloop(struct group *group)
{
	reel_lane *lane[MAX_TASKS];
	unsigned count = 0;

	while (is_left(group) && count < MAX_TASKS)
		lane[count++] = next_task(group);
	/* clang 14 makes an endless loop of none. */
	if (!count)
		return;
#pragma omp taskloop grainsize(1)
	for (unsigned i = 0; i < count; i++)
		reverse_and_end(group, lane[i]);
}

static void reverse_by_hand(struct group *group)
{
	if (!program_omits(OMIT_WAIT_REVERSE))
		reel_task_wait_reverse(group->place->lane);
	switch (group->node->tasks.making_back) {
	case SERIALLY:
		while (is_left(group))
			reverse_and_end(group, next_task(group));
		break;
	case TASKGROUP:
#pragma omp taskgroup
		spawn_all_reverse(group);
		break;
	case TASKLOOP:
		reverse_taskloop(group);
		break;
	default:
		spawn_all_reverse(group);
#pragma omp taskwait
	}
}

static void round_in_order(const struct node *task, double *rounded)
{
	if (!task)
		return;
	round_in_order(task->next, rounded);
	for (unsigned before = 0; before < 2; before++)
		for (unsigned k = task->task.uses; k-- > 0;)
			if (is_before_body(&task->task.use[k]) == before)
				round_sum(task, k, &rounded[task->task.use[k].object]);
}

/* Where Reel promises the order of one thread, sums are rounded as by one thread. */
static void check_order(const struct group *group)
{
	enum making making = group->node->tasks.making_back;
	double rounded[MAX_OBJECTS] = {0};

	if (program_error || program_has_omitted() || group->node->tasks.may_be_dropped ||
	    (making != SERIALLY && making != BY_REEL) ||
	    (making == BY_REEL && !(group->node->tasks.flags & REEL_TASKS_IN_ORDER)))
		return;
	round_in_order(group->node->inside, rounded);
	if (memcmp(rounded, group->rounded, sizeof rounded) != 0)
		stress_fail("tasks were not reversed in order");
}

void program_reverse_tasks(const struct node *tasks, const struct place *place)
{
	struct group group = {.node = tasks, .place = place};
	int threads = program_threads(tasks, (int)program_max_threads);

	if (program_omits(OMIT_TASK_REVERSE))
		return;
	if (tasks->tasks.making_back == BY_REEL) {
		reel_tasks_reverse(place->lane, reverse_task, &group, threads, tasks->tasks.flags);
	} else if (omp_in_parallel() || tasks->tasks.making_back == SERIALLY) {
		reverse_by_hand(&group);
	} else {
#pragma omp parallel num_threads(threads)
#pragma omp master
		reverse_by_hand(&group);
	}
	check_order(&group);
}
