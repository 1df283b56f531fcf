/* SPDX-License-Identifier: MIT */
/* Lanes that wait for turns that cannot come. */
#ifndef REEL_OMP_DEADLOCK_H
#define REEL_OMP_DEADLOCK_H

#include "omp/lane/lane.h"

/*
 * Called by the lane's thread before and after it sleeps until the lane's turn comes, and in the
 * reverse sweep when it gives back a lane that has left its phase. If no lane of the root can end a
 * turn any more, all waits for turns end with -EDEADLK.
 */
void reel_deadlock_sleep(reel_lane *lane, const struct reel_omp_wait *wait);
void reel_deadlock_wake(reel_lane *lane);
void reel_deadlock_give_back(reel_lane *lane);
/*
 * Looks for such a deadlock, if a lane of the root sleeps. Called by a thread that finds no task to
 * reverse.
 */
void reel_deadlock_look(reel_lane *root);
/* Called by the lane's thread before a team reverses tasks of the lane, and with NULLs after it. */
void reel_deadlock_set_team(reel_lane *lane, struct reel_task_team *team,
			    reel_task_team_is_stuck *is_stuck);

#endif
