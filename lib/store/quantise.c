/* SPDX-License-Identifier: MIT */
/*
 * Packs a field: a head, the runs of values that are not finite, and differences in a Rice code.
 * Any thread. Whatever bytes are unpacked, nothing outside of the values is written.
 *
 * Values become whole numbers, multiples of a step. In a smooth field their first or second
 * differences along a dimension are small; how often to take differences is chosen for each
 * dimension by samples. All of this is exact and undone exactly: only the rounding loses anything.
 * Differences are taken first along the row, then along the other dimensions. Each needs the
 * numbers that it was taken of at the place before: one number along the row, a row of numbers
 * along the dimension before, and so on. Along a dimension of few places none are taken, so a row
 * is along the last dimension of more: components that lie beside each other in memory stay
 * together.
 *
 * A number and the one before along another dimension are each off by up to half a step. At coarse
 * tolerances this is most of their difference. If the row is smooth, the number is therefore
 * compared with a mean of three neighbours in the row before, whose roundings cancel in part: the
 * states of a tsunami take up a tenth to a fifth less.
 *
 * The field is walked through in pieces of a row, which stay in the cache through all stages.
 */
#include "config.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "difference.h"
#include "os/assert.h"
#include "os/integer.h"
#include "quantise.h"
#include "rice.h"

#define PIECE 1024
#define LANES 4
#define MAX_ORDER 2
/* Number of ways to give each of REEL_MAX_DIMENSIONS dimensions an order. */
#define COMBINATIONS 81
/* Differences along fewer places would be differences from nothing. */
#define MIN_EXTENT 4
/* Places along three dimensions of fewer places each. */
#define MAX_ROW_STRIDE 27
/* Samples of a field, and the number of its values for each, which each dimension doubles. */
#define MAX_SAMPLES 32
#define SAMPLED 256
/* Places of a sample along the row, and numbers of all of them. */
#define MAX_PLACES 36
#define SAMPLE 256
/* Numbers are below 2^50, so that differences of differences have 64 bits. */
#define MAX_NUMBER 1125899906842624.0
/* Added to a double below 2^51 in magnitude, it leaves the rounded number in the low bits. */
#define ROUNDER 6755399441055744.0
#define ROUNDER_BITS 0x4338000000000000u
#define NOT_FINITE 0x7ff0000000000000u
/* Beside the rounding to a multiple, values are rounded to their type, a few times. */
#define DOUBLE_ERROR (4 * DBL_EPSILON)
#define FLOAT_ERROR ((double)FLT_EPSILON)

struct head {
	uint64_t bytes; /* of all, with this head */
	double step;    /* 0: the values follow as they are */
	uint64_t runs;
	uint8_t order[REEL_MAX_DIMENSIONS]; /* number of differences along each dimension */
	uint32_t unused;
};

/* Values that are not finite and have the same bits. */
struct run {
	uint64_t first, values;
	uint64_t bits; /* of a double */
};

struct dimension {
	size_t extent, stride; /* numbers of values */
	unsigned order;
	uint64_t *before[MAX_ORDER]; /* `stride` numbers at the place before */
};

struct grid {
	const struct reel_field *field;
	size_t values;
	struct dimension dimension[REEL_MAX_DIMENSIONS];
	uint64_t *memory; /* of the numbers before */
	double step, inverse;
};

/* ---- Fields ---- */

size_t reel_field_value_bytes(const struct reel_field *field)
{
	static const size_t bytes[] = {
		[REEL_FIELD_BYTES] = 1,
		[REEL_FIELD_DOUBLE] = sizeof(double),
		[REEL_FIELD_FLOAT] = sizeof(float),
	};

	REEL_ASSERT(field->type <= REEL_FIELD_FLOAT);
	return bytes[field->type];
}

size_t reel_field_bytes(const struct reel_field *field)
{
	size_t bytes = 1;

	if ((unsigned)field->type > REEL_FIELD_FLOAT || field->dimensions < 1 ||
	    field->dimensions > REEL_MAX_DIMENSIONS)
		return SIZE_MAX;
	bytes = reel_field_value_bytes(field);
	for (unsigned d = 0; d < field->dimensions; d++) {
		if (field->extent[d] && bytes > SIZE_MAX / 2 / field->extent[d])
			return SIZE_MAX;
		bytes *= field->extent[d];
	}
	return bytes;
}

