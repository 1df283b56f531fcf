/* SPDX-License-Identifier: MIT */
/*
 * Whole runs by the team of threads that OpenMP gives.
 */
#ifndef SEDOV_SWEEP_H
#define SEDOV_SWEEP_H

#include <reel/region.h>

#include "kernel/step.h"

/*
 * Runs from `state` to the end time, or for `max_steps` steps at most; 0: no bound. If there is a
 * root, records in it the data for the reverse sweep, in lanes; 0: one lane for each thread.
 */
void forward_sweep(const struct model *model, struct state *state, int max_steps, reel_lane *root,
		   int lanes);

/*
 * Reverses the steps that forward_sweep() recorded, from the last state, which is overwritten, and
 * its adjoint. The team may be another one.
 */
void reverse_sweep(const struct model *model, struct state *state, reel_lane *root,
		   struct adjoint *adjoint);

#endif
