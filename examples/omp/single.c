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
	double scale = 0;

	REEL_REGION_WITH(root, worker, LANES, 0, ) {
		REEL_LANES(worker, lane) {
			REEL_SINGLE(lane) {
				reel_push(reel_lane_tape(lane), x[0]);
				scale = step(x[0], a[0]);
			}
		}
		reel_worker_phase(&worker);
		REEL_LANES(worker, lane) {
			REEL_FOR(lane, int, i, 0, N, reel_static(0)) {
				reel_push(reel_lane_tape(lane), x[i]);
				x[i] *= scale;
			}
			reel_push(reel_lane_tape(lane), scale);
		}
	}
}

/* Each lane adds up its own part; the lane that ran the single adds up all parts, in order. */
int reverse_single(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double part[LANES];

	REEL_REGION_REVERSE(root, worker) {
		REEL_LANES(worker, lane) {
			reel_tape *tape = reel_lane_tape(lane);
			double scale = reel_pop(tape, double), scale_bar = 0;

			REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0)) {
				scale_bar += reel_pop(tape, double) * x_bar[i];
				x_bar[i] *= scale;
			}
			part[reel_lane_index(lane)] = scale_bar;
		}
		reel_worker_phase(&worker);
		REEL_LANES(worker, lane) {
			REEL_SINGLE_REVERSE(lane) {
				double x = reel_pop(reel_lane_tape(lane), double);
				double scale_bar = reel_reduce(lane, REEL_REDUCE_SUM, part, LANES);

				x_bar[0] += step_reverse(x, a[0], scale_bar, &a_bar[0]);
			}
		}
	}
	return reel_lane_error(root);
}
