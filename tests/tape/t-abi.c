/* SPDX-License-Identifier: MIT */
/*
 * Tests the layouts that are compiled into programs, by inline code and public structs. A change
 * here changes the library's -version-info.
 */
#include <config.h>

#include <reel.h>
#include <reel/adjoint.h>
#include <reel/arena.h>
#include <reel/gpu.h>
#include <reel/observe.h>
#include <reel/reduction.h>
#include <reel/task.h>
#include <reel/extend.h>
#include <reel/parcel.h>
#include <reel/plan.h>

#include "tap/tap.h"

#define MEMBER(type, member, at)                                                                   \
	{                                                                                          \
		#type "." #member, offsetof(type, member), at                                      \
	}

static const struct {
	const char *name;
	size_t seen;
	size_t wanted;
} layout[] = {
	{"reel_tape", sizeof(reel_tape), 256},
	MEMBER(reel_tape, top, 0),
	MEMBER(reel_tape, ceiling, 8),
	MEMBER(reel_tape, floor, 16),
	MEMBER(reel_tape, bits, 24),
	MEMBER(reel_tape, bit_count, 32),
	MEMBER(reel_tape, error, 36),
	MEMBER(reel_tape, slab, 40),
	MEMBER(reel_tape, pool, 48),
	MEMBER(reel_tape, ledger, 56),
	MEMBER(reel_tape, first, 64),
	MEMBER(reel_tape, spare, 192),
	{"struct reel_device_arena", sizeof(struct reel_device_arena), 16},
	{"struct reel_arena_options", sizeof(struct reel_arena_options), 56},
	{"struct reel_arena_report", sizeof(struct reel_arena_report), 80},
	{"struct reel_arena_stats", sizeof(struct reel_arena_stats), 128},
	{"struct reel_arena_header", sizeof(struct reel_arena_header), 72},
	MEMBER(struct reel_arena_header, given, 0),
	MEMBER(struct reel_arena_header, queue, 8),
	MEMBER(struct reel_arena_header, word_bytes, 32),
	MEMBER(struct reel_arena_header, warps_offset, 48),
	{"struct reel_arena_warp", sizeof(struct reel_arena_warp), 16},
	{"struct reel_arena_saved", sizeof(struct reel_arena_saved), 384},
	{"struct reel_arena_slab", sizeof(struct reel_arena_slab), 16},
	MEMBER(struct reel_arena_slab, queued, 12),
	{"reel_type", sizeof(reel_type), 32},
	{"reel_cursor", sizeof(reel_cursor), 16},
	{"reel_mark", sizeof(reel_mark), 112},
	{"reel_window", sizeof(reel_window), 24},
	{"struct reel_pool_options", sizeof(struct reel_pool_options), 72},
	{"struct reel_pool_stats", sizeof(struct reel_pool_stats), 200},
	{"reel_model", sizeof(reel_model), 48},
	{"struct reel_problem", sizeof(struct reel_problem), 176},
	{"reel_action", sizeof(reel_action), 40},
	{"struct reel_schedule_report", sizeof(struct reel_schedule_report), 192},
	{"struct reel_run_options", sizeof(struct reel_run_options), 168},
	{"struct reel_run_stats", sizeof(struct reel_run_stats), 216},
	{"struct reel_store_capacity", sizeof(struct reel_store_capacity), 48},
	{"struct reel_store_verbs", sizeof(struct reel_store_verbs), 72},
	{"struct reel_gpu_device", sizeof(struct reel_gpu_device), 152},
	{"struct reel_gpu_store_options", sizeof(struct reel_gpu_store_options), 56},
	{"struct reel_gpu_stats", sizeof(struct reel_gpu_stats), 288},
	{"struct reel_cost_tier", sizeof(struct reel_cost_tier), 48},
	{"struct reel_costs", sizeof(struct reel_costs), 248},
	{"struct reel_prediction", sizeof(struct reel_prediction), 320},
	{"struct reel_choice", sizeof(struct reel_choice), 928},
	{"reel_worker", sizeof(reel_worker), 48},
	{"reel_chunking", sizeof(reel_chunking), 16},
	{"reel_loop", sizeof(reel_loop), 96},
	{"reel_ordered", sizeof(reel_ordered), 16},
	{"reel_reducer", sizeof(reel_reducer), 40},
	{"reel_dependence", sizeof(reel_dependence), 16},
	{"reel_adjoint_view", sizeof(reel_adjoint_view), 40},
	MEMBER(reel_adjoint_view, copy, 0),
	MEMBER(reel_adjoint_view, touched, 8),
	MEMBER(reel_adjoint_view, adjoint, 16),
	MEMBER(reel_adjoint_view, shift, 24),
	MEMBER(reel_adjoint_view, policy, 28),
	MEMBER(reel_adjoint_view, lane, 32),
	{"reel_adjoint_view_float", sizeof(reel_adjoint_view_float), 40},
	{"struct reel_adjoint_options", sizeof(struct reel_adjoint_options), 56},
	{"struct reel_adjoint_stats", sizeof(struct reel_adjoint_stats), 96},
	{"struct reel_adjoint_conflict", sizeof(struct reel_adjoint_conflict), 24},
	{"reel_event", sizeof(reel_event), 64},
	{"struct reel_part", sizeof(struct reel_part), 16},
	{"struct reel_parcel_options", sizeof(struct reel_parcel_options), 32},
	{"struct reel_parcel_stats", sizeof(struct reel_parcel_stats), 96},
	MEMBER(reel_action, first, 8),
	MEMBER(reel_action, last, 16),
	MEMBER(reel_action, tier, 24),
	MEMBER(reel_action, slot, 28),
	MEMBER(reel_action, last_use, 32),
	/* Values that bindings contain as numbers. */
	{"REEL_ACTION_ADVANCE", REEL_ACTION_ADVANCE, 0},
	{"REEL_ACTION_RECORD", REEL_ACTION_RECORD, 1},
	{"REEL_ACTION_REVERSE", REEL_ACTION_REVERSE, 2},
	{"REEL_ACTION_STORE", REEL_ACTION_STORE, 3},
	{"REEL_ACTION_LOAD", REEL_ACTION_LOAD, 4},
	{"REEL_ACTION_DROP", REEL_ACTION_DROP, 5},
	{"REEL_ACTION_DONE", REEL_ACTION_DONE, 6},
	{"REEL_STORE_ALL", REEL_STORE_ALL, 0},
	{"REEL_BINOMIAL", REEL_BINOMIAL, 1},
	{"REEL_MIXED", REEL_MIXED, 2},
	{"REEL_MULTISTAGE", REEL_MULTISTAGE, 3},
	{"REEL_TWO_LEVEL", REEL_TWO_LEVEL, 4},
	{"REEL_HIERARCHICAL", REEL_HIERARCHICAL, 5},
	{"REEL_DISK_REVOLVE", REEL_DISK_REVOLVE, 6},
	{"REEL_PERIODIC", REEL_PERIODIC, 7},
	{"REEL_ONLINE", REEL_ONLINE, 8},
	{"REEL_MAX_TIERS", REEL_MAX_TIERS, 4},
	{"REEL_RUN_AUDIT", REEL_RUN_AUDIT, 1},
	{"REEL_REVERSE_AT_ONCE", REEL_REVERSE_AT_ONCE, 1},
	{"REEL_POOL_CHECKED", REEL_POOL_CHECKED, 1},
	{"REEL_POOL_SMALL_PAGES", REEL_POOL_SMALL_PAGES, 2},
	{"REEL_POOL_OBEY_LIMITS", REEL_POOL_OBEY_LIMITS, 4},
	{"REEL_POOL_HUGE_PAGES", REEL_POOL_HUGE_PAGES, 8},
	{"-REEL_UNKNOWN_STEPS", (size_t)-REEL_UNKNOWN_STEPS, 1},
};

int main(void)
{
	tap_begin();
	if (sizeof(void *) != 8)
		tap_skip_all("the layout is that of 64-bit addresses");
	for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
		is_int(layout[i].seen, layout[i].wanted, "%s", layout[i].name);
	return tap_end();
}
