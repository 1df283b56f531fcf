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
	REEL_PARALLEL_FOR(root, lane, int, i, 0, N, chunking) {
		reel_push(reel_lane_tape(lane), x[i]);
		x[i] = step(x[i], a[i]);
	}
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

static void reverse_loop(reel_lane *root, double *x_bar, const double *a, double *a_bar,
			 reel_chunking chunking)
{
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, N, chunking) {
		double x = reel_pop(reel_lane_tape(lane), double);

		x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
	}
}

/* Errors are sticky: reel_lane_error() tells of an error in any of the six regions. */
int reverse_loops(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reverse_loop(root, x_bar, a, a_bar, reel_runtime());
	reverse_loop(root, x_bar, a, a_bar, reel_static(0));
	reverse_loop(root, x_bar, a, a_bar, reel_guided(1));
	reverse_loop(root, x_bar, a, a_bar, reel_dynamic(4));
	reverse_loop(root, x_bar, a, a_bar, reel_static(8));
	reverse_loop(root, x_bar, a, a_bar, reel_static(0));
	return reel_lane_error(root);
}
