/* SPDX-License-Identifier: MIT */
/*
 * exp() and tanh() without a branch or a call, so that loops over them use
 * vectors with every compiler. Within two units in the last place of exp, for
 * |x| <= 700; results for other arguments mean nothing.
 */
#ifndef REEL_BENCH_KERNELS_EXPONENTIAL_H
#define REEL_BENCH_KERNELS_EXPONENTIAL_H

#include <stdint.h>
#include <string.h>

/* The Taylor polynomial of exp, |x| <= log(2)/2. */
static inline double exponential_near_zero(double x)
{
	double p = 1.0 / 6227020800;

	p = p * x + 1.0 / 479001600;
	p = p * x + 1.0 / 39916800;
	p = p * x + 1.0 / 3628800;
	p = p * x + 1.0 / 362880;
	p = p * x + 1.0 / 40320;
	p = p * x + 1.0 / 5040;
	p = p * x + 1.0 / 720;
	p = p * x + 1.0 / 120;
	p = p * x + 1.0 / 24;
	p = p * x + 1.0 / 6;
	p = p * x + 0.5;
	p = p * x + 1;
	return p * x + 1;
}

/*
 * exp(x) = 2^k exp(x - k log 2), k the integer next to x / log 2. Adding
 * 1.5 * 2^52 rounds to k and leaves it in the low bits; they are added to the
 * exponent of the result.
 */
static inline double exponential(double x)
{
	const double shifter = 0x1.8p52;
	double shifted = x * 0x1.71547652b82fep0 + shifter;
	double k = shifted - shifter;
	double rest = x - k * 0x1.62e42fefa38p-1 - k * 0x1.ef35793c7673p-45;
	double result = exponential_near_zero(rest);
	uint64_t exponent, bits;

	memcpy(&exponent, &shifted, sizeof exponent);
	memcpy(&bits, &result, sizeof bits);
	bits += exponent << 52;
	memcpy(&result, &bits, sizeof result);
	return result;
}

static inline double hyperbolic_tangent(double x)
{
	return 1 - 2 / (exponential(2 * x) + 1);
}

#endif
