/* SPDX-License-Identifier: MIT */
/*
 * Writes and reads restart files. The thread that owns the run runs these functions. A file is
 * the magic, the data of the caller and a trailer. A file under PATH is complete, since it is
 * renamed only after a sync. A file without the magic is never removed or replaced.
 */
#include "config.h"

#include "restart-file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "store/crc32c.h"
#include "os/os-file.h"

struct trailer {
	uint64_t bytes; /* length of the file before the trailer */
	uint32_t crc;
	char end[4];
};

static const char magic[REEL_RESTART_MAGIC_BYTES] = {'R', 'e', 'e', 'l', 'R', 'u', 'n', '\n'};
static const char end_mark[4] = {'l', 'e', 'e', 'r'};

/*
 * Notes which file was opened, or closes it. While the file is open, the program's callbacks and
 * its other threads run, and may close descriptors that they did not open.
 */
static int identify(struct reel_restart_file *file)
{
	int error = reel_os_file_identify(file->file, &file->identity);

	REEL_ASSERT(file->file >= 0);
	if (error)
		reel_os_file_close(file->file);
	return error;
}

static bool is_ours(const struct reel_restart_file *file)
{
	return reel_os_file_is(file->file, &file->identity);
}

/* Returns -EBADMSG if the file is shorter than the magic or begins with other bytes. */
static int read_magic(struct reel_restart_file *file)
{
	char begins[REEL_RESTART_MAGIC_BYTES];
	int error = reel_restart_file_read(file, begins, sizeof begins);

	REEL_ASSERT(error || file->offset == REEL_RESTART_MAGIC_BYTES);
	if (error)
		return error;
	return memcmp(begins, magic, sizeof begins) ? -EBADMSG : 0;
}

/* ---- Writing ---- */

static void name_beside(char beside[REEL_RESTART_NAME_BYTES], const char *path)
{
	REEL_ASSERT(strlen(path) + sizeof REEL_RESTART_BESIDE <= REEL_RESTART_NAME_BYTES);
	snprintf(beside, REEL_RESTART_NAME_BYTES, "%s%s", path, REEL_RESTART_BESIDE);
}

/* Returns 0 if the file at `path` begins with the magic or nothing has this name. */
static int examine(const char *path, bool may_be_empty)
{
	struct reel_restart_file file = {.file = reel_os_file_open_to_read(path)};
	int error;

	if (file.file == -ENOENT || file.file == -ENOTDIR)
		return 0;
	if (file.file < 0)
		return file.file;
	error = identify(&file);
	if (error)
		return error;
	error = read_magic(&file);
	reel_restart_file_close(&file);
	REEL_ASSERT(file.offset <= REEL_RESTART_MAGIC_BYTES);
	if (error == -EBADMSG)
		return may_be_empty && !file.offset ? 0 : -EEXIST;
	return error;
}

/* Fails when the run opens, where the first file would fail minutes later. */
static int check_name(const char *path)
{
	size_t length = strlen(path);

	if (!length || path[length - 1] == '/')
		return -EINVAL;
	if (length + sizeof REEL_RESTART_BESIDE > REEL_RESTART_NAME_BYTES)
		return -ENAMETOOLONG;
	return reel_os_file_check_directory(path);
}

int reel_restart_file_check(const char *path, const char **suffix)
{
	REEL_UNCANCELLED;
	char beside[REEL_RESTART_NAME_BYTES];
	int error = check_name(path);

	*suffix = "";
	if (!error)
		error = examine(path, false);
	if (error)
		return error;
	*suffix = REEL_RESTART_BESIDE;
	name_beside(beside, path);
	return examine(beside, true);
}

static int ignore_absence(int error)
{
	return error == -ENOENT || error == -ENOTDIR ? 0 : error;
}

static int remove_one(const char *path)
{
	int error = examine(path, false);

	if (!error)
		error = reel_os_file_unlink(path);
	return ignore_absence(error);
}

/*
 * Locks PATH.new and makes sure that the file still has this name. Only the owner of the lock may
 * remove or rename the file, so two processes with one path do not destroy each other's files.
 */
static int lock_beside(int file, const char *beside)
{
	int error = reel_os_file_lock(file);

	REEL_ASSERT(file >= 0);
	/* Without locks it is for the user to give each process a path of its own. */
	if (error == -ENOLCK)
		error = 0;
	return !error && !reel_os_file_has_name(file, beside) ? -EBUSY : error;
}

