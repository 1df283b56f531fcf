/* SPDX-License-Identifier: MIT */
/* The callbacks by which PETSc makes a trajectory, sets solutions, asks for steps, and ends it. */
#include "trajectory.h"

#include <inttypes.h>

/* ---- Phases ---- */

void reel_petsc_enter(struct trajectory *self, enum phase phase)
{
	static const PetscBool may_follow[PHASES][PHASES] = {
		[PHASE_IDLE] = {[PHASE_FORWARD] = PETSC_TRUE},
		[PHASE_FORWARD] = {[PHASE_RESUMED] = PETSC_TRUE, [PHASE_REVERSE] = PETSC_TRUE},
		[PHASE_RESUMED] = {[PHASE_GIVEN] = PETSC_TRUE},
		[PHASE_REVERSE] = {[PHASE_GIVEN] = PETSC_TRUE},
		[PHASE_GIVEN] = {[PHASE_REVERSE] = PETSC_TRUE},
	};

	REEL_ASSERT(phase == PHASE_IDLE || may_follow[self->phase][phase]);
	self->phase = phase;
}

/* ---- The run of a plan ---- */

static PetscErrorCode monitor(TSTrajectory tj)
{
	const struct trajectory *self = tj->data;
	const reel_action *action = &self->action;

	PetscFunctionBegin;
	if (!tj->monitor)
		PetscFunctionReturn(0);
	PetscCall(PetscViewerASCIIPushTab(tj->monitor));
	PetscCall(PetscViewerASCIIPrintf(tj->monitor, "Reel: %s%s %" PRId64 " to %" PRId64 "\n",
					 self->is_loaded ? "load, " : "",
					 reel_action_name(action->kind), action->first,
					 action->last));
	PetscCall(PetscViewerASCIIPopTab(tj->monitor));
	PetscFunctionReturn(0);
}

static PetscBool is_forward(const reel_action *action)
{
	return (PetscBool)(action->kind == REEL_ACTION_ADVANCE ||
			   action->kind == REEL_ACTION_RECORD);
}

/* Says that the last action was carried out; the run stores and loads solutions itself. */
static PetscErrorCode go_on(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;
	int error;

	PetscFunctionBegin;
	REEL_ASSERT(self->run && self->phase != PHASE_IDLE);
	self->ts = ts;
	self->failure = 0;
	self->is_loaded = PETSC_FALSE;
	if (self->phase == PHASE_GIVEN)
		reel_petsc_enter(self, PHASE_REVERSE);
	error = reel_run_next(self->run, &self->action);
	PetscCall(self->failure);
	ReelCall(error);
	REEL_ASSERT(is_forward(&self->action) || self->action.kind == REEL_ACTION_REVERSE ||
		    self->action.kind == REEL_ACTION_DONE);
	PetscCall(monitor(tj));
	if (self->is_loaded)
		self->at = (PetscInt)PetscMin(self->action.first, (int64_t)self->steps);
	REEL_ASSERT(self->at >= 0 && self->at <= self->steps);
	PetscFunctionReturn(0);
}

/* ---- The forward sweep ---- */

/*
 * The functions of a trajectory: one table for those that keep all steps, one for those with a
 * plan.
 */
struct way {
	PetscErrorCode (*begin)(TSTrajectory tj, TS ts);
	PetscErrorCode (*set)(TSTrajectory tj, TS ts, PetscInt number, Vec X);
	PetscErrorCode (*begin_reverse)(TSTrajectory tj, TS ts);
	PetscErrorCode (*get)(TSTrajectory tj, TS ts, PetscInt number);
};

static const struct way all_steps, by_plan;

static const struct way *way_of(const struct trajectory *self)
{
	return self->is_planned ? &by_plan : &all_steps;
}

/* A sweep that is resumed goes on behind its first solution. In its reverse sweep get() goes on. */
static PetscErrorCode start_run(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	REEL_ASSERT(self->phase == PHASE_FORWARD && self->plan_end >= -1);
	self->ts = ts;
	PetscCall(reel_petsc_resume(tj, ts));
	ReelCall(reel_run_start(self->run, tj, tj, tj));
	REEL_ASSERT(!self->resumed || self->steps > 0);
	if (self->resumed)
		reel_petsc_enter(self, PHASE_RESUMED);
	else
		PetscCall(go_on(tj, ts));
	if (self->steps)
		PetscCall(reel_petsc_go_to_resumed(tj, ts));
	PetscFunctionReturn(0);
}

