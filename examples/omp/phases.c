/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_phases(double *x, const double *a)
{
	double u[N];

#pragma omp parallel
	for (int t = 0; t < STEPS; t++) {
#pragma omp for
		for (int i = 0; i < N; i++)
			u[i] = x[(i + N - 1) % N] + x[(i + 1) % N];
#pragma omp for
		for (int i = 0; i < N; i++)
			x[i] = step(u[i], a[i]);
	}
}

void forward_phases(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);
	double u[N];

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		for (int t = 0; t < STEPS; t++) {
			while (reel_worker_next(&worker))
				REEL_FOR(worker.lane, int, i, 0, N, reel_static(0))
			u[i] = x[(i + N - 1) % N] + x[(i + 1) % N];
			reel_worker_phase(&worker);
			while (reel_worker_next(&worker)) {
				REEL_FOR(worker.lane, int, i, 0, N, reel_static(0))
				{
					reel_push(reel_lane_tape(worker.lane), u[i]);
					x[i] = step(u[i], a[i]);
				}
			}
			reel_worker_phase(&worker);
		}
	}
	reel_region_end(region);
}

int reverse_phases(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	double u_bar[N];

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		for (int t = STEPS; t-- > 0;) {
			reel_worker_phase(&worker);
			while (reel_worker_next(&worker)) {
				REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(0))
				{
					double u = reel_pop(reel_lane_tape(worker.lane), double);

					u_bar[i] = step_reverse(u, a[i], x_bar[i], &a_bar[i]);
				}
			}
			reel_worker_phase(&worker);
			while (reel_worker_next(&worker))
				REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(0))
			x_bar[i] = u_bar[(i + 1) % N] + u_bar[(i + N - 1) % N];
		}
	}
	return reel_region_end(region);
}
