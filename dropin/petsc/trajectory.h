/* SPDX-License-Identifier: MIT */
/*
 * A trajectory of PETSc, TSTrajectory of the type "reel": the steps that a TS saves for
 * TSAdjointSolve(). All functions are PETSc's callbacks or are called by them, with PETSc's rules:
 * all ranks of the TS call them together, and they return PETSc's error codes.
 *
 * Either all steps are kept, each in a parcel with its stages, or checkpoints of the solution are,
 * as a plan says, and steps are taken again. The run of the plan is driven (reel/plan.h): PETSc
 * takes the steps of the forward sweep, and get() takes the steps of the reverse sweep.
 */
#ifndef REEL_PETSC_TRAJECTORY_H
#define REEL_PETSC_TRAJECTORY_H

#include <petsc/private/tsimpl.h>

#include <reel.h>
#include <reel/extend.h>
#include <reel/parcel.h>
#include <reel/plan.h>
#include <reel/mpi.h>

#define TEXT_BYTES 256

/* An invariant that no program can break. The tests compile it in; a release leaves it out. */
#if REEL_ASSERTIONS
#define REEL_ASSERT(condition)                                                                     \
	((condition) ? (void)0                                                                     \
		     : (fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__,           \
				#condition),                                                       \
			abort()))
#else
#define REEL_ASSERT(condition) ((void)(0 && (condition)))
#endif

/*
 * reel_petsc_enter() changes the phase:
 *
 *	from       to         in
 *	any        IDLE       reel_petsc_forget
 *	IDLE       FORWARD    begin, at solution 0
 *	FORWARD    RESUMED    start_run, with a file of a reverse sweep
 *	FORWARD    REVERSE    begin_reverse
 *	RESUMED    GIVEN      begin_reverse
 *	REVERSE    GIVEN      get_planned, at the REVERSE of the step
 *	GIVEN      REVERSE    go_on
 */
enum phase {
	PHASE_IDLE,    /* no solution is set */
	PHASE_FORWARD, /* solutions are set; if all are kept, they may be looked up */
	PHASE_RESUMED, /* the TS has its last solution; a file has the reverse sweep */
	PHASE_REVERSE, /* an adjoint solve asks for solutions */
	PHASE_GIVEN,   /* the same; `action` is a REVERSE, whose step the TS has */
	PHASES
};

/* A step, and the solution from which it begins, which has its number. */
struct step {
	PetscReal time;	     /* of the solution */
	PetscReal begin;     /* of the step; not `time` if the program has set the clock */
	PetscInt attempt;    /* the first one to take it */
	reel_parcel *kept;   /* the solution, or NULL */
	PetscBool has_stages; /* `kept` also has the stages of the step before */
	PetscBool has_tangents; /* and their tangents, for a second-order adjoint */
	PetscBool restarts;   /* it is the first one, or the first after an event */
};

/* How an attempt to take a step ended. The last attempt of each step was taken. */
enum fate { TAKEN, REJECTED /* by the controller */, ROLLED_BACK /* for an event */ };

struct attempt {
	PetscReal size; /* to the bit */
	enum fate fate;
};

/* Options and functions of PETSc set these. */
struct settings {
	PetscInt memory_slots, disk_slots; /* checkpoints; -1: not set */
	PetscInt stride;		   /* 0: not set */
	char planner[TEXT_BYTES];	   /* reel_problem_from_text() reads it; empty: chosen */
	char budget[TEXT_BYTES], directory[TEXT_BYTES], store[TEXT_BYTES];
	char restart[TEXT_BYTES];
	PetscReal restart_seconds; /* 0: not set */
	PetscBool audits;
};

struct trajectory {
	struct settings asked;
	struct settings used; /* by the pool, the plan and the run */

	/* ---- Set up ---- */
	reel_pool *pool; /* NULL: the default pool */
	MPI_Comm comm;
	int ranks;
	PetscBool is_planned; /* checkpoints, and not all steps */
	reel_plan *plan;
	reel_run *run;
	size_t state_bytes;
	struct reel_problem problem;
	enum reel_planner planned_by;

	/* ---- Attempts to take steps ---- */
	PetscBool is_seen; /* the controller has accepted the attempt that the TS makes */
	TSAdapt repeats; /* the controller of steps that are taken again */
	struct attempt *attempt;
	PetscInt attempts, attempt_capacity;
	PetscInt next_attempt; /* of a step that is taken again */

	/* ---- The last stage of the step before (first-stage.c) ---- */
	const PetscReal *tableau; /* the method that was looked at */
	PetscInt last_number;
	PetscReal last_time; /* of a step, in steps: 1 before rounding */
	PetscBool goes_on;	  /* it begins with that stage, and steps are taken again */
	PetscBool has_last_stage; /* a checkpoint also has that stage */
	PetscBool is_fresh;	  /* the TS has a solution that was loaded */
	Vec last_stage;		  /* of that solution */
	PetscReal derivative_time; /* at which the derivative there was calculated */
	PetscErrorCode (*rhs)(TS, PetscReal, Vec, Vec, void *);
	PetscErrorCode (*post_stage)(TS, PetscReal, PetscInt, Vec *);

	/* ---- The sweeps ---- */
	struct step *step;
	PetscInt capacity, steps; /* `steps` were taken; step[steps] has the last solution */
	PetscInt plan_end; /* the plan's number of steps; unknown: where the end was met, or -1 */
	PetscBool is_audited; /* the run compares solutions */
	Vec last; /* of a plan: the last one that was set, if solutions are compared, or for a
		     restart; of a step that was taken again: its solution */
	enum phase phase;
	reel_action action;
	PetscBool is_loaded;
	PetscInt given; /* the last solution that the TS was given in this reverse sweep, or -1 */
	PetscInt at; /* the number of the solution that the TS has */
	TS ts;	     /* of the call that is under way */
	PetscErrorCode failure; /* of PETSc, in a callback of the run */

