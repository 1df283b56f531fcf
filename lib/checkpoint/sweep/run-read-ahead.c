/* SPDX-License-Identifier: MIT */
/*
 * Reads snapshots from stores before their LOAD: from the stores of tiers, and from the store of
 * the pool. `run->ahead` is a copy of the schedule that walks ahead of it. Each LOAD from a store
 * that it comes to is announced to the snapshots. If too many are announced, the walk stays there
 * and tries again when the next action is taken. The thread that owns the run runs these functions.
 * The walk is at most FARTHEST actions ahead.
 */
#include "config.h"

#include "plan/plan.h"
#include "sweep.h"

/* Number of actions looked at for each action that is taken: more than 1, to get ahead. */
#define LOOK 4
/* Maximum number of actions by which the walk is ahead of the schedule. */
#define FARTHEST 4096

/* A snapshot in memory may have gone to the store of the pool. */
static bool pool_has_store(const reel_run *run)
{
	return reel_pool_has_store(run->snapshots.pool);
}

static bool comes_from_store(const reel_run *run, const reel_action *action)
{
	REEL_ASSERT(action->kind != REEL_ACTION_LOAD || action->tier < REEL_MAX_TIERS);
	return action->kind == REEL_ACTION_LOAD &&
	       (run->options.store[action->tier] || pool_has_store(run));
}

/*
 * Takes the next action of the walk. Returns false if the walk is at its end, is FARTHEST actions
 * ahead, or cannot go on while the end of the loop is unknown.
 */
static bool look(reel_run *run, reel_action *action)
{
	REEL_ASSERT(run->schedule->steps != REEL_UNKNOWN_STEPS);
	return run->looked < run->taken + FARTHEST &&
	       !reel_schedule_next(run->ahead, action) && action->kind != REEL_ACTION_DONE;
}

static bool has_stores(const reel_run *run)
{
	for (unsigned tier = 0; tier < REEL_MAX_TIERS; tier++)
		if (run->options.store[tier])
			return true;
	return pool_has_store(run);
}

void reel_ahead_begin(reel_run *run)
{
	REEL_ASSERT(run->schedule->plan == run->plan);
	reel_schedule_copy(run->ahead, run->schedule);
	run->taken = run->looked = 0;
	run->wants = false;
}

/*
 * Announces a LOAD only while it lies ahead of the schedule: a LOAD that was taken reads its
 * snapshot itself. The walk waits at the LOAD of a snapshot that is not stored yet.
 */
void reel_ahead_extend(reel_run *run)
{
	if (!has_stores(run) || run->schedule->steps == REEL_UNKNOWN_STEPS)
		return;
	run->taken++;
	REEL_ASSERT(!run->wants || run->wanted.kind == REEL_ACTION_LOAD);
	REEL_ASSERT(run->looked < run->taken + FARTHEST);
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
