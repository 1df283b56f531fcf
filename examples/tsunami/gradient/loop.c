/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <reel.h>

#include "common/progress.h"
#include "common/report.h"
#include "model/step.h"

/* The memory that a call needs besides its state; kept for the next call. */
struct workspace {
	struct workspace *below;
	struct state other;
	struct diagnostics diagnostics;
};

/* One call of a callback, shared by the threads of its team. */
struct call {
	struct loop *loop;
	struct workspace *workspace;
	int64_t first, last;
	reel_tape *tape;
	/* Where a chunk lies, NULL if the tape refused it; popped: of even and of odd ones. */
	double *pushed;
	const double *popped[2];
	/* Relaxed: barriers stand between the threads that set it and those that read it. */
	_Atomic int dry;
	int64_t dry_step;
};

static struct workspace *take_workspace(struct loop *loop)
{
	struct workspace *workspace;

	pthread_mutex_lock(&loop->lock);
	workspace = loop->unused;
	if (workspace)
		loop->unused = workspace->below;
	pthread_mutex_unlock(&loop->lock);
	if (workspace)
		return workspace;
	workspace = allocate(1, sizeof(*workspace));
	workspace->other = state_create(loop->model->grid);
	workspace->diagnostics = diagnostics_create(loop->model->grid);
	return workspace;
}

static void give_workspace(struct loop *loop, struct workspace *workspace)
{
	pthread_mutex_lock(&loop->lock);
	workspace->below = loop->unused;
	loop->unused = workspace;
	pthread_mutex_unlock(&loop->lock);
}

static int is_dry(struct call *call)
{
	return atomic_load_explicit(&call->dry, memory_order_relaxed);
}

static int chunks_of(const struct call *call)
{
	int rows = call->loop->model->grid->rows;

	return (rows + call->loop->chunk_rows - 1) / call->loop->chunk_rows;
}

static struct rows rows_of_chunk(const struct call *call, int chunk)
{
	int first = chunk * call->loop->chunk_rows, last = first + call->loop->chunk_rows;
	int rows = call->loop->model->grid->rows;

	return (struct rows){first, last < rows ? last : rows};
}

static size_t chunk_values(const struct call *call, struct rows chunk)
{
	return (size_t)(chunk.last - chunk.first) * row_values(call->loop->model->grid);
}

/* The calling thread's part of a chunk. */
static struct rows part_of(struct rows chunk)
{
	struct rows part = rows_of_part(chunk.last - chunk.first, thread_number(), team_size());

	return (struct rows){chunk.first + part.first, chunk.first + part.last};
}

static size_t part_offset(const struct call *call, struct rows chunk, struct rows part)
{
	return (size_t)(part.first - chunk.first) * row_values(call->loop->model->grid);
}

static void push_chunk(struct call *call, int k)
{
	if (thread_number() == 0)
		call->pushed = reel_push_span(call->tape, double,
					      chunk_values(call, rows_of_chunk(call, k)));
}

/*
 * By all threads of the team, after push_chunk(call, 0) and a barrier. Returns to all of
 * them alike whether the tape took it. A span is filled before the next one is pushed; after
 * the last one the step has barriers enough.
 */
static bool fill_chunks(struct call *call, const struct state *now)
{
	for (int k = 0; k < chunks_of(call); k++) {
		struct rows chunk = rows_of_chunk(call, k), part = part_of(chunk);

		if (k > 0) {
			BARRIER
			push_chunk(call, k);
			BARRIER
		}
		if (!call->pushed)
			return false;
		state_pack(call->loop->model->grid, now, part,
			   call->pushed + part_offset(call, chunk, part));
	}
	return true;
}

/*
 * By all threads of the team; returns to all of them alike whether the tape gave it. The two spans
 * popped last are readable: a chunk is read while the next one is popped, and the barrier after
 * that keeps the third one waiting.
 */
static bool pop_state(struct call *call, struct state *now)
{
	for (int k = chunks_of(call); k-- > 0;) {
		struct rows chunk = rows_of_chunk(call, k), part = part_of(chunk);
		const double **values = &call->popped[k & 1];

		if (thread_number() == 0)
			*values = reel_pop_span(call->tape, double, chunk_values(call, chunk));
		BARRIER
		if (!*values)
			return false;
		state_unpack(call->loop->model->grid, now, part,
			     *values + part_offset(call, chunk, part));
	}
	return true;
}

