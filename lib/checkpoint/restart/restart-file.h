/* SPDX-License-Identifier: MIT */
/*
 * A restart file, which is complete or does not exist. It is written as PATH.new, with its length
 * and a CRC-32C at the end, and renamed to PATH when it is on the disk. A reader gets data only
 * after the length and the CRC were found right. Only the user that wrote the file can read it.
 *
 * The user may give the name of a file of another kind by mistake. So a function removes or
 * replaces a file only if it is a regular file that begins with the magic, or if it is an empty
 * PATH.new, which a crash leaves right after the creation. Each function checks this right before
 * it does so.
 */
#ifndef REEL_LIB_RESTART_FILE_H
#define REEL_LIB_RESTART_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "os/os-file.h"

/* The suffix of a file's name until the file is complete. */
#define REEL_RESTART_BESIDE ".new"
/* Number of bytes of the longest name with this suffix, with its 0: no system has longer ones. */
#define REEL_RESTART_NAME_BYTES 4096
/* Size of the magic, the first bytes of each restart file. */
#define REEL_RESTART_MAGIC_BYTES 8

struct reel_restart_file {
	int file;
	struct reel_os_file_identity identity;
	uint64_t offset;
	uint64_t bytes; /* reading: length without the trailer */
	uint32_t crc;   /* writing: CRC-32C of the first `offset` bytes */
	int error;      /* writing: error of the first write that failed, or 0 */
	const char *path;
	char beside[REEL_RESTART_NAME_BYTES]; /* writing: PATH.new */
};

/*
 * Checks whether a restart file may be written to `path`: each of the two names is unused or names
 * a restart file. Returns 0; -EEXIST: a file of another kind has one of the names; -EINVAL: the
 * path is empty or ends in a slash; -ENAMETOOLONG; or the error of the system, also of the
 * directory. On failure `path` followed by *suffix, "" or ".new", names this file.
 *
 * The other functions are called with paths for which this one has returned 0.
 */
int reel_restart_file_check(const char *path, const char **suffix);

/*
 * Create a restart file and write to it. `path` outlives the struct. create and publish return 0;
 * -EEXIST as above; -EBUSY, another process writes the same file; or the error of the system.
 * finish reports a write that failed.
 */
int reel_restart_file_create(struct reel_restart_file *file, const char *path);
void reel_restart_file_write(struct reel_restart_file *file, const void *data, size_t bytes);
/* Completes the file, which has all its data on the disk then. Returns the first error. */
int reel_restart_file_finish(struct reel_restart_file *file);
/* Renames a finished file to its path. Returns 0, or an error; then the file is removed. */
int reel_restart_file_publish(struct reel_restart_file *file);
/* Removes the file that is being written. */
void reel_restart_file_abandon(struct reel_restart_file *file);
/*
 * Removes the file and PATH.new, which a process leaves that is killed while it writes. Returns 0,
 * also if neither exists; or the first error.
 */
int reel_restart_file_remove(const char *path);

/*
 * Renames PATH.new to PATH; and PATH to PATH.new, if there is such a file. Both are checked as in
 * reel_restart_file_check().
 */
int reel_restart_file_rename(const char *path);
int reel_restart_file_set_aside(const char *path);

/*
 * Opens a restart file and checks it. Returns 0; the error of the system; or -EBADMSG, and *wrong
 * says in words how the file is wrong: "is not ...".
 */
int reel_restart_file_open(struct reel_restart_file *file, const char *path, const char **wrong);
/* Reads the next `bytes` bytes. Returns 0, the error of the system, or -EBADMSG at the end. */
int reel_restart_file_read(struct reel_restart_file *file, void *data, size_t bytes);
void reel_restart_file_close(struct reel_restart_file *file);

#endif
