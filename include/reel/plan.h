/* SPDX-License-Identifier: MIT */
/*
 * Schedules: the order in which to run, record, reverse, store and load, so that a long loop is
 * reversed with memory for a few of its states.
 *
 *	struct reel_problem problem = {.steps = 1000, .tiers = 1, .tier = {{.slots = 10}}};
 *	reel_plan *plan;
 *	reel_schedule *schedule;
 *	reel_action action;
 *
 *	error = reel_plan_open(&plan, REEL_BINOMIAL, &problem);
 *	error = reel_schedule_open(&schedule, plan);
 *	do {
 *		error = reel_schedule_next(schedule, &action);
 *		carry it out
 *	} while (!error && action.kind != REEL_ACTION_DONE);
 *	reel_schedule_close(schedule);
 *	reel_plan_close(plan);
 *
 * The loop has steps 0 to steps - 1; state i is the state before step i. There is one working
 * state, at first state 0. Slots hold copies of states. They are in tiers: memory, then slower
 * tiers. A step is recorded from the working state and leaves a tape, which is gone when the step
 * is reversed. The number of slots includes the slot of state 0.
 *
 * A plan holds the result computed for a problem. A schedule walks through it with integers alone;
 * only opening it needs allocations. A copy is another schedule, with which a program can look
 * ahead.
 *
 * Threads. A plan does not change after it was opened. Any number of threads may walk through it,
 * each with a schedule of its own.
 */
#ifndef REEL_PLAN_H
#define REEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <reel/pool.h>
#include <reel/run.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Maximum number of slots in all tiers together. REEL_TWO_LEVEL, REEL_PERIODIC and
 * REEL_DISK_REVOLVE do not count the last tier, which is unlimited, and may use one slot less. A
 * loop that could use more slots is grouped into segments. REEL_MIXED, REEL_HIERARCHICAL and
 * REEL_DISK_REVOLVE compute a table, and have at most REEL_MAX_TABLE_SLOTS.
 */
#define REEL_MAX_SLOTS 4096
#define REEL_MAX_TABLE_SLOTS 256
#define REEL_MAX_STEPS ((int64_t)1 << 40)
/*
 * Maximum number of steps for REEL_MIXED, REEL_HIERARCHICAL and REEL_DISK_REVOLVE, which compute a
 * table.
 */
#define REEL_MAX_TABLE_STEPS ((int64_t)1 << 14)

/* The next step of a program that walks through a plan, or drives a run. */
enum reel_action_kind {
	REEL_ACTION_ADVANCE, /* run steps first to last - 1 from state first */
	REEL_ACTION_RECORD,  /* the same, and record them */
	REEL_ACTION_REVERSE, /* reverse steps last - 1 down to first, which were recorded last */
	REEL_ACTION_STORE,   /* copy the working state, which is state first, to a slot */
	REEL_ACTION_LOAD,    /* copy a slot, which holds state first, to the working state */
	REEL_ACTION_DROP,    /* the slot is not needed any more */
	REEL_ACTION_DONE,    /* all steps have been reversed and all slots are empty */
	/* REEL_AUTO: the tape of steps first to last - 1, recorded last, is not needed any more */
	REEL_ACTION_FORGET
};

typedef struct reel_action {
	enum reel_action_kind kind;
	int64_t first;
	int64_t last;
	unsigned tier;
	unsigned slot; /* 0 to the tier's slots - 1 */
	bool last_use; /* of a LOAD: the DROP of this slot is the next action */
} reel_action;

/* A walk through a plan. */
typedef struct reel_schedule reel_schedule;

/*
 * Opens a plan that the caller made: `count` actions, which are not copied and outlive the plan.
 * The schedule adds REEL_ACTION_DONE after the last one. Returns 0, -ENOMEM, or -EINVAL: there is
 * no problem or no list, or the problem has steps below 0 or too many tiers. reel_plan_check()
 * checks the list.
 */
int reel_plan_open_actions(reel_plan **plan, const struct reel_problem *problem,
			   const reel_action *actions, size_t count);

