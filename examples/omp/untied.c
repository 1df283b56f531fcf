/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { BLOCK = 8 };

/* After each taskyield an untied task may be on another thread. */
void primal_untied(double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	for (int first = 0; first < N; first += BLOCK) {
#pragma omp task untied firstprivate(first)
		for (int i = first; i < first + BLOCK; i++) {
			x[i] = step(x[i], a[i]);
#pragma omp taskyield
		}
	}
}

/* The lane is in a variable of the task, and moves with it; checked mode wants to be told. */
void forward_untied(reel_lane *root, double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	for (int first = 0; first < N; first += BLOCK) {
		reel_lane *task = reel_task_begin(root, first, NULL, 0);

#pragma omp task untied firstprivate(task, first)
		for (int i = first; i < first + BLOCK; i++) {
			reel_push(reel_lane_tape(task), x[i]);
			x[i] = step(x[i], a[i]);
			reel_tape_hand_over(reel_lane_tape(task));
#pragma omp taskyield
		}
	}
	reel_task_wait(root);
}

int reverse_untied(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_task_wait_reverse(root);
#pragma omp parallel
#pragma omp master
	while (reel_tasks_left(root)) {
		reel_lane *task = reel_task_reverse(root);
		int first = (int)reel_task_label(task);

#pragma omp task untied firstprivate(task, first)
		{
			for (int i = first + BLOCK; i-- > first;) {
				double x = reel_pop(reel_lane_tape(task), double);

				x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
				reel_tape_hand_over(reel_lane_tape(task));
#pragma omp taskyield
			}
			reel_task_end(task);
		}
	}
	return reel_lane_error(root);
}