static void look_for_dry_cells(struct call *call, const struct state *now, struct rows rows,
			       int64_t step)
{
	const struct loop *loop = call->loop;

	if (!step_is_wet(loop->model, loop->depth, now, rows, step))
		atomic_store_explicit(&call->dry, 1, memory_order_relaxed);
}

/* By all threads of the team. If a cell fell dry on one rank, all ranks stop. */
static void look_at_other_ranks(struct call *call, int64_t step)
{
	const struct model *model = call->loop->model;

	if (!model->ranks)
		return;
	BARRIER
	if (thread_number() == 0 && is_dry_somewhere(model, is_dry(call), step))
		atomic_store_explicit(&call->dry, 1, memory_order_relaxed);
}

static void show_forward(const struct call *call, int64_t step)
{
	if (thread_number() == 0 && step >= call->loop->known)
		progress_show("forward sweep", (int)step + 1, call->loop->model->steps);
}

/*
 * By all threads of the team, on states of their own that point to the same fields. If the tape
 * refuses a state the other ranks still wait for the rows of later steps.
 */
static void run_team(struct call *call, struct state *now, struct state *next)
{
	struct loop *loop = call->loop;
	const struct model *model = loop->model;
	struct share share = share_of_thread(model, thread_number(), team_size());
	ptrdiff_t gauge_place = grid_row(model->grid, model->gauge_row) + model->gauge_column;

	for (int64_t step = call->first; step <= call->last; step++) {
		/*
		 * A step that has run before was wet. Threads that look ahead run no others, and
		 * must not make calls that all ranks make together.
		 */
		if (step >= loop->known) {
			look_for_dry_cells(call, now, share.rows, step);
			look_at_other_ranks(call, step);
		}
		if (call->tape && step < call->last)
			push_chunk(call, 0);
		BARRIER
		if (is_dry(call) && thread_number() == 0)
			call->dry_step = step;
		if (is_dry(call) || step == call->last)
			break;
		if (call->tape && !fill_chunks(call, now) && !model->ranks)
			break;
		primal_step(model, loop->depth, now, next, &call->workspace->diagnostics, share);
		if (step >= loop->known && rows_hold(share.rows, model->gauge_row))
			loop->gauge[step] = next->elevation[gauge_place];
		state_swap(now, next);
		show_forward(call, step);
	}
}

static int run(struct loop *loop, struct state *state, int64_t first, int64_t last,
	       reel_tape *tape)
{
	struct call call = {.loop = loop, .workspace = take_workspace(loop), .first = first,
			    .last = last, .tape = tape};
	struct state start = *state, other = call.workspace->other;

	PARALLEL_REGION
	{
		struct state now = start, next = other;

		run_team(&call, &now, &next);
		if (thread_number() == 0) {
			*state = now;
			call.workspace->other = next;
		}
	}
	give_workspace(loop, call.workspace);
	if (is_dry(&call)) {
		loop->dry_step = call.dry_step;
		return -EDOM;
	}
	if (last > loop->known)
		loop->known = last;
	return 0;
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	return run(context, state, first, last, NULL);
}

/* If the tape refuses a push, it keeps the error, which the caller checks. */
static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	return run(context, state, first, last, tape);
}

/* If the tape does not give a state, so do they here. */
static void reverse_team(struct call *call, struct adjoint *adjoint, struct state *now,
			 struct state *next)
{
	struct loop *loop = call->loop;
	const struct model *model = loop->model;
	struct share share = share_of_thread(model, thread_number(), team_size());
	ptrdiff_t gauge_place = grid_row(model->grid, model->gauge_row) + model->gauge_column;

	for (int64_t step = call->last; step-- > call->first;) {
		if (!pop_state(call, now) && !model->ranks)
			break;
		if (rows_hold(share.rows, model->gauge_row))
			adjoint->state.elevation[gauge_place] += loop->weights[step];
		BARRIER
		adjoint_step(model, loop->depth, now, next, &adjoint->state,
			     &call->workspace->diagnostics, &adjoint->sensitivities,
			     adjoint->depth_gradient, share);
		state_swap(now, next);
		if (thread_number() == 0)
			progress_show("reverse sweep", model->steps - (int)step, model->steps);
	}
}

