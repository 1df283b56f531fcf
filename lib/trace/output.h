/* SPDX-License-Identifier: MIT */
/* Files that environment variables name. */
#ifndef REEL_LIB_OUTPUT_H
#define REEL_LIB_OUTPUT_H

#include <stdbool.h>

/* Maximum length of a magic. */
#define REEL_OUTPUT_MAGIC 64

/*
 * Opens an empty file of this name and locks it until it is closed. An existing file is overwritten
 * if it is empty or begins like `magic`. If another process has locked it, the number of this
 * process is put before the end of the name: FILE-PID.json. So it is where the file system refuses
 * locks, and an empty FILE.json is left there. Returns 0, -EEXIST: it is something else; or an
 * error of the system.
 */
int reel_output_open(const char *path, const char *magic, int *file);

/*
 * Returns the file that `variable` names, in the first call; NULL: none, or *is_asked says that an
 * earlier call has answered.
 */
const char *reel_output_path(const char *variable, bool *is_asked);

/* One line on stderr: the file that `variable` names cannot be written. */
void reel_output_refuse(const char *variable, const char *path, int error);

#endif
