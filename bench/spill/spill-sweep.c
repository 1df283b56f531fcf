/* SPDX-License-Identifier: MIT */
/* The sweeps of the spill cases: spans, and a calculation of a given length with each. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "spill.h"

/* ---- The calculation ---- */

#define CALIBRATION_TURNS ((size_t)1 << 20)
#define CALIBRATION_ROUNDS 20

/* Each turn waits for the one before, so that its time is the same whatever runs beside it. */
static uint64_t calculate(uint64_t x, size_t turns)
{
	while (turns--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

/* The quickest round is the one that nobody disturbed. */
static double measure_turn(void)
{
	double shortest = 1;

	for (int round = 0; round < CALIBRATION_ROUNDS; round++) {
		double start = measure_seconds(), seconds;

		measure_sink = (double)calculate((uint64_t)round, CALIBRATION_TURNS);
		seconds = measure_seconds() - start;
		if (seconds < shortest)
			shortest = seconds;
	}
	return 1e9 * shortest / (double)CALIBRATION_TURNS;
}

struct spill_load spill_load(double nanoseconds)
{
	static double of_a_turn;

	if (of_a_turn == 0)
		of_a_turn = measure_turn();
	return (struct spill_load){
		.turns = (size_t)(nanoseconds * (double)SPILL_SPAN_BYTES / of_a_turn)};
}

void spill_fill(struct spill_load *load, double *span, size_t place)
{
	uint64_t mix = 0;

	load->sink = calculate(load->sink, load->turns);
	for (size_t i = 0; i < SPILL_SPAN; i++) {
		double x = bench_value(place + i);

		span[i] = x;
		mix = bench_mix(mix, x);
	}
	load->mix ^= mix;
}

void spill_use(struct spill_load *load, const double *span)
{
	uint64_t mix = 0;

	for (size_t i = SPILL_SPAN; i-- > 0;)
		mix = bench_mix(mix, span[i]);
	load->mix ^= mix;
	load->sink = calculate(load->sink ^ mix, load->turns);
}

void spill_demand_all_read(const struct spill_load *load, const char *who)
{
	measure_sink = (double)load->sink;
	if (!load->mix)
		return;
	fprintf(stderr, "reel-bench: %s gave back other values than it was given\n", who);
	exit(1);
}

/* ---- The tape ---- */

static void refuse(const char *what, int error)
{
	fprintf(stderr, "reel-bench: %s: %s\n", what, reel_error_text(error));
	exit(1);
}

void spill_open_on(struct spill_tape *spilled, reel_store *store, size_t budget)
{
	struct reel_pool_options options = {.slab_bytes = SPILL_SLAB_BYTES, .store = store,
					    .hard_budget = store ? budget : 0};
	int error;

	*spilled = (struct spill_tape){0};
	error = reel_pool_open(&spilled->pool, &options);
	if (!error)
		error = reel_tape_open(&spilled->tape, spilled->pool, 0);
	if (error)
		refuse("a pool with a store", error);
}

void spill_open(struct spill_tape *spilled, const char *store, size_t budget)
{
	reel_store *opened = NULL;
	int error = store ? reel_store_open(&opened, store, bench_directory()) : 0;

	if (error)
		refuse(store, error);
	spill_open_on(spilled, opened, budget);
}

void spill_close(struct spill_tape *spilled)
{
	reel_tape_close(&spilled->tape);
	reel_pool_close(spilled->pool);
}

void spill_push(struct spill_tape *spilled, size_t bytes)
{
	for (size_t place = 0; place < bytes / sizeof(double); place += SPILL_SPAN) {
		double *span = reel_push_span(&spilled->tape, double, SPILL_SPAN);

		if (!span)
			refuse("push", reel_tape_error(&spilled->tape));
		spill_fill(&spilled->load, span, place);
	}
}

void spill_pop(struct spill_tape *spilled, size_t bytes)
{
	for (size_t place = 0; place < bytes; place += SPILL_SPAN_BYTES) {
		const double *span = reel_pop_span(&spilled->tape, double, SPILL_SPAN);

		if (!span)
			refuse("pop", reel_tape_error(&spilled->tape));
		spill_use(&spilled->load, span);
	}
}

void spill_drop(struct spill_tape *spilled)
{
	reel_tape_close(&spilled->tape);
	spilled->load.mix = 0;
	if (reel_tape_open(&spilled->tape, spilled->pool, 0))
		abort();
}

struct reel_pool_stats spill_stats(const struct spill_tape *spilled)
{
	struct reel_pool_stats stats;

	reel_pool_get_stats(spilled->pool, &stats);
	return stats;
}

double spill_run_push(void *context, size_t bytes)
{
	struct spill_tape *spilled = context;

	spill_push(spilled, bytes);
	return (double)spilled->load.sink;
}

double spill_run_pop(void *context, size_t bytes)
{
	struct spill_tape *spilled = context;

	spill_pop(spilled, bytes);
	spill_demand_all_read(&spilled->load, "a tape");
	return (double)spilled->load.sink;
}

double spill_run_both(void *context, size_t bytes)
{
	return spill_run_push(context, bytes) + spill_run_pop(context, bytes);
}

void spill_before_pop(void *context, size_t bytes)
{
	spill_push(context, bytes);
}

void spill_after_push(void *context, size_t bytes)
{
	(void)bytes;
	spill_drop(context);
}
