/* SPDX-License-Identifier: MIT */
/*
 * The elements of an array in Fortran's order, which may have gaps in memory. The functions keep
 * no state, so any thread may run them. A stride may be negative.
 */
#include "fortran.h"

#include <string.h>

size_t reel_fortran_elements(const CFI_cdesc_t *array)
{
	size_t elements = 1;

	if (!array->base_addr)
		return 0;
	for (int i = 0; i < array->rank; i++) {
		if (array->dim[i].extent < 0)
			return SIZE_MAX;
		elements *= (size_t)array->dim[i].extent;
	}
	return elements;
}

bool reel_fortran_is_contiguous(const CFI_cdesc_t *array)
{
	CFI_index_t together = (CFI_index_t)array->elem_len;

	for (int i = 0; i < array->rank; i++) {
		if (array->dim[i].extent == 1)
			continue;
		if (array->dim[i].extent < 1)
			return true;
		if (array->dim[i].sm != together)
			return false;
		together *= array->dim[i].extent;
	}
	return true;
}

/* The size of an assumed-size array is unknown, so it is not compared with `min_bytes`. */
const char *reel_fortran_wrong_argument(const CFI_cdesc_t *argument, size_t min_bytes)
{
	size_t elements = reel_fortran_elements(argument);

	if (!reel_fortran_is_contiguous(argument))
		return "is not contiguous: pass the whole array, or a copy";
	if (elements < SIZE_MAX && elements * argument->elem_len < min_bytes)
		return "is smaller than the state of the model";
	return NULL;
}

/* The leading dimensions whose elements follow each other without gaps make up one range. */
void reel_fortran_section(const CFI_cdesc_t *array, struct section *section)
{
	section->base = array->base_addr;
	section->range_bytes = array->elem_len;
	section->outer = 0;
	for (int i = 0; i < array->rank; i++) {
		size_t extent = (size_t)array->dim[i].extent;

		if (extent == 1)
			continue;
		if (section->outer == 0 && array->dim[i].sm == (CFI_index_t)section->range_bytes) {
			section->range_bytes *= extent;
			continue;
		}
		section->extent[section->outer] = extent;
		section->stride[section->outer] = array->dim[i].sm;
		section->outer++;
	}
}

/* Returns the start of range number `range`; `*row`: number of ranges from it to its row's end. */
static char *find_range(const struct section *section, size_t range, size_t *row)
{
	char *at = section->base;

	*row = section->extent[0] - range % section->extent[0];
	for (int i = 0; i < section->outer; i++) {
		at += (ptrdiff_t)(range % section->extent[i]) * section->stride[i];
		range /= section->extent[i];
	}
	return at;
}

static void copy(char *at, char *packed, size_t bytes, bool gather)
{
	if (gather)
		memcpy(packed, at, bytes);
	else
		memcpy(at, packed, bytes);
}

/* For common sizes memcpy() has a constant size, which needs no call. */
static void copy_ranges(char *at, ptrdiff_t stride, char *packed, size_t ranges, size_t range_bytes,
			bool gather)
{
	switch (range_bytes) {
	case 4:
		for (size_t i = 0; i < ranges; i++)
			copy(at + (ptrdiff_t)i * stride, packed + i * 4, 4, gather);
		break;
	case 8:
		for (size_t i = 0; i < ranges; i++)
			copy(at + (ptrdiff_t)i * stride, packed + i * 8, 8, gather);
		break;
	default:
		for (size_t i = 0; i < ranges; i++)
			copy(at + (ptrdiff_t)i * stride, packed + i * range_bytes, range_bytes,
			     gather);
	}
}

/* Copies `bytes` bytes from byte `offset` of the section on; both may lie inside of a range. */
static void walk(const struct section *section, size_t offset, char *packed, size_t bytes,
		 bool gather)
{
	size_t range_bytes = section->range_bytes;

	while (bytes) {
		size_t within = offset % range_bytes, row;
		char *at = find_range(section, offset / range_bytes, &row);
		size_t done;

		if (within || bytes < range_bytes) {
			done = range_bytes - within < bytes ? range_bytes - within : bytes;
			copy(at + within, packed, done, gather);
		} else {
			row = bytes / range_bytes < row ? bytes / range_bytes : row;
			copy_ranges(at, section->stride[0], packed, row, range_bytes, gather);
			done = row * range_bytes;
		}
		packed += done;
		offset += done;
		bytes -= done;
	}
}

void reel_fortran_gather(const struct section *section, size_t offset, char *packed, size_t bytes)
{
	walk(section, offset, packed, bytes, true);
}

void reel_fortran_scatter(const struct section *section, size_t offset, const char *packed,
			  size_t bytes)
{
	walk(section, offset, (char *)(uintptr_t)packed, bytes, false);
}
