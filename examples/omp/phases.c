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
	double u[N];

	REEL_REGION(root, worker) {
		for (int t = 0; t < STEPS; t++) {
			REEL_LANES(worker, lane)
				REEL_FOR(lane, int, i, 0, N, reel_static(0))
					u[i] = x[(i + N - 1) % N] + x[(i + 1) % N];
			reel_worker_phase(&worker);
			REEL_LANES(worker, lane) {
				REEL_FOR(lane, int, i, 0, N, reel_static(0)) {
					reel_push(reel_lane_tape(lane), u[i]);
					x[i] = step(u[i], a[i]);
				}
			}
			reel_worker_phase(&worker);
		}
	}
}

int reverse_phases(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double u_bar[N];

	REEL_REGION_REVERSE(root, worker) {
		for (int t = STEPS; t-- > 0;) {
			reel_worker_phase(&worker);
			REEL_LANES(worker, lane) {
				REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0)) {
					double u = reel_pop(reel_lane_tape(lane), double);

					u_bar[i] = step_reverse(u, a[i], x_bar[i], &a_bar[i]);
				}
			}
			reel_worker_phase(&worker);
			REEL_LANES(worker, lane)
				REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0))
					x_bar[i] = u_bar[(i + 1) % N] + u_bar[(i + N - 1) % N];
		}
	}
	return reel_lane_error(root);
}
