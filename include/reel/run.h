/* SPDX-License-Identifier: MIT */
/*
 * Checkpointing: a long loop is reversed with memory for a few of its states, by a plan. A run owns
 * the loop, its tape and its snapshots; the program passes callbacks over a state that is an
 * argument (model.h).
 *
 *	struct reel_problem problem = {.steps = 1000, .tiers = 1, .tier = {{.slots = 10}}};
 *	reel_plan *plan;
 *	reel_model model = {.state_bytes = sizeof state, .advance = advance,
 *			    .record = record, .reverse = reverse};
 *	reel_run *run;
 *
 *	error = reel_plan_open(&plan, REEL_BINOMIAL, &problem);
 *	error = reel_run_open(&run, plan, &model, NULL);
 *	error = reel_run_forward(run, &context, &state);
 *	the objective, and its derivative by the last state in adjoint
 *	error = reel_run_reverse(run, &context, &state, &adjoint);
 *	reel_run_close(run);
 *	reel_plan_close(plan);
 *
 * The forward sweep is part of the plan: no step is run for it alone. After the reverse sweep the
 * run may begin again, with other controls in `context`.
 *
 * The callbacks. advance and record take the same steps and leave the same state, bit for bit,
 * whenever they are run from the same state. So put everything that changes from step to step
 * (time, step size, random numbers, the history of a multi-step method) into the state, and
 * constants into the context. Steps are run more than once: write output and messages only the
 * first time, when a step is above all earlier steps. A callback returns 0 to continue, below 0 its
 * own error, above 0 to stop early: both end the sweep, which returns the same number. A callback
 * may run an inner loop with another run.
 *
 * Exceptions. A callback, or an error handler that it calls, may leave by a C++ exception or by
 * longjmp(), also out of the function of the run. This ends the sweep like an error: the reverse
 * sweep cannot continue (-EINVAL), and reel_run_forward() starts again with nothing lost or kept. A
 * sweep in pieces (plan.h) reports this at REEL_ACTION_DONE at the latest. The adjoint keeps the
 * additions of the callback. With look-ahead (omp.h) and on several ranks (mpi.h) callbacks must
 * return.
 *
 * Tiers. A tier of the plan is memory, or a store (store.h). Snapshots are parcels (parcel.h). A
 * snapshot for a store is written while the sweep continues, then leaves memory, and is read ahead
 * of its LOAD; if the store refuses it, it stays in memory until the store takes it. On a pool with
 * a store, snapshots of a tier in memory also leave memory and are read ahead. All snapshots use
 * the pool's memory, under its budget, like tapes.
 *
 * How far is it? With REEL_PROGRESS=1 in the environment a run reports progress on stderr; on a
 * terminal it rewrites one line, elsewhere it prints a line every 30 seconds. With several ranks
 * only the first rank reports. A callback in the options serves programs with their own display.
 *
 * A program that owns its time loop, such as a solver's library or an interpreter, passes no
 * callbacks: it asks the run for the next action and carries it out itself. Such a run is driven
 * (plan.h). It has all other features of a run.
 *
 * Threads. Only one thread at a time may use a run, except where noted. Different runs share
 * nothing except the pool.
 */
#ifndef REEL_RUN_H
#define REEL_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <reel/figures.h>
#include <reel/loss.h>
#include <reel/model.h>
#include <reel/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plans ------------------------------------------------------------------- */

#define REEL_MAX_TIERS 4
/* steps of a loop whose end is not known when it begins. */
#define REEL_UNKNOWN_STEPS (-1)

struct reel_tier {
	int64_t slots;
	/* In units of one step's advance; at most 1e100, like all costs. */
	double store_cost;
	double load_cost;
};

/*
 * A flag of a problem: each step that is recorded is reversed by the next action. For programs that
 * keep the data of one recorded step only. REEL_STORE_ALL and REEL_MIXED are refused with it.
 */
#define REEL_REVERSE_AT_ONCE 1u

