/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { BLOCKS = 4, BLOCK = N / BLOCKS };

void primal_nested(double *x, const double *a)
{
#pragma omp parallel for num_threads(2)
	for (int block = 0; block < BLOCKS; block++) {
#pragma omp parallel for num_threads(2)
		for (int i = BLOCK * block; i < BLOCK * (block + 1); i++)
			x[i] = step(x[i], a[i]);
	}
}

static void forward_inner(reel_lane *lane, double *x, const double *a, int first)
{
	reel_region *region = reel_region_begin(lane, 0);

#pragma omp parallel num_threads(2)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, i, first, first + BLOCK, reel_static(0))
			{
				reel_push(reel_lane_tape(worker.lane), x[i]);
				x[i] = step(x[i], a[i]);
			}
		}
	}
	reel_region_end(region);
}

void forward_nested(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel num_threads(2)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			REEL_FOR(worker.lane, int, block, 0, BLOCKS, reel_dynamic(1))
		forward_inner(worker.lane, x, a, BLOCK * block);
	}
	reel_region_end(region);
}

static void reverse_inner(reel_lane *lane, double *x_bar, const double *a, double *a_bar, int first)
{
	reel_region *region = reel_region_reverse(lane);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR_REVERSE(worker.lane, int, i, first, first + BLOCK, reel_static(0))
			{
				double x = reel_pop(reel_lane_tape(worker.lane), double);

				x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
			}
		}
	}
	reel_region_end(region);
}

int reverse_nested(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			REEL_FOR_REVERSE(worker.lane, int, block, 0, BLOCKS, reel_dynamic(1))
		reverse_inner(worker.lane, x_bar, a, a_bar, BLOCK * block);
	}
	return reel_region_end(region);
}