/* ---- Loops whose steps differ -------------------------------------------------- */

/* A step. Times are in any unit. */
struct reel_uneven_step {
	double advance;       /* time to run the step */
	double record;        /* time to run and record it */
	double reverse;       /* time to reverse it */
	uint64_t state_bytes; /* of the state before the step */
	uint64_t tape_bytes;  /* that the step leaves when it is recorded */
	uint64_t work_bytes;  /* that it needs besides while it runs or is reversed */
};

#define REEL_MAX_UNEVEN_STEPS 512

struct reel_uneven_problem {
	size_t steps;
	const struct reel_uneven_step *step;
	uint64_t memory_bytes;  /* for states, tapes and work; not for the working state */
	double store_bandwidth; /* bytes to the store behind memory in a unit of time; 0: none */
	double load_bandwidth;  /* bytes that come back from it; 0: there is no store */
	uint64_t flags;         /* REEL_UNEVEN_OWN_STATES or 0 */
	uint64_t reserved[3];   /* 0 */
};

/*
 * A step that is run again begins in its own state, which was kept, and runs again once. For
 * programs that run the steps in the forward sweep themselves, and whose steps the reverse sweep
 * can run again only one by one.
 */
#define REEL_UNEVEN_OWN_STATES 1u

/*
 * Opens the plan that reverses uneven steps in the least time. Of each step it keeps the tape, or
 * runs the step again from a state before it that it keeps, and keeps each of them in memory or in
 * the store (Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova 2019, "Optimal checkpointing for
 * heterogeneous chains", with a store). The steps are copied. The `tier` of a RECORD is 0 if the
 * tapes stay in memory, 1 if they go to the store; the pool of a run sends them there by itself.
 *
 * The memory is never exceeded. The plan is the fastest of those that reverse all steps above a
 * kept state before they load a state below it. Others are rarely faster: of 15,000 random problems
 * of up to four steps two had a faster one, by 7 and 11 %. The times are computed at 30,000 levels
 * of memory for 12 steps, and 80 to 200 for 200 steps: with 12 steps no such plan is faster, with
 * 200 steps one may be faster by up to 1 %.
 *
 * Returns 0; -EINVAL, a number is wrong; -ENOSPC, no plan fits into the memory; or -ENOMEM. Cost:
 * O(steps^3 levels), about 0.05 s for 200 steps, and 32 MiB of memory meanwhile.
 */
int reel_plan_open_uneven(reel_plan **plan, const struct reel_uneven_problem *problem);

/* The name of a planner, "binomial" for example; and the planner of a name: 0 or -EINVAL. */
const char *reel_planner_name(enum reel_planner planner);
int reel_planner_by_name(const char *name, enum reel_planner *planner);
/*
 * The name of an action, "advance" for example. In both functions the name of an invalid number is
 * "unknown".
 */
const char *reel_action_name(enum reel_action_kind kind);

/*
 * Opens a schedule, which is at the first action of the plan; the plan outlives it. Returns 0 or
 * -ENOMEM. NULL can be closed.
 */
int reel_schedule_open(reel_schedule **schedule, const reel_plan *plan);
void reel_schedule_close(reel_schedule *schedule);

/* Goes back to the first action of the plan. */
void reel_schedule_begin(reel_schedule *schedule);

/* Moves `to` to the position of `from`. Returns 0, or -EINVAL: they belong to different plans. */
int reel_schedule_copy(reel_schedule *to, const reel_schedule *from);

/*
 * Gives the next action; after REEL_ACTION_DONE again REEL_ACTION_DONE. Returns 0, or -EAGAIN if
 * the end of the loop is not known. Then the action is an ADVANCE to a state that may have to be
 * stored, or of REEL_AUTO also a RECORD of one step. If the caller reaches the end on the way, or
 * before that step, it calls reel_schedule_end(). Cost: some tens of nanoseconds; of REEL_ONLINE,
 * while the end is not known, some tens for each slot.
 */
