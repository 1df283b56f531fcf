/* SPDX-License-Identifier: MIT */
/*
 * What a loop costs, and by that how to reverse it: keep all tapes, spill them, or keep
 * states and run steps again.
 *
 *	struct reel_costs costs = {.steps = 100000, .memory_bytes = (uint64_t)1 << 30,
 *				   .tiers = 1, .tier = {{.write_bandwidth = 1e9,
 *							 .read_bandwidth = 1e9}}};
 *	struct reel_choice choice;
 *
 *	error = reel_costs_measure(&costs, &tape, &model, context, state, scratch);
 *	if (!error)
 *		error = reel_costs_choose(&costs, &choice);
 *	puts(choice.reason);
 *	if (!error)
 *		error = reel_plan_open(&plan, choice.best.planner, &choice.best.problem);
 *
 * The plan's steps are segments of the loop, choice.best.segment_steps steps each, the
 * last one shorter; a segment is recorded on one tape.
 *
 * Threads. Nothing is kept between calls: any thread, any number at once.
 */
#ifndef REEL_COSTS_H
#define REEL_COSTS_H

#include <reel/block.h>
#include <reel/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory slower than the first tier, which is memory itself. */
struct reel_cost_tier {
	uint64_t bytes;          /* 0: no limit */
	double write_bandwidth;  /* bytes a second; 0: writing takes no time */
	double read_bandwidth;   /* the same */
	double latency;          /* seconds that a transfer takes besides */
	uint64_t reserved[2];    /* 0 */
};

struct reel_costs {
	int64_t steps;
	double advance_seconds;  /* to run a step; 0: 1, so that times are in steps */
	double record_seconds;   /* to run and record it; 0: as advance_seconds */
	double reverse_seconds;  /* 0: as record_seconds */
	double copy_seconds;     /* to store a state in memory, or to load it; 0: no time */
	uint64_t state_bytes;
	uint64_t tape_bytes;     /* of one step */
	uint64_t memory_bytes;   /* for states and tapes together; 0: no limit */
	unsigned workers;        /* threads that record and reverse; 0: 1 */
	unsigned tiers;          /* slower ones, fastest first */
	struct reel_cost_tier tier[REEL_MAX_TIERS - 1];
	double touch_seconds;    /* to use a byte of memory for the first time; 0: no time */
	uint64_t reserved[3];    /* 0 */
};

/* One way to reverse the loop, and what it is expected to take. */
struct reel_prediction {
	enum reel_planner planner;
	/* Segments whose tapes exist at once: 1 + those recorded ahead of the reverse chain. */
	unsigned tapes;
	/* REEL_STORE_ALL: tapes are spilled to the slower tiers by the pool. */
	bool spills;
	/* 0: there is no such way. */
	int64_t segment_steps;
	/*
	 * Its steps are segments, its costs seconds; its tiers are memory and the slower
	 * ones in their order. Of REEL_MIXED a slot may be larger than a state, to be of the
	 * order of a tape; peak_memory_bytes is of true states.
	 */
	struct reel_problem problem;
	double makespan;                          /* seconds */
	uint64_t peak_memory_bytes;               /* states, tapes, buffers of transfers */
	uint64_t written_bytes[REEL_MAX_TIERS];  /* [0]: states copied within memory */
	uint64_t read_bytes[REEL_MAX_TIERS];
	int64_t advances;                         /* steps run without being recorded */
	uint64_t reserved[4];
};

struct reel_choice {
	struct reel_prediction best;
	/* The best of those that take another planner, or spill where best does not. */
	struct reel_prediction runner_up;
	/* Why the runner-up lost; after -ENOSPC or -EINVAL what is wrong, and the remedy. */
	char reason[256];
	uint64_t reserved[4];
};

/*
 * Say in words why reel_costs_choose() would return -EINVAL, or NULL. A constant string. Numbers
 * are refused, too, that are so far apart that reel_plan_open() would not take a plan's costs.
 */
const char *reel_costs_problem(const struct reel_costs *costs);

/*
 * Choose how to reverse the loop in the least time: all tapes in memory; all tapes,
 * spilled; or states in memory and in the slower tiers, by every planner for a known end.
 * Segment lengths are tried from 2,000 segments a loop up, about the length at which
 * states and tapes take up the least, sqrt(steps state_bytes / tape_bytes), by factors of
 * sqrt(2), and all up to 8 steps; down to 2^20 segments by the binomial planner, which
 * needs no table. Of equal times the one with less memory is taken. A plan's slots and
 * tapes all fit the memory at once, though it may never use all of them together.
 *
 * Predictions come from a walk through the very plan, with a clock:
 *   - a store or load takes copy_seconds of the loop's time, in any tier;
 *   - what grows beyond the most that tapes, or states, took up before takes touch_seconds
 *     a byte: the system has to find and clear the memory;
 *   - a slower tier has one buffer of a state for writing and one for reading, which are
 *     part of the memory, and does one transfer at a time. A store waits for the buffer,
 *     a load for its state; a state is read as soon as the one before has been taken;
 *   - a sweep that spills takes the longer of computing and of transferring what memory
 *     has no room for;
 *   - where the state of each segment is kept, and memory is for more tapes, workers
 *     record segments ahead: the reverse phase takes the longer of all reversals one by
 *     one, all work shared by as many workers as there are tapes, and all reads; and the
 *     recording of a segment in advance.
 * More memory does not make the makespan longer if there are no slower tiers, and
 * copy_seconds and touch_seconds are 0; else it may by some hundredths, as transfers happen
 * to overlap.
 *
 * Returns 0; -ENOSPC: nothing fits the memory, and choice->reason says how much would do;
 * -EINVAL: reel_costs_problem() says why; or -ENOMEM. Nothing stays allocated.
 * Cost: some tenths of a second at the most; up to a second with several slower tiers.
 */
int reel_costs_choose(const struct reel_costs *costs, struct reel_choice *choice);

/*
 * Measure the loop's first steps: fills in advance_seconds, record_seconds,
 * reverse_seconds, copy_seconds, touch_seconds, state_bytes and tape_bytes; needs
 * costs->steps, at least 1. Steps 0, 1, ... are run from `state`, as many at a time as make
 * up a millisecond, and 16 MiB of tape, which leave the caches, unless it takes above 8 ms
 * to record them; and as leave the memory half empty. They are run from the start again,
 * several times; the medians are taken.
 *
 * Then memory of a pool like the tape's, up to 64 MiB or a quarter of memory_bytes, is
 * filled for the first and for a second time, 20 ms each: touch_seconds is the difference.
 * It is 0 where there is no memory for that. A virtual machine whose host finds it memory
 * only when it is used may take longer for memory that it has never used.
 *
 * `state` is state 0 and is as it was afterwards, and so is the tape. `adjoint` is passed
 * to model->reverse: a scratch one, whose contents are lost, like what the model adds up
 * in its context. NULL: reversing is not measured, reverse_seconds stays as it was.
 *
 * Returns 0, a callback's error, the tape's error, -EINVAL for steps below 1, -EBADMSG if
 * reversing does not pop what recording has pushed, or -ENOMEM; then costs is as it was,
 * and so are state and tape, but for a tape that is in error itself.
 * Cost: up to half a second, more where a step takes more than a millisecond.
 */
int reel_costs_measure(struct reel_costs *costs, reel_tape *tape, const reel_model *model,
		       void *context, void *state, void *adjoint);

#ifdef __cplusplus
}
#endif

#endif
