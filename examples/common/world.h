/* SPDX-License-Identifier: MIT */
/*
 * The ranks that mpirun has started, whatever they share. world.c is compiled into programs that
 * have MPI; a library of an example calls these functions by pointers, and links without MPI.
 */
#ifndef EXAMPLES_WORLD_H
#define EXAMPLES_WORLD_H

#include <stdint.h>

#include <reel/run.h>

/* All functions are called by the main thread of every rank, in the same order. */
struct world {
	int rank, number;

	/* Returns the lowest rank that says yes; -1: none. */
	int (*lowest)(int yes);

	/* Each number becomes the sum over all ranks. */
	void (*add_up)(uint64_t *numbers, int count);

	/* reel_run_open() for a run whose plan is the same on all ranks. */
	int (*open_run)(reel_run **run, const reel_plan *plan, const reel_model *model,
			const struct reel_run_options *options);
};

/*
 * Joins the ranks that mpirun has started. Returns NULL if it has started one or none. The program
 * calls this before it reads the command line. From then on rank 0 alone writes to standard output,
 * and reports an error that all ranks find. The ranks part when the program ends.
 */
const struct world *world_join(int *count, char ***arguments);

#endif
