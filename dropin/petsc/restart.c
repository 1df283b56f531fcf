/* SPDX-License-Identifier: MIT */
/*
 * Restart files. The run of the plan writes them, with its checkpoints. This file packs the rest
 * that a sweep needs to go on: the steps that were taken, and in the reverse sweep the last
 * solution and the adjoints. The first TSSolve() of a program resumes from a restart file, if there
 * is one: the TS goes on from the checkpoint that was stored last. If the file is of a reverse
 * sweep, the TS has its last solution at once, and TSAdjointSolve() goes on from the step that was
 * reversed last.
 */
#include "trajectory.h"

#include <errno.h>
#include <stddef.h>

/* Version 2 has the fields of a step; version 1 began with a number of bytes, and is refused. */
#define FORMAT                                                                                     \
	((uint64_t)0x7265656c << 32 | 2 << 16 | sizeof(PetscReal) << 8 | sizeof(PetscInt))

/* Before the steps, the attempts and the vectors. */
struct saved {
	uint64_t format;
	size_t bytes; /* of all together */
	size_t integral_bytes;
	uint64_t start;
	PetscInt steps, attempts, plan_end;
	PetscInt next; /* solution for which an adjoint solve asks next; -1: in the forward sweep */
	PetscInt gradients;
	PetscBool has_parameters; /* also gradients by parameters */
	TSConvergedReason reason;
	PetscReal size; /* of the next step */
};

/* ---- The beginning of a sweep ---- */

/* Mixes 8 bytes at a time, and the rest (FNV-1a, of words). */
static uint64_t mix(uint64_t sum, const void *data, size_t bytes)
{
	const char *at = data;

	for (size_t step; bytes; at += step, bytes -= step) {
		uint64_t word = 0;

		step = PetscMin(bytes, sizeof word);
		memcpy(&word, at, step);
		sum = (sum ^ word) * 0x100000001b3u;
		sum ^= sum >> 32;
	}
	return sum;
}

static PetscErrorCode mix_vector(Vec X, uint64_t *sum)
{
	const PetscScalar *values;
	PetscInt n;

	PetscFunctionBegin;
	PetscCall(VecGetLocalSize(X, &n));
	PetscCall(VecGetArrayRead(X, &values));
	*sum = mix(*sum, values, (size_t)n * sizeof *values);
	PetscCall(VecRestoreArrayRead(X, &values));
	PetscFunctionReturn(0);
}

/*
 * The first solution, its time, the size of the first step, and the right-hand side there, so that
 * a sweep with other parameters is not taken for the one that was saved; the method, and the end.
 */
static PetscErrorCode look_at_start(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;
	TSType type = NULL;
	Vec rate, residual;

	PetscFunctionBegin;
	PetscCall(TSGetType(ts, &type));
	PetscCall(VecDuplicate(ts->vec_sol, &rate));
	PetscCall(VecDuplicate(ts->vec_sol, &residual));
	PetscCall(VecSet(rate, 0));
	PetscCall(TSComputeIFunction(ts, ts->ptime, ts->vec_sol, rate, residual, PETSC_FALSE));
	self->start = mix(sizeof ts->steps, &ts->ptime, sizeof ts->ptime);
	self->start = mix(self->start, &ts->time_step, sizeof ts->time_step);
	self->start = mix(self->start, &ts->max_time, sizeof ts->max_time);
	self->start = mix(self->start, &ts->max_steps, sizeof ts->max_steps);
	self->start = mix(self->start, type, strlen(type));
	PetscCall(mix_vector(ts->vec_sol, &self->start));
	PetscCall(mix_vector(residual, &self->start));
	PetscCall(VecDestroy(&residual));
	PetscCall(VecDestroy(&rate));
	PetscFunctionReturn(0);
}

/* ---- The tables ---- */

/* A walk along the packed bytes; without `data` it counts the bytes of vectors. */
struct walk {
	char *data;
	size_t bytes; /* behind it */
	PetscBool unpacks;
};

static void visit_field(struct walk *walk, void *field, size_t bytes)
{
	REEL_ASSERT(walk->data);
	if (walk->unpacks)
		memcpy(field, walk->data + walk->bytes, bytes);
	else
		memcpy(walk->data + walk->bytes, field, bytes);
	walk->bytes += bytes;
}

#define VISIT(walk, field) visit_field(walk, &(field), sizeof(field))

#define STEP_BYTES (2 * sizeof(PetscReal) + sizeof(PetscInt) + sizeof(PetscBool))
#define ATTEMPT_BYTES (sizeof(PetscReal) + sizeof(enum fate))

static size_t tables_bytes(PetscInt steps, PetscInt attempts)
{
	REEL_ASSERT(steps >= 0 && attempts >= 0);
	return sizeof(struct saved) + ((size_t)steps + 1) * STEP_BYTES +
	       (size_t)attempts * ATTEMPT_BYTES;
}

