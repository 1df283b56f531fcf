/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/vfs.h>
#endif

#include "os-file.h"

#ifdef O_TMPFILE
/*
 * A file system without such files says EOPNOTSUPP; a kernel that does not know
 * the flag takes it for an attempt to write to a directory.
 */
int reel_os_file_open_nameless(const char *directory)
{
	int file = open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);

	if (file >= 0)
		return file;
	return errno == EISDIR || errno == EINVAL ? -EOPNOTSUPP : -errno;
}
#else
int reel_os_file_open_nameless(const char *directory)
{
	(void)directory;
	return -EOPNOTSUPP;
}
#endif

/* mkostemp() makes the file with mode 0600, and does not follow a link of that name. */
int reel_os_file_open_named(char *path)
{
	int file = mkostemp(path, O_CLOEXEC);

	return file >= 0 ? file : -errno;
}

/* Nor is a link followed here: it is something of this name. */
int reel_os_file_open_new(const char *path)
{
	int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);

	return file >= 0 ? file : -errno;
}

/*
 * The open of a FIFO waits for a writer, and the open of a device may act on the device.
 * O_NONBLOCK: a FIFO that takes the name after the lstat() does not make the open wait.
 */
int reel_os_file_open_to_read(const char *path)
{
	struct stat status;
	int file;

	if (lstat(path, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EEXIST;
	file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return file >= 0 ? file : -errno;
}

int reel_os_file_sync(int file)
{
	return fsync(file) ? -errno : 0;
}

/* A file system that cannot sync a directory has nothing to write for it. */
static int sync_directory_of(const char *path)
{
	char *copy = strdup(path);
	int directory, error;

	if (!copy)
		return -ENOMEM;
	directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (directory < 0)
		return -errno;
	error = fsync(directory) && errno != EINVAL ? -errno : 0;
	close(directory);
	return error;
}

int reel_os_file_rename(const char *from, const char *to)
{
	return rename(from, to) ? -errno : sync_directory_of(to);
}

int reel_os_file_unlink(const char *path)
{
	return unlink(path) ? -errno : 0;
}

void reel_os_file_close(int file)
{
	close(file);
}

#ifdef __linux__
/* As in <linux/magic.h>, which not every C library comes with. */
#define TMPFS 0x01021994u
#define RAMFS 0x858458f6u
#define HUGETLBFS 0x958458f6u

bool reel_os_file_is_in_memory(int file)
{
	struct statfs system;

	if (fstatfs(file, &system))
		return false;
	/* The type is signed on some machines. */
	switch ((uint32_t)system.f_type) {
	case TMPFS:
	case RAMFS:
	case HUGETLBFS:
		return true;
	default:
		return false;
	}
}
#else
bool reel_os_file_is_in_memory(int file)
{
	(void)file;
	return false;
}
#endif

uint64_t reel_os_file_room(int file)
{
	struct statvfs system;

	if (fstatvfs(file, &system))
		return UINT64_MAX;
	return (uint64_t)system.f_bavail * system.f_frsize;
}

uint64_t reel_os_file_max_bytes(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

#ifdef STATX_DIOALIGN
int reel_os_file_direct_alignment(int file, size_t *alignment)
{
	struct statx status;

	if (statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status))
		return errno == ENOSYS ? -EOPNOTSUPP : -errno;
	if (!(status.stx_mask & STATX_DIOALIGN))
		return -EOPNOTSUPP;
	*alignment = status.stx_dio_mem_align > status.stx_dio_offset_align ?
		     status.stx_dio_mem_align : status.stx_dio_offset_align;
	if (!status.stx_dio_offset_align)
		*alignment = 0;
	return 0;
}
#else
int reel_os_file_direct_alignment(int file, size_t *alignment)
{
	(void)file;
	(void)alignment;
	return -EOPNOTSUPP;
}
#endif

#ifdef O_DIRECT
int reel_os_file_set_direct(int file, bool direct)
{
	int flags = fcntl(file, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
	return fcntl(file, F_SETFL, flags) ? -errno : 0;
}
#else
int reel_os_file_set_direct(int file, bool direct)
{
	(void)file;
	return direct ? -EOPNOTSUPP : 0;
}
#endif

/* Not posix_fallocate(), which writes zeros where the file system cannot allocate. */
#ifdef __linux__
/*
 * Errors of a file system or a kernel that has no fallocate(). Some file systems of users (FUSE)
 * say EINVAL or ENOTTY, though the arguments are right.
 */
static bool means_no_allocation(int error)
{
	return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == ENOTTY;
}

int reel_os_file_allocate(int file, uint64_t offset, uint64_t bytes)
{
	if (!fallocate(file, 0, (off_t)offset, (off_t)bytes))
		return 0;
	return means_no_allocation(errno) ? -EOPNOTSUPP : -errno;
}
#else
int reel_os_file_allocate(int file, uint64_t offset, uint64_t bytes)
{
	(void)file;
	(void)offset;
	(void)bytes;
	return -EOPNOTSUPP;
}
#endif

ssize_t reel_os_file_write(int file, const struct iovec *pieces, int count, uint64_t offset)
{
	ssize_t written = pwritev(file, pieces, count, (off_t)offset);

	return written < 0 ? -errno : written;
}

ssize_t reel_os_file_read(int file, const struct iovec *pieces, int count, uint64_t offset)
{
	ssize_t got = preadv(file, pieces, count, (off_t)offset);

	return got < 0 ? -errno : got;
}

/* Not fdatasync() where it can be helped: it commits the file system's journal, too. */
int reel_os_file_write_back(int file, uint64_t offset, uint64_t bytes)
{
#ifdef SYNC_FILE_RANGE_WRITE
	if (!sync_file_range(file, (off_t)offset, (off_t)bytes,
			     SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			     SYNC_FILE_RANGE_WAIT_AFTER))
		return 0;
	if (errno != ENOSYS)
		return -errno;
#else
	(void)offset;
	(void)bytes;
#endif
	return fdatasync(file) ? -errno : 0;
}

void reel_os_file_forget(int file, uint64_t offset, uint64_t bytes)
{
#ifdef POSIX_FADV_DONTNEED
	(void)posix_fadvise(file, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
#else
	(void)file;
	(void)offset;
	(void)bytes;
#endif
}
