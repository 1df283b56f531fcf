/* SPDX-License-Identifier: MIT */
/*
 * Barriers of the threads of a region. Each thread of the team calls these functions.
 *
 * A word that all threads change, or wait for, takes a time that grows with their number. So
 * threads are in groups of neighbours, each of which has words of its own. The last thread to come
 * to a group goes on to a group of the level above, where it stands for all of its group. The last
 * level has one group. The thread that comes last to that group lets its members go on, or thread 0
 * does if it has to act first; two members see by themselves that both have come. Then each thread
 * that came last to groups of lower levels lets the members of those groups go on.
 *
 * A thread that ends its part of the region comes to no further barrier, and a thread that waits at
 * one would wait for ever. So each of the two leaves a word for the other one and then reads the
 * other's: the thread that ends writes `region->ended`, the thread that waits writes
 * `region->sleeps_at`. All four accesses are sequentially consistent, so at least one of the two
 * reads the other's word, and notes the mistake, which ends all waits. A thread does so right
 * before it sleeps: a barrier to which all threads come soon costs nothing. No thread can pass a
 * barrier to which another one does not come, so all threads that have ended have passed the same
 * barriers, and the first of them speaks for all.
 */
#include "config.h"

#include "barrier.h"

#include "mistake.h"
#include "omp/runtime/wait.h"
#include "os/yield.h"

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
 * then. Tests, which have assertions, also see the levels on a few processors.
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

static void note_ended(reel_region *region, uint64_t ended)
{
	reel_region_note_mistake(region, REEL_MISTAKE_ENDED, (int32_t)(uint32_t)ended - 1);
}

/*
 * Before the thread sleeps at its present barrier: sees whether another thread has ended before it.
 */
static void look_for_ended(const reel_worker *worker)
{
	reel_region *region = worker->region;
	/*
	 * Relaxed is enough: a thread that sleeps at this barrier, or a later one, has looked, or
	 * will.
	 */
	uint64_t at = atomic_load_explicit(&region->sleeps_at, memory_order_relaxed), ended;

	/* Sequentially consistent, here and below: pairs with reel_barrier_end(). */
	while (at < worker->barriers &&
	       !atomic_compare_exchange_weak_explicit(&region->sleeps_at, &at, worker->barriers,
						      memory_order_seq_cst, memory_order_relaxed))
		;
	reel_yield_point();
	ended = atomic_load_explicit(&region->ended, memory_order_seq_cst);
	/*
	 * The last barrier of a thread that has ended is this one, which it has passed, or the one
	 * before.
	 */
	if (ended && (uint32_t)(ended >> 32) != (uint32_t)worker->barriers)
		note_ended(region, ended);
}

void reel_barrier_end(const reel_worker *worker)
{
	reel_region *region = worker->region;
	uint64_t ended = worker->barriers << 32 | (uint64_t)(worker->thread + 1);

	/*
	 * Relaxed is enough: the thread that wrote it looks for sleepers, and has passed the same
	 * barriers.
	 */
	if (atomic_load_explicit(&region->ended, memory_order_relaxed))
		return;
	/* Sequentially consistent, both: pairs with look_for_ended(). */
	atomic_store_explicit(&region->ended, ended, memory_order_seq_cst);
	reel_yield_point();
	if (atomic_load_explicit(&region->sleeps_at, memory_order_seq_cst) > worker->barriers)
		note_ended(region, ended);
}

/*
 * Returns false if a mistake of the program has ended all waits in the region. A region that OpenMP
 * cancels in the meantime is one.
 */
static bool wait_until(const reel_worker *worker, const _Atomic uint64_t *word, uint64_t value,
		       uint64_t beyond)
{
	bool has_come;
	const struct reel_omp_wait wait = {.word = word,
					   .value = value,
					   .beyond = beyond,
					   .failed = &worker->region->mistake,
					   .looks = reel_omp_looks(worker->threads)};

	reel_yield_point();
	if (!reel_omp_look(&wait)) {
		look_for_ended(worker);
		reel_omp_sleep(&wait);
	}
	has_come = reel_omp_has_come(&wait);
	if (!has_come && !reel_region_has_mistake(worker->region))
		reel_region_note_mistake(worker->region, REEL_MISTAKE_CANCELLED, worker->thread);
	return has_come;
}

/* Returns true if this is the last one of the group. */
static bool arrive(const reel_worker *worker, struct reel_barrier_group *group, uint64_t size)
{
	uint64_t all = worker->barriers * size, arrived;

	/*
	 * Acquire and release: the last one sees all that the others did before. Sequentially
	 * consistent: pairs with reel_omp_has_come() in act_again() and in finish().
	 */
	arrived = 1 + atomic_fetch_add_explicit(&group->arrived, 1, memory_order_seq_cst);
	if (arrived > all)
		reel_region_note_mistake(worker->region, REEL_MISTAKE_WORKERS, worker->thread);
	return arrived == all;
}

