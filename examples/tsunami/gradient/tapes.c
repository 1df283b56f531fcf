/* SPDX-License-Identifier: MIT */
#include "tapes.h"

#include <stdlib.h>
#include <string.h>

#include <reel.h>

#include "common/disk.h"
#include "common/report.h"

struct tapes {
	reel_pool *pool;
	reel_lane *root;
};

struct tapes *tapes_open(uint64_t budget, const char *spill)
{
	struct tapes *tapes = allocate(1, sizeof(struct tapes));

	/* Pushes and pops return their errors, which the sweeps report once. */
	report_alone();
	tapes->pool = pool_open(budget, 0, spill);
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

static size_t state_values(const struct grid *grid)
{
	return 3 * grid_elements(grid);
}

double *tapes_push_first(struct tapes *tapes, const struct grid *grid)
{
	return reel_push_span(reel_lane_tape(tapes->root), double, state_values(grid));
}

double *tapes_push_next(reel_worker *lanes, const struct grid *grid)
{
	return reel_worker_push_span(lanes, double, state_values(grid));
}

const double *tapes_pop_last(struct tapes *tapes, const struct grid *grid)
{
	return reel_pop_span(reel_lane_tape(tapes->root), double, state_values(grid));
}

const double *tapes_pop_next(reel_worker *lanes, const struct grid *grid)
{
	return reel_worker_pop_span(lanes, double, state_values(grid));
}

int tapes_end(struct tapes *tapes, reel_region *region)
{
	int error = reel_region_end(region);
	int of_states = reel_tape_error(reel_lane_tape(tapes->root));

	return of_states ? of_states : error;
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

uint64_t tapes_need(const struct grid *grid, int64_t steps)
{
	return state_values(grid) * sizeof(double) * (uint64_t)(steps + 1);
}

const char *tapes_error_text(int error)
{
	return reel_error_text(error);
}