int reel_schedule_next(reel_schedule *schedule, reel_action *action);

/*
 * Gives up to `n` actions at once, for callers to which a call costs more than an action, and
 * returns their number. It stops after REEL_ACTION_DONE and, while the end of the loop is not
 * known, after an action in which the loop may end: either is the last action given.
 */
size_t reel_schedule_take(reel_schedule *schedule, reel_action *actions, size_t n);

/*
 * Tells the schedule that the loop ends after `steps` steps, and that the working state is state
 * `at`, which the last action has passed or come to. A caller that knows before the last step that
 * it is the last need not run it: at = steps - 1. Returns 0, or -EINVAL: the end is known already,
 * or these numbers are impossible.
 */
int reel_schedule_end(reel_schedule *schedule, int64_t steps, int64_t at);

struct reel_schedule_report {
	int64_t advances, recorded, reversed; /* steps */
	int64_t stores[REEL_MAX_TIERS], loads[REEL_MAX_TIERS];
	int64_t peak_slots[REEL_MAX_TIERS];
	int64_t peak_tape_steps; /* recorded and not reversed */
	int64_t actions;
	double makespan; /* one worker, nothing overlapped */
	uint64_t peak_bytes; /* of uneven states, tapes and work in memory */
	/* The number of the first wrong action, and the mistake; NULL: no mistake. */
	int64_t wrong_action;
	const char *wrong;
	uint64_t reserved[3]; /* 0 */
};

/*
 * Replays a plan and checks it against the capacities of `problem` (NULL: the problem that the plan
 * was made for): the order of steps, the contents of each slot, that each step is reversed once,
 * from the last to the first, and that no slot is left in use. If the end of the loop is unknown,
 * it is met in state `steps`; otherwise `steps` is ignored.
 *
 * Returns 0; -EBADMSG, and the report has the mistake; -EINVAL: an unknown end is met in a state
 * below 0; or -ENOMEM. Cost: some tens of nanoseconds for each action.
 */
int reel_plan_check(const reel_plan *plan, const struct reel_problem *problem, int64_t steps,
		    struct reel_schedule_report *report);

/* ---- Plans and pools from texts ----------------------------------------------- */

/*
 * Chooses the planner of a problem from a text, and fills in the members that the problem leaves
 * open, in the same way for all programs of Reel. The caller has set the steps, and other known
 * members.
 *
 *   auto                learns the loop and the machine: see reel_plan_open_auto()
 *   binomial:SLOTS, online:SLOTS, disk-revolve:SLOTS
 *   mixed:SLOTS:TAPE_STATES
 *   multistage:SLOTS:STORE_SLOTS, hierarchical:SLOTS:STORE_SLOTS
 *   two-level:SLOTS:PERIOD, periodic:SLOTS:PERIOD
 *   store-all
 *   all               the state before each step: two-level:1:1
 *
 * SLOTS is by default the square root of the number of steps, or 30 if that is not known or online,
 * and 1,024 of auto, which may also have it; TAPE_STATES and PERIOD may also be left out. A second
 * tier costs 5 steps for each store and each load if the problem has no costs for it, and is
 * unlimited where the text has no number for it. If the problem has tiers, they stay as they are,
 * and the text is the name of a planner alone.
 *
 * NULL for the text is REEL_PLAN in the environment, where binomial means online if the number of
 * steps is not known, or else REEL_AUTO. For a problem that has tiers NULL is REEL_BINOMIAL, or
 * REEL_ONLINE where the number of steps is not known. Of two tiers it is REEL_TWO_LEVEL if there is
 * a period; else REEL_PERIODIC where the number of steps is not known; else REEL_HIERARCHICAL if
 * the second tier has costs, up to 1,000 steps and 256 slots; else REEL_MULTISTAGE.
 *
 * Returns 0, or -EINVAL with a text that names the mistake; then nothing is changed. Problems that
 * reel_plan_open() refuses, such as too many slots, are not refused here. Any thread.
 */
