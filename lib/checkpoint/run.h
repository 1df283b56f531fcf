/* SPDX-License-Identifier: MIT */
/*
 * A run of a plan over a model.
 *
 *	run-open.c         checks and completes the options of a run
 *	run.c              the sweeps: one action after the other
 *	run-action.c       carries one action out
 *	run-read-ahead.c   walks ahead of the sweep and starts reads
 *	run-progress.c     how far the run is
 *	run-trace.c        the plan in the trace
 *	run-audit.c        compares a state with the state of an earlier replay
 *	run-restart.c      writes and reads what a killed run is resumed from
 *	run-epoch.c        names of restart files, and the epoch to resume from
 *	run-group.c        what the processes of a run agree on
 *	save-request.c     requests to save all runs of the process
 *	snapshot.c         slots of snapshots
 *
 * One thread at a time uses a run, but several threads may carry its actions out at the same time
 * (reel_run_carry_out()). These threads share the snapshots and the counters.
 */
#ifndef REEL_LIB_RUN_H
#define REEL_LIB_RUN_H

#include <reel/run.h>
#include <reel/plan.h>

#include "run-group.h"
#include "run-lookahead.h"
#include "snapshot.h"

/*
 * reel_run_enter() changes the phase:
 *
 *	from       to         in
 *	any        IDLE       reel_run_resume, reel_run_give_up, a sweep that failed or was left
 *	IDLE       RESUMED    walk, in a forward sweep
 *	any        FORWARD    begin_forward
 *	IDLE       REVERSE    walk (resumed in a reverse sweep)
 *	FORWARD    REVERSE    go_on, at the last state
 *	REVERSE    IDLE       complete, at the last action
 */
enum reel_run_phase {
	REEL_RUN_IDLE,    /* no sweep has begun, or a sweep failed, or all steps are reversed */
	REEL_RUN_RESUMED, /* resumed in a forward sweep, which the next call goes on with */
	REEL_RUN_FORWARD, /* in a forward sweep */
	REEL_RUN_REVERSE, /* the forward sweep has ended, and the reverse sweep has not */
	REEL_RUN_PHASES
};

/* The epochs of a group's restart files that exist at the same time. */
#define REEL_GROUP_EPOCHS 2

/* Requests of one process after an action, which all processes of a run then carry out. */
enum reel_run_request {
	REEL_REQUEST_FINISH = 1, /* the loop ends in this state */
	REEL_REQUEST_SAVE = 2,   /* a restart file is due */
	REEL_REQUEST_END = 4     /* the sweep ends when it is saved */
};

/* Numbers of steps of the model, and of stores and loads of each tier. */
struct reel_run_counts {
	int64_t advanced, recorded, reversed;
	uint64_t stores[REEL_MAX_TIERS], loads[REEL_MAX_TIERS];
};

/* The sweep that is under way: where it stands, and the arguments that it was begun with. */
struct reel_sweep {
	void *context, *state, *adjoint;
	reel_action action; /* the action of the plan that is under way; DONE: none */
	int64_t at;         /* the state that the pieces of an ADVANCE have reached */
	bool resumed;       /* reel_run_resume() has succeeded, and no sweep has begun since */
	bool driven;        /* reel_run_next() goes on with it, and no callbacks */

	/* The members below belong to a sweep that is driven. */
	reel_action piece; /* the piece that the program carries out; DONE: none */
	uint64_t since;    /* the time at which the piece was handed out */
	uint64_t ns;       /* how long the piece took, by reel_run_set_time(); 0: not set */
	bool copied;       /* reel_run_copy() was called for this STORE or LOAD */
	int copy_error;    /* what it came to */
	bool ends;         /* reel_run_end_loop() was called */
	int error;         /* what reel_run_stop() was called with */
};

/* ADVANCE, RECORD and REVERSE. */
#define REEL_PIECE_KINDS 3

struct reel_run {
	const reel_plan *plan;
	reel_model model;
	struct reel_run_options options;
	struct reel_part *part; /* memory of the options' lists, the state's first; or NULL */
	reel_tape tape;
	struct reel_snapshots snapshots;
	reel_schedule *schedule;
	enum reel_run_phase phase;
	struct reel_sweep sweep;
	/*
	 * Number of functions of the run that have begun and not returned. If it is not 0 when
	 * the program calls the next one, a callback was left by an exception or by longjmp().
	 * Relaxed everywhere: it guards no other data.
	 */
	_Atomic unsigned under_way;
	uint64_t actions;       /* number of actions taken from the schedule */
	int64_t steps;          /* number of steps of the model, or REEL_UNKNOWN_STEPS */
	int64_t steps_on_tape;  /* number of steps recorded on `tape` and not yet reversed */

