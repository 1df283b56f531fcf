/* SPDX-License-Identifier: MIT */
/*
 * How the loop over the steps is reversed: all of them on tape, or
 * with checkpointing. Either way the gradient is the same to the last bit.
 *
 * All functions are called by all ranks. Controls and gradients are of the whole grid, the model is
 * the rank's (model_here()); all ranks receive the gauge's record and the gradient.
 */
#ifndef TSUNAMI_REVERSAL_H
#define TSUNAMI_REVERSAL_H

#include "checkpointing.h"
#include "tapes.h"

struct reversal {
	const struct model *model;
	int on_gpu;
	int threads;
	int reverse_threads;
	struct tapes *tapes;                 /* one of the two */
	struct checkpointing *checkpointing;
};

/* As the options say. */
struct reversal reversal_open(const struct options *options, const struct model *model);
void reversal_close(struct reversal *reversal);

/* The elevations at the gauge, without a tape. */
void reversal_primal(struct reversal *reversal, const struct controls *controls, double *gauge);

/*
 * The elevations as threads of the CPU calculate them, whatever runs the steps otherwise; and their
 * derivative.
 */
void reversal_primal_on_cpu(struct reversal *reversal, const struct controls *controls, int threads,
			    double *gauge);
void reversal_tangent(struct reversal *reversal, const struct controls *controls,
		      const struct controls *direction, int threads, double *d_gauge);

/* The first one with tapes; then, from dJ/d(gauge), dJ/d(controls) in the wet cells. */
void reversal_forward(struct reversal *reversal, const struct controls *controls, double *gauge);
void reversal_reverse(struct reversal *reversal, const struct controls *controls,
		      const double *weights, struct controls *gradient);

#endif
