/* SPDX-License-Identifier: MIT */
/*
 * Tests packing with loss: no value is off by more than the tolerance, values that are not finite
 * come back as they were, smooth fields get small, and damaged data write nothing elsewhere.
 */
#include <config.h>

#include <float.h>
#include <math.h>

#include "store/quantise.h"
#include "helpers/support.h"

enum { MAX_VALUES = 200000 };

/* Places in the head of a packed field: of the step, and of the numbers of differences. */
#define STEP_AT 8
#define ORDERS_AT 24

static double *values, *back;
static float *singles;
static unsigned char *packed;

static void *memory(size_t bytes)
{
	void *found = malloc(bytes);

	if (!found) {
		printf("Bail out! no memory\n");
		exit(EXIT_FAILURE);
	}
	return found;
}

static uint64_t state = 1;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

static size_t below(size_t n)
{
	return (size_t)(uniform() * (double)n);
}

static struct reel_field field_of(enum reel_field_type type, unsigned dimensions, size_t a,
				  size_t b, size_t c, size_t d)
{
	return (struct reel_field){type, dimensions, {a, b, c, d}};
}

static size_t values_of(const struct reel_field *field)
{
	size_t n = 1;

	for (unsigned d = 0; d < field->dimensions; d++)
		n *= field->extent[d];
	return n;
}

static double value_of(const struct reel_field *field, const void *from, size_t i)
{
	return field->type == REEL_FIELD_DOUBLE ? ((const double *)from)[i]
						: (double)((const float *)from)[i];
}

/* Returns the distance of the numbers that values are rounded to; 0: they stay as they are. */
static double step_of_packed(void)
{
	double step;

	memcpy(&step, packed + STEP_AT, sizeof step);
	return step;
}

/* Packs and unpacks. Returns the largest error in tolerances; 1e300: the wrong bytes came back. */
static double error_of(const struct reel_field *field, double tolerance, size_t *bytes)
{
	bool is_double = field->type == REEL_FIELD_DOUBLE;
	const void *from = is_double ? (const void *)values : (const void *)singles;
	size_t n = values_of(field), room = reel_field_room(field);
	double largest = 0, error = 0;

	for (size_t i = 0; i < n && !is_double; i++)
		singles[i] = (float)values[i];
	memset(packed + room, 0x5a, 64);
	*bytes = reel_field_pack(field, tolerance, packed, from);
	for (size_t i = 0; i < 64; i++)
		if (packed[room + i] != 0x5a)
			return 1e300;
	if (!*bytes || *bytes > room ||
	    reel_field_unpack(field, back, packed, *bytes) != *bytes)
		return 1e300;
	for (size_t i = 0; i < n; i++)
		if (isfinite(value_of(field, from, i)))
			largest = fmax(largest, fabs(value_of(field, from, i)));
	for (size_t i = 0; i < n; i++) {
		double x = value_of(field, from, i), y = value_of(field, back, i);

		if (!isfinite(x) && memcmp(&x, &y, sizeof x))
			return 1e300;
		if (isfinite(x))
			error = fmax(error, fabs(x - y));
	}
	if (error > step_of_packed() / 2 * (1 + 1e-6) + largest * FLT_EPSILON)
		return 1e300;
	return largest > 0 ? error / (tolerance * largest) : error;
}

/* ---- Random fields ---- */

static struct reel_field random_field(void)
{
	struct reel_field field = {uniform() < 0.7 ? REEL_FIELD_DOUBLE : REEL_FIELD_FLOAT,
				   1 + (unsigned)below(4), {1, 1, 1, 1}};
	size_t left = 1 + below(uniform() < 0.1 ? MAX_VALUES : 3000);

	for (unsigned d = 0; d < field.dimensions; d++) {
		size_t most = d + 1 < field.dimensions && uniform() < 0.7 ? 40 : left;

		field.extent[d] = 1 + below(most < left ? most : left);
		left /= field.extent[d];
		left += !left;
	}
	return field;
}

