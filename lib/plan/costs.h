/* SPDX-License-Identifier: MIT */
/* What the choice by cost is made of: predictions, and words for them. */
#ifndef REEL_LIB_COSTS_H
#define REEL_LIB_COSTS_H

#include <time.h>

#include <reel/plan.h>

/* All planners but the binomial one need tables or walks, and are tried with no more segments. */
#define REEL_MAX_SEGMENTS ((int64_t)2000)

/* The same costs with what 0 stands for; memory without limit stays 0. */
struct reel_costs reel_costs_filled(const struct reel_costs *costs);

/*
 * What a way takes whose planner, tapes, segment_steps and problem are set: the rest is
 * filled in. `costs` are filled ones. 0; -EINVAL if the planner refuses the problem;
 * -ENOTSUP if more tapes than one are asked for and not each segment's state is kept, or there
 * are fewer segments; -ENOMEM.
 */
int reel_predict(const struct reel_costs *costs, struct reel_prediction *prediction);

/* The same for all tapes, spilled by what memory has no room for; -ENOSPC. */
int reel_predict_store_all(const struct reel_costs *costs, struct reel_prediction *prediction);

/*
 * costs-memory.c: touch_seconds of a pool like the tape's, with a part of so much memory, 0: any.
 * 0, or the error of the first push.
 */
int reel_costs_measure_touch(const reel_tape *tape, uint64_t memory_bytes, double *seconds);

/* Why the runner-up lost, or that there is none, to choice->reason. */
void reel_choice_explain(const struct reel_costs *costs, struct reel_choice *choice);
/* That nothing fits, where `least` bytes would do. */
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

/* Buffers of a state that a slower tier has, one for writing and one for reading. */
#define TRANSFER_BUFFERS 2

#endif
