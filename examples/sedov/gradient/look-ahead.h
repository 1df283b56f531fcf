/* SPDX-License-Identifier: MIT */
/*
 * Reverse sweeps of plans in which each thread runs segments of its own, instead of blocks of each
 * step. Only there with OpenMP.
 */
#ifndef SEDOV_LOOK_AHEAD_H
#define SEDOV_LOOK_AHEAD_H

#include "loop.h"

bool look_ahead_is_there(void);

/* As reel_run_reverse(), by the number of threads that OpenMP gives. */
int look_ahead_reverse(reel_run *run, struct loop *loop, struct state *state,
		       struct loop_adjoint *adjoint);

#endif
