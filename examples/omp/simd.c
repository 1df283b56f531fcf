/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_simd(double *x, const double *a)
{
#pragma omp parallel for simd
	for (int i = 0; i < N; i++)
		x[i] = a[i] * x[i] * x[i];
}

void forward_simd(reel_lane *root, double *x, const double *a)
{
	REEL_PARALLEL(root, lane) {
		reel_loop loop = reel_loop_begin(lane, reel_static(0), 0, N);

		while (reel_loop_next(&loop)) {
			int first = (int)loop.first, count = (int)(loop.end - loop.first);
			double *saved = reel_push_span(reel_lane_tape(lane), double, (size_t)count);

			if (saved)
				memcpy(saved, &x[first], (size_t)count * sizeof *saved);
#pragma omp simd
			for (int i = first; i < first + count; i++)
				x[i] = a[i] * x[i] * x[i];
		}
	}
}

int reverse_simd(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	REEL_PARALLEL_REVERSE(root, lane) {
		reel_loop loop = reel_loop_reverse(lane, reel_static(0), 0, N);

		while (reel_loop_next(&loop)) {
			int first = (int)loop.first, count = (int)(loop.end - loop.first);
			const double *x =
				reel_pop_span(reel_lane_tape(lane), double, (size_t)count);

			if (!x) /* an error, which reel_lane_error() returns */
				continue;
#pragma omp simd
			for (int i = 0; i < count; i++) {
				a_bar[first + i] += x[i] * x[i] * x_bar[first + i];
				x_bar[first + i] *= 2 * a[first + i] * x[i];
			}
		}
	}
	return reel_lane_error(root);
}
