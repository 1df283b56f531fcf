/* SPDX-License-Identifier: MIT */
/*
 * Checkpointing: a long loop is reversed with memory for a few of its states, as a
 * plan says (schedule.h). A run owns the loop, its tape and its snapshots; the
 * program gives callbacks over a state that is an argument (block.h).
 *
 *	reel_model model = {.state_bytes = sizeof state, .advance = advance,
 *			    .record = record, .reverse = reverse};
 *	reel_run *run;
 *
 *	error = reel_run_open(&run, plan, &model, NULL);
 *	error = reel_run_forward(run, &context, &state);
 *	the objective, and its derivative by the last state in adjoint
 *	error = reel_run_reverse(run, &context, &state, &adjoint);
 *	reel_run_close(run);
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
 * Tiers. A tier of the plan is memory, or a store (store.h): a snapshot for a store is
 * saved to a buffer, written behind while the sweep goes on, and read ahead of the LOAD
 * that will need it. A snapshot that its store refuses stays in memory. Snapshots and
 * buffers are the pool's memory, under its budget, as tapes are.
 *
 * Threads. A run is one thread's at a time, but for what says otherwise. Different
 * runs have nothing in common but the pool.
 */
#ifndef REEL_RUN_H
#define REEL_RUN_H

#include <stdbool.h>

#include <reel/block.h>
#include <reel/schedule.h>
#include <reel/store.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_run reel_run;

/*
 * Compare each state with what it was when it was first reached (by this run: a resumed
 * one knows of none before), and end with -EILSEQ at the first step that does not replay,
 * or the first of several that record was called for at once. Sweeps go step by step but
 * for those, and keep four bytes for each: for tests, and for looking for a fault.
 */
#define REEL_RUN_AUDIT 1u

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
	 * before step `step`. Asked before each step of the forward sweep.
	 */
	bool (*finished)(void *context, const void *state, int64_t step);
	/* Snapshots that are on their way to stores, and from them, at once; 0: 2. */
	unsigned puts;
	unsigned gets;
	unsigned flags;
	/*
	 * A file from which a run that was killed is resumed; NULL: none. It is written
	 * anew, beside it with ".new" at its name's end and then renamed, when so many
	 * seconds (0: 600) have passed, where that can be: after a STORE of the forward
	 * sweep, and after a REVERSE of the reverse sweep, unless tapes are held
	 * (REEL_STORE_ALL and REEL_MIXED hold some), a plan of one's own goes on without a
	 * LOAD, or the sweep is in pieces. It has all snapshots, and the adjoint_bytes at
	 * `adjoint`, which are all that reverse adds to. The end of the reverse sweep removes
	 * both, and so does a forward sweep that begins anew. One run's at a time, as the name
	 * beside it is. Outlives the run.
	 *
	 * Only restart files are replaced or removed: regular files that begin as one (and an
	 * empty one with ".new", which a crash leaves). If anything else has one of the names,
	 * also a symbolic link, reel_run_open() refuses it. If it appears later, it stays
	 * as it is, and the restart file is not written.
	 */
	const char *restart;
	double restart_seconds;
	size_t adjoint_bytes;
	/* For options to come: all 0. */
	uint64_t reserved[3];
};

/* Since the forward sweep began. Steps are the model's. */
struct reel_run_stats {
	int64_t advanced, recorded, reversed;
	uint64_t stores[REEL_MAX_TIERS], loads[REEL_MAX_TIERS];
	uint64_t put_bytes, got_bytes; /* to stores and from them */
	uint64_t failed_puts;          /* snapshots that stayed in memory */
	uint64_t fetched;              /* loads that found what was read ahead */
	uint64_t waits, wait_ns;       /* for a store */
	uint64_t peak_snapshot_bytes;  /* in memory, buffers included */
	uint64_t peak_tape_bytes;
	int64_t unlike_step;          /* REEL_RUN_AUDIT: does not replay; or -1 */
	uint64_t saves, failed_saves; /* restart files; reel_run_message() says why */
	uint64_t reserved[2];         /* 0 */
};

/*
 * Prepare a run. `plan` outlives it, `model` and `options` are copied. Takes no memory
 * for snapshots yet.
 *
 * Returns 0; -ENOMEM; -ENXIO, the default pool is refused (pool.h); or, and
 * reel_run_problem() says why: -EINVAL, an argument is wrong; -EEXIST, options.restart or
 * the name beside it is that of a file that is not a restart file; what the system says of these
 * files. On failure the stores stay the caller's.
 */
