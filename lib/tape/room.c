/* SPDX-License-Identifier: MIT */
/*
 * Room for pushes: if the window has too little, the tape gets another slab on top, either its
 * spare or a slab of the pool. The owner of the tape runs these functions; they wait if the pool
 * needs the offload thread to free a frame.
 *
 * The tape never puts a slab on an empty one. A slab below the top is sealed, which leaves it to
 * the offload thread.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "pool/pool.h"
#include "spill/pool/default-pool.h"
#include "spill/owner/slab-owner.h"
#include "store/store.h"
#include "tape.h"

/* Number of small slabs at the bottom of a tape, so that a short tape touches little memory. */
#define FIRST_SLABS 4
/* A slab for large spans has this part of their bytes besides, for the values between them. */
#define ROOM_BETWEEN_SPANS 16

static uint32_t next_slab_index(const reel_tape *tape)
{
	return tape->slab ? tape->slab->slab_index + 1 : 0;
}

/*
 * The number of bytes of a slab that wastes little memory if more spans of `bytes` follow, such as
 * a field that each step pushes: the spans that a whole slab has room for, and the room between
 * them. With a store the budget bounds the waste, and whole slabs are put and got faster:
 * their frames move from slab to slab, and are huge pages.
 */
static size_t room_of_spans(const struct reel_pool *pool, size_t bytes)
{
	size_t spans = bytes < pool->slab_bytes ? pool->slab_bytes / bytes * bytes : bytes;

	if (reel_pool_has_store(pool))
		return bytes > pool->slab_bytes ? bytes : pool->slab_bytes;
	return reel_supply_large_bytes(spans + spans / ROOM_BETWEEN_SPANS);
}

/*
 * The lowest slab may be a small one, for programs with many tapes of a few dozen values. First
 * slabs as large as the others would save no memory and could not be evicted. A span that would
 * waste more of a whole slab than ROOM_BETWEEN_SPANS says gets a large slab.
 */
static enum reel_slab_kind next_kind(const reel_tape *tape, size_t bytes)
{
	const struct reel_pool *pool = tape->pool;

	REEL_ASSERT(pool->first_slab_bytes <= pool->slab_bytes);
	if (next_slab_index(tape) == 0 && pool->small_slab_bytes && bytes <= pool->small_slab_bytes)
		return REEL_SLAB_SMALL;
	if (next_slab_index(tape) < FIRST_SLABS && bytes <= pool->first_slab_bytes &&
	    pool->first_slab_bytes < pool->slab_bytes)
		return REEL_SLAB_FIRST;
	if (bytes <= pool->slab_bytes / ROOM_BETWEEN_SPANS)
		return REEL_SLAB_WHOLE;
	return room_of_spans(pool, bytes) < pool->slab_bytes || bytes > pool->slab_bytes
		       ? REEL_SLAB_LARGE : REEL_SLAB_WHOLE;
}

void reel_tape_drop_spare(reel_tape *tape)
{
	REEL_ASSERT(!tape->spare || tape->spare != tape->slab);
	if (tape->spare)
		reel_slab_free(tape->pool, tape->spare);
	tape->spare = NULL;
}

/* Number of slabs that are split into `first_slabs` first slabs. */
static uint64_t split_slabs(const struct reel_pool *pool, uint64_t first_slabs)
{
	uint64_t pieces = pool->slab_bytes / pool->first_slab_bytes;

	REEL_ASSERT(pool->slab_bytes % pool->first_slab_bytes == 0);
	return pieces == 1 ? 0 : (first_slabs + pieces - 1) / pieces;
}

/*
 * Number of slabs that a tape on a pool with a store needs in memory. Two of them are the top slab
 * and the slab that is put on it, or the spare. A hold keeps one more slab readable, and so do
 * collective spans. First slabs stay in memory: up to FIRST_SLABS of the tape and of each hold,
 * whose branch may begin at the bottom. A slab that was split stays split, so the maximum number
 * of holds so far counts.
 */
static uint64_t min_slabs(const reel_tape *tape)
{
	/* Relaxed is enough: the number is for a message. */
	uint64_t holds = atomic_load_explicit(&tape->pool->max_holds, memory_order_relaxed);
	uint64_t tapes = reel_check_entries(tape) ? 2 : 1;
	uint64_t below = tape->flags & REEL_TAPE_KEEPS_BELOW ? 1 : 0;

	return tapes * (holds ? 3 : 2) + below +
	       split_slabs(tape->pool, tapes * (1 + holds) * FIRST_SLABS);
}