static PetscErrorCode begin(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscCall(reel_petsc_renew(tj, ts));
	PetscCheck(!reel_petsc_has_tangents(ts) || (!self->is_planned && !tj->solution_only),
		   self->comm, PETSC_ERR_SUP,
		   "Reel: a second-order adjoint needs the tangents of all stages, which a step "
		   "that is taken again does not have: keep all steps, without "
		   "-ts_trajectory_max_cps_ram, -ts_trajectory_solution_only and the like");
	PetscCall(reel_petsc_forget(tj));
	reel_petsc_enter(self, PHASE_FORWARD);
	self->given = -1;
	self->at = 0;
	PetscCall(reel_petsc_look_at_method(tj, ts));
	PetscCall(VecDestroy(&self->last));
	PetscCall(way_of(self)->begin(tj, ts));
	PetscFunctionReturn(0);
}

static PetscErrorCode begin_kept(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	REEL_ASSERT(!self->plan && !self->run);
	if (tj->solution_only)
		PetscCall(VecDuplicate(ts->vec_sol, &self->last));
	PetscFunctionReturn(0);
}

static PetscErrorCode begin_planned(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscCall(reel_petsc_plan(tj, ts));
	REEL_ASSERT(self->plan && self->run);
	if (self->is_audited || *self->used.restart)
		PetscCall(VecDuplicate(ts->vec_sol, &self->last));
	self->plan_end = (PetscInt)self->problem.steps;
	if (self->problem.steps == REEL_UNKNOWN_STEPS)
		self->plan_end = -1;
	PetscCall(start_run(tj, ts));
	PetscFunctionReturn(0);
}

/* Step `number` leads there. */
static PetscBool is_end_of_plan(const struct trajectory *self, PetscInt number)
{
	return (PetscBool)(self->plan_end >= 0 && number == self->plan_end);
}

static PetscBool is_beyond_plan(const struct trajectory *self, PetscInt number)
{
	return (PetscBool)(self->plan_end >= 0 && number > self->plan_end);
}

/* TSSolve() writes this time at its end, so that a mark there shows whether one has ended. */
static const PetscReal under_way = PETSC_MIN_REAL;

static PetscBool is_event(TS ts, PetscInt number)
{
	PetscInt i = ts->event ? ts->event->recorder.ctr : 0;

	while (i > 0 && ts->event->recorder.stepnum[i - 1] > number)
		i--;
	return (PetscBool)(i > 0 && ts->event->recorder.stepnum[i - 1] == number);
}

/*
 * Returns whether the step to this solution depends on more than the solution before it: before the
 * first step of a TSSolve() that goes on the program may have changed the solution, and a step of
 * another time may begin with a derivative of the time before. A replay does not repeat the changes
 * of an event, neither the solution nor the right-hand side; the next step may begin with a
 * derivative of before.
 */
static PetscBool stands_alone(const struct trajectory *self, TS ts, PetscInt number)
{
	const struct step *step = &self->step[number - 1];

	REEL_ASSERT(number > 0 && number <= self->steps);
	return (PetscBool)(ts->solvetime != under_way || step->begin != step->time ||
			   is_event(ts, number) || (self->goes_on && is_event(ts, number - 1)));
}

/*
 * The last step of the plan is kept with its stages: by the time of its reversal the TS may have
 * gone on, or the program may have put something else into its vector. Steps beyond those that were
 * planned are also kept, and so are steps that a replay would not find again.
 */
static PetscErrorCode keep_planned(TSTrajectory tj, TS ts, PetscInt number, Vec X)
{
	const struct trajectory *self = tj->data;
	PetscBool is_last = (PetscBool)(self->plan_end >= 0 && number >= self->plan_end);

	PetscFunctionBegin;
	if (!number || (!is_last && !stands_alone(self, ts, number)))
		PetscFunctionReturn(0);
	PetscCheck(is_last || !*self->used.restart, self->comm, PETSC_ERR_SUP,
		   "Reel: -ts_trajectory_reel_restart: before step %" PetscInt_FMT
		   " the program has set the clock, or TSSolve() has ended, and a restart file "
		   "does not have these changes",
		   number - 1);
	PetscCall(reel_petsc_keep(tj, ts, number, X, PETSC_TRUE));
	PetscFunctionReturn(0);
}

