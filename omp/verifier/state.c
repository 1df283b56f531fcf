/* SPDX-License-Identifier: MIT */
/*
 * The verifier's tables of lanes and regions, and its tasks. Any thread looks up lanes and regions;
 * a lock guards each table, but not the structures found there. A task and its workers belong to
 * the thread that runs the task. A region's structure is never freed, so pointers to it stay valid.
 */
#include "verifier.h"

#include <pthread.h>
#include <stdlib.h>

#include "os/assert.h"

/* ---- Lanes and regions by their addresses ---- */

#define BUCKETS 256

struct table {
	pthread_mutex_t lock;
	struct node *bucket[BUCKETS];
	size_t size;
};

static struct table regions = {.lock = PTHREAD_MUTEX_INITIALIZER, .size = sizeof(struct region)};
static struct table lanes = {.lock = PTHREAD_MUTEX_INITIALIZER, .size = sizeof(struct lane)};

static struct node **place_of(struct table *table, const void *key)
{
	struct node **at = &table->bucket[(uintptr_t)key / 128 % BUCKETS];

	while (*at && (*at)->key != key)
		at = &(*at)->next;
	return at;
}

static void *out_of_memory(void)
{
	report(WARNING, NULL, "no memory for the verifier: it may miss something");
	return NULL;
}

static void *find(struct table *table, const void *key, bool make)
{
	struct node **at, *node;

	pthread_mutex_lock(&table->lock);
	at = place_of(table, key);
	if (!*at && make && (*at = calloc(1, table->size)))
		(*at)->key = key;
	node = *at;
	pthread_mutex_unlock(&table->lock);
	return node || !make ? node : out_of_memory();
}

struct region *find_region(const reel_region *region)
{
	return find(&regions, region, false);
}

struct region *make_region(const reel_region *region)
{
	return find(&regions, region, true);
}

struct lane *find_lane(const reel_lane *lane)
{
	return find(&lanes, lane, false);
}

struct lane *make_lane(const reel_lane *lane)
{
	return find(&lanes, lane, true);
}

void forget_lane(const reel_lane *lane)
{
	struct node **at, *node;

	pthread_mutex_lock(&lanes.lock);
	at = place_of(&lanes, lane);
	node = *at;
	if (node)
		*at = node->next;
	pthread_mutex_unlock(&lanes.lock);
	free(node);
}

void root_opens(struct task *task, const reel_event *event)
{
	struct lane *root;

	forget_lane(event->lane);
	root = make_lane(event->lane);
	if (!root)
		return;
	REEL_ASSERT(!root->opened_by);
	pthread_mutex_lock(&lanes.lock);
	root->opened_by = task->id;
	pthread_mutex_unlock(&lanes.lock);
}

void each_root(struct task *task, void (*function)(struct task *task, struct lane *root))
{
	pthread_mutex_lock(&lanes.lock);
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct node *node = lanes.bucket[i]; node; node = node->next)
			if (((struct lane *)node)->opened_by == task->id)
				function(task, (struct lane *)node);
	pthread_mutex_unlock(&lanes.lock);
}

/* ---- Tasks ---- */

static _Thread_local struct task *implicit_task;

struct task *thread_task(void)
{
	return implicit_task;
}

void set_thread_task(struct task *task)
{
	implicit_task = task;
}

struct task *new_task(enum task_kind kind, const void *at)
{
	static _Atomic uint64_t tasks;
	struct task *task = calloc(1, sizeof *task);

	if (!task)
		return out_of_memory();
	/* Relaxed: the id orders no other memory. */
	task->id = 1 + atomic_fetch_add_explicit(&tasks, 1, memory_order_relaxed);
	task->implicit = kind == IMPLICIT;
	task->has_bodies = kind == BODIES;
	task->at = at;
	return task;
}

void free_task(struct task *task)
{
	REEL_ASSERT(!task || task != implicit_task);
	if (!task)
		return;
	while (task->parts) {
		struct part *part = task->parts;

		task->parts = part->outer;
		free(part);
	}
	drop_promises(task);
	free(task->mine);
	free(task);
}

/* ---- Workers ---- */

static bool is_over(const struct part *part)
{
	/* Relaxed: see struct region. */
	return part->visit != part->region->visit ||
	       !atomic_load_explicit(&part->region->active, memory_order_relaxed);
}

/* Frees the workers of regions that have ended. */
struct part *present_part(struct task *task)
{
	struct part *part;

	while ((part = task->parts) && is_over(part)) {
		task->parts = part->outer;
		free(part);
	}
	return part;
}

struct part *part_of(struct task *task, const struct region *region)
{
	struct part *part = present_part(task);

	while (part && part->region != region)
		part = part->outer;
	return part;
}

struct part *part_with(struct task *task, const reel_lane *lane)
{
	struct part *part = present_part(task);

	while (part && part->lane != lane)
		part = part->outer;
	return part;
}

uint64_t height_of(const struct task *task, reel_lane *lane)
{
	const reel_tape *tape = reel_lane_tape(lane);

	return reel_tape_bytes(tape) * 64 + tape->bit_count + task->calls;
}

reel_lane *recording_lane(struct task *task)
{
	const struct part *part = present_part(task);

	return part && part->region->forward ? part->lane : NULL;
}
