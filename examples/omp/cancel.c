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

/* Before a lane leaves its loop, reel_loop_stop() notes that it ran the iterations below i. */
void forward_cancel(reel_lane *root, double *x, const double *a)
{
	int over = 0;

	REEL_PARALLEL(root, lane) {
		reel_loop loop = reel_loop_begin(lane, reel_dynamic(2), 0, N);

		while (reel_loop_next(&loop)) {
			for (int i = (int)loop.first; i < (int)loop.end; i++) {
				if (ends(x[i]) || is_over(&over)) {
#pragma omp atomic write
					over = 1;
					reel_loop_stop(&loop, i);
					break;
				}
				reel_push(reel_lane_tape(lane), x[i]);
				x[i] = step(x[i], a[i]);
			}
		}
	}
}

/* The loop in the reverse sweep has only the iterations that the forward sweep ran. */
int reverse_cancel(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, N, reel_dynamic(2)) {
		double x = reel_pop(reel_lane_tape(lane), double);

		x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
	}
	return reel_lane_error(root);
}
