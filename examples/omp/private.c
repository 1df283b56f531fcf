/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_private(double *x, const double *a)
{
	double scale = x[0] * x[1], last = 0;

#pragma omp parallel for firstprivate(scale) lastprivate(last)
	for (int i = 0; i < N; i++) {
		x[i] = step(x[i], a[i] * scale);
		last = x[i];
	}
	x[0] *= last;
}

void forward_private(reel_lane *root, double *x, const double *a)
{
	double scale = x[0] * x[1], last = 0;

	reel_push(reel_lane_tape(root), x[0]);
	reel_push(reel_lane_tape(root), x[1]);
	REEL_PARALLEL_WITH(root, lane, LANES, 0, firstprivate(scale)) {
		REEL_FOR(lane, int, i, 0, N, reel_static(0)) {
			reel_push(reel_lane_tape(lane), x[i]);
			x[i] = step(x[i], a[i] * scale);
			if (i == N - 1)
				last = x[i];
		}
		reel_push(reel_lane_tape(lane), scale);
	}
	reel_push(reel_lane_tape(root), x[0]);
	reel_push(reel_lane_tape(root), last);
	x[0] *= last;
}

/*
 * The lane that ran the last iteration takes last_bar; each lane that had a copy of scale adds to
 * scale_bar.
 */
int reverse_private(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double last = reel_pop(reel_lane_tape(root), double), first, second;
	double last_bar = reel_pop(reel_lane_tape(root), double) * x_bar[0], scale_bar;
	double part[LANES];

	x_bar[0] *= last;
	REEL_PARALLEL_REVERSE(root, lane) {
		double scale = reel_pop(reel_lane_tape(lane), double);
		double product_bar, bar = 0;

		REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0)) {
			double x = reel_pop(reel_lane_tape(lane), double);

			if (i == N - 1)
				x_bar[i] += last_bar;
			product_bar = 0;
			x_bar[i] = step_reverse(x, a[i] * scale, x_bar[i], &product_bar);
			a_bar[i] += scale * product_bar;
			bar += a[i] * product_bar;
		}
		part[reel_lane_index(lane)] = bar;
	}
	scale_bar = reel_reduce(root, REEL_REDUCE_SUM, part, LANES);
	second = reel_pop(reel_lane_tape(root), double);
	first = reel_pop(reel_lane_tape(root), double);
	x_bar[0] += second * scale_bar;
	x_bar[1] += first * scale_bar;
	return reel_lane_error(root);
}
