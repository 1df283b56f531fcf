/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { BINS = 3 };

static omp_lock_t lock[BINS];

static void open_locks(void)
{
	for (int bin = 0; bin < BINS; bin++)
		omp_init_lock(&lock[bin]);
}

static void close_locks(void)
{
	for (int bin = 0; bin < BINS; bin++)
		omp_destroy_lock(&lock[bin]);
}

void primal_locks(double *x, const double *a)
{
	double product[BINS] = {1, 1, 1};

	open_locks();
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		omp_set_lock(&lock[i % BINS]);
		product[i % BINS] *= a[i] * x[i];
		omp_unset_lock(&lock[i % BINS]);
	}
	close_locks();
	for (int bin = 0; bin < BINS; bin++)
		x[bin] += product[bin];
}

static reel_ordered order[BINS];

void forward_locks(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);
	double product[BINS] = {1, 1, 1};

	open_locks();
#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);

			REEL_FOR(worker.lane, int, i, 0, N, reel_static(1))
			{
				int bin = i % BINS;

				reel_push(tape, x[i]);
				omp_set_lock(&lock[bin]);
				reel_ordered_note(worker.lane, &order[bin]);
				reel_push(tape, product[bin]);
				product[bin] *= a[i] * x[i];
				omp_unset_lock(&lock[bin]);
			}
		}
	}
	reel_region_end(region);
	close_locks();
	for (int bin = 0; bin < BINS; bin++)
		x[bin] += product[bin];
}

int reverse_locks(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	double product_bar[BINS] = {x_bar[0], x_bar[1], x_bar[2]};

	omp_set_dynamic(0);
#pragma omp parallel num_threads(reel_region_threads(region, omp_get_max_threads()))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);

			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(1))
			{
				double x, factor_bar;
				int bin = i % BINS;

				reel_ordered_await(worker.lane, &order[bin]);
				factor_bar = reel_pop(tape, double) * product_bar[bin];
				x = reel_pop(tape, double);
				product_bar[bin] *= a[i] * x;
				reel_ordered_done(worker.lane, &order[bin]);
				x_bar[i] += a[i] * factor_bar;
				a_bar[i] += x * factor_bar;
			}
		}
	}
	return reel_region_end(region);
}
