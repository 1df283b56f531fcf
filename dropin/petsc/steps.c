/* SPDX-License-Identifier: MIT */
/*
 * Attempts to take steps, and steps that are taken again.
 *
 * A step that is taken again gives the same bits only if it is taken as it was: in the same size,
 * of which the times of solutions show fewer bits, and after the same attempts. Runge-Kutta methods
 * go back from an attempt by subtracting the sum that they have added, which does not quite restore
 * the solution. So the choices of the TS's controller are watched, and repeated by one of our own.
 */
#include "trajectory.h"

/* ---- Attempts of the TS ---- */

/* Makes room for step `number` and for `attempts` attempts. */
PetscErrorCode reel_petsc_make_room(struct trajectory *self, PetscInt number, PetscInt attempts)
{
	PetscInt capacity = self->capacity;

	PetscFunctionBegin;
	REEL_ASSERT(number >= 0 && attempts >= 0);
	if (attempts > self->attempt_capacity) {
		self->attempt_capacity = 2 * attempts + 64;
		PetscCall(PetscRealloc((size_t)self->attempt_capacity * sizeof *self->attempt,
				       &self->attempt));
	}
	if (number < capacity)
		PetscFunctionReturn(0);
	while (number >= capacity)
		capacity += capacity + 64;
	PetscCall(PetscRealloc((size_t)capacity * sizeof *self->step, &self->step));
	memset(self->step + self->capacity, 0,
	       (size_t)(capacity - self->capacity) * sizeof *self->step);
	self->capacity = capacity;
	REEL_ASSERT(number < self->capacity && attempts <= self->attempt_capacity);
	PetscFunctionReturn(0);
}

static PetscErrorCode add_attempt(struct trajectory *self, PetscReal size, enum fate fate)
{
	PetscFunctionBegin;
	PetscCall(reel_petsc_make_room(self, 0, self->attempts + 1));
	REEL_ASSERT(self->attempts < self->attempt_capacity);
	self->attempt[self->attempts++] = (struct attempt){size, fate};
	PetscFunctionReturn(0);
}

static PetscBool has_attempt(const struct trajectory *self)
{
	REEL_ASSERT(self->steps < self->capacity);
	return (PetscBool)(self->attempts > self->step[self->steps].attempt);
}

/* The trajectory of the TS, or NULL: the TS may have another one by now, or none. */
static struct trajectory *trajectory_of(TS ts)
{
	TSTrajectory tj = ts->trajectory;
	PetscBool is_ours = (PetscBool)(tj && tj->setupcalled && reel_petsc_is_ours(tj));
	struct trajectory *self = is_ours ? tj->data : NULL;

	return self && self->step ? self : NULL;
}

/*
 * A function of PETSc's object, in whose place is one of ours. The object owns it, so that ours
 * finds the other one also when no trajectory is left, or several are.
 */
struct hook {
	PetscErrorCode (*choose)(TSAdapt, TS, PetscReal, PetscInt *, PetscReal *, PetscBool *,
				 PetscReal *, PetscReal *, PetscReal *);
	PetscErrorCode (*post_evaluate)(TS);
};

static PetscErrorCode get_hook(PetscObject object, struct hook **hook)
{
	PetscContainer container;

	PetscFunctionBegin;
	PetscCall(PetscObjectQuery(object, "reel_hook", (PetscObject *)&container));
	if (!container) {
		PetscCall(PetscNew(hook));
		PetscCall(PetscContainerCreate(PetscObjectComm(object), &container));
		PetscCall(PetscContainerSetPointer(container, *hook));
#if PETSC_VERSION_GE(3, 23, 0)
		PetscCall(PetscContainerSetCtxDestroy(container, PetscCtxDestroyDefault));
#else
		PetscCall(PetscContainerSetUserDestroy(container,
						       PetscContainerUserDestroyDefault));
#endif
		PetscCall(PetscObjectCompose(object, "reel_hook", (PetscObject)container));
		PetscCall(PetscObjectDereference((PetscObject)container));
	}
	PetscCall(PetscContainerGetPointer(container, (void **)hook));
	REEL_ASSERT(*hook);
	PetscFunctionReturn(0);
}

/* The attempt before this one was accepted, but the TS went back from it. */
static void see_roll_back(struct trajectory *self, PetscBool is_from_last_step)
{
	REEL_ASSERT(self->attempts >= 0 && self->attempts <= self->attempt_capacity);
	if (self->attempts && (has_attempt(self) || is_from_last_step) &&
	    self->attempt[self->attempts - 1].fate == TAKEN)
		self->attempt[self->attempts - 1].fate = ROLLED_BACK;
}

