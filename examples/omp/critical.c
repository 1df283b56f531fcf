/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_critical(double *x, const double *a)
{
	double product = 1;

#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		double factor = 1 + step(x[i], a[i]) / N;

#pragma omp critical(product)
		product *= factor;
	}
	x[0] += product;
}

static reel_ordered product_order;

void forward_critical(reel_lane *root, double *x, const double *a)
{
	double product = 1;

	REEL_PARALLEL_FOR(root, lane, int, i, 0, N, reel_dynamic(4)) {
		double factor = 1 + step(x[i], a[i]) / N;

		reel_push(reel_lane_tape(lane), x[i]);
		reel_push(reel_lane_tape(lane), factor);
#pragma omp critical(product)
		{
			reel_ordered_note(lane, &product_order);
			reel_push(reel_lane_tape(lane), product);
			product *= factor;
		}
	}
	x[0] += product;
}

/* Lanes wait for each other: each lane needs a thread, and OpenMP must not start fewer. */
int reverse_critical(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double product_bar = x_bar[0];

	omp_set_dynamic(0);
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, N, reel_dynamic(4)) {
		reel_tape *tape = reel_lane_tape(lane);
		double product, factor, factor_bar;

		reel_ordered_await(lane, &product_order);
		product = reel_pop(tape, double);
		factor = reel_pop(tape, double);
		factor_bar = product * product_bar;
		product_bar *= factor;
		reel_ordered_done(lane, &product_order);
		x_bar[i] += step_reverse(reel_pop(tape, double), a[i], factor_bar / N, &a_bar[i]);
	}
	return reel_lane_error(root);
}