int reel_problem_from_text(struct reel_problem *problem, enum reel_planner *planner,
			   const char *text);

/*
 * "4096", "512M", "1.5G": a number of bytes, and optionally K, M, G or T, units of 1,024. Returns
 * 0, -EINVAL, or -ERANGE: more than the address space; then *bytes is unchanged. Leaves no text.
 */
int reel_parse_bytes(const char *text, size_t *bytes);

/*
 * Sets the options of a pool from three texts, as reel_pool_default() reads REEL_BUDGET, REEL_STORE
 * and REEL_SPILL_DIR. The caller has set slab_bytes if it is not 0, and may set other options
 * afterwards.
 *
 *   budget     "4G", "60%" or "auto"; bytes are not compared with the system's limit. NULL: "auto"
 *              with a store, else no bound except the limit of a control group
 *   store      as reel_store_open() describes it. NULL: "file" if there is a directory, else none
 *   directory  directory of the file. NULL: REEL_SPILL_DIR, SLURM_TMPDIR or TMPDIR
 *
 * With a store the pool gets REEL_POOL_OBEY_LIMITS. options->store is open and belongs to the
 * caller until reel_pool_open() takes it.
 *
 * Returns 0; -EINVAL, with a text that names the word that is wrong; or as reel_store_open(). On
 * failure *options is unchanged and no store is open. Any thread. Cost: some dozen files are read
 * to find the system's limit.
 */
int reel_pool_options_from_text(struct reel_pool_options *options, const char *budget,
				const char *store, const char *directory);

/* ---- Runs that are driven ----------------------------------------------------- */

/*
 * A program that owns its time loop asks for the next action and carries it out itself:
 *
 *	struct reel_part state = {x, n * sizeof *x};
 *	struct reel_run_options options = {.state_part = &state, .state_parts = 1};
 *
 *	error = reel_run_open(&run, plan, NULL, &options);
 *	error = reel_run_start(run, NULL, NULL, NULL);
 *	while (!(error = reel_run_next(run, &action)) && action.kind != REEL_ACTION_DONE)
 *		advance, record or reverse steps action.first to action.last - 1
 *
 * Begins both sweeps of a run that is driven, from `state` as state 0, as reel_run_forward() does.
 * After reel_run_resume() it continues from there, and `state` is overwritten. The model's save and
 * load, finished and save_adjoint are called with these arguments until the sweeps end, from
 * reel_run_next(). `state` is NULL if it is in parts; `adjoint` is needed only for restart files. A
 * run with callbacks may also be driven; its record, reverse and advance are then not called.
 *
 * Returns as reel_run_forward(); or -EINVAL, the run writes restart files and `adjoint` is NULL.
 */
int reel_run_start(reel_run *run, void *context, void *state, void *adjoint);

/*
 * Says that the last action was carried out, and gives the next one: an ADVANCE, a RECORD, a
 * REVERSE or DONE. Steps are the model's. This function stores and loads states itself, and writes
 * restart files.
 *
 * An ADVANCE and a RECORD begin in state action->first: when the function returns, the program's
 * state is that one. The first REVERSE comes when the state is the last state. The program itself
 * keeps the data of a RECORD for its REVERSE, or pushes it on reel_run_tape(), which is then
 * checked as for callbacks. With REEL_RUN_AUDIT, and while the end of the loop is not known, an
 * ADVANCE has one step. A run with REEL_RUN_COPIES also gives STORE and LOAD, with their tier and
 * slot: action->first is the number of the state.
 *
 * Returns 0; the number passed to reel_run_stop(); as reel_run_forward() and reel_run_reverse(); or
 * -EINVAL, no sweep was started, or the last sweep has ended. An error and DONE end the sweeps;
 * after an error *action is also DONE. Collective on several ranks (mpi.h), which agree on errors.
 * The look-ahead of omp.h does not continue driven sweeps (-EINVAL).
 *
 * Cost: some tens of nanoseconds beside stores and loads, and two looks at the clock.
 */
int reel_run_next(reel_run *run, reel_action *action);

