/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes runs. One thread opens a run, and one closes it when no thread uses it. All
 * arguments are checked before anything is allocated. On failure the caller still owns its stores.
 * An open run has options.segment_steps, puts and gets above 0 and a pool.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <stdlib.h>

#include "os/error.h"
#include "os/integer.h"
#include "sweep.h"
#include "spill/pool/default-pool.h"
#include "plan/plan.h"
#include "checkpoint/restart/restart.h"
#include "checkpoint/restart/save-request.h"
#include "checkpoint/run/run-loss.h"
#include "checkpoint/run/run-packer.h"
#include "checkpoint/watch/watch.h"

/* Maximum numbers of snapshots under way to stores and from stores, if the options are 0. */
#define PUTS 2
#define GETS 2

static const char *problem_with_steps(const reel_plan *plan, const struct reel_run_options *options)
{
	int64_t segment = options->segment_steps ? options->segment_steps : 1;
	int64_t planned = plan->problem.steps;

	if (segment < 0 || segment > REEL_MAX_STEPS)
		return "segment_steps must be from 1 (or 0) to REEL_MAX_STEPS";
	if (options->steps < 0)
		return "steps must be 0 or more";
	if (planned == REEL_UNKNOWN_STEPS)
		return options->steps ? "steps must be 0 for a plan of REEL_UNKNOWN_STEPS" : NULL;
	if (options->finished)
		return "finished() is for a plan of REEL_UNKNOWN_STEPS";
	if (planned > REEL_MAX_STEPS / segment)
		return "segment_steps times the plan's steps is above REEL_MAX_STEPS";
	if (options->steps && (options->steps > planned * segment ||
			       options->steps <= (planned - 1) * segment))
		return "steps must end in the plan's last segment";
	return NULL;
}

static const char *problem_with_stores(const reel_plan *plan,
				       const struct reel_run_options *options)
{
	for (unsigned tier = 0; tier < REEL_MAX_TIERS; tier++) {
		if (options->store[tier] && tier >= plan->problem.tiers)
			return "a store was given for a tier that the plan does not have";
		for (unsigned other = 0; other < tier; other++)
			if (options->store[tier] && options->store[tier] == options->store[other])
				return "two tiers were given one store: each closes its own";
	}
	return NULL;
}

static const char *problem_with_options(const reel_plan *plan,
					const struct reel_run_options *options)
{
	const char *problem;

	if (options->flags & ~(REEL_RUN_AUDIT | REEL_RUN_COPIES))
		return "flags must be made of REEL_RUN_AUDIT and REEL_RUN_COPIES";
	if (options->flags & REEL_RUN_COPIES &&
	    (options->flags & REEL_RUN_AUDIT || options->restart))
		return "REEL_RUN_COPIES excludes REEL_RUN_AUDIT and restart files, which also need "
		       "the state at other times";
	if (options->puts > REEL_MAX_PUTS || options->gets > REEL_MAX_PUTS)
		return "puts and gets must be at most 64";
	if (options->loss && options->flags & REEL_RUN_AUDIT)
		return "REEL_RUN_AUDIT compares states that were repeated, which differ from the "
		       "first ones where states are stored with loss";
	problem = problem_with_stores(plan, options);
	return problem ? problem : problem_with_steps(plan, options);
}

/* The plan of a planner is right; a list of the caller's own actions is replayed. */
static bool holds_together(const reel_plan *plan)
{
	struct reel_schedule_report report;

	return plan->planner || !reel_plan_check(plan, NULL, plan->problem.steps, &report);
}

/* The size of all parts together, or SIZE_MAX: more than can be addressed. */
static size_t total(const struct reel_part *part, unsigned parts)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < parts; i++) {
		if (part[i].bytes > PTRDIFF_MAX - bytes)
			return SIZE_MAX;
		bytes += part[i].bytes;
	}
	return bytes;
}

static const char *problem_with_parts(const reel_model *model,
				      const struct reel_run_options *options)
{
	if ((options->state_parts && !options->state_part) ||
	    (options->adjoint_parts && !options->adjoint_part))
		return "state_parts and adjoint_parts are the numbers of parts in state_part and "
		       "adjoint_part: a list is missing";
	if (options->state_parts && (model->advance || model->save))
		return "a state in parts has no save() and load(), and its run is driven: the "
		       "model "
		       "has no advance(), record() and reverse()";
	if (options->adjoint_parts && options->save_adjoint)
		return "an adjoint in parts has no save_adjoint() and load_adjoint()";
	if (options->state_parts && model->state_bytes &&
	    model->state_bytes != total(options->state_part, options->state_parts))
		return "state_bytes is 0, or the size of all parts of the state";
	if (options->adjoint_parts && options->adjoint_bytes &&
	    options->adjoint_bytes != total(options->adjoint_part, options->adjoint_parts))
		return "adjoint_bytes is 0, or the size of all parts of the adjoint";
	return NULL;
}

