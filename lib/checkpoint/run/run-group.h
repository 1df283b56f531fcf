/* SPDX-License-Identifier: MIT */
/*
 * A run whose processes walk through one plan together, as the ranks of an MPI program do. For
 * libreel-mpi, which opens such runs, and libreel-omp, which carries their actions out: exported
 * with a private symbol version, and free to change with each release.
 */
#ifndef REEL_LIB_RUN_GROUP_H
#define REEL_LIB_RUN_GROUP_H

#include <reel/run.h>

/* Number of bytes of the longest path of a restart file, with its 0. */
#define REEL_GROUP_PATH_BYTES 1024

struct reel_run_group {
	int rank, ranks;
	/*
	 * Collective: sets each value to the largest of those that the processes give. Returns 0,
	 * or an error, on all processes alike.
	 */
	int (*max)(void *context, int64_t *values, int count);
	/*
	 * Collective: opens `copy`, a group of the same processes, which agree by it while other
	 * threads agree by `group`. Returns 0; -ENOTSUP: only one thread of each process may agree
	 * at a time; or another error. On all processes alike. `close` closes the copy.
	 */
	int (*duplicate)(const struct reel_run_group *group, struct reel_run_group *copy);
	/*
	 * Writes the path of the restart file `name` to `path`, which has REEL_GROUP_PATH_BYTES
	 * bytes. Returns 0, or anything else: the file cannot be. NULL: the path is the name.
	 */
	int (*route)(const char *name, char *path);
	/* Called when the run is closed, and for each duplicate. */
	void (*close)(void *context);
	void *context;
};

/* Returns true if the group has no other process to agree with. */
static inline bool reel_group_is_alone(const struct reel_run_group *group)
{
	return group->ranks <= 1;
}

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/*
 * Opens a run on all processes of the group, collectively. The plan has to be the same on all of
 * them; all have restart files or none has; the states and the adjoint may differ in size. The
 * forward sweep, the reverse sweep, resuming and closing are also collective. Sweeps in pieces are
 * not: they agree on nothing.
 *
 * options->restart is the name of all restart files: process R writes NAME.R.0 and NAME.R.1 in turn
 * (restart-epoch.c). finished() ends the loop on all processes when it ends on one of them.
 *
 * Returns as reel_run_open(); -EINVAL also where the plans differ; -ECANCELED, another process
 * failed. On failure the group stays the caller's, as the stores do.
 */
int reel_run_open_in_group(reel_run **run, const reel_plan *plan, const reel_model *model,
			   const struct reel_run_options *options,
			   const struct reel_run_group *group);

/* The group of a run; its number of ranks is at most 1 for a run of one process. */
const struct reel_run_group *reel_run_group(const reel_run *run);

/*
 * Collective: tells the other processes the error of this one and its requests, up to three bits of
 * any meaning. *requests, which may be NULL, is then set to the requests of all processes together,
 * also after an error of a process; and to 0 if max() itself has failed. Returns `error` if it is
 * below 0; -ECANCELED if another process has one below 0; or the largest of all.
 */
int reel_group_agree(const struct reel_run_group *group, int error, unsigned *requests);

/* Collective: group->max(); a process that is alone has the largest values already. */
int reel_group_max(const struct reel_run_group *group, int64_t *values, int count);

#endif