/* An attempt that was accepted, and after which the TS sets no solution, was rolled back. */
static PetscErrorCode see_choice(TSAdapt adapt, TS ts, PetscReal size, PetscInt *next_scheme,
				 PetscReal *next_size, PetscBool *accept, PetscReal *wlte,
				 PetscReal *wltea, PetscReal *wlter)
{
	struct trajectory *self = trajectory_of(ts);
	struct hook *hook;

	PetscFunctionBegin;
	PetscCall(get_hook((PetscObject)adapt, &hook));
	REEL_ASSERT(hook->choose && hook->choose != see_choice);
	if (self)
		see_roll_back(self, ts->steprollback);
	PetscCall(hook->choose(adapt, ts, size, next_scheme, next_size, accept, wlte, wltea,
			       wlter));
	if (self) {
		PetscCall(add_attempt(self, size, *accept ? TAKEN : REJECTED));
		self->is_seen = *accept;
	}
	PetscFunctionReturn(0);
}

/*
 * TSSolve() calls this after each step and after each roll-back. While an event is located the
 * controller is not asked, and the TS still has the size of the step.
 */
static PetscErrorCode see_step(TS ts)
{
	struct trajectory *self = trajectory_of(ts);
	struct hook *hook;

	PetscFunctionBegin;
	if (self && ts->steprollback)
		see_roll_back(self, PETSC_FALSE);
	else if (self && !self->is_seen && ts->reason >= 0)
		PetscCall(add_attempt(self, ts->time_step, TAKEN));
	if (self)
		self->is_seen = PETSC_FALSE;
	PetscCall(get_hook((PetscObject)ts, &hook));
	REEL_ASSERT(hook->post_evaluate != see_step);
	if (hook->post_evaluate)
		PetscCall(hook->post_evaluate(ts));
	PetscFunctionReturn(0);
}

/* The program may have set others since the last call. */
PetscErrorCode reel_petsc_watch(TS ts)
{
	struct hook *hook;

	PetscFunctionBegin;
	if (ts->adapt && ts->adapt->ops->choose && ts->adapt->ops->choose != see_choice) {
		PetscCall(get_hook((PetscObject)ts->adapt, &hook));
		hook->choose = ts->adapt->ops->choose;
		ts->adapt->ops->choose = see_choice;
	}
	if (ts->postevaluate != see_step) {
		PetscCall(get_hook((PetscObject)ts, &hook));
		hook->post_evaluate = ts->postevaluate;
		ts->postevaluate = see_step;
	}
	PetscFunctionReturn(0);
}

/*
 * The size of a step that was not seen, as of a method without a controller: the size that the TS
 * shows, unless that is the next step's.
 */
static PetscReal size_of(TS ts, PetscReal begin, PetscReal end)
{
	return begin + ts->time_step == end ? ts->time_step : end - begin;
}

/*
 * The program has gone back. After a roll-back from the last step, its attempts and the new ones
 * belong to one step; otherwise only the new ones do.
 */
static void take_anew(struct trajectory *self, PetscInt number)
{
	PetscInt first = self->step[self->steps].attempt;

	REEL_ASSERT(number > 0 && number <= self->steps && first <= self->attempts);
	if (!first || self->attempt[first - 1].fate != ROLLED_BACK)
		self->step[number - 1].attempt = first;
}

PetscErrorCode reel_petsc_note_step(TSTrajectory tj, TS ts, PetscInt number, PetscReal time)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscCheck(number <= self->steps + 1, self->comm, PETSC_ERR_ARG_WRONGSTATE,
		   "Reel: step %" PetscInt_FMT " follows step %" PetscInt_FMT
		   ": the trajectory has to be there from step 0",
		   number, self->steps);
	PetscCall(reel_petsc_make_room(self, number, 0));
	if (!number)
		self->attempts = 0;
	else
		self->step[number - 1].begin = ts->ptime_prev;
	if (number && !has_attempt(self))
		PetscCall(add_attempt(self, size_of(ts, ts->ptime_prev, time), TAKEN));
	if (number && number <= self->steps)
		take_anew(self, number);
	self->step[number].time = time;
	self->step[number].attempt = self->attempts;
	self->steps = number;
	self->is_seen = PETSC_FALSE;
	PetscCall(reel_petsc_watch(ts));
	REEL_ASSERT(!number || self->step[number - 1].attempt < self->step[number].attempt);
	PetscFunctionReturn(0);
}

/* ---- The same again ---- */