/*
 * A flag of a run that is driven: reel_run_next() also gives STORE and LOAD, and the program
 * carries them out by reel_run_copy(). For programs that know the place of their state only at that
 * moment. The model has save and load, and no other callbacks. Not with REEL_RUN_AUDIT, nor with
 * restart files.
 */
#define REEL_RUN_COPIES 2u

/*
 * Carries out the STORE or LOAD that reel_run_next() has given, in a run with REEL_RUN_COPIES.
 * Calls the model's save or load with this context and the state of reel_run_start(). After an
 * error the next reel_run_next() also returns it, and ends the sweeps.
 *
 * Returns 0; the result of save or load; as reel_run_next(); or -EINVAL, the last action was
 * neither or was copied already.
 */
int reel_run_copy(reel_run *run, void *context);

/*
 * Says, before reel_run_next(), that the loop of a plan of REEL_UNKNOWN_STEPS ends in the state to
 * which the last ADVANCE has led; or before the first action, in state 0. On several ranks, a call
 * on one rank ends the loop on all. Returns 0; or -EINVAL, the end is known, as after an earlier
 * call, or no forward sweep is driven.
 */
int reel_run_end_loop(reel_run *run);

/*
 * Says that the last action could not be carried out, or that the sweeps end here: the next
 * reel_run_next() returns `error`. Below 0 it is an error, and the other ranks return -ECANCELED.
 * Above 0 the sweeps stop early, and all ranks return the largest number of any rank.
 */
void reel_run_stop(reel_run *run, int error);

/*
 * Sets the time that the last action has taken, for the statistics. The default is the time from
 * one reel_run_next() to the next, which is wrong for a device, or with other work in between.
 */
void reel_run_set_time(reel_run *run, uint64_t ns);

/*
 * The tape of the run. It is open, on the run's pool. The run owns it, and no other call may use it
 * at the same time.
 */
reel_tape *reel_run_tape(reel_run *run);

/* ---- A sweep in pieces ------------------------------------------------------- */

/*
 * Gives the next action of the reverse sweep to a program that carries actions out itself, several
 * at a time for example; REEL_ACTION_DONE at the end. Starts to read snapshots that later actions
 * need. REEL_ACTION_DONE removes the restart file, so a program that carries out several actions at
 * a time has finished all of them before. A program that carries out one at a time drives the run
 * instead. Returns 0 or as reel_run_reverse(). One thread. Collective on several ranks at DONE.
 */
int reel_run_take(reel_run *run, reel_action *action);

/*
 * Carries an action out with this state, adjoint and tape. Those that the action does not use may
 * be NULL. With a NULL tape it uses the tape of the run, which holds the recording of the forward
 * sweep: a REVERSE of these steps needs it. Several threads may call it at the same time, if
 * actions on the same slot, state, tape or adjoint are carried out in the order of reel_run_take().
 * Not with REEL_RUN_AUDIT.
 *
 * Returns as reel_run_reverse(). A STORE or LOAD that failed was not carried out. After -EDQUOT or
 * -ENOMEM it may be tried again while other actions are under way, since they give memory back; if
 * no action is under way, the error is final. Also -EINVAL: the model has no callbacks.
 */
int reel_run_carry_out(reel_run *run, const reel_action *action, void *context, void *state,
		       void *adjoint, reel_tape *tape);

/* Returns the number of steps of the model, or REEL_UNKNOWN_STEPS while it is not known. */
int64_t reel_run_steps(const reel_run *run);

/* Ends a sweep in pieces before its last action. A forward sweep comes next. */
void reel_run_give_up(reel_run *run);

/* ---- Which way to reverse takes the least time ------------------------------ */

/* Memory slower than the first tier, which is memory itself. */
struct reel_cost_tier {
	uint64_t bytes;         /* 0: no limit */
	double write_bandwidth; /* bytes a second; 0: writing takes no time */
	double read_bandwidth;  /* the same */
	double latency;         /* seconds that a transfer takes besides */
	uint64_t reserved[2];   /* 0 */
};

