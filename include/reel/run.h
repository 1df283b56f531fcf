/* SPDX-License-Identifier: MIT */
/*
 * Checkpointing: a long loop is reversed with memory for a few of its states, as a
 * plan says. A run owns the loop, its tape and its snapshots; the
 * program gives callbacks over a state that is an argument (model.h).
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
 * The forward sweep is the plan's first one: no step is run for it alone. After the
 * reverse sweep the run may begin again, with other controls in `context`.
 *
 * The callbacks. advance and record take the same steps and leave the same state, bit
 * for bit, whenever they are run from the same state: what changes from step to step
 * (time, step size, random numbers, the history of a multi-step method) belongs in the
 * state, what does not belongs in the context. Steps are run more than once: output
 * and messages belong in the first time, which is when a step is above all earlier ones.
 * A callback returns 0 to go on; below 0 an error of its own, above 0 to stop early:
 * both end the sweep and are what it returns. A callback may run a loop of its own
 * inside, with a run of its own.
 *
 * Exceptions. A callback, or an error handler that it calls, may leave by an exception of C++ or by
 * longjmp(), out of the function of the run, too. That ends the sweep like an error: the reverse
 * sweep cannot be gone on with (-EINVAL), and reel_run_forward() begins anew with nothing lost or
 * kept. A sweep in pieces (plan.h) says so at REEL_ACTION_DONE at the latest. What the callback had
 * added to the adjoint is in it. With look-ahead (omp.h) and on several ranks (mpi.h) callbacks
 * must return.
 *
 * Tiers. A tier of the plan is memory, or a store (store.h). Snapshots are parcels (parcel.h).
 * One for a store is written while the sweep goes on, leaves memory then, and is read ahead of the
 * LOAD that will need it; one that its store refuses stays in memory until the store takes it.
 * Those of a tier in memory leave memory, too, on a pool with a store, and are read ahead. All of
 * them are the pool's memory, under its budget, as tapes are.
 *
 * How far is it? With REEL_PROGRESS=1 in the environment a run tells on stderr: on a terminal in one
 * line that is written anew, elsewhere in a line each 30 seconds. Of several ranks the first one
 * does. A callback in the options is for programs with a display of their own.
 *
 * A program that owns its time loop, as a solver's library or an interpreter does, gives no
 * callbacks: it asks the run what to do next and does it itself. Such a run is driven (plan.h). It
 * has all else that a run has.
 *
 * Threads. A run is one thread's at a time, but for what says otherwise. Different
 * runs have nothing in common but the pool.
 */
#ifndef REEL_RUN_H
#define REEL_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <reel/figures.h>
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
	/* In the time of one step's advance; at most 1e100, as all costs. */
	double store_cost;
	double load_cost;
};

/*
 * A flag of a problem: each step that is recorded is reversed by the next action. For programs that
 * keep the data of one recorded step only. REEL_STORE_ALL and REEL_MIXED are refused with it.
 */
#define REEL_REVERSE_AT_ONCE 1u

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
	REEL_ONLINE,       /* for an unknown end: thinning, then the optimum in each gap */
	REEL_PLANNERS
};

typedef struct reel_plan reel_plan;

/*
 * Compute a plan. Returns 0, -ENOMEM, or -EINVAL.
 * Cost: none for the planners with a closed form, but O(slots^2) for REEL_MULTISTAGE;
 * O(steps^2 slots) for REEL_MIXED,
 * REEL_HIERARCHICAL and REEL_DISK_REVOLVE, slots being those of all tiers with limited
 * ones: group long loops into at most 1,000 segments.
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
 * Compare each state with what it was when it was first reached (by this run: a resumed
 * one knows of none before), and end with -EILSEQ at the first step that does not replay,
 * or the first of several that record was called for at once. Sweeps go step by step but
 * for those, and keep four bytes for each: for tests, and for looking for a fault.
 */
#define REEL_RUN_AUDIT 1u

/*
 * How far a run is. The time left is that of the pieces which the plan still has, by what the same
 * steps took so far: it takes in steps of different cost, waits for stores, and threads that look
 * ahead. In the forward sweep the costs of the plan stand for what was not measured yet. Steps that
 * are run again cost more than others: the time left is not the steps left over steps_per_second.
 */