/* All zero except steps, tiers and slots is a sensible problem. */
struct reel_problem {
	int64_t steps;
	/* Relative to each other; 0: 1. */
	double advance_cost;
	double record_cost;
	double reverse_cost;
	/*
	 * The memory of one step's tape, in states of the first tier, if tapes take up its slots;
	 * the step recorded last is reversed at once and takes up no slot. 0: tapes have memory of
	 * their own. REEL_MIXED: 0 is 1.
	 */
	int64_t tape_states;
	/*
	 * REEL_TWO_LEVEL, REEL_PERIODIC: steps between states of the last tier, at most
	 * REEL_MAX_STEPS; 0: chosen.
	 */
	int64_t period;
	unsigned tiers;
	unsigned flags; /* REEL_REVERSE_AT_ONCE, or 0 */
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
	REEL_ONLINE,       /* for an unknown end: about 1.01 times the steps of a known one */
	REEL_AUTO,         /* learns the loop and the machine; for an unknown end too */
	REEL_PLANNERS
};

typedef struct reel_plan reel_plan;

/*
 * Compute a plan. Returns 0, -ENOMEM, or -EINVAL. Cost: none for the planners with a closed form,
 * but O(slots^2) for REEL_MULTISTAGE; O(steps^2 slots) for REEL_MIXED, REEL_HIERARCHICAL and
 * REEL_DISK_REVOLVE, where slots counts all tiers with limited slots: group long loops into at most
 * 1,000 segments.
 */
int reel_plan_open(reel_plan **plan, enum reel_planner planner, const struct reel_problem *problem);
void reel_plan_close(reel_plan *plan);

/* ---- Runs -------------------------------------------------------------------- */

typedef struct reel_run reel_run;

/* Memory of the program: one of the arrays that a state or an adjoint consists of. */
struct reel_part {
	void *data;
	size_t bytes; /* 0: `data` may be NULL */
};

/*
 * Compare each repeated state with its first value (of this run: a resumed run knows no earlier
 * states), and end with -EILSEQ at the first step that does not replay, or at the first of several
 * steps that record was called for at once. Apart from these, sweeps go step by step; they keep
 * four bytes per step. For tests, and for finding a bug.
 */
#define REEL_RUN_AUDIT 1u

/*
 * The progress of a run. The time left is estimated for the remaining pieces of the plan from the
 * time that the same steps took so far, so it includes steps of different cost, waits for stores,
 * and threads that look ahead. In the forward sweep the costs of the plan replace missing
 * measurements. Repeated steps take additional time, so the time left is not the number of steps
 * left divided by steps_per_second.
 */
struct reel_progress {
	bool reverses;           /* in the reverse sweep */
	int64_t done;            /* steps of the model that this sweep has done */
	int64_t steps;           /* of all; REEL_UNKNOWN_STEPS while not known */
	double share;            /* of the time of both sweeps so far; below 0: not known */
	double seconds;          /* since the forward sweep began, or was resumed */
	double seconds_left;     /* for both sweeps; below 0: not known */
	double steps_per_second; /* of this sweep; a step that is taken again does not count */
	uint64_t resident_bytes; /* of the run's pool, now */
	uint64_t written_bytes;  /* to the stores of the pool and of the run, so far */
	uint64_t reserved[4];    /* 0 */
};

