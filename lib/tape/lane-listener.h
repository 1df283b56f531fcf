/* SPDX-License-Identifier: MIT */
/* What libreel-omp needs of a tape and programs do not: exported, with a private symbol version. */
#ifndef REEL_LIB_LANE_LISTENER_H
#define REEL_LIB_LANE_LISTENER_H

#include <reel/tape.h>

/*
 * For libreel-omp: `listener` is called when an error of a lane's tape begins to stick, by the thread
 * whose call failed. There is one listener for the process. Any thread.
 */
typedef void reel_lane_listener(reel_tape *tape);
void reel_listen_to_lanes(reel_lane_listener *listener);

#endif
