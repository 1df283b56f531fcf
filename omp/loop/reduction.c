/* SPDX-License-Identifier: MIT */
/*
 * Reductions: the partial results of lanes become one, in the order of the lanes, and backward. The
 * thread that has the lane calls these functions. The values that the reverse needs are pushed on
 * the lane's tape.
 */
#include "config.h"

#include <reel/reduction.h>
#include <reel/extend.h>
#include <reel/plan.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sum(const double *partial, int n)
{
	double result = partial[0];

	for (int i = 1; i < n; i++)
		result += partial[i];
	return result;
}

static double product(reel_tape *tape, const double *partial, int n)
{
	double *factor = reel_push_span(tape, double, (size_t)n);
	double result = 1;

	for (int i = 0; i < n; i++)
		result *= partial[i];
	if (factor)
		memcpy(factor, partial, (size_t)n * sizeof *factor);
	return result;
}

static int extreme(const double *partial, int n, double sign)
{
	int found = 0;

	for (int i = 1; i < n; i++)
		if (sign * partial[i] > sign * partial[found] ||
		    (isnan(partial[i]) && !isnan(partial[found])))
			found = i;
	return found;
}

double reel_reduce(reel_lane *lane, enum reel_reduction kind, const double *partial, int n)
{
	reel_tape *tape = reel_lane_tape(lane);
	int found;

	if (kind == REEL_REDUCE_SUM)
		return sum(partial, n);
	if (kind == REEL_REDUCE_PRODUCT)
		return product(tape, partial, n);
	found = extreme(partial, n, kind == REEL_REDUCE_MAX ? 1 : -1);
	reel_push(tape, found);
	return partial[found];
}

static void fill(double *partial_bar, int n, double value)
{
	for (int i = 0; i < n; i++)
		partial_bar[i] = value;
}

/* The adjoint of a factor is the product of all factors before it and after it. */
static void product_reverse(reel_tape *tape, double result_bar, double *partial_bar, int n)
{
	const double *factor = reel_pop_span(tape, double, (size_t)n);
	double after = 1, before = result_bar;

	if (!factor) {
		fill(partial_bar, n, NAN);
		return;
	}
	for (int i = n; i-- > 0;) {
		partial_bar[i] = after;
		after *= factor[i];
	}
	for (int i = 0; i < n; i++) {
		partial_bar[i] *= before;
		before *= factor[i];
	}
}

/* After an error the tape gives a number that is no index. */
static void extreme_reverse(reel_tape *tape, double result_bar, double *partial_bar, int n)
{
	int found = reel_pop(tape, int);
	bool good = found >= 0 && found < n;

	fill(partial_bar, n, good ? 0 : NAN);
	if (good)
		partial_bar[found] = result_bar;
}

void reel_reduce_reverse(reel_lane *lane, enum reel_reduction kind, double result_bar,
			 double *partial_bar, int n)
{
	if (kind == REEL_REDUCE_SUM)
		fill(partial_bar, n, result_bar);
	else if (kind == REEL_REDUCE_PRODUCT)
		product_reverse(reel_lane_tape(lane), result_bar, partial_bar, n);
	else
		extreme_reverse(reel_lane_tape(lane), result_bar, partial_bar, n);
}

/* ---- By a reducer of the program ---- */

static char *element(const void *array, size_t bytes, int i)
{
	return (char *)(uintptr_t)array + (size_t)i * bytes;
}

/* Records both arguments of each step. */
void reel_reduce_by(reel_lane *lane, const reel_reducer *reducer, const void *partial, int n,
		    void *result)
{
	reel_tape *tape = reel_lane_tape(lane);
	size_t bytes = reducer->bytes;

	memcpy(result, partial, bytes);
	for (int i = 1; i < n; i++) {
		const void *from = element(partial, bytes, i);

		reel_push_array(tape, (const char *)result, bytes);
		reel_push_array(tape, (const char *)from, bytes);
		reducer->combine(reducer->context, result, from);
	}
}

static void reverse_step(reel_tape *tape, const reel_reducer *reducer, char *element_of,
			 void *result_bar, void *from_bar)
{
	char *into = element_of, *from = element_of + reducer->bytes;

	reel_pop_array(tape, from, reducer->bytes);
	reel_pop_array(tape, into, reducer->bytes);
	reducer->reverse(reducer->context, into, from, result_bar, from_bar);
}

void reel_reduce_by_reverse(reel_lane *lane, const reel_reducer *reducer, void *result_bar,
			    void *partial_bar, int n)
{
	size_t bytes = reducer->adjoint_bytes ? reducer->adjoint_bytes : reducer->bytes;
	reel_tape *tape = reel_lane_tape(lane);
	char *both = malloc(2 * reducer->bytes);

	if (!both) {
		reel_tape_give_up(tape, -ENOMEM, "no memory to reverse a reduction");
		memset(partial_bar, 0xff, (size_t)n * bytes);
		return;
	}
	for (int i = n; i-- > 1;)
		reverse_step(tape, reducer, both, result_bar, element(partial_bar, bytes, i));
	memcpy(partial_bar, result_bar, bytes);
	free(both);
}
