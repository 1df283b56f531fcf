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
	reel_region *region = reel_region_begin(root, 0);
	double product = 1;

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);

			REEL_FOR(worker.lane, int, i, 0, N, reel_dynamic(4))
			{
				double factor = 1 + step(x[i], a[i]) / N;

				reel_push(tape, x[i]);
				reel_push(tape, factor);
#pragma omp critical(product)
				{
					reel_ordered_note(worker.lane, &product_order);
					reel_push(tape, product);
					product *= factor;
				}
			}
		}
	}
	reel_region_end(region);
	x[0] += product;
}

/* Lanes wait for each other: each one needs a thread, and OpenMP must not give fewer. */
int reverse_critical(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	double product_bar = x_bar[0];

	omp_set_dynamic(0);
#pragma omp parallel num_threads(reel_region_threads(region, omp_get_max_threads()))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);

			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_dynamic(4))
			{
				double product, factor, factor_bar;

				reel_ordered_await(worker.lane, &product_order);
				product = reel_pop(tape, double);
				factor = reel_pop(tape, double);
				factor_bar = product * product_bar;
				product_bar *= factor;
				reel_ordered_done(worker.lane, &product_order);
				x_bar[i] += step_reverse(reel_pop(tape, double), a[i],
							 factor_bar / N, &a_bar[i]);
			}
		}
	}
	return reel_region_end(region);
}
