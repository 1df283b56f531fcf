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
 * The reverse sweep of any plan runs with look-ahead: while one segment is reversed, other threads
 * replay and record the next segments, each on its own tape.
 *
 *	reel_run_forward(run, &context, &state);
 *	the objective, and its derivative by the last state in adjoint
 *	reel_omp_run_reverse(run, &context, &state, &adjoint, NULL, NULL);
 *
 * It uses only the threads of OpenMP. Outside a parallel region it starts its own team; inside a
 * parallel region it makes tasks for the existing team, whose threads take part as soon as they
 * wait at a barrier, until the sweep ends. A thread without work sleeps. Before and after the
 * sweep, the runtime's threads spin: on a machine with other work set OMP_WAIT_POLICY=passive.
 *
 * Requirements for the model, beyond run.h:
 *
 *   advance, record,  are called by several threads at a time, each with a state and a
 *   save, load        tape of its own. They may change only the state: `context` is shared, and
 *                     they may only read it, unless there are `contexts`.
 *   reverse           is called by one thread at a time, in order, from the last step to the first,
 *                     with `context` itself. Adjoints of controls that it adds up in `adjoint` or
 *                     `context` have the same bits as in a serial sweep.
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
	 * Number of threads of the team, if there is no team yet. 0: the number that OpenMP chooses
	 * (OMP_NUM_THREADS), or one, if sweeps from the same call site were faster with one. Reel
	 * measures this in a small share of the time, and not with several processes. If callbacks
	 * may leave by an exception, set it to 1, since they must return if there are several
	 * threads.
	 */
	int threads;
	/*
	 * Number of tapes at once, at most REEL_OMP_MAX_TAPES: the tape that is reversed and the
	 * tapes that are recorded ahead of it. 0: two for each thread. More tapes even out segments
	 * of different lengths, and take memory.
	 */
	unsigned tapes;
	/*
	 * States to replay in, each as large as the caller's; contents do not matter. Needed by a
	 * model with save() and load(), whose states only the program can make. open_state()
	 * returns NULL if there is no memory. One thread at a time calls both; all states are
	 * closed before the sweep returns. NULL: state_bytes from the pool, aligned for every type
	 * of the language.
	 */
	void *(*open_state)(void *context);
	void (*close_state)(void *context, void *state);
	/*
	 * A context for each state to replay in, so that no two threads use the same context: tapes
	 * + 1 of them; if `tapes` is 0, 2 * threads + 1, and at most REEL_OMP_MAX_TAPES + 1, where
	 * threads is the size of the team. NULL: `context` for all.
	 */
	void *const *contexts;
	/* For options to come: all 0. */
	uint64_t reserved[4];
};

/* ---- Look-ahead over a plan ---------------------------------------------------- */

struct reel_omp_stats {
	int threads;            /* at most one more than the tapes and the memory allowed */
	int64_t actions;        /* carried out */
	int64_t ahead;          /* RECORDs that were done before the segment above was reversed */
	int64_t dropped;        /* for want of memory: made again, or made late */
	int64_t pauses;         /* all waited until an action without memory was done in order */
	int64_t max_tapes;     /* with something on them, at once */
	uint64_t reserved[4];   /* 0 */
};

/*
 * reel_run_reverse() by several threads. It carries out the same actions; actions that do not
 * depend on each other run at the same time. The gradient has the same bits for any threads, tapes,
 * tiers and plan.
 *
 * `state` is a buffer, as there. Stores and loads of the plan may happen earlier than in a serial
 * sweep, but never more of them at once than the plan has slots. Memory: tapes + 1 states and
 * `tapes` tapes, all from the run's pool. A hard budget limits the number of tapes that are
 * recorded ahead; to be able to drop such a tape, the sweep keeps the state before it, which is one
 * additional state for each tape. If the budget has no room for any tape ahead, the sweep is
 * serial; if it has little room, a sweep that is refused here may still succeed serially. The sweep
 * is also serial on one thread, and with REEL_RUN_AUDIT. A plan that keeps several tapes at a time
 * (REEL_MIXED) records them in order.
 *
 * A run over ranks (mpi.h): a collective call. Callbacks that are carried out at the same time
 * exchange messages at the same time, so each context needs its own attached communicator, and
 * `context` needs another one: contexts[i] of all ranks share one. So set `tapes` to the same
 * number on all ranks. Contexts that share a communicator are not detected: their messages get
 * mixed up. The ranks carry out the same actions with the same contexts, but the numbers of calls
 * of save(), load(), open_state() and close_state() may differ: these must exchange nothing. A
 * record() whose tape has failed continues with its messages.
 *
 * All ranks use the smallest number of tapes of any rank, and all keep states if one rank has a
 * hard budget. The sweep is serial on all ranks if it would be serial on one; without contexts; and
 * if MPI was initialised below MPI_THREAD_MULTIPLE. In checked mode a wrong reverse call of steps
 * that were recorded ahead may leave another rank waiting: reel_mpi_watch() ends that. Cost: a
 * duplicate of the communicator for each state and one more; and two MPI_Allreduce() of five
 * integers for each action, three for a RECORD that keeps its state, none for a DROP.
 *
 * stats may be NULL.
 *
 * Returns as reel_run_reverse(). If several actions fail, or callbacks stop the sweep, the first in
 * the order of actions determines the result; later actions may have begun, and are given up.
 * -EINVAL: an argument is wrong.
 */
int reel_omp_run_reverse(reel_run *run, void *context, void *state, void *adjoint,
			 const struct reel_omp_options *options, struct reel_omp_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
