/* SPDX-License-Identifier: MIT */
/* The pool and the plan that options ask for, and the run of the plan. */
#include "trajectory.h"

#include <errno.h>

/* ---- The pool ---- */

/* PETSc's own types put their files into the working directory. */
static const char *directory_of(const struct settings *used)
{
	if (*used->directory)
		return used->directory;
	return getenv("REEL_SPILL_DIR") ? NULL : ".";
}

static const char *text_of(const char *setting)
{
	return *setting ? setting : NULL;
}

static PetscErrorCode open_pool(struct trajectory *self)
{
	const struct settings *used = &self->used;
	struct reel_pool_options options = {0};
	PetscBool has_store = (PetscBool)(*used->store || *used->directory);
	int error;

	PetscFunctionBegin;
	if (self->pool || (!*used->budget && !has_store))
		PetscFunctionReturn(0);
	error = reel_pool_options_from_text(&options, text_of(used->budget), text_of(used->store),
					    has_store ? directory_of(used) : NULL);
	if (error)
		reel_fail(error, "-ts_trajectory_reel_budget, -ts_trajectory_reel_store or "
				 "-ts_trajectory_reel_directory: %s", reel_error_text(error));
	if (!error)
		error = reel_pool_open(&self->pool, &options);
	if (error)
		reel_store_close(options.store);
	PetscCall(reel_petsc_agree(self, error));
	REEL_ASSERT(self->pool);
	PetscFunctionReturn(0);
}

/* ---- The plan ---- */

/* The number of steps as the TS stands, or REEL_UNKNOWN_STEPS where step sizes are chosen. */
static PetscErrorCode expect_steps(TS ts, int64_t *steps)
{
	PetscBool is_fixed = PETSC_TRUE;
	PetscReal expected;

	PetscFunctionBegin;
	if (ts->adapt)
		PetscCall(PetscObjectTypeCompare((PetscObject)ts->adapt, TSADAPTNONE, &is_fixed));
	expected = PetscCeilReal((ts->max_time - ts->ptime) / ts->time_step);
	if (!is_fixed || ts->event)
		*steps = REEL_UNKNOWN_STEPS;
	else if (expected < (PetscReal)ts->max_steps)
		*steps = PetscMax((int64_t)expected, 0);
	else
		*steps = ts->max_steps;
	PetscFunctionReturn(0);
}

static PetscBool is_set(PetscInt slots)
{
	return (PetscBool)(slots >= 0);
}

static PetscBool has_stride(const struct trajectory *self)
{
	return (PetscBool)(self->used.stride > 1);
}

/* More slots than steps are of no use, and might be more than a plan can have. */
static int64_t slots_of(PetscInt slots, int64_t steps, int64_t unset)
{
	int64_t max = steps == REEL_UNKNOWN_STEPS ? REEL_MAX_SLOTS / 2 : steps + 1;

	REEL_ASSERT(steps >= 0 || steps == REEL_UNKNOWN_STEPS);
	if (!is_set(slots))
		return unset;
	return PetscMin(PetscMin((int64_t)slots, max), REEL_MAX_SLOTS / 2);
}

static void describe_problem(struct trajectory *self, TS ts, int64_t steps)
{
	struct reel_problem *problem = &self->problem;
	int64_t stride = has_stride(self) ? self->used.stride : 0;
	PetscInt memory_slots = self->used.memory_slots;
	int64_t max_strides = stride ? ts->max_steps / stride + 1 : 0;
	PetscBool has_disk = (PetscBool)(is_set(self->used.disk_slots) || stride);

	*problem = (struct reel_problem){.steps = steps,
					 .period = stride,
					 .flags = REEL_REVERSE_AT_ONCE,
					 .tiers = has_disk ? 2 : (unsigned)is_set(memory_slots)};
	if (!is_set(memory_slots) && stride)
		memory_slots = self->used.stride;
	problem->tier[0].slots = slots_of(memory_slots, steps, 0);
	if (has_disk)
		problem->tier[1].slots = slots_of(self->used.disk_slots, steps, max_strides);
}

