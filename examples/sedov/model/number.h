/* SPDX-License-Identifier: MIT */
/*
 * The numbers that the kernels compute with. Where SEDOV_TANGENT is defined they are complex: the
 * imaginary part of each is then its derivative along a direction, times a step so small that its
 * square vanishes. So the forward kernels are their own tangent, to the last digits.
 */
#ifndef SEDOV_NUMBER_H
#define SEDOV_NUMBER_H

#include <math.h>

#ifdef SEDOV_TANGENT
#include <complex.h>

typedef double complex real;

/* No bits of a tangent are compared: it needs no exact sums. */
typedef real total;

static inline void total_add(total *sum, real x)
{
	*sum += x;
}

static inline void total_merge(total *sum, const total *other)
{
	*sum += *other;
}

static inline real total_value(const total *sum)
{
	return *sum;
}

/* The number that a branch looks at. */
static inline double value_of(real x)
{
	return creal(x);
}

static inline real square_root(real x)
{
	double root = sqrt(creal(x));

	return root + I * (0.5 * cimag(x) / root);
}

static inline real cube_root(real x)
{
	double root = cbrt(creal(x));

	return root + I * (cimag(x) / (3.0 * root * root));
}

static inline real magnitude(real x)
{
	return creal(x) < 0.0 ? -x : x;
}
#else
#include <reel/sum.h>

typedef double real;

/* A sum over elements or nodes: exact, so that it does not depend on threads and ranks. */
typedef reel_sum total;

static inline void total_add(total *sum, real x)
{
	reel_sum_add(sum, x);
}

static inline void total_merge(total *sum, const total *other)
{
	reel_sum_merge(sum, other);
}

static inline real total_value(const total *sum)
{
	return reel_sum_value(sum);
}

static inline double value_of(real x)
{
	return x;
}

static inline real square_root(real x)
{
	return sqrt(x);
}

static inline real cube_root(real x)
{
	return cbrt(x);
}

static inline real magnitude(real x)
{
	return fabs(x);
}
#endif

#endif
