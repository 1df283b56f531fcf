/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { PARAMETERS = 8 };

void primal_shared(double *x, const double *a)
{
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i % PARAMETERS]);
}

void forward_shared(reel_lane *root, double *x, const double *a)
{
	REEL_PARALLEL_FOR(root, lane, int, i, 0, N, reel_static(0)) {
		reel_push(reel_lane_tape(lane), x[i]);
		x[i] = step(x[i], a[i % PARAMETERS]);
	}
}

int reverse_shared(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, N, reel_static(0)) {
		double x = reel_pop(reel_lane_tape(lane), double), part = 0;

		x_bar[i] = step_reverse(x, a[i % PARAMETERS], x_bar[i], &part);
#pragma omp atomic
		a_bar[i % PARAMETERS] += part;
	}
	return reel_lane_error(root);
}
