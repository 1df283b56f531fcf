/* SPDX-License-Identifier: MIT */
/*
 * The adjoint of a reaction and diffusion step on a periodic square, in the shape that generated
 * code has: what is overwritten is pushed, cell by cell.
 */
#include <stdio.h>
#include <adStack.h>

#define N 24
#define STEPS 6
#define AT(i, j) ((i) * N + (j))

static double u[N * N], v[N * N], ub[N * N], vb[N * N];

static double f(double u, double v) { return 1 + u * u * v - 4.4 * u; }

static void step_b(int sweep_forward)
{
	double un, us, ue, uw, lap, rate, old, rateb, lapb;
	int im, ip, jm, jp;

	if (sweep_forward) {
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++) {
				im = i ? i - 1 : N - 1, ip = i < N - 1 ? i + 1 : 0;
				jm = j ? j - 1 : N - 1, jp = j < N - 1 ? j + 1 : 0;
				pushInteger4(im), pushInteger4(ip);
				pushInteger4(jm), pushInteger4(jp);
				un = u[AT(im, j)], us = u[AT(ip, j)];
				ue = u[AT(i, jp)], uw = u[AT(i, jm)];
				lap = un + us + ue + uw - 4 * u[AT(i, j)];
				pushReal8(u[AT(i, j)]);
				pushReal8(v[AT(i, j)]);
				rate = f(u[AT(i, j)], v[AT(i, j)]);
				old = u[AT(i, j)];
				u[AT(i, j)] = old + 0.01 * (rate + 0.02 * lap);
				v[AT(i, j)] = v[AT(i, j)] +
					      0.01 * (3.4 * old - old * old * v[AT(i, j)]);
			}
		return;
	}
	for (int i = N - 1; i >= 0; i--)
		for (int j = N - 1; j >= 0; j--) {
			popReal8(&v[AT(i, j)]);
			popReal8(&u[AT(i, j)]);
			popInteger4(&jp), popInteger4(&jm);
			popInteger4(&ip), popInteger4(&im);
			old = u[AT(i, j)];
			rateb = 0.01 * ub[AT(i, j)];
			lapb = 0.01 * 0.02 * ub[AT(i, j)];
			ub[AT(i, j)] += rateb * (2 * old * v[AT(i, j)] - 4.4) - 4 * lapb +
					0.01 * vb[AT(i, j)] * (3.4 - 2 * old * v[AT(i, j)]);
			vb[AT(i, j)] += rateb * old * old - 0.01 * vb[AT(i, j)] * old * old;
			ub[AT(im, j)] += lapb, ub[AT(ip, j)] += lapb;
			ub[AT(i, jp)] += lapb, ub[AT(i, jm)] += lapb;
		}
}

int main(void)
{
	for (int i = 0; i < N * N; i++) {
		u[i] = 1 + 0.01 * (i % 17);
		v[i] = 3.4 + 0.02 * (i % 5);
		ub[i] = 1 + i % 3;
	}
	for (int gradient = 0; gradient < 3; gradient++) {
		for (int k = 0; k < STEPS; k++) {
			pushReal8Array(u, N);
			step_b(1);
		}
		for (int k = 0; k < STEPS; k++) {
			step_b(0);
			popReal8Array(u, N);
		}
	}
	for (int i = 0; i < N * N; i++)
		printf("%a %a\n", ub[i], vb[i]);
	return 0;
}
