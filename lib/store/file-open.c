/* SPDX-License-Identifier: MIT */
/*
 * Opens the file of a store: without a name, in the directory of the options or the environment,
 * and past the page cache if the file system allows it. The thread that opens the store calls this;
 * on failure no file stays.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/assert.h"
#include "os/environment.h"
#include "os/os-file.h"
#include "os/os.h"
#include "store-file.h"

/* The part of a path that a text shows, so that the remedy still has room. */
#define SHOWN "%.100s"

/* The page cache takes any alignment; this one keeps data in whole cache lines. */
#define BUFFERED_ALIGN ((size_t)64)

static const char *directory_of(const struct reel_file_options *options)
{
	/* Some clusters with Slurm name the disk of a job's node so, and leave TMPDIR at /tmp. */
	static const char *const names[] = {"REEL_SPILL_DIR", "SLURM_TMPDIR", "TMPDIR"};
	const char *directory = options->directory;

	for (size_t i = 0; !directory && i < sizeof names / sizeof *names; i++)
		directory = reel_environment(names[i]);
	return directory;
}

static int open_named(const char *directory)
{
	static const char name[] = "/reel-spill-XXXXXX";
	size_t bytes = strlen(directory) + sizeof name;
	char *path = malloc(bytes);
	int file, error;

	if (!path)
		return -ENOMEM;
	snprintf(path, bytes, "%s%s", directory, name);
	file = reel_os_file_open_named(path);
	error = file < 0 ? file : reel_os_file_unlink(path);
	free(path);
	if (file >= 0 && error)
		reel_os_file_close(file);
	return error ? error : file;
}

static int open_in(const char *directory)
{
	int file = reel_os_file_open_nameless(directory);

	return file == -EOPNOTSUPP ? open_named(directory) : file;
}

/* Tries a direct write. Not above the limit of a file's size, where a write raises a signal. */
static bool takes_direct_writes(int file, size_t bytes)
{
	void *block;
	ssize_t written;

	REEL_ASSERT(bytes >= REEL_FILE_BLOCK);
	if (reel_os_file_max_bytes() < bytes)
		return false;
	block = reel_os_map(bytes, bytes);
	if (!block)
		return false;
	written = reel_os_file_write(file, &(struct iovec){block, bytes}, 1, 0);
	reel_os_unmap(block, bytes);
	return written == (ssize_t)bytes;
}

/* Returns the alignment for direct reads and writes, or 0 if these are not possible. */
static size_t find_alignment(int file)
{
	size_t align = 0;
	int error = reel_os_file_direct_alignment(file, &align);

	if ((error && error != -EOPNOTSUPP) || (!error && !align) || align > reel_os_page_bytes())
		return 0;
	if (align < REEL_FILE_BLOCK)
		align = REEL_FILE_BLOCK;
	if (reel_os_file_set_direct(file, true))
		return 0;
	if (!error || takes_direct_writes(file, align))
		return align;
	reel_os_file_set_direct(file, false);
	return 0;
}

static void choose_alignment(struct reel_file *file, unsigned flags)
{
	size_t align = flags & REEL_FILE_BUFFERED ? 0 : find_alignment(file->descriptor);

	file->direct = align != 0;
	file->align = align ? align : BUFFERED_ALIGN;
	file->header_bytes = align ? align : REEL_FILE_BLOCK;
	REEL_ASSERT(!(file->align & (file->align - 1)) && file->header_bytes >= REEL_HEADER_BYTES);
}

int reel_file_open(struct reel_file *file, const struct reel_file_options *options)
{
	/* If the caller has named a directory, the environment does not count. */
	const char *remedy = options->directory ? "name" : "set REEL_SPILL_DIR to";
	const char *directory = directory_of(options);
	int descriptor, error;

	if (!directory || !*directory)
		return reel_fail(-EINVAL, "no directory for the file; set REEL_SPILL_DIR "
					  "to one on a disk");
	descriptor = open_in(directory);
	if (descriptor < 0)
		return reel_fail(descriptor,
				 "no file can be made in " SHOWN ": %s; %s a "
				 "directory where one can",
				 directory, strerror(-descriptor), remedy);
	if (!(options->flags & REEL_FILE_TMPFS) && reel_os_file_is_in_memory(descriptor)) {
		reel_os_file_close(descriptor);
		return reel_fail(-EINVAL,
				 "files in " SHOWN " are kept in memory; %s a "
				 "directory on a disk",
				 directory, remedy);
	}
	error = reel_os_file_identify(descriptor, &file->identity);
	if (error) {
		reel_os_file_close(descriptor);
		return reel_fail(error, "the file has no status: %s", strerror(-error));
	}
	file->pin = reel_os_file_pin(descriptor);
	file->descriptor = descriptor;
	choose_alignment(file, options->flags);
	return 0;
}

void reel_file_close(struct reel_file *file)
{
	reel_os_file_close_if(file->descriptor, &file->identity);
	reel_os_file_unpin(file->pin);
}
