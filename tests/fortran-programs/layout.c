/* SPDX-License-Identifier: MIT */
/* The C part of layout.f90: sizes, constants, and structs with known members. */
#include <reel.h>
#include <reel/adjoint.h>
#include <reel/plan.h>
#include <reel/task.h>

static const size_t sizes[] = {
	sizeof(reel_tape),
	sizeof(reel_mark),
	sizeof(struct reel_pool_options),
	sizeof(struct reel_problem),
	sizeof(struct reel_run_options),
	sizeof(struct reel_run_stats),
	sizeof(reel_model),
	sizeof(struct reel_pool_stats),
	sizeof(reel_action),
	sizeof(struct reel_costs),
	sizeof(struct reel_choice),
	sizeof(struct reel_adjoint_options),
	sizeof(reel_chunking),
	sizeof(reel_dependence),
	sizeof(struct reel_ordered),
	sizeof(reel_worker),
	sizeof(struct reel_field),
	sizeof(struct reel_loss),
	sizeof(struct reel_accuracy_report),
};

size_t bytes_of(int number)
{
	return sizes[number];
}

static const int constants[] = {
	REEL_CHECKED,        REEL_POOL_CHECKED,  REEL_POOL_SMALL_PAGES,
	REEL_RUN_AUDIT,      REEL_STORE_ALL,     REEL_BINOMIAL,
	REEL_MIXED,          REEL_MULTISTAGE,    REEL_TWO_LEVEL,
	REEL_HIERARCHICAL,   REEL_DISK_REVOLVE,  REEL_PERIODIC,
	REEL_ONLINE,         REEL_UNKNOWN_STEPS, REEL_MAX_TIERS,
	REEL_ACTION_ADVANCE, REEL_ACTION_RECORD, REEL_ACTION_REVERSE,
	REEL_ACTION_STORE,   REEL_ACTION_LOAD,   REEL_ACTION_DROP,
	REEL_ACTION_DONE,    REEL_POOL_OBEY_LIMITS, REEL_POOL_HUGE_PAGES,
};

int constant(int number)
{
	return constants[number];
}

#define POINTER(number) ((void *)(uintptr_t)(number))

void fill_pool_options(struct reel_pool_options *options)
{
	*options = (struct reel_pool_options){1, 2, 3, 4, 5, 6, POINTER(7), "name", {8}};
}

void fill_problem(struct reel_problem *problem)
{
	*problem = (struct reel_problem){1, 2, 3, 4, 5, 6, 7, 23,
					 {{8, 9, 10}, {11, 12, 13}, {14, 15, 16}, {17, 18, 19}},
					 {20, 21, 22}};
}

void fill_options(struct reel_run_options *options)
{
	*options = (struct reel_run_options){
		.pool = POINTER(1),
		.store = {POINTER(2), POINTER(3), POINTER(4), POINTER(5)},
		.segment_steps = 6,
		.steps = 7,
		.finished = (bool (*)(void *, const void *, int64_t))(uintptr_t)8,
		.puts = 9,
		.gets = 10,
		.flags = 11,
		.restart = POINTER(12),
		.restart_seconds = 13,
		.adjoint_bytes = 14,
		.save_adjoint = (int (*)(void *, const void *, void *))(uintptr_t)15,
		.load_adjoint = (int (*)(void *, void *, const void *))(uintptr_t)16,
		.state_part = POINTER(17),
		.adjoint_part = POINTER(18),
		.state_parts = 19,
		.adjoint_parts = 20,
		.packed_bytes = (size_t (*)(void *, const void *))(uintptr_t)21,
		.progress = (void (*)(void *, const struct reel_progress *))(uintptr_t)22,
		.loss = POINTER(23)};
}

/* Each member of the statistics has 8 bytes. */
static void fill_words(void *stats, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)stats)[i] = i + 1;
}

void fill_stats(struct reel_run_stats *stats)
{
	fill_words(stats, sizeof *stats);
}

void fill_pool_stats(struct reel_pool_stats *stats)
{
	fill_words(stats, sizeof *stats);
}

void fill_action(reel_action *action)
{
	*action = (reel_action){REEL_ACTION_LOAD, 1, 2, 3, 5, true};
}

void fill_costs(struct reel_costs *costs)
{
	*costs = (struct reel_costs){1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
				     {{11, 12, 13, 14, {0}}, {15, 16, 17, 18, {0}},
				      {19, 20, 21, 22, {23, 24}}}, 25, {26, 27, 28}};
}

void fill_choice(struct reel_choice *choice)
{
	*choice = (struct reel_choice){
		.best = {.planner = REEL_PERIODIC, .tapes = 1, .spills = true, .segment_steps = 2,
			 .problem = {.steps = 3}, .makespan = 4, .peak_memory_bytes = 5,
			 .written_bytes = {6, 7, 8, 9}, .read_bytes = {10, 11, 12, 13},
			 .advances = 14, .reserved = {0, 0, 0, 15}},
		.runner_up = {.tapes = 16},
		.reason = "because",
		.reserved = {0, 0, 0, 17}};
}

void fill_layout(struct reel_layout *layout)
{
	*layout = (struct reel_layout){1, 2};
}
