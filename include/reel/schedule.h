/* SPDX-License-Identifier: MIT */
/*
 * Schedules: what to run, record, reverse, store and load, and when, so that a
 * long loop is reversed with memory for a few of its states.
 *
 *	struct reel_problem problem = {.steps = 1000, .tiers = 1, .tier = {{.slots = 10}}};
 *	reel_plan *plan;
 *	reel_schedule schedule;
 *	reel_action action;
 *
 *	error = reel_plan_open(&plan, REEL_BINOMIAL, &problem);
 *	reel_schedule_begin(&schedule, plan);
 *	do {
 *		error = reel_schedule_next(&schedule, &action);
 *		carry it out
 *	} while (!error && action.kind != REEL_ACTION_DONE);
 *	reel_plan_close(plan);
 *
 * The loop has steps 0 to steps - 1; state i is that before step i. There is one
 * working state, at first state 0, and slots that hold copies of states, in
 * tiers: memory, then slower ones. Recording a step needs its state in the working
 * state and leaves a tape, which reversing takes away. A plan holds what was
 * computed for a problem; a schedule walks through it: integers only, no allocation,
 * no system call, and a copy of the struct is a schedule of its own, so that one
 * can look ahead.
 *
 * Slots count the one that holds state 0.
 *
 * Threads. A plan is read only once it is open: any number of threads may walk
 * through it, each with its own schedule.
 */
#ifndef REEL_SCHEDULE_H
#define REEL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REEL_MAX_TIERS 4
/*
 * Of all tiers together; of all but the last one, which has no limit, of REEL_TWO_LEVEL,
 * REEL_PERIODIC and REEL_DISK_REVOLVE: one less. A loop that could use more is grouped
 * into segments.
 */
#define REEL_MAX_SLOTS 256
#define REEL_MAX_STEPS ((int64_t)1 << 40)
/* Of REEL_MIXED, REEL_HIERARCHICAL and REEL_DISK_REVOLVE, which compute a table. */
#define REEL_MAX_TABLE_STEPS ((int64_t)1 << 14)
/* steps of a loop whose end is not known when it begins. */
#define REEL_UNKNOWN_STEPS (-1)

struct reel_tier {
	int64_t slots;
	/* In the time of one step's advance; at most 1e100, as all costs. */
	double store_cost;
	double load_cost;
};

/* All zero but for steps, tiers and slots is a sensible problem. */
struct reel_problem {
	int64_t steps;
	/* Relative to each other; 0: 1. */
	double advance_cost;
	double record_cost;
	double reverse_cost;
	/*
	 * The memory of one step's tape, in states of the first tier, where tapes take
	 * up its slots; but the step recorded last is reversed at once and takes up
	 * none. 0: tapes have memory of their own. REEL_MIXED: 0 is 1.
	 */
	int64_t tape_states;
	/*
	 * REEL_TWO_LEVEL, REEL_PERIODIC: steps between states of the last tier, at most
	 * REEL_MAX_STEPS; 0: chosen.
	 */
	int64_t period;
	unsigned tiers;
	struct reel_tier tier[REEL_MAX_TIERS];
	/* For options to come: all 0. */
	uint64_t reserved[3];
};

enum reel_planner {
	REEL_STORE_ALL,    /* record all steps, then reverse them */
	REEL_BINOMIAL,     /* least advances, then least stores; the first tier (Revolve) */
	REEL_MIXED,        /* keeps tapes of steps where that is better than states */
	REEL_MULTISTAGE,   /* binomial over all tiers' slots; the busiest in the first tier */
	REEL_TWO_LEVEL,    /* a state each period in the last tier, binomial in between */
	REEL_HIERARCHICAL, /* least time with the tiers' costs (H-Revolve) */
	REEL_DISK_REVOLVE, /* the same; the last tier is unlimited, each state read once */
	REEL_PERIODIC,     /* the same with even gaps, for an unknown end too */
	REEL_ONLINE,       /* for an unknown end: thinning, then the optimum in each gap */
	REEL_PLANNERS
};

enum reel_action_kind {
	REEL_ACTION_ADVANCE, /* run steps first to last - 1 from state first */
	REEL_ACTION_RECORD,  /* the same, and record them */
	REEL_ACTION_REVERSE, /* reverse steps last - 1 down to first, which were recorded last */
	REEL_ACTION_STORE,   /* copy the working state, which is state first, to a slot */
	REEL_ACTION_LOAD,    /* copy a slot, which holds state first, to the working state */
	REEL_ACTION_DROP,    /* the slot is not needed any more */
	REEL_ACTION_DONE     /* all steps have been reversed and all slots are empty */
};

typedef struct reel_action {
	enum reel_action_kind kind;
	int64_t first;
	int64_t last;
	unsigned tier;
	unsigned slot;  /* 0 to the tier's slots - 1 */
	bool last_use;  /* of a LOAD: the DROP of this slot is the next action */
} reel_action;

typedef struct reel_plan reel_plan;

