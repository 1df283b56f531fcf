/* SPDX-License-Identifier: MIT */
/*
 * A model for the tests of plans and runs: a nonlinear recurrence over a
 * vector. Its gradient by one plain tape is the result that they must give to the last bit. And
 * the plans and runs of it.
 */
#ifndef TESTS_RECURRENCE_H
#define TESTS_RECURRENCE_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <string.h>

#include <reel/plan.h>

#include "support.h"

#define LENGTH 5

struct state {
	double x[LENGTH];
};

/* Counts the calls and fails the one asked for. */
struct run {
	int64_t advanced;
	int64_t recorded;
	int64_t reversed;
	int64_t snapshots;
	/* -1: none fails. */
	int64_t failing_advance;
	int64_t failing_record;
	int64_t failing_reverse;
	/* The step, counted from 1, whose record pushes a value that no pop takes; 0: none. */
	int64_t excess;
	/* How strongly neighbours act on each other: an optimisation would change it. */
	double coupling;
};

static inline double stepped(const struct run *run, double x, double neighbour, int64_t step)
{
	return sin(x) + run->coupling * neighbour * cos((double)step);
}

static inline void primal_step(const struct run *run, struct state *state, int64_t step)
{
	struct state before = *state;

	for (int i = 0; i < LENGTH; i++)
		state->x[i] = stepped(run, before.x[i], before.x[(i + 1) % LENGTH], step);
}

/* The record of a step on the tape, and its adjoint, which pops it. */
static inline void push_state(reel_tape *tape, const struct state *state)
{
	for (int i = 0; i < LENGTH; i++)
		reel_push(tape, state->x[i]);
}

static inline void reverse_step(const struct run *run, struct state *bar, int64_t step,
				reel_tape *tape)
{
	struct state next_bar = *bar;

	memset(bar, 0, sizeof *bar);
	for (int i = LENGTH; i-- > 0;) {
		bar->x[i] += cos(reel_pop(tape, double)) * next_bar.x[i];
		bar->x[(i + 1) % LENGTH] += run->coupling * cos((double)step) * next_bar.x[i];
	}
}

static inline int advance(void *context, void *state, int64_t first, int64_t last)
{
	struct run *run = context;

	for (int64_t step = first; step < last; step++) {
		if (step == run->failing_advance)
			return -ECANCELED;
		primal_step(run, state, step);
		run->advanced++;
	}
	return 0;
}

static inline int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct run *run = context;
	struct state *now = state;

	for (int64_t step = first; step < last; step++) {
		if (step == run->failing_record)
			return -ECANCELED;
		if (step + 1 == run->excess)
			reel_push(tape, 1.0);
		push_state(tape, now);
		primal_step(run, now, step);
		run->recorded++;
	}
	return 0;
}

static inline int reverse(void *context, void *adjoint, int64_t first, int64_t last,
			  reel_tape *tape)
{
	struct run *run = context;

	for (int64_t step = last; step-- > first;) {
		if (step == run->failing_reverse)
			return -ECANCELED;
		reverse_step(run, adjoint, step, tape);
		run->reversed++;
	}
	return 0;
}

static inline int save(void *context, const void *state, void *snapshot)
{
	struct run *run = context;

	run->snapshots++;
	memcpy(snapshot, state, sizeof(struct state));
	return 0;
}

static inline int load(void *context, void *state, const void *snapshot)
{
	(void)context;
	memcpy(state, snapshot, sizeof(struct state));
	return 0;
}

static const reel_model copied = {sizeof(struct state), advance, record, reverse, NULL, NULL};
static const reel_model saved = {sizeof(struct state), advance, record, reverse, save, load};

/* ---- Callbacks that are left, as by an exception of C++ ---- */

static _Thread_local jmp_buf out_of_the_callback;
/* Number of places that are passed until one is left, by all callbacks of the thread together. */
static _Thread_local int64_t places_to_pass;

static inline void leave_in_time(void)
{
	if (places_to_pass-- == 0)
		longjmp(out_of_the_callback, 1);
}

static inline int leaving_advance(void *context, void *state, int64_t first, int64_t last)
{
	leave_in_time();
	return advance(context, state, first, last);
}

static inline int leaving_record(void *context, void *state, int64_t first, int64_t last,
				 reel_tape *tape)
{
	int error = 0;

	for (int64_t step = first; step < last && !error; step++) {
		leave_in_time();
		error = record(context, state, step, step + 1, tape);
	}
	return error;
}

