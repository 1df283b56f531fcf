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
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, i, 0, ROWS *COLUMNS, reel_static(0))
			{
				reel_push(reel_lane_tape(worker.lane), x[i]);
				x[i] = step(x[i], a[i / COLUMNS]);
			}
		}
	}
	reel_region_end(region);
}

/* A row may be in several lanes: each cell has its own part of the row's adjoint. */
int reverse_collapse(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	double part[ROWS * COLUMNS] = {0};
	int error;

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR_REVERSE(worker.lane, int, i, 0, ROWS *COLUMNS, reel_static(0))
			{
				double x = reel_pop(reel_lane_tape(worker.lane), double);

				x_bar[i] = step_reverse(x, a[i / COLUMNS], x_bar[i], &part[i]);
			}
		}
	}
	error = reel_region_end(region);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		a_bar[i / COLUMNS] += part[i];
	return error;
}
