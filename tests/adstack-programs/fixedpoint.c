/* SPDX-License-Identifier: MIT */
/*
 * A fixed-point loop, z = cos(a z) + b z by components, and its adjoint after Christianson: the
 * last iteration is read again and again until the adjoint has converged. Inside the iteration is
 * a checkpointed call, which pushes while the level is read. The same is done with arrays.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <adStack.h>

#define N 50

int adFixedPoint_tooLarge(double variation, float least);

static double a[N], z[N];

static double update(double z, double a) { return 0.5 * cos(a * z) + 0.1 * z; }

/* The adjoint of one component; its primal is run again on the stack. */
static double component_b(double z0, double a, double wb, double *ab)
{
	double y = a * z0, zb;

	pushReal8(y);
	pushControl1b(y > 0.3);
	y = cos(y);
	{
		int branch;

		popControl1b(&branch);
		popReal8(&y);
		zb = -0.5 * sin(y) * a * wb + 0.1 * wb;
		*ab += branch ? -0.5 * sin(y) * z0 * wb : -0.5 * sin(y) * z0 * wb * 1.0;
	}
	return zb;
}

static void by_stack(const double *seed, double *ab)
{
	double w[N], old[N], variation = -1, z0;

	for (int i = 0; i < N; i++) {
		pushReal8(z[i]);
		pushControl2b(i % 4);
	}
	memcpy(w, seed, sizeof w);
	memset(ab, 0, N * sizeof *ab);
	adStack_startRepeat();
	while (adFixedPoint_tooLarge(variation, 1e-12f)) {
		adStack_resetRepeat();
		variation = 0;
		memset(ab, 0, N * sizeof *ab);
		for (int i = N - 1; i >= 0; i--) {
			int control;

			popControl2b(&control);
			popReal8(&z0);
			old[i] = w[i];
			w[i] = seed[i] + component_b(z0, a[i], w[i], &ab[i]);
			variation += fabs(w[i] - old[i]);
			if (control != i % 4)
				printf("control %d\n", i);
		}
	}
	adStack_endRepeat();
}

static void by_arrays(const double *seed, double *ab)
{
	double w[N], old, variation = -1;

	memcpy(w, seed, sizeof w);
	while (variation < 0 || variation > (double)1e-12f) {
		variation = 0;
		memset(ab, 0, N * sizeof *ab);
		for (int i = N - 1; i >= 0; i--) {
			double y = a[i] * z[i];

			old = w[i];
			ab[i] += -0.5 * sin(y) * z[i] * w[i];
			w[i] = seed[i] + (-0.5 * sin(y) * a[i] * w[i] + 0.1 * w[i]);
			variation += fabs(w[i] - old);
		}
	}
}

int main(void)
{
	double seed[N], ab[N], reference[N];

	for (int i = 0; i < N; i++) {
		a[i] = 0.2 + 0.01 * i;
		seed[i] = 1 + i % 3;
		for (int k = 0; k < 200; k++)
			z[i] = update(z[i], a[i]);
	}
	for (int gradient = 0; gradient < 4; gradient++)
		by_stack(seed, ab);
	by_arrays(seed, reference);
	printf("%d bytes left\n", (int)adStack_getCurrentStackSize());
	puts(memcmp(ab, reference, sizeof ab) ? "differs" : "equal");
	return memcmp(ab, reference, sizeof ab) != 0 || adStack_getCurrentStackSize() != 0;
}