/* The state before the step reversed last stays with the adjoint. */
static int reverse(void *context, void *passed, int64_t first, int64_t last, reel_tape *tape)
{
	struct loop *loop = context;
	struct adjoint *adjoint = passed;
	struct call call = {.loop = loop, .workspace = take_workspace(loop), .first = first,
			    .last = last, .tape = tape};
	struct state after = adjoint->next, other = call.workspace->other;

	PARALLEL_REGION
	{
		struct state now = other, next = after;

		reverse_team(&call, adjoint, &now, &next);
		if (thread_number() == 0) {
			adjoint->next = next;
			call.workspace->other = now;
		}
	}
	give_workspace(loop, call.workspace);
	return 0;
}

/*
 * A snapshot has all elevations, then all velocities u, then all v: fields of their own, since a
 * tolerance is relative to the largest value of a field. In one field, velocities would be rounded
 * to a part of the largest elevation, which is 20 times as large.
 */
static int save(void *context, const void *passed, void *snapshot)
{
	const struct grid *grid = ((const struct loop *)context)->model->grid;
	const struct state *state = passed;
	const double *field[COMPONENTS] = {state->elevation, state->u, state->v};
	size_t columns = (size_t)grid->columns;

	PARALLEL_REGION
	{
		struct rows rows = rows_of_part(grid->rows, thread_number(), team_size());
		double *place = snapshot;

		for (int k = 0; k < COMPONENTS; k++, place += (size_t)grid->rows * columns)
			for (int j = rows.first; j < rows.last; j++)
				memcpy(place + (size_t)j * columns, field[k] + grid_row(grid, j),
				       columns * sizeof(double));
	}
	return 0;
}

static int load(void *context, void *passed, const void *snapshot)
{
	const struct grid *grid = ((const struct loop *)context)->model->grid;
	const struct state *state = passed;
	double *field[COMPONENTS] = {state->elevation, state->u, state->v};
	size_t columns = (size_t)grid->columns;

	PARALLEL_REGION
	{
		struct rows rows = rows_of_part(grid->rows, thread_number(), team_size());
		const double *place = snapshot;

		for (int k = 0; k < COMPONENTS; k++, place += (size_t)grid->rows * columns)
			for (int j = rows.first; j < rows.last; j++)
				memcpy(field[k] + grid_row(grid, j), place + (size_t)j * columns,
				       columns * sizeof(double));
	}
	return 0;
}

void loop_list_fields(const struct grid *grid, struct reel_field field[COMPONENTS])
{
	for (int k = 0; k < COMPONENTS; k++)
		field[k] = (struct reel_field){REEL_FIELD_DOUBLE, 2,
					       {(size_t)grid->rows, (size_t)grid->columns}};
}

reel_model loop_model(const struct loop *loop)
{
	const struct grid *grid = loop->model->grid;

	return (reel_model){
		.state_bytes = (size_t)grid->rows * row_values(grid) * sizeof(double),
		.advance = advance, .record = record, .reverse = reverse,
		.save = save, .load = load,
	};
}

bool loop_is_finished(void *loop, const void *state, int64_t step)
{
	(void)state;
	return step >= ((const struct loop *)loop)->model->steps;
}

void loop_open(struct loop *loop, const struct model *model, int chunk_rows)
{
	*loop = (struct loop){.model = model, .dry_step = -1, .chunk_rows = chunk_rows};
	pthread_mutex_init(&loop->lock, NULL);
}

void loop_close(struct loop *loop)
{
	struct workspace *workspace;

	while ((workspace = loop->unused)) {
		loop->unused = workspace->below;
		state_destroy(&workspace->other);
		diagnostics_destroy(&workspace->diagnostics);
		free(workspace);
	}
	pthread_mutex_destroy(&loop->lock);
}

struct adjoint adjoint_create(const struct grid *grid)
{
	return (struct adjoint){state_create(grid), state_create(grid), grid_field(grid),
				sensitivities_create(grid)};
}

void adjoint_destroy(struct adjoint *adjoint)
{
	state_destroy(&adjoint->state);
	state_destroy(&adjoint->next);
	free(adjoint->depth_gradient);
	sensitivities_destroy(&adjoint->sensitivities);
}
