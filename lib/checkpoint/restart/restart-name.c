/* SPDX-License-Identifier: MIT */
/*
 * Names of restart files. A run of one process has one file, with the name of the option `restart`.
 *
 * The files of a group have epochs, 1, 2, ... An epoch is the set of files that the processes write
 * at the same action. Even and odd epochs have a name each, so that a file is replaced only after
 * the next epoch is complete. Each process writes NAME.R.E.new; when all have done so, each renames
 * its own. So a file without .new shows that its epoch is complete, and a process that was killed
 * before it renamed its file finds it under the other name.
 */
#include "config.h"

#include "restart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/error.h"

const char *reel_restart_path(const reel_run *run, uint64_t epoch)
{
	REEL_ASSERT(run->options.restart);
	return reel_group_is_alone(&run->group) ? run->options.restart
						: run->path[epoch % REEL_GROUP_EPOCHS];
}

unsigned reel_restart_names(const reel_run *run)
{
	return reel_group_is_alone(&run->group) ? 1 : REEL_GROUP_EPOCHS;
}

static int route(const reel_run *run, const char *name, char *path)
{
	REEL_ASSERT(strlen(name) < REEL_GROUP_PATH_BYTES);
	if (!run->group.route) {
		strcpy(path, name);
		return 0;
	}
	if (run->group.route(name, path) || !*path)
		return reel_fail(-EIO, "restart file %s was given no path", name);
	return 0;
}

static int name_file(reel_run *run, int epoch)
{
	char name[REEL_GROUP_PATH_BYTES];
	int length = snprintf(name, sizeof name, "%s.%d.%d", run->options.restart, run->group.rank,
			      epoch);

	REEL_ASSERT(epoch < REEL_GROUP_EPOCHS && !*run->path[epoch]);
	if (length >= (int)sizeof name)
		return reel_fail(-ENAMETOOLONG, "the name of the restart file %.60s... is too long",
				 name);
	return route(run, name, run->path[epoch]);
}

int reel_restart_name_files(reel_run *run)
{
	int error = 0;

	if (!run->options.restart || reel_group_is_alone(&run->group))
		return 0;
	for (int epoch = 0; epoch < REEL_GROUP_EPOCHS && !error; epoch++)
		error = name_file(run, epoch);
	return error;
}
