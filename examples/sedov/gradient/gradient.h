/* SPDX-License-Identifier: MIT */
/*
 * The gradient of an objective: with all steps on the tapes of lanes, or by a plan.
 */
#ifndef SEDOV_GRADIENT_H
#define SEDOV_GRADIENT_H

#include "common/scheme.h"
#include "objective.h"

struct method {
	const struct scheme *scheme; /* NULL: lanes */
	int64_t steps;               /* of the run; 0: not known, which REEL_ONLINE allows */
	uint64_t budget;             /* bytes of tapes and snapshots in memory; 0: no bound */
	const char *spill;           /* directory of what exceeds it; or NULL */
	const char *restart;         /* file to go on from, with a scheme; or NULL */
};

struct cost {
	int64_t steps, advanced; /* steps that were run but not recorded */
	double forward_seconds, reverse_seconds;
	uint64_t tape_bytes, resident_bytes, spilled_bytes;
};

/* Returns the objective. What the machine refuses ends the program. */
double take_gradient(const struct model *model, const struct controls *controls,
		     enum objective objective, const struct method *method,
		     struct controls *gradient, struct cost *cost);

#endif