struct reel_progress {
	bool reverses;           /* in the reverse sweep */
	int64_t done;            /* steps of the model that this sweep has done */
	int64_t steps;           /* of all; REEL_UNKNOWN_STEPS while nobody knows it */
	double share;            /* of the time of both sweeps that has passed; below 0: not known */
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
	/* Steps of the model that are one step of the plan, a segment; 0: 1. */
	int64_t segment_steps;
	/* Steps of the model, where the last segment is a shorter one; 0: all are full. */
	int64_t steps;
	/*
	 * For a plan of REEL_UNKNOWN_STEPS: whether the loop ends in this state, that
	 * before step `step`. Asked before each step of the forward sweep. NULL: the run is
	 * driven (plan.h), the program calls reel_run_end_loop(), and reel_run_forward() is
	 * refused.
	 */
	bool (*finished)(void *context, const void *state, int64_t step);
	/* Snapshots that are on their way to a store, and that are read ahead, at once; 0: 2. */
	unsigned puts;
	unsigned gets;
	unsigned flags; /* REEL_RUN_AUDIT, REEL_RUN_COPIES (plan.h), or 0 */
	/*
	 * A file from which a run that was killed is resumed; NULL: none. It is written
	 * anew, beside it with ".new" at its name's end and then renamed, when so many
	 * seconds (0: 600) have passed, where that can be: after a STORE of the forward
	 * sweep, and after a REVERSE of the reverse sweep, unless tapes are held
	 * (REEL_STORE_ALL and REEL_MIXED hold some), a plan of one's own goes on without a
	 * LOAD, or the sweep is in pieces. It has all snapshots, and the adjoint_bytes at
	 * `adjoint`, which are all that reverse adds to. The end of the reverse sweep removes
	 * both, and so does a forward sweep that begins anew. One run's at a time, as the name
	 * beside it is: while one process or run writes it, another one's is not written (-EBUSY is
	 * reported, and the sweep goes on). Outlives the run.
	 *
	 * Only restart files are replaced or removed: regular files that begin as one (and an
	 * empty one with ".new", which a crash leaves). If anything else has one of the names,
	 * also a symbolic link, reel_run_open() refuses it. If it appears later, it stays
	 * as it is, and the restart file is not written. Nor is it if the program closes its
	 * descriptor, which it did not open: nothing is written to another file that has the
	 * number then.
	 */
	const char *restart;
	double restart_seconds;
	size_t adjoint_bytes;
	/*
	 * In place of a copy of the bytes at `adjoint`: pack an adjoint of several pieces into
	 * adjoint_bytes, and with it what advance and record leave in the context when they take
	 * a step for the first time, as the values at a gauge; and unpack both. In the forward
	 * sweep save_adjoint is called, too, and `adjoint` is NULL. Both callbacks or neither.
	 * They return 0, or an error below 0: the file is not written, or not resumed from.
	 * After -EAGAIN, on all ranks, save_adjoint is called again after the next action, and
	 * no failure is reported.
	 */
	int (*save_adjoint)(void *context, const void *adjoint, void *bytes);
	int (*load_adjoint)(void *context, void *adjoint, const void *bytes);
	/*
	 * A run that is driven may have its state, and its adjoint, in several arrays, in place of
	 * one piece of memory or of callbacks. The lists are copied; the arrays outlive the run.
	 * state_bytes and adjoint_bytes are then 0, or the size of all parts.
	 */
	const struct reel_part *state_part, *adjoint_part;
	unsigned state_parts, adjoint_parts;
	/*
	 * Called before save_adjoint: how many bytes that will pack, where the number is not known when
	 * the run is opened, or is another one in each file. adjoint_bytes is 0 then. NULL: it packs
	 * adjoint_bytes.
	 */
	size_t (*packed_bytes)(void *context, const void *adjoint);
	/*
	 * Told how far the run is: after pieces of both sweeps, at most five times a second, and at the
	 * end of the reverse sweep. Called by the thread that has ended the piece, so with look-ahead
	 * (omp.h) by several threads, also at the same time. NULL: nobody is told.
	 */
	void (*progress)(void *context, const struct reel_progress *progress);
	/* For options to come: all 0. */
	uint64_t reserved[1];
};

