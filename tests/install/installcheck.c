/* SPDX-License-Identifier: MIT */
/*
 * The gradient of f(x) = sin(sin(...sin(x))) by an installed Reel, in C and in
 * C++. Also compiled outside of the tree, so it includes nothing of it.
 */
#include <reel.h>
#include <reel/plan.h>

#include <math.h>
#include <stdio.h>

enum { DEPTH = 100000 };

int main(void)
{
	reel_tape tape = {0};
	double x = 1.0;
	double x_bar = 1.0;
	double expected = 1.0;

	for (int i = 0; i < DEPTH; i++) {
		reel_push(&tape, x);
		expected *= cos(x);
		x = sin(x);
	}
	for (int i = 0; i < DEPTH; i++)
		x_bar *= cos(reel_pop(&tape, double));

	int error = reel_tape_error(&tape);
	reel_tape_close(&tape);

	/* The two products differ in order only. */
	if (error != 0 || fabs(x_bar - expected) > 1e-9 * fabs(expected)) {
		fprintf(stderr, "gradient %g, expected %g; %s\n", x_bar, expected,
			reel_error_text(error));
		return 1;
	}
	printf("Reel %s: gradient of %d nested sines is %g\n", reel_version(), DEPTH, x_bar);
	return 0;
}
