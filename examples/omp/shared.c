/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { PARAMETERS = 8 };

void primal_shared(double *x, const double *a)
{
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i % PARAMETERS]);
}

void forward_shared(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, i, 0, N, reel_static(0))
			{
				reel_push(reel_lane_tape(worker.lane), x[i]);
				x[i] = step(x[i], a[i % PARAMETERS]);
			}
		}
	}
	reel_region_end(region);
}

int reverse_shared(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(0))
			{
				double x = reel_pop(reel_lane_tape(worker.lane), double), part = 0;

				x_bar[i] = step_reverse(x, a[i % PARAMETERS], x_bar[i], &part);
#pragma omp atomic
				a_bar[i % PARAMETERS] += part;
			}
		}
	}
	return reel_region_end(region);
}