	/* Reading ahead: a copy of `schedule` that is up to some thousand actions ahead of it. */
	reel_schedule *ahead;
	reel_action wanted; /* if `wants`: the LOAD of `ahead` that no read was started for */
	/*
	 * Number of actions taken from `schedule`, and from `ahead`, since reel_ahead_begin(). Not
	 * counted if no store is used or the number of steps is unknown.
	 */
	uint64_t taken, looked;
	bool wants;

	/* Audit: a hash of each state; 0: the run has not seen this state. */
	uint32_t *hash;
	int64_t hash_room;      /* number of entries of `hash` */
	int64_t unlike_step;    /* first step that does not replay, or -1 */
	void *scratch;          /* a snapshot that is hashed */

	/* Restart files. */
	uint64_t saved_at;     /* time of the last restart file, in ns */
	reel_schedule *later;  /* a copy of `schedule`, to look whether a file can be written */
	reel_action stored;    /* resumed in a forward sweep: the STORE of the working state */
	/*
	 * The buffer of save_adjoint() or load_adjoint(), or NULL. The run owns it, so that it is
	 * freed if they are left.
	 */
	void *packed;
	size_t packed_bytes;
	uint64_t saves, failed_saves;
	uint32_t served;  /* number of requests to save that this run has served */
	bool save_failed; /* the last restart file was not written, and this was reported */

	/* The other processes; ranks is at most 1 if there are none. */
	struct reel_run_group group;
	uint64_t epoch; /* the newest epoch of restart files that is complete, or 0 */
	char *path[REEL_GROUP_EPOCHS];

	struct reel_run_progress *progress; /* NULL: nobody looks at it */
	bool plan_is_traced;

	/* Counters, relaxed everywhere: no thread reads other memory because of their values. */
	_Atomic int64_t advanced, recorded, reversed;
	_Atomic uint64_t stores[REEL_MAX_TIERS], loads[REEL_MAX_TIERS];
	_Atomic uint64_t peak_tape_bytes;
	_Atomic uint64_t ns[REEL_PIECE_KINDS];
};

/* Changes the phase by the table above. */
void reel_run_enter(reel_run *run, enum reel_run_phase phase);
/* Sets the run back to the beginning of the plan, without snapshots and with an empty tape. */
void reel_run_begin(reel_run *run);
/* Number of steps of the model when a run begins, or REEL_UNKNOWN_STEPS. */
int64_t reel_run_steps_at_first(const reel_run *run);
/* Notes that the loop ends in state `step`, which the last ADVANCE has reached. 0 or -ERANGE. */
int reel_run_meet_end(reel_run *run, int64_t step);
/* Returns true if the forward sweep ends with this action. */
bool reel_run_turns_after(const reel_run *run, const reel_action *action);
/* Returns true if the run compares states with what they were (REEL_RUN_AUDIT). */
bool reel_run_audits(const reel_run *run);

/* run-action.c: no other thread carries actions out while reel_run_set_counts() runs. */
struct reel_run_counts reel_run_get_counts(const reel_run *run);
void reel_run_set_counts(reel_run *run, const struct reel_run_counts *counts);
/*
 * Converts a step of the plan to the step of the model at which it begins. A plan of an unknown end
 * may name steps above REEL_MAX_STEPS: all of them become REEL_MAX_STEPS + 1, so that the product
 * does not overflow.
 */
int64_t reel_run_step_of(const reel_run *run, int64_t segment);
/* Returns the action with its steps counted in those of the model. */
reel_action reel_run_piece_of(const reel_run *run, const reel_action *action);
/*
 * Calls visit() for each action that the plan still has, from the next one of `run->schedule` on, and
 * for DONE. Returns true if that is reached: there is memory, and the plan has no more than 5,000,000
 * actions. More would take longer than some tenths of a second.
 */
bool reel_run_walk_plan(const reel_run *run,
			void (*visit)(void *context, const reel_action *action), void *context);
/* Carries an action of the plan out; `tape` NULL: that of the run. As reel_run_carry_out(). */
int reel_run_act(reel_run *run, const reel_action *action, void *context, void *state,
		 void *adjoint, reel_tape *tape);
/* Calls the callback of the model for a piece, and reel_piece_end(). */
int reel_piece_call(reel_run *run, const reel_action *piece, void *context, void *state,
		    void *adjoint, reel_tape *tape);
/*
 * Counts a piece that has led to `state`, and looks at the tape and the state that it has left.
 * `error` is what carrying it out came to. Returns the error of the sweep, or 0.
 */
