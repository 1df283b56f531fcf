/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "run.h"

/* So many actions are looked at for each one that is taken, so that both stay even. */
#define LOOK 4
#define FARTHEST 4096

static bool comes_from_store(const reel_run *run, const reel_action *action)
{
	return action->kind == REEL_ACTION_LOAD && run->options.store[action->tier];
}

/* False: that was the last one, or nobody knows how it goes on. */
static bool look(reel_run *run, reel_action *action)
{
	return run->looked < run->taken + FARTHEST &&
	       !reel_schedule_next(&run->ahead, action) && action->kind != REEL_ACTION_DONE;
}

static bool has_stores(const reel_run *run)
{
	for (unsigned tier = 0; tier < REEL_MAX_TIERS; tier++)
		if (run->options.store[tier])
			return true;
	return false;
}

void reel_ahead_begin(reel_run *run)
{
	run->ahead = run->schedule;
	run->taken = run->looked = 0;
	run->wants = false;
}

/* A snapshot that has not been stored yet is left to its LOAD: it may still be on its way. */
void reel_ahead_follow(reel_run *run)
{
	if (!has_stores(run) || run->schedule.steps == REEL_UNKNOWN_STEPS)
		return;
	run->taken++;
	for (unsigned i = 0; i < LOOK; i++) {
		reel_action action;

		if (run->wants && run->looked > run->taken &&
		    !reel_snapshot_read_ahead(&run->snapshots, run->wanted.tier, run->wanted.slot,
					      run->wanted.first))
			return;
		run->wants = false;
		if (!look(run, &action))
			return;
		run->looked++;
		if (comes_from_store(run, &action)) {
			run->wanted = action;
			run->wants = true;
		}
	}
}
