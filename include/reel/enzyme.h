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
 * Enzyme's header: the program is linked with -lreel-enzyme, which has the function that Enzyme
 * asks for the scheme (__enzyme_checkpoint_builtin), and REEL_PLAN=binomial:30 in the environment
 * selects the plan. A file with the header has its own function, which takes precedence.
 *
 * The tables have the layout that Enzyme's header gives EnzymeCheckpointScheme in version 1. That
 * header is not needed to compile this one. The sum of their sizes distinguishes regions of 24 and
 * of 40 bytes.
 *
 * Errors. Enzyme asks for no error code. An error is reported in one line on stderr, and the next
 * action is the scheme's error, at which Enzyme ends the program (a trap: SIGILL). If a state
 * cannot be restored and no action comes before its use, the program is aborted (SIGABRT). No
 * derivative is computed from a wrong state.
 *
 * Enzyme passes -1 for an unknown end, so a `for` whose bounds give -1 steps is treated as such a
 * loop. A number below -1 is a loop without steps.
 *
 * Threads. Each loop that runs has a run of its own, and loops may be nested. Options are only
 * read, except for `stats`: loops that end at the same time need separate options for it.
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
	 * "PLANNER:SLOTS", "PLANNER:SLOTS:MORE" (reel/run.h): SLOTS is the number of states in
	 * memory. For multistage and hierarchical MORE is the number of additional states in the
	 * store; for two-level and periodic it is the number of steps between states in the store,
	 * whose number has no limit. "all" keeps the state before each step. Two more states, at
	 * the loop's end, are also kept. auto, online, two-level, periodic and all also serve loops
	 * whose end is not known. NULL: REEL_PLAN in the environment, where binomial means online
	 * for such a loop; without it auto, which fills its memory with states. store-all and
	 * mixed are refused, since Enzyme keeps the tape of one step only.
	 */
	const char *plan;
	/*
	 * The pool of states in memory, which leave memory if the pool has a store. NULL: the
	 * default pool.
	 */
	reel_pool *pool;
	/* For plans with states in a store (reel_store_open()). NULL: REEL_STORE, or "file". */
	const char *store, *directory;
	/* Receives the statistics of the loop that ended last. NULL: they are dropped. */
	struct reel_run_stats *stats;
	/*
	 * Copies regions of an address space that is not 0, as of a GPU: to the region or from it.
	 * Returns 0 or an error below 0. NULL: such regions are refused.
	 */
	int (*copy)(void *context, void *to, const void *from, size_t bytes, uint32_t space,
		    int to_region);
	/*
	 * For reel_enzyme_env_scheme: the program itself saves the state, `state_bytes` bytes, and
	 * loads it again, from the arguments of the step after its number, each followed by its
	 * shadow if it has one. They return 0 or an error below 0.
	 */
	size_t state_bytes;
	int (*save)(void *context, const void *env, void *snapshot);
	int (*load)(void *context, void *env, const void *snapshot);
	/*
	 * Called once for each loop with the accesses of the step, as Enzyme describes them. May be
	 * NULL.
	 */
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
 * The program copies the state by save() and load() of the options. A loop whose step writes
 * globals, or that has regions, is refused: save() would not have these.
 */
extern const struct reel_enzyme_table reel_enzyme_env_scheme;

#ifdef __cplusplus
}
#endif

#endif