int reel_piece_end(reel_run *run, const reel_action *piece, void *context, const void *state,
		   reel_tape *tape, int error);
/* Adds to the time that pieces of this kind have taken. */
void reel_piece_note_time(reel_run *run, const reel_action *piece, uint64_t ns);
/* Saves a state by save(), by the parts of the state, or by memcpy(). Returns what save() does. */
int reel_run_save_state(const reel_run *run, void *context, const void *state, void *snapshot);

/* run-read-ahead.c: begins at the next action of `run->schedule`. */
void reel_ahead_begin(reel_run *run);
/* Looks some actions further after an action was taken from `run->schedule`. */
void reel_ahead_extend(reel_run *run);

/* run-progress.c: opens what REEL_PROGRESS and the options ask for. Returns 0 or -ENOMEM. */
int reel_progress_open(reel_run *run);
void reel_progress_close(reel_run *run);
/* Forgets all that was measured: a forward sweep begins, or a run is resumed. */
void reel_progress_begin(reel_run *run);
/*
 * Counts what the plan still has to do, from the next action of `run->schedule` on. Without memory, in
 * a very long plan, or where the number of steps is not known, the time left stays unknown.
 */
void reel_progress_count(reel_run *run);
/* A sweep begins, or goes on; it has ended, in whatever way, and shows no lines any more. */
void reel_progress_go_on(reel_run *run);
void reel_progress_end(reel_run *run);
/* Counts a piece that took `ns` and did not fail, and tells how far the run is if that is due. Any thread. */
void reel_progress_note(reel_run *run, const reel_action *piece, uint64_t ns);
/*
 * Time in ns that all pieces which are left will take, one after the other; below 0: not known. For
 * tests. The thread that owns the run, while no piece is under way.
 */
double reel_progress_left(const reel_run *run);

/*
 * run-trace.c: writes what the plan still has to do into the trace, if there is one. Once for a run,
 * when the number of its steps is known. Cost: two walks through the plan.
 */
void reel_run_trace_plan(reel_run *run);

/*
 * run-audit.c: compares state `step` with what it was before, if the run has seen it before. A
 * callback has led from state `from` to it; `from` is `step` if the state was stored or loaded.
 * Returns 0, -EILSEQ or -ENOMEM.
 */
int reel_audit_state(reel_run *run, void *context, const void *state, int64_t from, int64_t step);
void reel_audit_begin(reel_run *run);
void reel_audit_end(reel_run *run);

/* run-restart.c: a run can be saved when it consists of snapshots and an adjoint only. */
void reel_restart_begin(reel_run *run);
/* REEL_REQUEST_SAVE and REEL_REQUEST_END, if a restart file is due after this action, or 0. */
unsigned reel_restart_requests(const reel_run *run, const reel_action *action);
/* Saves the run. Returns 0, also if that fails; or -EINTR: it is saved, and `ends` is true. */
int reel_restart_save(reel_run *run, void *context, const void *adjoint, bool ends);
void reel_restart_remove(reel_run *run);
void reel_restart_drop_packed(reel_run *run);
/* Returns 0 if a restart file may be written to `path`, or an error. */
int reel_restart_check(const char *path);
/* Reads the restart file into a run that has just begun; returns as reel_run_resume(). */
int reel_restart_read(reel_run *run, void *context, void *adjoint);
/*
 * For groups. Sets *epoch to that of the file at `path`, or to 0 if there is no whole file. Returns
 * 0, or an error: the file is whole, and is none to resume from.
 */
int reel_restart_find(const reel_run *run, const char *path, int64_t *epoch);
/* Renames the file of `run->epoch`, which a killed process has left with .new. */
int reel_restart_rename(const reel_run *run);
/* A checksum of all that the processes of a run have in common. */
uint32_t reel_restart_plan_crc(const reel_run *run);

/*
 * run-epoch.c: agrees on `error`, as reel_group_agree() does, and then on `number`. Returns -EINVAL
 * if the processes give different numbers of `what`.
 */
int reel_group_check_same(const struct reel_run_group *group, int error, uint32_t number,
			  const char *what);
/* The restart file of an epoch; and the number of names that the files of all epochs have. */
const char *reel_group_path(const reel_run *run, uint64_t epoch);
unsigned reel_group_names(const reel_run *run);
int reel_group_name_files(reel_run *run);
void reel_group_close(reel_run *run);
/* Sets `run->epoch` to the newest that is whole on all processes. Returns as resuming does. */
int reel_group_find_epoch(reel_run *run);

#endif
