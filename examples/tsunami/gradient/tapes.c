/* SPDX-License-Identifier: MIT */
#include "tapes.h"

#include <stdlib.h>
#include <string.h>

#include <reel.h>

#include "model/report.h"

struct tapes {
	reel_pool *pool;
	reel_lane *root;
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
		fail("--spill %s: %s", directory, reel_error_text(0));
	return store;
}

struct tapes *tapes_open(uint64_t budget, const char *spill)
{
	struct reel_pool_options options = {
		.hard_budget = (size_t)budget,
		.store = open_store(spill),
	};
	struct tapes *tapes = allocate(1, sizeof(struct tapes));
	int error;

	reel_set_error_handler(keep_silent, NULL);
	error = reel_pool_open(&tapes->pool, &options);
	if (error)
		fail("no pool for the tapes: %s; choose a larger --budget", reel_error_text(error));
	if (reel_lane_open(&tapes->root, tapes->pool, 0))
		fail("no memory for the tapes");
	return tapes;
}

void tapes_close(struct tapes *tapes)
{
	reel_lane_close(tapes->root);
	reel_pool_close(tapes->pool);
	free(tapes);
}

reel_region *tapes_begin(struct tapes *tapes)
{
	return reel_region_begin(tapes->root, 0);
}

reel_region *tapes_reverse(struct tapes *tapes)
{
	return reel_region_reverse(tapes->root);
}

int tapes_push_row(reel_lane *lane, int n, const double *elevation, const double *u,
		   const double *v)
{
	reel_tape *tape = reel_lane_tape(lane);
	size_t values = (size_t)n;
	double *span = reel_push_span(tape, double, 3 * values);

	if (!span)
		return reel_tape_error(tape);
	memcpy(span, elevation, values * sizeof(double));
	memcpy(span + values, u, values * sizeof(double));
	memcpy(span + 2 * values, v, values * sizeof(double));
	return 0;
}

int tapes_pop_row(reel_lane *lane, int n, double *elevation, double *u, double *v)
{
	reel_tape *tape = reel_lane_tape(lane);
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
	return reel_lane_bytes(tapes->root);
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
	return reel_error_text(error);
}