static PetscErrorCode set_planned(TSTrajectory tj, TS ts, PetscInt number, Vec X)
{
	struct trajectory *self = tj->data;
	PetscBool is_unknown = (PetscBool)(self->problem.steps == REEL_UNKNOWN_STEPS);

	PetscFunctionBegin;
	REEL_ASSERT(self->phase != PHASE_IDLE && number == self->steps);
	self->at = number;
	if (is_unknown && self->plan_end < 0 && ts->reason)
		self->plan_end = number;
	PetscCall(keep_planned(tj, ts, number, X));
	if (self->last)
		PetscCall(VecCopy(X, self->last));
	self->reason = ts->reason;
	self->next_size = ts->time_step;
	if (is_unknown && self->plan_end >= 0)
		PetscFunctionReturn(0);
	if (is_forward(&self->action) && self->action.last == number)
		PetscCall(go_on(tj, ts));
	PetscFunctionReturn(0);
}

/* Returns whether a step of those that are all kept is kept with its stages. */
static PetscBool has_stages(TSTrajectory tj, TS ts, PetscInt number)
{
	return (PetscBool)(number && tj->adjoint_solve_mode &&
			   (!tj->solution_only || stands_alone(tj->data, ts, number)));
}

static PetscErrorCode set_kept(TSTrajectory tj, TS ts, PetscInt number, Vec X)
{
	PetscFunctionBegin;
	PetscFunctionReturn(reel_petsc_keep(tj, ts, number, X, has_stages(tj, ts, number)));
}

static PetscErrorCode set(TSTrajectory tj, TS ts, PetscInt number, PetscReal time, Vec X)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscCheck(ts, self->comm, PETSC_ERR_ARG_NULL, "Reel: a solution is set without its TS");
	/* A step that has failed: the solution is there, and the stages are of an attempt. */
	if (number && number == self->steps && ts->reason < 0)
		PetscFunctionReturn(0);
	PetscCheck(!self->is_planned || !number || number == self->steps + 1, self->comm,
		   PETSC_ERR_ARG_WRONGSTATE,
		   "Reel: step %" PetscInt_FMT " after step %" PetscInt_FMT
		   ": checkpoints need the steps one after the other",
		   number, self->steps);
	if (!number) {
		ts->solvetime = under_way;
		PetscCall(begin(tj, ts));
	}
	if (!number && self->steps)
		PetscFunctionReturn(0);
	PetscCall(reel_petsc_end_step(self, ts));
	self->is_fresh = PETSC_FALSE;
	PetscCall(reel_petsc_note_step(tj, ts, number, time));
	REEL_ASSERT(self->steps == number && number < self->capacity);
	self->step[number].restarts = (PetscBool)(!number || ts->steprestart);
	PetscCall(way_of(self)->set(tj, ts, number, X));
	ts->solvetime = under_way;
	PetscFunctionReturn(0);
}

PetscBool reel_petsc_is_ours(TSTrajectory tj)
{
	return (PetscBool)(tj->ops->set == set);
}

/* ---- The reverse sweep ---- */

/*
 * Takes the steps of an action that the TS has taken: the loop may have ended before its plan.
 */
static PetscErrorCode carry_out(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;
	PetscInt last = (PetscInt)PetscMin(self->action.last, (int64_t)self->steps);

	PetscFunctionBegin;
	REEL_ASSERT(self->action.kind != REEL_ACTION_DONE && self->at <= self->steps);
	if (is_forward(&self->action) && last > self->at) {
		PetscCall(reel_petsc_replay(tj, ts, self->at, last));
		self->at = last;
	}
	PetscCall(go_on(tj, ts));
	PetscFunctionReturn(0);
}

/*
 * The program may have put something else into its vector, which an audit would take for a step
 * that does not replay.
 */
static PetscErrorCode begin_reverse_planned(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	REEL_ASSERT(self->run && self->step);
	if (self->last)
		PetscCall(VecCopy(self->last, ts->vec_sol));
	if (reel_run_steps(self->run) == REEL_UNKNOWN_STEPS)
		ReelCall(reel_run_end_loop(self->run));
	PetscFunctionReturn(0);
}

static PetscErrorCode begin_reverse_kept(TSTrajectory tj, TS ts)
{
	PetscFunctionBegin;
	(void)ts;
	PetscCall(reel_petsc_announce(tj, ((const struct trajectory *)tj->data)->steps));
	PetscFunctionReturn(0);
}

