/* SPDX-License-Identifier: MIT */
/*
 * Somier (RiVEC): masses at the nodes of a cube, each tied to its six neighbours
 * by springs of rest length 1; the boundary is fixed. A step, for the nodes p
 * inside, with d = X_q - X_p:
 *
 *	F_p = sum_q k (1 - 1/|d|) d,  V += dt F,  X += dt V
 *
 * and L = sum X^2 / 2 after the last step, differentiated by the first X.
 *
 * Adjoint of a step, inside:
 *
 *	V_bar += dt X_bar,  f = dt V_bar
 *
 * and then of each spring, with g = k (1 - 1/|d|), h = k (d.f) / |d|^3:
 *
 *	d_bar = g f + h d,  X_bar_q += d_bar,  X_bar_p -= d_bar
 *
 * Record: {dx, dy, dz, 1/|d|} for each of the six springs; least: X per step.
 */
#include "config.h"

#include "kernel.h"

#include <math.h>
#include <string.h>

#include "lanes.h"
#include "random.h"

#define STIFFNESS 2.5
#define TIME_STEP 1e-3
#define SPRINGS 6
/* The record of a spring: three differences and an inverse length. */
#define FIELDS 4
/* Nodes of a row that are recorded together. */
#define TILE ((size_t)8)

/* The record in a span: a cache line for each field of each spring. */
struct tile {
	double field[SPRINGS][FIELDS][TILE];
};

struct somier {
	size_t side, nodes, steps;
	double *start[3];
	double *x[3], *v[3], *force[3];
	double *x_bar[3], *v_bar[3], *force_bar[3];
	/* From a node to its neighbours. */
	ptrdiff_t neighbour[SPRINGS];
};

static void place_nodes(struct somier *g)
{
	struct random random = RANDOM_SEED;
	size_t side = g->side;

	for (size_t p = 0; p < g->nodes; p++) {
		size_t index[3] = {p / side / side, p / side % side, p % side};

		for (size_t c = 0; c < 3; c++)
			g->start[c][p] = (double)index[c] + random_between(&random, 0, 0.1);
	}
}

/*
 * The two neighbours in the row are apart: the stores of a tile for one would
 * delay the loads for the other, which overlap them.
 */
static void set_neighbours(struct somier *g, ptrdiff_t side)
{
	ptrdiff_t neighbour[SPRINGS] = {-side, -1, -side * side, side * side, 1, side};

	memcpy(g->neighbour, neighbour, sizeof neighbour);
}

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t sides[] = {5, 8, 66}, steps[] = {3, 1, 8};
	struct somier *g = memory_take(memory, sizeof *g);
	size_t side = sides[size];

	g->side = side;
	g->nodes = side * side * side;
	g->steps = steps[size];
	for (size_t c = 0; c < 3; c++) {
		g->start[c] = memory_take_doubles(memory, g->nodes + TILE);
		g->x[c] = memory_take_doubles(memory, g->nodes + TILE);
		g->v[c] = memory_take_doubles(memory, g->nodes + TILE);
		g->force[c] = memory_take_doubles(memory, g->nodes + TILE);
		g->x_bar[c] = memory_take_doubles(memory, g->nodes + TILE);
		g->v_bar[c] = memory_take_doubles(memory, g->nodes + TILE);
		g->force_bar[c] = memory_take_doubles(memory, g->nodes + TILE);
	}
	set_neighbours(g, (ptrdiff_t)side);
	place_nodes(g);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	static const char *const names[] = {"X.x", "X.y", "X.z"};
	struct somier *g = data;

	for (size_t c = 0; c < 3; c++)
		inputs[c] = (struct kernel_input){names[c], g->start[c], g->x_bar[c], g->nodes};
	return 3;
}

/* Rows of nodes inside, side - 2 nodes long, and the first node of each. */
static size_t row_count(const struct somier *g)
{
	return (g->side - 2) * (g->side - 2);
}

static size_t row_start(const struct somier *g, size_t row)
{
	size_t inside = g->side - 2;

	return ((row / inside + 1) * g->side + row % inside + 1) * g->side + 1;
}

/*
 * A tile has all its lanes always. Those behind the last node of a row compute
 * with the nodes that follow in memory: their forces go to the boundary, which
 * has no use for them, or to nodes whose turn comes later; their adjoints are 0.
 */
static size_t row_tiles(const struct somier *g)
{
	return chunk_count(g->side - 2, TILE);
}

static size_t columns(const void *data, size_t *bytes)
{
	const struct somier *g = data;

	for (size_t c = 0; c < SPRINGS * FIELDS; c++)
		bytes[c] = g->steps * row_count(g) * row_tiles(g) * TILE * sizeof(double);
	return SPRINGS * FIELDS;
}

