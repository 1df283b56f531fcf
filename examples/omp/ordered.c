/* SPDX-License-Identifier: MIT */
#include "patterns.h"

void primal_ordered(double *x, const double *a)
{
	double s = 0;

#pragma omp parallel for ordered schedule(dynamic)
	for (int i = 0; i < N; i++) {
		double y = step(x[i], a[i]);

#pragma omp ordered
		x[i] = s = sin(s + y);
	}
}

static reel_ordered turns;

/* The loop is OpenMP's own: each lane pushes the numbers of its iterations. */
void forward_ordered(reel_lane *root, double *x, const double *a)
{
	double s = 0;

	REEL_REGION(root, worker) {
		if (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			int count = 0;

#pragma omp for ordered schedule(dynamic)
			for (int i = 0; i < N; i++) {
				double y = step(x[i], a[i]);

				reel_push(tape, x[i]);
#pragma omp ordered
				{
					reel_ordered_note(worker.lane, &turns);
					reel_push(tape, s + y);
					x[i] = s = sin(s + y);
				}
				reel_push(tape, i);
				count++;
			}
			reel_push(tape, count);
		}
	}
}

int reverse_ordered(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	double s_bar = 0;

	omp_set_dynamic(0);
	REEL_PARALLEL_REVERSE(root, lane) {
		reel_tape *tape = reel_lane_tape(lane);

		for (int count = reel_pop(tape, int); count > 0; count--) {
			int i = reel_pop(tape, int);
			double y_bar;

			reel_ordered_await(lane, &turns);
			y_bar = cos(reel_pop(tape, double)) * (s_bar + x_bar[i]);
			s_bar = y_bar;
			reel_ordered_done(lane, &turns);
			x_bar[i] = step_reverse(reel_pop(tape, double), a[i], y_bar, &a_bar[i]);
		}
	}
	return reel_lane_error(root);
}