/* All zero, or NULL, is sensible. */
struct reel_run_options {
	/* Of tapes and snapshots; outlives the run. NULL: the default pool. */
	reel_pool *pool;
	/* Where each tier keeps its snapshots; NULL: memory. The run closes them. */
	reel_store *store[REEL_MAX_TIERS];
	/* Number of steps of the model that form one step of the plan, a segment; 0: 1. */
	int64_t segment_steps;
	/* Steps of the model, where the last segment is a shorter one; 0: all are full. */
	int64_t steps;
	/*
	 * For a plan of REEL_UNKNOWN_STEPS: returns whether the loop ends in this state, the state
	 * before step `step`. Asked before each step of the forward sweep. NULL: the run is driven
	 * (plan.h), the program calls reel_run_end_loop(), and reel_run_forward() is refused.
	 */
	bool (*finished)(void *context, const void *state, int64_t step);
	/*
	 * Maximum numbers of snapshots on their way to a store, and of snapshots read ahead, at
	 * once; 0: 2.
	 */
	unsigned puts;
	unsigned gets;
	unsigned flags; /* REEL_RUN_AUDIT, REEL_RUN_COPIES (plan.h), or 0 */
	/*
	 * A file from which a killed run resumes; NULL: none. It is written again, as a file with
	 * ".new" at the end of its name that is then renamed, every restart_seconds (0: 600), as
	 * soon as possible: after a STORE of the forward sweep, and after a REVERSE of the reverse
	 * sweep, unless tapes are held (REEL_STORE_ALL and REEL_MIXED hold some), a plan of your
	 * own continues without a LOAD, or the sweep is in pieces. It has all snapshots, and the
	 * adjoint_bytes at `adjoint`, which must be everything that reverse adds to. The end of the
	 * reverse sweep removes both files, and so does a new forward sweep. Only one run at a time
	 * may use the file: while one process or run writes it, the file of another run is not
	 * written (-EBUSY is reported, and the sweep continues). Outlives the run.
	 *
	 * Only restart files are replaced or removed: regular files that begin as one (and an empty
	 * one with ".new", which a crash leaves). If anything else has one of the names, including
	 * a symbolic link, reel_run_open() refuses it. If it appears later, it stays unchanged, and
	 * the restart file is not written. The file is also not written if the program closes its
	 * descriptor, which it did not open: nothing is written to another file with the same
	 * descriptor.
	 */
	const char *restart;
	double restart_seconds;
	size_t adjoint_bytes;
	/*
	 * Replace a copy of the bytes at `adjoint`: pack an adjoint of several parts into
	 * adjoint_bytes, together with the data that advance and record leave in the context when
	 * they take a step for the first time, such as the values at a gauge; and unpack both.
	 * save_adjoint is also called in the forward sweep, where `adjoint` is NULL. Set both
	 * callbacks or neither. They return 0, or an error below 0: the file is not written, or not
	 * resumed from. After -EAGAIN, on all ranks, save_adjoint is called again after the next
	 * action, and no failure is reported.
	 */
	int (*save_adjoint)(void *context, const void *adjoint, void *bytes);
	int (*load_adjoint)(void *context, void *adjoint, const void *bytes);
	/*
	 * A driven run may have its state, and its adjoint, in several arrays, instead of one block
	 * of memory or callbacks. The lists are copied; the arrays outlive the run. state_bytes and
	 * adjoint_bytes are then 0, or the size of all parts.
	 */
	const struct reel_part *state_part, *adjoint_part;
	unsigned state_parts, adjoint_parts;
	/*
	 * Called before save_adjoint: returns the number of bytes that it will pack, if this number
	 * is not known when the run is opened, or differs between files. adjoint_bytes is then 0.
	 * NULL: save_adjoint packs adjoint_bytes.
	 */
	size_t (*packed_bytes)(void *context, const void *adjoint);
	/*
	 * Called with the progress of the run: after pieces of both sweeps, at most five times a
	 * second, and at the end of the reverse sweep. The thread that has ended the piece calls
	 * it, so with look-ahead (omp.h) several threads do, also at the same time. NULL: none.
	 */
	void (*progress)(void *context, const struct reel_progress *progress);
	/*
	 * Stores states with loss, in fewer bytes; copied, with its list. NULL: as they are. Such a
	 * run has memory of its own to pack states in: of a state for each thread that stores
	 * states, and of another one if the model has save() or the state is in parts. Not with
	 * REEL_RUN_AUDIT, since repeated states differ a little from the first ones.
	 */
	const struct reel_loss *loss;
};

/* reel/figures.h explains each figure. */
struct reel_run_stats {
	REEL_RUN_FIGURES(REEL_FIGURE_MEMBER, REEL_FIGURE_TIERS)
};

/*
 * Prepare a run. `plan` outlives it, `model` and `options` are copied. A model without advance,
 * record and reverse, or NULL, makes a driven run. Takes no memory for snapshots yet.
 *
 * Returns 0; -ENOMEM; -ENXIO, the default pool is refused (pool.h); -EINVAL, an argument is wrong;
 * -EOVERFLOW, state_bytes or adjoint_bytes exceeds the address space; -EEXIST, options.restart or
 * the name with ".new" is a file that is not a restart file; -EINVAL, options.restart is empty or
 * ends in a slash; errors of the system for these files and their directory, such as -ENOENT and
 * -EACCES. On failure the stores still belong to the caller.
 */
