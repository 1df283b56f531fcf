/* SPDX-License-Identifier: MIT */
/* The parts of the choice by cost: predictions, their measurement, and the words of a choice. */
#ifndef REEL_LIB_COSTS_H
#define REEL_LIB_COSTS_H

#include <time.h>

#include <reel/plan.h>

#include "os/assert.h"

/* Maximum number of segments for all planners but the binomial one, which needs no long table. */
#define REEL_MAX_SEGMENTS ((int64_t)2000)

/* Returns the costs with each 0 replaced by its default; memory_bytes 0, no limit, stays 0. */
struct reel_costs reel_costs_filled(const struct reel_costs *costs);

/*
 * Predicts the time and the memory of a plan. The caller sets the planner, tapes, segment_steps and
 * problem of *prediction, and reel_predict() sets the rest. `costs` come from reel_costs_filled().
 * Returns 0; -EINVAL: the planner refuses the problem; -ENOTSUP: more than one tape is asked for,
 * but not the state of each segment is kept, or there are fewer segments than tapes; -ENOMEM.
 */
int reel_predict(const struct reel_costs *costs, struct reel_prediction *prediction);

/*
 * The same for a sweep that records all steps and spills the tapes that memory has no room for.
 * Returns 0; or -ENOSPC: the tiers have no room for them.
 */
int reel_predict_store_all(const struct reel_costs *costs, struct reel_prediction *prediction);

/*
 * costs-memory.c: measures touch_seconds on a new pool like the pool of `tape`. It uses at most a
 * part of `memory_bytes` bytes; 0: no limit. Returns 0 or the error of the first push.
 */
int reel_costs_measure_touch(const reel_tape *tape, uint64_t memory_bytes, double *seconds);

/* Bytes of states and tapes that are stored and loaded, in memory and in slower tiers. */
uint64_t reel_bytes_moved(const struct reel_prediction *prediction);

/* Writes to choice->reason the cost of the runner-up, or that there is none. */
void reel_choice_explain(struct reel_choice *choice);
/* Writes to choice->reason that no plan fits, and that at least `least` bytes are needed. */
void reel_choice_refuse(const struct reel_costs *costs, uint64_t least,
			struct reel_choice *choice);

static inline uint64_t reel_bytes_of(int64_t count, uint64_t each)
{
	uint64_t bytes;

	return __builtin_mul_overflow((uint64_t)count, each, &bytes) ? UINT64_MAX : bytes;
}

static inline int64_t reel_segment_count(int64_t steps, int64_t segment_steps)
{
	return steps / segment_steps + (steps % segment_steps != 0);
}

/* Number of buffers of a slower tier: one state is written while one is read. */
#define TRANSFER_BUFFERS 2

#endif