#define NEED 400

/*
 * If slabs that no store takes have most of the budget, the text says how much they have: then the
 * remedy is fewer tapes, and not a larger budget.
 */
static const char *need_of_memory(const reel_tape *tape, size_t bytes, char text[static NEED])
{
	/* Relaxed is enough: the number is for a message. */
	size_t stays = atomic_load_explicit(&tape->pool->unspillable, memory_order_relaxed);
	int length;

	if (!reel_offload_of(tape->pool))
		return ", or give the pool a store (REEL_SPILL_DIR)";
	length = snprintf(text, NEED,
			  ": beside the store each tape like this one needs room for %llu slabs of "
			  "%zu bytes%s",
			  (unsigned long long)min_slabs(tape), tape->pool->slab_bytes,
			  bytes > tape->pool->slab_bytes
				  ? ", or for two spans in a row where these are larger" : "");
	if (stays > tape->pool->hard_budget / 2)
		snprintf(text + length, NEED - (size_t)length,
			 "; first slabs of tapes and large spans in use have %zu bytes, which no "
			 "store takes: close tapes, use fewer at once, or set a smaller "
			 "first_slab_bytes",
			 stays);
	REEL_ASSERT(strlen(text) < NEED - 1);
	return text;
}

int reel_tape_fail_for_room(reel_tape *tape, int error, const char *push, size_t bytes)
{
	char need[NEED];

	REEL_ASSERT(error == -EDQUOT || error == -ENOMEM || reel_pool_has_store(tape->pool));
	if (error == -ECHILD)
		return reel_tape_fail(
			tape, error,
			"%s: in the child of a fork, the parent's hard budget of %zu "
			"bytes is used up and its store cannot be used; reverse this "
			"tape before the fork, or begin it in the child (on a pool that "
			"the child opens, unless it is on the default pool)",
			push, tape->pool->hard_budget);
	if (error != -EDQUOT && error != -ENOMEM)
		return reel_tape_fail(tape, error,
				      "%s: the hard budget of %zu bytes is used up, and the store "
				      "takes no more: %s",
				      push, tape->pool->hard_budget, reel_store_strerror(error));
	if (error == -EDQUOT)
		return reel_tape_fail(tape, error,
				      "%s: %zu bytes more would exceed the hard budget of %zu%s; "
				      "raise it (REEL_BUDGET, or hard_budget of the pool)%s",
				      push, bytes, tape->pool->hard_budget,
				      tape->pool->share ? ", which other processes share" : "",
				      need_of_memory(tape, bytes, need));
	return reel_tape_fail(tape, error, "%s: no memory for a slab of %zu bytes%s", push, bytes,
			      reel_os_mappings_remedy());
}

static bool is_left_behind(const struct reel_pool *pool)
{
	return pool->flags & REEL_POOL_LEFT_BEHIND;
}

/*
 * In the child of a fork, a tape without slabs leaves the parent's default pool, whose store the
 * child cannot use, for the default pool of the child. A hold may keep slabs that the tape was
 * popped through, so a tape in a hold stays. The tape also stays if the child's pool cannot be
 * opened.
 */
void reel_tape_leave_parent_pool(reel_tape *tape)
{
	reel_pool *own;

	if (!is_left_behind(tape->pool) || tape->slab || tape->hold || reel_pool_open_default(&own))
		return;
	reel_tape_drop_spare(tape);
	reel_below_end(tape);
	tape->pool = own;
}

/*
 * A pool that has no room for a large slab may have a whole slab, which needs no mapping of its
 * own, or one of just the bytes that are pushed.
 */
static int take_slab(struct reel_pool *pool, enum reel_slab_kind kind, size_t bytes,
		     struct reel_slab **slab)
{
	size_t room = kind == REEL_SLAB_LARGE ? room_of_spans(pool, bytes) : bytes;
	int error = reel_pool_take(pool, kind, room, slab);

	if (!error || kind != REEL_SLAB_LARGE)
		return error;
	return reel_pool_take(pool, bytes > pool->slab_bytes ? REEL_SLAB_LARGE : REEL_SLAB_WHOLE,
			      bytes, slab);
}

static struct reel_slab *next_slab(reel_tape *tape, size_t bytes)
{
	enum reel_slab_kind kind = next_kind(tape, bytes);
	struct reel_slab *slab = tape->spare;
	int error;

