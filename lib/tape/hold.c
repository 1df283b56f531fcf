/* SPDX-License-Identifier: MIT */
/*
 * Holds. A slab that was on the tape before a hold began is kept where it is
 * when the tape is popped through it, and is not pushed on: a push puts a fresh
 * slab on the place that the tape has been popped to, as a branch. Going back to
 * the hold drops the branches; ending it gives back the slabs above the branch
 * that the tape is on.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "os/counter.h"
#include "pool/pool.h"
#include "slab-owner.h"
#include "tape.h"

struct reel_hold {
	struct reel_position at;
	struct reel_hold *outer;
	/* Left last, and kept: the spans popped last may be on it. */
	struct reel_slab *left;
};

/* From here on the store may have the frame of what was left last. */
static void let_go(reel_tape *tape)
{
	if (tape->hold && tape->hold->left)
		reel_slab_retain(tape, tape->hold->left);
	if (tape->hold)
		tape->hold->left = NULL;
}

void reel_hold_retain(reel_tape *tape, struct reel_slab *slab)
{
	let_go(tape);
	tape->hold->left = slab;
}

static bool begin(reel_tape *tape)
{
	struct reel_hold *hold = malloc(sizeof *hold);

	if (!hold)
		return false;
	let_go(tape);
	hold->at = reel_tape_position(tape);
	hold->left = NULL;
	hold->outer = tape->hold;
	tape->hold = hold;
	tape->holds++;
	reel_counter_raise(&tape->pool->max_holds, tape->holds);
	reel_tape_limits(tape);
	return true;
}

static void leave_branches(reel_tape *tape)
{
	while (tape->slab && tape->slab->holds == tape->holds)
		reel_tape_leave_slab(tape);
}

static void go_back(reel_tape *tape)
{
	const struct reel_position *at = &tape->hold->at;

	leave_branches(tape);
	let_go(tape);
	if (tape->slab && tape->slab != at->slab)
		reel_slab_retain(tape, tape->slab);
	tape->slab = at->slab;
	tape->below = at->below;
	tape->bits = at->bits;
	tape->bit_count = at->bit_count;
	tape->refused = at->refused;
	reel_tape_enter(tape, at->offset);
}

/*
 * The branches that the tape stands on now belong to the outer hold. Returns
 * the slab below them: the lowest that the tape was popped to in this hold.
 */
static struct reel_slab *keep_branches(reel_tape *tape)
{
	struct reel_slab *slab = tape->slab;

	for (; slab && slab->holds == tape->holds; slab = slab->below)
		slab->holds = tape->holds - 1;
	return slab;
}

/* Slabs of outer holds stay, and so does all that lies below them. */
static void give_popped(reel_tape *tape, struct reel_slab *meeting)
{
	struct reel_slab *slab = tape->hold->at.slab;

	while (slab != meeting && slab->holds == tape->holds - 1) {
		struct reel_slab *below = slab->below;

		reel_slab_free(tape->pool, slab);
		slab = below;
	}
}

static void end(reel_tape *tape)
{
	struct reel_hold *hold = tape->hold;

	let_go(tape);
	give_popped(tape, keep_branches(tape));
	tape->hold = hold->outer;
	tape->holds--;
	free(hold);
	reel_tape_limits(tape);
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
	return reel_tape_fail(tape, -EINVAL, "%s without a hold: call reel_tape_hold() first",
			      what);
}

int reel_tape_hold(reel_tape *tape)
{
	reel_tape *entries;

	if (!tape->top && reel_tape_start(tape))
		return tape->error;
	entries = reel_check_entries(tape);
	if (!begin(tape))
		return reel_tape_fail(tape, -ENOMEM, "hold refused: out of memory");
	if (entries && reel_tape_hold(entries)) {
		end(tape);
		return reel_tape_fail(tape, -ENOMEM, "hold refused: out of memory");
	}
	return 0;
}

int reel_tape_replay(reel_tape *tape)
{
	reel_tape *entries = reel_check_entries(tape);

	if (!tape->hold)
		return no_hold(tape, "replay");
	go_back(tape);
	if (entries)
		go_back(entries);
	return 0;
}

int reel_tape_release(reel_tape *tape)
{
	reel_tape *entries = reel_check_entries(tape);

	if (!tape->hold)
		return no_hold(tape, "release");
	end(tape);
	if (entries)
		end(entries);
	return 0;
}
