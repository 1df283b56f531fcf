/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <errno.h>
#include <string.h>

#include <reel.h>

#include "common/fingerprint.h"
#include "common/parallel.h"
#include "common/progress.h"
#include "pack.h"

static struct part own_part(const struct loop *loop)
{
	return part_of(&loop->fields, thread_number(), team_size());
}

static double *push_span(reel_tape *tape, size_t bytes)
{
	return reel_push_span(tape, double, bytes / 8);
}

static const double *pop_span(reel_tape *tape, size_t bytes)
{
	return reel_pop_span(tape, double, bytes / 8);
}

static void show_forward(struct loop *loop, int64_t step)
{
	if (thread_number() != 0 || step < loop->known)
		return;
	loop->known = step + 1;
	if (loop->steps)
		progress_show("forward sweep", (int)loop->known, (int)loop->steps);
}

/*
 * By all threads; `span` is theirs together. Returns whether the steps go on: the state is usable,
 * and the tape took the step. If the tape of a rank refuses it, the other ranks still wait for the
 * results of this rank.
 */
static bool record_step(struct loop *loop, struct state *state, reel_tape *tape, double **span)
{
	struct part whole = whole_of(loop->model->mesh), part = own_part(loop);
	bool goes_on;

	if (thread_number() == 0)
		*span = push_span(tape, state_bytes(whole));
	BARRIER
	if (!*span && !loop->model->mesh->ranks)
		return false;
	if (*span)
		state_pack(state, whole, part, *span);
	goes_on = step_forward(loop->model, state, &loop->fields);
	if (thread_number() == 0)
		*span = push_span(tape, branch_bytes(whole));
	BARRIER
	if (*span)
		branches_pack(loop->fields.branches, loop->fields.stopped, whole, part, *span);
	/* Behind the barrier thread 0 may push the next span. */
	goes_on = goes_on && (*span || loop->model->mesh->ranks);
	BARRIER
	return goes_on;
}

static int run(struct loop *loop, struct state *state, int64_t first, int64_t last,
	       reel_tape *tape)
{
	double *span = NULL;

	PARALLEL_REGION
	{
		bool goes_on = true;

		for (int64_t step = first; goes_on && step < last; step++) {
			goes_on = tape ? record_step(loop, state, tape, &span)
				       : step_forward(loop->model, state, &loop->fields);
			show_forward(loop, step);
		}
	}
	return loop->fields.trouble ? -EDOM : 0;
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	return run(context, state, first, last, NULL);
}

/* Returns no error of the tape: it sticks to the tape, and the run looks at that. */
static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	return run(context, state, first, last, tape);
}

/*
 * By all threads. Returns whether the steps go on: as long as the tape gives them back; on ranks to
 * the end, since the other ranks wait.
 */
static bool pop_step(struct loop *loop, struct adjoint *adjoint, struct state *before,
		     reel_tape *tape, const double *span[2])
{
	struct part whole = whole_of(loop->model->mesh), part = own_part(loop);

	/* The spans that were popped last, two of them, are readable. */
	if (thread_number() == 0) {
		span[0] = pop_span(tape, branch_bytes(whole));
		span[1] = pop_span(tape, state_bytes(whole));
	}
	BARRIER
	if (!span[0] || !span[1])
		return loop->model->mesh->ranks;
	branches_unpack(adjoint->branches, adjoint->stopped, whole, part, span[0]);
	state_unpack(before, whole, part, span[1]);
	return true;
}

static int reverse(void *context, void *passed, int64_t first, int64_t last, reel_tape *tape)
{
	struct loop *loop = context;
	struct loop_adjoint *adjoint = passed;
	struct state *state[2] = {&adjoint->after, &loop->other};
	const double *span[2] = {NULL, NULL};

	PARALLEL_REGION
	{
		for (int64_t step = last; step-- > first;) {
			const struct state *after = state[(last - 1 - step) % 2];
			struct state *before = state[(last - step) % 2];

			if (!pop_step(loop, &adjoint->adjoint, before, tape, span))
				break;
			step_reverse(loop->model, before, after, &loop->fields, &adjoint->adjoint);
			if (thread_number() == 0)
				progress_show("reverse sweep", (int)(loop->known - step),
					      (int)loop->known);
		}
	}
	if ((last - first) % 2) {
		struct state before = loop->other;

		loop->other = adjoint->after;
		adjoint->after = before;
	}
	return 0;
}

static int save(void *context, const void *state, void *snapshot)
{
	struct part whole = whole_of(((const struct loop *)context)->model->mesh);

	PARALLEL_REGION
	state_pack(state, whole, own_part(context), snapshot);
	return 0;
}

