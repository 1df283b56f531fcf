/* SPDX-License-Identifier: MIT */
/*
 * Packs a field of numbers with a bounded error: they are rounded to multiples of a step, and
 * differences along each dimension are kept in blocks, each in the bits that its largest one needs.
 */
#ifndef REEL_LIB_QUANTISE_H
#define REEL_LIB_QUANTISE_H

#include <reel/loss.h>

/* Returns the bytes of one value, to which the values are aligned. */
size_t reel_field_value_bytes(const struct reel_field *field);

/* Returns the bytes of the field's values; SIZE_MAX: more than memory has, or no such field. */
size_t reel_field_bytes(const struct reel_field *field);

/* Returns the number of bytes that reel_field_pack() needs at most, and never exceeds. */
size_t reel_field_room(const struct reel_field *field);

/*
 * Packs the values of a field. No value comes back with an error above `tolerance` times the
 * largest magnitude. Returns the number of bytes, or 0: no memory.
 */
size_t reel_field_pack(const struct reel_field *field, double tolerance, void *packed,
		       const void *values);

/*
 * Returns the number of bytes that the field took of `packed`; 0: `bytes` bytes are too few, this
 * was packed from no such field, or there is no memory. Then `values` holds anything.
 */
size_t reel_field_unpack(const struct reel_field *field, void *values, const void *packed,
			 size_t bytes);

#endif
