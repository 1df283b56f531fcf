/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_sections(double *x, const double *a)
{
#pragma omp parallel sections
	{
#pragma omp section
		for (int i = 0; i < N / 2; i++)
			x[i] = step(x[i], a[i]);
#pragma omp section
		for (int i = N / 2; i < N; i++)
			x[i] = x[i] * x[i];
	}
}

void forward_sections(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, section, 0, 2, reel_dynamic(1))
			{
				for (int i = section * N / 2; i < (section + 1) * N / 2; i++) {
					reel_push(reel_lane_tape(worker.lane), x[i]);
					x[i] = section == 0 ? step(x[i], a[i]) : x[i] * x[i];
				}
			}
		}
	}
	reel_region_end(region);
}

int reverse_sections(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR_REVERSE(worker.lane, int, section, 0, 2, reel_dynamic(1))
			{
				for (int i = (section + 1) * N / 2; i-- > section * N / 2;) {
					double x = reel_pop(reel_lane_tape(worker.lane), double);

					x_bar[i] = section == 0 ? step_reverse(x, a[i], x_bar[i],
									       &a_bar[i])
								: 2 * x * x_bar[i];
				}
			}
		}
	}
	return reel_region_end(region);
}
