/* SPDX-License-Identifier: MIT */
#include "patterns.h"

static double scale;
#pragma omp threadprivate(scale)

void primal_threadprivate(double *x, const double *a)
{
	scale = a[0];
#pragma omp parallel copyin(scale)
	{
		scale *= scale;
#pragma omp for
		for (int i = 0; i < N; i++)
			x[i] *= scale;
	}
}

/* Each lane has its own scale: another thread may take the lane in the next region. */
static double scale_of[LANES];

void forward_threadprivate(reel_lane *root, double *x, const double *a)
{
	for (int lane = 0; lane < LANES; lane++)
		scale_of[lane] = a[0];
	REEL_PARALLEL_WITH(root, lane, LANES, 0, ) {
		reel_tape *tape = reel_lane_tape(lane);
		double *own = &scale_of[reel_lane_index(lane)];

		reel_push(tape, *own);
		*own *= *own;
		REEL_FOR(lane, int, i, 0, N, reel_static(0)) {
			reel_push(tape, x[i]);
			x[i] *= *own;
		}
	}
}

int reverse_threadprivate(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double scale_bar[LANES] = {0};

	(void)a;
	REEL_PARALLEL_REVERSE(root, lane) {
		reel_tape *tape = reel_lane_tape(lane);
		double *own = &scale_of[reel_lane_index(lane)], bar = 0;

		REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0)) {
			bar += reel_pop(tape, double) * x_bar[i];
			x_bar[i] *= *own;
		}
		*own = reel_pop(tape, double);
		scale_bar[reel_lane_index(lane)] = 2 * *own * bar;
	}
	a_bar[0] += reel_reduce(root, REEL_REDUCE_SUM, scale_bar, LANES); /* of copyin */
	return reel_lane_error(root);
}
