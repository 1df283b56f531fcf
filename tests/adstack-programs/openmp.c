/* SPDX-License-Identifier: MIT */
/*
 * Worksharing loops and their adjoints: static schedules computed again, dynamic ones recorded
 * and replayed. Each iteration owns its adjoints, so the gradient is the same bits for any number
 * of threads. Teams differ from region to region, and nest.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <adStack.h>

#define N 3000

void getStaticSchedule(int low, int high, int stride, int *first, int *last);
void initDynamicSchedule(void);
void recordDynamicSchedule(int i, int stride);
void finalizeDynamicSchedule(void);

static double x[N], y[N], xb[N], reference[N];

static void forward(int i)
{
	double t = x[i];

	for (int k = 0; k < i % 7; k++) {
		pushReal8(t);
		t = sin(t) * 1.1;
	}
	pushInteger4(i % 7);
	pushControl1b(t > 0.5);
	y[i] = t > 0.5 ? t * t : t;
	pushReal8(t);
}

static void backward(int i)
{
	double t, tb = 1;
	int branch, count;

	popReal8(&t);
	popControl1b(&branch);
	if (branch)
		tb = 2 * t * tb;
	popInteger4(&count);
	for (int k = 0; k < count; k++) {
		popReal8(&t);
		tb = 1.1 * cos(t) * tb;
	}
	xb[i] += tb;
}

static void serial(void)
{
	for (int i = 0; i < N; i++)
		forward(i);
	for (int i = N - 1; i >= 0; i--)
		backward(i);
}

static void by_static_schedule(int threads)
{
	int first, last;

#pragma omp parallel num_threads(threads) private(first, last)
	{
		getStaticSchedule(0, N - 1, 1, &first, &last);
		for (int i = first; i <= last; i++)
			forward(i);
	}
#pragma omp parallel num_threads(threads) private(first, last)
	{
		getStaticSchedule(0, N - 1, 1, &first, &last);
		for (int i = last; i >= first; i--)
			backward(i);
	}
}

static void replay(void)
{
	int runs, first, last;

	popInteger4(&runs);
	for (int k = 0; k < runs; k++) {
		popInteger4(&last);
		popInteger4(&first);
		for (int i = last; i >= first; i--)
			backward(i);
	}
}

/* A thread's runs of iterations lie on its stack between what the iterations pushed. */
static void by_dynamic_schedule(int threads, int n)
{
#pragma omp parallel num_threads(threads)
	{
		pushInteger4(omp_get_thread_num());
		initDynamicSchedule();
#pragma omp for schedule(dynamic, 3)
		for (int i = 0; i < n; i++) {
			recordDynamicSchedule(i, 1);
			forward(i);
		}
		finalizeDynamicSchedule();
	}
#pragma omp parallel num_threads(threads)
	{
		int thread;

		replay();
		popInteger4(&thread);
		if (thread != omp_get_thread_num())
			printf("thread %d is not %d\n", thread, omp_get_thread_num());
	}
}

static void nested(void)
{
#pragma omp parallel num_threads(2)
	{
		double seen = 0, outer = omp_get_thread_num();

		pushReal8(outer);
#pragma omp parallel num_threads(2)
		{
			double inner = 0, thread = omp_get_thread_num();

			for (int i = 0; i < 1000; i++)
				pushReal8(thread + i);
			for (int i = 1000; i-- > 0;) {
				popReal8(&inner);
				if (inner != thread + i)
					printf("nested %d\n", i);
			}
		}
		popReal8(&seen);
		if (seen != outer)
			printf("outer\n");
	}
}

static int differs(const char *what, int threads)
{
	int differs = memcmp(xb, reference, sizeof xb) != 0;

	if (differs)
		printf("%s, %d threads: the gradient differs\n", what, threads);
	memset(xb, 0, sizeof xb);
	return differs;
}

int main(void)
{
	int failures = 0;

	omp_set_max_active_levels(2);
	for (int i = 0; i < N; i++)
		x[i] = 0.2 + 0.0003 * i;
	serial();
	memcpy(reference, xb, sizeof xb);
	memset(xb, 0, sizeof xb);
	for (int threads = 1; threads <= 5; threads++) {
		by_static_schedule(threads);
		failures += differs("static", threads);
		by_dynamic_schedule(threads, N);
		failures += differs("dynamic", threads);
	}
	by_dynamic_schedule(4, 2);
	nested();
#pragma omp parallel num_threads(5) reduction(+ : failures)
	failures += adStack_getCurrentStackSize() != 0;
	printf("%d failures\n", failures);
	return failures != 0;
}
