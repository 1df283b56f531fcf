/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_loops(double *x, const double *a)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i]);
#pragma omp parallel for schedule(static, 8)
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i]);
#pragma omp parallel for schedule(dynamic, 4)
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i]);
#pragma omp parallel for schedule(guided)
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i]);
#pragma omp parallel for schedule(auto)
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i]);
#pragma omp parallel for schedule(runtime)
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i]);
}

static void forward_loop(reel_lane *root, double *x, const double *a, reel_chunking chunking)
{
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, i, 0, N, chunking)
			{
				reel_push(reel_lane_tape(worker.lane), x[i]);
				x[i] = step(x[i], a[i]);
			}
		}
	}
	reel_region_end(region);
}

void forward_loops(reel_lane *root, double *x, const double *a)
{
	forward_loop(root, x, a, reel_static(0));
	forward_loop(root, x, a, reel_static(8));
	forward_loop(root, x, a, reel_dynamic(4));
	forward_loop(root, x, a, reel_guided(1));
	forward_loop(root, x, a, reel_static(0)); /* auto: any will do */
	forward_loop(root, x, a, reel_runtime());
}

static int reverse_loop(reel_lane *root, double *x_bar, const double *a, double *a_bar,
			reel_chunking chunking)
{
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, chunking)
			{
				double x = reel_pop(reel_lane_tape(worker.lane), double);

				x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
			}
		}
	}
	return reel_region_end(region);
}

/* An error sticks: the last region tells of those before. */
int reverse_loops(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reverse_loop(root, x_bar, a, a_bar, reel_runtime());
	reverse_loop(root, x_bar, a, a_bar, reel_static(0));
	reverse_loop(root, x_bar, a, a_bar, reel_guided(1));
	reverse_loop(root, x_bar, a, a_bar, reel_dynamic(4));
	reverse_loop(root, x_bar, a, a_bar, reel_static(8));
	return reverse_loop(root, x_bar, a, a_bar, reel_static(0));
}