size_t reel_field_room(const struct reel_field *field)
{
	return sizeof(struct head) + reel_field_bytes(field);
}

static struct grid grid_of(const struct reel_field *field)
{
	struct grid grid = {.field = field, .values = 1};

	REEL_ASSERT(field->dimensions > 0);
	for (unsigned d = field->dimensions; d-- > 0;) {
		grid.dimension[d] = (struct dimension){.extent = field->extent[d],
						       .stride = grid.values};
		grid.values *= field->extent[d];
	}
	return grid;
}

static const struct dimension *row_of(const struct grid *grid)
{
	unsigned d = grid->field->dimensions - 1;

	while (d > 0 && grid->dimension[d].extent < MIN_EXTENT)
		d--;
	REEL_ASSERT(grid->dimension[d].stride <= MAX_ROW_STRIDE);
	return &grid->dimension[d];
}

static double value_at(const struct reel_field *field, const void *values, size_t i)
{
	return field->type == REEL_FIELD_DOUBLE ? ((const double *)values)[i]
						: (double)((const float *)values)[i];
}

static void put_value(const struct reel_field *field, void *values, size_t i, double value)
{
	if (field->type == REEL_FIELD_DOUBLE)
		((double *)values)[i] = value;
	else
		((float *)values)[i] = (float)value;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static bool is_finite(double value)
{
	return (bits_of(value) & NOT_FINITE) != NOT_FINITE;
}

/* Values of a piece as doubles, 0 in place of those that are not finite. */
static void load(const struct reel_field *field, const void *values, size_t at, size_t n,
		 double *piece, bool all_finite)
{
	if (field->type == REEL_FIELD_DOUBLE)
		memcpy(piece, (const double *)values + at, n * sizeof *piece);
	else
		for (size_t i = 0; i < n; i++)
			piece[i] = (double)((const float *)values)[at + i];
	for (size_t i = 0; i < n && !all_finite; i++)
		piece[i] = is_finite(piece[i]) ? piece[i] : 0;
}

/*
 * Returns the largest magnitude. Where a value is not finite, *all_finite becomes false; if it was
 * false before, such values count as 0.
 */
static double largest_of(const struct grid *grid, const void *values, bool *all_finite)
{
	double largest[LANES] = {0}, none[LANES] = {0}, piece[PIECE];

	for (size_t at = 0, n; at < grid->values; at += n) {
		n = reel_min_size(PIECE, grid->values - at);
		load(grid->field, values, at, n, piece, *all_finite);
		for (; n % LANES; n++)
			piece[n] = 0;
		for (size_t i = 0; i < n; i += LANES)
			for (unsigned k = 0; k < LANES; k++) {
				double magnitude = fabs(piece[i + k]);

				largest[k] = magnitude > largest[k] ? magnitude : largest[k];
				none[k] += magnitude - magnitude;
			}
	}
	for (unsigned k = 1; k < LANES; k++) {
		largest[0] = largest[k] > largest[0] ? largest[k] : largest[0];
		none[0] += none[k];
	}
	*all_finite = *all_finite && !isnan(none[0]);
	return largest[0];
}

/* ---- Values that are not finite ---- */

/* Writes runs as far as the room goes. Returns their number, also of those that have no room. */
static uint64_t write_runs(const struct grid *grid, const void *values, char *to, size_t room)
{
	struct run run = {0};
	uint64_t runs = 0;

	for (size_t i = 0; i < grid->values; i++) {
		double value = value_at(grid->field, values, i);
		uint64_t bits = is_finite(value) ? 0 : bits_of(value);

		if (bits != run.bits) {
			runs += bits != 0;
			run = (struct run){.first = i, .bits = bits};
		}
		run.values++;
		if (bits && runs * sizeof run <= room)
			memcpy(to + (runs - 1) * sizeof run, &run, sizeof run);
	}
	return runs;
}

/* Returns false if a run is not of this field. */
static bool put_runs(const struct grid *grid, void *values, const char *packed, uint64_t runs)
{
	struct run run;

	for (; runs > 0; runs--, packed += sizeof run) {
		double value;

		memcpy(&run, packed, sizeof run);
		if (run.first > grid->values || run.values > grid->values - run.first)
			return false;
		memcpy(&value, &run.bits, sizeof value);
		for (size_t i = run.first; i < run.first + run.values; i++)
			put_value(grid->field, values, i, value);
	}
	return true;
}

/* ---- Rounding ---- */

/* Returns the step, or 0: rounding to it would not keep the error or save anything. */
static double step_of(const struct reel_field *field, double tolerance, double largest)
{
	double rounding = field->type == REEL_FIELD_DOUBLE ? DOUBLE_ERROR : FLOAT_ERROR;
	double step = 2 * (tolerance - rounding) * largest;

	REEL_ASSERT(tolerance >= 0 && largest >= 0);
	if (!(largest > 0))
		return 1;
	if (tolerance < 2 * rounding || !(step > DBL_MIN / DBL_EPSILON) || isinf(1 / step) ||
	    !(largest / step < MAX_NUMBER))
		return 0;
	return step;
}

/* The numbers of n values from value `at` on. */
static void take_numbers(const struct grid *grid, const void *values, size_t at, size_t n,
			 bool all_finite, uint64_t *numbers)
{
	double piece[PIECE];

	REEL_ASSERT(n <= PIECE);
	load(grid->field, values, at, n, piece, all_finite);
	for (size_t i = 0; i < n; i++)
		numbers[i] = bits_of(piece[i] * grid->inverse + ROUNDER) - ROUNDER_BITS;
}

/* ---- Differences ---- */

/*
 * Expects numbers to be as those before along a dimension; if the row is smooth, as the mean of
 * three of these with weights 1, 2 and 1. The first numbers of a row are no differences, and those
 * at the end have no neighbours: for the first and the last ones of each piece, one number counts.
 * With 2^63 added, numbers of either sign are divided alike.
 */
static void expect(uint64_t *restrict expected, const uint64_t *restrict before, size_t n,
		   const struct dimension *row)
{
	size_t stride = row->stride;

	REEL_ASSERT(n <= PIECE);
	memcpy(expected, before, n * sizeof *expected);
	for (size_t i = (MAX_ORDER + 1) * stride; row->order && i + stride < n; i++) {
		uint64_t sum = before[i - stride] + 2 * before[i] + before[i + stride] + 2;

		expected[i] = ((sum + (UINT64_C(1) << 63)) >> 2) - (UINT64_C(1) << 61);
	}
}

/* Each number becomes its difference from the one expected by those before along a dimension. */
static void take_differences(uint64_t *restrict numbers, size_t n, uint64_t *restrict before,
			     const struct dimension *row)
{
	uint64_t expected[PIECE];

	expect(expected, before, n, row);
	memcpy(before, numbers, n * sizeof *before);
	for (size_t i = 0; i < n; i++)
		numbers[i] -= expected[i];
}

static void undo_differences(uint64_t *restrict numbers, size_t n, uint64_t *restrict before,
			     const struct dimension *row)
{
	uint64_t expected[PIECE];

	expect(expected, before, n, row);
	for (size_t i = 0; i < n; i++)
		before[i] = numbers[i] += expected[i];
}

/*
 * Does the same along the row. `before` has the last numbers of the previous piece, from which the
 * first numbers of this piece are subtracted. The other numbers have theirs in this piece. The
 * first `kept` numbers stay as they are.
 */
static void take_differences_of_row(uint64_t *numbers, size_t n, uint64_t *before, size_t stride,
				    size_t kept)
{
	uint64_t last[MAX_ROW_STRIDE];

	REEL_ASSERT(n >= stride && stride <= MAX_ROW_STRIDE);
	memcpy(last, numbers + n - stride, stride * sizeof *last);
	for (size_t i = n; i-- > reel_max_u64(stride, kept);)
		numbers[i] -= numbers[i - stride];
	for (size_t i = kept; i < stride; i++)
		numbers[i] -= before[i];
	memcpy(before, last, stride * sizeof *last);
}

static void undo_differences_of_row(uint64_t *numbers, size_t n, uint64_t *before, size_t stride,
				    size_t kept)
{
	for (size_t i = kept; i < stride; i++)
		numbers[i] += before[i];
	for (size_t i = reel_max_u64(stride, kept); i < n; i++)
		numbers[i] += numbers[i - stride];
	memcpy(before, numbers + n - stride, stride * sizeof *before);
}

/*
 * The differences along the row, or their reversal, of a piece that begins at value `at`. The first
 * numbers of a row have none before them, and stay; so do first differences that have none.
 */
static void pass_along(struct grid *grid, size_t at, uint64_t *numbers, size_t n, bool undoes)
{
	const struct dimension *row = row_of(grid);
	bool is_first = at / row->stride % row->extent == 0;

	REEL_ASSERT(row->order <= MAX_ORDER);
	for (unsigned k = 0; k < row->order; k++) {
		unsigned which = undoes ? row->order - 1 - k : k;
		size_t kept = is_first ? (which + 1) * row->stride : 0;

		(undoes ? undo_differences_of_row : take_differences_of_row)(
			numbers, n, row->before[which], row->stride, kept);
	}
}

/* Takes the differences of a piece along another dimension than the row, or undoes them. */
static void pass_across(struct grid *grid, unsigned d, size_t at, uint64_t *numbers, size_t n,
			bool undoes)
{
	const struct dimension *dimension = &grid->dimension[d], *row = row_of(grid);
	bool is_first = at / dimension->stride % dimension->extent == 0;

	REEL_ASSERT(dimension->order <= MAX_ORDER);
	for (unsigned k = 0; k < dimension->order && dimension != row; k++) {
		unsigned which = undoes ? dimension->order - 1 - k : k;
		uint64_t *before = dimension->before[which] + at % dimension->stride;

		if (is_first)
			memset(before, 0, n * sizeof *before);
		(undoes ? undo_differences : take_differences)(numbers, n, before, row);
	}
}

/* Gets memory for the numbers before. Returns false: there is none. */
static bool prepare(struct grid *grid)
{
	size_t numbers = 0;

	REEL_ASSERT(!grid->memory);
	for (unsigned d = 0; d < grid->field->dimensions; d++)
		numbers += grid->dimension[d].order * grid->dimension[d].stride;
	grid->memory = malloc((numbers + 1) * sizeof *grid->memory);
	if (!grid->memory)
		return false;
	numbers = 0;
	for (unsigned d = 0; d < grid->field->dimensions; d++)
		for (unsigned k = 0; k < grid->dimension[d].order; k++) {
			grid->dimension[d].before[k] = grid->memory + numbers;
			numbers += grid->dimension[d].stride;
		}
	return true;
}

/* ---- How often to take differences ---- */

struct orders {
	unsigned along[REEL_MAX_DIMENSIONS];
};

/* The numbers of n places of a row, from value `at` on, after differences of these orders. */
static void sample(const struct grid *grid, const void *values, size_t at, size_t n,
		   struct orders orders, uint64_t *numbers)
{
	const struct dimension *row = row_of(grid);
	uint64_t before[SAMPLE];
	unsigned d = 0;

	REEL_ASSERT(n <= SAMPLE);
	while (d < REEL_MAX_DIMENSIONS && (!orders.along[d] || &grid->dimension[d] == row))
		d++;
	if (d < REEL_MAX_DIMENSIONS) {
		orders.along[d]--;
		sample(grid, values, at, n, orders, numbers);
		sample(grid, values, at - grid->dimension[d].stride, n, orders, before);
		take_differences(numbers, n, before, row);
		return;
	}
	take_numbers(grid, values, at, n, false, numbers);
	for (unsigned k = 0; k < row->order; k++)
		take_differences_of_row(numbers, n, before, row->stride, (k + 1) * row->stride);
}

/* The place of a sample, which has two places before it along each dimension but the row. */
static size_t place_of(const struct grid *grid, size_t at, size_t n)
{
	const struct dimension *row = row_of(grid);
	size_t values = row->extent * row->stride, place = reel_min_size(at % values, values - n);

	for (unsigned d = 0; &grid->dimension[d] < row; d++) {
		const struct dimension *dimension = &grid->dimension[d];
		size_t coordinate = at / dimension->stride % dimension->extent;

		if (coordinate < MAX_ORDER && dimension->extent >= MIN_EXTENT)
			coordinate += MAX_ORDER;
		place += coordinate * dimension->stride;
	}
	REEL_ASSERT(place + n <= grid->values);
	return place;
}

/*
 * The bits that samples need, without their first places, which have no MAX_ORDER differences. From
 * `limit` on, the number is not of all samples.
 */
static unsigned bits_needed(const struct grid *grid, const void *values, unsigned limit)
{
	const struct dimension *row = row_of(grid);
	size_t sampled = (size_t)SAMPLED << grid->field->dimensions;
	size_t samples = 1 + reel_min_size(MAX_SAMPLES, grid->values / sampled);
	size_t places = reel_min_size(MAX_PLACES, SAMPLE / row->stride);
	size_t n = reel_min_size(places, row->extent) * row->stride;
	struct orders orders;
	unsigned bits = 0;

	for (unsigned d = 0; d < REEL_MAX_DIMENSIONS; d++)
		orders.along[d] = grid->dimension[d].order;
	for (size_t i = 0; i < samples && bits < limit; i++) {
		size_t at = (2 * i + 1) * (grid->values / samples / 2);
		uint64_t numbers[SAMPLE];

		sample(grid, values, place_of(grid, at, n), n, orders, numbers);
		for (size_t k = MAX_ORDER * row->stride; k < n; k++)
			bits += reel_width(reel_zigzag(numbers[k]));
	}
	return bits;
}

/* Sets the orders of a combination. Returns false if a dimension has too few places for its own. */
static bool set_orders(struct grid *grid, unsigned combination)
{
	for (unsigned d = 0; d < REEL_MAX_DIMENSIONS; d++, combination /= MAX_ORDER + 1) {
		struct dimension *dimension = &grid->dimension[d];

		dimension->order = combination % (MAX_ORDER + 1);
		if (dimension->order && dimension->extent < MIN_EXTENT)
			return false;
	}
	return true;
}

/*
 * Tries all combinations, since the best order along a dimension depends on the other orders. Of
 * equal ones the highest is taken: a field that is constant leaves its first number only.
 */
static void choose_orders(struct grid *grid, const void *values)
{
	unsigned best = 0, least = UINT_MAX;

	for (unsigned i = COMBINATIONS; i-- > 0;) {
		unsigned bits = set_orders(grid, i) ? bits_needed(grid, values, least) : UINT_MAX;

		if (bits < least) {
			least = bits;
			best = i;
		}
	}
	set_orders(grid, best);
}

/* ---- Packing ---- */

/* The length of the piece that begins at value `at`: it ends with its row. */
static size_t piece_at(const struct grid *grid, size_t at)
{
	const struct dimension *row = row_of(grid);
	size_t values = row->extent * row->stride;

	return reel_min_size(PIECE - PIECE % row->stride, values - at % values);
}

static void take_piece(struct grid *grid, const void *values, size_t at, size_t n, bool all_finite,
		       uint64_t *numbers)
{
	take_numbers(grid, values, at, n, all_finite, numbers);
	pass_along(grid, at, numbers, n, false);
	for (unsigned d = 0; d < grid->field->dimensions; d++)
		pass_across(grid, d, at, numbers, n, false);
	for (size_t i = 0; i < n; i++)
		numbers[i] = reel_zigzag(numbers[i]);
}

/* Returns the end of the differences, or NULL: they need more than the room. */
static char *write_differences(struct grid *grid, const void *values, bool all_finite, char *to,
			       char *end)
{
	struct reel_rice_code code = {.to = to, .end = end};
	uint64_t words[PIECE + REEL_RICE_GROUP];
	size_t held = 0;

	for (size_t at = 0, n; at < grid->values; at += n) {
		size_t rest;

		n = piece_at(grid, at);
		take_piece(grid, values, at, n, all_finite, words + held);
		held += n;
		rest = at + n < grid->values ? held % REEL_RICE_GROUP : 0;
		if (!reel_rice_write(&code, words, held - rest))
			return NULL;
		memmove(words, words + held - rest, rest * sizeof *words);
		held = rest;
	}
	return reel_rice_finish(&code);
}

static size_t keep(const struct grid *grid, char *packed, const void *values)
{
	size_t bytes = reel_field_bytes(grid->field);
	struct head head = {.bytes = sizeof head + bytes};

	REEL_ASSERT(bytes < SIZE_MAX);
	memcpy(packed, &head, sizeof head);
	memcpy(packed + sizeof head, values, bytes);
	return sizeof head + bytes;
}

size_t reel_field_pack(const struct reel_field *field, double tolerance, void *packed,
		       const void *values)
{
	struct grid grid = grid_of(field);
	char *to = packed, *end = to + reel_field_room(field);
	struct head head = {0};
	double largest;
	bool all_finite = true;

	if (field->type == REEL_FIELD_BYTES || !grid.values)
		return keep(&grid, packed, values);
	largest = largest_of(&grid, values, &all_finite);
	to += sizeof head;
	if (!all_finite) {
		largest = largest_of(&grid, values, &all_finite);
		head.runs = write_runs(&grid, values, to, (size_t)(end - to));
		if (head.runs > (size_t)(end - to) / sizeof(struct run))
			return keep(&grid, packed, values);
		to += head.runs * sizeof(struct run);
	}
	grid.step = step_of(field, tolerance, largest);
	if (!(grid.step > 0))
		return keep(&grid, packed, values);
	grid.inverse = 1 / grid.step;
	choose_orders(&grid, values);
	if (!prepare(&grid))
		return 0;
	to = write_differences(&grid, values, all_finite, to, end);
	free(grid.memory);
	if (!to)
		return keep(&grid, packed, values);
	head.bytes = (size_t)(to - (char *)packed);
	REEL_ASSERT(head.bytes <= reel_field_room(field));
	head.step = grid.step;
	for (unsigned d = 0; d < field->dimensions; d++)
		head.order[d] = (uint8_t)grid.dimension[d].order;
	memcpy(packed, &head, sizeof head);
	return head.bytes;
}

/* ---- Unpacking ---- */

static void put_piece(struct grid *grid, void *values, size_t at, size_t n, uint64_t *numbers)
{
	for (size_t i = 0; i < n; i++)
		numbers[i] = reel_undo_zigzag(numbers[i]);
	for (unsigned d = grid->field->dimensions; d-- > 0;)
		pass_across(grid, d, at, numbers, n, true);
	pass_along(grid, at, numbers, n, true);
	for (size_t i = 0; i < n; i++)
		put_value(grid->field, values, at + i, (double)(int64_t)numbers[i] * grid->step);
}

/* Returns false if the bytes are not of this field. */
static bool read_differences(struct grid *grid, void *values, const char *from, const char *end)
{
	struct reel_rice_code code = {.from = from, .end = end};
	uint64_t words[PIECE + REEL_RICE_GROUP];
	size_t held = 0;

	for (size_t at = 0, n; at < grid->values; at += n) {
		size_t more = 0;

		n = piece_at(grid, at);
		if (held < n)
			more = reel_min_size(reel_round_up(n - held, REEL_RICE_GROUP),
					     grid->values - at - held);
		if (!reel_rice_read(&code, words + held, more))
			return false;
		held += more - n;
		put_piece(grid, values, at, n, words);
		memmove(words, words + n, held * sizeof *words);
	}
	return reel_rice_is_read(&code);
}

static bool is_sound(struct grid *grid, const struct head *head, size_t bytes)
{
	if (head->bytes > bytes || head->bytes < sizeof *head ||
	    head->runs > (head->bytes - sizeof *head) / sizeof(struct run) ||
	    (grid->field->type == REEL_FIELD_BYTES && head->step > 0))
		return false;
	for (unsigned d = 0; d < grid->field->dimensions; d++) {
		grid->dimension[d].order = head->order[d];
		if (head->order[d] > MAX_ORDER ||
		    (head->order[d] && grid->dimension[d].extent < MIN_EXTENT))
			return false;
	}
	return true;
}

size_t reel_field_unpack(const struct reel_field *field, void *values, const void *packed,
			 size_t bytes)
{
	struct grid grid = grid_of(field);
	const char *from = packed, *end;
	struct head head;
	bool is_right;

	if (bytes < sizeof head)
		return 0;
	memcpy(&head, packed, sizeof head);
	if (!is_sound(&grid, &head, bytes))
		return 0;
	end = from + head.bytes;
	from += sizeof head;
	if (!(head.step > 0)) {
		if (head.bytes != reel_field_room(field))
			return 0;
		memcpy(values, from, reel_field_bytes(field));
		return head.bytes;
	}
	grid.step = head.step;
	if (!prepare(&grid))
		return 0;
	is_right = read_differences(&grid, values, from + head.runs * sizeof(struct run), end) &&
		   put_runs(&grid, values, from, head.runs);
	free(grid.memory);
	return is_right ? head.bytes : 0;
}
