/* SPDX-License-Identifier: MIT */
/*
 * A time loop under binomial checkpointing, its snapshots on the stack; a look at one is a repeat
 * level. The same gradient is computed with all states stored.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <adStack.h>

#define N 64
#define STEPS 300

enum { PUSHSNAP = 1, LOOKSNAP, POPSNAP, ADVANCE, FIRSTTURN, TURN };

void adBinomial_init(int length, int snapshots, int first);
int adBinomial_next(int *action, int *step);

static double x[N], xb[N];

static void advance(double *x)
{
	for (int i = 0; i < N; i++)
		x[i] = x[i] + 0.01 * sin(x[(i + 1) % N]) * x[i];
}

static void step_b(int checked)
{
	for (int i = 0; i < N; i++) {
		pushReal8(x[i]);
		x[i] = x[i] + 0.01 * sin(x[(i + 1) % N]) * x[i];
		if (checked)
			pushControl1b(i & 1);
	}
	for (int i = N - 1; i >= 0; i--) {
		int branch = i & 1;

		if (checked)
			popControl1b(&branch);
		popReal8(&x[i]);
		if (branch != (i & 1))
			printf("branch %d\n", i);
		xb[(i + 1) % N] += 0.01 * cos(x[(i + 1) % N]) * x[i] * xb[i];
		xb[i] += 0.01 * sin(x[(i + 1) % N]) * xb[i];
	}
}

static void start(void)
{
	for (int i = 0; i < N; i++)
		x[i] = 0.5 + 0.01 * i, xb[i] = 1;
}

static void by_snapshots(int snapshots)
{
	int action, step;

	adBinomial_init(STEPS, snapshots, 1);
	while (adBinomial_next(&action, &step)) {
		if (action == PUSHSNAP) {
			pushReal8Array(x, N);
		} else if (action == LOOKSNAP) {
			adStack_startRepeat();
			popReal8Array(x, N);
			adStack_resetRepeat();
			adStack_endRepeat();
		} else if (action == POPSNAP) {
			popReal8Array(x, N);
		} else if (action == ADVANCE) {
			advance(x);
		} else {
			step_b(1);
		}
	}
}

static void by_storing(void)
{
	static double states[STEPS][N];

	for (int k = 0; k < STEPS; k++) {
		memcpy(states[k], x, sizeof x);
		advance(x);
	}
	for (int k = STEPS - 1; k >= 0; k--) {
		memcpy(x, states[k], sizeof x);
		step_b(0);
	}
}

int main(void)
{
	static const int snapshots[] = {1, 3, 10, 120, 400};
	double reference[N];
	int differ = 0;

	start();
	by_storing();
	memcpy(reference, xb, sizeof xb);
	for (int i = 0; i < 5; i++) {
		start();
		by_snapshots(snapshots[i]);
		differ += memcmp(reference, xb, sizeof xb) != 0;
	}
	printf("%d differ, %d bytes left\n", differ, (int)adStack_getCurrentStackSize());
	return differ != 0 || adStack_getCurrentStackSize() != 0;
}
