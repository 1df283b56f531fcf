/* SPDX-License-Identifier: MIT */
/*
 * Arrays of any type and rank. The owner of the tape runs these functions.
 *
 * A contiguous array is copied to the tape directly, other sections piece by piece through a small
 * buffer. All pieces but the last are multiples of 8 bytes, so the bytes on the tape are the same
 * in both cases, and a program may push one kind and pop the other.
 */
#include "fortran.h"

#include <stdlib.h>

#define PIECE_BYTES ((size_t)4096)

/* The kind of the elements, which only checked tapes compare; other types count as structs. */
static enum reel_kind kind_of(const reel_tape *tape, const CFI_cdesc_t *array)
{
	const reel_type *type = REEL_UNLIKELY(tape->ledger) ? reel_fortran_type(array) : NULL;

	return type ? type->kind : REEL_STRUCT;
}

/* Checked mode needs one note for the whole section and not one for each piece. */
static char *whole_copy(const reel_tape *tape, size_t bytes)
{
	return tape->ledger ? malloc(bytes) : NULL;
}

static bool push_pieces(reel_tape *tape, const struct section *section, size_t bytes,
			const char *call_site)
{
	_Alignas(16) char piece[PIECE_BYTES];
	size_t size;

	for (size_t done = 0; done < bytes && !reel_tape_error(tape); done += size) {
		size = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
		reel_fortran_gather(section, done, piece, size);
		reel_push_array_at(tape, piece, size, 1, REEL_STRUCT, call_site);
	}
	return !reel_tape_error(tape);
}

/* Pushes all of the section or refuses all of it. After an error the section is not read. */
static void push_section(reel_tape *tape, const CFI_cdesc_t *array, size_t n, const char *call_site)
{
	size_t size = array->elem_len;
	char *whole = whole_copy(tape, n * size);
	struct section section;

	reel_fortran_section(array, &section);
	if (whole) {
		reel_fortran_gather(&section, 0, whole, n * size);
		reel_push_array_at(tape, whole, n, size, kind_of(tape, array), call_site);
		free(whole);
		return;
	}
	if (!reel_tape_error(tape)) {
		reel_mark before = reel_tape_mark(tape);

		if (push_pieces(tape, &section, n * size, call_site))
			return;
		reel_tape_rewind(tape, before);
	}
	reel_push_array_at(tape, array->base_addr, n, size, kind_of(tape, array), call_site);
}

static void pop_pieces(reel_tape *tape, const struct section *section, size_t bytes,
		       const char *call_site)
{
	_Alignas(16) char piece[PIECE_BYTES];

	while (bytes) {
		size_t size = bytes % PIECE_BYTES ? bytes % PIECE_BYTES : PIECE_BYTES;

		bytes -= size;
		reel_pop_array_at(tape, piece, size, 1, REEL_STRUCT, call_site);
		reel_fortran_scatter(section, bytes, piece, size);
	}
}

static void pop_section(reel_tape *tape, const CFI_cdesc_t *array, size_t n, const char *call_site)
{
	size_t size = array->elem_len;
	char *whole = whole_copy(tape, n * size);
	struct section section;

	reel_fortran_section(array, &section);
	if (!whole) {
		pop_pieces(tape, &section, n * size, call_site);
		return;
	}
	reel_pop_array_at(tape, whole, n, size, kind_of(tape, array), call_site);
	reel_fortran_scatter(&section, 0, whole, n * size);
	free(whole);
}

void reel_fortran_push_array(reel_tape *tape, const CFI_cdesc_t *array)
{
	const char *call_site = FORTRAN_CALL_SITE(tape);
	size_t n = reel_fortran_elements(array);

	if (reel_fortran_is_contiguous(array) || n == 0 || n == SIZE_MAX)
		reel_push_array_at(tape, array->base_addr, n, array->elem_len, kind_of(tape, array),
				   call_site);
	else
		push_section(tape, array, n, call_site);
}

void reel_fortran_pop_array(reel_tape *tape, const CFI_cdesc_t *array)
{
	const char *call_site = FORTRAN_CALL_SITE(tape);
	size_t n = reel_fortran_elements(array);

	if (reel_fortran_is_contiguous(array) || n == 0 || n == SIZE_MAX)
		reel_pop_array_at(tape, array->base_addr, n, array->elem_len, kind_of(tape, array),
				  call_site);
	else
		pop_section(tape, array, n, call_site);
}
