/* SPDX-License-Identifier: MIT */
/* Step 1: how the height of a wave at a gauge depends on the wave at the beginning. */
#include <math.h>
#include <reel.h>
#include <stdio.h>

enum { N = 10000, STEPS = 1000, CREST = 2500, GAUGE = 2700 };

static void start(double *u)
{
	for (int i = 1; i <= N; i++)
		u[i] = 1 + exp(-pow((i - CREST) / 100.0, 2));
}

/* Burgers' equation on a ring: each value moves to the right, at its own speed. */
static void step(double *u, reel_tape *tape)
{
	u[0] = u[N];
	for (int i = N; i > 0; i--) {
		reel_push(tape, u[i]);
		u[i] -= 0.1 * u[i] * (u[i] - u[i - 1]);
	}
	reel_push(tape, u[0]);
}

static void step_reverse(double *u_bar, reel_tape *tape)
{
	double left = reel_pop(tape, double);

	for (int i = 1; i <= N; i++) {
		double here = reel_pop(tape, double);
		u_bar[i - 1] += 0.1 * here * u_bar[i];
		u_bar[i] *= 1 - 0.1 * (2 * here - left);
		left = here;
	}
	u_bar[N] += u_bar[0];
	u_bar[0] = 0;
}

int main(void)
{
	static double u[N + 1], u_bar[N + 1];
	double sum = 0;
	reel_tape tape = {0};

	start(u);
	for (int i = 0; i < STEPS; i++)
		step(u, &tape);
	u_bar[GAUGE] = 1;                     /* J is u[GAUGE] */
	for (int i = 0; i < STEPS; i++)
		step_reverse(u_bar, &tape);
	for (int i = 1; i <= N; i++)
		sum += u_bar[i];
	printf("J = %.17g, dJ/du = %.17g at the crest, %.17g in all\n", u[GAUGE], u_bar[CREST],
	       sum);
	reel_tape_close(&tape);
}
