/* SPDX-License-Identifier: MIT */
/*
 * Values of any type in one piece, as REEL_RECORD() defines them for C. A program in C may pop a
 * record that Fortran pushed, and the other way round. The owner of the tape runs these functions.
 */
#include <reel/extend.h>
#include <reel/plan.h>

#include "fortran.h"

#include <errno.h>
#include <string.h>

/* Returns size 0 after an error that sticks to the tape, if the argument is not a record. */
static reel_type type_of(reel_tape *tape, const CFI_cdesc_t *record)
{
	size_t elements = reel_fortran_elements(record);
	reel_type type = {"a record", 0, 8, REEL_STRUCT};

	if (!reel_fortran_is_contiguous(record))
		reel_tape_give_up(tape, -EINVAL,
				  "reel_push_record and its like: the record is not contiguous; "
				  "reel_push_array takes sections");
	else if (elements == 0 || elements == SIZE_MAX)
		reel_tape_give_up(tape, -EINVAL,
				  "reel_push_record and its like: the record has no known size");
	else
		type.size = elements * record->elem_len;
	return type;
}

void reel_fortran_push_record(reel_tape *tape, const CFI_cdesc_t *record)
{
	const char *call_site = FORTRAN_CALL_SITE(tape);
	reel_type type = type_of(tape, record);
	char *slot = tape->top;

	if (!type.size)
		return;
	if (REEL_UNLIKELY(reel_above(slot, REEL_ROUND(type.size), tape->ceiling)))
		slot = reel_push_slow(tape, &type, call_site);
	if (!slot)
		return;
	memcpy(slot, record->base_addr, type.size);
	tape->top = slot + REEL_ROUND(type.size);
}

void reel_fortran_pop_record(reel_tape *tape, const CFI_cdesc_t *record)
{
	const char *call_site = FORTRAN_CALL_SITE(tape);
	reel_type type = type_of(tape, record);
	const void *slot;

	if (!type.size)
		return;
	if (REEL_UNLIKELY(reel_under(tape->top, REEL_ROUND(type.size), tape->floor))) {
		slot = reel_pop_slow(tape, &type, call_site);
		if (slot != tape->top) {
			memset(record->base_addr, 0xff, type.size);
			return;
		}
	} else {
		tape->top -= REEL_ROUND(type.size);
		slot = tape->top;
	}
	memcpy(record->base_addr, slot, type.size);
}

void reel_fortran_look_record(reel_tape *tape, const CFI_cdesc_t *record)
{
	const char *call_site = FORTRAN_CALL_SITE(tape);
	reel_type type = type_of(tape, record);
	const void *slot;

	if (!type.size)
		return;
	if (REEL_UNLIKELY(reel_under(tape->top, REEL_ROUND(type.size), tape->floor)))
		slot = reel_look_slow(tape, &type, call_site);
	else
		slot = tape->top - REEL_ROUND(type.size);
	if (slot)
		memcpy(record->base_addr, slot, type.size);
	else
		memset(record->base_addr, 0xff, type.size);
}
