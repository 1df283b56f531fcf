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
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			int lane = reel_lane_index(worker.lane),
			    lanes = reel_lane_count(worker.lane);

			for (int i = N * lane / lanes; i < N * (lane + 1) / lanes; i++) {
				reel_push(reel_lane_tape(worker.lane), x[i]);
				x[i] = step(x[i], a[i]);
			}
		}
	}
	reel_region_end(region);
}

int reverse_parallel(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			int lane = reel_lane_index(worker.lane),
			    lanes = reel_lane_count(worker.lane);

			for (int i = N * (lane + 1) / lanes; i-- > N * lane / lanes;) {
				double x = reel_pop(reel_lane_tape(worker.lane), double);

				x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
			}
		}
	}
	return reel_region_end(region);
}
