/* SPDX-License-Identifier: MIT */
#include "step.h"

#include "common/parallel.h"
#include "common/report.h"
#include "model/ranks.h"

struct share share_of(int blocks, int part, int parts)
{
	return (struct share){(int)((long long)blocks * part / parts),
			      (int)((long long)blocks * (part + 1) / parts)};
}

/* By all threads, after the arrays are complete on this rank. They end with a barrier. */
static void exchange_corners(const struct mesh *mesh, real (*const array[])[AXES], int arrays)
{
	if (!mesh->ranks)
		return;
	if (thread_number() == 0)
		mesh->ranks->exchange_corners(mesh->ranks, array, arrays);
	BARRIER
}

static void exchange_faces(const struct mesh *mesh, real *field[AXES][2])
{
	if (!mesh->ranks)
		return;
	if (thread_number() == 0)
		mesh->ranks->exchange_faces(mesh->ranks, field);
	BARRIER
}

static void exchange_gradients(const struct mesh *mesh, real *const gradient[AXES])
{
	real *field[AXES][2] = {
		{gradient[0], gradient[0]}, {gradient[1], gradient[1]}, {gradient[2], gradient[2]},
	};

	exchange_faces(mesh, field);
}

static void find_trouble(const struct mesh *mesh, struct fields *fields)
{
	for (int b = fields->element_blocks; b-- > 0;)
		if (fields->element_block[b].trouble != NO_TROUBLE) {
			fields->trouble = fields->element_block[b].trouble;
			fields->place = mesh_whole_element(mesh, fields->element_block[b].place);
		}
}

/* The limits that any rank has found, and the trouble, so that all ranks stop in the same step. */
static void agree(struct ranks *ranks, struct clock *clock, struct fields *fields)
{
	struct least least[LIMITS + 1];

	for (int w = 0; w < LIMITS; w++)
		least[w] = (struct least){value_of(clock->limit[w]), clock->element[w]};
	least[LIMITS] = (struct least){fields->trouble ? (double)fields->place : (double)INFINITY,
				       (int)fields->trouble};
	ranks->take_least(ranks, least, LIMITS + 1);
	for (int w = 0; w < LIMITS; w++) {
		clock->limit[w] = least[w].value;
		clock->element[w] = least[w].index;
	}
	fields->trouble = (enum trouble)least[LIMITS].index;
	if (fields->trouble)
		fields->place = (int)least[LIMITS].value;
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
	exchange_corners(model->mesh, &fields->corner_force, 1);
	for (int b = nodes.first; b < nodes.last; b++)
		motion(model, state, fields, &fields->node_block[b]);
	BARRIER
	for (int b = elements.first; b < elements.last; b++)
		kinematics(model, state, fields, &fields->element_block[b]);
	BARRIER
	exchange_gradients(model->mesh, fields->gradient);
	for (int b = elements.first; b < elements.last; b++) {
		struct block *block = &fields->element_block[b];

		viscosity(model, fields, block);
		gas(model, state, fields, block);
		limits(model, state, fields, block);
	}
	BARRIER
	if (thread == 0) {
		clock_end(model, state, fields);
		find_trouble(model->mesh, fields);
		if (model->mesh->ranks)
			agree(model->mesh->ranks, &state->clock, fields);
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

static void add_time_step(const struct mesh *mesh, struct adjoint *adjoint)
{
	total *sum = &adjoint->sums.of[BY_TIME_STEP];
	real value;

	add_up(mesh, sum, &value, 1);
	adjoint->state.clock.time_step += value;
	*sum = (total){0};
}

void step_reverse(const struct model *model, const struct state *before,
		  const struct state *after, struct fields *fields, struct adjoint *adjoint)
{
	int thread = thread_number(), threads = team_size();
	struct share elements = share_of(fields->element_blocks, thread, threads);
	struct share nodes = share_of(fields->node_blocks, thread, threads);
	real (*const corner[])[AXES] = {adjoint->corner_position, adjoint->corner_velocity};
	struct state moved = *after; /* but its elements are as before */
	struct sums sums = {0};

	moved.volume = before->volume;
	BARRIER
	for (int b = elements.first; b < elements.last; b++)
		kinematics(model, &moved, fields, &fields->element_block[b]);
	BARRIER
	exchange_gradients(model->mesh, fields->gradient);
	if (thread == 0)
		clock_end_reverse(model, after, fields, adjoint);
	BARRIER
	for (int b = elements.first; b < elements.last; b++) {
		viscosity(model, fields, &fields->element_block[b]);
		gas_reverse(model, before, fields, adjoint, &sums, b);
		viscosity_reverse(model, fields, adjoint, &sums, b);
	}
	BARRIER
	exchange_faces(model->mesh, adjoint->neighbour);
	for (int b = elements.first; b < elements.last; b++)
		kinematics_reverse(model, after, fields, adjoint, &sums, b);
	BARRIER
	exchange_corners(model->mesh, corner, 2);
	for (int b = nodes.first; b < nodes.last; b++)
		motion_reverse(model, before, after, fields, adjoint, &sums, b);
	merge_sums(adjoint, &sums);
	BARRIER
	for (int b = elements.first; b < elements.last; b++)
		force_reverse(model, before, fields, adjoint, b);
	BARRIER
	exchange_corners(model->mesh, corner, 2);
	for (int b = nodes.first; b < nodes.last; b++)
		gather_reverse(model, fields, adjoint, b);
	if (thread == 0) {
		add_time_step(model->mesh, adjoint);
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
	     fields->place, text[fields->trouble], (int)state->clock.steps);
}

bool run_is_finished(const struct model *model, const struct state *state)
{
	return !(value_of(state->clock.time) < model->parameters.end_time);
}
