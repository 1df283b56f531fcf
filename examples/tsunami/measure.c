/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <reel.h>

#include "costs.h"
#include "report.h"
#include "step.h"

#define REPEATS 5
#define SECONDS_A_TIME 0.02
#define DISK_BYTES ((uint64_t)16 << 20)
#define PIECE_BYTES ((size_t)1 << 20)

/* What is measured on: nothing of it stays. */
struct trial {
	struct loop *loop;
	reel_model model;
	reel_tape tape;
	struct state state;
	struct adjoint adjoint;
	const double *displacement;
	void *snapshot;
	int64_t steps; /* at a time */
};

static void require(const struct trial *trial, int error)
{
	if (trial->loop->dry_step >= 0)
		report_dry(trial->loop->model, trial->loop->depth, &trial->state,
			   (int)trial->loop->dry_step);
	if (!error)
		error = reel_tape_error(&trial->tape);
	if (error)
		fail("the first steps cannot be measured: %s; choose a larger --budget",
		     reel_strerror(error));
}

static double time_advance(struct trial *trial)
{
	double start = wall_time();

	require(trial, trial->model.advance(trial->loop, &trial->state, 0, trial->steps));
	return (wall_time() - start) / (double)trial->steps;
}

static double time_record(struct trial *trial)
{
	double start = wall_time();

	require(trial, trial->model.record(trial->loop, &trial->state, 0, trial->steps,
					   &trial->tape));
	return (wall_time() - start) / (double)trial->steps;
}

static double time_reverse(struct trial *trial)
{
	double start = wall_time();

	require(trial, trial->model.reverse(trial->loop, &trial->adjoint, 0, trial->steps,
					    &trial->tape));
	return (wall_time() - start) / (double)trial->steps;
}

static double time_copy(struct trial *trial)
{
	double start = wall_time();

	trial->model.save(trial->loop, &trial->state, trial->snapshot);
	trial->model.load(trial->loop, &trial->state, trial->snapshot);
	return 0.5 * (wall_time() - start);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value)
{
	qsort(value, REPEATS, sizeof(*value), compare);
	return value[REPEATS / 2];
}

static void measure_steps(struct trial *trial, struct costs *costs)
{
	double advance[REPEATS], record[REPEATS], reverse[REPEATS], copy[REPEATS];

	for (int k = -1; k < REPEATS; k++) {
		int at = k < 0 ? 0 : k;

		state_start(trial->loop->model, trial->displacement, &trial->state);
		advance[at] = time_advance(trial);
		state_start(trial->loop->model, trial->displacement, &trial->state);
		record[at] = time_record(trial);
		/* The first time does not count, but for what it costs to touch fresh memory. */
		if (k < 0)
			costs->fresh_record = record[at];
		reverse[at] = time_reverse(trial);
		copy[at] = time_copy(trial);
	}
	costs->advance = median(advance);
	costs->record = median(record);
	costs->reverse = median(reverse);
	costs->copy = median(copy);
	costs->fresh_record = fmax(costs->fresh_record, costs->record);
}

/* So many at a time that it can be timed, and that they fit. */
static int64_t steps_at_a_time(struct trial *trial, const struct tape_shape *shape,
			       uint64_t memory)
{
	int64_t most = trial->loop->model->steps, fitting;
	double one;

	trial->steps = 1;
	state_start(trial->loop->model, trial->displacement, &trial->state);
	time_advance(trial);
	one = time_advance(trial);
	fitting = tape_steps_in(shape, memory);
	if (fitting < 1)
		fail("--budget of %.1f MB is too small: the tape of a step needs %.1f MB; choose a "
		     "larger --budget", (double)memory / 1e6, (double)tape_memory(shape, 1) / 1e6);
	if (most > fitting)
		most = fitting;
	return one * (double)most < SECONDS_A_TIME ? most : 1 + (int64_t)(SECONDS_A_TIME / one);
}

/* Seconds to put what are some states' bytes to a store and to get them back. */
static void time_transfers(reel_store *store, void *data, double *write, double *read)
{
	size_t pieces = DISK_BYTES / PIECE_BYTES;
	reel_transfer *transfer = allocate(pieces, sizeof(*transfer));
	double start = wall_time();

	for (size_t k = 0; k < pieces; k++) {
		transfer[k].data = (char *)data + k * PIECE_BYTES;
		transfer[k].bytes = PIECE_BYTES;
		reel_store_put_and_wait(store, &transfer[k]);
	}
	*write = wall_time() - start;
	start = wall_time();
	for (size_t k = 0; k < pieces; k++)
		if (!transfer[k].error)
			reel_store_get_and_wait(store, &transfer[k]);
	*read = wall_time() - start;
	free(transfer);
}

static void measure_disk(const struct tape_shape *shape, const char *directory,
			 struct costs *costs)
{
	double states = (double)DISK_BYTES / (double)shape->state_bytes, write, read;
	reel_store *store;
	void *data;

	if (reel_store_open(&store, "file", directory))
		fail("--spill %s: %s", directory, reel_store_problem());
	if (posix_memalign(&data, PIECE_BYTES, DISK_BYTES))
		fail("no memory to measure the disk");
	memset(data, 1, DISK_BYTES);
	time_transfers(store, data, &write, &read);
	costs->disk_write = costs->copy + write / states;
	costs->disk_read = costs->copy + read / states;
	free(data);
	reel_store_close(store);
}

static reel_pool *open_pool(const struct tape_shape *shape, uint64_t memory)
{
	struct reel_pool_options options = {.hard_budget = memory,
					    .slab_bytes = shape->slab_bytes};
	reel_pool *pool;

	if (reel_pool_open(&pool, &options))
		fail("no memory to measure the first steps");
	return pool;
}

struct costs costs_measure(struct loop *loop, const struct tape_shape *shape,
			   const double *displacement, uint64_t memory, const char *spill)
{
	const struct grid *grid = loop->model->grid;
	reel_pool *pool = open_pool(shape, memory);
	double *weights = allocate((size_t)loop->model->steps, sizeof(double));
	struct trial trial = {.loop = loop, .model = loop_model(loop),
			      .state = state_create(grid), .adjoint = adjoint_create(grid),
			      .displacement = displacement,
			      .snapshot = allocate(1, shape->state_bytes)};
	struct costs costs = {0};

	reel_tape_open(&trial.tape, pool, 0);
	loop->weights = weights;
	trial.steps = steps_at_a_time(&trial, shape, memory);
	measure_steps(&trial, &costs);
	if (spill)
		measure_disk(shape, spill, &costs);
	reel_tape_close(&trial.tape);
	reel_pool_close(pool);
	state_destroy(&trial.state);
	adjoint_destroy(&trial.adjoint);
	free(trial.snapshot);
	free(weights);
	return costs;
}
