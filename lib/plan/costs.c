/* SPDX-License-Identifier: MIT */
/*
 * Measures the costs of a loop: runs some steps of the model from state 0 and takes the median of
 * the times. The caller's thread runs all of it, since the clock would also count other threads
 * that share the processor. Afterwards the state is state 0 again and the tape is as it was, also
 * after an error unless the tape failed.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "costs.h"
#include "os/clock.h"

/* Number of rounds whose median is taken, after the rounds that find the length. */
#define ROUNDS 7
/* Minimum time of a sample: reading the clock takes far less. */
#define SAMPLE_SECONDS 1e-3
/*
 * The tape of a sample should be larger than the caches, as the tapes of long segments are,
 * unless a sample would take longer than LONG_SECONDS.
 */
#define SAMPLE_BYTES ((uint64_t)16 << 20)
#define LONG_SECONDS 8e-3
/* Maximum number of repetitions of a sample that is short since the loop has few steps. */
#define MAX_REPETITIONS 100000

struct trial {
	reel_tape *tape;
	const reel_model *model;
	void *context;
	void *state;
	void *adjoint;
	void *snapshot;  /* a snapshot of state 0 */
	void *scratch;   /* memory for the snapshots that are timed */
	reel_mark before;
	uint64_t bytes_before;
	int64_t most;      /* number of steps of the loop */
	uint64_t memory;   /* bytes that the tape may take up; 0: no limit */
	int64_t steps;     /* number of steps run at a time */
	int64_t repetitions;
	uint64_t tape_bytes; /* size of the tape of `steps` steps */
};

enum part { ADVANCE, RECORD, REVERSE, COPY, PARTS };

/* Seconds of `repetitions` runs of `steps` steps, and of the same number of copies of a state. */
struct sample {
	double seconds[PARTS];
};

static int save(const struct trial *trial, void *snapshot)
{
	if (trial->model->save)
		return trial->model->save(trial->context, trial->state, snapshot);
	memcpy(snapshot, trial->state, trial->model->state_bytes);
	return 0;
}

static int load(const struct trial *trial)
{
	if (trial->model->load)
		return trial->model->load(trial->context, trial->state, trial->snapshot);
	memcpy(trial->state, trial->snapshot, trial->model->state_bytes);
	return 0;
}

/* ---- One run ---- */

static int time_advance(const struct trial *trial, double *seconds)
{
	double begin = reel_clock_seconds();
	int error = trial->model->advance(trial->context, trial->state, 0, trial->steps);

	*seconds += reel_clock_seconds() - begin;
	return error;
}

static int time_record(struct trial *trial, double *seconds)
{
	double begin = reel_clock_seconds();
	int error = trial->model->record(trial->context, trial->state, 0, trial->steps,
					 trial->tape);

	*seconds += reel_clock_seconds() - begin;
	REEL_ASSERT(error || reel_tape_bytes(trial->tape) >= trial->bytes_before);
	trial->tape_bytes = reel_tape_bytes(trial->tape) - trial->bytes_before;
	return error ? error : reel_tape_error(trial->tape);
}

static int time_reverse(const struct trial *trial, double *seconds)
{
	double begin = reel_clock_seconds();
	int error;

	if (!trial->adjoint)
		return reel_tape_rewind(trial->tape, trial->before);
	error = trial->model->reverse(trial->context, trial->adjoint, 0, trial->steps, trial->tape);
	*seconds += reel_clock_seconds() - begin;
	if (!error)
		error = reel_tape_error(trial->tape);
	if (error)
		return error;
	return reel_tape_bytes(trial->tape) == trial->bytes_before ? 0 : -EBADMSG;
}

/* Times a save and a load. The load makes the state state 0 again. */
static int time_copies(const struct trial *trial, double *seconds)
{
	double begin = reel_clock_seconds();
	int error = save(trial, trial->scratch);

	if (!error)
		error = load(trial);
	*seconds += (reel_clock_seconds() - begin) / 2;
	return error;
}

static int run_once(struct trial *trial, struct sample *sample)
{
	int error = time_advance(trial, &sample->seconds[ADVANCE]);

	REEL_ASSERT(trial->steps > 0 && trial->steps <= trial->most);
	if (!error)
		error = time_copies(trial, &sample->seconds[COPY]);
	if (!error)
		error = time_record(trial, &sample->seconds[RECORD]);
	if (!error)
		error = time_reverse(trial, &sample->seconds[REVERSE]);
	return error ? error : load(trial);
}

