/* SPDX-License-Identifier: MIT */
/*
 * The files that the environment asks for: a trace, a profile. A file of the same kind is
 * overwritten, another one is not. Processes that write at the same time have a file each. Any
 * thread.
 */
#include "config.h"

#include "output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/environment.h"
#include "os/os-file.h"

#define MAX_SECOND 100

/*
 * FILE.json becomes FILE-PID.json: another process writes to FILE.json now. Processes of two
 * machines may have the same number, so there is a second one from 1 on.
 */
static void name_for_process(char *name, size_t bytes, const char *path, unsigned second)
{
	char numbers[48];
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	int stem = (int)(dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path));

	snprintf(numbers, sizeof numbers, second ? "%ld-%u" : "%ld", (long)getpid(), second);
	snprintf(name, bytes, "%.*s-%s%s", stem, path, numbers, path + stem);
}

/* Returns whether the file may be overwritten: it is empty, or of the same kind. */
static bool begins_like(int file, const char *magic)
{
	char text[REEL_OUTPUT_MAGIC];
	size_t length = strlen(magic);
	struct iovec piece = {.iov_base = text, .iov_len = length};
	ssize_t got;

	REEL_ASSERT(length <= sizeof text);
	got = reel_os_file_read(file, &piece, 1, 0);
	return !got || (got == (ssize_t)length && !memcmp(text, magic, length));
}

/* Returns 0 and an empty file that is locked; -EBUSY, another process has it; or another error. */
static int open_file(const char *path, const char *magic, int *opened)
{
	int file = reel_os_file_open_shared(path), error;

	if (file < 0)
		return file;
	error = reel_os_file_lock(file);
	if (!error && !begins_like(file, magic))
		error = -EEXIST;
	if (!error)
		error = reel_os_file_empty(file);
	if (error)
		reel_os_file_close(file);
	else
		*opened = file;
	/* Without locks another process may write to the file, and would end with it. */
	return error == -ENOLCK ? -EBUSY : error;
}

int reel_output_open(const char *path, const char *magic, int *file)
{
	REEL_UNCANCELLED;
	char name[4096];
	int error = open_file(path, magic, file);

	for (unsigned second = 0; error == -EBUSY && second < MAX_SECOND; second++) {
		name_for_process(name, sizeof name, path, second);
		*file = reel_os_file_open_new(name);
		error = *file == -EEXIST ? -EBUSY : *file < 0 ? *file : 0;
		if (!error)
			reel_os_file_lock(*file);
	}
	return error;
}

const char *reel_output_path(const char *variable, bool *is_asked)
{
	bool was_asked = *is_asked;

	*is_asked = true;
	return was_asked ? NULL : reel_environment(variable);
}

void reel_output_refuse(const char *variable, const char *path, int error)
{
	const char *why = strerror(-error);

	REEL_ASSERT(error < 0);
	if (error == -EEXIST)
		why = "another kind of file has this name; choose another name";
	if (error == -ERANGE)
		why = "its size must be at least 1M";
	reel_environment_refuse(variable, path, why);
}
