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

/* A thread's own is a lane's own here, since another thread may come for the lane. */
static double scale_of[LANES];

void forward_threadprivate(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, LANES);

	for (int lane = 0; lane < LANES; lane++)
		scale_of[lane] = a[0];
#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			double *own = &scale_of[reel_lane_index(worker.lane)];

			reel_push(tape, *own);
			*own *= *own;
			REEL_FOR(worker.lane, int, i, 0, N, reel_static(0))
			{
				reel_push(tape, x[i]);
				x[i] *= *own;
			}
		}
	}
	reel_region_end(region);
}

int reverse_threadprivate(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	double scale_bar[LANES] = {0};
	int error;

	(void)a;
#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			double *own = &scale_of[reel_lane_index(worker.lane)], bar = 0;

			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_static(0))
			{
				bar += reel_pop(tape, double) * x_bar[i];
				x_bar[i] *= *own;
			}
			*own = reel_pop(tape, double);
			scale_bar[reel_lane_index(worker.lane)] = 2 * *own * bar;
		}
	}
	error = reel_region_end(region);
	a_bar[0] += reel_reduce(root, REEL_REDUCE_SUM, scale_bar, LANES); /* of copyin */
	return error;
}
