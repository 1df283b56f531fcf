/* SPDX-License-Identifier: MIT */
#include "checkpointing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <reel.h>

#include "loop.h"
#include "common/disk.h"
#include "common/progress.h"
#include "common/report.h"
#include "model/ranks.h"
#include "model/step.h"
#include "restart.h"

/* Where the tapes of all steps do not fit on the GPU. */
#define GPU_SCHEME "binomial:16"

struct checkpointing {
	const struct options *options;
	const struct model *model;
	struct scheme scheme;
	const struct gpu_calls *gpu_calls; /* NULL: threads run the steps */
	struct gpu *gpu;
	struct loop loop;
	struct layout layout;
	uint64_t budget;         /* of auto also where there is no --budget */
	reel_plan *plan;
	reel_pool *pool;
	reel_run *run;
	struct look_ahead look_ahead; /* of the last reverse sweep */
	struct state state;
	const double *depth;
	void *at; /* the state of the sweeps, here or on the GPU */
	struct adjoint adjoint; /* with --restart from before the forward sweep on */
	int resumed;            /* in a reverse sweep: it has the last state */
};

static void create_layout(struct checkpointing *checkpointing, const struct tape_shape *shape)
{
	const struct options *options = checkpointing->options;
	struct layout *layout = &checkpointing->layout;

	*layout = layout_create(&checkpointing->scheme, shape, checkpointing->model->steps,
				options->segment, options->budget);
	checkpointing->budget = options->budget;
	if (layout_learns(layout) && !options->budget)
		checkpointing->budget = default_budget_bytes();
	layout->spills = options->spill && checkpointing->budget &&
			 (layout_learns(layout) || layout->planner == REEL_STORE_ALL);
}

static struct scheme scheme_on_gpu(const struct options *options, int64_t steps, int64_t fitting)
{
	if (options->scheme.text)
		return options->scheme;
	return scheme_read(steps <= fitting ? reel_planner_name(REEL_STORE_ALL) : GPU_SCHEME);
}

/* A segment consists of the steps on the GPU's tapes; states are in the machine's memory. */
static void create_layout_on_gpu(struct checkpointing *checkpointing)
{
	const struct options *options = checkpointing->options;
	int64_t steps = checkpointing->model->steps, segment = options->segment;
	int64_t fitting = checkpointing->gpu_calls->fitting_steps(checkpointing->gpu);
	struct layout *layout = &checkpointing->layout;
	struct tape_shape shape = {.chunks_in_slab = 1}; /* of no tape here */

	if (fitting < 1)
		fail("--device cuda: the tapes of one step do not fit there; choose a larger "
		     "--budget or a coarser --resolution");
	checkpointing->scheme = scheme_on_gpu(options, steps, fitting);
	if (checkpointing->scheme.planner == REEL_STORE_ALL)
		segment = steps;
	if (!segment)
		segment = fitting < steps ? fitting : steps;
	if (segment > fitting)
		fail("--device cuda: the tapes of %lld steps fit there, not of %lld; choose a "
		     "larger --budget, %s", (long long)fitting, (long long)segment,
		     options->segment ? "or a shorter --segment"
				      : "or --checkpoint " GPU_SCHEME);
	shape.state_bytes = shape.kept_bytes =
		checkpointing->gpu_calls->model(checkpointing->gpu).state_bytes;
	*layout = layout_create(&checkpointing->scheme, &shape, steps, segment, 0);
	checkpointing->gpu_calls->reserve(checkpointing->gpu, segment);
}

static void check_disk_on_gpu(const struct options *options)
{
	if (options->spill && !options->scheme.has_disk)
		fail("--spill %s: with --device cuda tapes are not spilled; leave it out, or "
		     "choose --checkpoint hierarchical or two-level", options->spill);
	if (options->scheme.text && options->scheme.planner == REEL_STORE_ALL && options->segment)
		fail("--segment: with --device cuda all steps of --checkpoint %s are one segment; "
		     "leave it out", options->scheme.text);
}