/* Steps that were kept are not: a file is written before the first of them, or after the last. */
static void visit_tables(struct walk *walk, struct trajectory *self)
{
	for (PetscInt i = 0; i <= self->steps; i++) {
		struct step *step = &self->step[i];

		VISIT(walk, step->time);
		VISIT(walk, step->begin);
		VISIT(walk, step->attempt);
		VISIT(walk, step->restarts);
	}
	for (PetscInt i = 0; i < self->attempts; i++) {
		VISIT(walk, self->attempt[i].size);
		VISIT(walk, self->attempt[i].fate);
	}
	REEL_ASSERT(walk->bytes == tables_bytes(self->steps, self->attempts));
}

/* ---- The vectors ---- */

/* NULL: the TS has no such vector. */
static PetscErrorCode visit(struct walk *walk, Vec X)
{
	PetscInt n;

	PetscFunctionBegin;
	if (!X)
		PetscFunctionReturn(0);
	PetscCall(VecGetLocalSize(X, &n));
	if (walk->data && walk->unpacks)
		PetscCall(reel_petsc_write(X, walk->data + walk->bytes));
	else if (walk->data)
		PetscCall(reel_petsc_read(X, walk->data + walk->bytes));
	walk->bytes += (size_t)n * sizeof(PetscScalar);
	PetscFunctionReturn(0);
}

/* The integral along the way, which either sweep may add up. */
static PetscErrorCode visit_integral(struct walk *walk, TS ts)
{
	PetscFunctionBegin;
	PetscFunctionReturn(visit(walk, ts->quadraturets ? ts->quadraturets->vec_sol
								 : ts->vec_costintegral));
}

static PetscErrorCode visit_adjoints(struct walk *walk, TS ts)
{
	PetscFunctionBegin;
	for (PetscInt i = 0; i < ts->numcost; i++) {
		PetscCall(visit(walk, ts->vecs_sensi[i]));
		PetscCall(visit(walk, ts->vecs_sensip ? ts->vecs_sensip[i] : NULL));
	}
	PetscFunctionReturn(0);
}

/* The integral comes first, since unpack_vectors() reads it before the TS has its adjoints. */
static PetscErrorCode visit_vectors(struct walk *walk, const struct trajectory *self,
				    PetscBool is_reverse)
{
	PetscFunctionBegin;
	PetscCall(visit_integral(walk, self->ts));
	if (is_reverse) {
		PetscCall(visit(walk, self->last));
		PetscCall(visit_adjoints(walk, self->ts));
	}
	PetscFunctionReturn(0);
}

/* ---- Packing ---- */

/* pack() reports the error. */
static size_t packed_bytes(void *context, const void *adjoint)
{
	struct trajectory *self = ((TSTrajectory)context)->data;
	struct walk walk = {0};

	self->pack_failure = visit_vectors(&walk, self, (PetscBool)(adjoint != NULL));
	return tables_bytes(self->steps, self->attempts) + walk.bytes;
}

/*
 * The plan may still go forward when the TS has come to its end, and may reverse steps that the TS
 * has not taken. Nothing is saved between the last step and the first one back.
 */
static PetscBool is_between_sweeps(const struct trajectory *self, PetscBool reverses)
{
	if (self->phase >= PHASE_REVERSE)
		return (PetscBool)(!reverses || self->given < 1);
	return (PetscBool)(reverses || self->reason);
}

/* A file that is not written ends no sweep, so that an error is not kept in `failure`. */
static int pack(void *context, const void *adjoint, void *bytes)
{
	struct trajectory *self = ((TSTrajectory)context)->data;
	PetscBool is_reverse = (PetscBool)(adjoint != NULL);
	struct saved saved = {.format = FORMAT,
			      .start = self->start,
			      .steps = self->steps,
			      .attempts = self->attempts,
			      .plan_end = self->plan_end,
			      .next = is_reverse ? self->given - 1 : -1,
			      .gradients = self->ts->numcost,
			      .has_parameters = (PetscBool)(self->ts->vecs_sensip != NULL),
			      .reason = self->reason,
			      .size = self->next_size};
	struct walk walk = {.data = bytes, .bytes = sizeof saved}, integral = {0};

	if (is_between_sweeps(self, is_reverse))
		return -EAGAIN;
	REEL_ASSERT(is_reverse == (self->phase >= PHASE_REVERSE));
	REEL_ASSERT(self->step && *self->used.restart);
	visit_tables(&walk, self);
	if (!self->pack_failure)
		self->pack_failure = visit_vectors(&walk, self, is_reverse);
	if (!self->pack_failure)
		self->pack_failure = visit_integral(&integral, self->ts);
	saved.integral_bytes = integral.bytes;
	saved.bytes = walk.bytes;
	memcpy(bytes, &saved, sizeof saved);
	return self->pack_failure ? -EIO : 0;
}

