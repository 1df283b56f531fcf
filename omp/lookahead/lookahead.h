/* SPDX-License-Identifier: MIT */
/*
 * Look-ahead: the actions of a plan, several at a time.
 *
 *	lookahead.c          walks through the plan and starts each action when it may start
 *	lookahead-act.c      carries an action out
 *	lookahead-open.c     opens states and tapes, and finds how many there is memory for
 *
 * A serial sweep has one state and one tape, which all actions use in turn. Here each LOAD takes
 * the next of several states and each RECORD the next of several ahead tapes, so that an action
 * waits only for actions whose results it needs. An action uses at most two resources (a state, an
 * ahead tape, a slot, the reverse chain), and it starts when all earlier actions that use them are
 * done. The thread that finishes an action makes ready the actions that waited for it. Then it
 * walks on in the plan while the queue of actions under way has room.
 *
 * If an action gets no memory, the sweep pauses: later actions are skipped, and when no action runs
 * any more, one thread carries out alone, in order, the actions that are not done.
 *
 * In a run of several processes (run-group.h) all of them walk through the same plan, and their
 * callbacks wait for each other. Three rules keep that in order.
 *
 *   One course. Before and after each action the processes agree (lookahead-act.c): all of them
 *   carry it out or all skip it, all record steps again or none does, and it succeeds on all or on
 *   none. They agree in a group of the state that the action uses, or of the reverse chain: actions
 *   that share one run in the order of the plan, so their agreements meet. A DROP is the exception:
 *   each process drops or skips it for itself, and makes up for it when it goes on alone. A process
 *   that skips an action skips all later ones, so that no DROP comes before the action that it
 *   waits for.
 *
 *   No deadlock. A free thread takes the REVERSE that is ready (there is one at most), or else the
 *   first ready action of the plan. Let F be the first action that some process has neither done
 *   nor skipped. All before it are finished, so on each process F is in the queue and waits for
 *   none. Some thread takes it, unless it takes a REVERSE. A REVERSE waits for the REVERSE before
 *   it and the last RECORD on its tape. Both have been agreed on, so all processes come to it, and
 *   take it first. So F or a REVERSE always goes on, with any number of threads, although RECORDs
 *   may wait for different tapes.
 *
 *   One queue. A sweep that pauses or fails walks on until the queue is full or has the last
 *   REVERSE, and skips the actions that it adds. The first action that is not done has failed, or
 *   had no memory, on all processes, and all queues have the same number of places. So the queues
 *   are the same, and the threads that go on alone carry out the same actions.
 */
#ifndef REEL_OMP_LOOKAHEAD_H
#define REEL_OMP_LOOKAHEAD_H

#include <pthread.h>
#include <stdatomic.h>

#include <reel/omp.h>

#include "checkpoint/run/run-group.h"
#include "checkpoint/run/run-lookahead.h"
#include "omp/runtime/team.h"

/* Number of resources for slots. Slots that share a resource wait for each other. */
#define AHEAD_SLOTS 512

#define AHEAD_NONE INT64_MAX

/*
 * Memory of a pool for a state: one span on a tape of its own. Since the span is at the top of its
 * tape, it stays in memory and is never spilled. An open buffer must not be moved.
 */
struct ahead_buffer {
	reel_tape memory;
	void *data; /* NULL: closed */
};

/* A thing that one action uses at a time, in the order of the actions. */
struct ahead_resource {
	struct ahead_action *last; /* the last action that is to use it; NULL: all are done */
};

struct ahead_state {
	void *data;
	void *context;
	struct ahead_buffer memory; /* closed if the program has the memory of the state */
	struct reel_run_group group;     /* in which the processes agree on actions that use it */
	struct ahead_resource resource;
};

enum ahead_contents {
	AHEAD_EMPTY,
	AHEAD_RECORDED,
	AHEAD_MISSING /* there was no memory; the REVERSE records the steps again */
};

/* A tape, and the state and the action to record it again. */
struct ahead_tape {
	reel_tape *tape;
	reel_tape own;
	enum ahead_contents contents;
	reel_action record;
	struct ahead_buffer before; /* the state before `record`, if the sweep keeps states */
	struct ahead_resource resource;
};

/* Bytes of the text of an error, which the thread that began the sweep is to return. */
#define AHEAD_TEXT 512