static const struct reel_run_options no_options;

static const char *problem_with_model(const reel_model *model,
				      const struct reel_run_options *options)
{
	if (!model->advance != !model->record || !model->advance != !model->reverse)
		return "a model has all of advance(), record() and reverse(), or, of a run that is "
		       "driven, none";
	if (!model->save != !model->load)
		return "a model has both save() and load(), or neither";
	if (options->flags & REEL_RUN_COPIES && (!model->save || model->advance))
		return "REEL_RUN_COPIES is for a model of save() and load() alone";
	if (!model->advance && !model->state_bytes && !options->state_parts)
		return "a run needs a model, or, if it is driven, state_bytes or the parts of a "
		       "state";
	if (options->loss) {
		size_t bytes = options->state_parts ? total(options->state_part,
							    options->state_parts)
						    : model->state_bytes;
		const char *problem = reel_loss_problem(options->loss, bytes);

		if (problem)
			return problem;
	}
	return problem_with_parts(model, options);
}

static const char *problem_with_arguments(const reel_plan *plan, const reel_model *model,
					  const struct reel_run_options *options)
{
	const char *problem;

	if (!plan)
		return "a run needs a plan";
	if (options->restart && !options->adjoint_bytes && !options->adjoint_parts &&
	    !options->packed_bytes)
		return "a restart file needs adjoint_bytes, the size of the adjoint";
	if (!options->save_adjoint != !options->load_adjoint)
		return "a run has both save_adjoint() and load_adjoint(), or neither";
	if (options->packed_bytes && (options->adjoint_bytes || !options->save_adjoint))
		return "packed_bytes() is the size that save_adjoint() packs: set adjoint_bytes to "
		       "0";
	problem = problem_with_options(plan, options);
	if (!problem)
		problem = problem_with_model(model, options);
	if (!problem && !holds_together(plan))
		problem = "the plan's actions do not hold together: reel_plan_check() says where";
	return problem;
}

/* Sizes that no memory has, most often a negative number that became a size_t. */
static const char *too_large(const reel_model *model, const struct reel_run_options *options)
{
	if (REEL_TOO_MANY(model->state_bytes, sizeof(char)) ||
	    total(options->state_part, options->state_parts) == SIZE_MAX)
		return "state_bytes is more than can be addressed";
	return REEL_TOO_MANY(options->adjoint_bytes, sizeof(char)) ||
			       total(options->adjoint_part, options->adjoint_parts) == SIZE_MAX
		       ? "adjoint_bytes is more than can be addressed"
		       : NULL;
}

/* Replaces each 0 of the options by its meaning. Opens the default pool if none is given. */
static int complete(struct reel_run_options *options)
{
	REEL_ASSERT(options->segment_steps >= 0);
	if (!options->segment_steps)
		options->segment_steps = 1;
	if (!options->puts)
		options->puts = PUTS;
	if (!options->gets)
		options->gets = GETS;
	return options->pool ? 0 : reel_pool_open_default(&options->pool);
}

/* The names of restart files, and whether they may be written there. */
static int open_files(reel_run *run)
{
	int error = reel_restart_name_files(run);

	if (!run->options.restart)
		return 0;
	reel_save_request_open();
	for (unsigned epoch = 0; epoch < reel_restart_names(run) && !error; epoch++)
		error = reel_restart_check(reel_restart_path(run, epoch));
	return error;
}

static int open_schedules(reel_run *run)
{
	int error = reel_schedule_open(&run->schedule, run->plan);

	if (!error)
		error = reel_schedule_open(&run->ahead, run->plan);
	return error || !run->options.restart ? error
					      : reel_schedule_open(&run->later, run->plan);
}

/* The caller's lists of parts need not outlive the opening. */
static int own_parts(reel_run *run)
{
	struct reel_run_options *options = &run->options;
	size_t parts = (size_t)options->state_parts + options->adjoint_parts;

	REEL_ASSERT(!run->part);
	if (!parts)
		return 0;
	run->part = malloc(parts * sizeof *run->part);
	if (!run->part)
		return reel_fail(-ENOMEM, "no memory for a run");
	for (unsigned i = 0; i < options->state_parts; i++)
		run->part[i] = options->state_part[i];
	for (unsigned i = 0; i < options->adjoint_parts; i++)
		run->part[options->state_parts + i] = options->adjoint_part[i];
	options->state_part = run->part;
	options->adjoint_part = run->part + options->state_parts;
	if (options->state_parts)
		run->model.state_bytes = total(options->state_part, options->state_parts);
	if (options->adjoint_parts)
		options->adjoint_bytes = total(options->adjoint_part, options->adjoint_parts);
	return 0;
}