static void start(struct somier *g)
{
	for (size_t c = 0; c < 3; c++) {
		memcpy(g->x[c], g->start[c], g->nodes * sizeof(double));
		memset(g->v[c], 0, g->nodes * sizeof(double));
	}
}

static double objective(const struct somier *g)
{
	double squares = 0;

	for (size_t c = 0; c < 3; c++)
		squares += dot(g->x[c], g->x[c], g->nodes);
	return squares / 2;
}

static void start_adjoint(struct somier *g)
{
	for (size_t c = 0; c < 3; c++) {
		memcpy(g->x_bar[c], g->x[c], g->nodes * sizeof(double));
		memset(g->v_bar[c], 0, g->nodes * sizeof(double));
	}
}

static inline void move_row(double *restrict x, double *restrict v, const double *restrict force,
			    size_t n)
{
	for (size_t k = 0; k < n; k++) {
		v[k] += TIME_STEP * force[k];
		x[k] += TIME_STEP * v[k];
	}
}

/* V += dt F, X += dt V. */
static void move(struct somier *g)
{
	for (size_t row = 0; row < row_count(g); row++) {
		size_t p = row_start(g, row);

		for (size_t c = 0; c < 3; c++)
			move_row(g->x[c] + p, g->v[c] + p, g->force[c] + p, g->side - 2);
	}
}

static inline void reverse_move_row(const double *restrict x_bar, double *restrict v_bar,
				    double *restrict force_bar, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		v_bar[k] += TIME_STEP * x_bar[k];
		force_bar[k] = TIME_STEP * v_bar[k];
	}
}

static void reverse_move(struct somier *g)
{
	for (size_t row = row_count(g); row-- > 0;) {
		size_t p = row_start(g, row);

		for (size_t c = 0; c < 3; c++)
			reverse_move_row(g->x_bar[c] + p, g->v_bar[c] + p, g->force_bar[c] + p,
					 g->side - 2);
	}
}

/* ---- Without a record ---- */

static inline double inverse_length(double dx, double dy, double dz)
{
	return 1 / sqrt(dx * dx + dy * dy + dz * dz);
}

/* One spring of each node of a tile, the neighbours of x[0] being at x[q]. */
static inline void spring_forces(const double *restrict x, const double *restrict y,
				 const double *restrict z, ptrdiff_t q, double *restrict force)
{
	const double *restrict xq = x + q, *restrict yq = y + q, *restrict zq = z + q;

	TILE_LOOP
	for (size_t k = 0; k < TILE; k++) {
		double dx = xq[k] - x[k], dy = yq[k] - y[k], dz = zq[k] - z[k];
		double stretch = STIFFNESS * (1 - inverse_length(dx, dy, dz));

		force[k] += stretch * dx;
		force[TILE + k] += stretch * dy;
		force[2 * TILE + k] += stretch * dz;
	}
}

static inline void set_forces(struct somier *g, size_t p, const double *restrict force)
{
	for (size_t c = 0; c < 3; c++)
		TILE_LOOP
		for (size_t k = 0; k < TILE; k++)
			g->force[c][p + k] = force[c * TILE + k];
}

static void tile_forces(struct somier *g, size_t p)
{
	double force[3 * TILE] = {0};

	for (size_t s = 0; s < SPRINGS; s++)
		spring_forces(g->x[0] + p, g->x[1] + p, g->x[2] + p, g->neighbour[s], force);
	set_forces(g, p, force);
}

static void primal_step(struct somier *g)
{
	for (size_t row = 0; row < row_count(g); row++)
		for (size_t t = 0; t < row_tiles(g); t++)
			tile_forces(g, row_start(g, row) + t * TILE);
	move(g);
}

static double primal(void *data)
{
	struct somier *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		primal_step(g);
	return objective(g);
}

/* ---- Value by value ---- */

static void push_node(struct somier *g, size_t p, reel_tape *tape)
{
	double force[3] = {0};

	for (size_t s = 0; s < SPRINGS; s++) {
		size_t q = p + (size_t)g->neighbour[s];
		double dx = g->x[0][q] - g->x[0][p], dy = g->x[1][q] - g->x[1][p];
		double dz = g->x[2][q] - g->x[2][p], inverse = inverse_length(dx, dy, dz);
		double stretch = STIFFNESS * (1 - inverse);

		reel_push(tape, dx);
		reel_push(tape, dy);
		reel_push(tape, dz);
		reel_push(tape, inverse);
		force[0] += stretch * dx;
		force[1] += stretch * dy;
		force[2] += stretch * dz;
	}
	for (size_t c = 0; c < 3; c++)
		g->force[c][p] = force[c];
}

