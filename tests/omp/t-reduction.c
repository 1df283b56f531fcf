/* SPDX-License-Identifier: MIT */
/* Tests reductions by differences, and in cases without differences: zeros, ties, NaN. */
#include "config.h"

#include "helpers/support.h"

#include <math.h>

#include <reel/reduction.h>
#include <reel/extend.h>

#define MOST 9

static reel_lane *root;

/* Sets `bar` to the adjoint of each partial result, if the adjoint of the result is 3. */
static double reduce_and_reverse(enum reel_reduction kind, const double *partial, double *bar,
				 int n)
{
	double result = reel_reduce(root, kind, partial, n);

	reel_reduce_reverse(root, kind, 3, bar, n);
	return result;
}

static double product_without(const double *partial, int n, int left_out)
{
	double product = 1;

	for (int i = 0; i < n; i++)
		if (i != left_out)
			product *= partial[i];
	return product;
}

static void test_products(void)
{
	static const double factors[] = {2, -3, 0.5, 0, 7, 0, 1.25, -1, 4};
	double bar[MOST];

	tap_case("products");
	for (int n = 1; n <= MOST; n++) {
		double result = reduce_and_reverse(REEL_REDUCE_PRODUCT, factors, bar, n);
		bool good = result == product_without(factors, n, -1);

		for (int i = 0; i < n; i++)
			good &= fabs(bar[i] - 3 * product_without(factors, n, i)) < 1e-12;
		ok(good, "%d factors, zeros among them", n);
	}
}

static void test_sums(void)
{
	static const double parts[] = {1, 1e16, -1e16, 3};
	volatile double sum = 0;
	double bar[4];

	tap_case("sums");
	/* Some processors round a number to double only when they store it. */
	for (int i = 0; i < 4; i++)
		sum += parts[i];
	is_double(reduce_and_reverse(REEL_REDUCE_SUM, parts, bar, 4), sum,
		  "the parts of a sum are added in order");
	ok(bar[0] == 3 && bar[1] == 3 && bar[2] == 3 && bar[3] == 3, "each has the adjoint");
	ok(reel_lane_is_empty(root), "nothing is recorded");
}

static void test_extremes(void)
{
	static const double parts[] = {4, -2, 7, -2, 7}, with_nan[] = {4, NAN, 9};
	double bar[5];

	tap_case("minimum and maximum");
	is_double(reduce_and_reverse(REEL_REDUCE_MIN, parts, bar, 5), -2, "the minimum");
	ok(bar[0] == 0 && bar[1] == 3 && bar[3] == 0, "the first of two has the adjoint");
	is_double(reduce_and_reverse(REEL_REDUCE_MAX, parts, bar, 5), 7, "the maximum");
	ok(bar[2] == 3 && bar[4] == 0 && bar[1] == 0, "the first of two has the adjoint");
	ok(isnan(reduce_and_reverse(REEL_REDUCE_MAX, with_nan, bar, 3)) && bar[1] == 3 &&
		   bar[2] == 0,
	   "a NaN is the maximum");
	ok(isnan(reduce_and_reverse(REEL_REDUCE_MIN, with_nan, bar, 3)), "a NaN is the minimum");
}

/* The logarithm of a sum of exponentials, most + log(sum). */
struct logarithm {
	double most, sum;
};

static void add_logarithms(void *context, void *into, const void *from)
{
	struct logarithm *a = into;
	const struct logarithm *b = from;
	double most = a->most > b->most ? a->most : b->most;

	(void)context;
	a->sum = a->sum * exp(a->most - most) + b->sum * exp(b->most - most);
	a->most = most;
}

/* The adjoint of most + log(sum) is one number. */
static void add_logarithms_reverse(void *context, const void *into, const void *from,
				   void *into_bar, void *from_bar)
{
	const struct logarithm *a = into, *b = from;
	double *a_bar = into_bar, *b_bar = from_bar;
	double x = a->most + log(a->sum), y = b->most + log(b->sum);
	double part = 1 / (1 + exp(y - x)), whole = *a_bar;

	(void)context;
	*a_bar = part * whole;
	*b_bar = (1 - part) * whole;
}

static double of_logarithms(const double *x, int n, double *bar)
{
	const reel_reducer reducer = {.bytes = sizeof(struct logarithm), .combine = add_logarithms,
				      .reverse = add_logarithms_reverse,
				      .adjoint_bytes = sizeof(double)};
	struct logarithm part[MOST], result;
	double result_bar = 1;

	for (int i = 0; i < n; i++)
		part[i] = (struct logarithm){x[i], 1};
	reel_reduce_by(root, &reducer, part, n, &result);
	reel_reduce_by_reverse(root, &reducer, &result_bar, bar, n);
	return result.most + log(result.sum);
}

static void test_declared(void)
{
	double x[MOST] = {1, -2, 0.5, 3, 2.5, -1, 0, 700, 699}, bar[MOST], other[MOST];

	tap_case("one that the program declares");
	for (int n = 1; n <= MOST; n++) {
		bool good = isfinite(of_logarithms(x, n, bar));

		for (int i = 0; i < n; i++) {
			double step = 1e-5, at = x[i], up, down;

			x[i] = at + step;
			up = of_logarithms(x, n, other);
			x[i] = at - step;
			down = of_logarithms(x, n, other);
			x[i] = at;
			good &= fabs((up - down) / (2 * step) - bar[i]) < 1e-6;
		}
		ok(good && reel_lane_is_empty(root), "logarithms of sums, %d of them", n);
	}
}

/* A reduction that could not be recorded gives adjoints of NaN. */
static void test_refused(void)
{
	static const double parts[] = {4, -2, 7};
	double bar[3];

	tap_case("refused");
	record_reports();
	reel_tape_give_up(reel_lane_tape(root), -5, "a fault");
	is_int(reported.error, -5, "an error of a layer is reported: %s", reported.message);
	reduce_and_reverse(REEL_REDUCE_PRODUCT, parts, bar, 3);
	ok(isnan(bar[0]) && isnan(bar[2]), "the adjoints of a product are NaN after an error");
	reduce_and_reverse(REEL_REDUCE_MAX, parts, bar, 3);
	ok(isnan(bar[0]) && isnan(bar[2]), "the adjoints of a maximum are NaN after an error");
	reel_set_error_handler(NULL, NULL);
}

int main(void)
{
	tap_begin();
	reel_lane_open(&root, NULL, 0);
	test_products();
	test_sums();
	test_extremes();
	test_declared();
	ok(reel_lane_is_empty(root), "nothing is left");
	test_refused();
	reel_lane_close(root);
	return tap_end();
}