/* Ends the program if an option lacks one that it needs, or conflicts with another. */
static void check_options(const struct options *options)
{
	const struct scheme *scheme = &options->scheme;
	int uses_disk = scheme->planner == REEL_AUTO || scheme->planner == REEL_STORE_ALL ||
			scheme->has_disk;

	if (options->on_gpu)
		check_disk_on_gpu(options);
	if (scheme->has_disk && !options->spill)
		fail("--checkpoint %s keeps states on a disk: choose a directory there with "
		     "--spill", scheme->text);
	if (options->spill && !uses_disk)
		fail("--spill %s: --checkpoint %s keeps nothing on a disk; leave it out, or choose "
		     "hierarchical, two-level or store-all", options->spill, scheme->text);
	if (options->spill && scheme->planner == REEL_STORE_ALL && !options->budget)
		fail("--spill %s: nothing goes there without a --budget", options->spill);
}

static reel_model model_of_loop(const struct checkpointing *checkpointing)
{
	return checkpointing->gpu_calls ? checkpointing->gpu_calls->model(checkpointing->gpu)
					: loop_model(&checkpointing->loop);
}

/* If one rank fails, the others have -ECANCELED, which names no cause: a failed rank reports. */
static void report_from_failed_rank(struct checkpointing *checkpointing, int error)
{
	struct ranks *ranks = checkpointing->model->ranks;

	if (ranks && error)
		report_from(ranks->world->lowest(error != -ECANCELED));
}

static void open_run(struct checkpointing *checkpointing)
{
	const struct layout *layout = &checkpointing->layout;
	struct reel_field field[COMPONENTS];
	const struct reel_loss loss = {.field = field, .fields = COMPONENTS,
				       .tolerance = checkpointing->options->tolerance};
	struct reel_run_options options = {
		.pool = checkpointing->pool,
		.segment_steps = layout->segment,
		.puts = MOVING_STATES / 2,
		.gets = MOVING_STATES / 2,
		.flags = checkpointing->options->audit ? REEL_RUN_AUDIT : 0,
		.loss = loss.tolerance > 0 || checkpointing->options->digits ? &loss : NULL,
		.restart = checkpointing->options->restart,
		.adjoint_bytes = restart_bytes(checkpointing->model),
		.save_adjoint = restart_save,
		.load_adjoint = restart_load,
	};
	reel_model model = model_of_loop(checkpointing);
	struct ranks *ranks = checkpointing->model->ranks;
	int error;

	loop_list_fields(checkpointing->model->grid, field);
	if (layout->problem.steps == REEL_UNKNOWN_STEPS)
		options.finished = loop_is_finished;
	else
		options.steps = layout->steps;
	if (layout->has_disk)
		options.store[1] = disk_open(checkpointing->options->spill);
	error = ranks ? ranks->world->open_run(&checkpointing->run, checkpointing->plan, &model,
					       &options)
		      : reel_run_open(&checkpointing->run, checkpointing->plan, &model, &options);
	report_from_failed_rank(checkpointing, error);
	if (error)
		fail("--checkpoint %s: %s", checkpointing->scheme.text, reel_error_text(0));
}

struct checkpointing *checkpointing_open(const struct options *options, const struct model *model)
{
	/* The layout is the same on all ranks, since it is made for the largest of them. */
	struct grid grid = largest_grid(model);
	struct tape_shape shape = tape_shape(&grid, options->budget);
	struct checkpointing *checkpointing;

	check_options(options);
	report_alone();
	checkpointing = allocate(1, sizeof(*checkpointing));
	checkpointing->options = options;
	checkpointing->model = model;
	checkpointing->scheme = options->scheme;
	loop_open(&checkpointing->loop, model, shape.chunk_rows);
	if (options->on_gpu) {
		checkpointing->gpu_calls = gpu_built_in();
		checkpointing->gpu = checkpointing->gpu_calls->open(model, options->budget);
		create_layout_on_gpu(checkpointing);
	} else {
		create_layout(checkpointing, &shape);
	}
	checkpointing->plan = layout_open_plan(&checkpointing->layout, checkpointing->budget);
	checkpointing->pool = pool_open(checkpointing->budget,
					checkpointing->layout.shape.slab_bytes,
					checkpointing->layout.spills ? options->spill : NULL);
	open_run(checkpointing);
	checkpointing->state = state_create(model->grid);
	return checkpointing;
}

