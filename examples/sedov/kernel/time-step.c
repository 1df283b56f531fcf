/* SPDX-License-Identifier: MIT */
/*
 * The time step: a part of the least limit that an element sets, by the Courant condition or by the
 * change of its volume. It grows slowly, and the last steps end at the end of the run.
 */
#include "kernel.h"

#define TINY 1e-20
#define NO_LIMIT 1e20

/* How a time step is found: one of these, and then one of those. */
enum {
	BY_COURANT = 1, BY_VOLUME, BY_GROWTH, BY_MAX_STEP, AS_BEFORE, FOUND_BITS = 3,
	TO_THE_END = 1 << FOUND_BITS, TWO_THIRDS = 2 << FOUND_BITS,
};

static real courant_limit(const struct model *model, real length, real expansion, real speed)
{
	double coefficient = model->parameters.courant_viscosity;
	real square = speed * speed, jump = length * expansion;

	if (value_of(expansion) < 0.0)
		square += 64.0 * coefficient * coefficient * jump * jump;
	return length / square_root(square);
}

static void take_least(real limit, int element, int which, struct block *block)
{
	if (value_of(limit) < value_of(block->limit[which])) {
		block->limit[which] = limit;
		block->element[which] = element;
	}
}

void limits(const struct model *model, const struct state *state, const struct fields *fields,
	    struct block *block)
{
	for (int w = 0; w < LIMITS; w++) {
		block->limit[w] = NO_LIMIT;
		block->element[w] = -1;
	}
	for (int e = block->first; e < block->last; e++) {
		real expansion = fields->expansion[e];

		if (value_of(expansion) == 0.0)
			continue;
		take_least(courant_limit(model, fields->length[e], expansion,
					 state->sound_speed[e]), e, COURANT_LIMIT, block);
		take_least(model->parameters.max_volume_change / (magnitude(expansion) + TINY), e,
			   VOLUME_LIMIT, block);
	}
}

/*
 * The first of equal ones counts, so that the choice does not depend on the threads. Elements of a
 * part have the order that they have in the whole cube.
 */
void clock_end(const struct model *model, struct state *state, const struct fields *fields)
{
	struct clock *clock = &state->clock;
	struct block least = {.limit = {NO_LIMIT, NO_LIMIT}, .element = {-1, -1}};

	for (int b = 0; b < fields->element_blocks; b++)
		for (int w = 0; w < LIMITS; w++)
			take_least(fields->element_block[b].limit[w],
				   fields->element_block[b].element[w], w, &least);
	for (int w = 0; w < LIMITS; w++) {
		clock->limit[w] = least.limit[w];
		clock->element[w] = least.element[w] < 0 ? -1 :
				    mesh_whole_element(model->mesh, least.element[w]);
	}
	if (model->sensor >= 0)
		clock->impulse += clock->time_step * state->pressure[model->sensor];
}

/* The time step that the limits allow. */
static real allowed_step(const struct parameters *parameters, const struct clock *clock,
			 uint32_t *branch)
{
	real before = clock->time_step, least = NO_LIMIT;
	double growth;

	*branch = BY_MAX_STEP;
	if (clock->element[COURANT_LIMIT] >= 0) {
		least = clock->limit[COURANT_LIMIT] / 2.0;
		*branch = BY_COURANT;
	}
	if (clock->element[VOLUME_LIMIT] >= 0 &&
	    value_of(clock->limit[VOLUME_LIMIT]) < value_of(least)) {
		least = clock->limit[VOLUME_LIMIT] * 2.0 / 3.0;
		*branch = BY_VOLUME;
	}
	growth = value_of(least) / value_of(before);
	if (growth >= 1.0 && growth < parameters->min_growth) {
		least = before;
		*branch = AS_BEFORE;
	} else if (growth > parameters->max_growth) {
		least = before * parameters->max_growth;
		*branch = BY_GROWTH;
	}
	if (value_of(least) > parameters->max_time_step) {
		least = parameters->max_time_step;
		*branch = BY_MAX_STEP;
	}
	return least;
}

