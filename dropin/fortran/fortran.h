/* SPDX-License-Identifier: MIT */
/*
 * The functions that the module reel of reel.f90.in calls, for everything that Fortran cannot call
 * directly: inline functions of the headers, and functions that need the descriptor of an array.
 * Only Fortran calls them, so no header of C declares them, and reel.f90.in has their interfaces.
 *
 *	values.c   scalars, bits and spans
 *	arrays.c   arrays of any rank, section.c their elements in order
 *	records.c  values of any type in one piece
 *	sweeps.c   checkpointing
 *	model.c    the costs of a loop
 */
#ifndef REEL_DROPIN_FORTRAN_H
#define REEL_DROPIN_FORTRAN_H

#include "config.h"

#include FORTRAN_BINDING_HEADER
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <reel.h>

#include "../call-site.h"

/* reel.f90.in declares a tape, and a mark, as an array of integers of these sizes. */
_Static_assert(sizeof(reel_tape) <= 32 * sizeof(int64_t), "type(reel_tape) has room for a tape");
_Static_assert(sizeof(reel_mark) == 14 * sizeof(int64_t), "type(reel_mark) is a mark");
_Static_assert(_Alignof(reel_tape) <= _Alignof(int64_t), "type(reel_tape) is aligned for a tape");

/* values.c: the call site with this return address if the tape is checked. */
const char *reel_fortran_call_site(reel_tape *tape, const void *return_address);

/*
 * The call site in Fortran, in a function that Fortran calls; for checked tapes only. A new tape
 * counts as checked: as long as it has no top, it is not known whether its pool is.
 */
#define FORTRAN_CALL_SITE(tape)                                                                    \
	(REEL_UNLIKELY((tape)->ledger || !(tape)->top)                                             \
		 ? reel_fortran_call_site((tape), REEL_RETURN_ADDRESS)                             \
		 : "a Fortran call")

/* values.c: the type of the elements if scalars may have this type; or NULL. */
const reel_type *reel_fortran_type(const CFI_cdesc_t *array);

/* section.c: number of elements; SIZE_MAX for an array of unknown size (assumed-size). */
size_t reel_fortran_elements(const CFI_cdesc_t *array);
/* Returns true if the elements follow each other without gaps, or their number is unknown. */
bool reel_fortran_is_contiguous(const CFI_cdesc_t *array);

/* Returns the fault of an argument whose address C gets, as a part of a message, or NULL. */
const char *reel_fortran_wrong_argument(const CFI_cdesc_t *argument, size_t min_bytes);

/* A section that is not contiguous, as ranges of contiguous bytes. */
struct section {
	char *base;
	size_t range_bytes;
	int outer; /* number of dimensions of ranges, the innermost first */
	size_t extent[CFI_MAX_RANK];
	ptrdiff_t stride[CFI_MAX_RANK];
};

void reel_fortran_section(const CFI_cdesc_t *array, struct section *section);
/*
 * Copy `bytes` bytes of the elements, from byte `offset` of their sequence on, to or from `packed`.
 */
void reel_fortran_gather(const struct section *section, size_t offset, char *packed, size_t bytes);
void reel_fortran_scatter(const struct section *section, size_t offset, const char *packed,
			  size_t bytes);

#endif
