/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_reduction(double *x, const double *a)
{
	double sum = 0, product = 1;

#pragma omp parallel for reduction(+ : sum) reduction(* : product)
	for (int i = 0; i < N; i++) {
		sum += step(x[i], a[i]);
		product *= x[i];
	}
	x[0] = sum;
	x[1] = product;
}

void forward_reduction(reel_lane *root, double *x, const double *a)
{
	double sum[LANES], product[LANES];

	REEL_PARALLEL_WITH(root, lane, LANES, 0, ) {
		reel_tape *tape = reel_lane_tape(lane);
		double s = 0, p = 1;

		REEL_FOR(lane, int, i, 0, N, reel_static(0)) {
			reel_push(tape, x[i]);
			reel_push(tape, p);
			s += step(x[i], a[i]);
			p *= x[i];
		}
		sum[reel_lane_index(lane)] = s;
		product[reel_lane_index(lane)] = p;
	}
	x[0] = reel_reduce(root, REEL_REDUCE_SUM, sum, LANES);
	x[1] = reel_reduce(root, REEL_REDUCE_PRODUCT, product, LANES);
}

int reverse_reduction(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double sum_bar[LANES], product_bar[LANES];

	reel_reduce_reverse(root, REEL_REDUCE_PRODUCT, x_bar[1], product_bar, LANES);
	reel_reduce_reverse(root, REEL_REDUCE_SUM, x_bar[0], sum_bar, LANES);
	x_bar[0] = x_bar[1] = 0;
	REEL_PARALLEL_REVERSE(root, lane) {
		reel_tape *tape = reel_lane_tape(lane);
		double s_bar = sum_bar[reel_lane_index(lane)];
		double p_bar = product_bar[reel_lane_index(lane)];

		REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0)) {
			double p = reel_pop(tape, double), x_i = reel_pop(tape, double);

			x_bar[i] += p * p_bar + step_reverse(x_i, a[i], s_bar, &a_bar[i]);
			p_bar *= x_i;
		}
	}
	return reel_lane_error(root);
}
