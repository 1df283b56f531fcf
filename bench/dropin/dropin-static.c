/* SPDX-License-Identifier: MIT */
/* The static library, called as generated code does. */
#include "config.h"

#include <math.h>

void pushReal8(double x);
void popReal8(double *x);
void pushInteger4(int x);
void popInteger4(int *x);
void pushControl1b(int branch);
void popControl1b(int *branch);
void pushReal8Array(double *x, int n);
void popReal8Array(double *x, int n);
void adStack_startRepeat(void);
void adStack_resetRepeat(void);
void adStack_endRepeat(void);

#define NAME(sweep) dropin_static_##sweep
#define PUSH_REAL8(x) pushReal8(x)
#define POP_REAL8(x) popReal8(x)
#define PUSH_INTEGER4(x) pushInteger4(x)
#define POP_INTEGER4(x) popInteger4(x)
#define PUSH_CONTROL(x) pushControl1b(x)
#define POP_CONTROL(x) popControl1b(x)
#define PUSH_ARRAY(x, n) pushReal8Array(x, n)
#define POP_ARRAY(x, n) popReal8Array(x, n)
#include "dropin-sweeps.h"

void dropin_static_begin_level(void *context, size_t n)
{
	(void)context;
	for (size_t i = 0; i < n; i++)
		pushReal8(bench_value(i));
	adStack_startRepeat();
}

void dropin_static_end_level(void *context, size_t n)
{
	double x;

	(void)context;
	adStack_resetRepeat();
	adStack_endRepeat();
	for (size_t i = 0; i < n; i++)
		popReal8(&x);
}

/* A gradient that calculates with each value: n values, an exponential forward and one back. */
double dropin_static_load(void *context, size_t n)
{
	double x = 0.5, x_bar = 1;

	(void)context;
	for (size_t i = 0; i < n; i++) {
		pushReal8(x);
		x = exp(-x);
	}
	for (size_t i = 0; i < n; i++) {
		popReal8(&x);
		x_bar *= -exp(-x) * 1.5;
	}
	return x_bar + x;
}
