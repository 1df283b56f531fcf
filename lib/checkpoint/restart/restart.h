/* SPDX-License-Identifier: MIT */
/* Restart files of runs. A run can be saved when it consists of snapshots and an adjoint only. */
#ifndef REEL_LIB_RESTART_H
#define REEL_LIB_RESTART_H

#include "checkpoint/run/run.h"

/*
 * restart-name.c: the restart file of an epoch; and the number of names that the files of all
 * epochs have.
 */
const char *reel_restart_path(const reel_run *run, uint64_t epoch);
unsigned reel_restart_names(const reel_run *run);
int reel_restart_name_files(reel_run *run);

/* restart.c: a run begins, and has no file of its own yet. */
void reel_restart_begin(reel_run *run);
/* REEL_REQUEST_SAVE and REEL_REQUEST_END, if a restart file is due after this action, or 0. */
unsigned reel_restart_requests(const reel_run *run, const reel_action *action);
/* Saves the run. Returns 0, also if that fails; or -EINTR: it is saved, and `ends` is true. */
int reel_restart_save(reel_run *run, void *context, const void *adjoint, bool ends);
void reel_restart_remove(reel_run *run);
void reel_restart_drop_packed(reel_run *run);
/* Returns 0 if a restart file may be written to `path`, or an error. */
int reel_restart_check(const char *path);
/* Reads the restart file into a run that has just begun; returns as reel_run_resume(). */
int reel_restart_read(reel_run *run, void *context, void *adjoint);
/*
 * For groups. Sets *epoch to the epoch of the file at `path`, or to 0 if there is no whole file.
 * Returns 0, or an error: the file is whole, and is none to resume from.
 */
int reel_restart_find(const reel_run *run, const char *path, int64_t *epoch);
/* Renames the file of `run->epoch`, which a killed process has left with .new. */
int reel_restart_rename(const reel_run *run);
/* A checksum of all that the processes of a run have in common. */
uint32_t reel_restart_plan_crc(const reel_run *run);

/*
 * restart-epoch.c: sets `run->epoch` to the newest that is whole on all processes. Returns as
 * resuming does.
 */
int reel_restart_find_epoch(reel_run *run);

#endif