static inline int leaving_reverse(void *context, void *adjoint, int64_t first, int64_t last,
				  reel_tape *tape)
{
	int error = 0;

	for (int64_t step = last; step > first && !error; step--) {
		leave_in_time();
		error = reverse(context, adjoint, step - 1, step, tape);
	}
	leave_in_time();
	return error;
}

static inline int leaving_save(void *context, const void *state, void *snapshot)
{
	leave_in_time();
	return save(context, state, snapshot);
}

static inline int leaving_load(void *context, void *state, const void *snapshot)
{
	leave_in_time();
	return load(context, state, snapshot);
}

static const reel_model leaving = {sizeof(struct state), leaving_advance, leaving_record,
				   leaving_reverse,      leaving_save,    leaving_load};

static const struct run no_failure = {
	.failing_advance = -1, .failing_record = -1, .failing_reverse = -1, .coupling = 0.25};
static const struct state start = {{0.3, -1.1, 2.0, 0.7, -0.2}};
static const struct state seed = {{1.0, 0.5, -2.0, 0.0, 3.0}};

static inline struct state gradient_by_one_tape(struct run run, int64_t steps)
{
	struct state state = start, bar = seed;
	reel_tape tape = {0};

	record(&run, &state, 0, steps, &tape);
	reverse(&run, &bar, 0, steps, &tape);
	reel_tape_close(&tape);
	return bar;
}

static inline bool is_gradient(const struct state *bar, int64_t steps)
{
	struct state right = gradient_by_one_tape(no_failure, steps);

	return !memcmp(bar, &right, sizeof right);
}

/* ---- Plans and runs ---- */

static inline unsigned tiers_of(enum reel_planner planner)
{
	return planner == REEL_STORE_ALL || planner == REEL_BINOMIAL || planner == REEL_MIXED ||
			       planner == REEL_ONLINE || planner == REEL_AUTO ? 1 : 2;
}

/* For this number of the plan's steps, with the slots of a tight problem. */
static inline reel_plan *plan_for(enum reel_planner planner, int64_t steps, int64_t slots)
{
	/* With tapes as large as two states a mixed plan also keeps tapes between reversals. */
	struct reel_problem problem = {.steps = steps, .tiers = tiers_of(planner),
				       .tape_states = planner == REEL_MIXED ? 2 : 0,
				       .tier = {{slots, 0, 0}, {slots + 2, 0.5, 0.5}}};
	reel_plan *plan;

	if (problem.tiers == 1)
		problem.tier[1] = (struct reel_tier){0};
	else if (planner != REEL_MULTISTAGE && planner != REEL_HIERARCHICAL)
		problem.tier[1].slots = steps + 1;
	if (reel_plan_open(&plan, planner, &problem)) {
		printf("Bail out! %s: %s\n", reel_planner_name(planner), reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return plan;
}

static inline reel_run *open_checkpoint(const reel_plan *plan, const reel_model *model,
					const struct reel_run_options *options)
{
	reel_run *run;

	if (reel_run_open(&run, plan, model, options)) {
		printf("Bail out! %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return run;
}

/* The reverse sweep, by the run or by the program in pieces. */
static inline int go_back(reel_run *checkpoint, struct run *run, struct state *state,
			  struct state *bar, bool pieces)
{
	reel_action action;
	int error;

	if (!pieces)
		return reel_run_reverse(checkpoint, run, state, bar);
	error = reel_run_take(checkpoint, &action);
	while (!error && action.kind != REEL_ACTION_DONE) {
		error = reel_run_carry_out(checkpoint, &action, run, state, bar, NULL);
		error = error ? error : reel_run_take(checkpoint, &action);
	}
	return error;
}

/* The sweeps of a program that can be resumed. */
static inline int begin_or_resume(reel_run *checkpoint, struct run *run, struct state *bar)
{
	struct state state = start;
	int error = reel_run_resume(checkpoint, run, bar);

	if (error && error != -ENOENT)
		return error;
	if (!reel_run_is_reversing(checkpoint)) {
		error = reel_run_forward(checkpoint, run, &state);
		*bar = seed;
	}
	return error && error != -ENOENT ? error : reel_run_reverse(checkpoint, run, &state, bar);
}

#endif
