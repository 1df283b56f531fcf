/* SPDX-License-Identifier: MIT */
/*
 * What a plan holds, and what its planner decides. lib/plan/schedule.c walks: it keeps the
 * states that are held as levels, the earliest lowest, and asks the planner what to
 * do with the working state.
 */
#ifndef REEL_LIB_PLAN_H
#define REEL_LIB_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include <reel/plan.h>

/* Of a level: the tape of some steps, not a state. */
#define TAPE_TIER UINT32_MAX

/* Sums of as many as a plan can have are far from the largest double. A NaN is no cost. */
static inline bool reel_is_cost(double cost)
{
	return cost >= 0 && cost <= 1e100;
}

enum decision_kind {
	DECIDE_ADVANCE,
	DECIDE_RECORD,
	DECIDE_STORE,
	/* Of a state that is held: it is not read again from its slot. */
	DECIDE_MOVE
};

struct decision {
	enum decision_kind kind;
	int64_t steps;
	unsigned tier;
};

struct planner {
	const char *name;
	/* What is wrong with a problem that is right in general; NULL: nothing. */
	const char *(*problem)(const struct reel_problem *problem);
	/* NULL: nothing is computed in advance. */
	int (*compute)(reel_plan *plan);
	/*
	 * What to do with the working state, from which `steps` steps are to be reversed;
	 * `held`: the topmost level holds it.
	 */
	struct decision (*decide)(const reel_schedule *schedule, int64_t steps, bool held);
	/*
	 * Planners that lay states down in the last tier on the way, at sites that are
	 * known without a level: the i-th site, and how many there are if the loop has
	 * so many steps. NULL: none.
	 */
	int64_t (*site)(const reel_plan *plan, int64_t i);
	int64_t (*sites)(const reel_plan *plan, int64_t steps);
	/*
	 * Adds the counts of the whole plan to *report, which is all 0: reel_plan_count().
	 * NULL: the plan is replayed, which is short since its table is.
	 */
	void (*count)(const reel_plan *plan, int64_t steps, struct reel_schedule_report *report);
	bool last_gap_has_site;
	bool uses_table;
	bool unlimited_last_tier;
	bool unknown_end;
};

struct reel_plan {
	/* NULL: the caller's actions. */
	const struct planner *planner;
	struct reel_problem problem;
	const reel_action *actions;
	size_t action_count;

	int64_t period;
	/* Where the slots of a tier begin in reel_schedule.used. */
	unsigned first_slot[REEL_MAX_TIERS];
	/* The tier of a state with so many levels below it: REEL_MULTISTAGE, REEL_TWO_LEVEL. */
	uint8_t tier_of_depth[REEL_MAX_SLOTS];

	/*
	 * Tables, rows of steps + 1 entries. REEL_MIXED: a row for each unit of memory.
	 * Tiers: for each tier and its free slots where a held state's steps are split
	 * (0: it moves to a faster tier), and the tier in which a state is stored.
	 */
	int32_t *split;
	uint8_t *store_tier;
	unsigned table_tiers;
	unsigned first_row[REEL_MAX_TIERS];
	int64_t table_slots[REEL_MAX_TIERS];
	/* REEL_DISK_REVOLVE. */
	int64_t *site;
	int64_t site_count;
};

extern const struct planner reel_planner_binomial;
extern const struct planner reel_planner_mixed;
extern const struct planner reel_planner_multistage;
extern const struct planner reel_planner_two_level;
extern const struct planner reel_planner_hierarchical;
extern const struct planner reel_planner_disk_revolve;
extern const struct planner reel_planner_periodic;
extern const struct planner reel_planner_online;

/*
 * The advances that reverse so many steps with so many slots, INT64_MAX if they are more
 * (which they can be with one slot only); and where they are split.
 */
int64_t reel_binomial_advances(int64_t steps, int64_t slots);
int64_t reel_binomial_split(int64_t steps, int64_t slots);
struct decision reel_binomial_decide(const reel_schedule *schedule, int64_t steps, bool held);
struct decision reel_binomial_decide_of(int64_t steps, int64_t slots, bool held);

/* The stores and loads of the states that have `depth` states below them. */
struct accesses {
	int64_t stores[REEL_MAX_SLOTS];
	int64_t loads[REEL_MAX_SLOTS];
};

/* The accesses of a binomial schedule of so many steps with at least one slot. */
void reel_binomial_accesses(int64_t steps, int64_t slots, struct accesses *accesses);

/*
 * plan-count.c: add the counts of `times` binomial reversals of `steps` steps each to *report.
 * A held reversal begins in a state that is in one of the `slots` slots already, and ends with
 * its DROP; `below` other slots are in use. A free one stores its first state if it needs it.
 * report->advances becomes INT64_MAX, and stays so, if it would be more.
 */
void reel_count_held(const reel_plan *plan, int64_t times, int64_t steps, int64_t slots,
		     int64_t below, struct reel_schedule_report *report);
void reel_count_free(const reel_plan *plan, int64_t times, int64_t steps, int64_t slots,
		     struct reel_schedule_report *report);

/* One worker's time by the costs of the problem. */
double reel_plan_makespan(const struct reel_problem *problem,
			  const struct reel_schedule_report *report);

/* The table of the first `tiers` tiers; *times: of 0 to `steps` steps, to be freed; or NULL. */
int reel_tiers_compute(reel_plan *plan, unsigned tiers, double **times);
struct decision reel_tiers_decide(const reel_schedule *schedule, int64_t steps, bool held);

/* The next action before the loop's end is known: which states online thinning keeps. */
int reel_online_next(reel_schedule *schedule, reel_action *action);

/* lib/plan/schedule.c: a level more, its slot being claimed; a level less. */
void reel_schedule_push_level(reel_schedule *schedule, unsigned tier, reel_action *action);
void reel_schedule_pop_level(reel_schedule *schedule, unsigned level, reel_action *action);

/* Of the first `tiers` tiers, all of them limited. */
static inline int64_t reel_plan_slots_of(const struct reel_problem *problem, unsigned tiers)
{
	int64_t slots = 0;

	for (unsigned t = 0; t < tiers; t++)
		slots += problem->tier[t].slots;
	return slots;
}

static inline int64_t reel_plan_all_slots(const struct reel_problem *problem)
{
	return reel_plan_slots_of(problem, problem->tiers);
}

#endif
