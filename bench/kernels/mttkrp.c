/* SPDX-License-Identifier: MIT */
/*
 * Matricised tensor times Khatri-Rao product (TACO), dense, all dimensions n.
 *
 *	A_ij += B_ikl D_lj C_kj  in the order i, k, l, j;  L = sum_ij A_ij
 *
 * Adjoint, with A_bar_ij = L_bar = 1:
 *
 *	B_bar_ikl += A_bar_ij D_lj C_kj
 *	D_bar_lj  += A_bar_ij B_ikl C_kj
 *	C_bar_kj  += A_bar_ij B_ikl D_lj
 *
 * Record: {b, d, c} per product; least: nothing, as the inputs are not
 * overwritten.
 */
#include "config.h"

#include "kernel.h"

#include <string.h>

#include "lanes.h"
#include "random.h"

/* Products j to j + TILE are recorded together; divides n. */
#define TILE ((size_t)8)
/* Rows of products, l to l + BLOCK, in a span; divides n. */
#define BLOCK ((size_t)8)
#define LARGEST 56

/* The record in a span: three cache lines. */
struct tile {
	double b[TILE], d[TILE], c[TILE];
};

struct mttkrp {
	size_t n;
	double *a, *a_bar;
	double *b, *b_bar;
	double *c, *c_bar;
	double *d, *d_bar;
};

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t dimensions[] = {16, 8, LARGEST};
	struct mttkrp *g = memory_take(memory, sizeof *g);
	struct random random = RANDOM_SEED;
	size_t n = g->n = dimensions[size];

	g->a = memory_take_doubles(memory, n * n);
	g->a_bar = memory_take_doubles(memory, n * n);
	g->b = memory_take_doubles(memory, n * n * n);
	g->b_bar = memory_take_doubles(memory, n * n * n);
	g->c = memory_take_doubles(memory, n * n);
	g->c_bar = memory_take_doubles(memory, n * n);
	g->d = memory_take_doubles(memory, n * n);
	g->d_bar = memory_take_doubles(memory, n * n);
	random_fill(&random, g->b, n * n * n, 0, 1);
	random_fill(&random, g->c, n * n, 0, 1);
	random_fill(&random, g->d, n * n, 0, 1);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	struct mttkrp *g = data;

	inputs[0] = (struct kernel_input){"B", g->b, g->b_bar, g->n * g->n * g->n};
	inputs[1] = (struct kernel_input){"C", g->c, g->c_bar, g->n * g->n};
	inputs[2] = (struct kernel_input){"D", g->d, g->d_bar, g->n * g->n};
	return 3;
}

static size_t columns(const void *data, size_t *bytes)
{
	const struct mttkrp *g = data;

	bytes[0] = bytes[1] = bytes[2] = g->n * g->n * g->n * g->n * sizeof(double);
	return 3;
}

static void clear_product(struct mttkrp *g)
{
	memset(g->a, 0, g->n * g->n * sizeof(double));
}

static double objective(const struct mttkrp *g)
{
	return sum(g->a, g->n * g->n);
}

static void start_adjoint(struct mttkrp *g)
{
	for (size_t i = 0; i < g->n * g->n; i++)
		g->a_bar[i] = 1;
	memset(g->b_bar, 0, g->n * g->n * g->n * sizeof(double));
	memset(g->c_bar, 0, g->n * g->n * sizeof(double));
	memset(g->d_bar, 0, g->n * g->n * sizeof(double));
}

static inline void product_row(double *restrict a, double b, const double *restrict c,
			       const double *restrict d, size_t n)
{
	for (size_t j = 0; j < n; j++)
		a[j] += b * d[j] * c[j];
}

static double primal(void *data)
{
	struct mttkrp *g = data;
	size_t n = g->n;

	clear_product(g);
	for (size_t ik = 0; ik < n * n; ik++)
		for (size_t l = 0; l < n; l++)
			product_row(g->a + ik / n * n, g->b[ik * n + l], g->c + ik % n * n,
				    g->d + l * n, n);
	return objective(g);
}

/* ---- Value by value ---- */

static inline void push_row(reel_tape *tape, double *restrict a, double b,
			    const double *restrict c, const double *restrict d, size_t n)
{
	for (size_t j = 0; j < n; j++) {
		reel_push(tape, b);
		reel_push(tape, d[j]);
		reel_push(tape, c[j]);
		a[j] += b * d[j] * c[j];
	}
}

static double forward_plain(void *data, const struct records *records)
{
	struct mttkrp *g = data;
	size_t n = g->n;

	clear_product(g);
	for (size_t ik = 0; ik < n * n; ik++)
		for (size_t l = 0; l < n; l++)
			push_row(records->tape, g->a + ik / n * n, g->b[ik * n + l],
				 g->c + ik % n * n, g->d + l * n, n);
	return objective(g);
}

/* Returns the adjoint of b. */
static inline double pop_row(reel_tape *tape, const double *restrict a_bar,
			     double *restrict c_bar, double *restrict d_bar, size_t n)
{
	double b_bar = 0;

	for (size_t j = n; j-- > 0;) {
		double c = reel_pop(tape, double), d = reel_pop(tape, double);
		double b = reel_pop(tape, double);

		b_bar += a_bar[j] * d * c;
		d_bar[j] += a_bar[j] * b * c;
		c_bar[j] += a_bar[j] * b * d;
	}
	return b_bar;
}

static void reverse_plain(void *data, const struct records *records)
{
	struct mttkrp *g = data;
	size_t n = g->n;

	start_adjoint(g);
	for (size_t ik = n * n; ik-- > 0;)
		for (size_t l = n; l-- > 0;)
			g->b_bar[ik * n + l] += pop_row(records->tape, g->a_bar + ik / n * n,
							g->c_bar + ik % n * n, g->d_bar + l * n,
							n);
}