/* A walk through a plan. Copied by assignment; its members are the library's own. */
typedef struct reel_schedule {
	const reel_plan *plan;
	int64_t steps;
	int64_t at;     /* the working state */
	int64_t end;    /* the steps from here on have been reversed */
	int64_t passed; /* where the last ADVANCE with an unknown end began */
	int64_t ahead;
	int64_t stride;
	int64_t sites;
	int64_t tape_steps;
	struct {
		int64_t first; /* a state in a slot, or the first step of a tape */
		int64_t last;  /* of a tape */
		uint32_t tier;
		uint32_t slot;
	} level[REEL_MAX_SLOTS];
	unsigned levels;
	unsigned phase;
	unsigned stale;
	uint16_t in_use[REEL_MAX_TIERS];
	uint64_t used[REEL_MAX_SLOTS / 64];
	uint64_t reserved[2];
} reel_schedule;

/*
 * Compute a plan. Returns 0, -ENOMEM, or -EINVAL (reel_plan_problem() says why).
 * Cost: none for the planners with a closed form; O(steps^2 slots) for REEL_MIXED,
 * REEL_HIERARCHICAL and REEL_DISK_REVOLVE, slots being those of all tiers with limited
 * ones: group long loops into at most 1,000 segments.
 */
int reel_plan_open(reel_plan **plan, enum reel_planner planner, const struct reel_problem *problem);
void reel_plan_close(reel_plan *plan);

/*
 * A plan of the caller's own: `count` actions, which are not copied and outlive it;
 * REEL_ACTION_DONE follows the last one. 0, -ENOMEM, or -EINVAL: there is no problem or no list, or
 * the problem has steps below 0 or too many tiers. reel_plan_check() judges the list.
 */
int reel_plan_open_actions(reel_plan **plan, const struct reel_problem *problem,
			   const reel_action *actions, size_t count);

/* Say in words what reel_plan_open() would refuse, or NULL. A constant string. */
const char *reel_plan_problem(enum reel_planner planner, const struct reel_problem *problem);

/* "binomial" and so on; and the reverse: 0 or -EINVAL. */
const char *reel_planner_name(enum reel_planner planner);
int reel_planner_by_name(const char *name, enum reel_planner *planner);

/* Begin a walk at the plan's first action. */
void reel_schedule_begin(reel_schedule *schedule, const reel_plan *plan);

/*
 * The next action. After REEL_ACTION_DONE again REEL_ACTION_DONE. Returns 0, or -EAGAIN: the loop's
 * end is not known; the action is an ADVANCE to where a state may have to be stored,
 * and the caller who learns the end on the way calls reel_schedule_end().
 * Cost: some tens of nanoseconds.
 */
int reel_schedule_next(reel_schedule *schedule, reel_action *action);

/*
 * The loop ends after `steps` steps, and the working state is state `at`: one that
 * the last ADVANCE has passed or come to. Who knows that a step is the last before he
 * runs it saves that run: at = steps - 1.
 * 0, or -EINVAL: the end is known, or the numbers cannot be.
 */
int reel_schedule_end(reel_schedule *schedule, int64_t steps, int64_t at);

struct reel_schedule_report {
	int64_t advances, recorded, reversed; /* steps */
	int64_t stores[REEL_MAX_TIERS], loads[REEL_MAX_TIERS];
	int64_t peak_slots[REEL_MAX_TIERS];
	int64_t peak_tape_steps;  /* recorded and not reversed */
	int64_t actions;
	double makespan;          /* one worker, nothing overlapped */
	/* Where it is wrong: the action's number and what is wrong with it; NULL: nothing. */
	int64_t wrong_action;
	const char *wrong;
	uint64_t reserved[4];     /* 0 */
};

/*
 * Replay a plan from its first action to its last, against the capacities of `problem`
 * (NULL: those it was made for): order of steps, what each slot holds, that each step
 * is reversed once, from the last to the first, that no slot is left. An unknown end
 * is met in state `steps`, which is of no account otherwise.
 * Returns 0; -EBADMSG, and the report says what is wrong; -EINVAL: an unknown end that
 * is met in a state below 0; or -ENOMEM. Cost: some tens of nanoseconds an action.
 */
int reel_plan_check(const reel_plan *plan, const struct reel_problem *problem, int64_t steps,
		    struct reel_schedule_report *report);

/*
 * Report the counts of reel_plan_check() without the replay: in closed form, but for planners
 * that compute a table and for the caller's own actions, which are replayed.
 * Returns 0; -EINVAL: an unknown end that is met in a state below 0 or above REEL_MAX_STEPS;
 * -EOVERFLOW: the plan advances by more than INT64_MAX steps, then `advances` is INT64_MAX and
 * `makespan` has no meaning; or an error of reel_plan_check(). Any thread may call it.
 * Cost: at most some hundredths of a second, for any number of steps.
 */
int reel_plan_count(const reel_plan *plan, int64_t steps, struct reel_schedule_report *report);

#ifdef __cplusplus
}
#endif

#endif
