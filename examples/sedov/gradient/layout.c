/* SPDX-License-Identifier: MIT */
#include "layout.h"

#include <reel.h>

#include "common/disk.h"
#include "common/numbers.h"
#include "common/report.h"
#include "model/ranks.h"

/* The hierarchical planners and REEL_MIXED have tables of that many rows. */
#define MAX_SEGMENTS 500
/* Slabs are whole pages; where steps are small, about a huge page or this part of the budget. */
#define PAGE_BYTES ((uint64_t)4096)
#define SLAB_BYTES ((uint64_t)2 << 20)
#define SLABS_IN_BUDGET 32
/* Slabs besides the slabs of the plan: a tape begins and ends within one. */
#define SPARE_SLABS 4
/* Tapes spill well from this number of slabs on. */
#define SLABS_TO_SPILL 8

/* The memory that a step's tape takes up. Slabs are filled by whole steps, so little is unused. */
struct room {
	uint64_t slab, step;
};

static struct room room_of(const struct loop *loop, uint64_t budget)
{
	uint64_t step = loop_step_bytes(loop), part = budget / SLABS_IN_BUDGET;
	uint64_t steps = (part < SLAB_BYTES ? part : SLAB_BYTES) / step;
	struct room room;

	if (!steps)
		steps = 1;
	room.slab = round_up(steps * step, PAGE_BYTES);
	room.step = room.slab / steps;
	return room;
}

static struct layout layout_by_scheme(const struct method *method)
{
	const struct scheme *scheme = method->scheme;
	int64_t segment = 1 + method->steps / MAX_SEGMENTS;

	return (struct layout){
		.planner = scheme->planner,
		.problem = scheme_problem(scheme, (method->steps + segment - 1) / segment),
		.segment = segment,
		.budget = method->budget,
		.keeps_states_on_disk = scheme->has_disk,
		.spills_tapes = method->spill && method->budget && !scheme->has_disk,
	};
}

/* The costs of the first steps, of which the reverse sweep calculates something finite. */
static void measure_steps(struct loop *loop, const struct controls *controls, reel_pool *pool,
			  struct reel_costs *costs)
{
	reel_model model = loop_model(loop);
	struct state state = state_create(loop->model->mesh);
	struct loop_adjoint scratch = {.adjoint = adjoint_create(loop->model->mesh),
				       .after = state_create(loop->model->mesh)};
	reel_tape tape;
	int error;

	state_start(loop->model, controls, &state);
	state_start(loop->model, controls, &scratch.after);
	reel_tape_open(&tape, pool, 0);
	error = reel_costs_measure(costs, &tape, &model, loop, &state, &scratch);
	if (error && loop->fields.trouble)
		report_trouble(&loop->fields, &state);
	if (error)
		fail("--checkpoint auto: the first steps cannot be measured: %s%s",
		     reel_error_text(error), budget_remedy(error));
	reel_tape_close(&tape);
	adjoint_destroy(&scratch.adjoint);
	state_destroy(&scratch.after);
	state_destroy(&state);
	loop->known = 0;
}

/* A state has fewer bytes than the tape of a step. */
static void bound(const struct room *room, uint64_t budget, struct reel_costs *costs)
{
	uint64_t besides = SPARE_SLABS * room->slab, need = besides + 2 * room->step;

	if (budget < need)
		fail("--budget: %.1f MB are too little for --checkpoint auto, which needs %.1f MB "
		     "here", (double)budget / 1e6, (double)need / 1e6);
	costs->memory_bytes = budget - besides;
	costs->state_bytes = room->step;
	costs->tape_bytes = room->step;
}

/*
 * The number of steps that are measured depends on the time that they take, and differs between
 * ranks. So each rank measures by itself, without other ranks: a blast in a cube of its part's
 * size.
 */
static void measure_alone(const struct model *model, reel_pool *pool, struct reel_costs *costs)
{
	struct mesh mesh = mesh_cube(model->mesh->size);
	struct controls controls = controls_create(&mesh);
	struct model alone;
	struct loop loop;

	controls_publish(&mesh, &controls);
	alone = model_create(&mesh, &controls);
	loop = loop_open(&alone, &controls, 0);
	measure_steps(&loop, &controls, pool, costs);
	loop_close(&loop);
	model_destroy(&alone);
	controls_destroy(&controls);
	mesh_destroy(&mesh);
}

static struct reel_costs measure(const struct method *method, struct loop *loop,
				 const struct controls *controls, const struct room *room,
				 uint64_t budget)
{
	struct reel_costs costs = {.steps = method->steps};
	reel_pool *pool = pool_open(budget, room->slab, NULL);

	bound(room, budget, &costs);
	if (loop->model->mesh->ranks)
		measure_alone(loop->model, pool, &costs);
	else
		measure_steps(loop, controls, pool, &costs);
	reel_pool_close(pool);
	bound(room, budget, &costs);
	if (method->spill && budget >= SLABS_TO_SPILL * room->slab) {
		costs.tiers = 1;
		disk_measure(method->spill, &costs.tier[0]);
	}
	return costs;
}

static struct layout layout_by_costs(const struct method *method, struct loop *loop,
				     const struct controls *controls)
{
	uint64_t budget = method->budget ? method->budget : default_budget_bytes();
	struct room room = room_of(loop, budget);
	struct reel_costs costs = measure(method, loop, controls, &room, budget);
	struct ranks *ranks = loop->model->mesh->ranks;
	struct reel_choice choice;

	if (ranks ? ranks->world->choose(&costs, &choice) : reel_costs_choose(&costs, &choice))
		fail("--checkpoint auto: %s", choice.reason[0] ? choice.reason
							       : "no memory to choose a plan");
	return (struct layout){
		.planner = choice.best.planner,
		.problem = choice.best.problem,
		.segment = choice.best.segment_steps,
		.budget = budget,
		.slab_bytes = room.slab,
		.keeps_states_on_disk = choice.best.problem.tiers > 1,
		.spills_tapes = choice.best.spills,
	};
}

void layout_require(const struct method *method, const struct loop *loop)
{
	const struct scheme *scheme = method->scheme;
	uint64_t budget = method->budget;
	struct room room = {0};
	struct reel_costs costs;

	if (scheme->has_disk && !method->spill)
		fail("--checkpoint %s keeps states on a disk: choose a directory there with "
		     "--spill", scheme->text);
	if (scheme->automatic) {
		if (!budget)
			budget = default_budget_bytes();
		room = room_of(loop, budget);
		bound(&room, budget, &costs);
	}
	if (method->spill)
		reel_store_close(disk_open(method->spill));
	reel_pool_close(pool_open(budget, room.slab, method->spill));
}

struct layout layout_create(const struct method *method, struct loop *loop,
			    const struct controls *controls)
{
	return method->scheme->automatic ? layout_by_costs(method, loop, controls)
					 : layout_by_scheme(method);
}
