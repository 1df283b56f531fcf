/* SPDX-License-Identifier: MIT */
/* Step 2: the gradient is checked. A row goes on the tape as one array. */
#include <math.h>
#include <reel.h>
#include <stdio.h>

enum { N = 10000, STEPS = 1000, CREST = 2500, GAUGE = 2700 };

/* Each value is raised by h times a weight of its own. */
static void start(double *u, double h)
{
	for (int i = 1; i <= N; i++)
		u[i] = 1 + exp(-pow((i - CREST) / 100.0, 2)) + h * sin(i / 100.0);
}

/* Without a tape, the primal alone. */
static void step(double *u, reel_tape *tape)
{
	u[0] = u[N];
	if (tape)
		reel_push_array(tape, u, N + 1);
	for (int i = N; i > 0; i--)
		u[i] -= 0.1 * u[i] * (u[i] - u[i - 1]);
}

static void step_reverse(double *u_bar, reel_tape *tape)
{
	static double old[N + 1];

	reel_pop_array(tape, old, N + 1);
	for (int i = 1; i <= N; i++) {
		u_bar[i - 1] += 0.1 * old[i] * u_bar[i];
		u_bar[i] *= 1 - 0.1 * (2 * old[i] - old[i - 1]);
	}
	u_bar[N] += u_bar[0];
	u_bar[0] = 0;
}

static double height(double *u, double h, reel_tape *tape)
{
	start(u, h);
	for (int i = 0; i < STEPS; i++)
		step(u, tape);
	return u[GAUGE];
}

int main(void)
{
	static double u[N + 1], u_bar[N + 1];
	double sum = 0, slope = 0, J, h = 1e-5;
	reel_tape tape = {0};

	J = height(u, 0, &tape);
	u_bar[GAUGE] = 1;
	for (int i = 0; i < STEPS; i++)
		step_reverse(u_bar, &tape);
	for (int i = 1; i <= N; i++) {
		sum += u_bar[i];
		slope += u_bar[i] * sin(i / 100.0);
	}
	printf("J = %.17g, dJ/du = %.17g at the crest, %.17g in all\n", J, u_bar[CREST], sum);
	printf("slope %.6g, by differences %.6g\n", slope,
	       (height(u, h, NULL) - height(u, -h, NULL)) / (2 * h));
	if (reel_tape_error(&tape))
		return 1;
	reel_tape_close(&tape);
	return 0;
}
