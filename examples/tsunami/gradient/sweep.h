/* SPDX-License-Identifier: MIT */
/*
 * The sweeps over all time steps, shared out among threads by rows.
 *
 * All results are bitwise the same for any number of threads. A sweep that
 * cannot go on (a cell fell dry, the tape refused a state) ends the program with
 * one line that says why.
 */
#ifndef TSUNAMI_SWEEP_H
#define TSUNAMI_SWEEP_H

#include "model/shallow.h"
#include "tapes.h"

/*
 * Run the model and record the elevation at the gauge after each step in
 * gauge[0 .. steps-1]. With tapes, all states stay on them; without, only run.
 */
void forward_sweep(const struct model *model, const struct controls *controls, int threads,
		   struct tapes *tapes, double *gauge);

/*
 * From weights[n] = dJ/d(gauge[n]) and the tapes of a forward sweep, whatever threads it had,
 * compute dJ/d(controls) in the wet cells.
 */
void reverse_sweep(const struct model *model, const double *depth, int threads,
		   struct tapes *tapes, const double *weights, struct controls *gradient);

/* Compute the derivative of gauge[] of the forward sweep in a direction of the controls. */
void tangent_sweep(const struct model *model, const struct controls *controls,
		   const struct controls *direction, int threads, double *d_gauge);

#endif