static void pop_node(struct somier *g, size_t p, reel_tape *tape)
{
	double fx = g->force_bar[0][p], fy = g->force_bar[1][p], fz = g->force_bar[2][p];

	for (size_t s = SPRINGS; s-- > 0;) {
		size_t q = p + (size_t)g->neighbour[s];
		double inverse = reel_pop(tape, double), dz = reel_pop(tape, double);
		double dy = reel_pop(tape, double), dx = reel_pop(tape, double);
		double stretch = STIFFNESS * (1 - inverse);
		double turn = STIFFNESS * inverse * inverse * inverse *
			      (dx * fx + dy * fy + dz * fz);
		double d_bar[3] = {stretch * fx + turn * dx, stretch * fy + turn * dy,
				   stretch * fz + turn * dz};

		for (size_t c = 0; c < 3; c++) {
			g->x_bar[c][q] += d_bar[c];
			g->x_bar[c][p] -= d_bar[c];
		}
	}
}

static void push_step(struct somier *g, reel_tape *tape)
{
	for (size_t row = 0; row < row_count(g); row++)
		for (size_t k = 0; k < g->side - 2; k++)
			push_node(g, row_start(g, row) + k, tape);
	move(g);
}

static void pop_step(struct somier *g, reel_tape *tape)
{
	reverse_move(g);
	for (size_t row = row_count(g); row-- > 0;)
		for (size_t k = g->side - 2; k-- > 0;)
			pop_node(g, row_start(g, row) + k, tape);
}

static double forward_plain(void *data, const struct records *records)
{
	struct somier *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		push_step(g, records->tape);
	return objective(g);
}

static void reverse_plain(void *data, const struct records *records)
{
	struct somier *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		pop_step(g, records->tape);
}

/* ---- Tiles: in spans, or 24 arrays ---- */

/*
 * Where the record of a tile lies: in a span, or `at` nodes behind the head of
 * each column. The reverse sweep only reads there.
 */
struct place {
	double *tiles;
	const struct columns *columns;
	size_t at;
};

static inline double *field(struct place place, size_t spring, size_t number)
{
	size_t f = spring * FIELDS + number;

	if (place.columns)
		return (double *)place.columns->column[f] + place.at;
	return place.tiles + place.at * SPRINGS * FIELDS + f * TILE;
}

/* As spring_forces(). */
static inline void record_spring(const double *restrict x, const double *restrict y,
				 const double *restrict z, ptrdiff_t q, struct place place,
				 size_t spring, double *restrict force)
{
	double *restrict dx = field(place, spring, 0), *restrict dy = field(place, spring, 1);
	double *restrict dz = field(place, spring, 2), *restrict inverse = field(place, spring, 3);
	const double *restrict xq = x + q, *restrict yq = y + q, *restrict zq = z + q;

	TILE_LOOP
	for (size_t k = 0; k < TILE; k++) {
		double ex = xq[k] - x[k], ey = yq[k] - y[k], ez = zq[k] - z[k];
		double inv = inverse_length(ex, ey, ez), stretch = STIFFNESS * (1 - inv);

		dx[k] = ex;
		dy[k] = ey;
		dz[k] = ez;
		inverse[k] = inv;
		force[k] += stretch * ex;
		force[TILE + k] += stretch * ey;
		force[2 * TILE + k] += stretch * ez;
	}
}

static inline void record_tile(struct somier *g, size_t p, struct place place)
{
	double force[3 * TILE] = {0};

	for (size_t s = 0; s < SPRINGS; s++)
		record_spring(g->x[0] + p, g->x[1] + p, g->x[2] + p, g->neighbour[s], place, s,
			      force);
	set_forces(g, p, force);
}

/* Adds to the neighbours' adjoint; `own` collects the terms to subtract from the nodes'. */
static inline void reverse_spring(double *restrict x_bar, double *restrict y_bar,
				  double *restrict z_bar, struct place place, size_t spring,
				  const double *restrict force_bar, double *restrict own)
{
	const double *restrict dx = field(place, spring, 0), *restrict dy = field(place, spring, 1);
	const double *restrict dz = field(place, spring, 2);
	const double *restrict inverse = field(place, spring, 3);

	TILE_LOOP
	for (size_t k = 0; k < TILE; k++) {
		double fx = force_bar[k], fy = force_bar[TILE + k], fz = force_bar[2 * TILE + k];
		double inv = inverse[k], stretch = STIFFNESS * (1 - inv);
		double turn = STIFFNESS * inv * inv * inv *
			      (dx[k] * fx + dy[k] * fy + dz[k] * fz);
		double ex = stretch * fx + turn * dx[k], ey = stretch * fy + turn * dy[k];
		double ez = stretch * fz + turn * dz[k];

		x_bar[k] += ex;
		y_bar[k] += ey;
		z_bar[k] += ez;
		own[k] += ex;
		own[TILE + k] += ey;
		own[2 * TILE + k] += ez;
	}
}

