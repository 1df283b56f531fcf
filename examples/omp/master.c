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
	REEL_REGION(root, worker) {
		REEL_LANES(worker, lane) {
			REEL_FOR(lane, int, i, 0, N, reel_static(0)) {
				reel_push(reel_lane_tape(lane), x[i]);
				x[i] = step(x[i], a[i]);
			}
		}
		reel_worker_phase(&worker);
		REEL_LANES(worker, lane) {
			if (reel_lane_index(lane) == 0) {
				reel_push(reel_lane_tape(lane), x[0]);
				reel_push(reel_lane_tape(lane), x[N - 1]);
				x[0] *= x[N - 1];
			}
		}
	}
}

int reverse_master(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	REEL_REGION_REVERSE(root, worker) {
		REEL_LANES(worker, lane) {
			if (reel_lane_index(lane) == 0) {
				double last = reel_pop(reel_lane_tape(lane), double);
				double first = reel_pop(reel_lane_tape(lane), double);

				x_bar[N - 1] += first * x_bar[0];
				x_bar[0] *= last;
			}
		}
		reel_worker_phase(&worker);
		REEL_LANES(worker, lane) {
			REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0)) {
				double x = reel_pop(reel_lane_tape(lane), double);

				x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
			}
		}
	}
	return reel_lane_error(root);
}