static PetscErrorCode begin_reverse(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	if (self->phase != PHASE_FORWARD && self->phase != PHASE_RESUMED)
		PetscFunctionReturn(0);
	reel_petsc_enter(self, self->phase == PHASE_RESUMED ? PHASE_GIVEN : PHASE_REVERSE);
	PetscCall(way_of(self)->begin_reverse(tj, ts));
	PetscFunctionReturn(0);
}

static PetscBool is_reversal_of(const reel_action *action, PetscInt number)
{
	return (PetscBool)(action->kind == REEL_ACTION_REVERSE && action->last == number);
}

static PetscErrorCode check_order(const struct trajectory *self, PetscInt number)
{
	const reel_action *action = &self->action;
	PetscBool is_missed = (PetscBool)(action->kind == REEL_ACTION_REVERSE &&
					  action->last <= self->steps);

	PetscFunctionBegin;
	PetscCheck(action->kind != REEL_ACTION_DONE && !is_missed, self->comm,
		   PETSC_ERR_ARG_WRONGSTATE,
		   "Reel: step %" PetscInt_FMT
		   " is wanted, whose checkpoints are gone: a plan reverses each step once, from "
		   "the last to the first; to go back several times, solve forward again, or keep "
		   "all steps, without -ts_trajectory_max_cps_ram and the like",
		   number);
	PetscFunctionReturn(0);
}

static PetscErrorCode fetch_kept(TSTrajectory tj, TS ts, PetscInt number)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	if (!number)
		PetscFunctionReturn(0);
	REEL_ASSERT(number <= self->steps);
	PetscCall(reel_petsc_fetch(tj, ts, number));
	self->at = number;
	PetscFunctionReturn(0);
}

/* The run goes back from the end of the plan; a replay of the last step may follow. */
static PetscErrorCode get_planned(TSTrajectory tj, TS ts, PetscInt number)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	if (is_end_of_plan(self, number))
		PetscCall(fetch_kept(tj, ts, number));
	if (!is_beyond_plan(self, number)) {
		if (self->phase == PHASE_GIVEN)
			PetscCall(go_on(tj, ts));
		while (number && !is_reversal_of(&self->action, number)) {
			PetscCall(check_order(self, number));
			PetscCall(carry_out(tj, ts));
		}
		if (number)
			reel_petsc_enter(self, PHASE_GIVEN);
	}
	if (is_end_of_plan(self, number) || is_beyond_plan(self, number))
		PetscCall(fetch_kept(tj, ts, number));
	REEL_ASSERT(!number || self->at == number);
	REEL_ASSERT(!number || is_beyond_plan(self, number) ||
		    is_reversal_of(&self->action, number));
	PetscFunctionReturn(0);
}

/*
 * Compares the solution of a step that was taken again with the solution that is kept, and gives
 * the TS the kept one. Where it need not have its bits, more is let through than a nonlinear solver
 * leaves that begins with another guess or Jacobian, and less than a switch in the right-hand side
 * leaves.
 */
static PetscErrorCode compare_with_kept(TSTrajectory tj, TS ts, PetscInt number)
{
	struct trajectory *self = tj->data;
	PetscReal size, difference, tolerance = reel_petsc_needs_audit(self, ts) ? 0 : 1e-6;
	PetscBool is_same;

	PetscFunctionBegin;
	REEL_ASSERT(self->last && number > 0);
	PetscCall(VecCopy(ts->vec_sol, self->last));
	PetscCall(reel_petsc_fetch(tj, ts, number));
	PetscCall(VecEqual(self->last, ts->vec_sol, &is_same));
	if (is_same)
		PetscFunctionReturn(0);
	PetscCall(VecAXPY(self->last, -1, ts->vec_sol));
	PetscCall(VecNorm(self->last, NORM_INFINITY, &difference));
	PetscCall(VecNorm(ts->vec_sol, NORM_INFINITY, &size));
	PetscCheck(tolerance && difference <= tolerance * size, self->comm, PETSC_ERR_LIB,
		   "Reel: step %" PetscInt_FMT
		   " does not replay: run again from the same solution, it leaves another one than "
		   "the first time; keep the stages, without -ts_trajectory_solution_only",
		   number - 1);
	PetscFunctionReturn(0);
}

