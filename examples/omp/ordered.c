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

/* OpenMP's own loop: each lane keeps which iterations it had. */
void forward_ordered(reel_lane *root, double *x, const double *a)
{
	reel_region *region = reel_region_begin(root, 0);
	double s = 0;

#pragma omp parallel
	{
		reel_worker worker = reel_worker_of(region);

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
	reel_region_end(region);
}

int reverse_ordered(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_region *region = reel_region_reverse(root);
	double s_bar = 0;

	omp_set_dynamic(0);
#pragma omp parallel num_threads(reel_region_threads(region, omp_get_max_threads()))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);

			for (int count = reel_pop(tape, int); count > 0; count--) {
				int i = reel_pop(tape, int);
				double y_bar;

				reel_ordered_await(worker.lane, &turns);
				y_bar = cos(reel_pop(tape, double)) * (s_bar + x_bar[i]);
				s_bar = y_bar;
				reel_ordered_done(worker.lane, &turns);
				x_bar[i] = step_reverse(reel_pop(tape, double), a[i], y_bar,
							&a_bar[i]);
			}
		}
	}
	return reel_region_end(region);
}
