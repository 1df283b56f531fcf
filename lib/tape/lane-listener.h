/* SPDX-License-Identifier: MIT */
/* The function that only libreel-omp needs of a tape: exported with a private symbol version. */
#ifndef REEL_LIB_LANE_LISTENER_H
#define REEL_LIB_LANE_LISTENER_H

#include <reel/tape.h>

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/*
 * Set the one listener of the process. The thread whose call fails calls `listener` when an error
 * of a lane's tape begins to stick. Any thread may set the listener.
 */
typedef void reel_lane_listener(reel_tape *tape);
void reel_listen_to_lanes(reel_lane_listener *listener);

#endif
