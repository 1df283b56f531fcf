/* SPDX-License-Identifier: MIT */
/*
 * Gravity: the potential of n points p in the plane (Taichi's ad_gravity).
 *
 *	U = -sum_{i<j} 1 / rho_ij,  rho_ij = sqrt(|d|^2 + eps),  d = p_i - p_j
 *
 * Adjoint of a pair, with s = U_bar / rho^3:
 *
 *	p_bar_i += s d,  p_bar_j -= s d
 *
 * Record: {dx, dy, 1/rho} per pair; least: {1/rho}, d is computed again.
 */
#include "config.h"

#include "kernel.h"

#include <math.h>
#include <string.h>

#include "lanes.h"
#include "random.h"

#define EPSILON 1e-3
/* Rows of pairs are rounded up to tiles of pairs. */
#define TILE ((size_t)LANES)
/* So far away that 1/rho is 0: tiles that reach behind the last point add nothing. */
#define FAR_AWAY 1e200

struct gravity {
	size_t points;
	double *x, *y;
	double *x_bar, *y_bar;
};

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t points[] = {24, 512, 4096};
	struct gravity *g = memory_take(memory, sizeof *g);
	struct random random = RANDOM_SEED;

	g->points = points[size];
	g->x = memory_take_doubles(memory, g->points + TILE);
	g->y = memory_take_doubles(memory, g->points + TILE);
	g->x_bar = memory_take_doubles(memory, g->points + TILE);
	g->y_bar = memory_take_doubles(memory, g->points + TILE);
	for (size_t i = 0; i < TILE; i++)
		g->x[g->points + i] = g->y[g->points + i] = FAR_AWAY;
	random_fill(&random, g->x, g->points, 0, 1);
	random_fill(&random, g->y, g->points, 0, 1);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	struct gravity *g = data;

	inputs[0] = (struct kernel_input){"x", g->x, g->x_bar, g->points};
	inputs[1] = (struct kernel_input){"y", g->y, g->y_bar, g->points};
	return 2;
}

/* The tiles of the pairs of point i with those after it. */
static size_t row_tiles(const struct gravity *g, size_t i)
{
	return chunk_count(g->points - i - 1, TILE);
}

static size_t columns(const void *data, size_t *bytes)
{
	const struct gravity *g = data;
	size_t tiles = 0;

	for (size_t i = 0; i < g->points; i++)
		tiles += row_tiles(g, i);
	bytes[0] = bytes[1] = bytes[2] = tiles * TILE * sizeof(double);
	return 3;
}

static void clear_adjoint(struct gravity *g)
{
	memset(g->x_bar, 0, g->points * sizeof(double));
	memset(g->y_bar, 0, g->points * sizeof(double));
}

static inline double inverse_distance(double dx, double dy)
{
	return 1 / sqrt(dx * dx + dy * dy + EPSILON);
}

/* The sum of 1/rho over the pairs of point i with those after it. */
static double row_primal(const struct gravity *g, size_t i)
{
	double x_i = g->x[i], y_i = g->y[i], lane[LANES] = {0};

	for (size_t t = 0; t < row_tiles(g, i); t++) {
		const double *restrict x = g->x + i + 1 + t * TILE;
		const double *restrict y = g->y + i + 1 + t * TILE;

		for (size_t l = 0; l < TILE; l++)
			lane[l] += inverse_distance(x_i - x[l], y_i - y[l]);
	}
	return lanes_sum(lane);
}

static double primal(void *data)
{
	const struct gravity *g = data;
	double potential = 0;

	for (size_t i = 0; i < g->points; i++)
		potential -= row_primal(g, i);
	return potential;
}

/* ---- Value by value ---- */

