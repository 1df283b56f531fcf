/* SPDX-License-Identifier: MIT */
/*
 * Finds out when no lane of a root can end a turn any more, so that lanes would wait for ever: a
 * lane has left out reel_ordered_done() and waits for a turn of another section, a lane has not
 * ended a phase that the others ended, or lanes of an outer region that have no thread have the
 * turns for which inner lanes wait.
 *
 * A lane is stuck if it sleeps until its turn comes and nobody has given it the turn, or if the
 * region that is reversed in it is stuck. A region is stuck if a lane is, and each other lane is
 * also stuck, or was given back in the present round; or if all threads are in stuck lanes. A lane
 * whose tasks reel_tasks_reverse() reverses is stuck if the lanes of all tasks that run are, and no
 * task is ready or no thread is left to run it. A lane whose tasks OpenMP runs is never stuck,
 * since nobody knows which of them it runs next.
 *
 * A thread looks when its lane goes to sleep, and, while others sleep, when it gives its lane back
 * and when it finds no task. So the last thread to do so sees the actions of all others.
 */
#include "config.h"

#include "deadlock.h"

#include <errno.h>
#include <pthread.h>

#include "omp/lane/lane-task.h"
#include "omp/runtime/wait.h"
#include "os/cancel.h"

/*
 * Guards `awaits`, `team` and `team_is_stuck` of all lanes. A thread locks it to look for a
 * deadlock, and before and after it sleeps until its turn comes, not in a wait that ends before the
 * thread sleeps. It is taken before `lock` of a struct reel_task_team, never after it.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool lane_is_stuck(const reel_lane *lane);

/* Relaxed is enough: a number that is older than the lane's own shows a lane that can go on. */
static int64_t taken(const reel_lane *lane)
{
	return lane ? atomic_load_explicit(&lane->taken, memory_order_relaxed) : 0;
}

/* The last round in which a thread has taken a lane, plus 1. */
static int64_t last_round(const reel_region *region)
{
	int64_t last = 0;

	for (int32_t i = 0; i < reel_region_lanes(region); i++) {
		int64_t round = taken(reel_lane_find(region->parent, i));

		last = round > last ? round : last;
	}
	return last;
}

/* Returns whether the lane was given back in this round, so that it ends no more turns in it. */
static bool is_done(const reel_lane *lane, int64_t round)
{
	/*
	 * Sequentially consistent: pairs with reel_deadlock_give_back(). Either this thread sees
	 * that the lane was given back, or the thread that gave it back sees this one as a sleeper.
	 */
	return lane && taken(lane) == round &&
	       atomic_load_explicit(&lane->given_back, memory_order_seq_cst) == round;
}

static bool region_is_stuck(const reel_region *region)
{
	int64_t round = last_round(region);
	int32_t stuck = 0, done = 0, lanes = reel_region_lanes(region);

	for (int32_t i = 0; i < lanes; i++) {
		const reel_lane *lane = reel_lane_find(region->parent, i);

		if (is_done(lane, round))
			done++;
		else if (lane && taken(lane) == round && lane_is_stuck(lane))
			stuck++;
	}
	REEL_ASSERT(stuck + done <= lanes);
	if (!stuck)
		return false;
	/* Relaxed is enough: a number that guards no memory. */
	return stuck + done == lanes ||
	       stuck == atomic_load_explicit(&region->threads, memory_order_relaxed);
}

static bool lane_is_stuck(const reel_lane *lane)
{
	/* Acquire: pairs with reel_region_reverse() and reel_region_end(). */
	const reel_region *region =
		atomic_load_explicit(&lane->reversed_region, memory_order_acquire);

	if (region)
		return region_is_stuck(region);
	if (lane->team)
		return lane->team_is_stuck(lane->team, lane_is_stuck);
	return lane->awaits && !reel_tasks_run(lane) && !reel_omp_has_come(lane->awaits);
}

void reel_deadlock_look(reel_lane *root)
{
	REEL_UNCANCELLED;
	bool stuck;

	/* Sequentially consistent: see is_done(). */
	if (!atomic_load_explicit(&root->sleepers, memory_order_seq_cst))
		return;
	pthread_mutex_lock(&lock);
	stuck = lane_is_stuck(root);
	pthread_mutex_unlock(&lock);
	if (stuck)
		reel_lane_end_waits(root, -EDEADLK);
}

void reel_deadlock_sleep(reel_lane *lane, const struct reel_omp_wait *wait)
{
	REEL_UNCANCELLED;

	pthread_mutex_lock(&lock);
	REEL_ASSERT(!lane->awaits);
	lane->awaits = wait;
	pthread_mutex_unlock(&lock);
	/* Sequentially consistent: see is_done(). */
	atomic_fetch_add_explicit(&lane->root->sleepers, 1, memory_order_seq_cst);
	reel_deadlock_look(lane->root);
}

void reel_deadlock_wake(reel_lane *lane)
{
	REEL_UNCANCELLED;

	pthread_mutex_lock(&lock);
	REEL_ASSERT(lane->awaits);
	lane->awaits = NULL;
	pthread_mutex_unlock(&lock);
	/* Relaxed is enough: a thread that still sees the sleeper looks in vain. */
	atomic_fetch_sub_explicit(&lane->root->sleepers, 1, memory_order_relaxed);
}

void reel_deadlock_give_back(reel_lane *lane)
{
	reel_lane *root = lane->root;

	/* Relaxed is enough: it was set before the sweep began. */
	if (!atomic_load_explicit(&root->has_turns, memory_order_relaxed) || reel_tasks_run(lane))
		return;
	/* Sequentially consistent: see is_done(). */
	atomic_store_explicit(&lane->given_back, taken(lane), memory_order_seq_cst);
	reel_deadlock_look(root);
}

void reel_deadlock_set_team(reel_lane *lane, struct reel_task_team *team,
			    reel_task_team_is_stuck *is_stuck)
{
	REEL_UNCANCELLED;

	pthread_mutex_lock(&lock);
	lane->team = team;
	lane->team_is_stuck = is_stuck;
	pthread_mutex_unlock(&lock);
}
