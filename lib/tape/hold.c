/* SPDX-License-Identifier: MIT */
/*
 * Holds and replay. The owner of the tape runs these functions.
 *
 * A hold keeps the slabs that were on the tape when the hold began: pops go through these slabs
 * without freeing them, and pushes do not change them. A push in a hold puts another slab on the
 * window that the tape was popped to, which is a branch. A replay frees the branches. A release
 * frees the kept slabs that are not below the top any more.
 *
 * A slab was put on the tape in the present hold if `slab->holds == tape->holds`.
 *
 * A reader of a recording has a hold from its opening to its closing. The program cannot release
 * it, and the slabs that it keeps are not freed at its end, because they are the recording's.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "os/counter.h"
#include "pool/pool.h"
#include "spill/owner/slab-owner.h"
#include "tape.h"

struct reel_hold {
	struct reel_position at;
	struct reel_hold *outer;
	/* The kept slab that was left last: the program may still read the spans popped from it. */
	struct reel_slab *left;
	/* If the tape is a reader; the same in each of its holds. */
	struct reel_reader *reader;
};

/* For assertions. */
static uint32_t depth(const struct reel_hold *hold)
{
	uint32_t holds = 0;

	for (; hold; hold = hold->outer)
		holds++;
	return holds;
}

/* Lets the offload thread write and evict the kept slab that was left last. */
static void seal_left_slab(reel_tape *tape)
{
	if (tape->hold && tape->hold->left)
		reel_below_retain(tape, tape->hold->left);
	if (tape->hold)
		tape->hold->left = NULL;
}

void reel_hold_retain(reel_tape *tape, struct reel_slab *slab)
{
	REEL_ASSERT(tape->hold && slab->holds < tape->holds);
	seal_left_slab(tape);
	tape->hold->left = slab;
}

static bool begin(reel_tape *tape)
{
	struct reel_hold *hold = malloc(sizeof *hold);

	if (!hold)
		return false;
	seal_left_slab(tape);
	hold->at = reel_tape_position(tape);
	hold->left = NULL;
	hold->outer = tape->hold;
	hold->reader = reel_hold_reader(tape);
	tape->hold = hold;
	tape->holds++;
	reel_counter_raise(&tape->pool->max_holds, tape->holds);
	reel_tape_limits(tape);
	REEL_ASSERT_EXPENSIVE(depth(tape->hold) == tape->holds);
	return true;
}

static void leave_branches(reel_tape *tape)
{
	while (tape->slab && tape->slab->holds == tape->holds)
		reel_tape_leave_slab(tape);
	/* A slab of a hold that has ended would stay on the tape. */
	REEL_ASSERT(!tape->slab || tape->slab->holds < tape->holds);
}

static void go_back(reel_tape *tape)
{
	const struct reel_position *at = &tape->hold->at;

	REEL_ASSERT(at->holds == tape->holds - 1);
	REEL_ASSERT(!at->slab || at->slab->serial == at->serial);
	leave_branches(tape);
	seal_left_slab(tape);
	if (tape->slab && tape->slab != at->slab)
		reel_below_retain(tape, tape->slab);
	tape->slab = at->slab;
	tape->below = at->below;
	reel_tape_trace(tape, tape->below);
	tape->bits = at->bits;
	tape->bit_count = at->bit_count;
	tape->refused = at->refused;
	reel_tape_enter(tape, at->offset);
}

/* Move the branches below the top to the outer hold. Returns the slab that they stand on. */
static struct reel_slab *keep_branches(reel_tape *tape)
{
	struct reel_slab *slab = tape->slab;

	for (; slab && slab->holds == tape->holds; slab = slab->below) {
		REEL_ASSERT(reel_slab_is_linked(slab));
		slab->holds = tape->holds - 1;
	}
	return slab;
}

/*
 * Free the slabs between the position of the hold and `meeting`, which the tape does not reach any
 * more. An outer hold keeps its slabs and all slabs below them.
 */
static void give_popped(reel_tape *tape, struct reel_slab *meeting)
{
	struct reel_slab *slab = tape->hold->at.slab;

	while (slab != meeting && slab->holds == tape->holds - 1) {
		struct reel_slab *below = slab->below;

		REEL_ASSERT(slab != tape->slab && slab != tape->spare && reel_slab_is_linked(slab));
		reel_tape_uncover(slab);
		reel_slab_free(tape->pool, slab);
		slab = below;
	}
}

static void end(reel_tape *tape)
{
	struct reel_hold *hold = tape->hold;

	REEL_ASSERT_EXPENSIVE(depth(hold) == tape->holds);
	seal_left_slab(tape);
	give_popped(tape, keep_branches(tape));
	/* A slab that stays with a hold that has ended could never leave memory. */
	REEL_ASSERT(!hold->left);
	tape->hold = hold->outer;
	tape->holds--;
	free(hold);
	reel_tape_limits(tape);
}

struct reel_reader *reel_hold_reader(const reel_tape *tape)
{
	return tape->hold ? tape->hold->reader : NULL;
}

bool reel_hold_is_open(const reel_tape *tape)
{
	return tape->hold && !(tape->hold->reader && !tape->hold->outer);
}

bool reel_hold_begin_reader(reel_tape *tape, struct reel_reader *reader, struct reel_position at)
{
	REEL_ASSERT(!tape->hold && !tape->slab && at.holds == 0);
	if (!begin(tape))
		return false;
	tape->hold->at = at;
	tape->hold->reader = reader;
	return true;
}

void reel_hold_end_reader(reel_tape *tape)
{
	REEL_ASSERT(tape->hold->reader && tape->holds == 1);
	leave_branches(tape);
	seal_left_slab(tape);
	reel_reader_end(tape);
	free(tape->hold);
	tape->hold = NULL;
	tape->holds = 0;
	tape->slab = NULL;
	tape->below = 0;
}

bool reel_hold_retains_refused(const reel_tape *tape)
{
	const struct reel_hold *hold = tape->hold;

	while (hold && !hold->at.refused)
		hold = hold->outer;
	return hold != NULL;
}

static int no_hold(reel_tape *tape, const char *what)
{
	reel_tape_fail(tape, -EINVAL, "%s without a hold: call reel_tape_hold() first", what);
	reel_tape_report(tape);
	return -EINVAL;
}

static int hold(reel_tape *tape)
{
	reel_tape *entries;

	if (!tape->top && reel_tape_start(tape))
		return tape->error;
	reel_tape_leave_parent_pool(tape);
	entries = reel_check_entries(tape);
	if (!begin(tape))
		return reel_tape_fail(tape, -ENOMEM, "hold refused: out of memory");
	if (entries && reel_tape_hold(entries)) {
		end(tape);
		return reel_tape_fail(tape, -ENOMEM, "hold refused: out of memory");
	}
	return 0;
}

int reel_tape_hold(reel_tape *tape)
{
	int error = hold(tape);

	reel_tape_report(tape);
	return error;
}

int reel_tape_replay(reel_tape *tape)
{
	reel_tape *entries = reel_check_entries(tape);

	if (!tape->hold)
		return no_hold(tape, "replay");
	REEL_ASSERT(!entries || entries->holds == tape->holds);
	go_back(tape);
	if (entries)
		go_back(entries);
	reel_tape_report(tape);
	return 0;
}

int reel_tape_release(reel_tape *tape)
{
	reel_tape *entries = reel_check_entries(tape);

	if (!reel_hold_is_open(tape))
		return no_hold(tape, "release");
	REEL_ASSERT(!entries || entries->holds == tape->holds);
	end(tape);
	if (entries)
		end(entries);
	return 0;
}
