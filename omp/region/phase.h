/* SPDX-License-Identifier: MIT */
/* A phase: the part of a lane that is recorded between two barriers. */
#ifndef REEL_OMP_PHASE_H
#define REEL_OMP_PHASE_H

#include "omp/lane/lane.h"

void reel_phase_open(reel_lane *lane, uint64_t phase);
/* Opens the same phase in the reverse sweep. */
void reel_phase_reopen(reel_lane *lane, uint64_t phase);
/*
 * Leaves the phase of the lane, unless that was done. In a forward sweep it notes the height of the
 * records; in a reverse sweep it is an error if not all of it was reversed. The thread that is done
 * with the lane calls this, or the next thread that takes it, or the thread that ends the region.
 */
void reel_phase_leave(const reel_region *region, reel_lane *lane);
/*
 * Called where a thread gives back a lane whose tasks may still run, so that it cannot leave its
 * phase yet: other lanes must not wait for turns that it has left out, or did not end.
 */
void reel_phase_check_notes(const reel_region *region, reel_lane *lane);
/* The phase of a round, in the direction of the region; and takes a lane to that phase. */
uint64_t reel_phase_of(const reel_region *region, int64_t round);
void reel_phase_go_to(const reel_region *region, reel_lane *lane, int64_t round);

#endif