static void fill_field(const struct reel_field *field)
{
	double scale = pow(10, 40 * uniform() - 20), noise = pow(10, -8 * uniform());
	double k[4], share = uniform() < 0.3 ? 0.5 * uniform() : 0;
	size_t n = values_of(field), hole = 0;

	for (unsigned d = 0; d < 4; d++)
		k[d] = uniform();
	for (size_t i = 0; i < n; i++) {
		size_t left = i;
		double sum = 0;

		for (unsigned d = field->dimensions; d-- > 0; left /= field->extent[d])
			sum += k[d] * (double)(left % field->extent[d]);
		values[i] = scale * (sin(sum) + noise * (uniform() - 0.5));
		if (!hole && uniform() < share / 10)
			hole = 1 + below(20);
		if (hole) {
			values[i] = hole % 3 ? (double)NAN : (double)INFINITY;
			hole--;
		}
	}
}

static void no_error_is_above_the_tolerance(void)
{
	int fields = is_brief() ? is_sanitized() ? 300 : 2000 : 100000, wrong = 0;

	for (int i = 0; i < fields; i++) {
		struct reel_field field = random_field();
		double tolerance = pow(10, -15 * uniform()) * 0.9, error;
		size_t bytes;

		fill_field(&field);
		error = error_of(&field, tolerance, &bytes);
		if (error <= 1)
			continue;
		wrong++;
		tap_note("field %d: type %d, %zu x %zu x %zu x %zu, tolerance %g: error %g", i,
			 (int)field.type, field.extent[0], field.extent[1], field.extent[2],
			 field.extent[3], tolerance, error);
	}
	is_int(wrong, 0, "%d random fields: no error is above the tolerance", fields);
}

/* ---- Special values ---- */

static void constant_fields_and_zeros(void)
{
	struct reel_field field = field_of(REEL_FIELD_DOUBLE, 2, 100, 70, 0, 0);
	size_t bytes;
	double error;

	for (int i = 0; i < 7000; i++)
		values[i] = 0;
	error = error_of(&field, 1e-6, &bytes);
	ok(!(error > 0) && bytes < 200, "zeros take up %zu bytes", bytes);
	for (int i = 0; i < 7000; i++)
		values[i] = 3.25;
	error = error_of(&field, 1e-6, &bytes);
	ok(error <= 1 && bytes < 400, "a constant takes up %zu bytes: error %g", bytes, error);
	for (int i = 0; i < 7000; i++)
		values[i] = (double)NAN;
	error = error_of(&field, 1e-6, &bytes);
	ok(error <= 1 && bytes < 300, "numbers that are none: %zu bytes", bytes);
	for (int i = 0; i < 7000; i++)
		values[i] = i % 3 ? (double)i : (double)INFINITY;
	ok(error_of(&field, 1e-3, &bytes) <= 1 && bytes <= reel_field_room(&field),
	   "too many gaps: the field stays as it is");
	for (int i = 0; i < 7000; i++)
		values[i] = 1e-312 * i;
	ok(!(error_of(&field, 1e-6, &bytes) > 0), "the smallest numbers stay as they are");
	for (int i = 0; i < 7000; i++)
		values[i] = DBL_MAX * (i % 2 ? 1 : -1);
	ok(error_of(&field, 1e-6, &bytes) <= 1, "the largest numbers");
	ok(!(error_of(&field, 1e-15, &bytes) > 0), "a tolerance of the accuracy of the type");
}

static void bytes_stay_as_they_are(void)
{
	struct reel_field field = field_of(REEL_FIELD_BYTES, 1, 1000, 0, 0, 0);
	size_t bytes;

	for (int i = 0; i < 125; i++)
		values[i] = uniform();
	bytes = reel_field_pack(&field, 0.5, packed, values);
	ok(reel_field_unpack(&field, back, packed, bytes) == bytes &&
	   !memcmp(back, values, 1000) && !(step_of_packed() > 0), "bytes come back");
	field.extent[0] = 0;
	bytes = reel_field_pack(&field, 0.5, packed, values);
	is_int(reel_field_unpack(&field, back, packed, bytes), bytes, "none, too");
	field.type = REEL_FIELD_DOUBLE;
	field.dimensions = 5;
	ok(reel_field_bytes(&field) == SIZE_MAX, "five dimensions are refused");
	field = field_of(REEL_FIELD_DOUBLE, 2, SIZE_MAX / 2, 3, 0, 0);
	ok(reel_field_bytes(&field) == SIZE_MAX, "and more values than memory has");
}

