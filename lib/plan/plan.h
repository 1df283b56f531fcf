/* SPDX-License-Identifier: MIT */
/*
 * The contents of a plan and the interface of planners. schedule.c walks through a plan: it keeps
 * a stack of levels, which are the states in slots and the tapes of recorded steps, the earliest
 * lowest. For each working state it asks the planner for a decision.
 */
#ifndef REEL_LIB_PLAN_H
#define REEL_LIB_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include <reel/plan.h>

#include "os/assert.h"

/* The default of REEL_AUTO: with it 500,000 groups of steps run again at most twice each. */
#define REEL_AUTO_SLOTS 1024

/* Tier of a level that is the tape of some steps and not a state in a slot. */
#define TAPE_TIER UINT32_MAX

/*
 * Returns true if `cost` is valid. A sum of all costs of a plan stays finite; a NaN is not valid.
 */
static inline bool reel_is_cost(double cost)
{
	return cost >= 0 && cost <= 1e100;
}

/* A problem that gives no cost of a step says that all steps cost the same. */
static inline double reel_or_one(double cost)
{
	return cost > 0 ? cost : 1;
}

enum decision_kind {
	DECIDE_ADVANCE,
	DECIDE_RECORD,
	DECIDE_STORE,
	DECIDE_MOVE /* drop the slot of the working state: no later action loads it from there */
};

struct decision {
	enum decision_kind kind;
	int64_t steps; /* ADVANCE, RECORD: number of steps, at least 1 */
	unsigned tier; /* STORE: tier to store the working state in */
};

/* A state in a slot, or the tape of some steps. */
struct level {
	int64_t first; /* the state, or the first step of the tape */
	int64_t last;  /* of a tape; else `first` */
	uint32_t tier;
	uint32_t slot; /* of a tape: 1 if its steps were recorded one by one; else 0 */
};

struct reel_schedule {
	const reel_plan *plan;
	int64_t steps;
	int64_t at;     /* the working state */
	int64_t end;    /* the steps from here on have been reversed */
	int64_t passed; /* where the last ADVANCE with an unknown end began */
	int64_t ahead;
	int64_t sites;
	int64_t tape_steps;
	unsigned phase;
	unsigned levels;
	unsigned swept; /* number of levels, from the lowest on, that are of the first sweep */
	struct reel_costs costs; /* REEL_AUTO: of the loop and the machine, as known so far */
	bool is_saved; /* REEL_AUTO: a restart file is written between the actions */
	uint32_t in_use[REEL_MAX_TIERS];
	uint64_t *used;       /* a bit for each slot of all limited tiers; plan->slot_words */
	struct level level[]; /* plan->max_levels */
};

struct planner {
	const char *name;
	/* The mistake that this planner finds in a problem that is right in general, or NULL. */
	const char *(*problem)(const struct reel_problem *problem);
	/* Computes the table or the period; NULL: the planner needs neither. 0 or -ENOMEM. */
	int (*compute)(reel_plan *plan);
	/*
	 * Decides about the working state, from which `steps` steps remain to be
	 * reversed. `held`: the topmost level holds this state.
	 */
	struct decision (*decide)(const reel_schedule *schedule, int64_t steps, bool held);
	/*
	 * A site is a state that the first forward sweep stores in the last tier, without a level.
	 * site() returns the i-th site, sites() the number of sites of a loop of `steps` steps.
	 * NULL: the planner has no sites.
	 */
	int64_t (*site)(const reel_plan *plan, int64_t i);
	int64_t (*sites)(const reel_plan *plan, int64_t steps);
	bool last_gap_has_site;   /* the last gap begins at a site, not at the working state */
	bool uses_table;          /* limited to REEL_MAX_TABLE_STEPS steps */
	bool unlimited_last_tier; /* the slots of the last tier are not claimed one by one */
	bool unknown_end;         /* plans loops of REEL_UNKNOWN_STEPS */
	bool keeps_tapes;         /* of steps that are not reversed at once */
	/*
	 * The next action of the first forward sweep; -EAGAIN: the loop may end in this action;
	 * -ENOENT: the sweep is over, and the recursion begins at the working state. NULL: it
	 * begins at once.
	 */
	int (*sweep)(reel_schedule *schedule, reel_action *action);
};

struct reel_plan {
	/* NULL: the plan is the list of the caller's own actions. */
	const struct planner *planner;
	struct reel_problem problem;
	const reel_action *actions;
	size_t action_count;
	/* NULL: all steps are alike. A plan with such a problem owns it, and also its actions. */
	struct reel_uneven_problem *uneven;
	struct reel_costs costs; /* REEL_AUTO: known when a schedule begins */

	int64_t period; /* steps between two sites */
	/* Number of the first bit of each tier in reel_schedule.used. */
	unsigned first_slot[REEL_MAX_TIERS];
	/*
	 * Number of levels that a schedule has at most: one for each slot of a limited tier, and
	 * one for all of an unlimited tier. Number of words of reel_schedule.used.
	 */
	unsigned max_levels, slot_words;
	/*
	 * REEL_MULTISTAGE, REEL_TWO_LEVEL: tier of a state by the number of levels below it. All 0
	 * of other planners, for `max_levels` levels and one more.
	 */
	uint8_t *tier_of_depth;