/* ---- Tiles: in spans, or in three arrays ---- */

static inline void record_tile(double b, const double *restrict d, const double *restrict c,
			       double *restrict b_tile, double *restrict d_tile,
			       double *restrict c_tile, double *restrict a)
{
	TILE_LOOP
	for (size_t t = 0; t < TILE; t++) {
		b_tile[t] = b;
		d_tile[t] = d[t];
		c_tile[t] = c[t];
		a[t] += b * d[t] * c[t];
	}
}

/* One row of products; the record of the next tile is `step` further. */
static inline void record_row(struct mttkrp *g, size_t ik, size_t l, double *b, double *d,
			      double *c, size_t step)
{
	size_t n = g->n, i = ik / n, k = ik % n;

	for (size_t tile = 0; tile < n / TILE; tile++) {
		size_t j = tile * TILE;

		record_tile(g->b[ik * n + l], g->d + l * n + j, g->c + k * n + j,
			    b + tile * step, d + tile * step, c + tile * step,
			    g->a + i * n + j);
	}
}

/* Of a tile; leaves the terms of the adjoint of b in its lanes. */
static inline void reverse_tile(const double *restrict a_bar, double *restrict c_bar,
				double *restrict d_bar, const double *restrict b,
				const double *restrict d, const double *restrict c,
				double *restrict lane)
{
	TILE_LOOP
	for (size_t t = 0; t < TILE; t++) {
		lane[t] += a_bar[t] * d[t] * c[t];
		d_bar[t] += a_bar[t] * b[t] * c[t];
		c_bar[t] += a_bar[t] * b[t] * d[t];
	}
}

static inline double tile_sum(const double *lane)
{
	return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
	       ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static inline void reverse_row(struct mttkrp *g, size_t ik, size_t l, const double *b,
			       const double *d, const double *c, size_t step)
{
	size_t n = g->n, i = ik / n, k = ik % n;
	double lane[TILE] = {0};

	for (size_t tile = n / TILE; tile-- > 0;) {
		size_t j = tile * TILE;

		reverse_tile(g->a_bar + i * n + j, g->c_bar + k * n + j, g->d_bar + l * n + j,
			     b + tile * step, d + tile * step, c + tile * step, lane);
	}
	g->b_bar[ik * n + l] += tile_sum(lane);
}

static double forward_best(void *data, const struct records *records)
{
	struct mttkrp *g = data;
	size_t n = g->n, row = n / TILE;

	clear_product(g);
	for (size_t ik = 0; ik < n * n; ik++)
		for (size_t block = 0; block < n; block += BLOCK) {
			struct tile *span =
				demand_push_span(records->tape, struct tile, BLOCK * row);

			for (size_t l = 0; l < BLOCK; l++) {
				struct tile *tile = span + l * row;

				record_row(g, ik, block + l, tile->b, tile->d, tile->c,
					   sizeof *tile / sizeof(double));
			}
		}
	return objective(g);
}

static void reverse_best(void *data, const struct records *records)
{
	struct mttkrp *g = data;
	size_t n = g->n, row = n / TILE;

	start_adjoint(g);
	for (size_t ik = n * n; ik-- > 0;)
		for (size_t block = n; block > 0; block -= BLOCK) {
			const struct tile *span =
				demand_pop_span(records->tape, struct tile, BLOCK * row);

			for (size_t l = BLOCK; l-- > 0;) {
				const struct tile *tile = span + l * row;

				reverse_row(g, ik, block - BLOCK + l, tile->b, tile->d, tile->c,
					    sizeof *tile / sizeof(double));
			}
		}
}

static double forward_columns(void *data, const struct records *records)
{
	struct mttkrp *g = data;
	double *b = column_of(records, 0), *d = column_of(records, 1), *c = column_of(records, 2);
	size_t n = g->n;

	clear_product(g);
	for (size_t ik = 0; ik < n * n; ik++)
		for (size_t l = 0; l < n; l++) {
			size_t at = (ik * n + l) * n;

			record_row(g, ik, l, b + at, d + at, c + at, TILE);
		}
	return objective(g);
}

static void reverse_columns(void *data, const struct records *records)
{
	struct mttkrp *g = data;
	const double *b = column_of(records, 0), *d = column_of(records, 1);
	const double *c = column_of(records, 2);
	size_t n = g->n;

	start_adjoint(g);
	for (size_t ik = n * n; ik-- > 0;)
		for (size_t l = n; l-- > 0;) {
			size_t at = (ik * n + l) * n;

			reverse_row(g, ik, l, b + at, d + at, c + at, TILE);
		}
}

/* ---- The least record: none ---- */

static double forward_least(void *data, const struct records *records)
{
	(void)records;
	return primal(data);
}

static void reverse_least(void *data, const struct records *records)
{
	struct mttkrp *g = data;
	size_t n = g->n;
	double b[LARGEST];

	(void)records;
	start_adjoint(g);
	for (size_t ik = n * n; ik-- > 0;)
		for (size_t l = n; l-- > 0;) {
			for (size_t j = 0; j < n; j++)
				b[j] = g->b[ik * n + l];
			reverse_row(g, ik, l, b, g->d + l * n, g->c + ik % n * n, TILE);
		}
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_best, reverse_best},
	{"least", ON_TAPE, forward_least, reverse_least},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_columns, reverse_columns},
	{"soa-warm", IN_WARM_COLUMNS, forward_columns, reverse_columns},
};

const struct kernel kernel_mttkrp = {
	"mttkrp", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
