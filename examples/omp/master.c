/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_master(double *x, const double *a)
{
#pragma omp parallel
	{
#pragma omp for
		for (int i = 0; i < N; i++)
			x[i] = step(x[i], a[i]);
#pragma omp master
		x[0] *= x[N - 1];
	}
}

void forward_master(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, i, 0, N, reel_static(0))
			{
				reel_push(reel_lane_tape(worker.lane), x[i]);
				x[i] = step(x[i], a[i]);
			}
		}
		reel_worker_phase(&worker);
		while (reel_worker_next(&worker)) {
			if (reel_lane_index(worker.lane) == 0) {
				reel_push(reel_lane_tape(worker.lane), x[0]);
				reel_push(reel_lane_tape(worker.lane), x[N - 1]);
				x[0] *= x[N - 1];
			}
		}
	}
	reel_region_end(region);
}

int reverse_master(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			if (reel_lane_index(worker.lane) == 0) {
				double last = reel_pop(reel_lane_tape(worker.lane), double);
				double first = reel_pop(reel_lane_tape(worker.lane), double);

				x_bar[N - 1] += first * x_bar[0];
				x_bar[0] *= last;
			}
		}
		reel_worker_phase(&worker);
		while (reel_worker_next(&worker)) {
			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(0))
			{
				double x = reel_pop(reel_lane_tape(worker.lane), double);

				x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
			}
		}
	}
	return reel_region_end(region);
}
