/* SPDX-License-Identifier: MIT */
#include "layout.h"

#include <reel.h>

#include "common/disk.h"
#include "common/numbers.h"
#include "common/report.h"

/* The hierarchical planners and REEL_MIXED have tables of that many rows. */
#define MAX_SEGMENTS 500
/* Slabs are whole pages; where steps are small, this part of the budget between these bounds. */
#define PAGE_BYTES ((uint64_t)4096)
#define SLABS_IN_BUDGET 32
#define SMALLEST_SLAB ((uint64_t)64 << 10)
#define LARGEST_SLAB ((uint64_t)2 << 20)
/* A plan that learns leaves three slabs free: tapes and states end within one. */
#define MIN_SLABS 6

/* Returns the bytes of a slab that whole steps fill, so that little of it is unused. */
static uint64_t slab_of_whole_steps(const struct loop *loop, uint64_t budget)
{
	uint64_t step = loop_step_bytes(loop->model->mesh), bytes = budget / SLABS_IN_BUDGET;

	if (bytes < SMALLEST_SLAB)
		bytes = SMALLEST_SLAB;
	if (bytes > LARGEST_SLAB)
		bytes = LARGEST_SLAB;
	return round_up(bytes < step ? step : bytes / step * step, PAGE_BYTES);
}

static void require_room(uint64_t budget, uint64_t slab)
{
	if (budget < MIN_SLABS * slab)
		fail("--budget: %.1f MB are too little for --checkpoint auto, which needs %.1f MB "
		     "here", (double)budget / 1e6, (double)(MIN_SLABS * slab) / 1e6);
}

static uint64_t budget_of(const struct method *method)
{
	bool learns = method->scheme->planner == REEL_AUTO;

	return learns && !method->budget ? default_budget_bytes() : method->budget;
}

/* Returns the bytes of a slab; 0: as the pool has them by default. */
static uint64_t slab_bytes(const struct method *method, const struct loop *loop)
{
	return method->scheme->planner == REEL_AUTO ? slab_of_whole_steps(loop, budget_of(method))
						    : 0;
}

void layout_require(const struct method *method, const struct loop *loop)
{
	const struct scheme *scheme = method->scheme;

	if (scheme->has_disk && !method->spill)
		fail("--checkpoint %s keeps states on a disk: choose a directory there with "
		     "--spill", scheme->text);
	if (scheme->planner == REEL_AUTO)
		require_room(budget_of(method), slab_bytes(method, loop));
	if (method->spill)
		reel_store_close(disk_open(method->spill));
	reel_pool_close(pool_open(budget_of(method), slab_bytes(method, loop), method->spill));
}

struct layout layout_create(const struct method *method, const struct loop *loop)
{
	const struct scheme *scheme = method->scheme;
	int64_t segment = scheme->planner == REEL_AUTO ? 1 : 1 + method->steps / MAX_SEGMENTS;
	uint64_t budget = budget_of(method);

	return (struct layout){
		.planner = scheme->planner,
		.problem = scheme_problem(scheme, (method->steps + segment - 1) / segment),
		.segment = segment,
		.budget = budget,
		.slab_bytes = slab_bytes(method, loop),
		.keeps_states_on_disk = scheme->has_disk,
		.spills_tapes = method->spill && budget && !scheme->has_disk,
	};
}