static int remove_locked(const char *beside)
{
	int file = reel_os_file_open_to_read(beside);
	int error;

	if (file < 0)
		return file;
	error = lock_beside(file, beside);
	if (!error)
		error = reel_os_file_unlink(beside);
	reel_os_file_close(file);
	return error;
}

/* -EBUSY: another process, or another run of this one, is writing PATH.new. */
static int remove_beside(const char *beside)
{
	int error = examine(beside, true);

	return ignore_absence(error ? error : remove_locked(beside));
}

/*
 * Creates PATH.new. The name is always the same, so that a later process finds and removes the file
 * of a killed one. The file is locked until it has been renamed and is closed.
 */
static int open_beside(struct reel_restart_file *file)
{
	int error = examine(file->path, false);

	REEL_ASSERT(!file->offset && !file->error);
	if (!error)
		error = remove_beside(file->beside);
	if (error)
		return error;
	file->file = reel_os_file_open_new(file->beside);
	if (file->file < 0)
		return file->file;
	error = identify(file);
	if (error)
		return error;
	error = lock_beside(file->file, file->beside);
	if (error)
		reel_os_file_close(file->file);
	return error;
}

int reel_restart_file_create(struct reel_restart_file *file, const char *path)
{
	int error;

	*file = (struct reel_restart_file){.path = path};
	name_beside(file->beside, path);
	error = open_beside(file);
	if (!error)
		reel_restart_file_write(file, magic, sizeof magic);
	return error;
}

/*
 * Writes `bytes` bytes at the end. It fails above the limit of file size (RLIMIT_FSIZE), where the
 * system would send a signal that ends the program.
 */
static int write_all(struct reel_restart_file *file, const char *data, size_t bytes)
{
	REEL_ASSERT(!file->error && *file->beside);
	if (file->offset + bytes > reel_os_file_max_bytes())
		return -EFBIG;
	while (bytes) {
		struct iovec piece = {(void *)(uintptr_t)data, bytes};
		ssize_t written = is_ours(file) ?
			reel_os_file_write(file->file, &piece, 1, file->offset) : -EBADF;

		if (written == -EINTR)
			continue;
		if (written <= 0)
			return written ? (int)written : -EIO;
		data += written;
		bytes -= (size_t)written;
		file->offset += (uint64_t)written;
	}
	return 0;
}

void reel_restart_file_write(struct reel_restart_file *file, const void *data, size_t bytes)
{
	if (file->error)
		return;
	REEL_ASSERT(bytes == 0 || data);
	file->crc = reel_crc32c(file->crc, data, bytes);
	file->error = write_all(file, data, bytes);
}

static int write_trailer(struct reel_restart_file *file)
{
	struct trailer trailer = {.bytes = file->offset, .crc = file->crc};

	REEL_ASSERT(file->offset >= REEL_RESTART_MAGIC_BYTES);
	memcpy(trailer.end, end_mark, sizeof end_mark);
	return write_all(file, (const char *)&trailer, sizeof trailer);
}

int reel_restart_file_finish(struct reel_restart_file *file)
{
	int error = file->error ? file->error : write_trailer(file);

	REEL_ASSERT(*file->beside && file->file >= 0);
	if (!error && !is_ours(file))
		error = -EBADF;
	return error ? error : reel_os_file_sync(file->file);
}

/* Renames PATH.new to PATH; or PATH to PATH.new, if `aside`. */
static int swap_names(const char *path, const char *beside, bool aside)
{
	int error = examine(path, false);

	if (!error)
		error = examine(beside, true);
	if (error)
		return error;
	return aside ? reel_os_file_rename(path, beside) : reel_os_file_rename(beside, path);
}

int reel_restart_file_rename(const char *path)
{
	REEL_UNCANCELLED;
	char beside[REEL_RESTART_NAME_BYTES];

	name_beside(beside, path);
	return swap_names(path, beside, false);
}

int reel_restart_file_set_aside(const char *path)
{
	REEL_UNCANCELLED;
	char beside[REEL_RESTART_NAME_BYTES];

	name_beside(beside, path);
	return ignore_absence(swap_names(path, beside, true));
}

int reel_restart_file_publish(struct reel_restart_file *file)
{
	int error = swap_names(file->path, file->beside, false);

	REEL_ASSERT(!file->error);
	if (error)
		reel_restart_file_abandon(file);
	else
		reel_restart_file_close(file);
	return error;
}