/* The message names the options that describe the planner's tiers. */
static PetscErrorCode open_plan(struct trajectory *self)
{
	const struct settings *used = &self->used;
	int error = reel_problem_from_text(&self->problem, &self->planned_by,
					   text_of(used->planner));

	PetscFunctionBegin;
	if (!error)
		error = reel_plan_open(&self->plan, self->planned_by, &self->problem);
	PetscCheck(!error, self->comm, PETSC_ERR_ARG_INCOMP,
		   "Reel: no plan of these options: the first tier is -ts_trajectory_max_cps_ram %"
		   PetscInt_FMT ", the second one -ts_trajectory_max_cps_disk %" PetscInt_FMT
		   " or -ts_trajectory_stride %" PetscInt_FMT
		   " (-1, or a stride of 0: not given), by -ts_trajectory_reel_planner %s: %s",
		   used->memory_slots, used->disk_slots, used->stride,
		   *used->planner ? used->planner : reel_planner_name(self->planned_by),
		   reel_error_text(error));
	REEL_ASSERT(self->plan && self->problem.tiers > 0 && self->problem.tiers <= 2);
	PetscFunctionReturn(0);
}

/* ---- The run ---- */

static int save(void *context, const void *state, void *snapshot)
{
	TSTrajectory tj = context;
	struct trajectory *self = tj->data;

	(void)state;
	REEL_ASSERT(self->ts && self->run);
	self->failure = reel_petsc_save(tj, self->ts, self->ts->vec_sol, snapshot);
	return self->failure ? -EIO : 0;
}

static int load(void *context, void *state, const void *snapshot)
{
	TSTrajectory tj = context;
	struct trajectory *self = tj->data;

	(void)state;
	REEL_ASSERT(self->ts && self->run);
	self->failure = reel_petsc_load(tj, self->ts, snapshot);
	self->is_loaded = PETSC_TRUE;
	return self->failure ? -EIO : 0;
}

static PetscErrorCode open_run(struct trajectory *self)
{
	const reel_model model = {.state_bytes = self->state_bytes, .save = save, .load = load};
	struct reel_run_options options = {.pool = self->pool,
					   .flags = self->is_audited ? REEL_RUN_AUDIT : 0};
	reel_store **store = &options.store[self->problem.tiers - 1];
	int error = 0;

	PetscFunctionBegin;
	REEL_ASSERT(self->plan && !self->run && self->state_bytes > 0);
	reel_petsc_restart_options(self, &options);
	if (self->problem.tiers > 1)
		error = reel_store_open(store, text_of(self->used.store),
					directory_of(&self->used));
	/* The run is opened by all ranks or by none. */
	if (self->ranks > 1)
		error = reel_mpi_agree(self->comm, error, NULL);
	if (!error)
		error = self->ranks > 1 ? reel_mpi_run_open(&self->run, self->plan, &model,
							    &options, NULL, self->comm)
					: reel_run_open(&self->run, self->plan, &model, &options);
	if (error)
		reel_store_close(*store);
	ReelCall(error);
	REEL_ASSERT(self->run);
	PetscFunctionReturn(0);
}

static void close_plan(struct trajectory *self)
{
	REEL_ASSERT(!self->run || self->plan);
	reel_run_close(self->run);
	reel_plan_close(self->plan);
	self->run = NULL;
	self->plan = NULL;
}

/*
 * A step before an event is not taken again as it was if the event has changed more than the
 * solution, as a switch in the right-hand side. So solutions are compared where there are events.
 */
PetscBool reel_petsc_needs_audit(const struct trajectory *self, TS ts)
{
	return (PetscBool)(self->used.audits || ts->event);
}

