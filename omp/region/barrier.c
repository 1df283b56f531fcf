/* SPDX-License-Identifier: MIT */
/*
 * Barriers of the threads of a region. Each thread of the team calls these functions.
 *
 * A word that all threads change, or wait for, takes a time that grows with their number. So threads
 * are in groups of neighbours, each of which has words of its own. The last thread to come to a group
 * goes on to a group of the level above, where it stands for all of its group. The last level has one
 * group. The thread that comes last to that group lets its members go on. Then each thread that
 * came last to groups of lower levels lets the members of those groups go on.
 */
#include "config.h"

#include "lane.h"

#include "os/yield.h"
#include "wait.h"

/* Members of a group. */
#define FAN 4
/* Groups of the first level. A team that does not fit has larger groups there. */
#define FIRST_GROUPS 16
#define MAX_LEVELS 3

/* A level, whose members are threads, or groups of the level below. */
struct level {
	struct reel_barrier_group *group;
	int32_t members, width;
};

/*
 * A thread that waits for a processor would hold up a level after the other, so there is one group
 * then. Tests, which have assertions, see the levels on a few processors, too.
 */
static struct level first_level(reel_region *region, int32_t threads)
{
	int32_t width = FAN;

	if (threads > FAN && !REEL_ASSERTIONS && !reel_omp_has_processors(threads))
		width = threads;
	else if (threads > FAN * FIRST_GROUPS)
		width = (threads + FIRST_GROUPS - 1) / FIRST_GROUPS;
	return (struct level){region->group, threads, width};
}

static int32_t groups_of(const struct level *level)
{
	/* Most teams have one group, and a division takes a while. */
	if (level->members <= level->width)
		return 1;
	return (level->members + level->width - 1) / level->width;
}

static struct level level_above(const struct level *level)
{
	int32_t groups = groups_of(level);

	return (struct level){level->group + groups, groups, FAN};
}

static struct level last_level(reel_region *region, int32_t threads)
{
	struct level level = first_level(region, threads);

	while (groups_of(&level) > 1)
		level = level_above(&level);
	return level;
}

static int32_t group_at(const struct level *level, int32_t member)
{
	return level->members <= level->width ? 0 : member / level->width;
}

static uint64_t size_of(const struct level *level, int32_t group)
{
	int32_t behind = level->members - group * level->width;

	return (uint64_t)(behind < level->width ? behind : level->width);
}

/*
 * Returns false if a mistake of the program has ended all waits in the region. A region that OpenMP
 * cancels in the meantime is one.
 */
static bool wait_until(const reel_worker *worker, const _Atomic uint64_t *word, uint64_t value)
{
	bool has_come;
	const struct reel_omp_wait wait = {.word = word,
					   .value = value,
					   .failed = &worker->region->mistake,
					   .looks = reel_omp_looks(worker->threads)};

	reel_yield_point();
	has_come = reel_omp_await(&wait);
	if (!has_come && !reel_region_has_mistake(worker->region))
		reel_region_note_mistake(worker->region, REEL_MISTAKE_CANCELLED, worker->thread);
	return has_come;
}

/* Returns whether this is the last one of the group. */
static bool arrive(const reel_worker *worker, struct reel_barrier_group *group, uint64_t size)
{
	uint64_t all = worker->barriers * size, arrived;

	/*
	 * Acquire and release: the last one sees what the others did before.
	 * Sequentially consistent: pairs with reel_omp_await() of thread 0.
	 */
	arrived = 1 + atomic_fetch_add_explicit(&group->arrived, 1, memory_order_seq_cst);
	if (arrived > all)
		reel_region_note_mistake(worker->region, REEL_MISTAKE_WORKERS, worker->thread);
	return arrived == all;
}

static struct reel_barrier_gate *gate_of(struct reel_barrier_group *group, uint64_t size)
{
	return size > 2 ? &group->far : &group->near;
}

/* Lets all of a group go on. */
static void let_go_on(const reel_worker *worker, struct reel_barrier_gate *gate, const void *span)
{
	reel_yield_point();
	/* Relaxed is enough, for the assertion: the thread that set it has come to this barrier. */
	REEL_ASSERT(atomic_load_explicit(&gate->passed, memory_order_relaxed) + 1 ==
			    worker->barriers ||
		    reel_region_has_mistake(worker->region));
	gate->span = span;
	/*
	 * Sequentially consistent: pairs with reel_omp_await(). All that any thread did before the
	 * barrier is visible after it.
	 */
	atomic_store_explicit(&gate->passed, worker->barriers, memory_order_seq_cst);
	reel_yield_point();
	reel_omp_wake(&gate->passed);
}

/*
 * Waits in a group until all have come, or lets it go on. Thread 0 comes to the last group to act,
 * whichever thread is the last one, so that what it works on stays in its cache. Returns NULL if a
 * mistake has ended the wait.
 */
static struct reel_barrier_gate *finish(reel_worker *worker, struct reel_barrier_group *group,
					uint64_t size, bool is_last, reel_barrier_action *act,
					const void *argument)
{
	struct reel_barrier_gate *gate = gate_of(group, size);

	if (act && worker->thread == 0) {
		if (!wait_until(worker, &group->arrived, worker->barriers * size))
			return NULL;
		let_go_on(worker, gate, act(worker, argument));
		return gate;
	}
	if (is_last && !act) {
		let_go_on(worker, gate, gate->span);
		return gate;
	}
	if (is_last)
		reel_omp_wake(&group->arrived);
	return wait_until(worker, &gate->passed, worker->barriers) ? gate : NULL;
}

const void *reel_barrier_pass(reel_worker *worker, reel_barrier_action *act, const void *argument)
{
	struct level level = first_level(worker->region, worker->threads);
	struct reel_barrier_gate *gate, *left[MAX_LEVELS];
	int32_t at = group_at(&level, worker->thread);
	const void *span;
	unsigned count = 0;
	bool is_last;

	worker->barriers++;
	while ((is_last = arrive(worker, &level.group[at], size_of(&level, at))) &&
	       groups_of(&level) > 1) {
		REEL_ASSERT(count < MAX_LEVELS);
		left[count++] = gate_of(&level.group[at], size_of(&level, at));
		level = level_above(&level);
		at = group_at(&level, at);
	}
	if (act && worker->thread == 0) {
		level = last_level(worker->region, worker->threads);
		at = 0;
	}
	gate = finish(worker, &level.group[at], size_of(&level, at), is_last, act, argument);
	if (!gate)
		return NULL;
	span = gate->span;
	while (count > 0)
		let_go_on(worker, left[--count], span);
	return span;
}

/* Relaxed is enough, for all: no thread of the region looks at them yet. */
static void clear(_Atomic uint64_t *word)
{
	/* A line that other processors only read stays with them. */
	if (atomic_load_explicit(word, memory_order_relaxed))
		atomic_store_explicit(word, 0, memory_order_relaxed);
}

void reel_barrier_clear(reel_region *region)
{
	int32_t threads = atomic_load_explicit(&region->max_threads, memory_order_relaxed);
	struct reel_barrier_group *end = region->group + REEL_BARRIER_GROUPS;

	/*
	 * Workers of a dead region do not say how many they are. With a mistake, threads may not have
	 * agreed on their number.
	 */
	if (threads && !reel_region_has_mistake(region))
		end = last_level(region, threads).group + 1;
	for (struct reel_barrier_group *group = region->group; group < end; group++) {
		clear(&group->arrived);
		clear(&group->near.passed);
		clear(&group->far.passed);
	}
}
