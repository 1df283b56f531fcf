/* SPDX-License-Identifier: MIT */
#include "step.h"

#include "common/parallel.h"
#include "common/report.h"

struct share share_of(int blocks, int part, int parts)
{
	return (struct share){(int)((long long)blocks * part / parts),
			      (int)((long long)blocks * (part + 1) / parts)};
}

static void find_trouble(struct fields *fields)
{
	for (int b = fields->element_blocks; b-- > 0;)
		if (fields->element_block[b].trouble != NO_TROUBLE)
			fields->trouble = &fields->element_block[b];
}

bool step_forward(const struct model *model, struct state *state, struct fields *fields)
{
	int thread = thread_number(), threads = team_size();
	struct share elements = share_of(fields->element_blocks, thread, threads);
	struct share nodes = share_of(fields->node_blocks, thread, threads);

	BARRIER
	if (thread == 0)
		clock_begin(model, &state->clock);
	for (int b = elements.first; b < elements.last; b++)
		force(model, state, fields, &fields->element_block[b]);
	BARRIER
	for (int b = nodes.first; b < nodes.last; b++)
		motion(model, state, fields, &fields->node_block[b]);
	BARRIER
	for (int b = elements.first; b < elements.last; b++)
		kinematics(model, state, fields, &fields->element_block[b]);
	BARRIER
	for (int b = elements.first; b < elements.last; b++) {
		struct block *block = &fields->element_block[b];

		viscosity(model, fields, block);
		gas(model, state, fields, block);
		limits(model, state, fields, block);
	}
	BARRIER
	if (thread == 0) {
		clock_end(model, state, fields);
		find_trouble(fields);
	}
	BARRIER
	return !fields->trouble;
}

/* The order of the threads does not matter, since the sums are exact. */
static void merge_sums(struct adjoint *adjoint, const struct sums *sums)
{
	CRITICAL
	for (int i = 0; i < SUMS; i++)
		total_merge(&adjoint->sums.of[i], &sums->of[i]);
}

static void add_time_step(struct adjoint *adjoint)
{
	total *sum = &adjoint->sums.of[BY_TIME_STEP];

	adjoint->state.clock.time_step += total_value(sum);
	*sum = (total){0};
}

void step_reverse(const struct model *model, const struct state *before,
		  const struct state *after, struct fields *fields, struct adjoint *adjoint)
{
	int thread = thread_number(), threads = team_size();
	struct share elements = share_of(fields->element_blocks, thread, threads);
	struct share nodes = share_of(fields->node_blocks, thread, threads);
	struct state moved = *after; /* but its elements are as before */
	struct sums sums = {0};

	moved.volume = before->volume;
	BARRIER
	for (int b = elements.first; b < elements.last; b++)
		kinematics(model, &moved, fields, &fields->element_block[b]);
	BARRIER
	if (thread == 0)
		clock_end_reverse(model, after, fields, adjoint);
	BARRIER
	for (int b = elements.first; b < elements.last; b++) {
		viscosity(model, fields, &fields->element_block[b]);
		gas_reverse(model, before, fields, adjoint, &sums, b);
		viscosity_reverse(model, fields, adjoint, &sums, b);
	}
	BARRIER
	for (int b = elements.first; b < elements.last; b++)
		kinematics_reverse(model, after, fields, adjoint, &sums, b);
	BARRIER
	for (int b = nodes.first; b < nodes.last; b++)
		motion_reverse(model, before, after, fields, adjoint, &sums, b);
	merge_sums(adjoint, &sums);
	BARRIER
	for (int b = elements.first; b < elements.last; b++)
		force_reverse(model, before, fields, adjoint, b);
	BARRIER
	for (int b = nodes.first; b < nodes.last; b++)
		gather_reverse(model, fields, adjoint, b);
	if (thread == 0) {
		add_time_step(adjoint);
		clock_begin_reverse(model, &after->clock, adjoint);
	}
	BARRIER
}

_Noreturn void report_trouble(const struct fields *fields, const struct state *state)
{
	static const char *const text[] = {
		[TANGLED] = "is tangled: its volume is not above 0",
		[VOLUME_RANGE] = "has a volume outside of the range of the equation of state",
		[ENERGY_RANGE] = "has an energy outside of the range of the equation of state",
		[VISCOSITY_RANGE] = "has too large an artificial viscosity",
	};

	fail("element %d %s after step %d; give a smoother initial state",
	     fields->trouble->place, text[fields->trouble->trouble], (int)state->clock.steps);
}

bool run_is_finished(const struct model *model, const struct state *state)
{
	return !(value_of(state->clock.time) < model->parameters.end_time);
}