static int load(void *context, void *state, const void *snapshot)
{
	struct part whole = whole_of(((const struct loop *)context)->model->mesh);

	PARALLEL_REGION
	state_unpack(state, whole, own_part(context), snapshot);
	return 0;
}

reel_model loop_model(const struct loop *loop)
{
	return (reel_model){
		.state_bytes = state_bytes(whole_of(loop->model->mesh)),
		.advance = advance, .record = record, .reverse = reverse,
		.save = save, .load = load,
	};
}

size_t loop_step_bytes(const struct mesh *mesh)
{
	struct part whole = whole_of(mesh);

	return state_bytes(whole) + branch_bytes(whole);
}

bool loop_is_finished(void *loop, const void *state, int64_t step)
{
	(void)step;
	return run_is_finished(((const struct loop *)loop)->model, state);
}

/* The beginning of a packed adjoint. The arrays follow. */
struct header {
	uint64_t problem;
	int64_t known;
	real objective;
	struct sums sums;
};

size_t loop_adjoint_bytes(const struct loop *loop)
{
	struct part whole = whole_of(loop->model->mesh);

	return sizeof(struct header) + 2 * state_bytes(whole) +
	       sizeof(real) * (whole.elements.count + whole.nodes.count);
}

int loop_save_adjoint(void *context, const void *passed, void *bytes)
{
	const struct loop *loop = context;
	const struct loop_adjoint *adjoint = passed;
	struct part whole = whole_of(loop->model->mesh);
	struct header head = {.problem = loop->problem, .known = loop->known};
	char *place = (char *)bytes + sizeof(head);

	if (adjoint) {
		head.objective = adjoint->objective;
		head.sums = adjoint->adjoint.sums;
		state_pack(&adjoint->adjoint.state, whole, whole, place);
		state_pack(&adjoint->after, whole, whole, place += state_bytes(whole));
		place += state_bytes(whole);
		memcpy(place, adjoint->adjoint.reference_volume,
		       whole.elements.count * sizeof(real));
		memcpy(place + whole.elements.count * sizeof(real), adjoint->adjoint.node_mass,
		       whole.nodes.count * sizeof(real));
	}
	memcpy(bytes, &head, sizeof(head));
	return 0;
}

int loop_load_adjoint(void *context, void *passed, const void *bytes)
{
	struct loop *loop = context;
	struct loop_adjoint *adjoint = passed;
	struct part whole = whole_of(loop->model->mesh);
	struct header head;
	const char *place = (const char *)bytes + sizeof(head);

	memcpy(&head, bytes, sizeof(head));
	if (head.problem != loop->problem)
		return -ESTALE;
	loop->known = head.known;
	if (!adjoint)
		return 0;
	adjoint->objective = head.objective;
	adjoint->adjoint.sums = head.sums;
	state_unpack(&adjoint->adjoint.state, whole, whole, place);
	state_unpack(&adjoint->after, whole, whole, place += state_bytes(whole));
	place += state_bytes(whole);
	memcpy(adjoint->adjoint.reference_volume, place, whole.elements.count * sizeof(real));
	memcpy(adjoint->adjoint.node_mass, place + whole.elements.count * sizeof(real),
	       whole.nodes.count * sizeof(real));
	return 0;
}

/* The number of all that the states and the adjoint depend on. */
static uint64_t number_of(const struct model *model, const struct controls *controls)
{
	const struct mesh *mesh = model->mesh;
	const int whole[] = {mesh->whole_size, mesh->size, mesh->first[0], mesh->first[1],
			     mesh->first[2], model->sensor, model->freezes_time_step};
	uint64_t value = FINGERPRINT_START;

	value = fingerprint_add(value, whole, sizeof(whole));
	value = fingerprint_add(value, &model->parameters, sizeof(model->parameters));
	for (int a = 0; a < AXES; a++)
		value = fingerprint_add(value, controls->position[a],
					(size_t)mesh->nodes * sizeof(real));
	return fingerprint_add(value, controls->energy, (size_t)mesh->elements * sizeof(real));
}

struct loop loop_open(const struct model *model, const struct controls *controls, int64_t steps)
{
	return (struct loop){
		.model = model,
		.fields = fields_create(model->mesh),
		.other = state_create(model->mesh),
		.steps = steps,
		.problem = number_of(model, controls),
	};
}

struct loop loop_open_beside(const struct loop *loop)
{
	return (struct loop){
		.model = loop->model,
		.fields = fields_create(loop->model->mesh),
		.other = state_create(loop->model->mesh),
	};
}

void loop_close(struct loop *loop)
{
	fields_destroy(&loop->fields);
	state_destroy(&loop->other);
}
