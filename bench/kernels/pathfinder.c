/* SPDX-License-Identifier: MIT */
/*
 * Pathfinder (RiVEC, Rodinia), made multiplicative so that the minimum is needed.
 *
 *	x_{t+1}[n] = w_t[n] min(x_t[n-1], x_t[n], x_t[n+1]),  L = sum_n x_R[n]
 *
 * Outside of the row x is 1e300; of equal ones the centre is taken, then the left.
 *
 * Adjoint, with `side` in -1, 0, 1 saying which one was taken:
 *
 *	w_bar_t[n] = min x_bar_{t+1}[n],  x_bar_t[n + side] += w_t[n] x_bar_{t+1}[n]
 *
 * Record: {min, side} per place, 9 bytes; no smaller one is in use.
 */
#include "config.h"

#include "kernel.h"

#include <string.h>

#include "lanes.h"
#include "random.h"

#define OUTSIDE 1e300
/* A row is worked off in chunks, whose temporary rows stay in the first-level cache. */
#define CHUNK ((size_t)256)

struct pathfinder {
	size_t steps, places;
	double *w, *w_bar;
	double *start, *start_bar;
	/* Two rows in turn, each between two places outside. */
	double *x[2];
	double *x_bar[2];
};

/* A row and one more place on each side, the row beginning on a cache line. */
static double *padded_row(struct memory *memory, size_t places)
{
	return memory_take_doubles(memory, places + 16) + 8;
}

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t steps[] = {12, 127, 2047}, places[] = {40, 256, 8192};
	struct pathfinder *g = memory_take(memory, sizeof *g);
	struct random random = RANDOM_SEED;

	g->steps = steps[size];
	g->places = places[size];
	g->w = memory_take_doubles(memory, g->steps * g->places);
	g->w_bar = memory_take_doubles(memory, g->steps * g->places);
	g->start = memory_take_doubles(memory, g->places);
	for (size_t row = 0; row < 2; row++) {
		g->x[row] = padded_row(memory, g->places);
		g->x_bar[row] = padded_row(memory, g->places);
		g->x[row][-1] = g->x[row][g->places] = OUTSIDE;
	}
	/* The reverse sweep ends on the row that belongs to step 0. */
	g->start_bar = g->x_bar[0];
	random_fill(&random, g->w, g->steps * g->places, 0.95, 1.05);
	random_fill(&random, g->start, g->places, 1, 2);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	struct pathfinder *g = data;

	inputs[0] = (struct kernel_input){"w", g->w, g->w_bar, g->steps * g->places};
	inputs[1] = (struct kernel_input){"x", g->start, g->start_bar, g->places};
	return 2;
}

static size_t columns(const void *data, size_t *bytes)
{
	const struct pathfinder *g = data;

	bytes[0] = g->steps * g->places * sizeof(double);
	bytes[1] = g->steps * g->places;
	return 2;
}

static void start(struct pathfinder *g)
{
	memcpy(g->x[0], g->start, g->places * sizeof(double));
}

static double objective(const struct pathfinder *g)
{
	return sum(g->x[g->steps % 2], g->places);
}

static void start_adjoint(struct pathfinder *g)
{
	double *x_bar = g->x_bar[g->steps % 2];

	for (size_t n = 0; n < g->places; n++)
		x_bar[n] = 1;
}

static void clear_row(const struct pathfinder *g, double *x_bar)
{
	memset(x_bar - 1, 0, (g->places + 2) * sizeof(double));
}

static inline double smallest(const double *x)
{
	double least = x[0];

	least = x[-1] < least ? x[-1] : least;
	return x[1] < least ? x[1] : least;
}

static void primal_step(struct pathfinder *g, size_t step)
{
	const double *restrict x = g->x[step % 2], *restrict w = g->w + step * g->places;
	double *restrict next = g->x[(step + 1) % 2];

	for (size_t n = 0; n < g->places; n++)
		next[n] = w[n] * smallest(x + n);
}

static double primal(void *data)
{
	struct pathfinder *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		primal_step(g, step);
	return objective(g);
}

/* ---- Value by value ---- */

static void push_step(struct pathfinder *g, size_t step, reel_tape *tape)
{
	const double *restrict x = g->x[step % 2], *restrict w = g->w + step * g->places;
	double *restrict next = g->x[(step + 1) % 2];

	for (size_t n = 0; n < g->places; n++) {
		double least = x[n];
		int side = 0;

		if (x[(ptrdiff_t)n - 1] < least) {
			least = x[(ptrdiff_t)n - 1];
			side = -1;
		}
		if (x[n + 1] < least) {
			least = x[n + 1];
			side = 1;
		}
		reel_push(tape, least);
		reel_push_bits(tape, (uint64_t)(side + 1), 2);
		next[n] = w[n] * least;
	}
}

static void pop_step(struct pathfinder *g, size_t step, reel_tape *tape)
{
	const double *restrict w = g->w + step * g->places;
	const double *restrict next_bar = g->x_bar[(step + 1) % 2];
	double *restrict w_bar = g->w_bar + step * g->places, *restrict x_bar = g->x_bar[step % 2];

	clear_row(g, x_bar);
	for (size_t n = g->places; n-- > 0;) {
		ptrdiff_t place = (ptrdiff_t)n + (ptrdiff_t)reel_pop_bits(tape, 2) - 1;
		double least = reel_pop(tape, double);

		w_bar[n] = least * next_bar[n];
		x_bar[place] += w[n] * next_bar[n];
	}
}

