/* SPDX-License-Identifier: MIT */
#include "layout.h"

#include <math.h>

#include <reel.h>

#include "common/numbers.h"
#include "common/report.h"
#include "step.h"

#define LARGEST_SLAB ((uint64_t)2 << 20)
#define SMALLEST_SLAB ((uint64_t)64 << 10)
#define SLABS_IN_BUDGET 32
#define PAGE 4096
/* A pool keeps some slabs besides those that are full: the one left last, and a frame cut up. */
#define SPARE_SLABS 3
/* Besides a state and a tape a plan that learns needs room for the slab that the tape left last. */
#define UNUSED_SLABS 1
/* A planner with a table takes its time for more. */
#define MAX_TABLE_SEGMENTS 1000

static int64_t divide_up(int64_t number, int64_t by)
{
	return (number + by - 1) / by;
}

struct tape_shape tape_shape(const struct grid *grid, uint64_t budget)
{
	uint64_t row = row_values(grid) * sizeof(double), slab = LARGEST_SLAB, chunk;
	struct tape_shape shape = {.state_bytes = (uint64_t)grid->rows * row};
	int64_t rows = grid->rows;

	if (budget && budget / SLABS_IN_BUDGET < slab)
		slab = budget / SLABS_IN_BUDGET;
	if (slab < SMALLEST_SLAB)
		slab = SMALLEST_SLAB;
	shape.chunks = divide_up(rows, slab > row ? (int64_t)(slab / row) : 1);
	shape.chunk_rows = (int)divide_up(rows, shape.chunks);
	shape.chunks = divide_up(rows, shape.chunk_rows);
	chunk = (uint64_t)shape.chunk_rows * row;
	shape.chunks_in_slab = slab > chunk ? (int64_t)(slab / chunk) : 1;
	shape.slab_bytes = round_up((uint64_t)shape.chunks_in_slab * chunk, PAGE);
	shape.kept_bytes = round_up(shape.state_bytes, PAGE);
	return shape;
}

static uint64_t tape_memory(const struct tape_shape *shape, int64_t steps)
{
	int64_t slabs = divide_up(steps * shape->chunks, shape->chunks_in_slab) + SPARE_SLABS;

	return (uint64_t)slabs * shape->slab_bytes;
}

static int64_t tape_steps_in(const struct tape_shape *shape, uint64_t bytes)
{
	int64_t slabs = (int64_t)(bytes / shape->slab_bytes) - SPARE_SLABS;

	return slabs > 0 ? slabs * shape->chunks_in_slab / shape->chunks : 0;
}

static int has_table(enum reel_planner planner)
{
	return planner == REEL_MIXED || planner == REEL_HIERARCHICAL ||
	       planner == REEL_DISK_REVOLVE;
}

static int64_t states_besides(const struct layout *layout)
{
	return layout->has_disk || layout->planner == REEL_MIXED ? MOVING_STATES : 0;
}

static int64_t states_in_memory(const struct layout *layout)
{
	return layout->problem.tier[0].slots + states_besides(layout);
}

static int64_t fitting_segment(const struct layout *layout, uint64_t budget)
{
	uint64_t states = (uint64_t)states_in_memory(layout) * layout->shape.kept_bytes;
	int64_t segment = budget > states ? tape_steps_in(&layout->shape, budget - states) : 0;

	return segment > 0 ? segment : 1;
}

int layout_learns(const struct layout *layout)
{
	return layout->planner == REEL_AUTO;
}

static int64_t choose_segment(const struct layout *layout, uint64_t budget)
{
	int64_t segment = layout->problem.tier[0].slots;

	if (layout->planner == REEL_STORE_ALL || layout_learns(layout))
		return 1;
	if (layout->planner == REEL_MIXED)
		return layout->problem.tape_states;
	if (budget)
		segment = fitting_segment(layout, budget);
	else if (has_table(layout->planner) && segment * MAX_TABLE_SEGMENTS < layout->steps)
		segment = divide_up(layout->steps, MAX_TABLE_SEGMENTS);
	return segment < layout->steps ? segment : layout->steps;
}

struct layout layout_create(const struct scheme *scheme, const struct tape_shape *shape,
			    int64_t steps, int64_t segment, uint64_t budget)
{
	struct layout layout = {.shape = *shape, .planner = scheme->planner, .steps = steps,
				.problem = scheme_problem(scheme, steps),
				.has_disk = scheme->has_disk};
	struct reel_problem *problem = &layout.problem;

	if (layout.planner == REEL_MIXED && !problem->tape_states)
		problem->tape_states = 1;
	layout.segment = segment ? segment : choose_segment(&layout, budget);
	if (layout.segment > steps)
		fail("--segment %lld: there are only %lld steps", (long long)layout.segment,
		     (long long)steps);
	if (layout.planner == REEL_MIXED && layout.segment != problem->tape_states)
		fail("--segment %lld: the tape of a step is as large as a state, so that with "
		     "--checkpoint %s a segment has %lld steps; leave --segment out",
		     (long long)layout.segment, scheme->text, (long long)problem->tape_states);
	layout.segments = divide_up(steps, layout.segment);
	if (problem->steps != REEL_UNKNOWN_STEPS)
		problem->steps = layout.segments;
	return layout;
}

/* The model's step at which a segment begins. */
static int64_t step_of(const struct layout *layout, int64_t segment)
{
	int64_t step = segment * layout->segment;

	return step < layout->steps ? step : layout->steps;
}

