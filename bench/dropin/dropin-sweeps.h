/* SPDX-License-Identifier: MIT */
/*
 * The sweeps, once for each stack: a file defines PUSH_REAL8, POP_REAL8, PUSH_INTEGER4,
 * POP_INTEGER4, PUSH_CONTROL, POP_CONTROL, PUSH_ARRAY, POP_ARRAY and NAME(sweep), and includes
 * this.
 */
#include "dropin.h"

double NAME(real8)(void *context, size_t n)
{
	uint64_t mix = 0;
	double x;

	(void)context;
	for (size_t i = 0; i < n; i++)
		PUSH_REAL8(bench_value(i));
	for (size_t i = n; i-- > 0;) {
		POP_REAL8(&x);
		mix = bench_mix(mix, x);
	}
	return (double)mix;
}

/* A value is read, another one pushed and popped. */
double NAME(repeat)(void *context, size_t n)
{
	double x = 0;

	(void)context;
	for (size_t i = 0; i < n; i++) {
		POP_REAL8(&x);
		PUSH_REAL8(x);
		POP_REAL8(&x);
	}
	return x;
}

#ifdef PUSH_CONTROL
double NAME(control)(void *context, size_t n)
{
	int sum = 0, branch;

	(void)context;
	for (size_t i = 0; i < n; i++)
		PUSH_CONTROL((int)(i >> 3 & 1));
	for (size_t i = n; i-- > 0;) {
		POP_CONTROL(&branch);
		sum += branch;
	}
	return sum;
}
#endif

#ifdef PUSH_ARRAY
double NAME(arrays)(void *context, size_t n)
{
	static double array[DROPIN_ARRAY];

	(void)context;
	for (size_t i = 0; i < n / DROPIN_ARRAY; i++) {
		array[i % DROPIN_ARRAY] = bench_value(i);
		PUSH_ARRAY(array, DROPIN_ARRAY);
	}
	for (size_t i = 0; i < n / DROPIN_ARRAY; i++)
		POP_ARRAY(array, DROPIN_ARRAY);
	return array[1];
}
#endif

#ifdef PUSH_INTEGER4
enum { WIDTH = 64, CELLS = WIDTH * WIDTH };

/* A reaction and diffusion step on a periodic square of 64 by 64. */
static double u[CELLS], v[CELLS], u_bar[CELLS], v_bar[CELLS];

static void NAME(cell)(size_t i, size_t j)
{
	int above = (int)((i + WIDTH - 1) % WIDTH), below = (int)((i + 1) % WIDTH);
	int left = (int)((j + WIDTH - 1) % WIDTH), right = (int)((j + 1) % WIDTH);
	size_t here = i * WIDTH + j;
	double sum, flow, square, rate;

	PUSH_INTEGER4(above);
	PUSH_INTEGER4(below);
	PUSH_INTEGER4(left);
	PUSH_INTEGER4(right);
	PUSH_REAL8(u[here]);
	PUSH_REAL8(v[here]);
	sum = u[(size_t)above * WIDTH + j] + u[(size_t)below * WIDTH + j];
	PUSH_REAL8(sum);
	sum += u[i * WIDTH + (size_t)left] + u[i * WIDTH + (size_t)right];
	PUSH_REAL8(sum);
	flow = 0.02 * (sum - 4 * u[here]);
	PUSH_REAL8(flow);
	square = u[here] * u[here];
	PUSH_REAL8(square);
	rate = 1 + square * v[here];
	PUSH_REAL8(rate);
	rate -= 4.4 * u[here];
	PUSH_REAL8(rate);
	u[here] += 0.01 * (rate + flow);
	PUSH_REAL8(u[here]);
	sum = v[(size_t)above * WIDTH + j] + v[(size_t)below * WIDTH + j];
	PUSH_REAL8(sum);
	sum += v[i * WIDTH + (size_t)left] + v[i * WIDTH + (size_t)right];
	PUSH_REAL8(sum);
	flow = 0.02 * (sum - 4 * v[here]);
	PUSH_REAL8(flow);
	rate = 3.4 * u[here] - square * v[here];
	PUSH_REAL8(rate);
	v[here] += 0.01 * (rate + flow);
	PUSH_REAL8(v[here]);
	PUSH_REAL8(square);
}

static void NAME(cell_reverse)(size_t i, size_t j)
{
	double old_u, old_v, square, skipped, rate_bar, flow_bar;
	int above, below, left, right;
	size_t here = i * WIDTH + j;

	POP_REAL8(&square);
	for (int k = 0; k < 12; k++)
		POP_REAL8(&skipped);
	POP_REAL8(&old_v);
	POP_REAL8(&old_u);
	POP_INTEGER4(&right);
	POP_INTEGER4(&left);
	POP_INTEGER4(&below);
	POP_INTEGER4(&above);
	rate_bar = 0.01 * u_bar[here];
	flow_bar = 0.02 * rate_bar;
	u_bar[here] += rate_bar * (2 * old_u * old_v - 4.4) - 4 * flow_bar + 1e-9 * skipped;
	v_bar[here] += rate_bar * square - 0.01 * v_bar[here] * square;
	u_bar[(size_t)above * WIDTH + j] += flow_bar;
	u_bar[(size_t)below * WIDTH + j] += flow_bar;
	u_bar[i * WIDTH + (size_t)left] += flow_bar;
	u_bar[i * WIDTH + (size_t)right] += flow_bar;
}

static void NAME(begin)(void)
{
	for (size_t i = 0; i < CELLS; i++) {
		u[i] = 1 + 0.001 * (double)(i % 100);
		v[i] = 3 + 0.001 * (double)(i % 70);
		u_bar[i] = v_bar[i] = 1;
	}
}

double NAME(stencil)(void *context, size_t n)
{
	(void)context;
	NAME(begin)();
	for (size_t i = 0; i < n; i++)
		NAME(cell)(i / WIDTH % WIDTH, i % WIDTH);
	for (size_t i = n; i-- > 0;)
		NAME(cell_reverse)(i / WIDTH % WIDTH, i % WIDTH);
	return u_bar[0] + v_bar[CELLS - 1];
}
#endif
