/* SPDX-License-Identifier: MIT */
/*
 * Additions by tasks that run at the same time, in the order of one thread. The adders of one
 * address in the tasks of one wait form a chain in the order of the reverse sweep, and a turn goes
 * along it. It passes an adder after the adder's task has ended. Additions of a task before its
 * turn are kept.
 *
 * No thread waits for a turn: of the two events, turn and end, the thread of the second one makes
 * the additions that were kept and passes the turn on. So all additions are done when all of the
 * tasks have ended. An adder gets each event once.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "task.h"

/* The events of an adder, which are bits of its state. */
#define TURN 1u
#define ENDED 2u

/* ---- The adders of a task ---- */

/* Adders begin with their turn: a task whose wait is not reversed yet adds at once. */
void reel_adders_open(struct reel_task *task)
{
	task->adder = (struct reel_adder *)(void *)&task->dependence[task->dependences];
	task->adders = 0;
	for (int32_t i = 0; i < task->dependences; i++) {
		struct reel_adder *adder = &task->adder[task->adders];

		if (task->dependence[i].kind != REEL_TASK_IN_ADD)
			continue;
		*adder = (struct reel_adder){.address = task->dependence[i].address, .task = task};
		atomic_init(&adder->state, TURN);
		reel_adder_clear(adder);
		task->adders++;
	}
}

/* ---- Their order ---- */

/* Merges two lists by address. Among equal addresses the adders of the first list come first. */
static struct reel_adder *merge(struct reel_adder *first, struct reel_adder *second)
{
	struct reel_adder *merged = NULL, **end = &merged;

	while (first && second) {
		struct reel_adder **from =
			(uintptr_t)second->address < (uintptr_t)first->address ? &second : &first;

		*end = *from;
		end = &(*end)->next;
		*from = *end;
	}
	*end = first ? first : second;
	return merged;
}

static struct reel_adder *sort(struct reel_adder *list, int64_t count)
{
	struct reel_adder *last = list, *second;

	if (count < 2)
		return list;
	for (int64_t i = 1; i < count / 2; i++)
		last = last->next;
	REEL_ASSERT(last->next);
	second = last->next;
	last->next = NULL;
	return merge(sort(list, count / 2), sort(second, count - count / 2));
}

/* Lists the adders in the order of the reverse sweep. Returns their number. */
static int64_t list_adders(const reel_lane *parent, struct reel_adder **end)
{
	struct reel_task *task = parent->unreversed_task;
	int64_t count = 0;

	for (int64_t left = parent->tasks_left; task && left > 0; task = task->next, left--)
		for (int32_t i = 0; i < task->adders; i++, count++) {
			reel_adder_clear(&task->adder[i]);
			*end = &task->adder[i];
			end = &(*end)->next;
		}
	*end = NULL;
	return count;
}

void reel_adders_order(reel_lane *parent)
{
	struct reel_adder *list, *next;
	int64_t count = list_adders(parent, &list);
	bool is_first = true;

	for (struct reel_adder *adder = sort(list, count); adder; adder = next) {
		next = adder->next;
		/* Relaxed is enough: the tasks have not begun. */
		atomic_store_explicit(&adder->state, is_first ? TURN : 0, memory_order_relaxed);
		is_first = next && next->address != adder->address;
		if (is_first)
			adder->next = NULL;
	}
}

/* ---- Additions ---- */

static void add_doubles(double *restrict array, const double *restrict values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		array[i] += values[i];
}

static void add_floats(float *restrict array, const float *restrict values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		array[i] += values[i];
}

static void add(void *array, const void *values, size_t n, size_t size)
{
	if (size == sizeof(double))
		add_doubles(array, values, n);
	else
		add_floats(array, values, n);
}

static void add_kept(struct reel_adder *adder)
{
	for (struct reel_addend *addend = adder->first; addend; addend = addend->next)
		add(addend->array, addend->values, addend->n, addend->size);
	reel_adder_clear(adder);
}

/* Keeps an addition until the turn comes. Returns false if there is no memory. */
static bool keep(struct reel_adder *adder, void *array, const void *values, size_t n, size_t size)
{
	struct reel_addend *addend = malloc(sizeof *addend + n * size);

	if (!addend)
		return false;
	*addend = (struct reel_addend){.array = array, .n = n, .size = size};
	memcpy(addend->values, values, n * size);
	REEL_ASSERT(!*adder->end);
	*adder->end = addend;
	adder->end = &addend->next;
	return true;
}

static struct reel_adder *adder_of(reel_lane *lane, const void *address)
{
	struct reel_task *task = lane->task;

	for (int32_t i = 0; task && i < task->adders; i++)
		if (task->adder[i].address == address)
			return &task->adder[i];
	reel_lane_fail(lane, -EINVAL,
		       "reel_task_add() for an address that is no dependence REEL_TASK_IN_ADD of "
		       "the task: give it to reel_task_begin()");
	return NULL;
}

static void add_in_turn(reel_lane *lane, const void *address, void *array, const void *values,
			size_t n, size_t size)
{
	struct reel_adder *adder = adder_of(lane, address);

	if (!adder)
		return;
	/* Acquire: pairs with comes_second(). The sums of earlier turns are visible. */
	if (atomic_load_explicit(&adder->state, memory_order_acquire) & TURN) {
		add_kept(adder);
		add(array, values, n, size);
	} else if (!keep(adder, array, values, n, size)) {
		reel_lane_fail(lane, -ENOMEM, "no memory to keep the additions of a task");
	}
}

void reel_task_add(reel_lane *task, const void *address, double *array, const double *values,
		   size_t n)
{
	add_in_turn(task, address, array, values, n, sizeof *values);
}

void reel_task_add_float(reel_lane *task, const void *address, float *array, const float *values,
			 size_t n)
{
	add_in_turn(task, address, array, values, n, sizeof *values);
}

/* ---- Turns ---- */

/*
 * Acquire and release: pairs with the call for the other event, and with the acquire in
 * add_in_turn(). The additions that the task has kept and the sums of earlier turns are visible to
 * the second thread.
 */
static bool comes_second(struct reel_adder *adder, unsigned event)
{
	unsigned before = atomic_fetch_or_explicit(&adder->state, event, memory_order_acq_rel);

	REEL_ASSERT(!(before & event));
	return before != 0;
}

void reel_adders_end(struct reel_task *task)
{
	for (int32_t i = 0; i < task->adders; i++) {
		struct reel_adder *adder = &task->adder[i];
		unsigned event = ENDED;

		while (adder && comes_second(adder, event)) {
			struct reel_adder *next = adder->next;

			add_kept(adder);
			reel_task_release(adder->task);
			adder = next;
			event = TURN;
		}
	}
}
