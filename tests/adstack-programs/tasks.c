/* SPDX-License-Identifier: MIT */
/*
 * A tree of explicit tasks, and their adjoints in tasks of their own that run in another order: each
 * takes up the segment that its forward task filled. One of them is frozen and reversed three times.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <adStack.h>

#define N 400

typedef struct reel_adstack_segment reel_adstack_segment;
void reel_adstack_segment_enter(reel_adstack_segment **segment);
void reel_adstack_segment_leave(reel_adstack_segment **segment);
void reel_adstack_segment_drop(reel_adstack_segment **segment);

static double x[N], y[N], xb[N], reference[N];
static reel_adstack_segment *segment[N];

static void forward(int i)
{
	double t = x[i];

	for (int k = 0; k < 50 + i; k++) {
		pushReal8(t);
		pushControl1b(t > 0.5);
		t = t > 0.5 ? sin(t) : 1.1 * t + 0.1;
	}
	y[i] = t;
}

static void backward(int i)
{
	double t, tb = 1;
	int branch;

	for (int k = 0; k < 50 + i; k++) {
		popControl1b(&branch);
		popReal8(&t);
		tb *= branch ? cos(t) : 1.1;
	}
	xb[i] += tb;
}

/* Waits in its segment for the tasks below it, which this thread runs meanwhile. */
static void forward_tree(int i)
{
	reel_adstack_segment_enter(&segment[i]);
	for (int child = 2 * i + 1; child <= 2 * i + 2 && child < N; child++) {
#pragma omp task firstprivate(child)
		forward_tree(child);
	}
#pragma omp taskyield
	forward(i);
#pragma omp taskwait
	pushReal8(y[i]);
	reel_adstack_segment_leave(&segment[i]);
}

static void reverse_task(int i)
{
	double t;

	reel_adstack_segment_enter(&segment[i]);
	popReal8(&t);
	backward(i);
	reel_adstack_segment_leave(&segment[i]);
}

int main(void)
{
	int failures = 0;

	for (int i = 0; i < N; i++)
		x[i] = 0.1 + 0.8 * i / N;
	for (int i = 0; i < N; i++)
		forward(i);
	for (int i = N; i-- > 0;)
		backward(i);
	for (int i = 0; i < N; i++) {
		reference[i] = xb[i];
		xb[i] = 0;
	}

	for (int round = 0; round < 5; round++) {
#pragma omp parallel num_threads(4)
#pragma omp single
		forward_tree(0);
		/* Not all in the order of creation. */
#pragma omp parallel num_threads(3)
#pragma omp single
		for (int k = 0; k < N; k++) {
			int i = k * 37 % N;
#pragma omp task firstprivate(i) priority(i % 3)
			reverse_task(i);
		}
		for (int i = 0; i < N; i++) {
			failures += xb[i] != reference[i] || segment[i];
			xb[i] = 0;
		}
	}

	/* Recorded once, reversed three times, by whoever comes. */
	reel_adstack_segment_enter(&segment[1]);
	forward(1);
	adStack_startRepeat();
	reel_adstack_segment_leave(&segment[1]);
	for (int k = 0; k < 3; k++) {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task
		{
			reel_adstack_segment_enter(&segment[1]);
			backward(1);
			adStack_resetRepeat();
			reel_adstack_segment_leave(&segment[1]);
		}
	}
	failures += xb[1] != reference[1] + reference[1] + reference[1] || !segment[1];
	reel_adstack_segment_drop(&segment[1]);
	failures += segment[1] != 0;
	printf("%d failures\n", failures);
	return 0;
}
