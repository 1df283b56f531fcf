/* SPDX-License-Identifier: MIT */
/* The barriers of a team. */
#ifndef REEL_OMP_BARRIER_H
#define REEL_OMP_BARRIER_H

#include "omp/lane/lane.h"

/*
 * Returns the collective span that all threads see after the barrier. Before all have come, the
 * others may still use the spans of the present phase. An action that could take one of them away
 * changes no tape then, and returns NULL.
 */
typedef const void *reel_barrier_action(reel_worker *worker, const void *argument,
					bool all_have_come);

/*
 * Passes a barrier. All threads pass an `act`, or all pass NULL. Thread 0 alone calls its `act`:
 * when it comes, and again when all have come if the first call returned NULL. Returns the span of
 * the action, or NULL if a mistake has ended the barrier early.
 */
const void *reel_barrier_pass(reel_worker *worker, reel_barrier_action *act, const void *argument);
/*
 * The thread passes no further barrier of the region. It is a mistake if another thread waits at
 * one.
 */
void reel_barrier_end(const reel_worker *worker);
/* Before a region begins, and before its team and mistake are forgotten. */
void reel_barrier_clear(reel_region *region);

#endif