	/* ---- Restart files (restart.c) ---- */
	PetscErrorCode pack_failure; /* of a file that is not written */
	PetscBool has_begun;  /* a sweep: later ones resume nothing */
	uint64_t start;	      /* a checksum of the sweep's beginning */
	TSConvergedReason reason; /* of the TS at the end of the forward sweep */
	PetscReal next_size;  /* of the step that would have followed */
	char *resumed;	      /* the file of a reverse sweep, up to its first step; or NULL */
};

/* ---- trajectory.c ---- */

/* Returns whether the trajectory is of the type "reel", so that its data are ours. */
PetscBool reel_petsc_is_ours(TSTrajectory tj);
void reel_petsc_enter(struct trajectory *self, enum phase phase);

/* ---- options.c ---- */

/* A parameter of this type has the name that PETSc's macros use. */
#if PETSC_VERSION_GE(3, 23, 0)
typedef PetscOptionItems option_items;
#else
typedef PetscOptionItems *option_items;
#endif

PetscErrorCode reel_petsc_set_from_options(TSTrajectory tj, option_items PetscOptionsObject);
/* Adds the functions of PETSc that set options to the trajectory, or removes them. */
PetscErrorCode reel_petsc_compose(TSTrajectory tj, PetscBool adds);

/* ---- setup.c: the pool, the plan and its run ---- */

PetscErrorCode reel_petsc_set_up(TSTrajectory tj, TS ts);
/* Returns whether steps that are taken again have to come to the same bits. */
PetscBool reel_petsc_needs_audit(const struct trajectory *self, TS ts);
/* Makes a plan anew if the number of steps that the TS is expected to take has changed. */
PetscErrorCode reel_petsc_plan(TSTrajectory tj, TS ts);
PetscErrorCode reel_petsc_take_down(TSTrajectory tj);
PetscErrorCode reel_petsc_renew(TSTrajectory tj, TS ts);

/* ---- steps.c: attempts to take steps, and steps that are taken again ---- */

PetscErrorCode reel_petsc_make_repeats(TSTrajectory tj);
PetscErrorCode reel_petsc_watch(TS ts);
PetscErrorCode reel_petsc_make_room(struct trajectory *self, PetscInt number, PetscInt attempts);
PetscErrorCode reel_petsc_note_step(TSTrajectory tj, TS ts, PetscInt number, PetscReal time);
/* Takes steps again, from solution `first`, which the TS has, to solution `last`. */
PetscErrorCode reel_petsc_replay(TSTrajectory tj, TS ts, PetscInt first, PetscInt last);

/* ---- first-stage.c ---- */

PetscErrorCode reel_petsc_look_at_method(TSTrajectory tj, TS ts);
PetscErrorCode reel_petsc_last_stage(TSTrajectory tj, TS ts, Vec *stage);
PetscErrorCode reel_petsc_step(TSTrajectory tj, TS ts);
/*
 * reel_petsc_step() calls these before and after its step; TSSolve() takes a resumed step itself.
 */
PetscErrorCode reel_petsc_begin_step(struct trajectory *self, TS ts);
PetscErrorCode reel_petsc_end_step(const struct trajectory *self, TS ts);

/* ---- keep.c: steps in parcels ---- */

/* Returns whether the TS propagates tangents, all of which a second-order adjoint needs. */
static inline PetscBool reel_petsc_has_tangents(TS ts)
{
	return (PetscBool)(ts->forward_solve && ts->vecs_sensi2);
}

/* Copies the local values of a vector. */
PetscErrorCode reel_petsc_read(Vec X, void *bytes);
PetscErrorCode reel_petsc_write(Vec X, const void *bytes);
PetscErrorCode reel_petsc_keep(TSTrajectory tj, TS ts, PetscInt number, Vec X, PetscBool stages);
PetscErrorCode reel_petsc_fetch(TSTrajectory tj, TS ts, PetscInt number);
PetscErrorCode reel_petsc_announce(TSTrajectory tj, PetscInt last);
PetscErrorCode reel_petsc_forget(TSTrajectory tj);
/* The solution, and the stage that the next step may need beside it. */
PetscErrorCode reel_petsc_solution_bytes(TSTrajectory tj, TS ts, size_t *bytes);
PetscErrorCode reel_petsc_save(TSTrajectory tj, TS ts, Vec X, void *bytes);
PetscErrorCode reel_petsc_load(TSTrajectory tj, TS ts, const void *bytes);

/* ---- restart.c ---- */

void reel_petsc_restart_options(const struct trajectory *self, struct reel_run_options *options);
PetscErrorCode reel_petsc_resume(TSTrajectory tj, TS ts);
PetscErrorCode reel_petsc_go_to_resumed(TSTrajectory tj, TS ts);
PetscErrorCode reel_petsc_resume_adjoint(TSTrajectory tj, TS ts, PetscInt *number);

/* ---- errors.c ---- */

/* PETSc's code for an error of Reel, with its text; on all ranks, if one of them has it. */
PetscErrorCode reel_petsc_agree(const struct trajectory *self, int error);
PetscErrorCode reel_petsc_error(int error);

#define ReelCall(call) PetscCall(reel_petsc_error(call))

#endif