static double forward_plain(void *data, const struct records *records)
{
	const struct gravity *g = data;
	reel_tape *tape = records->tape;
	double potential = 0;

	for (size_t i = 0; i < g->points; i++)
		for (size_t j = i + 1; j < g->points; j++) {
			double dx = g->x[i] - g->x[j], dy = g->y[i] - g->y[j];
			double inverse = inverse_distance(dx, dy);

			reel_push(tape, dx);
			reel_push(tape, dy);
			reel_push(tape, inverse);
			potential -= inverse;
		}
	return potential;
}

static void reverse_plain(void *data, const struct records *records)
{
	struct gravity *g = data;
	reel_tape *tape = records->tape;

	clear_adjoint(g);
	for (size_t i = g->points; i-- > 0;)
		for (size_t j = g->points; j-- > i + 1;) {
			double inverse = reel_pop(tape, double);
			double dy = reel_pop(tape, double), dx = reel_pop(tape, double);
			double s = inverse * inverse * inverse;

			g->x_bar[i] += s * dx;
			g->y_bar[i] += s * dy;
			g->x_bar[j] -= s * dx;
			g->y_bar[j] -= s * dy;
		}
}

/* ---- Columns: in spans, or in three arrays ---- */

/* The pairs of point i with those from j on; adds 1/rho to the lanes. */
static inline void record_tile(const struct gravity *g, size_t i, size_t j, double *restrict dx,
			       double *restrict dy, double *restrict inverse,
			       double *restrict lane)
{
	const double *restrict x = g->x + j, *restrict y = g->y + j;
	double x_i = g->x[i], y_i = g->y[i];

	for (size_t l = 0; l < TILE; l++) {
		dx[l] = x_i - x[l];
		dy[l] = y_i - y[l];
		inverse[l] = inverse_distance(dx[l], dy[l]);
		lane[l] += inverse[l];
	}
}

/* The adjoint of point i goes to the lanes. */
static inline void reverse_tile(struct gravity *g, size_t j, const double *restrict dx,
				const double *restrict dy, const double *restrict inverse,
				double *restrict x_lane, double *restrict y_lane)
{
	double *restrict x_bar = g->x_bar + j, *restrict y_bar = g->y_bar + j;

	for (size_t l = 0; l < TILE; l++) {
		double s = inverse[l] * inverse[l] * inverse[l];

		x_lane[l] += s * dx[l];
		y_lane[l] += s * dy[l];
		x_bar[l] -= s * dx[l];
		y_bar[l] -= s * dy[l];
	}
}

static double record_row(const struct gravity *g, size_t i, double *dx, double *dy,
			 double *inverse)
{
	double lane[LANES] = {0};

	for (size_t t = 0; t < row_tiles(g, i); t++)
		record_tile(g, i, i + 1 + t * TILE, dx + t * TILE, dy + t * TILE,
			    inverse + t * TILE, lane);
	return lanes_sum(lane);
}

static void reverse_row(struct gravity *g, size_t i, const double *dx, const double *dy,
			const double *inverse)
{
	double x_lane[LANES] = {0}, y_lane[LANES] = {0};

	for (size_t t = 0; t < row_tiles(g, i); t++)
		reverse_tile(g, i + 1 + t * TILE, dx + t * TILE, dy + t * TILE,
			     inverse + t * TILE, x_lane, y_lane);
	g->x_bar[i] += lanes_sum(x_lane);
	g->y_bar[i] += lanes_sum(y_lane);
}

/*
 * Elements from one column's start to the next one's: an odd number of cache lines, so that equal
 * indices of the columns do not meet in one set of the cache.
 */
static size_t column_stride(size_t n)
{
	return 8 * ((n + 7) / 8 | 1);
}

/* A span is a row: its three columns, no multiple of a page apart. */
static double forward_best(void *data, const struct records *records)
{
	const struct gravity *g = data;
	double potential = 0;

	for (size_t i = 0; i < g->points; i++) {
		size_t stride = column_stride(row_tiles(g, i) * TILE);
		double *span = demand_push_span(records->tape, double, 3 * stride);

		potential -= record_row(g, i, span, span + stride, span + 2 * stride);
	}
	return potential;
}

