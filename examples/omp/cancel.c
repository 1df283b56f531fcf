/* SPDX-License-Identifier: MIT */
#include "patterns.h"

/* Works on x until some thread comes to an element above 1.15: then none goes on. */
static bool ends(double x)
{
	return x > 1.15;
}

void primal_cancel(double *x, const double *a)
{
#pragma omp parallel
#pragma omp for
	for (int i = 0; i < N; i++) {
		if (ends(x[i])) {
#pragma omp cancel for
		}
		x[i] = step(x[i], a[i]);
#pragma omp cancellation point for
	}
}

static bool is_over(const int *over)
{
	int seen;

#pragma omp atomic read
	seen = *over;
	return seen;
}

/* A lane leaves its loop with reel_loop_stop(), which notes how far it came. */
static void forward_lane(reel_lane *lane, double *x, const double *a, int *over)
{
	reel_loop loop = reel_loop_begin(lane, reel_dynamic(2), 0, N);

	while (reel_loop_next(&loop)) {
		for (int i = (int)loop.first; i < (int)loop.end; i++) {
			if (ends(x[i]) || is_over(over)) {
#pragma omp atomic write
				*over = 1;
				reel_loop_stop(&loop, i);
				break;
			}
			reel_push(reel_lane_tape(lane), x[i]);
			x[i] = step(x[i], a[i]);
		}
	}
}

void forward_cancel(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);
	int over = 0;

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			forward_lane(worker.lane, x, a, &over);
	}
	reel_region_end(region);
}

/* Exactly the iterations that were done come back. */
int reverse_cancel(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_dynamic(2))
			{
				double x = reel_pop(reel_lane_tape(worker.lane), double);

				x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
			}
		}
	}
	return reel_region_end(region);
}
