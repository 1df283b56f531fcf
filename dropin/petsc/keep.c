/* SPDX-License-Identifier: MIT */
/* Steps in parcels: the solution, and the stages of the step that led to it. */
#include "trajectory.h"

#include <errno.h>

static size_t bytes_of(PetscInt values)
{
	return (size_t)values * sizeof(PetscScalar);
}

PetscErrorCode reel_petsc_read(Vec X, void *bytes)
{
	const PetscScalar *values;
	PetscInt n;

	PetscFunctionBegin;
	PetscCall(VecGetLocalSize(X, &n));
	PetscCall(VecGetArrayRead(X, &values));
	if (n)
		memcpy(bytes, values, bytes_of(n));
	PetscCall(VecRestoreArrayRead(X, &values));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_write(Vec X, const void *bytes)
{
	PetscScalar *values;
	PetscInt n;

	PetscFunctionBegin;
	PetscCall(VecGetLocalSize(X, &n));
	PetscCall(VecGetArrayWrite(X, &values));
	if (n)
		memcpy(values, bytes, bytes_of(n));
	PetscCall(VecRestoreArrayWrite(X, &values));
	PetscFunctionReturn(0);
}

/* ---- A solution ---- */

static PetscErrorCode bytes_of_vector(TS ts, size_t *bytes)
{
	PetscInt n;

	PetscFunctionBegin;
	PetscCall(VecGetLocalSize(ts->vec_sol, &n));
	*bytes = bytes_of(n);
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_solution_bytes(TSTrajectory tj, TS ts, size_t *bytes)
{
	const struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscCall(bytes_of_vector(ts, bytes));
	*bytes *= self->has_last_stage ? 2 : 1;
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_save(TSTrajectory tj, TS ts, Vec X, void *bytes)
{
	const struct trajectory *self = tj->data;
	size_t size = 0;
	Vec stage = NULL;

	PetscFunctionBegin;
	PetscCall(reel_petsc_read(X, bytes));
	if (!self->has_last_stage)
		PetscFunctionReturn(0);
	PetscCall(bytes_of_vector(ts, &size));
	PetscCall(reel_petsc_last_stage(tj, ts, &stage));
	PetscCall(reel_petsc_read(stage, (char *)bytes + size));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_load(TSTrajectory tj, TS ts, const void *bytes)
{
	struct trajectory *self = tj->data;
	size_t size = 0;

	PetscFunctionBegin;
	PetscCall(reel_petsc_write(ts->vec_sol, bytes));
	self->is_fresh = PETSC_TRUE;
	if (!self->has_last_stage)
		PetscFunctionReturn(0);
	PetscCall(bytes_of_vector(ts, &size));
	REEL_ASSERT(self->last_stage);
	PetscCall(reel_petsc_write(self->last_stage, (const char *)bytes + size));
	PetscFunctionReturn(0);
}

/* ---- Tangents, for second-order adjoints ---- */

static PetscErrorCode bytes_of_tangent(Mat S, size_t *bytes)
{
	PetscBool is_dense;
	PetscInt rows, columns;

	PetscFunctionBegin;
	PetscCall(PetscObjectTypeCompareAny((PetscObject)S, &is_dense, MATSEQDENSE, MATMPIDENSE,
					    ""));
	PetscCheck(is_dense, PetscObjectComm((PetscObject)S), PETSC_ERR_SUP,
		   "Reel: tangents are kept that are dense matrices (MATDENSE)");
	PetscCall(MatGetLocalSize(S, &rows, NULL));
	PetscCall(MatGetSize(S, NULL, &columns));
	*bytes = bytes_of(rows) * (size_t)columns;
	PetscFunctionReturn(0);
}

static PetscErrorCode copy_tangent(Mat S, char *bytes, PetscBool reads)
{
	PetscInt rows, columns, stride;
	PetscScalar *values;

	PetscFunctionBegin;
	PetscCall(MatGetLocalSize(S, &rows, NULL));
	PetscCall(MatGetSize(S, NULL, &columns));
	PetscCall(MatDenseGetLDA(S, &stride));
	REEL_ASSERT(stride >= rows && columns >= 0);
	PetscCall(MatDenseGetArray(S, &values));
	for (PetscInt j = 0; rows && j < columns; j++) {
		char *kept = bytes + bytes_of(rows) * (size_t)j;
		PetscScalar *column = values + (size_t)stride * (size_t)j;

		memcpy(reads ? kept : (char *)column, reads ? (char *)column : kept,
		       bytes_of(rows));
	}
	PetscCall(MatDenseRestoreArray(S, &values));
	PetscFunctionReturn(0);
}

/* The tangents of the solution and of the stages; NULL: only the number of bytes. */
static PetscErrorCode copy_tangents(TS ts, char *bytes, PetscBool reads, size_t *total)
{
	PetscInt n = 0;
	size_t size = 0;
	Mat A, *S;

	PetscFunctionBegin;
	*total = 0;
	if (!reel_petsc_has_tangents(ts))
		PetscFunctionReturn(0);
	PetscCall(TSForwardGetSensitivities(ts, NULL, &A));
	PetscCall(TSForwardGetStages(ts, &n, &S));
	PetscCall(bytes_of_tangent(A, &size));
	*total = size * (size_t)(n + 1);
	if (!bytes)
		PetscFunctionReturn(0);
	PetscCall(copy_tangent(A, bytes, reads));
	for (PetscInt i = 0; i < n; i++)
		PetscCall(copy_tangent(S[i], bytes + size * (size_t)(i + 1), reads));
	PetscFunctionReturn(0);
}

/* ---- A step ---- */

/* The last stage of a method that is stiffly accurate is the solution. */
static PetscErrorCode get_stages(TS ts, PetscInt *n, Vec **Y, PetscBool *ends_in_solution)
{
	PetscFunctionBegin;
	*n = 0;
	*Y = NULL;
	PetscCall(TSGetStages(ts, n, Y));
	*ends_in_solution = (PetscBool)(*n > 0 && ts->stifflyaccurate);
	PetscFunctionReturn(0);
}

static PetscErrorCode open_parcel(struct trajectory *self, struct step *step, size_t bytes,
				  void **data)
{
	struct reel_parcel_options options = {.layout = {.element = sizeof(PetscReal)}};
	int error = 0;

	PetscFunctionBegin;
	/* A step that is taken again after a roll-back takes the place of the first one. */
	if (step->kept)
		error = reel_parcel_close(step->kept);
	step->kept = NULL;
	if (!error)
		error = reel_parcel_open(&step->kept, self->pool, bytes, &options, data);
	PetscCall(reel_petsc_agree(self, error));
	REEL_ASSERT(step->kept && *data);
	PetscFunctionReturn(0);
}

static PetscErrorCode keep_solution(TSTrajectory tj, TS ts, struct step *step, Vec X)
{
	struct trajectory *self = tj->data;
	size_t bytes = 0;
	void *data;

	PetscFunctionBegin;
	PetscCall(reel_petsc_solution_bytes(tj, ts, &bytes));
	PetscCall(open_parcel(self, step, bytes, &data));
	PetscCall(reel_petsc_save(tj, ts, X, data));
	PetscFunctionReturn(0);
}

static PetscErrorCode keep_stages(TSTrajectory tj, TS ts, struct step *step, Vec X)
{
	PetscInt n;
	PetscBool ends_in_solution = PETSC_FALSE;
	size_t bytes = 0, tangents = 0;
	void *data;
	Vec *Y;

	PetscFunctionBegin;
	PetscCall(get_stages(ts, &n, &Y, &ends_in_solution));
	n -= (PetscInt)ends_in_solution;
	REEL_ASSERT(n >= 0);
	PetscCall(bytes_of_vector(ts, &bytes));
	PetscCall(copy_tangents(ts, NULL, PETSC_TRUE, &tangents));
	PetscCall(open_parcel(tj->data, step, bytes * (size_t)(n + 1) + tangents, &data));
	PetscCall(reel_petsc_read(X, data));
	for (PetscInt i = 0; i < n; i++)
		PetscCall(reel_petsc_read(Y[i], (char *)data + bytes * (size_t)(i + 1)));
	PetscCall(copy_tangents(ts, (char *)data + bytes * (size_t)(n + 1), PETSC_TRUE, &tangents));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_keep(TSTrajectory tj, TS ts, PetscInt number, Vec X, PetscBool stages)
{
	struct step *step = &((struct trajectory *)tj->data)->step[number];

	PetscFunctionBegin;
	PetscCall(stages ? keep_stages(tj, ts, step, X) : keep_solution(tj, ts, step, X));
	ReelCall(reel_parcel_seal(step->kept));
	step->has_stages = stages;
	step->has_tangents = (PetscBool)(stages && reel_petsc_has_tangents(ts));
	PetscFunctionReturn(0);
}

static PetscErrorCode fetch_stages(struct trajectory *self, TS ts, const struct step *step,
				   const char *data)
{
	PetscInt n;
	PetscBool ends_in_solution = PETSC_FALSE;
	size_t bytes = 0, tangents = 0;
	Vec *Y;

	PetscFunctionBegin;
	REEL_ASSERT(step->has_stages && step->kept);
	PetscCall(bytes_of_vector(ts, &bytes));
	PetscCall(reel_petsc_write(ts->vec_sol, data));
	PetscCall(get_stages(ts, &n, &Y, &ends_in_solution));
	if (ends_in_solution)
		PetscCall(reel_petsc_write(Y[--n], data));
	for (PetscInt i = 0; i < n; i++)
		PetscCall(reel_petsc_write(Y[i], data + bytes * (size_t)(i + 1)));
	self->is_fresh = PETSC_TRUE;
	if (self->last_stage)
		PetscCall(VecCopy(Y[self->last_number], self->last_stage));
	if (step->has_tangents)
		PetscCall(copy_tangents(ts, (char *)data + bytes * (size_t)(n + 1), PETSC_FALSE,
					&tangents));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_fetch(TSTrajectory tj, TS ts, PetscInt number)
{
	struct trajectory *self = tj->data;
	const struct step *step = &self->step[number];
	PetscErrorCode code;
	const void *data;
	int error;

	PetscFunctionBegin;
	REEL_ASSERT(number >= 0 && number <= self->steps);
	PetscCheck(step->kept, self->comm, PETSC_ERR_PLIB, "step %" PetscInt_FMT " was not kept",
		   number);
	error = reel_parcel_pin(step->kept, &data);
	code = reel_petsc_agree(self, error);
	/* Another rank's error: a parcel that stays pinned could not be closed. */
	if (code && !error)
		reel_parcel_unpin(step->kept);
	PetscCall(code);
	code = step->has_stages ? fetch_stages(self, ts, step, data)
				: reel_petsc_load(tj, ts, data);
	reel_parcel_unpin(step->kept);
	PetscCall(code);
	PetscFunctionReturn(0);
}

/* Announces all steps up to this one, the last one first: a reverse sweep begins. */
PetscErrorCode reel_petsc_announce(TSTrajectory tj, PetscInt last)
{
	struct trajectory *self = tj->data;
	reel_parcel **order;
	size_t n = 0;
	int error;

	PetscFunctionBegin;
	REEL_ASSERT(last >= 0 && last < self->capacity);
	PetscCall(PetscMalloc1((size_t)last + 1, &order));
	for (PetscInt i = last; i >= 0; i--)
		if (self->step[i].kept)
			order[n++] = self->step[i].kept;
	REEL_ASSERT(n <= (size_t)last + 1);
	error = reel_parcel_announce(order, n);
	PetscCall(PetscFree(order));
	PetscCall(reel_petsc_agree(self, error));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_forget(TSTrajectory tj)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	REEL_ASSERT(!self->steps || self->step);
	for (PetscInt i = 0; i < self->capacity; i++) {
		if (self->step[i].kept)
			ReelCall(reel_parcel_close(self->step[i].kept));
		self->step[i].kept = NULL;
	}
	self->steps = 0;
	reel_petsc_enter(self, PHASE_IDLE);
	PetscFunctionReturn(0);
}