void checkpointing_close(struct checkpointing *checkpointing)
{
	reel_run_close(checkpointing->run);
	reel_pool_close(checkpointing->pool);
	reel_plan_close(checkpointing->plan);
	if (checkpointing->gpu)
		checkpointing->gpu_calls->close(checkpointing->gpu);
	loop_close(&checkpointing->loop);
	state_destroy(&checkpointing->state);
	free(checkpointing);
}

/* Where the steps stopped since a cell fell dry; the state is here then. */
static int64_t dry_step(struct checkpointing *checkpointing)
{
	if (checkpointing->gpu)
		return checkpointing->gpu_calls->dry_step(checkpointing->gpu,
							  &checkpointing->state);
	return checkpointing->loop.dry_step;
}

static void require(struct checkpointing *checkpointing, int error)
{
	int64_t step;

	progress_clear();
	if (!error)
		return;
	if (error == -EINTR)
		stop(reel_error_text(0));
	report_from_failed_rank(checkpointing, error);
	step = dry_step(checkpointing);
	if (step >= 0)
		report_dry(checkpointing->model, checkpointing->depth, &checkpointing->state,
			   (int)step);
	fail("--checkpoint %s stopped: %s%s", checkpointing->scheme.text, reel_error_text(0),
	     budget_remedy(error));
}

/* Before a forward sweep, whose state it returns; the context of its callbacks in *context. */
static void *start(struct checkpointing *checkpointing, const struct controls *controls,
		   double *gauge, void **context)
{
	struct loop *loop = &checkpointing->loop;

	checkpointing->depth = controls->depth;
	if (checkpointing->gpu) {
		*context = checkpointing->gpu;
		return checkpointing->gpu_calls->start(checkpointing->gpu, controls, gauge);
	}
	*context = loop;
	loop->depth = controls->depth;
	loop->displacement = controls->displacement;
	loop->gauge = gauge;
	loop->known = 0;
	state_start(checkpointing->model, controls->displacement, &checkpointing->state);
	return &checkpointing->state;
}

void checkpointing_primal(struct checkpointing *checkpointing, const struct controls *controls,
			  double *gauge)
{
	reel_model model = model_of_loop(checkpointing);
	void *context, *state = start(checkpointing, controls, gauge, &context);

	require(checkpointing, model.advance(context, state, 0, checkpointing->model->steps));
}

void checkpointing_set_tolerance(struct checkpointing *checkpointing, double tolerance)
{
	if (reel_run_set_tolerance(checkpointing->run, tolerance))
		fail("--checkpoint %s: %s", checkpointing->scheme.text, reel_error_text(0));
}

/* If there is a file to go on from. */
static void resume(struct checkpointing *checkpointing)
{
	const struct options *options = checkpointing->options;
	int error;

	checkpointing->adjoint = adjoint_create(checkpointing->model->grid);
	error = reel_run_resume(checkpointing->run, &checkpointing->loop, &checkpointing->adjoint);
	if (error == -ENOENT)
		return;
	report_from_failed_rank(checkpointing, error);
	if (error)
		fail("--restart %s: %s; remove the file to begin anew", options->restart,
		     error == -ESTALE ? "it is of another earthquake, gauge or basin"
				      : reel_error_text(0));
	checkpointing->resumed = reel_run_is_reversing(checkpointing->run);
	if (!options->quiet)
		printf("Resumed         from %s, in the %s sweep\n", options->restart,
		       checkpointing->resumed ? "reverse" : "forward");
}