static double forward_plain(void *data, const struct records *records)
{
	struct pathfinder *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		push_step(g, step, records->tape);
	return objective(g);
}

static void reverse_plain(void *data, const struct records *records)
{
	struct pathfinder *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		pop_step(g, step, records->tape);
}

/* ---- Columns: in spans, or one array each ---- */

/* Places first to first + n of a step. */
static inline void record_places(struct pathfinder *g, size_t step, size_t first, size_t n,
				 double *restrict least, signed char *restrict side)
{
	const double *restrict x = g->x[step % 2] + first;
	const double *restrict w = g->w + step * g->places + first;
	double *restrict next = g->x[(step + 1) % 2] + first;

	for (size_t k = 0; k < n; k++) {
		double from_left = x[(ptrdiff_t)k - 1] < x[k] ? x[(ptrdiff_t)k - 1] : x[k];
		double value = x[k + 1] < from_left ? x[k + 1] : from_left;

		least[k] = value;
		next[k] = w[k] * value;
	}
	for (size_t k = 0; k < n; k++) {
		long left = x[(ptrdiff_t)k - 1] < x[k];
		long right = least[k] < x[k] && least[k] < x[(ptrdiff_t)k - 1];

		side[k] = (signed char)(right ? 1 : -left);
	}
}

/*
 * Terms that go left, go right or stay are laid out in three rows first: each place
 * then gathers three terms, where a scatter would not vectorise.
 */
static inline void reverse_places(struct pathfinder *g, size_t step, size_t first, size_t n,
				  const double *restrict least, const signed char *restrict side)
{
	const double *restrict w = g->w + step * g->places + first;
	const double *restrict next_bar = g->x_bar[(step + 1) % 2] + first;
	double *restrict w_bar = g->w_bar + step * g->places + first;
	double *restrict x_bar = g->x_bar[step % 2] + first - 1;
	double to_left[CHUNK + 2], to_right[CHUNK + 2], stays[CHUNK + 2];

	for (size_t k = 0; k < n; k++) {
		double term = w[k] * next_bar[k];

		w_bar[k] = least[k] * next_bar[k];
		to_left[k] = side[k] < 0 ? term : 0;
		stays[k + 1] = side[k] == 0 ? term : 0;
		to_right[k + 2] = side[k] > 0 ? term : 0;
	}
	to_left[n] = to_left[n + 1] = stays[0] = stays[n + 1] = to_right[0] = to_right[1] = 0;
	for (size_t k = 0; k < n + 2; k++)
		x_bar[k] += to_left[k] + stays[k] + to_right[k];
}

/* A whole row, chunk by chunk. */
static void record_row(struct pathfinder *g, size_t step, double *least, signed char *side)
{
	for (size_t c = 0; c < chunk_count(g->places, CHUNK); c++)
		record_places(g, step, c * CHUNK, chunk_length(g->places, CHUNK, c),
			      least + c * CHUNK, side + c * CHUNK);
}

static void reverse_row(struct pathfinder *g, size_t step, const double *least,
			const signed char *side)
{
	clear_row(g, g->x_bar[step % 2]);
	for (size_t c = 0; c < chunk_count(g->places, CHUNK); c++)
		reverse_places(g, step, c * CHUNK, chunk_length(g->places, CHUNK, c),
			       least + c * CHUNK, side + c * CHUNK);
}

static void record_step(struct pathfinder *g, size_t step, reel_tape *tape)
{
	double *least = demand_push_span(tape, double, g->places);

	record_row(g, step, least, demand_push_span(tape, signed char, g->places));
}

static void reverse_step(struct pathfinder *g, size_t step, reel_tape *tape)
{
	const signed char *side = demand_pop_span(tape, signed char, g->places);

	reverse_row(g, step, demand_pop_span(tape, double, g->places), side);
}

static double forward_best(void *data, const struct records *records)
{
	struct pathfinder *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		record_step(g, step, records->tape);
	return objective(g);
}

static void reverse_best(void *data, const struct records *records)
{
	struct pathfinder *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		reverse_step(g, step, records->tape);
}

static double forward_columns(void *data, const struct records *records)
{
	struct pathfinder *g = data;
	double *least = column_of(records, 0);
	signed char *side = records->columns->column[1];

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		record_row(g, step, least + step * g->places, side + step * g->places);
	return objective(g);
}

static void reverse_columns(void *data, const struct records *records)
{
	struct pathfinder *g = data;
	const double *least = column_of(records, 0);
	const signed char *side = records->columns->column[1];

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		reverse_row(g, step, least + step * g->places, side + step * g->places);
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_best, reverse_best},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_columns, reverse_columns},
	{"soa-warm", IN_WARM_COLUMNS, forward_columns, reverse_columns},
};

const struct kernel kernel_pathfinder = {
	"pathfinder", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
