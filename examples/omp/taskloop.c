/* SPDX-License-Identifier: MIT */
#ifdef __clang__ /* clang 14 compiles a taskloop to code that converts numbers. */
#pragma clang diagnostic ignored "-Wconversion"
#endif
#include "patterns.h"

enum { GRAIN = 8, GRAINS = N / GRAIN };

void primal_taskloop(double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
#pragma omp taskloop grainsize(GRAIN)
	for (int i = 0; i < N; i++)
		x[i] = step(x[i], a[i]);
}

/* A taskloop over grains of its own: each has a lane. */
void forward_taskloop(reel_lane *root, double *x, const double *a)
{
	reel_lane *grain[GRAINS];

	for (int g = 0; g < GRAINS; g++)
		grain[g] = reel_task_begin(root, g, NULL, 0);
#pragma omp parallel
#pragma omp master
#pragma omp taskloop grainsize(1)
	for (int g = 0; g < GRAINS; g++) {
		for (int i = GRAIN * g; i < GRAIN * (g + 1); i++) {
			reel_push(reel_lane_tape(grain[g]), x[i]);
			x[i] = step(x[i], a[i]);
		}
	}
	reel_task_wait(root);
}

int reverse_taskloop(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_lane *grain[GRAINS];

	reel_task_wait_reverse(root);
	for (int g = GRAINS; g-- > 0;)
		grain[g] = reel_task_reverse(root);
#pragma omp parallel
#pragma omp master
#pragma omp taskloop grainsize(1)
	for (int g = 0; g < GRAINS; g++) {
		for (int i = GRAIN * (g + 1); i-- > GRAIN * g;) {
			double x = reel_pop(reel_lane_tape(grain[g]), double);

			x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
		}
		reel_task_end(grain[g]);
	}
	return reel_lane_error(root);
}