/* ---- Unpacking ---- */

static PetscErrorCode unpack_tables(struct trajectory *self, const struct saved *saved)
{
	struct walk walk = {.data = (char *)saved, .bytes = sizeof *saved, .unpacks = PETSC_TRUE};

	PetscFunctionBegin;
	PetscCall(reel_petsc_make_room(self, saved->steps, saved->attempts));
	self->steps = saved->steps;
	self->attempts = saved->attempts;
	visit_tables(&walk, self);
	self->plan_end = saved->plan_end;
	self->reason = saved->reason;
	self->next_size = saved->size;
	PetscFunctionReturn(0);
}

/* In the reverse sweep the adjoints wait for TSAdjointSolve(). */
static PetscErrorCode unvisit_vectors(struct trajectory *self, const struct saved *saved)
{
	size_t tables = tables_bytes(saved->steps, saved->attempts);
	struct walk walk = {.data = (char *)saved, .bytes = tables, .unpacks = PETSC_TRUE};

	PetscFunctionBegin;
	PetscCall(visit_integral(&walk, self->ts));
	PetscCheck(walk.bytes - tables == saved->integral_bytes, PETSC_COMM_SELF,
		   PETSC_ERR_FILE_UNEXPECTED,
		   "Reel: the restart file '%s' is of a sweep with another integral: remove it to "
		   "start again",
		   self->used.restart);
	if (saved->next < 0)
		PetscFunctionReturn(0);
	PetscCall(visit(&walk, self->last));
	REEL_ASSERT(walk.bytes <= saved->bytes);
	PetscCall(PetscMalloc1(saved->bytes, &self->resumed));
	memcpy(self->resumed, saved, saved->bytes);
	PetscFunctionReturn(0);
}

static PetscErrorCode unpack_all(struct trajectory *self, const struct saved *saved)
{
	PetscFunctionBegin;
	PetscCheck(saved->format == FORMAT, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
		   "Reel: the restart file '%s' is from another plug-in, or an earlier version of "
		   "it: remove it to start again",
		   self->used.restart);
	REEL_ASSERT(saved->bytes >= tables_bytes(saved->steps, saved->attempts));
	PetscCheck(saved->start == self->start, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
		   "Reel: the restart file '%s' is of a sweep that began with another solution, "
		   "time, step size or right-hand side: remove it to start again",
		   self->used.restart);
	PetscCall(unpack_tables(self, saved));
	PetscCall(unvisit_vectors(self, saved));
	PetscFunctionReturn(0);
}

static int unpack(void *context, void *adjoint, const void *bytes)
{
	struct trajectory *self = ((TSTrajectory)context)->data;

	(void)adjoint;
	self->failure = unpack_all(self, bytes);
	return self->failure ? -EINVAL : 0;
}

/* ---- A run with a restart file ---- */

static PetscBool has_time_span(TS ts)
{
#if PETSC_VERSION_GE(3, 23, 0)
	return (PetscBool)(ts->eval_times != NULL);
#elif PETSC_VERSION_GE(3, 18, 0)
	return (PetscBool)(ts->tspan != NULL);
#else
	(void)ts;
	return PETSC_FALSE;
#endif
}

static PetscErrorCode check_solve(const struct trajectory *self, TS ts)
{
	PetscFunctionBegin;
	PetscCheck(!ts->event && !has_time_span(ts) && !ts->forward_solve &&
			   ts->exact_final_time != TS_EXACTFINALTIME_INTERPOLATE,
		   self->comm, PETSC_ERR_SUP,
		   "Reel: -ts_trajectory_reel_restart: a TS with events, a time span or tangents, "
		   "or that interpolates to its last time, has more to save than its solutions: "
		   "leave one of them out");
	PetscFunctionReturn(0);
}

void reel_petsc_restart_options(const struct trajectory *self, struct reel_run_options *options)
{
	if (!*self->used.restart)
		return;
	options->restart = self->used.restart;
	options->restart_seconds = self->used.restart_seconds;
	options->packed_bytes = packed_bytes;
	options->save_adjoint = pack;
	options->load_adjoint = unpack;
}

/* The run is in the sweep that was saved, and the tables are; or nothing has changed. */
PetscErrorCode reel_petsc_resume(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;
	int error;

	PetscFunctionBegin;
	if (!*self->used.restart)
		PetscFunctionReturn(0);
	REEL_ASSERT(self->run && self->phase == PHASE_FORWARD);
	PetscCall(check_solve(self, ts));
	PetscCall(look_at_start(tj, ts));
	/* The first file may be written before the first solution is noted. */
	PetscCall(reel_petsc_make_room(self, 0, 1));
	PetscCall(PetscFree(self->resumed));
	if (self->has_begun)
		PetscFunctionReturn(0);
	self->has_begun = PETSC_TRUE;
	self->failure = 0;
	error = reel_run_resume(self->run, tj, tj);
	PetscCall(self->failure);
	if (error != -ENOENT)
		ReelCall(error);
	PetscFunctionReturn(0);
}

