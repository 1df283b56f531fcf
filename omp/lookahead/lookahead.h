/* SPDX-License-Identifier: MIT */
/*
 * Look-ahead: the actions of a plan, several at a time.
 *
 *	lookahead.c        a walk through the plan; what each action waits for
 *	lookahead-act.c    what each of them does
 *	lookahead-open.c   states, tapes, and how many of them there is memory for
 *
 * A LOAD takes the next of the states, a RECORD the next of the lanes: what is written in
 * turn by one thread in a serial sweep is renamed here, so that only what truly depends
 * on each other waits. An action uses at most two things (a state, a lane, a slot, the
 * adjoint), each of them when all earlier actions that use it are done. Who finishes an
 * action makes those ready that waited for it, and walks on where there is room in the
 * window of actions under way.
 *
 * Whatever cannot have memory pauses the sweep: actions after it are skipped, and when
 * none is running any more, one thread does alone, in order, what has not been done.
 */
#ifndef REEL_OMP_LOOKAHEAD_H
#define REEL_OMP_LOOKAHEAD_H

#include <pthread.h>
#include <stdatomic.h>

#include <reel/omp.h>

#include "checkpoint/run-lookahead.h"
#include "lookahead-buffer.h"
#include "omp/runtime/team.h"

/* Several slots may be one of these: they wait for each other, then. */
#define AHEAD_SLOTS 512

#define AHEAD_NONE INT64_MAX

/* Used by one action at a time, in their order. */
struct ahead_resource {
	struct ahead_action *last; /* to use it; NULL: nobody is left */
};

struct ahead_state {
	void *data;
	void *context;
	struct reel_ahead_buffer memory; /* closed: the program's */
	struct ahead_resource resource;
};

enum ahead_contents {
	AHEAD_EMPTY,
	AHEAD_RECORDED,
	AHEAD_MISSING /* there was no memory: is recorded when it is reversed */
};

/* A tape, and what it takes to record it again. */
struct ahead_tape {
	reel_tape *tape;
	reel_tape own;
	enum ahead_contents contents;
	reel_action record;
	struct reel_ahead_buffer before; /* the state before it; closed: it is never dropped */
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
	bool had_no_memory; /* there was no memory for it: may be tried again */
	int error;
	char text[AHEAD_TEXT]; /* of `error` */
	/* Under the lock: what it uses, and the next one to do so. */
	struct ahead_resource *uses[2];
	struct ahead_action *next_user[2];
	unsigned waits;
	struct ahead_action *next_ready;
};

struct ahead_sweep {
	reel_run *run;
	const reel_model *model;
	const struct reel_omp_options *options;
	void *context;
	void *adjoint;

	struct ahead_state *state;
	unsigned states;
	/* The caller's, to record again in; the reverse chain's. */
	struct ahead_state spare;
	struct ahead_tape *ahead_tape;
	unsigned ahead_tapes;
	/* For tapes that the plan keeps while it makes others: the run's own. */
	struct ahead_tape kept;

	/* The walking thread's, of which there is one at a time. */
	reel_action next;
	bool has_next, finished;
	bool at_first_step;               /* the last REVERSE was taken */
	struct ahead_tape *recorded_tape; /* by the action before, from this state on */
	int64_t recorded_first;
	unsigned next_tape, next_state;
	int error;             /* of the walk itself */
	char text[AHEAD_TEXT]; /* of the error that ends the sweep */

	/* Guards all of this, and what entries say of waiting. */
	pthread_mutex_t lock;
	struct ahead_action *window;
	int64_t places;
	int64_t number, oldest; /* oldest: all before are done */
	bool walking;
	struct ahead_resource slot[AHEAD_SLOTS], reverse_chain;
	struct ahead_action *ready;
	int running;
	bool over;
	pthread_cond_t changed; /* something is ready, or it is over */

	bool alone; /* no other thread has an action */
	int64_t pauses;

	/* Actions of higher numbers are skipped. Relaxed: the lock orders what matters. */
	_Atomic int64_t stop;
	/* Relaxed, all: figures that order nothing. */
	_Atomic unsigned tapes, max_tapes; /* with something on them, or about to */
	_Atomic unsigned recorded;          /* of these, wholly */
	_Atomic unsigned limit, cap;        /* lanes in use; and since one had no memory */
	_Atomic uint64_t tape_bytes;        /* the longest so far */
	_Atomic int64_t actions, records, ahead, dropped;
};

/*
 * lookahead-open.c. False: there is no memory to look ahead, nothing was taken, and a serial
 * sweep may do.
 */
bool reel_omp_sweep_open(struct ahead_sweep *sweep, void *state);
void reel_omp_sweep_close(struct ahead_sweep *sweep);
/* A record has been made, or had no memory beside so many others: how many at once now. */
void reel_omp_note_record(struct ahead_sweep *sweep, const reel_tape *tape);
void reel_omp_note_refusal(struct ahead_sweep *sweep, unsigned others);

/* lookahead-act.c: whether the action was carried out. If not, the entry says why, or it is skipped. */
bool reel_omp_carry_out(struct ahead_action *entry);

#endif
