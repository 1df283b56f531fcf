/* SPDX-License-Identifier: MIT */
/* Files: one request to the system a function. Any thread; no state. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/vfs.h>
#endif

#include "os-file.h"

/* Most programs that close descriptors in a loop end below this one. */
#define HIGH_DESCRIPTOR 1024
/* The lowest descriptor that no stream of a program has by habit. */
#define LOW_DESCRIPTOR (STDERR_FILENO + 1)
#define PAGE 4096

static int high_descriptor(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 2 >= HIGH_DESCRIPTOR)
		return HIGH_DESCRIPTOR;
	return limit.rlim_cur / 2 > LOW_DESCRIPTOR ? (int)(limit.rlim_cur / 2) : LOW_DESCRIPTOR;
}

int reel_os_file_raise(int file)
{
	int high = fcntl(file, F_DUPFD_CLOEXEC, high_descriptor());
	int error;

	if (high < 0 && file >= LOW_DESCRIPTOR)
		return file;
	if (high < 0)
		high = fcntl(file, F_DUPFD_CLOEXEC, LOW_DESCRIPTOR);
	error = errno;
	close(file);
	return high >= 0 ? high : -error;
}

/* Returns the descriptor that open() returned, at a high number, or -errno. */
static int opened(int file)
{
	return file >= 0 ? reel_os_file_raise(file) : -errno;
}

int reel_os_file_identify(int file, struct reel_os_file_identity *identity)
{
	struct stat status;

	if (fstat(file, &status))
		return -errno;
	*identity = (struct reel_os_file_identity){status.st_dev, status.st_ino};
	return 0;
}

bool reel_os_file_is(int file, const struct reel_os_file_identity *identity)
{
	struct reel_os_file_identity other = {0};

	return !reel_os_file_identify(file, &other) && other.device == identity->device &&
	       other.inode == identity->inode;
}

uint64_t reel_os_file_bytes(int file, const struct reel_os_file_identity *identity)
{
	struct stat status;

	if (fstat(file, &status) || status.st_dev != identity->device ||
	    status.st_ino != identity->inode)
		return 0;
	return (uint64_t)status.st_size;
}

bool reel_os_file_has_name(int file, const char *path)
{
	struct stat status;

	return !lstat(path, &status) &&
	       reel_os_file_is(file, &(struct reel_os_file_identity){status.st_dev, status.st_ino});
}

void reel_os_file_close_if(int file, const struct reel_os_file_identity *identity)
{
	if (reel_os_file_is(file, identity))
		close(file);
}

void *reel_os_file_pin(int file)
{
	void *pin = mmap(NULL, PAGE, PROT_NONE, MAP_SHARED, file, 0);

	return pin != MAP_FAILED ? pin : NULL;
}

void reel_os_file_unpin(void *pin)
{
	if (pin)
		munmap(pin, PAGE);
}

/*
 * A file system without such files says EOPNOTSUPP; a kernel that does not know the flag takes it
 * for an attempt to write to a directory.
 */
int reel_os_file_open_nameless(const char *directory)
{
#ifdef O_TMPFILE
	int file = open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);

	if (file < 0 && (errno == EISDIR || errno == EINVAL))
		return -EOPNOTSUPP;
	return opened(file);
#else
	(void)directory;
	return -EOPNOTSUPP;
#endif
}

/* mkostemp() makes the file with mode 0600, and does not follow a link of that name. */
int reel_os_file_open_named(char *path)
{
	return opened(mkostemp(path, O_CLOEXEC));
}

