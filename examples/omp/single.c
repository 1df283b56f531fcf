/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_single(double *x, const double *a)
{
#pragma omp parallel
	{
		double scale;

#pragma omp single copyprivate(scale)
		scale = step(x[0], a[0]);
#pragma omp for
		for (int i = 0; i < N; i++)
			x[i] *= scale;
	}
}

void forward_single(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, LANES);
	double scale;

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_SINGLE (worker.lane) {
				reel_push(reel_lane_tape(worker.lane), x[0]);
				scale = step(x[0], a[0]);
			}
		}
		reel_worker_phase(&worker);
		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, i, 0, N, reel_static(0))
			{
				reel_push(reel_lane_tape(worker.lane), x[i]);
				x[i] *= scale;
			}
			reel_push(reel_lane_tape(worker.lane), scale);
		}
	}
	reel_region_end(region);
}

/* Each lane adds up its own part; the one that was single takes them all, in order. */
int reverse_single(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	double part[LANES];

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			double scale = reel_pop(tape, double), scale_bar = 0;

			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(0))
			{
				scale_bar += reel_pop(tape, double) * x_bar[i];
				x_bar[i] *= scale;
			}
			part[reel_lane_index(worker.lane)] = scale_bar;
		}
		reel_worker_phase(&worker);
		while (reel_worker_next(&worker)) {
			REEL_SINGLE_REVERSE(worker.lane)
			{
				double x = reel_pop(reel_lane_tape(worker.lane), double);
				double scale_bar =
					reel_reduce(worker.lane, REEL_REDUCE_SUM, part, LANES);

				x_bar[0] += step_reverse(x, a[0], scale_bar, &a_bar[0]);
			}
		}
	}
	return reel_region_end(region);
}
