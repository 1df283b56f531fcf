/* SPDX-License-Identifier: MIT */
/*
 * A file that is whole or not there: written beside its place, as PATH.new, with a length
 * and a CRC-32C at its end, and renamed when it is on the disk. Read only after both have
 * been found right. Readable by its user alone.
 *
 * A name that the user has given may be that of a file of his. So only a regular file that begins
 * with the magic is removed or replaced, and an empty PATH.new, which a crash right after its
 * creation leaves. All functions look again before they do so.
 */
#ifndef REEL_LIB_CHECKED_FILE_H
#define REEL_LIB_CHECKED_FILE_H

#include <stddef.h>
#include <stdint.h>

struct reel_restart_file {
	int file;
	uint64_t offset;
	uint64_t bytes; /* reading: of what was written */
	uint32_t crc;
	int error;      /* writing: the first one */
	char *beside;
	const char *path, *magic;
};

/* What every such file begins with, so that a foreign one is known. */
#define REEL_RESTART_MAGIC_BYTES 8

/*
 * Whether such a file may be written to `path`: both names are unused or those of such files.
 * 0; -EEXIST, another file has one of the names; -ENOMEM; or what the system says. On failure
 * `path` with *suffix, "" or ".new", is the name of the file that is in the way.
 */
int reel_restart_file_check(const char *path, const char *magic, const char **suffix);

/*
 * `path` and `magic` outlive the file. 0, -ENOMEM, -EEXIST as above (create and publish), or what
 * the system says.
 */
int reel_restart_file_create(struct reel_restart_file *file, const char *path, const char *magic);
void reel_restart_file_write(struct reel_restart_file *file, const void *data, size_t bytes);
/* Put it in its place; or on failure, which is the first of all writes, nowhere. */
int reel_restart_file_publish(struct reel_restart_file *file);
void reel_restart_file_abandon(struct reel_restart_file *file);
/*
 * The file, and what a process has left beside it that was killed while it wrote. 0, also if there
 * is none; or the first error.
 */
int reel_restart_file_remove(const char *path, const char *magic);

/*
 * 0; what the system says; or -EBADMSG, and *wrong says in words what is wrong with it:
 * "is not ...".
 */
int reel_restart_file_open(struct reel_restart_file *file, const char *path, const char *magic,
			   const char **wrong);
/* 0, what the system says, or -EBADMSG: it is shorter. */
int reel_restart_file_read(struct reel_restart_file *file, void *data, size_t bytes);
void reel_restart_file_close(struct reel_restart_file *file);

#endif