	/*
	 * Tables with rows of steps + 1 entries. REEL_MIXED has a row of `split` for each unit of
	 * memory. The planners of tiers have a row of both for each tier and number of free slots:
	 * `split` is where the steps above a held state are split (0: the state moves to a faster
	 * tier), `store_tier` the tier in which the working state is stored.
	 */
	int32_t *split;
	uint8_t *store_tier;
	unsigned table_tiers;
	unsigned first_row[REEL_MAX_TIERS];
	int64_t table_slots[REEL_MAX_TIERS];
	/* REEL_DISK_REVOLVE: the sites, and one more entry, where the last gap ends. */
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
extern const struct planner reel_planner_auto;

/*
 * reel_binomial_advances() returns the least number of advances that reverse `steps` steps with
 * `slots` slots. It returns INT64_MAX for larger numbers, which only one slot leads to.
 * reel_binomial_split() returns the number of steps to advance from the held first state.
 */
int64_t reel_binomial_advances(int64_t steps, int64_t slots);
int64_t reel_binomial_split(int64_t steps, int64_t slots);
/* Refuses a first tier without slots, for planners that need one. */
const char *reel_problem_of_first_tier(const struct reel_problem *problem);

struct decision reel_binomial_decide(const reel_schedule *schedule, int64_t steps, bool held);
struct decision reel_binomial_decide_of(int64_t steps, int64_t slots, bool held);

/* Numbers of stores and loads of states, by the number of states held below them. */
struct accesses {
	int64_t *stores; /* and all of its memory */
	int64_t *loads;
};

/*
 * Counts the accesses of a binomial schedule of `steps` steps with `slots` slots, at least 1. The
 * caller frees accesses->stores. Returns 0 or -ENOMEM.
 */
int reel_binomial_accesses(int64_t steps, int64_t slots, struct accesses *accesses);

/* Returns the time that one worker takes for the action by the costs of the problem. */
static inline double reel_action_cost(const struct reel_problem *problem, const reel_action *action)
{
	double steps = (double)(action->last - action->first);
	double advance = reel_or_one(problem->advance_cost);

	switch (action->kind) {
	case REEL_ACTION_ADVANCE:
		return steps * advance;
	case REEL_ACTION_RECORD:
		return steps * reel_or_one(problem->record_cost);
	case REEL_ACTION_REVERSE:
		return steps * reel_or_one(problem->reverse_cost);
	case REEL_ACTION_STORE:
		return problem->tier[action->tier].store_cost * advance;
	case REEL_ACTION_LOAD:
		return problem->tier[action->tier].load_cost * advance;
	default:
		return 0;
	}
}

/*
 * Computes the table of the first `tiers` tiers. Unless `times` is NULL, *times becomes an array of
 * the least times of 0 to plan->problem.steps steps, which the caller frees. 0 or -ENOMEM.
 */
int reel_tiers_compute(reel_plan *plan, unsigned tiers, double **times);
struct decision reel_tiers_decide(const reel_schedule *schedule, int64_t steps, bool held);

/* plan.c: the mistake for which reel_plan_open() would refuse it, and the remedy; or NULL. */
const char *reel_plan_problem(enum reel_planner planner, const struct reel_problem *problem);

static inline bool reel_schedule_top_holds_working_state(const reel_schedule *schedule)
{
	return schedule->levels > 0 &&
	       schedule->level[schedule->levels - 1].first == schedule->at;
}

/*
 * Bytes that a store takes in a second, for REEL_AUTO, as long as nothing is known of it. For each
 * state that is left out a step runs again, which costs less than to wait for a slow store.
 */
#define REEL_ASSUMED_BANDWIDTH 5e8

/* Returns true if the plan is of REEL_AUTO. */
static inline bool reel_plan_learns(const reel_plan *plan)
{
	return plan->planner == &reel_planner_auto;
}

/* schedule.c: returns true if the plan learns, and the forward sweep has not ended. */
bool reel_schedule_learns(const reel_schedule *schedule);
/* Returns true if the last steps of the loop, which are known, are on the tape. */
bool reel_schedule_is_recorded(const reel_schedule *schedule);
/* Returns true if a tape begins with this step, which was just given to be recorded. */
bool reel_schedule_begins_tape(const reel_schedule *schedule, int64_t step);

/*
 * The place of a schedule without tapes and sites, besides its levels: for restart files of plans
 * that learn.
 */
struct schedule_place {
	int64_t steps, at, end;
	uint32_t phase, levels;
	struct reel_costs costs;
};

struct schedule_place reel_schedule_place(const reel_schedule *schedule);
/* Goes to a place. Returns 0, or -EBADMSG: the schedule has no such place; then it has begun. */
int reel_schedule_go_to(reel_schedule *schedule, const struct schedule_place *place,
			const struct level *level);
/* Returns true if the next action does not use the working state. */
bool reel_schedule_returns(const reel_schedule *schedule);

/* schedule.c: claims a slot for the working state and pushes a level; removes a level. */
void reel_schedule_push_level(reel_schedule *schedule, unsigned tier, reel_action *action);
void reel_schedule_pop_level(reel_schedule *schedule, unsigned level, reel_action *action);
/* schedule.c: records the next step; gives up the last tape, which is this level. */
void reel_schedule_record_step(reel_schedule *schedule, reel_action *action);
void reel_schedule_forget(reel_schedule *schedule, unsigned level, reel_action *action);
/* Advances in the sweep. Returns -EAGAIN if the loop may end on the way, and else 0. */
int reel_schedule_sweep_to(reel_schedule *schedule, int64_t last, reel_action *action);

/* Number of slots of the first `tiers` tiers, all of which are limited. */
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