/* With the stages of the step that led to it, which are kept, or come of taking the step again. */
static PetscErrorCode get_kept(TSTrajectory tj, TS ts, PetscInt number)
{
	struct trajectory *self = tj->data;
	PetscInt stages = 0;

	PetscFunctionBegin;
	REEL_ASSERT(!self->run && number <= self->steps);
	if (number && tj->adjoint_solve_mode && !self->step[number].has_stages)
		PetscCall(TSGetStages(ts, &stages, NULL));
	if (!stages) {
		PetscCall(reel_petsc_fetch(tj, ts, number));
		PetscFunctionReturn(0);
	}
	PetscCall(reel_petsc_fetch(tj, ts, number - 1));
	PetscCall(reel_petsc_replay(tj, ts, number - 1, number));
	PetscCall(compare_with_kept(tj, ts, number));
	PetscFunctionReturn(0);
}

static const struct way all_steps = {begin_kept, set_kept, begin_reverse_kept, get_kept};
static const struct way by_plan = {begin_planned, set_planned, begin_reverse_planned, get_planned};

/* In an adjoint solve the TS goes from the later time to the earlier one. */
static void turn(TSTrajectory tj, TS ts, PetscInt number)
{
	const struct step *step = &((const struct trajectory *)tj->data)->step[number];

	ts->steps = number;
	ts->ptime = step->time;
	if (!number)
		return;
	ts->ptime_prev = step[-1].begin;
	ts->time_step = ts->ptime - ts->ptime_prev;
	if (tj->adjoint_solve_mode)
		ts->time_step = -ts->time_step;
}

/* PETSc shows these counters with a trajectory. */
static void count_checkpoints(TSTrajectory tj)
{
	const struct trajectory *self = tj->data;
	struct reel_run_stats stats;

	REEL_ASSERT(self->run && self->problem.tiers <= 2);
	reel_run_get_stats(self->run, &stats);
	tj->diskwrites = (PetscInt)stats.stores[1];
	tj->diskreads = (PetscInt)stats.loads[1];
}

/* An adjoint solve asks for the first solution after it has reversed the first step. */
static PetscErrorCode check_sweep(TSTrajectory tj, TS ts, PetscInt number)
{
	const struct trajectory *self = tj->data;
	PetscBool is_sweep = (PetscBool)(ts->trajectory == tj &&
					 (number || !self->steps || self->given == 1));

	PetscFunctionBegin;
	PetscCheck(!self->is_planned || is_sweep, self->comm, PETSC_ERR_ARG_WRONGSTATE,
		   "Reel: solution %" PetscInt_FMT
		   " is looked up, for which all steps are kept: leave out "
		   "-ts_trajectory_max_cps_ram and the other options of checkpoints, and give "
		   "-ts_trajectory_adjointmode 0",
		   number);
	PetscFunctionReturn(0);
}

static PetscErrorCode get(TSTrajectory tj, TS ts, PetscInt number, PetscReal *time)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscCheck(number <= self->steps && self->step, self->comm, PETSC_ERR_ARG_OUTOFRANGE,
		   "Reel: step %" PetscInt_FMT " is wanted of %" PetscInt_FMT, number, self->steps);
	PetscCall(check_sweep(tj, ts, number));
	PetscCall(reel_petsc_resume_adjoint(tj, ts, &number));
	if (tj->adjoint_solve_mode)
		PetscCall(begin_reverse(tj, ts));
	PetscCall(way_of(self)->get(tj, ts, number));
	self->given = number;
	turn(tj, ts, number);
	if (!number && self->run)
		count_checkpoints(tj);
	*time = self->step[number].time;
	PetscFunctionReturn(0);
}

/* ---- Its life ---- */

static PetscErrorCode destroy(TSTrajectory tj)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscCall(reel_petsc_take_down(tj));
	REEL_ASSERT(!self->run && !self->plan && !self->pool);
	PetscCall(reel_petsc_compose(tj, PETSC_FALSE));
	PetscCall(PetscFree(self->step));
	PetscCall(PetscFree(self->attempt));
	PetscCall(PetscFree(self));
	tj->data = NULL;
	/* The trajectory may get another type, which is not set up. */
	tj->setupcalled = PETSC_FALSE;
	PetscFunctionReturn(0);
}