void clock_begin(const struct model *model, struct clock *clock)
{
	const struct parameters *parameters = &model->parameters;
	real left = parameters->end_time - clock->time;

	clock->branches = AS_BEFORE;
	if (clock->steps > 0)
		clock->time_step = allowed_step(parameters, clock, &clock->branches);
	/* Two steps of equal length are better than a short last one. */
	if (value_of(left) > value_of(clock->time_step) &&
	    value_of(left) < 4.0 * value_of(clock->time_step) / 3.0) {
		left = 2.0 * clock->time_step / 3.0;
		clock->branches |= TWO_THIRDS;
	}
	if (value_of(left) < value_of(clock->time_step)) {
		clock->time_step = left;
		if (!(clock->branches & TWO_THIRDS))
			clock->branches |= TO_THE_END;
	}
	if (model->freezes_time_step)
		clock->time_step = value_of(clock->time_step);
	clock->time += clock->time_step;
	clock->steps++;
}

/* Computes the adjoints of length, expansion and sound speed of the element that set a limit. */
static void limit_reverse(const struct model *model, const struct state *after,
			  const struct fields *fields, int which, struct adjoint *adjoint)
{
	double coefficient = model->parameters.courant_viscosity;
	int e = adjoint->limited[which].element;
	real bar = adjoint->state.clock.limit[which], limit = after->clock.limit[which];
	real length = fields->length[e], expansion = fields->expansion[e];
	real speed = after->sound_speed[e], square = speed * speed, factor = 0.0;

	if (which == VOLUME_LIMIT) {
		real sign = adjoint->branches[e] & CONTRACTS ? -1.0 : 1.0;

		adjoint->limited[which].expansion = -sign * bar * limit /
						    (magnitude(expansion) + TINY);
		return;
	}
	if (adjoint->branches[e] & CONTRACTS)
		factor = 64.0 * coefficient * coefficient * length * length;
	square += factor * expansion * expansion;
	/* The limit is the length over the root of the square, which also contains the length. */
	adjoint->limited[which].length = bar * limit * speed * speed / (square * length);
	adjoint->limited[which].expansion = -bar * limit * factor * expansion / square;
	adjoint->state.sound_speed[e] -= bar * limit * speed / square;
}

void clock_end_reverse(const struct model *model, const struct state *after,
		       const struct fields *fields, struct adjoint *adjoint)
{
	struct clock *bar = &adjoint->state.clock;

	if (model->sensor >= 0) {
		total_add(&adjoint->sums.of[BY_TIME_STEP],
			  bar->impulse * after->pressure[model->sensor]);
		adjoint->state.pressure[model->sensor] += bar->impulse * after->clock.time_step;
	}
	for (int w = 0; w < LIMITS; w++) {
		int element = mesh_element_here(model->mesh, after->clock.element[w]);

		adjoint->limited[w].element = value_of(bar->limit[w]) == 0.0 ? -1 : element;
		adjoint->limited[w].length = adjoint->limited[w].expansion = 0.0;
		if (adjoint->limited[w].element >= 0)
			limit_reverse(model, after, fields, w, adjoint);
	}
}

void clock_begin_reverse(const struct model *model, const struct clock *after,
			 struct adjoint *adjoint)
{
	struct clock *bar = &adjoint->state.clock;
	real step_bar = bar->time_step + bar->time;

	bar->time_step = bar->limit[COURANT_LIMIT] = bar->limit[VOLUME_LIMIT] = 0.0;
	if (model->freezes_time_step)
		return;
	if (after->branches & TO_THE_END) {
		bar->time -= step_bar;
		return;
	}
	if (after->branches & TWO_THIRDS)
		step_bar *= 2.0 / 3.0;
	switch (after->branches & ((1u << FOUND_BITS) - 1)) {
	case BY_COURANT:
		bar->limit[COURANT_LIMIT] = step_bar / 2.0;
		break;
	case BY_VOLUME:
		bar->limit[VOLUME_LIMIT] = step_bar * 2.0 / 3.0;
		break;
	case BY_GROWTH:
		bar->time_step = step_bar * model->parameters.max_growth;
		break;
	case AS_BEFORE:
		bar->time_step = step_bar;
		break;
	default: /* the longest step is a constant */
		break;
	}
}
