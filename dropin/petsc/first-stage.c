/* SPDX-License-Identifier: MIT */
/*
 * Methods whose first stage is the last one of the step before, such as Runge-Kutta's 3bs and 5dp:
 * a step begins with the derivative that the step before ended with, at its last stage. That is the
 * solution, but may differ from it in the last bits, where a sum with one more term is added up in
 * another order. Then a checkpoint also has that stage, and a step that is taken again begins with
 * the derivative there. So may the time of that stage differ from the step's end.
 */
#include "trajectory.h"

static PetscErrorCode add_up(Vec sum, PetscInt n, const PetscReal *weights, Vec *terms)
{
	PetscScalar w[64];

	PetscFunctionBegin;
	REEL_ASSERT(n >= 0 && n <= 64);
	for (PetscInt j = 0; j < n; j++)
		w[j] = 0.1 * weights[j];
	PetscCall(VecSet(sum, 1));
	PetscCall(VecMAXPY(sum, n, w, terms));
	PetscFunctionReturn(0);
}

/*
 * Before the first step: the stages are free, and are filled with random numbers. Sums that are
 * added up in another order differ in many of a thousand values, but may be equal in each of a few,
 * so a short solution is compared 64 times.
 */
static PetscErrorCode compare_sums(TS ts, PetscInt s, const PetscReal *b, PetscBool *are_equal)
{
	PetscRandom random;
	PetscInt n, values, trials;
	Vec *Y, stage, solution;

	PetscFunctionBegin;
	PetscCall(TSGetStages(ts, &n, &Y));
	PetscCall(VecGetSize(ts->vec_sol, &values));
	PetscCall(PetscRandomCreate(PetscObjectComm((PetscObject)ts), &random));
	PetscCall(VecDuplicate(ts->vec_sol, &stage));
	PetscCall(VecDuplicate(ts->vec_sol, &solution));
	*are_equal = PETSC_TRUE;
	trials = values > 1000 ? 1 : 64;
	for (PetscInt trial = 0; trial < trials && *are_equal; trial++) {
		for (PetscInt j = 0; j < s; j++)
			PetscCall(VecSetRandom(Y[j], random));
		PetscCall(add_up(stage, s - 1, b, Y));
		PetscCall(add_up(solution, s, b, Y));
		PetscCall(VecEqual(stage, solution, are_equal));
	}
	PetscCall(VecDestroy(&solution));
	PetscCall(VecDestroy(&stage));
	PetscCall(PetscRandomDestroy(&random));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_look_at_method(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;
	const PetscReal *A = NULL, *b = NULL, *c = NULL;
	PetscBool is_rk, goes_on = PETSC_FALSE, are_equal = PETSC_TRUE;
	PetscInt s = 0;

	PetscFunctionBegin;
	PetscCall(PetscObjectTypeCompare((PetscObject)ts, TSRK, &is_rk));
	if (is_rk)
		PetscCall(TSRKGetTableau(ts, &s, &A, &b, &c, NULL, NULL, NULL, &goes_on));
	goes_on = (PetscBool)(goes_on && (self->is_planned || tj->solution_only));
	if (A != self->tableau || goes_on != self->goes_on) {
		if (goes_on && s <= 64)
			PetscCall(compare_sums(ts, s, b, &are_equal));
		self->has_last_stage = (PetscBool)!are_equal;
	}
	self->tableau = A;
	self->goes_on = goes_on;
	self->last_number = s - 1;
	self->last_time = c ? c[s - 1] : 1;
	/* The solution may have another size than in the last solve. */
	PetscCall(VecDestroy(&self->last_stage));
	if (goes_on)
		PetscCall(VecDuplicate(ts->vec_sol, &self->last_stage));
	PetscFunctionReturn(0);
}

/* The last stage before the solution that the TS has. */
PetscErrorCode reel_petsc_last_stage(TSTrajectory tj, TS ts, Vec *stage)
{
	const struct trajectory *self = tj->data;
	PetscInt n;
	Vec *Y;

	PetscFunctionBegin;
	REEL_ASSERT(self->goes_on && self->last_stage);
	*stage = self->last_stage;
	if (self->is_fresh)
		PetscFunctionReturn(0);
	PetscCall(TSGetStages(ts, &n, &Y));
	REEL_ASSERT(self->last_number >= 0 && self->last_number < n);
	*stage = Y[self->last_number];
	PetscFunctionReturn(0);
}

static PetscErrorCode get_operations(TS ts, DMTSOps *operations)
{
	DM dm;
	DMTS functions;

	PetscFunctionBegin;
	PetscCall(TSGetDM(ts, &dm));
	PetscCall(DMGetDMTS(dm, &functions));
	*operations = functions->ops;
	PetscFunctionReturn(0);
}

/* In place of the right-hand side for one call. */
static PetscErrorCode rhs_of_last_stage(TS ts, PetscReal time, Vec Y, Vec F, void *context)
{
	struct trajectory *self = ts->trajectory->data;
	DMTSOps operations;

	PetscFunctionBegin;
	REEL_ASSERT(self->rhs && self->rhs != rhs_of_last_stage);
	(void)time;
	PetscCall(get_operations(ts, &operations));
	operations->rhsfunction = self->rhs;
	PetscCall(self->rhs(ts, self->derivative_time, Y, F, context));
	PetscFunctionReturn(0);
}

static PetscErrorCode put_time(struct trajectory *self, TS ts)
{
	DMTSOps operations;

	PetscFunctionBegin;
	REEL_ASSERT(ts->trajectory->data == self);
	PetscCall(get_operations(ts, &operations));
	if (!operations->rhsfunction || operations->rhsfunction == rhs_of_last_stage)
		PetscFunctionReturn(0);
	self->rhs = operations->rhsfunction;
	operations->rhsfunction = rhs_of_last_stage;
	PetscFunctionReturn(0);
}

/* The derivative of the first stage is calculated between these two calls. */
static PetscErrorCode put_first_stage(TS ts, PetscReal time, PetscInt number, Vec *Y)
{
	struct trajectory *self = ts->trajectory->data;

	PetscFunctionBegin;
	REEL_ASSERT(self->last_stage && self->post_stage != put_first_stage);
	if (self->post_stage)
		PetscCall(self->post_stage(ts, time, number, Y));
	if (number == 0) {
		PetscCall(VecCopy(self->last_stage, Y[0]));
		PetscCall(put_time(self, ts));
	}
	if (number == 1)
		PetscCall(VecCopy(ts->vec_sol, Y[0]));
	PetscFunctionReturn(0);
}

/*
 * Lets the TS take a step from a solution that was loaded, as if it had taken the one before. All
 * attempts begin with one derivative, but the solution is not quite the same after one that was
 * rejected.
 */
PetscErrorCode reel_petsc_begin_step(struct trajectory *self, TS ts)
{
	PetscFunctionBegin;
	self->post_stage = ts->poststage;
	if (self->is_fresh && self->goes_on && !ts->steprestart) {
		const struct step *step = &self->step[ts->steps];

		REEL_ASSERT(ts->steps > 0 && ts->steps <= self->steps && step->attempt > 0);
		self->derivative_time =
			step[-1].begin + self->attempt[step->attempt - 1].size * self->last_time;
		if (!self->has_last_stage)
			PetscCall(VecCopy(ts->vec_sol, self->last_stage));
		ts->poststage = put_first_stage;
	}
	if (self->is_fresh)
		ts->steprestart = PETSC_TRUE;
	self->is_fresh = PETSC_FALSE;
	PetscFunctionReturn(0);
}

/* A step that failed may not have called the right-hand side. */
PetscErrorCode reel_petsc_end_step(const struct trajectory *self, TS ts)
{
	DMTSOps operations;

	PetscFunctionBegin;
	if (ts->poststage != put_first_stage)
		PetscFunctionReturn(0);
	ts->poststage = self->post_stage;
	PetscCall(get_operations(ts, &operations));
	if (operations->rhsfunction == rhs_of_last_stage)
		operations->rhsfunction = self->rhs;
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_step(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;
	TSEvent event = ts->event;
	PetscErrorCode code;

	PetscFunctionBegin;
	REEL_ASSERT(self->repeats);
	PetscCall(reel_petsc_begin_step(self, ts));
	/* A TS whose last step was an event would not ask the controller. */
	ts->event = NULL;
	code = TSStep(ts);
	ts->event = event;
	PetscCall(reel_petsc_end_step(self, ts));
	PetscCall(code);
	PetscFunctionReturn(0);
}
