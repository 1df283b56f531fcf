/* SPDX-License-Identifier: MIT */
/*
 * A run of a plan over a model.
 *
 *	run-open.c   what a run is opened with
 *	run.c        the sweeps: actions carried out one after the other
 *	run-read-ahead.c  a copy of the schedule that says what to read in advance
 *	run-audit.c  whether steps replay
 *	run-restart.c
 *	                    what a run that was killed is resumed from
 *	snapshot.c          where the states are
 *	snapshot-buffer.c            their memory, and their way to the stores and back
 */
#ifndef REEL_LIB_RUN_H
#define REEL_LIB_RUN_H

#include <reel/run.h>
#include <reel/plan.h>

#include "run-attempt.h"
#include "snapshot.h"

enum reel_run_phase {
	REEL_RUN_IDLE,    /* no sweep has begun, or one has failed, or all is reversed */
	REEL_RUN_FORWARD, /* resumed there: only reel_run_forward() can go on */
	REEL_RUN_REVERSE  /* the forward sweep has come to its end */
};

/* What has been done, in steps of the model. */
struct reel_run_counts {
	int64_t advanced, recorded, reversed;
	uint64_t stores[REEL_MAX_TIERS], loads[REEL_MAX_TIERS];
};

struct reel_run {
	const reel_plan *plan;
	reel_model model;
	struct reel_run_options options;
	reel_tape tape;
	struct reel_snapshots snapshots;
	reel_schedule schedule;
	enum reel_run_phase phase;
	uint64_t actions;       /* that were taken from the schedule */
	int64_t steps;          /* of the model, or REEL_UNKNOWN_STEPS */
	int64_t steps_on_tape;  /* recorded on `tape` and not yet reversed */
	char message[REEL_RUN_MESSAGE];

	/* Reading ahead: a schedule that runs before the other one. */
	reel_schedule ahead;
	reel_action wanted;     /* the LOAD that it stands at */
	uint64_t taken, looked; /* actions */
	bool wants;

	/* Audit: a hash of each state, 0: not known yet; a run that is resumed has gaps. */
	uint32_t *hash;
	int64_t hash_room;
	int64_t unlike_step;
	void *scratch;

	/* Restart files. */
	uint64_t saved_at;
	reel_action stored;    /* resumed in a forward sweep: the working state is in this slot */
	uint64_t saves, failed_saves;
	char save_message[REEL_RUN_MESSAGE]; /* of the last one, if it failed */

	/* Relaxed: counters, which order nothing. */
	_Atomic int64_t advanced, recorded, reversed;
	_Atomic uint64_t stores[REEL_MAX_TIERS], loads[REEL_MAX_TIERS];
	_Atomic uint64_t peak_tape_bytes;
};

/* Note what went wrong, in words, if nothing did before; returns error. */
int reel_run_fail(reel_run *run, int error, const char *format, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 3, 4)))
#endif
	;

/* run.c: no other thread counts meanwhile when they are set. */
struct reel_run_counts reel_run_get_counts(const reel_run *run);
void reel_run_set_counts(reel_run *run, const struct reel_run_counts *counts);
/* Forget all that was done. */
void reel_run_begin(reel_run *run);
/* The steps that are known when a run begins. */
int64_t reel_run_steps_at_first(const reel_run *run);
/* The loop ends before step `step`, which the last ADVANCE has come to. 0, or -ERANGE. */
int reel_run_end_loop(reel_run *run, int64_t step);
/* Whether the forward sweep ends with this action. */
bool reel_run_turns_after(const reel_run *run, const reel_action *action);

/* run-read-ahead.c: from the run's present place on; and the next action was taken. */
void reel_ahead_begin(reel_run *run);
void reel_ahead_follow(reel_run *run);

/*
 * run-audit.c: this is state `step`, come to from state `from` in one call.
 * 0, -EILSEQ or -ENOMEM.
 */
int reel_audit_state(reel_run *run, void *context, const void *state, int64_t from, int64_t step);
void reel_audit_begin(reel_run *run);
void reel_audit_end(reel_run *run);

/* run-restart.c: a run is written where all that it is are snapshots and an adjoint. */
void reel_restart_begin(reel_run *run);
void reel_restart_save_if_due(reel_run *run, const void *adjoint);
void reel_restart_remove(reel_run *run);
/* 0; or why a restart file may not be written to `path`: an error, and the message for it. */
int reel_restart_check(const char *path, char *message, size_t room);
/* As reel_run_resume(), of a run that has just been begun. */
int reel_restart_read(reel_run *run, void *adjoint);

#endif