int reel_run_open(reel_run **run, const reel_plan *plan, const reel_model *model,
		  const struct reel_run_options *options);

/* NULL is allowed. The contents of the run's stores are gone. */
void reel_run_close(reel_run *run);

/*
 * Sets the tolerance of options.loss for the next sweeps; 0: states are kept as they are. Between
 * two gradients. Returns 0; or -EINVAL, the run has no options.loss, a sweep is under way or the
 * tolerance makes no sense.
 */
int reel_run_set_tolerance(reel_run *run, double tolerance);

/*
 * The forward sweep, from `state` as state 0; afterwards `state` is the last state. Starts again,
 * whatever the run did before, unless the run was resumed in a forward sweep: then that sweep
 * continues, and `state` is overwritten.
 *
 * Returns 0; the result of a callback; the tape's error (tape.h); -EDQUOT or -ENOMEM, no memory for
 * a snapshot; -ERANGE, a loop of an unknown end has more than REEL_MAX_STEPS; -EILSEQ
 * (REEL_RUN_AUDIT); or -EINTR, it was asked to end and is saved (reel_save_now()).
 */
int reel_run_forward(reel_run *run, void *context, void *state);

/*
 * The reverse sweep: calls model->reverse for all steps, from the last to the first. `state` is a
 * buffer to replay in, of the size of a state; its contents are lost.
 *
 * Returns as reel_run_forward(); the error of a store that cannot return a snapshot, with the codes
 * of reel_tape_error(); -EBADMSG, reverse popped more or less than record pushed; or -EINVAL, no
 * forward sweep has ended.
 */
int reel_run_reverse(reel_run *run, void *context, void *state, void *adjoint);

/*
 * Resume from the file options.restart, in the same plan, with the same model and options. If the
 * run was in its reverse sweep, reel_run_is_reversing() is true, `adjoint` is restored, and
 * reel_run_reverse() continues; otherwise reel_run_forward() continues. `context` is passed to
 * load_adjoint. On failure nothing was resumed.
 *
 * Returns 0; -ENOENT, there is no such file; -EBADMSG, it is not such a file, is cut off or
 * damaged; -EINVAL, it belongs to another plan or model, the files with this name are of another
 * number of ranks (mpi.h), or options.restart is NULL; -EPROTO, a version with
 * another format, or another kind of machine, wrote it; the result of load_adjoint; or as
 * reel_run_forward().
 */
int reel_run_resume(reel_run *run, void *context, void *adjoint);

/*
 * Asks each run of this process that has options.restart to write its restart file at the next
 * possible place (see there). With `end` other than 0 its sweep then ends with -EINTR, and so does
 * each later sweep of this process, so that a job that the batch system is about to kill loses
 * nothing. If the file cannot be written, the sweep continues, and tries again.
 *
 * Programs need no call for this; the environment is read when the first run with a restart file is
 * opened:
 *
 *   REEL_SAVE_SIGNAL=USR2   a signal as reel_save_now(0): USR1, USR2, TERM, INT, HUP, CONT, XCPU
 *   REEL_END_SIGNAL=TERM    a signal that is reel_save_now(1)
 *   REEL_END_AFTER=3500     reel_save_now(1) after this number of seconds; a fraction has a decimal
 *                           point, whatever the locale of the program is
 *
 * A signal that the program handles itself is left to the program, with one line on stderr. Some
 * MPIs handle USR1: MPICH's ranks use it to report that a rank has died. Sweeps that are in pieces
 * or look ahead write no restart files. Any thread, any signal handler. Cost: two atomic
 * operations.
 */
void reel_save_now(int end);

/* Returns true if a forward sweep has ended, and its reverse sweep has not. */
bool reel_run_is_reversing(const reel_run *run);

void reel_run_get_stats(reel_run *run, struct reel_run_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