/* A function after the last step may have ended the loop, when the reason was noted. */
static PetscErrorCode go_to_end(struct trajectory *self, TS ts)
{
	PetscFunctionBegin;
	REEL_ASSERT(self->phase == PHASE_RESUMED && self->last);
	PetscCall(VecCopy(self->last, ts->vec_sol));
	ts->reason = self->reason ? self->reason : TS_CONVERGED_USER;
	PetscCall(TSPostStep(ts));
	PetscFunctionReturn(0);
}

/*
 * The first stage of the next step is the last one of a step that this process has not taken. A
 * function before the step may change the solution, so the step is restarted if there is one.
 */
static PetscErrorCode go_to_checkpoint(struct trajectory *self, TS ts)
{
	PetscFunctionBegin;
	REEL_ASSERT(self->phase == PHASE_FORWARD && self->last);
	self->at = self->steps;
	PetscCall(VecCopy(ts->vec_sol, self->last));
	PetscCall(TSPostStep(ts));
	if (ts->prestep)
		ts->steprestart = self->step[self->steps].restarts = PETSC_TRUE;
	PetscCall(reel_petsc_begin_step(self, ts));
	PetscFunctionReturn(0);
}

/* The TS is about to take step `steps`, or has come to its end. */
PetscErrorCode reel_petsc_go_to_resumed(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;
	const struct step *step = &self->step[self->steps];
	const struct saved *saved = (const void *)self->resumed;

	PetscFunctionBegin;
	REEL_ASSERT(self->steps > 0 && self->steps < self->capacity);
	if (tj->monitor)
		PetscCall(PetscViewerASCIIPrintf(
			tj->monitor, "Reel: resumes the %s sweep at step %" PetscInt_FMT "\n",
			saved ? "reverse" : "forward", saved ? saved->next : self->steps));
	ts->steps = self->steps;
	ts->ptime = step->time;
	ts->ptime_prev = step[-1].begin;
	ts->time_step = self->next_size;
	ts->steprestart = step->restarts;
	PetscCall(reel_petsc_watch(ts));
	PetscCall(saved ? go_to_end(self, ts) : go_to_checkpoint(self, ts));
	PetscFunctionReturn(0);
}

/* On all ranks or on none: a rank may have no part of the vectors. */
static PetscErrorCode check_gradients(const struct trajectory *self, TS ts,
				      const struct saved *saved, PetscInt number)
{
	struct walk walk = {.bytes = tables_bytes(saved->steps, saved->attempts)};
	PetscBool fits, fit;

	PetscFunctionBegin;
	PetscCall(visit_vectors(&walk, self, PETSC_TRUE));
	fits = (PetscBool)(number == self->steps && ts->numcost == saved->gradients &&
			   saved->has_parameters == (PetscBool)(ts->vecs_sensip != NULL) &&
			   walk.bytes == saved->bytes);
	PetscCallMPI(MPI_Allreduce(&fits, &fit, 1, MPIU_BOOL, MPI_LAND, self->comm));
	PetscCheck(fit, self->comm, PETSC_ERR_FILE_UNEXPECTED,
		   "Reel: the restart file '%s' is of an adjoint solve with other gradients: "
		   "remove it to start again",
		   self->used.restart);
	PetscCheck(number - saved->next < ts->adjoint_max_steps, self->comm, PETSC_ERR_SUP,
		   "Reel: the restart file '%s' is of an adjoint solve in several parts, which "
		   "cannot resume: remove it to start again",
		   self->used.restart);
	PetscFunctionReturn(0);
}

/* Gives the TS the adjoints, and goes to the step that comes next. */
PetscErrorCode reel_petsc_resume_adjoint(TSTrajectory tj, TS ts, PetscInt *number)
{
	struct trajectory *self = tj->data;
	const struct saved *saved = (const void *)self->resumed;
	struct walk walk = {.data = self->resumed, .unpacks = PETSC_TRUE};

	PetscFunctionBegin;
	if (!saved)
		PetscFunctionReturn(0);
	REEL_ASSERT(self->phase == PHASE_RESUMED && saved->next >= 0);
	self->ts = ts;
	PetscCall(check_gradients(self, ts, saved, *number));
	walk.bytes = tables_bytes(saved->steps, saved->attempts);
	PetscCall(visit_vectors(&walk, self, PETSC_TRUE));
	ts->adjoint_steps += *number - saved->next;
	*number = saved->next;
	PetscCall(PetscFree(self->resumed));
	PetscFunctionReturn(0);
}
