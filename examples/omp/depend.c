/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { BLOCKS = 8, BLOCK = N / BLOCKS };

/* Each block reads the new last element of the block before. */
static void block_primal(double *x, const double *a, int block)
{
	for (int i = BLOCK * block; i < BLOCK * (block + 1); i++)
		x[i] = step(x[i], a[i]) * x[BLOCK * block - 1];
}

void primal_depend(double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	for (int t = 0; t < STEPS; t++) {
		for (int block = 1; block < BLOCKS; block++) {
#pragma omp task firstprivate(block) depend(in : x[BLOCK * (block - 1)])                           \
	depend(inout : x[BLOCK * block])
			block_primal(x, a, block);
		}
	}
}

static void block_forward(reel_tape *tape, double *x, const double *a, int block)
{
	double before = x[BLOCK * block - 1];

	for (int i = BLOCK * block; i < BLOCK * (block + 1); i++) {
		reel_push(tape, x[i]);
		x[i] = step(x[i], a[i]) * before;
	}
	reel_push(tape, before);
}

void forward_depend(reel_lane *root, double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	for (int t = 0; t < STEPS; t++) {
		for (int block = 1; block < BLOCKS; block++) {
			reel_lane *task = reel_task_begin(root, block, NULL, 0);

#pragma omp task firstprivate(task, block) depend(in : x[BLOCK * (block - 1)])                     \
	depend(inout : x[BLOCK * block])
			block_forward(reel_lane_tape(task), x, a, block);
		}
	}
	reel_task_wait(root);
}

static void block_reverse(reel_lane *task, double *x_bar, const double *a, double *a_bar, int block)
{
	reel_tape *tape = reel_lane_tape(task);
	double before = reel_pop(tape, double), before_bar = 0;

	for (int i = BLOCK * (block + 1); i-- > BLOCK * block;) {
		double x = reel_pop(tape, double);

		before_bar += step(x, a[i]) * x_bar[i];
		x_bar[i] = step_reverse(x, a[i], before * x_bar[i], &a_bar[i]);
	}
	x_bar[BLOCK * block - 1] += before_bar;
	reel_task_end(task);
}

/* The reverse of a task adds to the adjoints of the values that it read: in becomes inout. */
int reverse_depend(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	reel_task_wait_reverse(root);
#pragma omp parallel
#pragma omp master
	while (reel_tasks_left(root)) {
		reel_lane *task = reel_task_reverse(root);
		int block = (int)reel_task_label(task);

#pragma omp task firstprivate(task, block) depend(inout : x_bar[BLOCK * (block - 1)])              \
	depend(inout : x_bar[BLOCK * block])
		block_reverse(task, x_bar, a, a_bar, block);
	}
	return reel_lane_error(root);
}
