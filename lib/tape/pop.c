/* SPDX-License-Identifier: MIT */
/*
 * The slow path of a pop, and the steps down to the slab below. The owner of the tape runs these
 * functions. They wait if that slab is in the store.
 *
 * `below` is the number of bytes in all windows below the present one. A pop that does not mirror
 * its push puts the tape out of step: it and all later pops give all ones.
 */
#include "config.h"

#include <errno.h>

#include "spill/owner/slab-owner.h"
#include "store/store.h"
#include "tape.h"

/*
 * The slab becomes the spare, unless a hold keeps it. Spans on the spare stay readable, since the
 * offload thread does not change it, and a program that pushes and pops at the end of a slab needs
 * the pool only once.
 */
void reel_tape_leave_slab(reel_tape *tape)
{
	struct reel_slab *left = tape->slab;
	struct reel_slab *below = left->below;

	REEL_ASSERT(reel_slab_is_linked(left) && left != tape->spare);
	REEL_ASSERT(tape->below >= left->below_offset);
	tape->below -= left->below_offset;
	reel_tape_trace(tape, tape->below);
	if (left->holds == tape->holds) {
		reel_tape_uncover(left);
		reel_tape_drop_spare(tape);
		if (reel_slab_is_readable(left))
			tape->spare = left;
		else
			reel_slab_free(tape->pool, left);
	} else {
		reel_hold_retain(tape, left);
	}
	tape->slab = below;
}

/* Tapes with more slabs are not walked, because a walk at each step down would take too long. */
#define MAX_WALK 256

static bool height_is_right(const reel_tape *tape)
{
	uint64_t below = 0;

	if (tape->slab && tape->slab->slab_index > MAX_WALK)
		return true;
	for (const struct reel_slab *slab = tape->slab; slab; slab = slab->below)
		below += slab->below_offset;
	return below == tape->below;
}

void reel_tape_enter(reel_tape *tape, uint64_t filled)
{
	REEL_ASSERT_EXPENSIVE(height_is_right(tape));
	int error = tape->slab ? reel_below_acquire(tape, tape->slab) : 0;

	/* A lost slab may have no frame, and C does not allow an addition to a null pointer. */
	tape->top = reel_window_base(tape);
	if (!error)
		tape->top += filled;
	reel_tape_limits(tape);
	if (error)
		reel_tape_fail_out_of_step(
			tape, error,
			"slab %u of the tape could not be read back from the store: %s; "
			"all values on it and below it are lost",
			(unsigned)tape->slab->slab_index, reel_store_strerror(error));
}

bool reel_tape_step_down(reel_tape *tape)
{
	uint64_t filled;

	if (!tape->slab)
		return false;
	filled = tape->slab->below_offset;
	reel_tape_leave_slab(tape);
	reel_tape_enter(tape, filled);
	reel_below_read_ahead(tape);
	return true;
}

char *reel_tape_topmost(reel_tape *tape, size_t bytes, const char *call_site)
{
	REEL_ASSERT(bytes > 0 && (bytes % 8 == 0 || tape->flags & REEL_TAPE_DROPIN));
	while (reel_window_filled(tape) == 0) {
		if (!reel_tape_step_down(tape))
			reel_tape_fail_out_of_step(tape, -ENODATA, "pop at %s: the tape is empty",
						   call_site);
		if (tape->refused)
			return NULL;
	}
	if (reel_window_filled(tape) >= bytes)
		return tape->top - bytes;
	reel_tape_fail_out_of_step(tape, -EBADMSG,
				   "pop of %zu bytes at %s does not mirror its push "
				   "(REEL_CHECKED=1 names the push)",
				   bytes, call_site);
	return NULL;
}

bool reel_tape_pops_refused(reel_tape *tape, uint64_t bits)
{
	/* A pop comes here first, so a function before it that told nobody of its error is seen. */
	REEL_ASSERT(!(tape->flags & REEL_TAPE_UNREPORTED));
	if (!reel_tape_is_copy(tape) && !tape->refused)
		return false;
	bits += !bits;
	if (tape->refused != REEL_OUT_OF_STEP)
		tape->refused = bits <= tape->refused ? tape->refused - bits : REEL_OUT_OF_STEP;
	reel_tape_limits(tape);
	REEL_ASSERT(!tape->refused || tape->floor == REEL_FALSE_FLOOR);
	return true;
}

static const uint64_t ones[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
				UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

_Static_assert(sizeof ones == REEL_ONES_BYTES, "inline pops load at most REEL_ONES_BYTES");

const void *reel_pop_slow(reel_tape *tape, const reel_type *type, const char *call_site)
{
	size_t bytes = REEL_ROUND(type->size);
	char *slot = NULL;

	if (!reel_tape_pops_refused(tape, bytes * 8) &&
	    reel_check_compare(tape, type, 1, call_site, true))
		slot = reel_tape_topmost(tape, bytes, call_site);
	if (!slot) {
		reel_tape_report(tape);
		return ones;
	}
	tape->top = slot;
	REEL_ASSERT(reel_window_is_sound(tape));
	return slot;
}

const void *reel_look_slow(reel_tape *tape, const reel_type *type, const char *call_site)
{
	const void *slot = NULL;

	if (!reel_tape_is_copy(tape) && !tape->refused &&
	    reel_check_compare(tape, type, 1, call_site, false))
		slot = reel_tape_topmost(tape, REEL_ROUND(type->size), call_site);
	reel_tape_report(tape);
	return slot;
}
