/* SPDX-License-Identifier: MIT */
/*
 * The measuring of costs, for states, adjoints and contexts of any type. The owner of the tape runs
 * it. It tests the arguments, because C gets their addresses only.
 */
#include <reel/extend.h>
#include <reel/plan.h>

#include "fortran.h"

#include <errno.h>
#include <stdio.h>

/* Reports a wrong argument as an error of the tape. */
static int refuse(reel_tape *tape, const char *what, const char *why)
{
	char message[160];

	snprintf(message, sizeof message, "reel_costs_measure: the %s %s", what, why);
	reel_tape_give_up(tape, -EINVAL, message);
	return -EINVAL;
}

/* The adjoint is NULL if the program omitted it. */
static int check(reel_tape *tape, const reel_model *model, const CFI_cdesc_t *context,
		 const CFI_cdesc_t *state, const CFI_cdesc_t *adjoint)
{
	const char *why = reel_fortran_wrong_argument(context, 0);

	if (why)
		return refuse(tape, "context", why);
	why = reel_fortran_wrong_argument(state, model->save ? 0 : model->state_bytes);
	if (why)
		return refuse(tape, "state", why);
	why = adjoint ? reel_fortran_wrong_argument(adjoint, 0) : NULL;
	return why ? refuse(tape, "adjoint", why) : 0;
}

int reel_fortran_costs_measure(struct reel_costs *costs, reel_tape *tape, const reel_model *model,
			       const CFI_cdesc_t *context, const CFI_cdesc_t *state,
			       const CFI_cdesc_t *adjoint)
{
	int error = check(tape, model, context, state, adjoint);

	return error ? error
		     : reel_costs_measure(costs, tape, model, context->base_addr, state->base_addr,
					  adjoint ? adjoint->base_addr : NULL);
}
