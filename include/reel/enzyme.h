/* SPDX-License-Identifier: MIT */
/*
 * Enzyme's checkpointed loops on Reel (libreel-enzyme): states are kept in bounded memory and in
 * stores, by any of Reel's plans that keep no tapes.
 *
 *	#include <enzyme/checkpoint.h>
 *	#include <reel/enzyme.h>
 *
 *	struct reel_enzyme_options options = {.plan = "binomial:30"};
 *
 *	__enzyme_checkpoint_for((void *)step, 0, 1000, enzyme_scheme, &reel_enzyme_scheme, &options,
 *				enzyme_checkpoint_region, u, sizeof u, u);
 *
 * Loops that are annotated need no change of their source, if no file of the program includes
 * Enzyme's header: the program is linked with -lreel-enzyme, which has the function that Enzyme asks
 * for the scheme (__enzyme_checkpoint_builtin), and REEL_ENZYME=binomial:30 in the environment says
 * the plan. A file with the header brings a function of its own, which wins.
 *
 * The tables have the layout that Enzyme's header gives EnzymeCheckpointScheme in version 1. That
 * header is not needed to compile this one. Regions of 24 and of 40 bytes are told apart by the sum
 * of their sizes.
 *
 * Errors. Enzyme asks for no error code. What goes wrong is one line on stderr, and the next action
 * is the scheme's error, at which Enzyme ends the program (a trap: SIGILL). Where a state cannot be
 * given back and no action would come before it is used, the program is aborted (SIGABRT). No
 * derivative comes of a wrong state.
 *
 * Enzyme passes -1 for an unknown end, so a `for` whose bounds give -1 steps is taken for such a
 * loop. A number below -1 is a loop without steps.
 *
 * Threads. Each loop that runs has a run of its own, and loops may be nested. Options are only read,
 * but for `stats`: loops that end at the same time have options of their own then.
 */
#ifndef REEL_ENZYME_H
#define REEL_ENZYME_H

#include <stddef.h>
#include <stdint.h>

#include <reel/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zero, or NULL, is sensible. It outlives the loop. */
struct reel_enzyme_options {
	/*
	 * "PLANNER:SLOTS", "PLANNER:SLOTS:MORE" (reel/run.h): how many states are kept in memory, and
	 * for multistage and hierarchical how many more in the store; for two-level and periodic
	 * MORE is the number of steps between states in the store, for as many as it takes. "all"
	 * keeps the state before each step. Two more states, of the loop's end, are kept besides.
	 * online, two-level, periodic and all are for loops whose end is not known, too.
	 * NULL: REEL_ENZYME in the environment, where binomial is online for such a loop; without
	 * it binomial with as many slots as the square root of the number of steps, or online:30.
	 * store-all and mixed are refused, since Enzyme keeps the tape of one step only.
	 */
	const char *plan;
	/* Where states in memory are, and leave it if it has a store. NULL: the default pool. */
	reel_pool *pool;
	/* For plans with states in a store (reel_store_open()). NULL: REEL_STORE, or else "file". */
	const char *store, *directory;
	/* Gets the statistics of the loop that has ended last. NULL: they are dropped. */
	struct reel_run_stats *stats;
	/*
	 * Copies regions of an address space that is not 0, as of a GPU: to the region or from it.
	 * Returns 0 or an error below 0. NULL: such regions are refused.
	 */
	int (*copy)(void *context, void *to, const void *from, size_t bytes, uint32_t space,
		    int to_region);
	/*
	 * Of reel_enzyme_env_scheme: the program saves the state itself, `state_bytes` of it, and
	 * loads it again, from the arguments of the step after its number, each followed by its
	 * shadow if it has one. They return 0 or an error below 0.
	 */
	size_t state_bytes;
	int (*save)(void *context, const void *env, void *snapshot);
	int (*load)(void *context, void *env, const void *snapshot);
	/* Told once for each loop what the step accesses, as Enzyme describes it. May be NULL. */
	void (*set_paths)(void *context, const int64_t *paths, uint64_t n);
	void *context;
	/* For options to come: all 0. */
	uint64_t reserved[4];
};

/* Enzyme's EnzymeCkptAction. */
struct reel_enzyme_action {
	int32_t flag;
	int64_t iteration, startiteration, cpnum;
};

/* Enzyme's EnzymeCheckpointScheme. */
struct reel_enzyme_table {
	uint32_t version;
	void *(*init)(void *options, int64_t steps, uint64_t bytes);
	void (*next_action)(void *loop, struct reel_enzyme_action *action);
	void (*store)(void *loop, int64_t slot, int64_t step, const void *regions, uint64_t n);
	void (*restore)(void *loop, int64_t slot, int64_t step, const void *regions, uint64_t n);
	void (*set_nsteps)(void *loop, int64_t steps);
	void (*finalize)(void *loop);
	void (*save_state)(void *loop, int64_t slot, int64_t step, void *env);
	void (*load_state)(void *loop, int64_t slot, int64_t step, void *env);
	void (*set_paths)(void *loop, const int64_t *paths, uint64_t n);
};

/* Copies the regions. Its configuration is a struct reel_enzyme_options, or NULL. */
extern const struct reel_enzyme_table reel_enzyme_scheme;
/*
 * The program copies the state by save() and load() of the options. A loop whose step writes globals,
 * or that has regions, is refused: save() would not have these.
 */
extern const struct reel_enzyme_table reel_enzyme_env_scheme;

#ifdef __cplusplus
}
#endif

#endif
