/* SPDX-License-Identifier: MIT */
/*
 * The parts of a run that all of its other files stand on: its phase, its place in the plan, its
 * counters, and copies of the model's state. Nothing here carries an action out.
 */
#include "config.h"

#include "run.h"

#include <errno.h>
#include <string.h>

#include "plan/plan.h"

/* Maximum number of actions that reel_run_walk_plan() takes. */
#define MAX_WALKED 5000000

/* ---- The phase ---- */

#define TO(phase) (1u << REEL_RUN_##phase)

/* The table of run.h: the phases that may follow each phase. */
static const uint8_t next_phases[REEL_RUN_PHASES] = {
	[REEL_RUN_IDLE] = TO(IDLE) | TO(RESUMED) | TO(FORWARD) | TO(REVERSE),
	[REEL_RUN_RESUMED] = TO(IDLE) | TO(FORWARD),
	[REEL_RUN_FORWARD] = TO(IDLE) | TO(FORWARD) | TO(REVERSE),
	[REEL_RUN_REVERSE] = TO(IDLE) | TO(FORWARD),
};

void reel_run_enter(reel_run *run, enum reel_run_phase phase)
{
	REEL_ASSERT(next_phases[run->phase] >> phase & 1);
	REEL_ASSERT(phase != REEL_RUN_REVERSE || run->schedule->steps != REEL_UNKNOWN_STEPS);
	run->phase = phase;
}

bool reel_run_is_reversing(const reel_run *run)
{
	return run->phase == REEL_RUN_REVERSE;
}

/* ---- The place in the plan ---- */

int64_t reel_run_step_of(const reel_run *run, int64_t segment)
{
	int64_t step = segment > REEL_MAX_STEPS / run->options.segment_steps ?
			       REEL_MAX_STEPS + 1 : segment * run->options.segment_steps;

	REEL_ASSERT(run->options.segment_steps > 0);
	return run->steps != REEL_UNKNOWN_STEPS && step > run->steps ? run->steps : step;
}

reel_action reel_run_piece_of(const reel_run *run, const reel_action *action)
{
	reel_action piece = {.kind = action->kind,
			     .first = reel_run_step_of(run, action->first),
			     .last = reel_run_step_of(run, action->last)};

	REEL_ASSERT(action->kind >= REEL_PIECE_KINDS || piece.first <= piece.last);
	return piece;
}

int64_t reel_run_steps_at_first(const reel_run *run)
{
	if (run->options.steps || run->plan->problem.steps == REEL_UNKNOWN_STEPS)
		return run->options.steps ? run->options.steps : REEL_UNKNOWN_STEPS;
	REEL_ASSERT(run->plan->problem.steps <= REEL_MAX_STEPS / run->options.segment_steps);
	return run->plan->problem.steps * run->options.segment_steps;
}

bool reel_run_turns_after(const reel_run *run, const reel_action *action)
{
	return action->kind == REEL_ACTION_RECORD && action->last == run->schedule->steps;
}

int reel_run_meet_end(reel_run *run, int64_t step)
{
	int64_t segments = (step + run->options.segment_steps - 1) / run->options.segment_steps;

	REEL_ASSERT(step >= 0 && run->steps == REEL_UNKNOWN_STEPS);
	if (reel_schedule_end(run->schedule, segments, segments))
		return -ERANGE;
	REEL_ASSERT(run->schedule->steps == segments);
	run->steps = step;
	return 0;
}

bool reel_run_walk_plan(const reel_run *run,
			void (*visit)(void *context, const reel_action *action), void *context)
{
	reel_action action = {.kind = REEL_ACTION_ADVANCE};
	reel_schedule *later = NULL;

	REEL_ASSERT(run->schedule->plan == run->plan);
	if (reel_schedule_open(&later, run->plan))
		return false;
	if (!reel_schedule_copy(later, run->schedule))
		for (int64_t i = 0; i < MAX_WALKED && action.kind != REEL_ACTION_DONE &&
				    !reel_schedule_next(later, &action); i++)
			visit(context, &action);
	reel_schedule_close(later);
	return action.kind == REEL_ACTION_DONE;
}

/* ---- Counts ---- */