/* Lets all of a group go on. */
static void let_go_on(const reel_worker *worker, struct reel_barrier_group *group, const void *span)
{
	struct reel_barrier_gate *gate = &group->gate;

	reel_yield_point();
	/* Relaxed is enough, for the assertion: the thread that set it has come to this barrier. */
	REEL_ASSERT(atomic_load_explicit(&gate->passed, memory_order_relaxed) < worker->barriers ||
		    reel_region_has_mistake(worker->region));
	gate->span = span;
	/*
	 * Sequentially consistent: pairs with reel_omp_has_come(). All that any thread did before
	 * the barrier is visible after it.
	 */
	atomic_store_explicit(&gate->passed, worker->barriers, memory_order_seq_cst);
	reel_yield_point();
	reel_omp_wake(&gate->passed);
}

static _Atomic(const void *) *first_span(const reel_worker *worker)
{
	return &worker->region->group[0].first_span[worker->barriers % 2];
}

/* The action needs all threads. Returns false if a mistake has ended the wait for them. */
static bool act_again(reel_worker *worker, reel_barrier_action *act, const void *argument,
		      const void **span)
{
	const struct level last = last_level(worker->region, worker->threads);

	if (!wait_until(worker, &last.group->arrived, worker->barriers * size_of(&last, 0), 0))
		return false;
	*span = act(worker, argument, true);
	let_go_on(worker, last.group, *span);
	return true;
}

/* Waits until the group may go on. Returns false if a mistake has ended the wait. */
static bool wait_for_gate(const reel_worker *worker, const struct reel_barrier_group *group,
			  const void **span)
{
	if (!wait_until(worker, &group->gate.passed, worker->barriers, 0))
		return false;
	*span = group->gate.span;
	return true;
}

/*
 * In the last group: waits until all have come and, if there is an action, thread 0 has acted.
 * Unless it has to act again, the last thread lets the others go on; two need no more than the
 * number of arrivals.
 */
static bool finish(const reel_worker *worker, struct reel_barrier_group *group, uint64_t size,
		   bool is_last, bool has_act, const void **span)
{
	/*
	 * The other thread of a pair may be at the next barrier already, which adds one to the
	 * count.
	 */
	bool all_have_come = is_last || (size == 2 && wait_until(worker, &group->arrived,
								 worker->barriers * size, 1));

	if (all_have_come && has_act)
		*span = atomic_load_explicit(first_span(worker), memory_order_relaxed);
	if (!all_have_come || (has_act && !*span))
		return wait_for_gate(worker, group, span);
	if (size > 2)
		let_go_on(worker, group, *span);
	return true;
}

/*
 * It is always thread 0 that acts, whichever thread is the last one, so that the tape stays in its
 * cache.
 */
const void *reel_barrier_pass(reel_worker *worker, reel_barrier_action *act, const void *argument)
{
	struct level level = first_level(worker->region, worker->threads);
	struct reel_barrier_group *left[MAX_LEVELS];
	int32_t at = group_at(&level, worker->thread);
	bool is_last, has_passed, acts_again = false;
	const void *span = NULL;
	unsigned count = 0;

	worker->barriers++;
	if (act && worker->thread == 0) {
		span = act(worker, argument, false);
		atomic_store_explicit(first_span(worker), span, memory_order_relaxed);
		acts_again = !span;
	}
	while ((is_last = arrive(worker, &level.group[at], size_of(&level, at))) &&
	       groups_of(&level) > 1) {
		REEL_ASSERT(count < MAX_LEVELS);
		left[count++] = &level.group[at];
		level = level_above(&level);
		at = group_at(&level, at);
	}
	if (is_last)
		reel_omp_wake(&level.group[at].arrived);
	if (acts_again)
		has_passed = act_again(worker, act, argument, &span);
	else if (groups_of(&level) > 1)
		has_passed = wait_for_gate(worker, &level.group[at], &span);
	else
		has_passed = finish(worker, level.group, size_of(&level, 0), is_last, act, &span);
	if (!has_passed)
		return NULL;
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
	int32_t threads = (int32_t)atomic_load_explicit(&region->max_threads, memory_order_relaxed);
	struct reel_barrier_group *end = region->group + REEL_BARRIER_GROUPS;

	/*
	 * Workers of a dead region do not say how many they are. With a mistake, threads may not
	 * have agreed on their number.
	 */
	if (threads && !reel_region_has_mistake(region))
		end = last_level(region, threads).group + 1;
	clear(&region->ended);
	clear(&region->sleeps_at);
	/*
	 * A thread with a wrong number would get a span of an earlier region before the mistake is
	 * seen.
	 */
	for (unsigned i = 0; i < 2; i++)
		if (atomic_load_explicit(&region->group[0].first_span[i], memory_order_relaxed))
			atomic_store_explicit(&region->group[0].first_span[i], NULL,
					      memory_order_relaxed);
	for (struct reel_barrier_group *group = region->group; group < end; group++) {
		clear(&group->arrived);
		clear(&group->gate.passed);
	}
}
