/* SPDX-License-Identifier: MIT */
/*
 * Opening, closing and moving a tape, and its limits. The owner of the tape runs these functions.
 *
 * The limits are true only if the inline push and pop may do without a function of the library:
 * reel_tape_limits() must run after each change of the window, of the error, of `refused` and of
 * the holds.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "os/error.h"
#include "pool/pool.h"
#include "spill/pool/default-pool.h"
#include "spill/owner/slab-owner.h"
#include "store/store.h"
#include "tape.h"

_Static_assert(offsetof(struct reel_tape, first) <= 64, "the fast paths use one cache line");

int reel_tape_open(reel_tape *tape, reel_pool *pool, unsigned flags)
{
	int error = 0;

	if (flags & ~REEL_CHECKED)
		return -EINVAL;
	if (!pool)
		error = reel_pool_open_default(&pool);
	if (error)
		return error;
	*tape = (reel_tape){.pool = pool, .flags = flags};
	return 0;
}

int reel_tape_start(reel_tape *tape)
{
	int error = tape->pool ? 0 : reel_pool_open_default(&tape->pool);

	if (error)
		return reel_tape_fail(tape, error, error == -ENXIO
					      ? "%s" : "the default pool cannot be opened: %s",
				      reel_error_text(error));
	if (tape->pool->flags & REEL_POOL_CHECKED)
		tape->flags |= REEL_CHECKED;
	if (reel_check_start(tape))
		return reel_tape_fail(tape, -ENOMEM, "no memory for checked mode");
	tape->top = reel_window_base(tape);
	reel_tape_limits(tape);
	return 0;
}

void reel_tape_limits(reel_tape *tape)
{
	bool seen = tape->ledger || tape->flags & REEL_TAPE_WATCHED;
	bool may_push = reel_window_base(tape) && !tape->error && !seen &&
			!reel_window_held(tape) &&
			!(tape->slab && reel_slab_has_copy(tape->slab));
	bool may_pop = !tape->refused && !seen;

	tape->ceiling = !may_push	  ? REEL_FALSE_CEILING
			: reel_profiles() ? reel_tape_profile_ceiling(tape)
					  : reel_window_end(tape);
	tape->floor = may_pop ? reel_window_base(tape) : REEL_FALSE_FLOOR;
	REEL_ASSERT(reel_window_is_sound(tape));
	REEL_ASSERT(!tape->slab || tape->slab->holds <= tape->holds);
}

bool reel_tape_is_copy(reel_tape *tape)
{
	bool has_foreign_top = !tape->slab && reel_window_filled(tape) > sizeof tape->first;

	if (!reel_check_is_copy(tape) && !has_foreign_top)
		return false;
	*tape = (reel_tape){.pool = tape->pool, .flags = tape->flags, .error = tape->error};
	tape->top = reel_window_base(tape);
	reel_tape_fail_out_of_step(
		tape, -EINVAL,
		"a tape was copied, and the copy is used: reel_tape_move() moves a "
		"tape; in a container that grows, keep pointers to tapes");
	return true;
}

void reel_tape_close(reel_tape *tape)
{
	if (reel_tape_is_copy(tape))
		reel_tape_report(tape);
	/* Releasing a hold finds the slabs that are not on the path down from the top. */
	while (reel_hold_is_open(tape))
		reel_tape_release(tape);
	if (tape->hold)
		reel_hold_end_reader(tape);
	while (tape->slab)
		reel_tape_leave_slab(tape);
	REEL_ASSERT(tape->holds == 0 && tape->below == 0);
	reel_tape_trace(tape, 0);
	reel_tape_drop_spare(tape);
	reel_below_end(tape);
	reel_check_end(tape);
	memset(tape, 0, sizeof *tape);
}

void reel_tape_move(reel_tape *to, reel_tape *from)
{
	bool copied = reel_tape_is_copy(from);
	uint64_t filled = reel_window_filled(from);

	/* memcpy() and not an assignment: the inline buffer holds values of the program's types. */
	memcpy(to, from, sizeof *to);
	/* A trace names a tape by its address. */
	reel_tape_trace(from, 0);
	reel_tape_trace(to, to->below);
	if (to->top) {
		to->top = reel_window_base(to) + filled;
		reel_tape_limits(to);
	}
	memset(from, 0, sizeof *from);
	reel_check_move(to);
	if (copied)
		reel_tape_report(to);
}

int reel_tape_set_layout(reel_tape *tape, struct reel_layout layout)
{
	if (layout.element && layout.element != REEL_INCOMPRESSIBLE &&
	    reel_layout_problem(layout))
		return -EINVAL;
	tape->layout = layout;
	return 0;
}

uint64_t reel_tape_bytes(const reel_tape *tape)
{
	return tape->below + reel_window_filled(tape);
}

bool reel_tape_is_empty(const reel_tape *tape)
{
	return !reel_tape_bytes(tape) && !tape->bit_count && !tape->refused;
}