static int64_t steps_of(const struct layout *layout, const reel_action *action)
{
	return step_of(layout, action->last) - step_of(layout, action->first);
}

static reel_schedule *open_schedule(const reel_plan *plan)
{
	reel_schedule *schedule;

	if (reel_schedule_open(&schedule, plan))
		fail("%s", reel_error_text(0));
	return schedule;
}

/* The next action, where the end is not known before the loop meets it. */
static void next_action(const struct layout *layout, reel_schedule *schedule, reel_action *action)
{
	if (reel_schedule_next(schedule, action) && action->last >= layout->segments) {
		action->last = layout->segments;
		reel_schedule_end(schedule, layout->segments, layout->segments);
	}
}

/* The contents of memory at a time. */
struct content {
	int64_t states, steps;
	double bytes;
};

static void carry_out(const struct layout *layout, const reel_action *action,
		      struct content *content)
{
	if (action->kind == REEL_ACTION_STORE && action->tier == 0)
		content->states++;
	if (action->kind == REEL_ACTION_DROP && action->tier == 0)
		content->states--;
	if (action->kind == REEL_ACTION_RECORD)
		content->steps += steps_of(layout, action);
	if (action->kind == REEL_ACTION_REVERSE)
		content->steps -= steps_of(layout, action);
	content->bytes = (double)content->states * (double)layout->shape.kept_bytes +
			 (double)tape_memory(&layout->shape, content->steps);
}

/* States give way to tapes in the course of some plans: when both take the most together. */
static struct content largest_content(const struct layout *layout, const reel_plan *plan)
{
	struct content now = {.states = states_besides(layout)}, largest = now;
	reel_schedule *schedule = open_schedule(plan);
	reel_action action;

	do {
		next_action(layout, schedule, &action);
		carry_out(layout, &action, &now);
		if (now.bytes > largest.bytes)
			largest = now;
	} while (action.kind != REEL_ACTION_DONE);
	reel_schedule_close(schedule);
	return largest;
}

/* A plan that learns fills the memory that it has. Returns the least that it needs. */
static struct content least_content(const struct layout *layout)
{
	struct content content = {0};

	carry_out(layout, &(reel_action){.kind = REEL_ACTION_STORE}, &content);
	carry_out(layout, &(reel_action){.kind = REEL_ACTION_RECORD, .last = 1}, &content);
	content.bytes += (double)(UNUSED_SLABS * layout->shape.slab_bytes);
	return content;
}

static const char *memory_remedy(const struct layout *layout)
{
	if (layout->planner == REEL_STORE_ALL)
		return "--spill with a --budget, or a planner that keeps states";
	return layout_learns(layout) ? "a shorter --segment or a coarser --resolution"
				     : "fewer states or a shorter --segment";
}

static void check_memory(const struct layout *layout, const reel_plan *plan, uint64_t budget)
{
	double limit = budget ? (double)budget : memory_limit_bytes();
	struct reel_schedule_report report;
	struct content most;
	int spills;

	if (reel_plan_check(plan, NULL, layout->segments, &report))
		fail("the plan cannot be carried out: %s",
		     report.wrong ? report.wrong : "no memory");
	most = layout_learns(layout) ? least_content(layout) : largest_content(layout, plan);
	spills = layout->spills && !layout_learns(layout) &&
		 budget >= SLABS_TO_SPILL * layout->shape.slab_bytes;
	if (most.bytes <= limit || spills)
		return;
	fail("%s of %.1f MB is too small: states in memory (%lld) and tape (of %lld step%s) need "
	     "%.1f MB; choose %s%s", budget ? "--budget" : "the machine's memory", limit / 1e6,
	     (long long)most.states, (long long)most.steps, most.steps == 1 ? "" : "s",
	     ceil(most.bytes / 1e5) / 10.0, budget ? "a larger --budget, " : "",
	     memory_remedy(layout));
}

reel_plan *layout_open_plan(const struct layout *layout, uint64_t budget)
{
	reel_plan *plan;
	int error = reel_plan_open(&plan, layout->planner, &layout->problem);

	if (error)
		fail("--checkpoint %s with %lld segments of %lld steps: %s; choose another "
		     "--segment",
		     reel_planner_name(layout->planner), (long long)layout->segments,
		     (long long)layout->segment, reel_error_text(error));
	check_memory(layout, plan, budget);
	return plan;
}

static void count_action(const struct layout *layout, const reel_action *action,
			 struct counts *counts)
{
	int64_t steps = steps_of(layout, action);

	switch (action->kind) {
	case REEL_ACTION_ADVANCE: counts->advanced += steps; break;
	case REEL_ACTION_RECORD: counts->recorded += steps; break;
	case REEL_ACTION_REVERSE: counts->reversed += steps; break;
	case REEL_ACTION_STORE: counts->stores[action->tier]++; break;
	case REEL_ACTION_LOAD: counts->loads[action->tier]++; break;
	case REEL_ACTION_DROP: break;
	case REEL_ACTION_FORGET: break;
	case REEL_ACTION_DONE: break;
	}
}

struct counts layout_count(const struct layout *layout, const reel_plan *plan)
{
	struct counts counts = {0};
	reel_schedule *schedule = open_schedule(plan);
	reel_action action;

	do {
		next_action(layout, schedule, &action);
		count_action(layout, &action, &counts);
	} while (action.kind != REEL_ACTION_DONE);
	reel_schedule_close(schedule);
	return counts;
}
