/* SPDX-License-Identifier: MIT */
/* Less memory while the system is short of it. */
#ifndef REEL_LIB_PRESSURE_H
#define REEL_LIB_PRESSURE_H

#include "spill/owner/offload.h"

/* While no offload thread runs. Closing restores the soft budget. */
void reel_pressure_open(struct reel_offload *offload);
void reel_pressure_close(struct reel_offload *offload);

/* Only the offload thread runs the following functions. */

/* Milliseconds between two looks at the trigger and at the share. 0: there is neither. */
uint32_t reel_pressure_look_after(const struct reel_offload *offload);
/* Look at both if it is time, and lower or restore the soft budget. */
void reel_pressure_look(struct reel_offload *offload);
/* Returns true if memory goes back to the system above a limit, which `bytes` more would exceed. */
bool reel_pressure_forbids(const struct reel_offload *offload, size_t bytes);
/*
 * Give a part of the memory above this limit back to the system. Returns whether it did.
 */
bool reel_pressure_relieve(struct reel_offload *offload);

#endif