struct reel_run_counts reel_run_get_counts(const reel_run *run)
{
	struct reel_run_counts counts;

	/* Relaxed is enough, for all: counters, which order nothing. */
	for (unsigned i = 0; i < REEL_RUN_COUNTS; i++)
		counts.of[i] = atomic_load_explicit(&run->counts[i], memory_order_relaxed);
	return counts;
}

void reel_run_set_counts(reel_run *run, const struct reel_run_counts *counts)
{
	/* Relaxed, all: no other thread carries actions out now. */
	for (unsigned i = 0; i < REEL_RUN_COUNTS; i++)
		atomic_store_explicit(&run->counts[i], counts->of[i], memory_order_relaxed);
}

/* ---- Copies of the state ---- */

/* Copies all parts to the snapshot, or from it. */
static void copy_parts(const struct reel_run_options *options, char *snapshot, bool saves)
{
	REEL_ASSERT(options->state_part);
	for (unsigned i = 0; i < options->state_parts; i++) {
		const struct reel_part *part = &options->state_part[i];

		if (part->bytes)
			memcpy(saves ? snapshot : part->data, saves ? part->data : snapshot,
			       part->bytes);
		snapshot += part->bytes;
	}
}

int reel_run_save_state(const reel_run *run, void *context, const void *state, void *snapshot)
{
	REEL_ASSERT(!run->model.save == !run->model.load);
	if (run->model.save)
		return run->model.save(context, state, snapshot);
	if (run->options.state_parts)
		copy_parts(&run->options, snapshot, true);
	else
		memcpy(snapshot, state, run->model.state_bytes);
	return 0;
}

int reel_run_load_state(const reel_run *run, void *context, void *state,
			const void *snapshot)
{
	REEL_ASSERT(!run->model.save == !run->model.load);
	if (run->model.load)
		return run->model.load(context, state, snapshot);
	if (run->options.state_parts)
		copy_parts(&run->options, (char *)(uintptr_t)snapshot, false);
	else
		memcpy(state, snapshot, run->model.state_bytes);
	return 0;
}

/* ---- Queries ---- */

int64_t reel_run_steps(const reel_run *run)
{
	return run->steps;
}

const struct reel_run_group *reel_run_group(const reel_run *run)
{
	return &run->group;
}

const reel_model *reel_run_model(const reel_run *run)
{
	return &run->model;
}

reel_pool *reel_run_pool(const reel_run *run)
{
	return run->options.pool;
}

unsigned reel_run_flags(const reel_run *run)
{
	return run->options.flags;
}

reel_tape *reel_run_tape(reel_run *run)
{
	return &run->tape;
}

void reel_run_get_stats(reel_run *run, struct reel_run_stats *stats)
{
	struct reel_run_counts counts = reel_run_get_counts(run);

	*stats = (struct reel_run_stats){
		.advanced = (int64_t)counts.of[REEL_ACTION_ADVANCE],
		.recorded = (int64_t)counts.of[REEL_ACTION_RECORD],
		.reversed = (int64_t)counts.of[REEL_ACTION_REVERSE],
		/* Relaxed, all: counters, which order nothing. */
		.peak_tape_bytes =
			atomic_load_explicit(&run->peak_tape_bytes, memory_order_relaxed),
		.advance_ns = atomic_load_explicit(&run->ns[REEL_ACTION_ADVANCE],
						   memory_order_relaxed),
		.record_ns = atomic_load_explicit(&run->ns[REEL_ACTION_RECORD],
						  memory_order_relaxed),
		.reverse_ns = atomic_load_explicit(&run->ns[REEL_ACTION_REVERSE],
						   memory_order_relaxed),
		.unlike_step = run->unlike_step,
		.saves = run->saves,
		.failed_saves = run->failed_saves,
		.rounded_bytes = atomic_load_explicit(&run->rounded_bytes, memory_order_relaxed),
		.kept_bytes = atomic_load_explicit(&run->kept_bytes, memory_order_relaxed),
	};
	memcpy(stats->stores, &counts.of[REEL_RUN_STORES], sizeof stats->stores);
	memcpy(stats->loads, &counts.of[REEL_RUN_LOADS], sizeof stats->loads);
	reel_snapshots_get_stats(&run->snapshots, stats);
}