struct ahead_action {
	struct ahead_sweep *sweep;
	int64_t number;
	reel_action action;
	struct ahead_state *state;
	struct ahead_tape *ahead_tape;
	bool done;
	bool had_no_memory; /* the thread that goes on alone tries the action again */
	bool copied;        /* a LOAD or STORE that this process has done; another had no memory */
	bool counted;       /* a RECORD whose ahead tape count_tape() has counted */
	unsigned others;    /* number of other ahead tapes in use when count_tape() counted */
	int error;
	char text[AHEAD_TEXT]; /* of `error` */
	/* Guarded by `sweep->lock`. */
	struct ahead_resource *uses[2];
	struct ahead_action *next_user[2]; /* the next action that uses uses[0], uses[1] */
	unsigned waits;                    /* number of resources that the action waits for */
	struct ahead_action *next_ready;
};

struct ahead_sweep {
	reel_run *run;
	const reel_model *model;
	const struct reel_omp_options *options;
	void *context;
	void *adjoint;
	bool keeps_states; /* before each RECORD, so that its steps can be recorded again */

	struct ahead_state *state;
	unsigned states;
	/* The state of the program, from which steps are recorded again. Only a REVERSE uses it. */
	struct ahead_state spare;
	struct reel_run_group reverse_group; /* in which the processes agree on each REVERSE */
	struct ahead_tape *ahead_tape;
	unsigned ahead_tapes;
	/* The tape of the run, for steps that are recorded and not reversed at once. */
	struct ahead_tape kept;

	/*
	 * The thread that walks changes these without `lock`; `walking` lets one thread walk at a
	 * time. Other threads read them under `lock` while `walking` is false. The thread that goes
	 * on alone sets `error` and `text`, while no thread walks.
	 */
	reel_action next;
	bool has_next, finished;
	bool at_first_step;               /* the last REVERSE of the plan was taken */
	struct ahead_tape
		*recorded_tape; /* of the RECORD before, whose REVERSE comes next; or NULL */
	unsigned next_tape, next_state;
	int error;             /* the error that ends the sweep: of the walk or of an action */
	char text[AHEAD_TEXT]; /* of `error` */

	/* Guards the members below up to `changed`, and in each action the members for waiting. */
	pthread_mutex_t lock;
	struct ahead_action *queue; /* a ring of `places` actions */
	int64_t places;
	int64_t number, oldest; /* of the next action; of the first that is not done */
	bool walking;
	struct ahead_resource slot[AHEAD_SLOTS], reverse_chain;
	struct ahead_action *ready;
	int running;
	bool over;
	pthread_cond_t changed; /* an action became ready, or the sweep is over */

	/*
	 * One thread carries out actions, and the others wait. It changes under `lock` while no
	 * action runs, so an action reads it without `lock`.
	 */
	bool alone;
	int64_t pauses; /* number of actions left to that thread for lack of memory; only it adds */

	/*
	 * Actions with higher numbers are skipped. Relaxed: an action that is not skipped in time
	 * is carried out correctly, and `lock` orders all results.
	 */
	_Atomic int64_t stop;
	/* All relaxed: numbers that order no other memory. */
	_Atomic unsigned tapes;      /* ahead tapes that are recorded, or being recorded */
	_Atomic uint64_t max_tapes;  /* the largest number of these so far */
	_Atomic unsigned recorded;   /* ahead tapes that are recorded */
	_Atomic unsigned limit, cap; /* tapes to use in turn; upper bound of `limit` */
	_Atomic uint64_t tape_bytes; /* size of the largest tape so far */
	_Atomic int64_t actions, records, ahead, dropped;
};

/*
 * lookahead-open.c. Returns 0; or -EAGAIN, with nothing left open: there is no memory to look
 * ahead, or the processes may not agree from several threads. A serial sweep may still succeed. Or
 * another error of the group. All processes of the run call it, and it returns the same on all.
 */
int reel_omp_sweep_open(struct ahead_sweep *sweep, void *state);
void reel_omp_sweep_close(struct ahead_sweep *sweep);
/*
 * Set the number of tapes to use in turn: after a RECORD succeeded on `tape`, and after a RECORD
 * got no memory while `others` tapes were in use.
 */
void reel_omp_note_record(struct ahead_sweep *sweep, const reel_tape *tape);
void reel_omp_note_refusal(struct ahead_sweep *sweep, unsigned others);

/*
 * lookahead-act.c. Returns whether the action was carried out. If not, it was skipped, or
 * `entry->error` or `entry->had_no_memory` says why.
 */
bool reel_omp_carry_out(struct ahead_action *entry);

#endif
