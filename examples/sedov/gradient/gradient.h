/* SPDX-License-Identifier: MIT */
/*
 * The gradient of an objective: with all steps on the tapes of lanes, or by a plan.
 */
#ifndef SEDOV_GRADIENT_H
#define SEDOV_GRADIENT_H

#include "layout.h"
#include "objective.h"

struct cost {
	int64_t steps, advanced; /* steps that were run but not recorded */
	const char *planner; /* its name; NULL: lanes */
	int64_t segment;     /* steps, with a plan */
	double forward_seconds, reverse_seconds;
	uint64_t rounded_bytes, kept_bytes; /* of rounded states: before and after */
	uint64_t tape_bytes, resident_bytes, spilled_bytes;
};

/*
 * Opens the pool and the disk of a gradient and closes them, so that a refusal of the machine ends
 * the program before it computes for minutes. The number of steps may be unknown.
 */
void require_gradient(const struct model *model, const struct controls *controls,
		      const struct method *method);

/*
 * Returns the objective. Takes REEL_AUTO if there is no scheme, the tapes of all steps exceed the
 * budget and nothing can be spilled. A refusal of the machine ends the program.
 */
double take_gradient(const struct model *model, const struct controls *controls,
		     enum objective objective, const struct method *method,
		     struct controls *gradient, struct cost *cost);

#endif