static int run(struct trial *trial, struct sample *sample)
{
	int error = 0;

	REEL_ASSERT(trial->repetitions > 0);
	*sample = (struct sample){0};
	for (int64_t i = 0; i < trial->repetitions && !error; i++)
		error = run_once(trial, sample);
	return error;
}

/* ---- How many steps ---- */

/* True: the loop has twice these steps, and their tape leaves half of the memory empty. */
static bool may_be_twice_as_long(const struct trial *trial)
{
	if (trial->steps > trial->most / 2)
		return false;
	return !trial->memory || trial->tape_bytes <= trial->memory / 4;
}

static bool is_too_short(const struct trial *trial, const struct sample *sample)
{
	return sample->seconds[ADVANCE] < SAMPLE_SECONDS ||
	       (trial->tape_bytes < SAMPLE_BYTES && sample->seconds[RECORD] < LONG_SECONDS &&
		may_be_twice_as_long(trial));
}

/* Doubles the number of steps while a sample is too short, and then the repetitions. */
static int find_length(struct trial *trial)
{
	struct sample sample;
	int error;

	trial->steps = trial->repetitions = 1;
	while (!(error = run(trial, &sample)) && is_too_short(trial, &sample)) {
		if (may_be_twice_as_long(trial))
			trial->steps *= 2;
		else if (trial->repetitions < MAX_REPETITIONS)
			trial->repetitions *= 2;
		else
			break;
	}
	return error;
}

/* ---- Medians ---- */

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct sample *samples, enum part part)
{
	double sorted[ROUNDS];

	for (size_t i = 0; i < ROUNDS; i++)
		sorted[i] = samples[i].seconds[part];
	qsort(sorted, ROUNDS, sizeof *sorted, compare_numbers);
	REEL_ASSERT(sorted[0] >= 0 && sorted[0] <= sorted[ROUNDS / 2]);
	return sorted[ROUNDS / 2];
}

static void keep(struct reel_costs *costs, const struct trial *trial, const struct sample *samples)
{
	double runs = (double)trial->repetitions, steps = runs * (double)trial->steps;
	uint64_t each = (uint64_t)trial->steps;

	costs->advance_seconds = median(samples, ADVANCE) / steps;
	costs->record_seconds = median(samples, RECORD) / steps;
	if (trial->adjoint)
		costs->reverse_seconds = median(samples, REVERSE) / steps;
	costs->copy_seconds = median(samples, COPY) / runs;
	costs->state_bytes = trial->model->state_bytes;
	costs->tape_bytes = trial->tape_bytes / each + (trial->tape_bytes % each != 0);
	REEL_ASSERT(reel_bytes_of(trial->steps, costs->tape_bytes) >= trial->tape_bytes);
}

static int measure(struct trial *trial, struct reel_costs *costs)
{
	struct sample samples[ROUNDS];
	int error = find_length(trial);

	for (size_t i = 0; i < ROUNDS && !error; i++)
		error = run(trial, &samples[i]);
	if (!error)
		keep(costs, trial, samples);
	return error;
}

/* After an error, takes the recorded steps off the tape and loads state 0. Returns `error`. */
static int put_back(struct trial *trial, int error)
{
	if (error && !reel_tape_error(trial->tape) &&
	    reel_tape_bytes(trial->tape) > trial->bytes_before)
		reel_tape_rewind(trial->tape, trial->before);
	if (error)
		load(trial);
	return error;
}

int reel_costs_measure(struct reel_costs *costs, reel_tape *tape, const reel_model *model,
		       void *context, void *state, void *adjoint)
{
	size_t room = model->state_bytes ? model->state_bytes : 1;
	struct trial trial = {.tape = tape, .model = model, .context = context, .state = state,
			      .adjoint = adjoint, .most = costs->steps,
			      .memory = costs->memory_bytes};
	int error = costs->steps < 1 ? -EINVAL : reel_tape_error(tape);
	struct reel_costs measured = *costs;

	if (error)
		return error;
	trial.snapshot = malloc(room);
	trial.scratch = malloc(room);
	trial.before = reel_tape_mark(tape);
	trial.bytes_before = reel_tape_bytes(tape);
	if (!trial.snapshot || !trial.scratch)
		error = -ENOMEM;
	else
		error = save(&trial, trial.snapshot);
	if (!error)
		error = put_back(&trial, measure(&trial, &measured));
	if (!error)
		error = reel_costs_measure_touch(tape, costs->memory_bytes,
						 &measured.touch_seconds);
	REEL_ASSERT(error || reel_tape_bytes(tape) == trial.bytes_before);
	if (!error)
		*costs = measured;
	free(trial.snapshot);
	free(trial.scratch);
	return error;
}