static void reverse_best(void *data, const struct records *records)
{
	struct gravity *g = data;

	clear_adjoint(g);
	for (size_t i = g->points; i-- > 0;) {
		size_t stride = column_stride(row_tiles(g, i) * TILE);
		const double *span = demand_pop_span(records->tape, double, 3 * stride);

		reverse_row(g, i, span, span + stride, span + 2 * stride);
	}
}

static double forward_columns(void *data, const struct records *records)
{
	const struct gravity *g = data;
	double *dx = column_of(records, 0), *dy = column_of(records, 1);
	double *inverse = column_of(records, 2), potential = 0;
	size_t at = 0;

	for (size_t i = 0; i < g->points; i++) {
		potential -= record_row(g, i, dx + at, dy + at, inverse + at);
		at += row_tiles(g, i) * TILE;
	}
	return potential;
}

static void reverse_columns(void *data, const struct records *records)
{
	struct gravity *g = data;
	size_t bytes[MAX_COLUMNS], at;
	const double *dx = column_of(records, 0), *dy = column_of(records, 1);
	const double *inverse = column_of(records, 2);

	columns(g, bytes);
	at = bytes[0] / sizeof(double);
	clear_adjoint(g);
	for (size_t i = g->points; i-- > 0;) {
		at -= row_tiles(g, i) * TILE;
		reverse_row(g, i, dx + at, dy + at, inverse + at);
	}
}

/* ---- The least record: 1/rho ---- */

static inline void record_least_tile(const struct gravity *g, size_t i, size_t j,
				     double *restrict inverse, double *restrict lane)
{
	const double *restrict x = g->x + j, *restrict y = g->y + j;
	double x_i = g->x[i], y_i = g->y[i];

	for (size_t l = 0; l < TILE; l++) {
		inverse[l] = inverse_distance(x_i - x[l], y_i - y[l]);
		lane[l] += inverse[l];
	}
}

/* The differences once more, then as above. */
static inline void reverse_least_tile(struct gravity *g, size_t i, size_t j,
				      const double *inverse, double *x_lane, double *y_lane)
{
	const double *restrict x = g->x + j, *restrict y = g->y + j;
	double dx[TILE], dy[TILE], x_i = g->x[i], y_i = g->y[i];

	for (size_t l = 0; l < TILE; l++) {
		dx[l] = x_i - x[l];
		dy[l] = y_i - y[l];
	}
	reverse_tile(g, j, dx, dy, inverse, x_lane, y_lane);
}

static double forward_least(void *data, const struct records *records)
{
	const struct gravity *g = data;
	double potential = 0;

	for (size_t i = 0; i < g->points; i++) {
		size_t tiles = row_tiles(g, i);
		double *inverse = demand_push_span(records->tape, double, tiles * TILE);
		double lane[LANES] = {0};

		for (size_t t = 0; t < tiles; t++)
			record_least_tile(g, i, i + 1 + t * TILE, inverse + t * TILE, lane);
		potential -= lanes_sum(lane);
	}
	return potential;
}

static void reverse_least(void *data, const struct records *records)
{
	struct gravity *g = data;

	clear_adjoint(g);
	for (size_t i = g->points; i-- > 0;) {
		size_t tiles = row_tiles(g, i);
		const double *inverse = demand_pop_span(records->tape, double, tiles * TILE);
		double x_lane[LANES] = {0}, y_lane[LANES] = {0};

		for (size_t t = 0; t < tiles; t++)
			reverse_least_tile(g, i, i + 1 + t * TILE, inverse + t * TILE, x_lane,
					   y_lane);
		g->x_bar[i] += lanes_sum(x_lane);
		g->y_bar[i] += lanes_sum(y_lane);
	}
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_best, reverse_best},
	{"least", ON_TAPE, forward_least, reverse_least},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_columns, reverse_columns},
	{"soa-warm", IN_WARM_COLUMNS, forward_columns, reverse_columns},
};

const struct kernel kernel_gravity = {
	"gravity", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
