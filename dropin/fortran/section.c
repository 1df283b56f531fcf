/* SPDX-License-Identifier: MIT */
/*
 * Elements of Fortran's arrays in their order, which may be spread in memory. The functions read
 * descriptors only, so any thread may run them. A stride may be negative.
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
		return "is smaller than the state that the run was opened with";
	return NULL;
}

/* The leading dimensions whose elements follow each other without gaps make up one run. */
void reel_fortran_section(const CFI_cdesc_t *array, struct section *section)
{
	section->base = array->base_addr;
	section->run_bytes = array->elem_len;
	section->outer = 0;
	for (int i = 0; i < array->rank; i++) {
		size_t extent = (size_t)array->dim[i].extent;

		if (extent == 1)
			continue;
		if (section->outer == 0 && array->dim[i].sm == (CFI_index_t)section->run_bytes) {
			section->run_bytes *= extent;
			continue;
		}
		section->extent[section->outer] = extent;
		section->stride[section->outer] = array->dim[i].sm;
		section->outer++;
	}
}

/* Returns the start of run number `run`; `*row` is the number of runs from it on in its row. */
static char *find_run(const struct section *section, size_t run, size_t *row)
{
	char *at = section->base;

	*row = section->extent[0] - run % section->extent[0];
	for (int i = 0; i < section->outer; i++) {
		at += (ptrdiff_t)(run % section->extent[i]) * section->stride[i];
		run /= section->extent[i];
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
static void copy_runs(char *at, ptrdiff_t stride, char *packed, size_t runs, size_t run_bytes,
		      bool gather)
{
	switch (run_bytes) {
	case 4:
		for (size_t i = 0; i < runs; i++)
			copy(at + (ptrdiff_t)i * stride, packed + i * 4, 4, gather);
		break;
	case 8:
		for (size_t i = 0; i < runs; i++)
			copy(at + (ptrdiff_t)i * stride, packed + i * 8, 8, gather);
		break;
	default:
		for (size_t i = 0; i < runs; i++)
			copy(at + (ptrdiff_t)i * stride, packed + i * run_bytes, run_bytes, gather);
	}
}

/* Copies `bytes` bytes from byte `offset` of the section on; both may lie inside of a run. */
static void walk(const struct section *section, size_t offset, char *packed, size_t bytes,
		 bool gather)
{
	size_t run_bytes = section->run_bytes;

	while (bytes) {
		size_t within = offset % run_bytes, row;
		char *at = find_run(section, offset / run_bytes, &row);
		size_t done;

		if (within || bytes < run_bytes) {
			done = run_bytes - within < bytes ? run_bytes - within : bytes;
			copy(at + within, packed, done, gather);
		} else {
			row = bytes / run_bytes < row ? bytes / run_bytes : row;
			copy_runs(at, section->stride[0], packed, row, run_bytes, gather);
			done = row * run_bytes;
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
