/* SPDX-License-Identifier: MIT */
/*
 * Checkpointing, for states, adjoints and contexts of any type. The owner of the run's tape runs
 * these functions. They test the arguments, because C gets their addresses only.
 */
#include "checkpoint/run/run-lookahead.h"
#include "fortran.h"

#include <reel/extend.h>

#include <errno.h>

typedef int advance_steps(void *context, void *state, int64_t first, int64_t last);
typedef int record_steps(void *context, void *state, int64_t first, int64_t last, reel_tape *tape);
typedef int reverse_steps(void *context, void *adjoint, int64_t first, int64_t last,
			  reel_tape *tape);
typedef int save_state(void *context, const void *state, void *snapshot);
typedef int load_state(void *context, void *state, const void *snapshot);

static size_t bytes_of(const CFI_cdesc_t *variable)
{
	size_t elements = reel_fortran_elements(variable);

	return elements < SIZE_MAX ? elements * variable->elem_len : 0;
}

int reel_fortran_run_open_packed(reel_run **run, const reel_plan *const *plan,
				 const CFI_cdesc_t *state, advance_steps *advance,
				 record_steps *record, reverse_steps *reverse, save_state *save,
				 load_state *load, const struct reel_run_options *options)
{
	const reel_model model = {bytes_of(state), advance, record, reverse, save, load};

	return reel_run_open(run, *plan, &model, options);
}

int reel_fortran_run_open(reel_run **run, const reel_plan *const *plan, const CFI_cdesc_t *state,
			  advance_steps *advance, record_steps *record, reverse_steps *reverse,
			  const struct reel_run_options *options)
{
	return reel_fortran_run_open_packed(run, plan, state, advance, record, reverse, NULL, NULL,
					    options);
}

static int refuse(reel_run *run, const char *what, const char *why)
{
	reel_run_give_up(run);
	return reel_fail(-EINVAL, "%s %s", what, why);
}

/* Tests the arguments of a call; `state` or `adjoint` is NULL if the call has none. */
static int check(reel_run *run, const CFI_cdesc_t *context, const CFI_cdesc_t *state,
		 const CFI_cdesc_t *adjoint)
{
	const reel_model *model = reel_run_model(run);
	const char *why = reel_fortran_wrong_argument(context, 0);

	if (why)
		return refuse(run, "the context", why);
	if (state)
		why = reel_fortran_wrong_argument(state, model->save ? 0 : model->state_bytes);
	if (why)
		return refuse(run, "the state", why);
	if (adjoint)
		why = reel_fortran_wrong_argument(adjoint, 0);
	return why ? refuse(run, "the adjoint", why) : 0;
}

int reel_fortran_run_forward(reel_run **run, const CFI_cdesc_t *context, const CFI_cdesc_t *state)
{
	int error = check(*run, context, state, NULL);

	return error ? error : reel_run_forward(*run, context->base_addr, state->base_addr);
}

int reel_fortran_run_reverse(reel_run **run, const CFI_cdesc_t *context, const CFI_cdesc_t *state,
			     const CFI_cdesc_t *adjoint)
{
	int error = check(*run, context, state, adjoint);

	return error ? error
		     : reel_run_reverse(*run, context->base_addr, state->base_addr,
					adjoint->base_addr);
}

int reel_fortran_run_start(reel_run **run, const CFI_cdesc_t *context, const CFI_cdesc_t *state,
			   const CFI_cdesc_t *adjoint)
{
	int error = check(*run, context, state, adjoint);

	return error ? error
		     : reel_run_start(*run, context->base_addr, state->base_addr,
				      adjoint->base_addr);
}

int reel_fortran_run_resume(reel_run **run, const CFI_cdesc_t *context, const CFI_cdesc_t *adjoint)
{
	int error = check(*run, context, NULL, adjoint);

	return error ? error : reel_run_resume(*run, context->base_addr, adjoint->base_addr);
}

/* Arguments that the program omitted are NULL. */
static const char *wrong_piece(reel_run *run, const reel_action *action, const CFI_cdesc_t *state,
			       const CFI_cdesc_t *adjoint)
{
	const reel_model *model = reel_run_model(run);
	size_t least = model->save ? 0 : model->state_bytes;

	switch (action->kind) {
	case REEL_ACTION_ADVANCE:
	case REEL_ACTION_RECORD:
	case REEL_ACTION_STORE:
	case REEL_ACTION_LOAD:
		return state ? reel_fortran_wrong_argument(state, least)
			     : "is needed to advance, record, store and load";
	case REEL_ACTION_REVERSE:
		return adjoint ? reel_fortran_wrong_argument(adjoint, 0) : "is needed to reverse";
	default:
		return NULL;
	}
}

int reel_fortran_run_carry_out(reel_run **run, const reel_action *action,
			       const CFI_cdesc_t *context, const CFI_cdesc_t *state,
			       const CFI_cdesc_t *adjoint, reel_tape *tape)
{
	int error = check(*run, context, NULL, NULL);
	bool reverses = action->kind == REEL_ACTION_REVERSE;
	const char *why = wrong_piece(*run, action, state, adjoint);

	if (error)
		return error;
	if (why)
		return refuse(*run, reverses ? "the adjoint" : "the state", why);
	return reel_run_carry_out(*run, action, context->base_addr, state ? state->base_addr : NULL,
				  adjoint ? adjoint->base_addr : NULL, tape);
}

/* ---- Adjoint objects ---- */

/* Called by reel_omp. The object keeps the address of the array, so the array must have no gaps. */
int reel_fortran_check_adjoint(const CFI_cdesc_t *array)
{
	const char *why = reel_fortran_wrong_argument(array, 0);

	return why ? reel_fail(-EINVAL, "the adjoint %s", why) : 0;
}

/* ---- States in fewer bytes ---- */

/*
 * The first dimension in Fortran is the last one in C. If the array has more dimensions than a
 * field may have, the outermost ones become one.
 */
static void set_extents(struct reel_field *field, const CFI_cdesc_t *array)
{
	unsigned d = field->dimensions;

	for (int of = 0; of < array->rank; of++) {
		if (d > 0)
			field->extent[--d] = (size_t)array->dim[of].extent;
		else
			field->extent[0] *= (size_t)array->dim[of].extent;
	}
}

/* A field without dimensions, for an array without a known size or with gaps, is refused later. */
struct reel_field reel_fortran_field_of(const CFI_cdesc_t *array)
{
	size_t elements = reel_fortran_elements(array);
	bool is_double = array->type == CFI_type_double, is_float = array->type == CFI_type_float;
	struct reel_field field = {0};

	if (elements == SIZE_MAX || !reel_fortran_is_contiguous(array))
		return field;
	field.dimensions = 1;
	if (!is_double && !is_float) {
		field.extent[0] = elements * array->elem_len;
		return field;
	}
	field.type = is_double ? REEL_FIELD_DOUBLE : REEL_FIELD_FLOAT;
	field.extent[0] = 1;
	if (array->rank > 1)
		field.dimensions = array->rank < REEL_MAX_DIMENSIONS ? (unsigned)array->rank
								     : REEL_MAX_DIMENSIONS;
	set_extents(&field, array);
	return field;
}
