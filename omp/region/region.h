/* SPDX-License-Identifier: MIT */
/* Regions, of which lanes are parts. */
#ifndef REEL_OMP_REGION_H
#define REEL_OMP_REGION_H

#include "omp/lane/lane.h"

/* The region of a parent, which is made if it is not there; NULL: no memory. */
reel_region *reel_region_of(reel_lane *parent);

/*
 * Returns whether Reel may choose the number of threads for the lanes or tasks of a parent. Lanes
 * that wait for turns, also lanes of regions and tasks in these lanes, need a thread each.
 */
bool reel_region_may_choose(const reel_lane *parent);

/* Returns lane `index` in its phase of this round, for the thread that takes it. */
reel_lane *reel_region_enter(reel_region *region, int32_t index, int64_t round);

#endif
