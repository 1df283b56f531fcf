/* SPDX-License-Identifier: MIT */
/*
 * libreel-omp: checkpointed sweeps by several threads, with OpenMP. Beside it stand
 *
 *	reel/region.h      parallel regions as statements: lanes, loops, ordered sections
 *	reel/worker.h      the same regions as calls: workers, phases, collective spans
 *	reel/task.h        tasks
 *	reel/adjoint.h     arrays to which several lanes add
 *	reel/reduction.h   reductions
 *	reel/observe.h     events, for tools
 *
 *	cc -fopenmp program.c $(pkg-config --cflags --libs reel-omp)
 *
 * The reverse sweep of any plan is run with look-ahead: while one segment is reversed, other
 * threads replay and record the ones that come next, each on a tape of its own.
 *
 *	reel_run_forward(run, &context, &state);
 *	the objective, and its derivative by the last state in adjoint
 *	reel_omp_run_reverse(run, &context, &state, &adjoint, NULL, NULL);
 *
 * It uses threads of OpenMP, and nothing else of it: outside of a parallel region a team of their
 * own; inside of one, tasks for the team that is there, whose threads take part as soon as they
 * wait at a barrier, and until the sweep ends. A thread that finds nothing to do sleeps. Before and
 * after, the runtime's threads spin: on a machine with other work set OMP_WAIT_POLICY=passive.
 *
 * What the model has to keep to, beyond run.h:
 *
 *   advance, record,  are called by several threads at a time, each with a state and a
 *   save, load        tape of its own. What they change must be in the state: `context`
 *                     is shared, and read only to them, unless there are `contexts`.
 *   reverse           is called by one thread at a time, in order, from the last step to
 *                     the first, with `context` itself. Adjoints of controls that it adds
 *                     up in `adjoint` or `context` are, bit for bit, those of a serial sweep.
 *
 * A thread that is cancelled (pthread_cancel) during a sweep, also in a callback, ends after it.
 */
#ifndef REEL_OMP_H
#define REEL_OMP_H

#include <reel/run.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REEL_OMP_MAX_TAPES 64

/* All zero, or NULL, is sensible. */
struct reel_omp_options {
	/*
	 * Number of threads of the team, where there is none yet. 0: as many as OpenMP chooses
	 * (OMP_NUM_THREADS), or one, if sweeps that were begun at the same place of the program were
	 * faster so. Reel measures that in a small share of the time, and not with several processes. Callbacks that may leave by an
	 * exception need a number, since they must return where there are several.
	 */
	int threads;
	/*
	 * Tapes at once, at most REEL_OMP_MAX_TAPES: the one that is reversed and those
	 * that are recorded ahead of it. 0: two for each thread. More of them even out
	 * segments of different lengths, and take memory.
	 */
	unsigned tapes;
	/*
	 * States to replay in, each as large as the caller's; contents do not matter.
	 * Needed by a model with save() and load(), whose states only the program can
	 * make. open_state() returns NULL if there is no memory. One thread at a time;
	 * all of them are closed before the sweep returns. NULL: state_bytes from the pool,
	 * aligned for every type of the language.
	 */
	void *(*open_state)(void *context);
	void (*close_state)(void *context, void *state);
	/*
	 * A context for each state that is replayed in, so that no two threads use the
	 * same one: tapes + 1 of them; if `tapes` is 0, 2 * threads + 1, and at most
	 * REEL_OMP_MAX_TAPES + 1, where threads is the size of the team. NULL: `context` for
	 * all.
	 */
	void *const *contexts;
	/* For options to come: all 0. */
	uint64_t reserved[4];
};

/* ---- Look-ahead over a plan ---------------------------------------------------- */

struct reel_omp_stats {
	int threads;            /* at most one more than there were tapes and memory for */
	int64_t actions;        /* carried out */
	int64_t ahead;          /* RECORDs that were done before the segment above was reversed */
	int64_t dropped;        /* for want of memory: made again, or made late */
	int64_t pauses;         /* all waited until what had no memory was done in order */
	int64_t max_tapes;     /* with something on them, at once */
	uint64_t reserved[4];   /* 0 */
};

/*
 * reel_run_reverse(), by several threads: the same actions, of which those that
 * do not depend on each other run at the same time, and the same gradient to the last
 * bit, whatever the threads, tapes, tiers and plan.
 *
 * `state` is a buffer, as there. Stores and loads of the plan may be done earlier than a
 * serial sweep does them, never more of them at once than the plan has slots. Memory:
 * tapes + 1 states, and as many tapes as `tapes` says, all from the run's pool. Under a
 * hard budget as many tapes are recorded ahead as it has room for; to be able to drop one
 * again, the state before it is kept, which is one state more for each tape. If it has
 * no room for any, the sweep is serial; if it has hardly any, what is refused here may
 * still have room in a serial sweep. It is serial on one thread, too, and with
 * REEL_RUN_AUDIT. A plan that keeps several tapes at a time (REEL_MIXED) records
 * those in order.
 *
 * A run over ranks (mpi.h): a collective call. Callbacks that are carried out at the same
 * time exchange messages at the same time, so each context has a communicator of its own,
 * attached, and `context` has another: contexts[i] of all ranks share one. So set `tapes`, to
 * the same on all. Contexts that share a communicator are not noticed: their messages get
 * mixed up. The ranks carry out the same actions with the same of these contexts, but save(),
 * load(), open_state() and close_state() differently often: these exchange nothing. A record()
 * whose tape has failed goes on with its messages.
 *
 * The ranks take as many tapes as the rank with the fewest, and all keep states if one of them
 * has a hard budget. The sweep is serial on all ranks if on one it would be; without contexts;
 * and if MPI was initialised below MPI_THREAD_MULTIPLE. In checked mode a wrong reverse call of
 * steps that were recorded ahead may leave another rank waiting: reel_mpi_watch() ends that.
 * Cost: a duplicate of the communicator for each state and one more; and two MPI_Allreduce()
 * of five integers for each action, three for a RECORD that keeps its state, none for a DROP.
 *
 * stats may be NULL.
 *
 * Returns as reel_run_reverse(). An error, or what a callback stops the sweep
 * with, is the first in the order of actions, whoever came to it first; later ones may
 * have been begun, and are given up. -EINVAL: an argument is wrong.
 */
int reel_omp_run_reverse(reel_run *run, void *context, void *state, void *adjoint,
			 const struct reel_omp_options *options, struct reel_omp_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