static PetscErrorCode view_plan(const struct trajectory *self, PetscViewer viewer)
{
	struct reel_run_stats stats;

	PetscFunctionBegin;
	REEL_ASSERT(self->plan && self->problem.tiers > 0);
	reel_run_get_stats(self->run, &stats);
	PetscCall(PetscViewerASCIIPrintf(
		viewer, "plan: %s, %" PRId64 " checkpoints in memory, %" PRId64 " on disk\n",
		reel_planner_name(self->planned_by), self->problem.tier[0].slots,
		self->problem.tier[1].slots));
	PetscCall(PetscViewerASCIIPrintf(viewer,
					 "checkpoints were stored %" PRIu64 " and loaded %" PRIu64
					 " times, on disk %" PRIu64 " and %" PRIu64 "\n",
					 stats.stores[0] + stats.stores[1],
					 stats.loads[0] + stats.loads[1], stats.stores[1],
					 stats.loads[1]));
	PetscFunctionReturn(0);
}

static PetscErrorCode view(TSTrajectory tj, PetscViewer viewer)
{
	const struct trajectory *self = tj->data;
	PetscBool is_text;

	PetscFunctionBegin;
	PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &is_text));
	if (!is_text || !tj->setupcalled)
		PetscFunctionReturn(0);
	PetscCall(PetscViewerASCIIPushTab(viewer));
	PetscCall(PetscViewerASCIIPrintf(viewer, "steps: %" PetscInt_FMT "\n", self->steps));
	if (self->run)
		PetscCall(view_plan(self, viewer));
	else
		PetscCall(PetscViewerASCIIPrintf(viewer, "plan: all steps are kept\n"));
	PetscCall(PetscViewerASCIIPopTab(viewer));
	PetscFunctionReturn(0);
}

static PetscErrorCode create(TSTrajectory tj, TS ts)
{
	struct trajectory *self;

	PetscFunctionBegin;
	(void)ts;
	PetscCall(PetscNew(&self));
	self->asked.memory_slots = self->asked.disk_slots = -1;
	tj->data = self;
	/* The trajectory may have had another type, which was. */
	tj->setupcalled = PETSC_FALSE;
	tj->ops->set = set;
	tj->ops->get = get;
	tj->ops->setup = reel_petsc_set_up;
	tj->ops->setfromoptions = reel_petsc_set_from_options;
	tj->ops->reset = reel_petsc_take_down;
	tj->ops->destroy = destroy;
	tj->ops->view = view;
	PetscCall(reel_petsc_compose(tj, PETSC_TRUE));
	PetscFunctionReturn(0);
}

/* ---- The plug-in ---- */

/*
 * Compares the sizes of numbers in the plug-in's PETSc and in the program's.
 */
static PetscErrorCode check_build(void)
{
	PetscDataType scalar, real;
	PetscBool has_scalar, has_real;
	size_t sizes[3];

	PetscFunctionBegin;
	PetscCall(PetscDataTypeFromString("scalar", &scalar, &has_scalar));
	PetscCall(PetscDataTypeFromString("real", &real, &has_real));
	PetscCall(PetscDataTypeGetSize(scalar, &sizes[0]));
	PetscCall(PetscDataTypeGetSize(real, &sizes[1]));
	PetscCall(PetscDataTypeGetSize(PETSC_INT, &sizes[2]));
	PetscCheck(sizes[0] == sizeof(PetscScalar) && sizes[1] == sizeof(PetscReal) &&
			   sizes[2] == sizeof(PetscInt),
		   PETSC_COMM_SELF, PETSC_ERR_SUP,
		   "Reel: this plug-in is for a PETSc with scalars of %d, reals of %d and indices "
		   "of %d bytes, and the program's has %d, %d and %d: take that build's",
		   (int)sizeof(PetscScalar), (int)sizeof(PetscReal), (int)sizeof(PetscInt),
		   (int)sizes[0], (int)sizes[1], (int)sizes[2]);
	PetscFunctionReturn(0);
}

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_reel_petsc(void);

/*
 * PETSc calls the function of this name when it loads libreel-petsc.so. A program that is linked
 * with the plug-in may call it itself, after PetscInitialize().
 */
PetscErrorCode PetscDLLibraryRegister_reel_petsc(void)
{
	PetscFunctionBegin;
	PetscCall(check_build());
	PetscCall(TSTrajectoryRegister("reel", create));
	PetscFunctionReturn(0);
}
