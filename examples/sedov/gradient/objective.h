/* SPDX-License-Identifier: MIT */
/*
 * Objectives: numbers of the last state, whose gradient is taken.
 */
#ifndef SEDOV_OBJECTIVE_H
#define SEDOV_OBJECTIVE_H

#include "kernel/kernel.h"

enum objective {
	ORIGIN,  /* energy of element 0 */
	KINETIC, /* energy of all nodes */
	SENSOR,  /* time integral of the pressure in element model->sensor */
};

real objective_of(enum objective objective, const struct model *model, const struct state *last);

/* Begins the adjoint with the derivative by the last state. */
void objective_reverse(enum objective objective, const struct model *model,
		       const struct state *last, struct adjoint *adjoint);

/* Ends it with that by the controls, from the derivative by the first state. */
void controls_reverse(const struct model *model, const struct controls *controls,
		      const struct adjoint *adjoint, struct controls *gradient);

#endif
