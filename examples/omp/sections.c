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
	REEL_PARALLEL_FOR(root, lane, int, section, 0, 2, reel_dynamic(1)) {
		for (int i = section * N / 2; i < (section + 1) * N / 2; i++) {
			reel_push(reel_lane_tape(lane), x[i]);
			x[i] = section == 0 ? step(x[i], a[i]) : x[i] * x[i];
		}
	}
}

int reverse_sections(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, section, 0, 2, reel_dynamic(1)) {
		for (int i = (section + 1) * N / 2; i-- > section * N / 2;) {
			double x = reel_pop(reel_lane_tape(lane), double);

			x_bar[i] = section == 0 ? step_reverse(x, a[i], x_bar[i], &a_bar[i])
						: 2 * x * x_bar[i];
		}
	}
	return reel_lane_error(root);
}
