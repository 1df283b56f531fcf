/* SPDX-License-Identifier: MIT */
/*
 * A run of a plan over a model, and the parts of it that all files of the folders above this one
 * use.
 *
 * One thread at a time uses a run, but several threads may carry its actions out at the same time
 * (reel_run_carry_out()). These threads share the snapshots and the counters.
 */
#ifndef REEL_LIB_RUN_H
#define REEL_LIB_RUN_H

#include <reel/run.h>
#include <reel/plan.h>

#include "checkpoint/snapshot/snapshot.h"
#include "run-group.h"
#include "run-lookahead.h"

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

/* ADVANCE, RECORD and REVERSE. */
#define REEL_PIECE_KINDS 3

/*
 * Numbers of steps of the model by the kind of piece, and of stores and loads by tier: indices into
 * the counts of a run, which a restart file has.
 */
enum {
	REEL_RUN_STORES = REEL_PIECE_KINDS,
	REEL_RUN_LOADS = REEL_RUN_STORES + REEL_MAX_TIERS,
	REEL_RUN_COUNTS = REEL_RUN_LOADS + REEL_MAX_TIERS
};

struct reel_run_counts {
	uint64_t of[REEL_RUN_COUNTS];
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
	uint64_t waited;   /* reel_offload_waited_ns() at that time */
	uint64_t ns;       /* how long the piece took, by reel_run_set_time(); 0: not set */
	bool copied;       /* reel_run_copy() was called for this STORE or LOAD */
	int copy_error;    /* its result */
	bool ends;         /* reel_run_end_loop() was called */
	int error;         /* the argument of reel_run_stop() */
};

struct reel_run {
	const reel_plan *plan;
	reel_model model;
	struct reel_run_options options;
	struct reel_part *part; /* memory of the options' lists, the state's first; or NULL */
	struct reel_loss *loss; /* memory of options.loss, with its fields behind it; or NULL */
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
	char path[REEL_GROUP_EPOCHS][REEL_GROUP_PATH_BYTES];

	struct reel_run_progress *progress; /* NULL: nobody looks at it */
	struct reel_run_learning *learning; /* of a plan of REEL_AUTO; else NULL */
	struct reel_packer *packer;           /* of a run with options.loss; else NULL */

	/* Counters, relaxed everywhere: no thread reads other memory because of their values. */
	_Atomic uint64_t counts[REEL_RUN_COUNTS];
	_Atomic uint64_t peak_tape_bytes;
	_Atomic uint64_t rounded_bytes, kept_bytes; /* of states stored with loss */
	_Atomic uint64_t largest_kept;              /* of the largest of these */
	_Atomic uint64_t ns[REEL_PIECE_KINDS];
	_Atomic uint64_t waited_ns[REEL_PIECE_KINDS]; /* of `ns`, for a store */
};

/* Changes the phase by the table above. */
void reel_run_enter(reel_run *run, enum reel_run_phase phase);
/* Number of steps of the model when a run begins, or REEL_UNKNOWN_STEPS. */
int64_t reel_run_steps_at_first(const reel_run *run);
/* Notes that the loop ends in state `step`, which the last ADVANCE has reached. 0 or -ERANGE. */
int reel_run_meet_end(reel_run *run, int64_t step);
/* Returns true if the forward sweep ends with this action. */
bool reel_run_turns_after(const reel_run *run, const reel_action *action);
/* No other thread carries actions out while reel_run_set_counts() runs. */
struct reel_run_counts reel_run_get_counts(const reel_run *run);
void reel_run_set_counts(reel_run *run, const struct reel_run_counts *counts);
/*
 * Converts a step of the plan to the step of the model at which it begins. A plan of an unknown end
 * may name steps above REEL_MAX_STEPS: all of them become REEL_MAX_STEPS + 1, so that the product
 * does not overflow.
 */
int64_t reel_run_step_of(const reel_run *run, int64_t segment);
/* Returns the action with its steps counted in steps of the model. */
reel_action reel_run_piece_of(const reel_run *run, const reel_action *action);
/*
 * Calls visit() for each action that the plan still has, from the next one of `run->schedule` on,
 * and for DONE. Returns true if that is reached: there is memory, and the plan has no more than
 * 5,000,000 actions. More would take longer than some tenths of a second.
 */
bool reel_run_walk_plan(const reel_run *run,
			void (*visit)(void *context, const reel_action *action), void *context);
/*
 * Save and load a state by save() and load(), by its parts, or by memcpy(). Return their results.
 */
int reel_run_save_state(const reel_run *run, void *context, const void *state, void *snapshot);
int reel_run_load_state(const reel_run *run, void *context, void *state, const void *snapshot);

#endif
