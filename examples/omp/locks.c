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
	double product[BINS] = {1, 1, 1};

	open_locks();
	REEL_PARALLEL_FOR(root, lane, int, i, 0, N, reel_static(1)) {
		int bin = i % BINS;

		reel_push(reel_lane_tape(lane), x[i]);
		omp_set_lock(&lock[bin]);
		reel_ordered_note(lane, &order[bin]);
		reel_push(reel_lane_tape(lane), product[bin]);
		product[bin] *= a[i] * x[i];
		omp_unset_lock(&lock[bin]);
	}
	close_locks();
	for (int bin = 0; bin < BINS; bin++)
		x[bin] += product[bin];
}

int reverse_locks(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double product_bar[BINS] = {x_bar[0], x_bar[1], x_bar[2]};

	omp_set_dynamic(0);
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, N, reel_static(1)) {
		double x, factor_bar;
		int bin = i % BINS;

		reel_ordered_await(lane, &order[bin]);
		factor_bar = reel_pop(reel_lane_tape(lane), double) * product_bar[bin];
		x = reel_pop(reel_lane_tape(lane), double);
		product_bar[bin] *= a[i] * x;
		reel_ordered_done(lane, &order[bin]);
		x_bar[i] += a[i] * factor_bar;
		a_bar[i] += x * factor_bar;
	}
	return reel_lane_error(root);
}