struct reel_costs {
	int64_t steps;
	double advance_seconds; /* to run a step; 0: 1, so that times are in steps */
	double record_seconds;  /* to run and record it; 0: as advance_seconds */
	double reverse_seconds; /* 0: as record_seconds */
	double copy_seconds;    /* to store a state in memory, or to load it; 0: no time */
	uint64_t state_bytes;
	uint64_t tape_bytes;   /* of one step */
	uint64_t memory_bytes; /* for states and tapes together; 0: no limit */
	unsigned workers;      /* threads that record and reverse; 0: 1 */
	unsigned tiers;        /* slower ones, fastest first */
	struct reel_cost_tier tier[REEL_MAX_TIERS - 1];
	double touch_seconds; /* to use a byte of memory for the first time; 0: no time */
	uint64_t reserved[3]; /* 0 */
};

/* One way to reverse the loop, with its predicted time and memory. */
struct reel_prediction {
	enum reel_planner planner;
	/* Segments whose tapes exist at once: 1 + those recorded ahead of the reverse chain. */
	unsigned tapes;
	/* REEL_STORE_ALL: tapes are spilled to the slower tiers by the pool. */
	bool spills;
	/* 0: there is no such way. */
	int64_t segment_steps;
	/*
	 * Its steps are segments, its costs seconds; its tiers are memory and the slower
	 * ones in their order. Of REEL_MIXED a slot may be larger than a state, to be of the
	 * order of a tape; peak_memory_bytes is of true states.
	 */
	struct reel_problem problem;
	double makespan;                        /* seconds */
	uint64_t peak_memory_bytes;             /* states, tapes, buffers of transfers */
	uint64_t written_bytes[REEL_MAX_TIERS]; /* [0]: states copied within memory */
	uint64_t read_bytes[REEL_MAX_TIERS];
	int64_t advances; /* steps run without being recorded */
	uint64_t reserved[4];
};

struct reel_choice {
	struct reel_prediction best;
	/* The best choice with another planner, or with spilled tapes if `best` does not spill. */
	struct reel_prediction runner_up;
	/* The cost of the runner-up; after -ENOSPC or -EINVAL the mistake and the remedy. */
	char reason[256];
	uint64_t reserved[4];
};

/*
 * Choose how to reverse the loop in the least time: all tapes in memory; all tapes, spilled; or
 * states in memory and in the slower tiers, by every planner for a known end. Segment lengths are
 * tried from 2,000 segments a loop up, about the length with the smallest states and tapes,
 * sqrt(steps state_bytes / tape_bytes), by factors of sqrt(2), and all up to 8 steps; down to 2^20
 * segments by the binomial planner, which needs no table. Of equal times the one with less memory
 * is taken. A plan's slots and tapes all fit the memory at once, though it may never use all of
 * them together.
 *
 * Predictions come from a walk through the plan itself, with a clock:
 *   - a store or load takes copy_seconds of the loop's time, in any tier;
 *   - growth of tapes, or of states, beyond their earlier maximum takes touch_seconds
 *     a byte: the system has to find and clear the memory;
 *   - a slower tier has one buffer of a state for writing and one for reading, which are
 *     part of the memory, and does one transfer at a time. A store waits for the buffer,
 *     a load for its state; a state is read as soon as the one before has been taken;
 *   - a sweep that spills takes the longer of computing and of transferring the bytes
 *     that have no room in memory;
 *   - where the state of each segment is kept, and memory is for more tapes, workers
 *     record segments ahead: the reverse phase takes the longer of all reversals one by one, all
 *     work shared by one worker per tape, and all reads; and the recording of a segment in advance.
 * More memory does not make the makespan longer if there are no slower tiers, and copy_seconds and
 * touch_seconds are 0; otherwise it may, by some hundredths, depending on the overlap of transfers.
 *
 * Returns 0; -ENOSPC: nothing fits the memory, and choice->reason has the amount that would
 * suffice; -EINVAL: a number is out of its range, which for times and bandwidths is 0 and 1e-25 to
 * 1e25; or -ENOMEM. Nothing stays allocated. Cost: at most some tenths of a
 * second; up to a second with several slower tiers.
 */
