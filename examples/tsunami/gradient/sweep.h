/* SPDX-License-Identifier: MIT */
/*
 * The sweeps over all time steps, shared out among threads by rows.
 *
 * All results are bitwise the same for any number of threads. A sweep that
 * cannot go on (a cell fell dry, a tape refused a row) ends the program with
 * one line that says why.
 */
#ifndef TSUNAMI_SWEEP_H
#define TSUNAMI_SWEEP_H

#include "model/shallow.h"
#include "tapes.h"

/*
 * Run the model and record the elevation at the gauge after each step in
 * gauge[0 .. steps-1]. With tapes, push the state at the beginning of each
 * step, one row at a time; without, only run. `final` receives the last state.
 */
void forward_sweep(const struct model *model, const struct controls *controls, int threads,
		   struct tapes *tapes, double *gauge, struct state *final);

/*
 * From weights[n] = dJ/d(gauge[n]), the tapes of a forward sweep with the same
 * number of threads and its final state (which is overwritten), compute
 * dJ/d(controls) in the wet cells.
 */
void reverse_sweep(const struct model *model, const double *depth, int threads,
		   struct tapes *tapes, const double *weights, struct state *final,
		   struct controls *gradient);

/* Compute the derivative of gauge[] of the forward sweep in a direction of the controls. */
void tangent_sweep(const struct model *model, const struct controls *controls,
		   const struct controls *direction, int threads, double *d_gauge);

#endif
