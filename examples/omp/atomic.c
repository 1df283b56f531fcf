/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { BINS = 8 };

void primal_atomic(double *x, const double *a)
{
	double bin[BINS] = {0};

#pragma omp parallel for
	for (int i = 0; i < N; i++) {
#pragma omp atomic
		bin[i % BINS] += step(x[i], a[i]);
	}
	for (int i = 0; i < BINS; i++)
		x[i] = bin[i];
}

void forward_atomic(reel_lane *root, double *x, const double *a)
{
	double bin[BINS] = {0};

	REEL_PARALLEL_FOR(root, lane, int, i, 0, N, reel_dynamic(4)) {
		reel_push(reel_lane_tape(lane), x[i]);
#pragma omp atomic
		bin[i % BINS] += step(x[i], a[i]);
	}
	for (int i = 0; i < BINS; i++)
		x[i] = bin[i];
}

/* The reverse of an addition only reads bin_bar: nothing is atomic. */
int reverse_atomic(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double bin_bar[BINS];

	for (int i = 0; i < BINS; i++) {
		bin_bar[i] = x_bar[i];
		x_bar[i] = 0;
	}
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, N, reel_dynamic(4)) {
		double x = reel_pop(reel_lane_tape(lane), double);

		x_bar[i] += step_reverse(x, a[i], bin_bar[i % BINS], &a_bar[i]);
	}
	return reel_lane_error(root);
}
