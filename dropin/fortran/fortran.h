/* SPDX-License-Identifier: MIT */
/*
 * What the module reel of reel.f90 calls, where the headers' inline functions or an array's
 * descriptor are in the way of calling the library itself.
 *
 *	values.c   scalars, bits and spans
 *	arrays.c   arrays of any rank, section.c their elements in order
 *	records.c  values of any type in one piece
 *	sweeps.c   checkpointing
 *	model.c    block replay, and what a loop costs
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

/* reel.f90 gives a tape, a mark, this room. */
_Static_assert(sizeof(reel_tape) <= 32 * sizeof(int64_t), "type(reel_tape) has room for a tape");
_Static_assert(sizeof(reel_mark) == 14 * sizeof(int64_t), "type(reel_mark) is a mark");
_Static_assert(_Alignof(reel_tape) <= _Alignof(int64_t), "type(reel_tape) is aligned for a tape");

/* values.c: where the call that returns to this address stands, if the tape is a checked one. */
const char *reel_fortran_site(reel_tape *tape, const void *return_address);

/*
 * In a function that Fortran calls: the place of that call, for checked tapes. Whether a tape is
 * one is known once it has begun, which is when it has a top.
 */
#define FORTRAN_SITE(tape)                                                                         \
	(REEL_UNLIKELY((tape)->ledger || !(tape)->top)                                             \
		 ? reel_fortran_site((tape), REEL_RETURN_ADDRESS)                                  \
		 : "a Fortran call")

/* values.c: of the elements, if it is one that a scalar may have; or NULL. */
const reel_type *reel_fortran_type(const CFI_cdesc_t *array);

/* section.c: SIZE_MAX for an array of an unknown size (assumed-size). */
size_t reel_fortran_elements(const CFI_cdesc_t *array);
/* Whether its elements lie together. One of an unknown size does. */
bool reel_fortran_is_contiguous(const CFI_cdesc_t *array);

/* What is wrong with an argument that C gets the address of, in words, or NULL. */
const char *reel_fortran_wrong_argument(const CFI_cdesc_t *argument, size_t min_bytes);

/* A section that does not, as runs of bytes that do. */
struct section {
	char *base;
	size_t run_bytes;
	int outer; /* dimensions that the runs are spread over, the innermost first */
	size_t extent[CFI_MAX_RANK];
	ptrdiff_t stride[CFI_MAX_RANK];
};

void reel_fortran_section(const CFI_cdesc_t *array, struct section *section);
/* Copy `bytes` of its elements, from that at `offset` in their order on, to and from `packed`. */
void reel_fortran_gather(const struct section *section, size_t offset, char *packed, size_t bytes);
void reel_fortran_scatter(const struct section *section, size_t offset, const char *packed,
			  size_t bytes);

#endif
