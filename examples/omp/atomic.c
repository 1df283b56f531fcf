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
	reel_region *region = reel_region_begin(root, 0);
	double bin[BINS] = {0};

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, i, 0, N, reel_dynamic(4))
			{
				reel_push(reel_lane_tape(worker.lane), x[i]);
#pragma omp atomic
				bin[i % BINS] += step(x[i], a[i]);
			}
		}
	}
	reel_region_end(region);
	for (int i = 0; i < BINS; i++)
		x[i] = bin[i];
}

/* What was added to is only read: nothing is atomic. */
int reverse_atomic(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	double bin_bar[BINS];

	for (int i = 0; i < BINS; i++) {
		bin_bar[i] = x_bar[i];
		x_bar[i] = 0;
	}
#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_dynamic(4))
			{
				double x = reel_pop(reel_lane_tape(worker.lane), double);

				x_bar[i] += step_reverse(x, a[i], bin_bar[i % BINS], &a_bar[i]);
			}
		}
	}
	return reel_region_end(region);
}
