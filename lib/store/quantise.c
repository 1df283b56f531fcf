/* SPDX-License-Identifier: MIT */
/*
 * Packs a field: a head, the runs of values that are not finite, and differences in a Rice code.
 * Any thread. Whatever bytes are unpacked, nothing outside of the values is written.
 *
 * Values become whole numbers, multiples of a step. In a smooth field their first or second
 * differences along a dimension are small; how often to take differences is chosen for each
 * dimension by samples. All of this is exact and undone exactly: only the rounding loses anything.
 * Differences along different dimensions may be taken in any order. Each needs the numbers that it
 * was taken of at the place before: one number along the last dimension, a row of numbers along the
 * one before, and so on. Along a dimension of few places none are taken, so a row is along the last
 * dimension of more: components that lie beside each other in memory stay together.
 *
 * The field is walked through in pieces of a row, which stay in the cache through all stages.
 */
#include "config.h"

#include <float.h>
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
/* Differences along fewer places would be differences from nothing. */
#define MIN_EXTENT 4
/* Places along three dimensions of fewer places each. */
#define MAX_ROW_STRIDE 27
/* Samples of a field, and the number of its values for each. */
#define MAX_SAMPLES 512
#define SAMPLED 64
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
	/* The first numbers of a row, from which the next row begins with differences. */
	uint64_t row_start[MAX_ORDER][MAX_ROW_STRIDE];
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

static uint64_t number_of(double value, double inverse)
{
	return bits_of(value * inverse + ROUNDER) - ROUNDER_BITS;
}

/* ---- Differences ---- */

/* Each number becomes its difference from the one before along a dimension. */
static void take_differences(uint64_t *restrict numbers, size_t n, uint64_t *restrict before)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t number = numbers[i];

		numbers[i] = number - before[i];
		before[i] = number;
	}
}

static void undo_differences(uint64_t *restrict numbers, size_t n, uint64_t *restrict before)
{
	for (size_t i = 0; i < n; i++)
		before[i] = numbers[i] += before[i];
}

/*
 * Does the same along the row. `before` has the last numbers of the previous piece, from which the
 * first numbers of this piece are subtracted. The other numbers have theirs in this piece.
 */
static void take_differences_of_row(uint64_t *numbers, size_t n, uint64_t *before, size_t stride)
{
	uint64_t last[MAX_ROW_STRIDE];

	REEL_ASSERT(n >= stride && stride <= MAX_ROW_STRIDE);
	memcpy(last, numbers + n - stride, stride * sizeof *last);
	for (size_t i = n; i-- > stride;)
		numbers[i] -= numbers[i - stride];
	for (size_t i = 0; i < stride; i++)
		numbers[i] -= before[i];
	memcpy(before, last, stride * sizeof *last);
}

static void undo_differences_of_row(uint64_t *numbers, size_t n, uint64_t *before, size_t stride)
{
	for (size_t i = 0; i < stride; i++)
		numbers[i] += before[i];
	for (size_t i = stride; i < n; i++)
		numbers[i] += numbers[i - stride];
	memcpy(before, numbers + n - stride, stride * sizeof *before);
}

/* The differences along one dimension, or their reversal, of a piece that begins at value `at`. */
static void pass(struct grid *grid, unsigned d, size_t at, uint64_t *numbers, size_t n, bool undoes)
{
	const struct dimension *dimension = &grid->dimension[d];
	size_t stride = dimension->stride;
	bool is_row = dimension == row_of(grid);
	bool is_first = at / stride % dimension->extent == 0;

	REEL_ASSERT(dimension->order <= MAX_ORDER);
	for (unsigned k = 0; k < dimension->order; k++) {
		unsigned which = undoes ? dimension->order - 1 - k : k;
		uint64_t *before = dimension->before[which] + at % stride;
		uint64_t *start = grid->row_start[which];
		size_t bytes = stride * sizeof *start;

		if (!is_row) {
			if (is_first)
				memset(before, 0, n * sizeof *before);
			(undoes ? undo_differences : take_differences)(numbers, n, before);
			continue;
		}
		if (is_first)
			memcpy(before, start, bytes);
		if (is_first && !undoes)
			memcpy(start, numbers, bytes);
		(undoes ? undo_differences_of_row : take_differences_of_row)(numbers, n, before,
									     stride);
		if (is_first && undoes)
			memcpy(start, numbers, bytes);
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

/* The number at a place after the differences along this dimension and all later ones. */
static uint64_t sample(const struct grid *grid, const void *values, size_t at, unsigned d)
{
	const struct dimension *dimension = &grid->dimension[d];
	uint64_t number, before;

	if (d == grid->field->dimensions) {
		double value = value_at(grid->field, values, at);

		return number_of(is_finite(value) ? value : 0, grid->inverse);
	}
	number = sample(grid, values, at, d + 1);
	if (!dimension->order)
		return number;
	before = sample(grid, values, at - dimension->stride, d + 1);
	if (dimension->order == 1)
		return number - before;
	return number - 2 * before + sample(grid, values, at - 2 * dimension->stride, d + 1);
}

/* The place of a sample, which has two places before it along each dimension of some extent. */
static size_t place_of(const struct grid *grid, size_t i, size_t samples)
{
	size_t at = i * (grid->values / samples), place = 0;

	for (unsigned d = 0; d < grid->field->dimensions; d++) {
		const struct dimension *dimension = &grid->dimension[d];
		size_t coordinate = at / dimension->stride % dimension->extent;

		if (coordinate < MAX_ORDER && dimension->extent >= MIN_EXTENT)
			coordinate += MAX_ORDER;
		place += coordinate * dimension->stride;
	}
	REEL_ASSERT(place < grid->values);
	return place;
}

/* The bits that samples need. */
static unsigned bits_needed(const struct grid *grid, const void *values)
{
	size_t samples = 1 + reel_min_size(MAX_SAMPLES, grid->values / SAMPLED);
	unsigned bits = 0;

	for (size_t i = 0; i < samples; i++) {
		uint64_t word = reel_zigzag(sample(grid, values, place_of(grid, i, samples), 0));

		bits += reel_width(word);
	}
	return bits;
}

/* From the last dimension on, each gets the order that needs the fewest bits with those before. */
static void choose_orders(struct grid *grid, const void *values)
{
	unsigned least = bits_needed(grid, values);

	for (unsigned d = grid->field->dimensions; d-- > 0;) {
		struct dimension *dimension = &grid->dimension[d];
		unsigned best = 0;

		if (dimension->extent < MIN_EXTENT)
			continue;
		for (dimension->order = 1; dimension->order <= MAX_ORDER; dimension->order++) {
			unsigned bits = bits_needed(grid, values);

			if (bits < least) {
				least = bits;
				best = dimension->order;
			}
		}
		dimension->order = best;
	}
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
	double piece[PIECE];

	load(grid->field, values, at, n, piece, all_finite);
	for (size_t i = 0; i < n; i++)
		numbers[i] = number_of(piece[i], grid->inverse);
	for (unsigned d = 0; d < grid->field->dimensions; d++)
		pass(grid, d, at, numbers, n, false);
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
		pass(grid, d, at, numbers, n, true);
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
