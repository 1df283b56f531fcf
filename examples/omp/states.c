/* SPDX-License-Identifier: MIT */
#include "patterns.h"

#include <string.h>

/* The sum of the neighbours of cell i. */
static double around(const double *u, int i)
{
	return u[(i + N - 1) % N] + u[(i + 1) % N];
}

void primal_states(double *x, const double *a)
{
	double u[N];

	for (int t = 0; t < STEPS; t++) {
		memcpy(u, x, sizeof u);
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			x[i] = step(around(u, i), a[i]);
	}
}

void forward_states(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);
	double *first = reel_push_span(reel_lane_tape(root), double, N);

	if (first)
		memcpy(first, x, N * sizeof *x);
#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);
		double *u = first;

		for (int t = 0; u && t < STEPS; t++) {
			double *next = x;

			if (t < STEPS - 1)
				next = reel_worker_push_span(&worker, double, N);
			else
				reel_worker_barrier(&worker);
			while (next && reel_worker_next(&worker))
				REEL_FOR(worker.lane, int, i, 0, N, reel_static(0))
					next[i] = step(around(u, i), a[i]);
			u = next;
		}
	}
	reel_region_end(region);
}

/* The adjoint of the value that cell j read from a neighbour. */
static double from(const double *u, const double *a, const double *bar, int j)
{
	double unused = 0;

	return step_reverse(around(u, j), a[j], bar[j], &unused);
}

int reverse_states(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	const double *last = reel_pop_span(reel_lane_tape(root), double, N);
	double bar[2][N];

	memcpy(bar[0], x_bar, sizeof bar[0]);
#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);
		const double *u = last;

		for (int t = 0; u && t < STEPS; t++) {
			const double *now = bar[t % 2];
			double *before = bar[(t + 1) % 2];

			while (reel_worker_next(&worker)) {
				REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(0)) {
					a_bar[i] += sin(around(u, i)) * now[i];
					before[i] = from(u, a, now, (i + 1) % N) +
						    from(u, a, now, (i + N - 1) % N);
				}
			}
			if (t < STEPS - 1)
				u = reel_worker_pop_span(&worker, double, N);
		}
	}
	memcpy(x_bar, bar[STEPS % 2], sizeof bar[0]);
	return reel_region_end(region);
}