void checkpointing_forward(struct checkpointing *checkpointing, const struct controls *controls,
			   double *gauge)
{
	void *context;

	checkpointing->at = start(checkpointing, controls, gauge, &context);
	if (checkpointing->options->restart)
		resume(checkpointing);
	if (!checkpointing->resumed)
		require(checkpointing,
			reel_run_forward(checkpointing->run, context, checkpointing->at));
}

static int reverse(struct checkpointing *checkpointing, struct adjoint *adjoint)
{
	const struct options *options = checkpointing->options;

	if (!options->look_ahead)
		return reel_run_reverse(checkpointing->run, &checkpointing->loop,
					&checkpointing->state, adjoint);
	return look_ahead_reverse(checkpointing->run, &checkpointing->loop, &checkpointing->state,
				  adjoint, options->threads, &checkpointing->look_ahead);
}

static void reverse_here(struct checkpointing *checkpointing, const double *weights,
			 struct controls *gradient)
{
	struct loop *loop = &checkpointing->loop;
	struct adjoint *adjoint = &checkpointing->adjoint;

	if (!checkpointing->options->restart)
		*adjoint = adjoint_create(checkpointing->model->grid);
	loop->weights = weights;
	if (!checkpointing->resumed)
		state_swap(&adjoint->next, &checkpointing->state);
	require(checkpointing, reverse(checkpointing, adjoint));
	copy_wet(loop->model, adjoint->state.elevation, gradient->displacement);
	copy_wet(loop->model, adjoint->depth_gradient, gradient->depth);
	adjoint_destroy(adjoint);
	checkpointing->resumed = 0;
}

static void reverse_on_gpu(struct checkpointing *checkpointing, const double *weights,
			   struct controls *gradient)
{
	const struct gpu_calls *calls = checkpointing->gpu_calls;
	void *adjoint = calls->turn(checkpointing->gpu, weights);

	require(checkpointing, reel_run_reverse(checkpointing->run, checkpointing->gpu,
						checkpointing->at, adjoint));
	calls->finish(checkpointing->gpu, gradient);
}

void checkpointing_reverse(struct checkpointing *checkpointing, const double *weights,
			   struct controls *gradient)
{
	if (checkpointing->gpu)
		reverse_on_gpu(checkpointing, weights, gradient);
	else
		reverse_here(checkpointing, weights, gradient);
}

static struct counts counts_of(const struct reel_run_stats *stats)
{
	return (struct counts){
		.advanced = stats->advanced,
		.recorded = stats->recorded,
		.reversed = stats->reversed,
		.stores = {stats->stores[0], stats->stores[1]},
		.loads = {stats->loads[0], stats->loads[1]},
	};
}

struct checkpointing_use checkpointing_use(struct checkpointing *checkpointing)
{
	struct reel_run_stats stats;
	struct reel_pool_stats pool;
	struct gpu_use gpu = {0};
	struct counts planned = {0};

	if (checkpointing->gpu)
		gpu = checkpointing->gpu_calls->use(checkpointing->gpu);
	if (!layout_learns(&checkpointing->layout))
		planned = layout_count(&checkpointing->layout, checkpointing->plan);
	reel_run_get_stats(checkpointing->run, &stats);
	reel_pool_get_stats(checkpointing->pool, &pool);
	return (struct checkpointing_use){
		.scheme = checkpointing->scheme.text,
		.layout = checkpointing->layout,
		.planned = planned,
		.done = counts_of(&stats),
		.snapshot_bytes = stats.peak_snapshot_bytes,
		.tape_bytes = checkpointing->gpu ? gpu.tape_bytes : stats.peak_tape_bytes,
		.gpu = gpu,
		.resident_bytes = pool.peak_resident_bytes,
		.disk_bytes = stats.put_bytes + pool.written_bytes,
		.rounded_bytes = stats.rounded_bytes,
		.kept_bytes = stats.kept_bytes,
		.waits = stats.waits + pool.stalls,
		.look_ahead = checkpointing->look_ahead,
		.wait_seconds = 1e-9 * (double)(stats.wait_ns + pool.stall_ns),
	};
}
