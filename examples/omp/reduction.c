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
	reel_region *region = reel_region_begin(root, LANES);
	double sum[LANES], product[LANES];

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			double s = 0, p = 1;

			REEL_FOR(worker.lane, int, i, 0, N, reel_static(0))
			{
				reel_push(tape, x[i]);
				reel_push(tape, p);
				s += step(x[i], a[i]);
				p *= x[i];
			}
			sum[reel_lane_index(worker.lane)] = s;
			product[reel_lane_index(worker.lane)] = p;
		}
	}
	reel_region_end(region);
	x[0] = reel_reduce(root, REEL_REDUCE_SUM, sum, LANES);
	x[1] = reel_reduce(root, REEL_REDUCE_PRODUCT, product, LANES);
}

int reverse_reduction(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double sum_bar[LANES], product_bar[LANES];
	reel_region *region;

	reel_reduce_reverse(root, REEL_REDUCE_PRODUCT, x_bar[1], product_bar, LANES);
	reel_reduce_reverse(root, REEL_REDUCE_SUM, x_bar[0], sum_bar, LANES);
	x_bar[0] = x_bar[1] = 0;
	region = reel_region_reverse(root);
#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			double s_bar = sum_bar[reel_lane_index(worker.lane)];
			double p_bar = product_bar[reel_lane_index(worker.lane)];

			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(0))
			{
				double p = reel_pop(tape, double), x_i = reel_pop(tape, double);

				x_bar[i] += p * p_bar + step_reverse(x_i, a[i], s_bar, &a_bar[i]);
				p_bar *= x_i;
			}
		}
	}
	return reel_region_end(region);
}