int reel_run_open(reel_run **run, const reel_plan *plan, const reel_model *model,
		  const struct reel_run_options *options);

/*
 * What reel_run_open() would refuse, in words, or NULL. Valid until this thread's next call
 * of either. Looks at the files of options.restart.
 */
const char *reel_run_problem(const reel_plan *plan, const reel_model *model,
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
 * REEL_MAX_STEPS; or -EILSEQ (REEL_RUN_AUDIT).
 * reel_run_message() has the details.
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
 * model, options and context. In its reverse sweep, reel_run_is_reversing():
 * `adjoint` is as it was, and reel_run_reverse() goes on. In its forward sweep
 * reel_run_forward() goes on. On failure nothing was resumed.
 *
 * Returns 0; -ENOENT, there is no such file; -EBADMSG, it is not such a file, is cut off
 * or damaged; -EINVAL, it belongs to another plan or model, or options.restart is NULL;
 * -EPROTO, another version wrote it; or as reel_run_forward().
 */
int reel_run_resume(reel_run *run, void *adjoint);

/* Whether a forward sweep has come to its end, and its reverse sweep has not. */
bool reel_run_is_reversing(const reel_run *run);

/* The steps of the model; REEL_UNKNOWN_STEPS while nobody knows. */
int64_t reel_run_steps(const reel_run *run);

/*
 * What went wrong, in one line: what the sweep ended with; else why the restart file was
 * not written when it was last due, or not removed, though the sweep went on; "" if nothing
 * did. Valid until the run's next sweep.
 */
const char *reel_run_message(const reel_run *run);

void reel_run_get_stats(reel_run *run, struct reel_run_stats *stats);

/* ---- A sweep in pieces ------------------------------------------------------- */

/*
 * For those who carry actions out themselves, for example several at a time: the next
 * action of the reverse sweep, REEL_ACTION_DONE at its end. Snapshots that later actions need
 * begin to be read. REEL_ACTION_DONE removes the restart file: who does several at a time has done
 * them all before. Returns 0 or as reel_run_reverse(). One thread.
 */
int reel_run_next(reel_run *run, reel_action *action);

/*
 * Carry an action out, on this state, adjoint and tape; those that it does not use may
 * be NULL. A tape that is NULL is the run's own: what the forward sweep recorded is on it,
 * so a REVERSE of steps that the reverse sweep has not recorded takes that one. Any
 * thread, at the same time as others, as long as what depends on each other is done in
 * the order of reel_run_next(): actions on one slot, one state, one tape, one
 * adjoint. Not with REEL_RUN_AUDIT.
 *
 * Returns as reel_run_reverse(). A STORE or LOAD that failed was not carried
 * out; after -EDQUOT or -ENOMEM it may be tried again, since what is done at the same time
 * gives memory back: it is final when nothing else is under way.
 */
int reel_run_carry_out(reel_run *run, const reel_action *action, void *context, void *state,
		       void *adjoint, reel_tape *tape);

#define REEL_RUN_MESSAGE 256

/*
 * The same; what goes wrong is written to `message` instead of the run's message: for
 * those who may try again, or who report what comes first in the order of actions.
 */
int reel_run_attempt(reel_run *run, const reel_action *action, void *context, void *state,
		     void *adjoint, reel_tape *tape, char message[REEL_RUN_MESSAGE]);

/*
 * For those with tapes of their own: after `reversed`, a REVERSE that leaves no steps on the tape
 * which are recorded and not reversed, see that the tape is empty. A run looks after its own tape.
 * Returns 0; or the tape's error, which is -EBADMSG if it is not, and says so in `message`.
 */
int reel_run_check_balance(reel_run *run, const reel_action *reversed, reel_tape *tape,
			   char message[REEL_RUN_MESSAGE]);

/*
 * The run's tape: what the forward sweep recorded is on it, to be reversed first. The
 * run's own; nothing may use it meanwhile.
 */
reel_tape *reel_run_tape(reel_run *run);

/* A sweep in pieces ends here, with this message: a forward sweep comes next. */
void reel_run_give_up(reel_run *run, const char *message);

/* What it was opened with; the default pool by its address. */
const reel_model *reel_run_model(const reel_run *run);
reel_pool *reel_run_pool(const reel_run *run);
unsigned reel_run_flags(const reel_run *run);

#ifdef __cplusplus
}
#endif

#endif