	if (slab && slab->kind == kind && slab->bytes >= bytes &&
	    reel_slab_make_writable(tape->pool, slab)) {
		tape->spare = NULL;
		return slab;
	}
	reel_tape_drop_spare(tape);
	error = take_slab(tape->pool, kind, bytes, &slab);
	REEL_ASSERT(error || slab->bytes >= bytes);
	if (!error)
		return slab;
	reel_tape_fail_for_room(tape, error, "push refused",
				kind == REEL_SLAB_LARGE ? bytes : tape->pool->slab_bytes);
	return NULL;
}

static void put_on_top(reel_tape *tape, struct reel_slab *slab, const char *call_site)
{
	REEL_ASSERT(reel_slab_is_open(slab) && slab != tape->slab && slab != tape->spare);
	REEL_ASSERT(!tape->slab || reel_window_filled(tape) > 0);
	slab->slab_index = next_slab_index(tape);
	slab->below = tape->slab;
	slab->below_offset = reel_window_filled(tape);
	reel_below_seal(tape);
	/* Mutants survive (arithmetic): serials are compared for equality only. */
	slab->serial = ++tape->serial;
	slab->holds = tape->holds;
	reel_tape_cover(tape, slab, call_site);
	tape->below += slab->below_offset;
	/* A program may have thousands of short tapes. */
	if (reel_traces() && slab->kind >= REEL_SLAB_WHOLE)
		tape->flags |= REEL_TAPE_TRACED;
	reel_tape_trace(tape, tape->below);
	tape->slab = slab;
	tape->top = slab->frame;
	REEL_ASSERT(reel_slab_is_linked(slab));
	/* A program that reads a span before it has filled it must not find plausible values. */
	if (tape->ledger)
		memset(slab->frame, 0xff, slab->bytes);
	reel_tape_limits(tape);
}

/* The first push on a window that the store has a copy of makes that copy stale. */
static bool window_serves(reel_tape *tape, size_t bytes)
{
	/* An empty slab at the bottom: the tape may leave it and, after a fork, the pool. */
	if (tape->slab && reel_window_filled(tape) == 0 && !tape->below &&
	    is_left_behind(tape->pool))
		return false;
	if (reel_window_held(tape) || (size_t)(reel_window_end(tape) - tape->top) < bytes)
		return false;
	/* The profile has ended, but not its limit. */
	if (!reel_profiles() && tape->ceiling < reel_window_end(tape))
		reel_tape_limits(tape);
	if (tape->ceiling != REEL_FALSE_CEILING || !tape->slab)
		return true;
	if (!reel_slab_make_writable(tape->pool, tape->slab))
		return false;
	reel_tape_limits(tape);
	REEL_ASSERT(tape->ceiling != REEL_FALSE_CEILING || tape->ledger ||
		    tape->flags & REEL_TAPE_WATCHED);
	return true;
}

/*
 * Leaves the slab first if it is empty. A pop therefore leaves at most one slab, and the value
 * popped before stays readable on the spare. The slab below the empty one may be lost.
 */
static char *fresh_window(reel_tape *tape, size_t bytes, const char *call_site)
{
	struct reel_slab *slab;

	while (reel_window_filled(tape) == 0 && reel_tape_step_down(tape))
		if (tape->refused)
			return NULL;
	reel_tape_leave_parent_pool(tape);
	slab = next_slab(tape, bytes);
	if (!slab)
		return NULL;
	put_on_top(tape, slab, call_site);
	return tape->top;
}

bool reel_tape_takes_pushes(reel_tape *tape)
{
	return !reel_tape_is_copy(tape) && !tape->error && (tape->top || !reel_tape_start(tape));
}

char *reel_tape_room(reel_tape *tape, size_t bytes, const char *call_site)
{
	REEL_ASSERT(bytes % 8 == 0 || tape->flags & REEL_TAPE_DROPIN);
	if (!reel_tape_takes_pushes(tape))
		return NULL;
	return window_serves(tape, bytes) ? tape->top : fresh_window(tape, bytes, call_site);
}

char *reel_tape_room_on_slab(reel_tape *tape, size_t bytes, const char *call_site)
{
	REEL_ASSERT(bytes > 0 && bytes % 8 == 0);
	if (!reel_tape_takes_pushes(tape))
		return NULL;
	return tape->slab && window_serves(tape, bytes) ? tape->top
							: fresh_window(tape, bytes, call_site);
}
