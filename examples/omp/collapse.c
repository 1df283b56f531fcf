/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { ROWS = 4, COLUMNS = N / ROWS };

void primal_collapse(double *x, const double *a)
{
#pragma omp parallel for collapse(2)
	for (int row = 0; row < ROWS; row++)
		for (int column = 0; column < COLUMNS; column++)
			x[COLUMNS * row + column] = step(x[COLUMNS * row + column], a[row]);
}

void forward_collapse(reel_lane *root, double *x, const double *a)
{
	REEL_PARALLEL_FOR(root, lane, int, i, 0, ROWS * COLUMNS, reel_static(0)) {
		reel_push(reel_lane_tape(lane), x[i]);
		x[i] = step(x[i], a[i / COLUMNS]);
	}
}

/* A row may be in several lanes: each cell has its own part of the row's adjoint. */
int reverse_collapse(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double part[ROWS * COLUMNS] = {0};

	REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, ROWS * COLUMNS, reel_static(0)) {
		double x = reel_pop(reel_lane_tape(lane), double);

		x_bar[i] = step_reverse(x, a[i / COLUMNS], x_bar[i], &part[i]);
	}
	for (int i = 0; i < ROWS * COLUMNS; i++)
		a_bar[i / COLUMNS] += part[i];
	return reel_lane_error(root);
}