/* On all ranks or on none: of a solution of another size a rank may have as much as before. */
static PetscErrorCode has_plan(const struct trajectory *self, TS ts, int64_t steps, size_t bytes,
			       PetscBool *has)
{
	PetscBool has_here = (PetscBool)(self->run && self->problem.steps == steps &&
					 self->state_bytes == bytes &&
					 self->is_audited == reel_petsc_needs_audit(self, ts));

	PetscFunctionBegin;
	PetscCallMPI(MPI_Allreduce(&has_here, has, 1, MPIU_BOOL, MPI_LAND, self->comm));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_plan(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;
	PetscBool has;
	int64_t steps = 0;
	size_t bytes = 0;

	PetscFunctionBegin;
	REEL_ASSERT(self->is_planned && self->phase == PHASE_FORWARD);
	PetscCall(expect_steps(ts, &steps));
	PetscCall(reel_petsc_solution_bytes(tj, ts, &bytes));
	/* A state has at least a byte, also on a rank that has no part of the solution. */
	bytes += !bytes;
	PetscCall(has_plan(self, ts, steps, bytes, &has));
	if (has)
		PetscFunctionReturn(0);
	close_plan(self);
	self->is_audited = reel_petsc_needs_audit(self, ts);
	self->state_bytes = bytes;
	describe_problem(self, ts, steps);
	PetscCall(open_plan(self));
	PetscCall(open_run(self));
	REEL_ASSERT(self->run && self->state_bytes == bytes);
	PetscFunctionReturn(0);
}

/* ---- Together ---- */

static PetscErrorCode check_number(const struct trajectory *self, const char *option,
				   PetscInt number, PetscInt least)
{
	PetscFunctionBegin;
	PetscCheck(number >= least, self->comm, PETSC_ERR_ARG_OUTOFRANGE,
		   "Reel: -ts_trajectory_%s is %" PetscInt_FMT " or more, not %" PetscInt_FMT,
		   option, least, number);
	PetscFunctionReturn(0);
}

static PetscErrorCode check_numbers(const struct trajectory *self)
{
	const struct settings *used = &self->used;

	PetscFunctionBegin;
	PetscCall(check_number(self, "max_cps_ram", used->memory_slots, -1));
	PetscCall(check_number(self, "max_cps_disk", used->disk_slots, -1));
	PetscCall(check_number(self, "stride", used->stride, 0));
	PetscCheck(used->restart_seconds >= 0, self->comm, PETSC_ERR_ARG_OUTOFRANGE,
		   "Reel: -ts_trajectory_reel_restart_seconds is 0 or more, not %g",
		   (double)used->restart_seconds);
	PetscFunctionReturn(0);
}

/* Steps that need not be looked up in any order give way to checkpoints where memory ends. */
static PetscBool memory_is_all(const struct trajectory *self, TSTrajectory tj)
{
	return (PetscBool)(*self->used.budget && !*self->used.store && !*self->used.directory &&
			   tj->adjoint_solve_mode);
}

PetscErrorCode reel_petsc_set_up(TSTrajectory tj, TS ts)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	memcpy(&self->used, &self->asked, sizeof self->used);
	PetscCall(PetscObjectGetComm((PetscObject)tj, &self->comm));
	PetscCallMPI(MPI_Comm_size(self->comm, &self->ranks));
	REEL_ASSERT(self->ranks > 0 && !self->run);
	PetscCall(check_numbers(self));
	self->is_planned =
		(PetscBool)(is_set(self->used.memory_slots) || is_set(self->used.disk_slots) ||
			    has_stride(self) || *self->used.planner || memory_is_all(self, tj));
	PetscCheck(!self->is_planned || tj->adjoint_solve_mode, self->comm, PETSC_ERR_ARG_INCOMP,
		   "Reel: -ts_trajectory_adjointmode 0 looks steps up in any order, for which all "
		   "of them are kept: leave out -ts_trajectory_max_cps_ram and the other options "
		   "of checkpoints");
	PetscCheck(self->is_planned || !*self->used.restart, self->comm, PETSC_ERR_ARG_INCOMP,
		   "Reel: -ts_trajectory_reel_restart: a sweep goes on from checkpoints, which "
		   "-ts_trajectory_max_cps_ram N asks for, or another option of checkpoints");
	PetscCall(open_pool(self));
	PetscCall(reel_petsc_make_repeats(tj));
	(void)ts;
	PetscFunctionReturn(0);
}

/* Options may have been set since the last sweep. */
PetscErrorCode reel_petsc_renew(TSTrajectory tj, TS ts)
{
	const struct trajectory *self = tj->data;

	PetscFunctionBegin;
	if (!memcmp(&self->used, &self->asked, sizeof self->used))
		PetscFunctionReturn(0);
	PetscCall(reel_petsc_take_down(tj));
	PetscCall(reel_petsc_set_up(tj, ts));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_take_down(TSTrajectory tj)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscCall(reel_petsc_forget(tj));
	close_plan(self);
	ReelCall(self->pool ? reel_pool_close(self->pool) : 0);
	self->pool = NULL;
	PetscCall(TSAdaptDestroy(&self->repeats));
	PetscCall(VecDestroy(&self->last_stage));
	PetscCall(VecDestroy(&self->last));
	PetscCall(PetscFree(self->resumed));
	self->tableau = NULL;
	REEL_ASSERT(!self->run && !self->plan && !self->pool);
	REEL_ASSERT(self->phase == PHASE_IDLE && !self->steps);
	PetscFunctionReturn(0);
}
