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

static void forward_block(reel_lane *lane, double *x, const double *a, int first)
{
	REEL_PARALLEL_WITH(lane, inner, 0, 2, ) {
		REEL_FOR(inner, int, i, first, first + BLOCK, reel_static(0)) {
			reel_push(reel_lane_tape(inner), x[i]);
			x[i] = step(x[i], a[i]);
		}
	}
}

void forward_nested(reel_lane *root, double *x, const double *a)
{
	REEL_PARALLEL_WITH(root, lane, 0, 2, )
		REEL_FOR(lane, int, block, 0, BLOCKS, reel_dynamic(1))
			forward_block(lane, x, a, BLOCK * block);
}

int reverse_nested(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, block, 0, BLOCKS, reel_dynamic(1)) {
		int first = BLOCK * block, end = first + BLOCK;

		REEL_PARALLEL_FOR_REVERSE(lane, inner, int, i, first, end, reel_static(0)) {
			double x = reel_pop(reel_lane_tape(inner), double);

			x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
		}
	}
	return reel_lane_error(root);
}
