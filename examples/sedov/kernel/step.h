/* SPDX-License-Identifier: MIT */
/*
 * Whole steps by a team of threads.
 */
#ifndef SEDOV_STEP_H
#define SEDOV_STEP_H

#include <stdbool.h>

#include "kernel.h"

/* The blocks of the calling thread, first <= number < last. */
struct share {
	int first, last;
};

struct share share_of(int blocks, int part, int parts);

/*
 * Runs a step; by all threads of a team, on one state. Returns to all of them alike whether the
 * state is still usable; if not, fields->trouble says why. Begins and ends with a barrier.
 */
bool step_forward(const struct model *model, struct state *state, struct fields *fields);

/*
 * Reverses a step; by all threads of a team. `before` and `after` are the states at its ends, and
 * the branches of the step are in `adjoint`. Begins and ends with a barrier.
 */
void step_reverse(const struct model *model, const struct state *before,
		  const struct state *after, struct fields *fields, struct adjoint *adjoint);

/* Prints fields->trouble as text, and ends the program. */
_Noreturn void report_trouble(const struct fields *fields, const struct state *state);

/* Whether the run has come to its end time. */
bool run_is_finished(const struct model *model, const struct state *state);

#endif