static PetscErrorCode repeat_choice(TSAdapt adapt, TS ts, PetscReal size, PetscInt *next_scheme,
				    PetscReal *next_size, PetscBool *accept, PetscReal *wlte,
				    PetscReal *wltea, PetscReal *wlter)
{
	struct trajectory *self = ts->trajectory->data;
	const struct attempt *attempt = &self->attempt[self->next_attempt++];

	PetscFunctionBegin;
	REEL_ASSERT(self->next_attempt > 0 && self->next_attempt <= self->attempts);
	(void)adapt;
	PetscCheck(size == attempt->size, self->comm, PETSC_ERR_PLIB,
		   "Reel: a step is taken again in another size than the first time");
	*next_scheme = 0;
	*accept = (PetscBool)(attempt->fate != REJECTED);
	*next_size = *accept ? size : attempt[1].size;
	*wlte = *wltea = *wlter = -1;
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_make_repeats(TSTrajectory tj)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	if (self->repeats)
		PetscFunctionReturn(0);
	PetscCall(TSAdaptCreate(self->comm, &self->repeats));
	PetscCall(TSAdaptSetType(self->repeats, TSADAPTNONE));
	self->repeats->ops->choose = repeat_choice;
	PetscFunctionReturn(0);
}

/* The attempts from this one up to the one that the controller accepted, which the TS takes. */
static PetscErrorCode take_attempts(TSTrajectory tj, TS ts, const struct attempt **attempt)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	REEL_ASSERT(*attempt >= self->attempt && *attempt < self->attempt + self->attempts);
	self->next_attempt = (PetscInt)(*attempt - self->attempt);
	ts->time_step = (*attempt)->size;
	PetscCall(reel_petsc_step(tj, ts));
	PetscCall(TSPostEvaluate(ts));
	while ((*attempt)->fate == REJECTED)
		++*attempt;
	PetscFunctionReturn(0);
}

/* Calls the functions that TSSolve() calls between two steps, except monitors. */
static PetscErrorCode go_between(TS ts, const struct step *step, PetscInt number)
{
	PetscFunctionBegin;
	ts->steps = number;
	ts->ptime = step->time;
	ts->ptime_prev = number ? step[-1].begin : step->time;
	ts->steprestart = step->restarts;
	if (number)
		PetscCall(TSPostStep(ts));
	ts->ptime = step->begin;
	PetscCall(TSPreStep(ts));
	ts->ptime = step->begin;
	PetscFunctionReturn(0);
}

/* A step that is kept with its stages is not taken again: it might not come out as it was. */
static PetscErrorCode take_step(TSTrajectory tj, TS ts, PetscInt number)
{
	const struct trajectory *self = tj->data;
	const struct step *step = &self->step[number];
	const struct attempt *attempt = &self->attempt[step->attempt];

	PetscFunctionBegin;
	REEL_ASSERT(number >= 0 && number < self->steps);
	if (step[1].kept && step[1].has_stages) {
		PetscCall(reel_petsc_fetch(tj, ts, number + 1));
		PetscFunctionReturn(0);
	}
	ts->time_step = attempt->size;
	PetscCall(go_between(ts, step, number));
	PetscCall(take_attempts(tj, ts, &attempt));
	while (attempt->fate == ROLLED_BACK) {
		PetscCall(TSRollBack(ts));
		PetscCall(TSPostEvaluate(ts));
		attempt++;
		PetscCall(take_attempts(tj, ts, &attempt));
	}
	REEL_ASSERT(attempt->fate == TAKEN);
	tj->recomps++;
	PetscFunctionReturn(0);
}

static PetscErrorCode take_steps(TSTrajectory tj, TS ts, PetscInt first, PetscInt last)
{
	PetscFunctionBegin;
	for (PetscInt number = first; number < last; number++)
		PetscCall(take_step(tj, ts, number));
	PetscFunctionReturn(0);
}

/*
 * The end is not looked for again: a step that ended there has its size already. Nor are integrals
 * along the way added up again. An adjoint step that comes after many iterations of a nonlinear
 * solver might be given a Jacobian of before (-snes_lag_jacobian).
 */
PetscErrorCode reel_petsc_replay(TSTrajectory tj, TS ts, PetscInt first, PetscInt last)
{
	struct trajectory *self = tj->data;
	TSAdapt adapt = ts->adapt;
	PetscErrorCode (*post_evaluate)(TS) = ts->postevaluate;
	TSExactFinalTimeOption ending = ts->exact_final_time;
	PetscBool integrates = ts->costintegralfwd;
	struct hook *hook;
	PetscErrorCode code;

	PetscFunctionBegin;
	REEL_ASSERT(first < last && last <= self->steps);
	REEL_ASSERT(self->repeats && self->step);
	PetscCall(get_hook((PetscObject)ts, &hook));
	if (adapt)
		ts->adapt = self->repeats;
	if (post_evaluate == see_step)
		ts->postevaluate = hook->post_evaluate;
	ts->exact_final_time = TS_EXACTFINALTIME_STEPOVER;
	ts->costintegralfwd = PETSC_FALSE;
	code = take_steps(tj, ts, first, last);
	ts->adapt = adapt;
	ts->postevaluate = post_evaluate;
	ts->exact_final_time = ending;
	ts->costintegralfwd = integrates;
	PetscCall(code);
	if (ts->snes)
		PetscCall(SNESSetIterationNumber(ts->snes, 0));
	PetscFunctionReturn(0);
}
