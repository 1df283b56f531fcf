/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { LEAF = 8 };

static void halve(double *x, const double *a, int first, int end)
{
	int middle = (first + end) / 2;

	if (end - first <= LEAF) {
		for (int i = first; i < end; i++)
			x[i] = step(x[i], a[i]);
		return;
	}
#pragma omp task
	halve(x, a, first, middle);
#pragma omp task
	halve(x, a, middle, end);
#pragma omp taskwait
	x[first] *= x[middle];
}

void primal_tasks(double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	halve(x, a, 0, N);
}

static void halve_forward(reel_lane *lane, double *x, const double *a, int first, int end)
{
	reel_tape *tape = reel_lane_tape(lane);
	int middle = (first + end) / 2;
	reel_lane *task;

	if (end - first <= LEAF) {
		for (int i = first; i < end; i++) {
			reel_push(tape, x[i]);
			x[i] = step(x[i], a[i]);
		}
		return;
	}
	task = reel_task_begin(lane, 0, NULL, 0);
#pragma omp task firstprivate(task)
	halve_forward(task, x, a, first, middle);
	task = reel_task_begin(lane, 1, NULL, 0);
#pragma omp task firstprivate(task)
	halve_forward(task, x, a, middle, end);
#pragma omp taskwait
	reel_task_wait(lane);
	reel_push(tape, x[first]);
	reel_push(tape, x[middle]);
	x[first] *= x[middle];
}

void forward_tasks(reel_lane *root, double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	halve_forward(root, x, a, 0, N);
}

static void halve_reverse(reel_lane *lane, double *x_bar, const double *a, double *a_bar, int first,
			  int end)
{
	reel_tape *tape = reel_lane_tape(lane);
	int middle = (first + end) / 2;
	double x_middle, x_first;

	if (end - first <= LEAF) {
		for (int i = end; i-- > first;)
			x_bar[i] = step_reverse(reel_pop(tape, double), a[i], x_bar[i], &a_bar[i]);
		return;
	}
	x_middle = reel_pop(tape, double);
	x_first = reel_pop(tape, double);
	x_bar[middle] += x_first * x_bar[first];
	x_bar[first] *= x_middle;
	reel_task_wait_reverse(lane);
	while (reel_tasks_left(lane)) {
		reel_lane *task = reel_task_reverse(lane);
		int second = (int)reel_task_label(task);

#pragma omp task firstprivate(task, second)
		{
			halve_reverse(task, x_bar, a, a_bar, second ? middle : first,
				      second ? end : middle);
			reel_task_end(task);
		}
	}
#pragma omp taskwait
}

int reverse_tasks(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
#pragma omp parallel
#pragma omp master
	halve_reverse(root, x_bar, a, a_bar, 0, N);
	return reel_lane_error(root);
}