int reel_costs_choose(const struct reel_costs *costs, struct reel_choice *choice);

/*
 * Measure the loop's first steps: fills in advance_seconds, record_seconds, reverse_seconds,
 * copy_seconds, touch_seconds, state_bytes and tape_bytes; needs costs->steps, at least 1. Steps 0,
 * 1, ... are run from `state`. At a time, the function runs enough steps for a millisecond, and for
 * 16 MiB of tape, which leave the caches, unless recording them takes more than 8 ms; and few
 * enough to leave the memory half empty. It runs them from the start several times, and takes the
 * medians.
 *
 * Then memory of a pool like the tape's, up to 64 MiB or a quarter of memory_bytes, is filled for
 * the first and for a second time, 20 ms each: touch_seconds is the difference. It is 0 if there is
 * no memory for that. A virtual machine whose host provides memory only at its first use may take
 * longer for memory that it has never used.
 *
 * `state` is state 0; it and the tape are unchanged afterwards. `adjoint` is passed to
 * model->reverse: a scratch adjoint; its contents, and anything the model accumulates in its
 * context, are discarded. NULL: reversing is not measured, and reverse_seconds is unchanged.
 *
 * Returns 0, a callback's error, the tape's error, -EINVAL for steps below 1, -EBADMSG if reversing
 * does not pop the values that recording has pushed, or -ENOMEM; then costs, state and tape are
 * unchanged, except for a tape with an error. Cost: up to half a second, more if a step takes more
 * than a millisecond.
 */
int reel_costs_measure(struct reel_costs *costs, reel_tape *tape, const reel_model *model,
		       void *context, void *state, void *adjoint);

/* ---- Plans that learn --------------------------------------------------------- */

/*
 * Opens a plan of REEL_AUTO, which needs no parameter: its schedules learn the loop and the machine
 * in the forward sweep. They record steps while the tapes have room in memory, or while a store
 * takes and returns tapes faster than steps run again; otherwise they keep states. The number of
 * steps need not be known. A run measures, and tells its schedule, by itself; it measures reversals
 * and the reads of a store in one gradient for the next. Its memory is the budget of its pool, or
 * half of the system's limit.
 *
 * `problem` gives the steps and the flags; without tiers it gets one with 1,024 slots. A schedule
 * begins with the knowledge of `costs`, which is copied: a member that is not above 0 is not known,
 * and NULL knows nothing.
 *
 * On random machines (tests/plan/t-auto.c) 97 of 100 loops of an unknown end, and 99 of 100 of a
 * known end, take at most 1.10 of the time of the best plan of reel_costs_choose(). Loops that
 * keep states alone are as near to the best of binomial plans and plans of two levels.
 *
 * The run drops the tape of a FORGET itself. A program that keeps the data of a RECORD elsewhere
 * than on the tape of the run sets REEL_REVERSE_AT_ONCE; if the first step leaves nothing on the
 * tape, the plan goes on as with this flag. With a restart file a sweep keeps no tape of more than
 * a sixteenth of the loop.
 *
 * Returns as reel_plan_open(). Cost of a step in the forward sweep, while the end is not known:
 * some tens of nanoseconds, and for each state that is kept about a hundred for each slot in use.
 */
int reel_plan_open_auto(reel_plan **plan, const struct reel_problem *problem,
			const struct reel_costs *costs);

/*
 * Tells a schedule of REEL_AUTO the costs that are known now: times and bytes of a step so far, the
 * memory for states and tapes together, and the bandwidths and the room of the stores behind it.
 * Without effect on other plans. A program calls it before reel_schedule_next(), in the forward
 * sweep and when that has ended.
 */
void reel_schedule_learn(reel_schedule *schedule, const struct reel_costs *costs);

#ifdef __cplusplus
}
#endif

#endif