void reel_restart_file_abandon(struct reel_restart_file *file)
{
	REEL_ASSERT(*file->beside && file->file >= 0);
	reel_restart_file_close(file);
	remove_beside(file->beside);
}

int reel_restart_file_remove(const char *path)
{
	char beside[REEL_RESTART_NAME_BYTES];
	int error = remove_one(path), left;

	name_beside(beside, path);
	left = remove_beside(beside);
	return error ? error : left;
}

/* ---- Reading ---- */

static int read_some(struct reel_restart_file *file, char *data, size_t bytes, size_t *got)
{
	struct iovec piece = {data, bytes};
	ssize_t read;

	do
		read = is_ours(file) ? reel_os_file_read(file->file, &piece, 1, file->offset) :
			-EBADF;
	while (read == -EINTR);
	if (read < 0)
		return (int)read;
	REEL_ASSERT((size_t)read <= bytes);
	*got = (size_t)read;
	file->offset += (uint64_t)read;
	return 0;
}

int reel_restart_file_read(struct reel_restart_file *file, void *data, size_t bytes)
{
	char *at = data;

	REEL_ASSERT(!file->bytes || file->offset <= file->bytes);
	/* The trailer is not data, whatever sizes the file says its parts have. */
	if (file->bytes && bytes > file->bytes - file->offset)
		return -EBADMSG;
	while (bytes) {
		size_t got = 0;
		int error = read_some(file, at, bytes, &got);

		if (error || !got)
			return error ? error : -EBADMSG;
		at += got;
		bytes -= got;
	}
	return 0;
}

/*
 * Reads the whole file and computes the CRC of all bytes but the trailer. The last bytes read are
 * held back, since they are the trailer if nothing follows.
 */
static int read_through(struct reel_restart_file *file, uint32_t *crc, struct trailer *trailer)
{
	char piece[16384 + sizeof *trailer];
	size_t held = 0, got = 0;

	*crc = 0;
	do {
		int error = read_some(file, piece + held, sizeof piece - held, &got);

		if (error)
			return error;
		held += got;
		if (held > sizeof *trailer) {
			size_t whole = held - sizeof *trailer;

			*crc = reel_crc32c(*crc, piece, whole);
			memmove(piece, piece + whole, sizeof *trailer);
			held = sizeof *trailer;
		}
	} while (got);
	REEL_ASSERT(held <= sizeof *trailer);
	memset(trailer, 0, sizeof *trailer);
	memcpy(trailer, piece, held);
	return 0;
}

static const char *judge(const struct reel_restart_file *file, const struct trailer *trailer,
			 uint32_t crc)
{
	if (memcmp(trailer->end, end_mark, sizeof end_mark) ||
	    trailer->bytes != file->offset - sizeof *trailer)
		return "is cut off, or was never finished";
	return trailer->crc == crc ? NULL : "is damaged: its checksum is wrong";
}

static int verify(struct reel_restart_file *file, const char **wrong)
{
	struct trailer trailer;
	uint32_t crc;
	int error = read_magic(file);

	if (error == -EBADMSG) {
		*wrong = "is not a file of this kind";
		return error;
	}
	file->offset = 0;
	if (!error)
		error = read_through(file, &crc, &trailer);
	if (error)
		return error;
	*wrong = judge(file, &trailer, crc);
	file->bytes = trailer.bytes;
	file->offset = REEL_RESTART_MAGIC_BYTES;
	REEL_ASSERT(*wrong || file->bytes >= REEL_RESTART_MAGIC_BYTES);
	return *wrong ? -EBADMSG : 0;
}

int reel_restart_file_open(struct reel_restart_file *file, const char *path, const char **wrong)
{
	int error;

	*wrong = NULL;
	*file = (struct reel_restart_file){.path = path};
	file->file = reel_os_file_open_to_read(path);
	if (file->file == -EEXIST) {
		*wrong = "is not a regular file";
		return -EBADMSG;
	}
	if (file->file < 0)
		return file->file;
	error = identify(file);
	if (error)
		return error;
	error = verify(file, wrong);
	if (error)
		reel_restart_file_close(file);
	return error;
}

void reel_restart_file_close(struct reel_restart_file *file)
{
	reel_os_file_close_if(file->file, &file->identity);
}
