/* SPDX-License-Identifier: MIT */
/*
 * The operating system's files: each function is one request to it, so that
 * faults can be injected here. What can fail returns 0 or more, or -errno.
 */
#ifndef REEL_LIB_OS_FILE_H
#define REEL_LIB_OS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A new file for this process alone. -EOPNOTSUPP: a file here needs a name. */
int reel_os_file_open_nameless(const char *directory);

/* The same with a name, for which the path's last six characters are replaced. */
int reel_os_file_open_named(char *path);
/* A new file of this name. -EEXIST: there is something of this name. */
int reel_os_file_open_new(const char *path);
/* -EEXIST: what has this name is no regular file, and was not opened. */
int reel_os_file_open_to_read(const char *path);
int reel_os_file_unlink(const char *path);
/* In one directory; both names are on the disk when it returns. */
int reel_os_file_rename(const char *from, const char *to);
int reel_os_file_sync(int file);
void reel_os_file_close(int file);

/* Whether its file system keeps files in memory. */
bool reel_os_file_is_in_memory(int file);

/* Bytes that can still be stored on its file system; UINT64_MAX: not known. */
uint64_t reel_os_file_room(int file);

/* The size above which this process may not let a file grow. */
uint64_t reel_os_file_max_bytes(void);

/*
 * What memory, lengths and offsets must be multiples of, to go past the page
 * cache; 0: it cannot be done. -EOPNOTSUPP: the system does not say.
 */
int reel_os_file_direct_alignment(int file, size_t *alignment);
int reel_os_file_set_direct(int file, bool direct);

/* Room on the disk, before it is written to. -EOPNOTSUPP: it comes with writing. */
int reel_os_file_allocate(int file, uint64_t offset, uint64_t bytes);

ssize_t reel_os_file_write(int file, const struct iovec *pieces, int count, uint64_t offset);
ssize_t reel_os_file_read(int file, const struct iovec *pieces, int count, uint64_t offset);

/* Have the page cache written out, and wait. An error in any page of the file is told once. */
int reel_os_file_write_back(int file, uint64_t offset, uint64_t bytes);

/* These bytes are not read again soon: free their pages. */
void reel_os_file_forget(int file, uint64_t offset, uint64_t bytes);

#endif
