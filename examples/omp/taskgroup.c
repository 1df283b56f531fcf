/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { BLOCK = 8 };

void primal_taskgroup(double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	{
#pragma omp taskgroup
		for (int first = 0; first < N; first += BLOCK) {
#pragma omp task firstprivate(first)
			for (int i = first; i < first + BLOCK; i++)
				x[i] = step(x[i], a[i]);
		}
		x[0] *= x[N - 1];
	}
}

static void block_forward(reel_tape *tape, double *x, const double *a, int first)
{
	for (int i = first; i < first + BLOCK; i++) {
		reel_push(tape, x[i]);
		x[i] = step(x[i], a[i]);
	}
}

void forward_taskgroup(reel_lane *root, double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	{
#pragma omp taskgroup
		for (int first = 0; first < N; first += BLOCK) {
			reel_lane *task = reel_task_begin(root, first, NULL, 0);

#pragma omp task firstprivate(task, first)
			block_forward(reel_lane_tape(task), x, a, first);
		}
		reel_task_wait(root);
		reel_push(reel_lane_tape(root), x[0]);
		reel_push(reel_lane_tape(root), x[N - 1]);
		x[0] *= x[N - 1];
	}
}

static void block_reverse(reel_lane *task, double *x_bar, const double *a, double *a_bar)
{
	int first = (int)reel_task_label(task);

	for (int i = first + BLOCK; i-- > first;) {
		double x = reel_pop(reel_lane_tape(task), double);

		x_bar[i] = step_reverse(x, a[i], x_bar[i], &a_bar[i]);
	}
	reel_task_end(task);
}

int reverse_taskgroup(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
#pragma omp parallel
#pragma omp master
	{
		double x_last = reel_pop(reel_lane_tape(root), double);
		double x_first = reel_pop(reel_lane_tape(root), double);

		x_bar[N - 1] += x_first * x_bar[0];
		x_bar[0] *= x_last;
		reel_task_wait_reverse(root);
#pragma omp taskgroup
		while (reel_tasks_left(root)) {
			reel_lane *task = reel_task_reverse(root);

#pragma omp task firstprivate(task)
			block_reverse(task, x_bar, a, a_bar);
		}
	}
	return reel_lane_error(root);
}
