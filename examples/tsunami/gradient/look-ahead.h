/* SPDX-License-Identifier: MIT */
/*
 * A reverse sweep whose threads record segments ahead of the one that is reversed, each
 * thread a segment of its own, instead of sharing out the rows of one.
 */
#ifndef TSUNAMI_LOOK_AHEAD_H
#define TSUNAMI_LOOK_AHEAD_H

#include <reel/run.h>

#include "loop.h"

struct look_ahead {
	int threads;        /* 0: there was none */
	int64_t ahead;      /* segments that were recorded ahead */
	int64_t max_tapes; /* at once */
};

/* Whether the program was built with OpenMP, which it takes. */
int look_ahead_is_there(void);

/* As reel_run_reverse(). */
int look_ahead_reverse(reel_run *run, struct loop *loop, struct state *state,
		       struct adjoint *adjoint, int threads, struct look_ahead *use);

#endif
