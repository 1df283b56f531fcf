/* SPDX-License-Identifier: MIT */
#include "patterns.h"

enum { BLOCKS = 8, BLOCK = N / BLOCKS };

/* Each block needs its neighbours' first elements. */
static double around(const double *x, int block)
{
	return x[BLOCK * ((block + 1) % BLOCKS)] - x[BLOCK * ((block + BLOCKS - 1) % BLOCKS)];
}

void primal_dependences(double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	for (int t = 0; t < STEPS; t++) {
		for (int b = 0; b < BLOCKS; b++) {
#pragma omp task firstprivate(b) depend(inout : x[BLOCK * b])                                      \
	depend(in : x[BLOCK * ((b + 1) % BLOCKS)], x[BLOCK * ((b + BLOCKS - 1) % BLOCKS)])
			for (int i = BLOCK * (b + 1); i-- > BLOCK * b;)
				x[i] = step(x[i], a[i]) + around(x, b) / 8;
		}
	}
}

static void task_forward(reel_tape *tape, double *x, const double *a, int b)
{
	for (int i = BLOCK * (b + 1); i-- > BLOCK * b;) {
		reel_push(tape, x[i]);
		x[i] = step(x[i], a[i]) + around(x, b) / 8;
	}
}

/* The same dependences, given to Reel. */
void forward_dependences(reel_lane *root, double *x, const double *a)
{
#pragma omp parallel
#pragma omp master
	for (int t = 0; t < STEPS; t++) {
		for (int b = 0; b < BLOCKS; b++) {
			const reel_dependence dependences[] = {
				{&x[BLOCK * b], REEL_TASK_INOUT},
				{&x[BLOCK * ((b + 1) % BLOCKS)], REEL_TASK_IN},
				{&x[BLOCK * ((b + BLOCKS - 1) % BLOCKS)], REEL_TASK_IN}};
			reel_lane *task = reel_task_begin(root, b, dependences, 3);

#pragma omp task firstprivate(task, b) depend(inout : x[BLOCK * b])                                \
	depend(in : x[BLOCK * ((b + 1) % BLOCKS)], x[BLOCK * ((b + BLOCKS - 1) % BLOCKS)])
			task_forward(reel_lane_tape(task), x, a, b);
		}
	}
	reel_task_wait(root);
}

struct adjoint {
	double *x_bar, *a_bar;
	const double *a;
};

static void task_reverse(void *context, reel_lane *task)
{
	struct adjoint *at = context;
	int b = (int)reel_task_label(task);

	for (int i = BLOCK * b; i < BLOCK * (b + 1); i++) {
		double x = reel_pop(reel_lane_tape(task), double), bar = at->x_bar[i];

		at->x_bar[i] = step_reverse(x, at->a[i], bar, &at->a_bar[i]);
		at->x_bar[BLOCK * ((b + 1) % BLOCKS)] += bar / 8;
		at->x_bar[BLOCK * ((b + BLOCKS - 1) % BLOCKS)] -= bar / 8;
	}
}

int reverse_dependences(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	struct adjoint adjoint = {x_bar, a_bar, a};

	return reel_tasks_reverse(root, task_reverse, &adjoint, 0, REEL_TASKS_IN_ORDER);
}
