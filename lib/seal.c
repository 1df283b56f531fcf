/* SPDX-License-Identifier: MIT */
/*
 * A full window is sealed by putting the next slab on top of it: first the one
 * that the tape left last, else one from the pool.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "pool.h"
#include "residence.h"
#include "tape.h"

/* So many slabs of a tape are small, so that a short tape touches little memory. */
#define FIRST_SLABS 4

static uint32_t next_rank(const reel_tape *tape)
{
	return tape->slab ? tape->slab->rank + 1 : 0;
}

static enum reel_slab_kind next_kind(const reel_tape *tape, size_t bytes)
{
	if (next_rank(tape) < FIRST_SLABS && bytes <= tape->pool->first_slab_bytes)
		return REEL_SLAB_FIRST;
	return bytes <= tape->pool->slab_bytes ? REEL_SLAB_WHOLE : REEL_SLAB_GIANT;
}

void reel_tape_drop_spare(reel_tape *tape)
{
	if (tape->spare)
		reel_slab_discard(tape->pool, tape->spare);
	tape->spare = NULL;
}

static const char *need_of_memory(const struct reel_pool *pool)
{
	return pool->offload ? ": beside the store it needs room for four slabs of each tape" : "";
}

static int report_refusal(reel_tape *tape, int error, size_t bytes)
{
	if (error != -EDQUOT && error != -ENOMEM)
		return reel_tape_fail(tape, error,
				      "push refused: the hard budget of %zu bytes is used up, and "
				      "the store takes no more: %s",
				      tape->pool->hard_budget, reel_store_strerror(error));
	if (error == -EDQUOT)
		return reel_tape_fail(tape, error,
				      "push refused: %zu bytes more would exceed the hard budget "
				      "of %zu; raise it (REEL_BUDGET, or hard_budget of the pool)%s",
				      bytes, tape->pool->hard_budget, need_of_memory(tape->pool));
	return reel_tape_fail(tape, error, "push refused: no memory for a slab of %zu bytes",
			      bytes);
}

static struct reel_slab *next_slab(reel_tape *tape, size_t bytes)
{
	enum reel_slab_kind kind = next_kind(tape, bytes);
	struct reel_slab *slab = tape->spare;
	int error;

	if (slab && slab->kind == kind && slab->bytes >= bytes && reel_slab_writable(tape, slab)) {
		tape->spare = NULL;
		return slab;
	}
	reel_tape_drop_spare(tape);
	error = reel_pool_take(tape->pool, kind, bytes, &slab);
	if (!error)
		return slab;
	report_refusal(tape, error,
		       kind == REEL_SLAB_GIANT ? bytes : tape->pool->slab_bytes);
	return NULL;
}

/* From here on the frame of the slab that is covered is not the owner's alone. */
static void cover_below(reel_tape *tape)
{
	struct reel_slab *slab = tape->slab;

	if (slab && tape->flags & REEL_TAPE_KEEPS_BELOW)
		slab = slab->below;
	if (slab)
		reel_slab_cover(tape, slab);
}

static void put_on_top(reel_tape *tape, struct reel_slab *slab)
{
	slab->rank = next_rank(tape);
	slab->below = tape->slab;
	slab->below_offset = reel_window_filled(tape);
	cover_below(tape);
	slab->serial = ++tape->serial;
	slab->holds = tape->holds;
	tape->below += slab->below_offset;
	tape->slab = slab;
	tape->top = slab->frame;
	/* What is read before it is written shall not look like data. */
	if (tape->ledger)
		memset(slab->frame, 0xff, slab->bytes);
	reel_tape_limits(tape);
}

/* A window of which the store has a copy becomes writable when it is first pushed on. */
static bool window_serves(reel_tape *tape, size_t bytes)
{
	if (reel_window_held(tape) || (size_t)(reel_window_end(tape) - tape->top) < bytes)
		return false;
	if (tape->ceiling != REEL_FALSE_CEILING || !tape->slab)
		return true;
	if (!reel_slab_writable(tape, tape->slab))
		return false;
	reel_tape_limits(tape);
	return true;
}

/*
 * An empty slab is left first: with none in between, a pop leaves one slab at
 * most, and what the pop before it gave stays readable on the spare. The one below
 * may be lost.
 */
static char *fresh_window(reel_tape *tape, size_t bytes)
{
	struct reel_slab *slab;

	while (reel_window_filled(tape) == 0 && reel_tape_step_down(tape))
		if (tape->refused)
			return NULL;
	slab = next_slab(tape, bytes);
	if (!slab)
		return NULL;
	put_on_top(tape, slab);
	return tape->top;
}

bool reel_tape_takes_pushes(reel_tape *tape)
{
	return !tape->error && (tape->top || !reel_tape_start(tape));
}

char *reel_tape_room(reel_tape *tape, size_t bytes)
{
	if (!reel_tape_takes_pushes(tape))
		return NULL;
	return window_serves(tape, bytes) ? tape->top : fresh_window(tape, bytes);
}

char *reel_tape_room_on_slab(reel_tape *tape, size_t bytes)
{
	if (!reel_tape_takes_pushes(tape))
		return NULL;
	return tape->slab && window_serves(tape, bytes) ? tape->top : fresh_window(tape, bytes);
}