/* O_EXCL: a link of this name is not followed either. */
int reel_os_file_open_new(const char *path)
{
	return opened(open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

/*
 * The open of a FIFO waits for a writer, and the open of a device may act on the device.
 * O_NONBLOCK: a FIFO that takes the name after the lstat() does not make the open wait.
 */
int reel_os_file_open_to_read(const char *path)
{
	struct stat status;

	if (lstat(path, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EEXIST;
	return opened(open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

/* O_NONBLOCK: the open of a FIFO does not wait for its other end. */
int reel_os_file_open_shared(const char *path)
{
	int file = opened(open(path, O_CREAT | O_RDWR | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR));
	struct stat status;

	if (file < 0 || (!fstat(file, &status) && S_ISREG(status.st_mode)))
		return file;
	close(file);
	return -EEXIST;
}

int reel_os_file_open_private(const char *path, bool creates)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (creates ? O_CREAT : 0);
	int file = opened(open(path, flags, S_IRUSR | S_IWUSR));
	struct stat status;

	if (file < 0)
		return file == -ELOOP ? -EPERM : file;
	if (!fstat(file, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    (status.st_mode & 07777) == (S_IRUSR | S_IWUSR) && status.st_nlink <= 1)
		return file;
	close(file);
	return -EPERM;
}

/* A file without its pages would end a process that writes to it when the system has none left. */
int reel_os_file_map(int file, size_t bytes, void **map)
{
	struct stat status;
	int error = fstat(file, &status) ? -errno : 0;

	if (!error && !status.st_size)
		error = reel_os_file_allocate(file, 0, bytes);
	else if (!error && status.st_size != (off_t)bytes)
		error = -EPERM;
	if (error == -EOPNOTSUPP)
		error = ftruncate(file, (off_t)bytes) ? -errno : 0;
	if (error)
		return error;
	*map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	return *map == MAP_FAILED ? -errno : 0;
}

int reel_os_file_empty(int file)
{
	return ftruncate(file, 0) ? -errno : 0;
}

int reel_os_file_check_directory(const char *path)
{
	char *copy = strdup(path);
	const char *directory;
	struct stat status;
	int error = 0;

	if (!copy)
		return -ENOMEM;
	directory = dirname(copy);
	if (stat(directory, &status))
		error = -errno;
	else if (!S_ISDIR(status.st_mode))
		error = -ENOTDIR;
	else if (access(directory, W_OK | X_OK))
		error = -errno;
	free(copy);
	return error;
}

int reel_os_file_lock(int file)
{
	if (!flock(file, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -ENOLCK;
}

void reel_os_file_unlock(int file)
{
	flock(file, LOCK_UN);
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

/* As in <linux/magic.h>, which not every C library comes with. */
#define TMPFS 0x01021994u
#define RAMFS 0x858458f6u
#define HUGETLBFS 0x958458f6u

bool reel_os_file_is_in_memory(int file)
{
#ifdef __linux__
	struct statfs system;
	/* The type is signed on some machines. */
	uint32_t type = fstatfs(file, &system) ? 0 : (uint32_t)system.f_type;

	return type == TMPFS || type == RAMFS || type == HUGETLBFS;
#else
	(void)file;
	return false;
#endif
}

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

int reel_os_file_direct_alignment(int file, size_t *alignment)
{
#if HAVE_STATX && defined(STATX_DIOALIGN)
	struct statx status;

	/* Rarely reached: only a kernel before 6.1 refuses it. */
	if (statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status))
		return errno == ENOSYS ? -EOPNOTSUPP : -errno;
	if (!(status.stx_mask & STATX_DIOALIGN))
		return -EOPNOTSUPP;
	*alignment = status.stx_dio_mem_align > status.stx_dio_offset_align ?
		     status.stx_dio_mem_align : status.stx_dio_offset_align;
	if (!status.stx_dio_offset_align)
		*alignment = 0;
	return 0;
#else
	(void)file;
	(void)alignment;
	return -EOPNOTSUPP;
#endif
}

int reel_os_file_set_direct(int file, bool direct)
{
#ifdef O_DIRECT
	int flags = fcntl(file, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
	return fcntl(file, F_SETFL, flags) ? -errno : 0;
#else
	(void)file;
	return direct ? -EOPNOTSUPP : 0;
#endif
}

/*
 * Not posix_fallocate(), which writes zeros where the file system cannot allocate. A file system or
 * a kernel may have no fallocate(). Some file systems of users (FUSE) then say EINVAL or ENOTTY,
 * though the arguments are right.
 */
int reel_os_file_allocate(int file, uint64_t offset, uint64_t bytes)
{
#ifdef __linux__
	if (!fallocate(file, 0, (off_t)offset, (off_t)bytes))
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != ENOTTY)
		return -errno;
#else
	(void)file;
	(void)offset;
	(void)bytes;
#endif
	return -EOPNOTSUPP;
}

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

/* sync_file_range() where it exists: fdatasync() also commits the file system's journal. */
int reel_os_file_write_back(int file, uint64_t offset, uint64_t bytes)
{
#ifdef SYNC_FILE_RANGE_WRITE
	if (!sync_file_range(file, (off_t)offset, (off_t)bytes,
			     SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			     SYNC_FILE_RANGE_WAIT_AFTER))
		return 0;
	/* Rarely reached: only an emulated kernel lacks sync_file_range(). */
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
