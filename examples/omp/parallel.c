/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_parallel(double *x, const double *a)
{
#pragma omp parallel
	{
		int thread = omp_get_thread_num(), threads = omp_get_num_threads();

		for (int i = N * thread / threads; i < N * (thread + 1) / threads; i++)
			x[i] = step(x[i], a[i]);
	}
}

void forward_parallel(reel_lane *root, double *x, const double *a)
{
	REEL_PARALLEL(root, lane) {
		int number = reel_lane_index(lane), lanes = reel_lane_count(lane);

		for (int i = N * number / lanes; i < N * (number + 1) / lanes; i++) {
			reel_push(reel_lane_tape(lane), x[i]);
			x[i] = step(x[i], a[i]);
		}
	}
}

int reverse_parallel(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	REEL_PARALLEL_REVERSE(root, lane) {
		int number = reel_lane_index(lane), lanes = reel_lane_count(lane);

		for (int i = N * (number + 1) / lanes; i-- > N * number / lanes;) {
			double x = reel_pop(reel_lane_tape(lane), double);

			x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
		}
	}
	return reel_lane_error(root);
}
