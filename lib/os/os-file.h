/* SPDX-License-Identifier: MIT */
/*
 * Files. Each function is one request to the system, so that tests can refuse it. Functions that
 * can fail return 0 or more, or -errno.
 */
#ifndef REEL_LIB_OS_FILE_H
#define REEL_LIB_OS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * The file that a descriptor stands for. A program may close a descriptor that it did not open, as
 * daemons do, and open a file of its own, which then has the same descriptor. So the owner of a
 * descriptor compares before it writes and before it closes.
 */
struct reel_os_file_identity {
	dev_t device;
	ino_t inode;
};

/*
 * Moves a descriptor to a high number, which few programs close and no open() of theirs returns;
 * never to 0, 1 or 2, which a program may have closed and still write to. If the limit of
 * descriptors leaves no high number, the descriptor stays, unless it is below 3. Returns the
 * descriptor, or -errno, and then it is closed. The functions below that open a file do this.
 */
int reel_os_file_raise(int file);
int reel_os_file_identify(int file, struct reel_os_file_identity *identity);
/* Returns false if the descriptor was closed, or stands for another file. */
bool reel_os_file_is(int file, const struct reel_os_file_identity *identity);
/* Returns the size of the file, or 0 if the descriptor does not stand for it. */
uint64_t reel_os_file_bytes(int file, const struct reel_os_file_identity *identity);
/* Returns whether the path is a name of the file. A symbolic link to the file is none. */
bool reel_os_file_has_name(int file, const char *path);
/* Closes the descriptor, unless it stands for another file. */
void reel_os_file_close_if(int file, const struct reel_os_file_identity *identity);

/*
 * Maps a page of the file, which nobody accesses: as long as it is mapped, the system gives the
 * inode of a file without a name to no other file, even if the descriptor is closed. NULL: the file
 * system maps no files.
 */
void *reel_os_file_pin(int file);
void reel_os_file_unpin(void *pin);

/* Opens a new file without a name. -EOPNOTSUPP: files in this directory need a name. */
int reel_os_file_open_nameless(const char *directory);

/* Opens a new file with a name: replaces the last six characters of the path. */
int reel_os_file_open_named(char *path);
/* Creates a file of this name. -EEXIST: something has this name. */
int reel_os_file_open_new(const char *path);
/* Opens a file for reading. -EEXIST: something else has this name, and is not opened. */
int reel_os_file_open_to_read(const char *path);
/* Opens or creates a file for reading and writing. -EEXIST: something else has this name. */
int reel_os_file_open_shared(const char *path);
/*
 * Opens a file that this user alone can open, or with `creates` creates it. -EPERM: the file
 * belongs to another user, can be opened by others, has a second name, or is no regular file.
 */
int reel_os_file_open_private(const char *path, bool creates);
/*
 * Maps a file of `bytes` bytes, so that all processes see the changes; an empty file is
 * filled with zeros first. -EPERM: it has another size.
 */
int reel_os_file_map(int file, size_t bytes, void **map);
int reel_os_file_empty(int file);
/* Returns 0 if a file of this name may be created in its directory, or -errno. */
int reel_os_file_check_directory(const char *path);
/*
 * Locks the file until its descriptor is closed, also by the end of the process. Does not wait.
 * Returns 0; -EBUSY, it was opened elsewhere and is locked; or -ENOLCK, the file system has no
 * locks.
 */
int reel_os_file_lock(int file);
/* Releases the lock also if the child of a fork still has the descriptor. */
void reel_os_file_unlock(int file);
int reel_os_file_unlink(const char *path);
/* Renames a file within its directory. The new name is on the disk when this returns. */
int reel_os_file_rename(const char *from, const char *to);
int reel_os_file_sync(int file);
void reel_os_file_close(int file);

/* Returns true if the file system keeps files in memory. */
bool reel_os_file_is_in_memory(int file);

/* Returns the bytes that the file system has left, or UINT64_MAX if that is not known. */
uint64_t reel_os_file_room(int file);

/* Returns the largest size to which this process may let a file grow. */
uint64_t reel_os_file_max_bytes(void);

/*
 * Finds the alignment of memory, lengths and offsets past the page cache; 0 if that is not
 * possible. -EOPNOTSUPP: the system does not say.
 */
int reel_os_file_direct_alignment(int file, size_t *alignment);
int reel_os_file_set_direct(int file, bool direct);

/* Allocates room on the disk. -EOPNOTSUPP: the file system allocates room when it is written. */
int reel_os_file_allocate(int file, uint64_t offset, uint64_t bytes);

ssize_t reel_os_file_write(int file, const struct iovec *pieces, int count, uint64_t offset);
ssize_t reel_os_file_read(int file, const struct iovec *pieces, int count, uint64_t offset);

/*
 * Writes the pages of the cache out and waits. An error of any page of the file is reported once.
 */
int reel_os_file_write_back(int file, uint64_t offset, uint64_t bytes);

/* Frees the pages of the cache for bytes that are not read again soon. */
void reel_os_file_forget(int file, uint64_t offset, uint64_t bytes);

#endif