/* reel/figures.h says what each figure is. */
struct reel_run_stats {
	REEL_RUN_FIGURES(REEL_FIGURE_MEMBER, REEL_FIGURE_TIERS)
	uint64_t reserved[2]; /* 0 */
};

/*
 * Prepare a run. `plan` outlives it, `model` and `options` are copied. A model without advance,
 * record and reverse, or NULL, is that of a run that is driven. Takes no memory for snapshots yet.
 *
 * Returns 0; -ENOMEM; -ENXIO, the default pool is refused (pool.h); -EINVAL, an argument is wrong;
 * -EOVERFLOW, state_bytes or adjoint_bytes is more than can be addressed; -EEXIST, options.restart
 * or the name beside it is that of a file that is not a restart file; -EINVAL, options.restart is
 * empty or ends in a slash; what the system says of these files and their directory, as -ENOENT and
 * -EACCES. On failure the stores stay the caller's.
 */
int reel_run_open(reel_run **run, const reel_plan *plan, const reel_model *model,
		  const struct reel_run_options *options);

/* NULL is allowed. What is in the run's stores is gone. */
void reel_run_close(reel_run *run);

/*
 * The forward sweep, from `state` as state 0; it is the last state then. Begins anew,
 * whatever the run did before, unless it was resumed in a forward sweep: that is gone
 * on with, and `state` is overwritten.
 *
 * Returns 0; what a callback returned; the tape's error (tape.h); -EDQUOT or -ENOMEM,
 * no memory for a snapshot; -ERANGE, a loop of an unknown end has more than
 * REEL_MAX_STEPS; -EILSEQ (REEL_RUN_AUDIT); or -EINTR, it was asked to end and is saved
 * (reel_save_now()).
 */
int reel_run_forward(reel_run *run, void *context, void *state);

/*
 * The reverse sweep: calls model->reverse for all steps, from the last to the first.
 * `state` is a buffer to replay in, as large as a state; its contents are lost.
 *
 * Returns as reel_run_forward(); what a store said of a snapshot that it cannot
 * give back, with the codes that reel_tape_error() has for it; -EBADMSG, reverse popped more
 * or less than record pushed; or -EINVAL, no forward sweep has come to its end.
 */
int reel_run_reverse(reel_run *run, void *context, void *state, void *adjoint);

/*
 * Go on where the run that wrote options.restart was, in the same plan, with the same
 * model and options. In its reverse sweep, reel_run_is_reversing():
 * `adjoint` is as it was, and reel_run_reverse() goes on. In its forward sweep
 * reel_run_forward() goes on. `context` is load_adjoint's. On failure nothing was resumed.
 *
 * Returns 0; -ENOENT, there is no such file; -EBADMSG, it is not such a file, is cut off
 * or damaged; -EINVAL, it belongs to another plan or model, the files with this name are
 * of another number of ranks (mpi.h), or options.restart is NULL;
 * -EPROTO, another version wrote it; what load_adjoint returned; or as reel_run_forward().
 */
int reel_run_resume(reel_run *run, void *context, void *adjoint);

/*
 * Asks each run of this process that has options.restart to write its restart file at the next
 * place where that can be (see there). With `end` other than 0 its sweep then ends with -EINTR, and
 * so does each later sweep of this process: what the batch system is about to kill loses nothing.
 * If the file cannot be written, the sweep goes on, and tries again.
 *
 * Programs need no call for this; the environment is read when the first run with a restart file is
 * opened:
 *
 *   REEL_SAVE_SIGNAL=USR2   a signal that is reel_save_now(0); also USR1, TERM, INT, HUP, CONT, XCPU
 *   REEL_END_SIGNAL=TERM    a signal that is reel_save_now(1)
 *   REEL_END_AFTER=3500     reel_save_now(1) when so many seconds have passed; a fraction has a
 *                           decimal point, whatever the locale of the program is
 *
 * A signal that the program handles itself is left to it, with one line on stderr. Some MPIs handle
 * USR1: MPICH's ranks tell each other by it that one has died. Sweeps that are in pieces or look
 * ahead write no restart files. Any thread, any signal handler. Cost: two atomic operations.
 */
void reel_save_now(int end);

/* Returns true if a forward sweep has come to its end, and its reverse sweep has not. */
bool reel_run_is_reversing(const reel_run *run);

void reel_run_get_stats(reel_run *run, struct reel_run_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
