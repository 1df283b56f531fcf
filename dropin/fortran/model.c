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

int reel_fortran_costs_measure(struct reel_costs *costs, reel_tape *tape, const reel_model *model,
			       const CFI_cdesc_t *context, const CFI_cdesc_t *state,
			       const CFI_cdesc_t *adjoint);

/* Reports a wrong argument as an error of the tape. */
static int refuse(reel_tape *tape, const char *function, const char *what, const char *why)
{
	char message[160];

	snprintf(message, sizeof message, "%s: the %s %s", function, what, why);
	reel_tape_give_up(tape, -EINVAL, message);
	return -EINVAL;
}

static const char *wrong_state(const reel_model *model, const CFI_cdesc_t *state)
{
	size_t elements = reel_fortran_elements(state);

	if (!model->save && elements < SIZE_MAX && elements * state->elem_len < model->state_bytes)
		return "is smaller than the model's state_bytes";
	return reel_fortran_wrong_argument(state, 0);
}

/* The adjoint is NULL if the program left it out. */
static int check(reel_tape *tape, const char *function, const reel_model *model,
		 const CFI_cdesc_t *context, const CFI_cdesc_t *state, const CFI_cdesc_t *adjoint)
{
	const char *why = reel_fortran_wrong_argument(context, 0);

	if (why)
		return refuse(tape, function, "context", why);
	why = wrong_state(model, state);
	if (why)
		return refuse(tape, function, "state", why);
	why = adjoint ? reel_fortran_wrong_argument(adjoint, 0) : NULL;
	return why ? refuse(tape, function, "adjoint", why) : 0;
}

int reel_fortran_costs_measure(struct reel_costs *costs, reel_tape *tape, const reel_model *model,
			       const CFI_cdesc_t *context, const CFI_cdesc_t *state,
			       const CFI_cdesc_t *adjoint)
{
	int error = check(tape, "reel_costs_measure", model, context, state, adjoint);

	return error ? error
		     : reel_costs_measure(costs, tape, model, context->base_addr, state->base_addr,
					  adjoint ? adjoint->base_addr : NULL);
}
