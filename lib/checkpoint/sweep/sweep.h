/* SPDX-License-Identifier: MIT */
/* The sweeps of a run, which carry one action out after the other. */
#ifndef REEL_LIB_SWEEP_H
#define REEL_LIB_SWEEP_H

#include "checkpoint/run/run.h"

/*
 * sweep.c: sets the run back to the beginning of the plan, without snapshots and with an empty
 * tape.
 */
void reel_run_begin(reel_run *run);

/*
 * run-action.c: carries an action of the plan out; `tape` NULL: the tape of the run. As
 * reel_run_carry_out().
 */
int reel_run_act(reel_run *run, const reel_action *action, void *context, void *state,
		 void *adjoint, reel_tape *tape);
/* Calls the callback of the model for a piece, and reel_piece_end(). */
int reel_piece_call(reel_run *run, const reel_action *piece, void *context, void *state,
		    void *adjoint, reel_tape *tape);
/*
 * Counts a piece that has led to `state`, and looks at the tape and the state that it has left.
 * `error` is the result of carrying it out. Returns the error of the sweep, or 0.
 */
int reel_piece_end(reel_run *run, const reel_action *piece, void *context, const void *state,
		   reel_tape *tape, int error);
/*
 * Adds to the time that pieces of this kind have taken. In `waited_ns` of it the thread has waited
 * for a store, by reel_offload_waited_ns().
 */
void reel_piece_note_time(reel_run *run, const reel_action *piece, uint64_t ns,
			  uint64_t waited_ns);

/* run-learn.c: the schedule of a plan that learns is told of the run's costs. 0 or -ENOMEM. */
int reel_learning_open(reel_run *run);
void reel_learning_close(reel_run *run);
/* A forward sweep begins. */
void reel_learning_begin(reel_run *run);
/* The run was resumed: the schedule has the costs of the restart file. */
void reel_learning_resume(reel_run *run);
/* The reverse sweep begins. Collective, as reel_learn(). */
int reel_learn_reverse_begin(reel_run *run);
/* It has come to its end. */
void reel_learn_reverse_end(reel_run *run);
/* Before the next action is taken. Collective. Returns 0 or the error of the other ranks. */
int reel_learn(reel_run *run);
/* Notes where the tape of a RECORD begins that was just taken. Returns 0 or -ENOMEM. */
int reel_learn_start(reel_run *run, const reel_action *record);
/* Carries a FORGET out. */
void reel_learn_forget(reel_run *run, const reel_action *forget);

/* run-read-ahead.c: begins at the next action of `run->schedule`. */
void reel_ahead_begin(reel_run *run);
/* Looks some actions further after an action was taken from `run->schedule`. */
void reel_ahead_extend(reel_run *run);

#endif
