/* SPDX-License-Identifier: MIT */
/*
 * Matrix descent (Enzyme): the square of the length of a product.
 *
 *	o_i = sum_j M_ij v_j,  L = sum_i o_i^2
 *
 * Adjoint, with o_bar_i = 2 o_i L_bar:
 *
 *	M_bar_ij = o_bar_i v_j,  v_bar_j += o_bar_i M_ij
 *
 * Record: {M_ij} per product, o_i per row; least: {o_i}, as M is not overwritten.
 */
#include "config.h"

#include "kernel.h"

#include <string.h>

#include "lanes.h"
#include "random.h"

/* Values in a span: 8 KiB. */
#define CHUNK ((size_t)1024)

struct matdescent {
	size_t n;
	double *matrix, *matrix_bar;
	double *vector, *vector_bar;
	/* The o_i, on their way to and from the top of the tape. */
	double *products;
};

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t lengths[] = {20, 400, 4096};
	struct matdescent *g = memory_take(memory, sizeof *g);
	struct random random = RANDOM_SEED;
	size_t n = g->n = lengths[size];

	g->matrix = memory_take_doubles(memory, n * n);
	g->matrix_bar = memory_take_doubles(memory, n * n);
	g->vector = memory_take_doubles(memory, n);
	g->vector_bar = memory_take_doubles(memory, n);
	g->products = memory_take_doubles(memory, n);
	random_fill(&random, g->matrix, n * n, -0.5, 0.5);
	random_fill(&random, g->vector, n, 0, 1);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	struct matdescent *g = data;

	inputs[0] = (struct kernel_input){"M", g->matrix, g->matrix_bar, g->n * g->n};
	inputs[1] = (struct kernel_input){"v", g->vector, g->vector_bar, g->n};
	return 2;
}

static size_t columns(const void *data, size_t *bytes)
{
	const struct matdescent *g = data;

	bytes[0] = g->n * g->n * sizeof(double);
	bytes[1] = g->n * sizeof(double);
	return 2;
}

static double primal(void *data)
{
	const struct matdescent *g = data;
	double objective = 0;

	for (size_t i = 0; i < g->n; i++) {
		double o = dot(g->matrix + i * g->n, g->vector, g->n);

		objective += o * o;
	}
	return objective;
}

static void clear_adjoint(struct matdescent *g)
{
	memset(g->vector_bar, 0, g->n * sizeof(double));
}

/* ---- Value by value ---- */

static double forward_plain(void *data, const struct records *records)
{
	const struct matdescent *g = data;
	const double *restrict vector = g->vector;
	reel_tape *tape = records->tape;
	double objective = 0;

	for (size_t i = 0; i < g->n; i++) {
		const double *restrict row = g->matrix + i * g->n;
		double o = 0;

		for (size_t j = 0; j < g->n; j++) {
			reel_push(tape, row[j]);
			o += row[j] * vector[j];
		}
		reel_push(tape, o);
		objective += o * o;
	}
	return objective;
}

static void reverse_plain(void *data, const struct records *records)
{
	struct matdescent *g = data;
	const double *restrict vector = g->vector;
	double *restrict vector_bar = g->vector_bar;
	reel_tape *tape = records->tape;

	clear_adjoint(g);
	for (size_t i = g->n; i-- > 0;) {
		double *restrict row_bar = g->matrix_bar + i * g->n;
		double o_bar = 2 * reel_pop(tape, double);

		for (size_t j = g->n; j-- > 0;) {
			vector_bar[j] += o_bar * reel_pop(tape, double);
			row_bar[j] = o_bar * vector[j];
		}
	}
}

/* ---- Rows: in spans, or in one array ---- */

/* Columns j to j + n of a row. */
static inline void reverse_row(struct matdescent *g, size_t i, size_t j, size_t n, double o_bar,
			       const double *restrict row)
{
	const double *restrict vector = g->vector + j;
	double *restrict vector_bar = g->vector_bar + j;
	double *restrict row_bar = g->matrix_bar + i * g->n + j;

	for (size_t k = 0; k < n; k++) {
		vector_bar[k] += o_bar * row[k];
		row_bar[k] = o_bar * vector[k];
	}
}

static double forward_best(void *data, const struct records *records)
{
	struct matdescent *g = data;
	double objective = 0;

	for (size_t i = 0; i < g->n; i++) {
		const double *row = g->matrix + i * g->n;
		double o = 0;

		for (size_t c = 0; c < chunk_count(g->n, CHUNK); c++) {
			size_t n = chunk_length(g->n, CHUNK, c);
			double *span = demand_push_span(records->tape, double, n);

			o += dot_recording(g->vector + c * CHUNK, row + c * CHUNK, span, n);
		}
		g->products[i] = o;
		objective += o * o;
	}
	reel_push_array(records->tape, g->products, g->n);
	return objective;
}

static void reverse_best(void *data, const struct records *records)
{
	struct matdescent *g = data;

	clear_adjoint(g);
	reel_pop_array(records->tape, g->products, g->n);
	for (size_t i = g->n; i-- > 0;) {
		double o_bar = 2 * g->products[i];

		for (size_t c = chunk_count(g->n, CHUNK); c-- > 0;) {
			size_t n = chunk_length(g->n, CHUNK, c);
			const double *span = demand_pop_span(records->tape, double, n);

			reverse_row(g, i, c * CHUNK, n, o_bar, span);
		}
	}
}

static double forward_columns(void *data, const struct records *records)
{
	const struct matdescent *g = data;
	double *copy = column_of(records, 0), *products = column_of(records, 1), objective = 0;

	for (size_t i = 0; i < g->n; i++) {
		double o = dot_recording(g->vector, g->matrix + i * g->n, copy + i * g->n, g->n);

		products[i] = o;
		objective += o * o;
	}
	return objective;
}

static void reverse_columns(void *data, const struct records *records)
{
	struct matdescent *g = data;
	const double *copy = column_of(records, 0), *products = column_of(records, 1);

	clear_adjoint(g);
	for (size_t i = g->n; i-- > 0;)
		reverse_row(g, i, 0, g->n, 2 * products[i], copy + i * g->n);
}

/* ---- The least record: the products ---- */

static double forward_least(void *data, const struct records *records)
{
	const struct matdescent *g = data;
	double *products = demand_push_span(records->tape, double, g->n), objective = 0;

	for (size_t i = 0; i < g->n; i++) {
		double o = dot(g->matrix + i * g->n, g->vector, g->n);

		products[i] = o;
		objective += o * o;
	}
	return objective;
}

static void reverse_least(void *data, const struct records *records)
{
	struct matdescent *g = data;
	const double *products = demand_pop_span(records->tape, double, g->n);

	clear_adjoint(g);
	for (size_t i = g->n; i-- > 0;)
		reverse_row(g, i, 0, g->n, 2 * products[i], g->matrix + i * g->n);
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_best, reverse_best},
	{"least", ON_TAPE, forward_least, reverse_least},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_columns, reverse_columns},
	{"soa-warm", IN_WARM_COLUMNS, forward_columns, reverse_columns},
};

const struct kernel kernel_matdescent = {
	"matdescent", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