/* The n nodes from p on. */
static inline void reverse_tile(struct somier *g, size_t p, size_t n, struct place place)
{
	double force_bar[3 * TILE], own[3 * TILE] = {0};

	for (size_t c = 0; c < 3; c++)
		TILE_LOOP
		for (size_t k = 0; k < TILE; k++)
			force_bar[c * TILE + k] = k < n ? g->force_bar[c][p + k] : 0;
	for (size_t s = SPRINGS; s-- > 0;) {
		size_t q = p + (size_t)g->neighbour[s];

		reverse_spring(g->x_bar[0] + q, g->x_bar[1] + q, g->x_bar[2] + q, place, s,
			       force_bar, own);
	}
	for (size_t c = 0; c < 3; c++)
		TILE_LOOP
		for (size_t k = 0; k < TILE; k++)
			g->x_bar[c][p + k] -= own[c * TILE + k];
}

static inline void record_row(struct somier *g, size_t row, struct place place)
{
	size_t p = row_start(g, row);

	for (size_t t = 0; t < row_tiles(g); t++, place.at += TILE)
		record_tile(g, p + t * TILE, place);
}

static inline void reverse_row(struct somier *g, size_t row, struct place place)
{
	size_t p = row_start(g, row);

	place.at += row_tiles(g) * TILE;
	for (size_t t = row_tiles(g); t-- > 0;) {
		place.at -= TILE;
		reverse_tile(g, p + t * TILE, chunk_length(g->side - 2, TILE, t), place);
	}
}

static void record_step(struct somier *g, reel_tape *tape)
{
	size_t tiles = row_tiles(g);

	for (size_t row = 0; row < row_count(g); row++) {
		struct tile *span = demand_push_span(tape, struct tile, tiles);

		record_row(g, row, (struct place){.tiles = span->field[0][0]});
	}
	move(g);
}

static void reverse_step(struct somier *g, reel_tape *tape)
{
	size_t tiles = row_tiles(g);

	reverse_move(g);
	for (size_t row = row_count(g); row-- > 0;) {
		struct tile *span = (struct tile *)demand_pop_span(tape, struct tile, tiles);

		reverse_row(g, row, (struct place){.tiles = span->field[0][0]});
	}
}

static double forward_best(void *data, const struct records *records)
{
	struct somier *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		record_step(g, records->tape);
	return objective(g);
}

static void reverse_best(void *data, const struct records *records)
{
	struct somier *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		reverse_step(g, records->tape);
}

static struct place columns_place(const struct somier *g, const struct records *records,
				  size_t step, size_t row)
{
	size_t at = (step * row_count(g) + row) * row_tiles(g) * TILE;

	return (struct place){.columns = records->columns, .at = at};
}

static double forward_columns(void *data, const struct records *records)
{
	struct somier *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++) {
		for (size_t row = 0; row < row_count(g); row++)
			record_row(g, row, columns_place(g, records, step, row));
		move(g);
	}
	return objective(g);
}

static void reverse_columns(void *data, const struct records *records)
{
	struct somier *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;) {
		reverse_move(g);
		for (size_t row = row_count(g); row-- > 0;)
			reverse_row(g, row, columns_place(g, records, step, row));
	}
}

/* ---- The least record: X at the beginning of each step ---- */

static void push_positions(const struct somier *g, reel_tape *tape)
{
	for (size_t c = 0; c < 3; c++)
		reel_push_array(tape, g->x[c], g->nodes);
}

static void pop_positions(struct somier *g, reel_tape *tape)
{
	for (size_t c = 3; c-- > 0;)
		reel_pop_array(tape, g->x[c], g->nodes);
}

/* Each tile is recorded once more, in place of the tape; then as above. */
static void reverse_least_step(struct somier *g, reel_tape *tape)
{
	struct tile tile;
	struct place place = {.tiles = tile.field[0][0]};

	pop_positions(g, tape);
	reverse_move(g);
	for (size_t row = row_count(g); row-- > 0;)
		for (size_t t = row_tiles(g); t-- > 0;) {
			size_t p = row_start(g, row) + t * TILE;

			record_tile(g, p, place);
			reverse_tile(g, p, chunk_length(g->side - 2, TILE, t), place);
		}
}

static double forward_least(void *data, const struct records *records)
{
	struct somier *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++) {
		push_positions(g, records->tape);
		primal_step(g);
	}
	return objective(g);
}

static void reverse_least(void *data, const struct records *records)
{
	struct somier *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		reverse_least_step(g, records->tape);
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_best, reverse_best},
	{"least", ON_TAPE, forward_least, reverse_least},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_columns, reverse_columns},
	{"soa-warm", IN_WARM_COLUMNS, forward_columns, reverse_columns},
	{"soa-page", IN_PAGE_COLUMNS, forward_columns, reverse_columns},
};

const struct kernel kernel_somier = {
	"somier", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