/* Nor need the caller's loss. */
static int own_loss(reel_run *run)
{
	const struct reel_loss *loss = run->options.loss;
	size_t bytes = loss ? loss->fields * sizeof *loss->field : 0;

	if (!loss)
		return 0;
	run->loss = malloc(sizeof *run->loss + bytes);
	if (!run->loss)
		return reel_fail(-ENOMEM, "no memory for a run");
	*run->loss = *loss;
	run->loss->field = (const struct reel_field *)(run->loss + 1);
	if (bytes)
		memcpy(run->loss + 1, loss->field, bytes);
	run->options.loss = run->loss;
	return reel_packer_open(run);
}

static int fill(reel_run *run)
{
	int error = own_parts(run);

	if (!error)
		error = own_loss(run);
	if (!error)
		error = open_schedules(run);
	if (!error)
		error = open_files(run);
	if (!error)
		error = complete(&run->options);
	/* After the pool is open: the first pool of a process makes it answer `reel top`. */
	if (!error)
		error = reel_progress_open(run);
	if (!error)
		error = reel_learning_open(run);
	if (!error)
		error = reel_snapshots_open(&run->snapshots, run->options.pool,
					    reel_loss_room(run), run->plan->problem.tiers,
					    run->options.store, run->options.puts,
					    run->options.gets);
	if (error)
		return error;
	REEL_ASSERT(run->options.segment_steps > 0 && run->options.pool);
	REEL_ASSERT(run->options.puts > 0 && run->options.puts <= REEL_MAX_PUTS);
	REEL_ASSERT(run->phase == REEL_RUN_IDLE);
	reel_pool_add_user(run->options.pool);
	reel_run_begin(run);
	return 0;
}

/* Frees a run that has no snapshots. */
static void free_run(reel_run *run)
{
	if (run->group.close)
		run->group.close(run->group.context);
	reel_progress_close(run);
	reel_learning_close(run);
	reel_schedule_close(run->schedule);
	reel_schedule_close(run->ahead);
	reel_schedule_close(run->later);
	reel_packer_close(run);
	free(run->part);
	free(run->loss);
	free(run);
}

static const reel_model no_model;

/* Opens a run of this process. On failure the group stays the caller's. */
static int open_run(reel_run **opened, const reel_plan *plan, const reel_model *model,
		    const struct reel_run_options *options, const struct reel_run_group *group)
{
	const char *problem;
	reel_run *run;
	int error;

	model = model ? model : &no_model;
	options = options ? options : &no_options;
	problem = problem_with_arguments(plan, model, options);
	if (problem)
		return reel_fail(-EINVAL, "%s", problem);
	problem = too_large(model, options);
	if (problem)
		return reel_fail(-EOVERFLOW, "%s", problem);
	REEL_ASSERT(!model->save == !model->load);
	run = calloc(1, sizeof *run);
	if (!run)
		return reel_fail(-ENOMEM, "no memory for a run");
	run->plan = plan;
	run->model = *model;
	run->options = *options;
	run->group = *group;
	error = fill(run);
	if (error) {
		run->group.close = NULL;
		free_run(run);
		return error;
	}
	*opened = run;
	return 0;
}

static const struct reel_run_group alone;

int reel_run_open(reel_run **opened, const reel_plan *plan, const reel_model *model,
		  const struct reel_run_options *options)
{
	return open_run(opened, plan, model, options, &alone);
}

/* Agrees on `error` and then on the plan. Returns -EINVAL if the processes have different ones. */
static int agree_on_plan(const struct reel_run_group *group, int error, uint32_t crc)
{
	int64_t values[] = {error ? 0 : crc, error ? 0 : -(int64_t)crc};

	error = reel_group_agree(group, error, NULL);
	if (!error)
		error = reel_group_max(group, values, 2);
	if (!error && values[0] != -values[1])
		return reel_fail(-EINVAL,
				 "the ranks have different plans or segments: all must have "
				 "the same");
	return error;
}

int reel_run_open_in_group(reel_run **opened, const reel_plan *plan, const reel_model *model,
			   const struct reel_run_options *options,
			   const struct reel_run_group *group)
{
	reel_run *run = NULL;
	int error = open_run(&run, plan, model, options, group);

	REEL_ASSERT(group->ranks <= 1 || group->max);
	error = agree_on_plan(group, error, run ? reel_restart_plan_crc(run) : 0);
	if (error && run) {
		reel_snapshots_leave(&run->snapshots);
		run->group.close = NULL;
		reel_run_close(run);
	}
	if (!error)
		*opened = run;
	return error;
}

void reel_run_close(reel_run *run)
{
	if (!run)
		return;
	reel_tape_close(&run->tape);
	reel_packer_close(run);
	reel_snapshots_close(&run->snapshots);
	reel_audit_end(run);
	reel_restart_drop_packed(run);
	reel_pool_remove_user(run->options.pool);
	free_run(run);
}
