/* SPDX-License-Identifier: MIT */
/*
 * Fields packed with loss: no value is off by more than the tolerance, values that are not finite
 * come back with their bits, and for other bytes memory is safe.
 */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/quantise.h"
#include "targets.h"

enum { MAX_BYTES = 4096 };

static struct reel_field draw_field(struct fuzz_input *input)
{
	struct reel_field field = {.type = fuzz_below(input, 3),
				   .dimensions = 1 + fuzz_below(input, REEL_MAX_DIMENSIONS)};

	for (unsigned d = 0; d < field.dimensions; d++)
		field.extent[d] = fuzz_below(input, d ? 12 : 256);
	while (reel_field_bytes(&field) > MAX_BYTES)
		field.extent[0] /= 2;
	return field;
}

/* Values that repeat the input: as its bits, or as a smooth curve through its bytes. */
static void draw_values(struct fuzz_input *input, const struct reel_field *field, char *values)
{
	size_t own = reel_field_value_bytes(field), n = reel_field_bytes(field) / own;
	unsigned bend = fuzz_byte(input);
	double sum = 0;

	for (size_t i = 0; i < n * own && input->left; i++)
		values[i] = (char)input->next[i % input->left];
	for (size_t i = 0; i < n && bend % 2 && input->left && own > 1; i++) {
		float single;

		sum += bend / 2 * (input->next[i % input->left] - 128.0);
		single = (float)sum;
		memcpy(values + i * own, own == sizeof sum ? (void *)&sum : (void *)&single, own);
	}
}

static double value_at(const struct reel_field *field, const char *values, size_t i)
{
	double value;
	float single;

	memcpy(&value, values + i * sizeof value, field->type == REEL_FIELD_DOUBLE ? 8 : 0);
	if (field->type == REEL_FIELD_DOUBLE)
		return value;
	memcpy(&single, values + i * sizeof single, sizeof single);
	return (double)single;
}

static void compare(const struct reel_field *field, double tolerance, const char *values,
		    const char *back)
{
	size_t own = reel_field_value_bytes(field), n = reel_field_bytes(field) / own;
	double largest = 0;

	if (field->type == REEL_FIELD_BYTES) {
		FUZZ_EXPECT(!n || !memcmp(values, back, n));
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (isfinite(value_at(field, values, i)))
			largest = fmax(largest, fabs(value_at(field, values, i)));
	for (size_t i = 0; i < n; i++) {
		double value = value_at(field, values, i);

		/* A quiet bit may be set in a float that is not a number. */
		if (isnan(value))
			FUZZ_EXPECT(isnan(value_at(field, back, i)));
		else if (isinf(value))
			FUZZ_EXPECT(!memcmp(values + i * own, back + i * own, own));
		else
			FUZZ_EXPECT(fabs(value - value_at(field, back, i)) <= tolerance * largest);
	}
}

int fuzz_field(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	struct reel_field field = draw_field(&input);
	double tolerance = ldexp(1, -(int)fuzz_below(&input, 60) - 1);
	unsigned edits = fuzz_below(&input, 8);
	size_t bytes = reel_field_bytes(&field), room = reel_field_room(&field), used;
	/* The blocks have exactly these sizes, so that a sanitizer sees accesses beyond them. */
	char *values = fuzz_allocate(bytes + !bytes), *back = fuzz_allocate(bytes + !bytes);
	char *packed = fuzz_allocate(room), *changed;

	memset(values, 0, bytes + !bytes);
	draw_values(&input, &field, values);
	used = reel_field_pack(&field, tolerance, packed, values);
	FUZZ_EXPECT(used && used <= room);
	FUZZ_EXPECT(reel_field_unpack(&field, back, packed, used) == used);
	compare(&field, tolerance, values, back);
	for (unsigned i = 0; i < edits; i++) {
		size_t at = fuzz_number(&input, 2) % used;

		packed[at] ^= (char)fuzz_byte(&input);
		used = fuzz_byte(&input) == 255 ? at + 1 : used;
	}
	changed = fuzz_allocate(used);
	memcpy(changed, packed, used);
	FUZZ_EXPECT(reel_field_unpack(&field, back, changed, used) <= used);
	free(changed);
	free(packed);
	free(back);
	free(values);
	return 0;
}
