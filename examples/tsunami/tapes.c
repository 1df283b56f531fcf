/* SPDX-License-Identifier: MIT */
#include "tapes.h"

#include <stdlib.h>
#include <string.h>

#include <reel.h>

#include "report.h"

struct tapes {
	reel_pool *pool;
	int threads;
	reel_tape of_thread[];
};

/* Errors are returned by push and pop and reported once, by the sweeps. */
static void keep_silent(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

static reel_store *open_store(const char *directory)
{
	reel_store *store;

	if (!directory)
		return NULL;
	if (reel_store_open(&store, "file", directory))
		fail("--spill %s: %s", directory, reel_store_problem());
	return store;
}

struct tapes *tapes_open(int threads, uint64_t budget, const char *spill)
{
	struct reel_pool_options options = {
		.hard_budget = (size_t)budget,
		.store = open_store(spill),
	};
	struct tapes *tapes = allocate(1, sizeof(struct tapes) +
						  (size_t)threads * sizeof(reel_tape));
	int error;

	reel_set_error_handler(keep_silent, NULL);
	error = reel_pool_open(&tapes->pool, &options);
	if (error)
		fail("no pool for the tapes: %s; choose a larger --budget",
		     reel_strerror(error));
	tapes->threads = threads;
	for (int t = 0; t < threads; t++)
		reel_tape_open(&tapes->of_thread[t], tapes->pool, 0);
	return tapes;
}

void tapes_close(struct tapes *tapes)
{
	for (int t = 0; t < tapes->threads; t++)
		reel_tape_close(&tapes->of_thread[t]);
	reel_pool_close(tapes->pool);
	free(tapes);
}

int tapes_push_row(struct tapes *tapes, int thread, int n, const double *elevation,
		   const double *u, const double *v)
{
	reel_tape *tape = &tapes->of_thread[thread];
	size_t values = (size_t)n;
	double *span = reel_push_span(tape, double, 3 * values);

	if (!span)
		return reel_tape_error(tape);
	memcpy(span, elevation, values * sizeof(double));
	memcpy(span + values, u, values * sizeof(double));
	memcpy(span + 2 * values, v, values * sizeof(double));
	return 0;
}

int tapes_pop_row(struct tapes *tapes, int thread, int n, double *elevation, double *u,
		  double *v)
{
	reel_tape *tape = &tapes->of_thread[thread];
	size_t values = (size_t)n;
	const double *span = reel_pop_span(tape, double, 3 * values);

	if (!span)
		return reel_tape_error(tape);
	memcpy(elevation, span, values * sizeof(double));
	memcpy(u, span + values, values * sizeof(double));
	memcpy(v, span + 2 * values, values * sizeof(double));
	return 0;
}

uint64_t tapes_bytes(const struct tapes *tapes)
{
	uint64_t bytes = 0;

	for (int t = 0; t < tapes->threads; t++)
		bytes += reel_tape_bytes(&tapes->of_thread[t]);
	return bytes;
}

struct tapes_use tapes_use(const struct tapes *tapes)
{
	struct reel_pool_stats stats;

	reel_pool_get_stats(tapes->pool, &stats);
	return (struct tapes_use){
		.stalls = stats.stalls,
		.stall_seconds = 1e-9 * (double)stats.stall_ns,
		.resident_bytes = stats.peak_resident_bytes,
		.spilled_bytes = stats.written_bytes,
	};
}

uint64_t tapes_need(uint64_t cells, uint64_t steps)
{
	return 3 * sizeof(double) * cells * steps;
}

const char *tapes_error_text(int error)
{
	return reel_strerror(error);
}
