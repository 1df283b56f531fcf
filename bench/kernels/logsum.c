/* SPDX-License-Identifier: MIT */
/*
 * Log of a sum of exponentials (Enzyme's logsumexp).
 *
 *	m = max_i x_i,  e_i = exp(x_i - m),  s = sum_i e_i,  L = log s + m
 *
 * Adjoint (the adjoint of m cancels):
 *
 *	x_bar_i = L_bar e_i / s
 *
 * Record: {e_i}, at last s. There is no smaller one.
 */
#include "config.h"

#include "kernel.h"

#include <math.h>

#include "exponential.h"
#include "lanes.h"
#include "random.h"

/* Values in a span: 8 KiB. */
#define CHUNK ((size_t)1024)

struct logsum {
	size_t count;
	double *x, *x_bar;
	/* The sum, for the sweeps whose record is in columns. */
	double sum;
};

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t counts[] = {1500, 10000, 16000000};
	struct logsum *g = memory_take(memory, sizeof *g);
	struct random random = RANDOM_SEED;

	g->count = counts[size];
	g->x = memory_take_doubles(memory, g->count);
	g->x_bar = memory_take_doubles(memory, g->count);
	random_fill(&random, g->x, g->count, 0, 8);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	struct logsum *g = data;

	inputs[0] = (struct kernel_input){"x", g->x, g->x_bar, g->count};
	return 1;
}

static size_t columns(const void *data, size_t *bytes)
{
	const struct logsum *g = data;

	bytes[0] = g->count * sizeof(double);
	return 1;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double largest(const double *restrict x, size_t n)
{
	double lane[LANES], most;
	size_t i = 0;

	for (size_t l = 0; l < LANES; l++)
		lane[l] = x[0];
	for (; i + LANES <= n; i += LANES)
		for (size_t l = 0; l < LANES; l++)
			lane[l] = larger(lane[l], x[i + l]);
	most = lane[0];
	for (size_t l = 1; l < LANES; l++)
		most = larger(most, lane[l]);
	for (; i < n; i++)
		most = larger(most, x[i]);
	return most;
}

static double primal(void *data)
{
	const struct logsum *g = data;
	const double *restrict x = g->x;
	double m = largest(x, g->count), lane[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= g->count; i += LANES)
		for (size_t l = 0; l < LANES; l++)
			lane[l] += exponential(x[i + l] - m);
	for (size_t l = 0; i + l < g->count; l++)
		lane[l] += exponential(x[i + l] - m);
	return log(lanes_sum(lane)) + m;
}

/* ---- Value by value ---- */

static double forward_plain(void *data, const struct records *records)
{
	const struct logsum *g = data;
	double m = largest(g->x, g->count), s = 0;

	for (size_t i = 0; i < g->count; i++) {
		double e = exponential(g->x[i] - m);

		reel_push(records->tape, e);
		s += e;
	}
	reel_push(records->tape, s);
	return log(s) + m;
}

static void reverse_plain(void *data, const struct records *records)
{
	struct logsum *g = data;
	double s_bar = 1 / reel_pop(records->tape, double);

	for (size_t i = g->count; i-- > 0;)
		g->x_bar[i] = s_bar * reel_pop(records->tape, double);
}

/* ---- Rows: in spans, or in one array ---- */

/* Returns the sum of the row. */
static inline double record_row(const double *restrict x, double m, double *restrict e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		e[i] = exponential(x[i] - m);
	return sum(e, n);
}

static inline void reverse_row(double *restrict x_bar, double s_bar, const double *restrict e,
			       size_t n)
{
	for (size_t i = 0; i < n; i++)
		x_bar[i] = s_bar * e[i];
}

static double forward_best(void *data, const struct records *records)
{
	const struct logsum *g = data;
	double m = largest(g->x, g->count), s = 0;

	for (size_t c = 0; c < chunk_count(g->count, CHUNK); c++) {
		size_t n = chunk_length(g->count, CHUNK, c);
		double *e = demand_push_span(records->tape, double, n);

		s += record_row(g->x + c * CHUNK, m, e, n);
	}
	reel_push(records->tape, s);
	return log(s) + m;
}

static void reverse_best(void *data, const struct records *records)
{
	struct logsum *g = data;
	double s_bar = 1 / reel_pop(records->tape, double);

	for (size_t c = chunk_count(g->count, CHUNK); c-- > 0;) {
		size_t n = chunk_length(g->count, CHUNK, c);
		const double *e = demand_pop_span(records->tape, double, n);

		reverse_row(g->x_bar + c * CHUNK, s_bar, e, n);
	}
}

/* Also row by row, so that a row is still in the cache for its sum. */
static double forward_columns(void *data, const struct records *records)
{
	struct logsum *g = data;
	double *e = column_of(records, 0), m = largest(g->x, g->count), s = 0;

	for (size_t c = 0; c < chunk_count(g->count, CHUNK); c++)
		s += record_row(g->x + c * CHUNK, m, e + c * CHUNK,
				chunk_length(g->count, CHUNK, c));
	g->sum = s;
	return log(s) + m;
}

static void reverse_columns(void *data, const struct records *records)
{
	struct logsum *g = data;
	const double *e = column_of(records, 0);
	double s_bar = 1 / g->sum;

	for (size_t c = chunk_count(g->count, CHUNK); c-- > 0;)
		reverse_row(g->x_bar + c * CHUNK, s_bar, e + c * CHUNK,
			    chunk_length(g->count, CHUNK, c));
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_best, reverse_best},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_columns, reverse_columns},
	{"soa-warm", IN_WARM_COLUMNS, forward_columns, reverse_columns},
};

const struct kernel kernel_logsum = {
	"logsum", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
