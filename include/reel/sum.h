/* SPDX-License-Identifier: MIT */
/*
 * Exact sums of doubles, which therefore do not depend on the order of their numbers, nor on the
 * way in which threads or ranks divide them. The adjoint of a control that all cells of a program
 * share is such a sum.
 *
 *	reel_sum sum = {0};                            an empty sum
 *	for (size_t i = 0; i < n; i++)
 *		reel_sum_add(&sum, x[i]);
 *	reel_sum_merge(&sum, &that_of_another_thread);
 *	total = reel_sum_value(&sum);                  rounded once, to the nearest double
 *
 * A sum is a fixed-point number of 2,144 bits with room for carries: each double has its place in
 * it, so no bit of any number is lost. It has no pointer, so it may be copied, and sent. One thread
 * at a time uses a sum. Over ranks: reel_mpi_sum() (mpi.h).
 *
 * Source: the long accumulator of U. Kulisch and W. L. Miranker, Computer Arithmetic in Theory and
 * Practice, 1981.
 */
#ifndef REEL_SUM_H
#define REEL_SUM_H

#include <stdint.h>
#include <string.h>

#include <reel/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sums ---- */

/* A sum. All zero is the sum of no numbers. The members are for the functions below. */
typedef struct reel_sum {
	/* digit[i] counts 2^(32 i - 1074): digits of all doubles, and one more for carries. */
	int64_t digit[67];
	int64_t infinities[2], nans; /* numbers that were inf, -inf and NaN */
	int64_t uncarried;	     /* additions since all digits had 32 bits */
} reel_sum;

/* ---- Within ---- */

REEL_COLD void reel_sum_add_special(reel_sum *sum, double x);
REEL_COLD void reel_sum_carry(reel_sum *sum);

/* ---- Operations on sums ---- */

/* Adds a number. Costs about 5 ns, compared with 0.6 for a plain addition (reel-bench, sum/). */
static inline void reel_sum_add(reel_sum *sum, double x)
{
	const uint64_t low_digit = UINT32_MAX;
	uint64_t bits, mantissa, low, high;
	int64_t *digit, sign;
	unsigned exponent;

	memcpy(&bits, &x, sizeof bits);
	exponent = (unsigned)(bits >> 52) & 0x7ff;
	if (REEL_UNLIKELY(exponent == 0x7ff)) {
		reel_sum_add_special(sum, x);
		return;
	}
	/* The mantissa counts 2^(exponent - 1075), but the smallest doubles have no leading 1. */
	mantissa = (bits & 0xfffffffffffff) | (uint64_t)(exponent > 0) << 52;
	exponent -= exponent > 0;
	digit = &sum->digit[exponent / 32];
	low = (mantissa & low_digit) << (exponent % 32);
	high = ((mantissa >> 32) << (exponent % 32)) + (low >> 32);
	/* x ^ -1 is -x - 1. */
	sign = -(int64_t)(bits >> 63);
	digit[0] += ((int64_t)(low & low_digit) ^ sign) - sign;
	digit[1] += ((int64_t)(high & low_digit) ^ sign) - sign;
	digit[2] += ((int64_t)(high >> 32) ^ sign) - sign;
	/* A digit changes by less than 2^32: this many additions fit. */
	if (REEL_UNLIKELY(++sum->uncarried == (int64_t)1 << 30))
		reel_sum_carry(sum);
}

/* Adds the numbers of another sum. */
void reel_sum_merge(reel_sum *sum, const reel_sum *other);

/*
 * Returns the sum, rounded to the nearest double, ties to even: 0 of no numbers; an infinity if it
 * is too large; NaN if a NaN was added, or both infinities. Costs about a microsecond.
 */
double reel_sum_value(const reel_sum *sum);

#ifdef __cplusplus
}
#endif

#endif
