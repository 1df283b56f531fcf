/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include <reel.h>
#include <reel/plan.h>

#include "common/disk.h"
#include "common/report.h"
#include "model/step.h"

/* The library has put the state back: run to the dry cell again, and report it. */
static _Noreturn void stop_dry(struct loop *loop, struct state *state)
{
	loop_model(loop).advance(loop, state, 0, loop->dry_step);
	report_dry(loop->model, loop->depth, state, (int)loop->dry_step);
}

static void measure_steps(struct loop *loop, const double *displacement, reel_pool *pool,
			  struct reel_costs *costs)
{
	reel_model model = loop_model(loop);
	struct state state = state_create(loop->model->grid);
	struct adjoint adjoint = adjoint_create(loop->model->grid);
	reel_tape tape;
	int error;

	reel_tape_open(&tape, pool, 0);
	state_start(loop->model, displacement, &state);
	error = reel_costs_measure(costs, &tape, &model, loop, &state, &adjoint);
	if (error && loop->dry_step >= 0)
		stop_dry(loop, &state);
	if (error)
		fail("the first steps cannot be measured: %s%s", reel_error_text(error),
		     budget_remedy(error));
	reel_tape_close(&tape);
	adjoint_destroy(&adjoint);
	state_destroy(&state);
}

/* Whatever the gauge would record is of no account. */
static void measure_loop(struct loop *loop, const double *displacement, reel_pool *pool,
			 struct reel_costs *costs)
{
	double *gauge = allocate((size_t)costs->steps, sizeof(double));
	double *weights = allocate((size_t)costs->steps, sizeof(double));

	loop->gauge = gauge;
	loop->weights = weights;
	measure_steps(loop, displacement, pool, costs);
	free(gauge);
	free(weights);
}

struct reel_costs measure_costs(struct loop *loop, const struct tape_shape *shape,
				const double *displacement, uint64_t memory, const char *spill,
				uint64_t disk_bytes)
{
	struct reel_costs costs = {.steps = loop->model->steps};
	/* Where there is so little memory, all tapes on the disk could be chosen in vain. */
	bool uses_disk = spill && memory >= SLABS_TO_SPILL * shape->slab_bytes;
	struct reel_cost_tier disk = {.bytes = disk_bytes};
	reel_pool *pool;

	layout_bound(shape, memory, &costs);
	/* First, whether the machine gives the memory and the file. */
	pool = pool_open(memory, shape->slab_bytes, uses_disk ? spill : NULL);
	reel_pool_close(pool);
	if (uses_disk)
		disk_measure(spill, &disk);
	pool = pool_open(memory, shape->slab_bytes, NULL);
	measure_loop(loop, displacement, pool, &costs);
	reel_pool_close(pool);
	/* States and tapes take up more than has been pushed. */
	layout_bound(shape, memory, &costs);
	if (uses_disk) {
		costs.tiers = 1;
		costs.tier[0] = disk;
	}
	return costs;
}
