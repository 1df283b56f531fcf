/* SPDX-License-Identifier: MIT */
/* Tests exact sums: they are rounded once, in any order, and in any parts. */
#include "config.h"

#include <float.h>
#include <math.h>

#include <reel/sum.h>

#include "helpers/support.h"
#include "tap/tap.h"

enum { NUMBERS = 2000 };

static double sum_of(const double *x, int count)
{
	reel_sum sum = {0};

	for (int i = 0; i < count; i++)
		reel_sum_add(&sum, x[i]);
	return reel_sum_value(&sum);
}

#define SUM(...) sum_of((double[]){__VA_ARGS__}, sizeof(double[]){__VA_ARGS__} / sizeof(double))

static void known_sums(void)
{
	const double ulp = DBL_EPSILON;
	reel_sum empty = {0};

	tap_case("sums that are known");
	is_double(reel_sum_value(&empty), 0.0, "no numbers");
	is_double(SUM(-0.0), 0.0, "a zero has no sign");
	is_double(SUM(1e300, 1.0, -1e300), 1.0, "large numbers that cancel leave the small one");
	is_double(SUM(DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX, DBL_TRUE_MIN), DBL_TRUE_MIN,
		  "a sum that was too large in between");
	is_double(SUM(DBL_MAX, DBL_MAX), INFINITY, "a sum that is too large");
	is_double(SUM(-DBL_MAX, -ldexp(1, 970)), -INFINITY, "half an ulp too large");
	is_double(SUM(DBL_MAX, ldexp(1, 969)), DBL_MAX, "a quarter of an ulp is not");
	is_double(SUM(1, ulp / 2), 1, "a tie goes to the even double below");
	is_double(SUM(1 + ulp, ulp / 2), 1 + 2 * ulp, "a tie goes to the even double above");
	is_double(SUM(1, ulp / 2, DBL_TRUE_MIN), 1 + ulp, "the smallest number decides a tie");
	is_double(SUM(-1, -ulp / 2, -DBL_TRUE_MIN), -1 - ulp,
		  "the smallest number decides a tie of negative numbers, too");
	is_double(SUM(2 - ulp, ulp / 2), 2, "rounding carries into the exponent");
	is_double(SUM(DBL_MIN, -DBL_TRUE_MIN), DBL_MIN - DBL_TRUE_MIN, "the largest subnormal number");
	is_double(SUM(-DBL_TRUE_MIN, -DBL_TRUE_MIN), -2 * DBL_TRUE_MIN, "subnormal numbers");
}

static void special_numbers(void)
{
	tap_case("numbers that are not finite");
	is_double(SUM(1, INFINITY, -DBL_MAX), INFINITY, "inf");
	is_double(SUM(1, -INFINITY), -INFINITY, "-inf");
	ok(isnan(SUM(INFINITY, -INFINITY)), "inf and -inf");
	ok(isnan(SUM(1, NAN, 2)), "NaN");
}

/* Returns a finite double for n: half of them have any exponent, the others are in -1 ... 1. */
static double number(uint64_t n)
{
	uint64_t bits = scramble(n);
	double x;

	memcpy(&x, &bits, sizeof x);
	return n % 2 && isfinite(x) ? x : (double)(int64_t)bits * 0x1p-63;
}

static void any_order(void)
{
	int wrong = 0;

	tap_case("random numbers in another order, and in parts");
	for (int turn = 0; turn < 50; turn++) {
		uint64_t first = (uint64_t)turn * NUMBERS;
		reel_sum forward = {0}, backward = {0}, parts[3] = {{.nans = 0}};

		for (uint64_t n = first; n < first + NUMBERS; n++)
			reel_sum_add(&forward, number(n));
		for (uint64_t n = first + NUMBERS; n-- > first;) {
			reel_sum_add(&backward, number(n));
			reel_sum_add(&parts[scramble(n) % 3], number(n));
		}
		reel_sum_merge(&parts[0], &parts[1]);
		reel_sum_merge(&parts[2], &parts[0]);
		wrong += reel_sum_value(&forward) != reel_sum_value(&backward) ||
			 reel_sum_value(&forward) != reel_sum_value(&parts[2]);
	}
	is_int(wrong, 0, "random numbers in another order have the same sum");
}

/* Compares sums of numbers with one exponent with sums of integers. */
static void same_as_integers(void)
{
	int wrong = 0;

	tap_case("sums of numbers that are integers times a power of 2");
	for (int turn = 0; turn < 1000; turn++) {
		int exponent = (int)(scramble((uint64_t)turn) % 1900) - 1000;
		int64_t total = 0;
		reel_sum sum = {0};

		for (int i = 0; i < 100; i++) {
			int32_t integer = (int32_t)scramble((uint64_t)(100 * turn + i));

			total += integer;
			reel_sum_add(&sum, ldexp(integer, exponent));
		}
		wrong += reel_sum_value(&sum) != ldexp((double)total, exponent);
	}
	is_int(wrong, 0, "sums of such numbers are those of the integers");
}

/* Sets the count of additions to its limit, because 2^30 additions would take too long. */
static void carries(void)
{
	reel_sum sum = {0}, other = {0};

	tap_case("carries");
	sum.uncarried = ((int64_t)1 << 30) - 1;
	for (int i = 0; i < 3; i++)
		sum.digit[i] = INT64_MAX - 2 * (int64_t)UINT32_MAX;
	reel_sum_add(&sum, ldexp(UINT32_MAX, -1074));
	is_int(sum.uncarried, 0, "carries are made when the additions could overflow a digit");
	ok(sum.digit[0] >= 0 && sum.digit[0] <= UINT32_MAX && sum.digit[3] > 0,
	   "carries go into the next digits");
	for (int i = 0; i < 100; i++)
		reel_sum_merge(&other, &sum);
	is_int(other.uncarried, 100, "a merged sum counts as one addition");
	is_double(reel_sum_value(&other), 100 * reel_sum_value(&sum), "a merged sum is right");
}

int main(void)
{
	tap_begin();
	known_sums();
	special_numbers();
	any_order();
	same_as_integers();
	carries();
	return tap_end();
}