/* ---- Sizes ---- */

static void wave(size_t rows, size_t columns)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++) {
			double y = (double)i / (double)rows, x = (double)j / (double)columns;

			values[i * columns + j] =
				exp(-20 * ((x - 0.3) * (x - 0.3) + (y - 0.6) * (y - 0.6))) +
				0.3 * sin(20 * x + 5 * y) * cos(9 * y);
		}
}

static void smooth_fields_get_small(void)
{
	struct reel_field field = field_of(REEL_FIELD_DOUBLE, 2, 400, 500, 0, 0);
	size_t all = reel_field_bytes(&field), bytes;
	double error;

	wave(400, 500);
	error = error_of(&field, 1e-3, &bytes);
	ok(error <= 1 && 40 * bytes < all, "1e-3: %.1f times fewer bytes",
	   (double)all / (double)bytes);
	error = error_of(&field, 1e-6, &bytes);
	ok(error <= 1 && 26 * bytes < all, "1e-6: %.1f times", (double)all / (double)bytes);
	field = field_of(REEL_FIELD_DOUBLE, 3, 400, 250, 2, 0);
	error = error_of(&field, 1e-6, &bytes);
	ok(error <= 1 && 24 * bytes < all,
	   "components beside each other: %.1f times", (double)all / (double)bytes);
}

/* ---- Damage ---- */

static void damaged_data_write_nothing_elsewhere(struct reel_field field)
{
	size_t bytes, all = reel_field_bytes(&field);
	int taken = 0, wrong = 0;

	fill_field(&field);
	values[17] = values[700] = (double)NAN;
	error_of(&field, 1e-4, &bytes);
	for (size_t short_of = 0; short_of < bytes; short_of++)
		taken += reel_field_unpack(&field, back, packed, short_of) > 0;
	is_int(taken, 0, "data that are cut off are refused");
	/* Differences along three places would need more memory than they get. */
	for (unsigned d = 0; d < field.dimensions; d++) {
		unsigned char before = packed[ORDERS_AT + d];

		packed[ORDERS_AT + d] = field.extent[d] < 4 ? 1 : 3;
		taken += reel_field_unpack(&field, back, packed, bytes) > 0;
		packed[ORDERS_AT + d] = before;
	}
	is_int(taken, 0, "and so are numbers of differences that no field has");
	for (int i = 0; i < 20000; i++) {
		size_t at = below(bytes < 100 ? bytes : i % 2 ? bytes : 100);
		unsigned char before = packed[at];

		packed[at] = (unsigned char)below(256);
		memset((char *)back + all, 0x5a, 64);
		reel_field_unpack(&field, back, packed, bytes);
		for (int k = 0; k < 64; k++)
			wrong += ((unsigned char *)back)[all + (size_t)k] != 0x5a;
		packed[at] = before;
	}
	is_int(wrong, 0, "nothing is written behind the values");
}

int main(void)
{
	tap_begin();
	values = memory(MAX_VALUES * sizeof *values + 64);
	back = memory(MAX_VALUES * sizeof *back + 64);
	singles = memory(MAX_VALUES * sizeof *singles);
	packed = memory(MAX_VALUES * sizeof *values + 1024);
	no_error_is_above_the_tolerance();
	constant_fields_and_zeros();
	bytes_stay_as_they_are();
	smooth_fields_get_small();
	damaged_data_write_nothing_elsewhere(field_of(REEL_FIELD_DOUBLE, 2, 30, 40, 0, 0));
	damaged_data_write_nothing_elsewhere(field_of(REEL_FIELD_FLOAT, 3, 30, 40, 3, 0));
	free(values);
	free(back);
	free(singles);
	free(packed);
	return tap_end();
}
