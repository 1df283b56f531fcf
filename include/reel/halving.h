/* SPDX-License-Identifier: MIT */
/*
 * Parallel reversal by halving: several workers reverse a block of steps as fast as one
 * can go back through it, with few states, where states take up too much memory to keep
 * one of each segment.
 *
 *	sweep(first, last):                    a worker, from state first
 *		while last - first > 1:
 *			middle = reel_halving_split(halving, first, last)
 *			leave sweep(first, middle) with a copy of the working state to
 *			    another worker; it is to start when the reverse chain has come
 *			    down to reel_halving_start(halving, first, middle)
 *			advance to middle; first = middle
 *		record step first; when all later steps are reversed, reverse it
 *
 * Each step is recorded by a sweep of its own, just in time: the reverse chain never
 * waits. For n steps it takes as long as one run and n reversals, (n - 1) advances, one
 * recording and n reversals, with about log n workers and log n states (Walther 2004). A
 * state is needed from where a sweep passes it to where the last sweep from it starts,
 * which takes it over.
 *
 * It buys memory, not time: where a state of each segment fits memory or a fast tier,
 * recording segments ahead of the reverse chain does less work.
 *
 * Threads. All functions are pure: any thread.
 */
#ifndef REEL_HALVING_H
#define REEL_HALVING_H

#include <reel/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of which steps the right part is. */
enum reel_halving_rule {
	/* The largest power of 2 below all. The fewest resources if reversing costs 2 advances. */
	REEL_HALVING_POWER,
	/* The larger half, rounded up; at most a few resources more, for all costs. */
	REEL_HALVING_MIDDLE,
	/*
	 * What is above as many steps as one resource less can reverse: the golden section
	 * if recording and reversing cost an advance each, and the fewest resources then.
	 */
	REEL_HALVING_GOLDEN,
	REEL_HALVING_RULES
};

/* All zero is sensible. Costs are relative to each other, 0 to 2^30. */
struct reel_halving {
	enum reel_halving_rule rule;
	int64_t advance_cost; /* 0: 1 */
	int64_t record_cost;  /* 0: 1 */
	int64_t reverse_cost; /* 0: 1 */
	uint64_t reserved[2]; /* 0 */
};

/* "power", "middle", "golden"; and the reverse: 0 or -EINVAL. */
const char *reel_halving_rule_name(enum reel_halving_rule rule);
int reel_halving_rule_by_name(const char *name, enum reel_halving_rule *rule);

/*
 * The step that steps first to last - 1 are split at, above first and below last; first
 * itself if they are one step or none. Cost: none; a short loop for REEL_HALVING_GOLDEN.
 */
int64_t reel_halving_split(const struct reel_halving *halving, int64_t first, int64_t last);

/*
 * Where the reverse chain stands when the sweep of first to middle - 1 has to start: all
 * steps from the one returned on have been reversed, and to go down to middle takes as
 * long as the sweep to its recording of step middle - 1, or a part of a reversal longer.
 * A step past the end of the block, INT64_MAX at the most: the sweep starts before the
 * chain does.
 */
int64_t reel_halving_start(const struct reel_halving *halving, int64_t first, int64_t middle);

/*
 * The most steps that so many resources, busy workers and states that are kept, can
 * reverse without making the chain wait, by the recurrence
 * l(r) = l(r - 1) + reverse l(r - 2) - record + 1, costs being in advances; l(r) = r as
 * long as r < 2 + record / reverse. At most REEL_MOST_STEPS. -EINVAL for less than 0
 * resources, or if a cost is no multiple of an advance.
 */
int64_t reel_halving_most_steps(const struct reel_halving *halving, int64_t resources);

#define REEL_MOST_HALVING_STEPS ((int64_t)1 << 20)

/* Times in units of the costs. */
struct reel_halving_report {
	int64_t peak_workers;     /* that run, record, wait to reverse, or reverse */
	int64_t peak_checkpoints; /* states that are kept */
	int64_t peak_resources;   /* both together */
	int64_t work;             /* of all workers */
	int64_t makespan;
	uint64_t reserved[3];     /* 0 */
};

/*
 * Reverse a block of so many steps by a simulated clock, with as many workers as it takes.
 * Returns 0; -EINVAL for less than 0 steps, more than 2^20, or wrong costs; or -ENOMEM.
 * Cost: O(steps log steps).
 */
int reel_halving_simulate(const struct reel_halving *halving, int64_t steps,
			  struct reel_halving_report *report);

#ifdef __cplusplus
}
#endif

#endif
