/* SPDX-License-Identifier: MIT */
/*
 * The processes of a run agree here on the files that they resume from: a run that went on from
 * different files would give wrong values. The thread that owns the run runs these functions.
 */
#include "config.h"

#include "restart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/cancel.h"
#include "os/error.h"
#include "os/os-file.h"
#include "restart-file.h"

enum { RENAMED, BESIDE, NAMES };

/* The epochs of the whole files of this process, by name, without .new and with it; 0: none. */
struct found {
	int64_t epoch[REEL_GROUP_EPOCHS][NAMES];
};

static int find_files(reel_run *run, struct found *found)
{
	char path[REEL_GROUP_PATH_BYTES + sizeof REEL_RESTART_BESIDE];
	int error = 0;

	REEL_ASSERT(*run->path[0] && *run->path[REEL_GROUP_EPOCHS - 1]);
	for (unsigned i = 0; i < REEL_GROUP_EPOCHS * NAMES && !error; i++) {
		snprintf(path, sizeof path, "%s%s", run->path[i / NAMES],
			 i % NAMES == BESIDE ? REEL_RESTART_BESIDE : "");
		error = reel_restart_find(run, path, &found->epoch[i / NAMES][i % NAMES]);
	}
	return error;
}

static bool has(const struct found *found, int64_t epoch)
{
	const int64_t *named = found->epoch[epoch % REEL_GROUP_EPOCHS];

	REEL_ASSERT(epoch >= 0);
	return named[RENAMED] == epoch || named[BESIDE] == epoch;
}

/* The newest epoch of this process that is at most `bound`, or 0. */
static int64_t newest(const struct found *found, int64_t bound)
{
	int64_t epoch = 0;

	REEL_ASSERT(bound >= 0);
	for (unsigned i = 0; i < REEL_GROUP_EPOCHS * NAMES; i++) {
		int64_t other = found->epoch[i / NAMES][i % NAMES];

		if (other <= bound && other > epoch)
			epoch = other;
	}
	return epoch;
}

/*
 * Sets *epoch to the newest epoch that all processes have, or to 0. Each round asks for the
 * smallest of the epochs that the processes have below the bound, and whether all have that one.
 */
static int find_common_epoch(const reel_run *run, const struct found *found, int64_t *epoch)
{
	int64_t bound = INT64_MAX, lacking = 1;

	while (lacking) {
		int64_t smallest = -newest(found, bound);
		int error = run->group.max(run->group.context, &smallest, 1);

		*epoch = -smallest;
		lacking = *epoch && !has(found, *epoch);
		if (!error)
			error = run->group.max(run->group.context, &lacking, 1);
		if (error)
			return error;
		REEL_ASSERT(*epoch <= bound);
		bound = *epoch - 1;
	}
	return 0;
}

/* A process that is alone has no file. If there is one of a rank 0, it is of several processes. */
static int refuse_files_of_ranks(const reel_run *run)
{
	REEL_UNCANCELLED;
	char path[REEL_GROUP_PATH_BYTES];
	int file = reel_os_file_open_to_read(run->options.restart), error = 0;
	int64_t epoch;

	REEL_ASSERT(reel_group_is_alone(&run->group) && run->options.restart);
	if (file >= 0)
		reel_os_file_close(file);
	for (int i = 0; i < REEL_GROUP_EPOCHS && !error && file == -ENOENT; i++)
		if (snprintf(path, sizeof path, "%s.0.%d", run->options.restart, i) <
		    (int)sizeof path)
			error = reel_restart_find(run, path, &epoch);
	return error;
}

/* The processes have no files. If there is one without a rank, it is of one process. */
static int refuse_file_of_one(const reel_run *run)
{
	int64_t epoch, refused = reel_restart_find(run, run->options.restart, &epoch) == -EINVAL;
	int error = run->group.max(run->group.context, &refused, 1);

	REEL_ASSERT(!reel_group_is_alone(&run->group));
	if (error)
		return error;
	return refused ? reel_fail(-EINVAL,
				   "%s was written by a run of one process, and this one has "
				   "%d ranks",
				   run->options.restart, run->group.ranks)
		       : reel_fail(-ENOENT, "there are no restart files of %s",
				   run->options.restart);
}

/* No epoch is whole on all processes: that is no fault if none was ever complete. */
static int explain_no_epoch(const reel_run *run, const struct found *found)
{
	int64_t complete = 0, lacking;
	int error;

	for (unsigned i = 0; i < REEL_GROUP_EPOCHS; i++)
		if (found->epoch[i][RENAMED] > complete)
			complete = found->epoch[i][RENAMED];
	error = run->group.max(run->group.context, &complete, 1);
	if (!error && !complete)
		return refuse_file_of_one(run);
	if (error)
		return error;
	lacking = has(found, complete) ? 0 : run->group.rank + 1;
	error = run->group.max(run->group.context, &lacking, 1);
	if (error)
		return error;
	if (!has(found, complete))
		return reel_fail(-EBADMSG, "restart file %s of rank %d is missing or damaged: put "
					   "it back, or remove the files of all ranks",
				 reel_restart_path(run, (uint64_t)complete), run->group.rank);
	return reel_fail(-EBADMSG,
			 "the restart file of rank %d is missing or damaged: put it back, "
			 "or remove the files of all ranks",
			 (int)lacking - 1);
}

int reel_restart_find_epoch(reel_run *run)
{
	struct found found = {0};
	int64_t epoch = 0;
	int error = 0;

	if (!run->options.restart)
		error = reel_fail(-EINVAL, "options.restart names no file to resume from");
	else if (reel_group_is_alone(&run->group))
		error = refuse_files_of_ranks(run);
	else
		error = find_files(run, &found);
	error = reel_group_agree(&run->group, error, NULL);
	if (error || reel_group_is_alone(&run->group))
		return error;
	error = find_common_epoch(run, &found, &epoch);
	if (!error && !epoch)
		error = explain_no_epoch(run, &found);
	if (error)
		return error;
	run->epoch = (uint64_t)epoch;
	if (found.epoch[epoch % REEL_GROUP_EPOCHS][RENAMED] != epoch)
		error = reel_restart_rename(run);
	return error;
}
