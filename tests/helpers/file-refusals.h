/* SPDX-License-Identifier: MIT */
/*
 * Refusals of files and threads, as refusals.h says. Linked with --wrap for each function
 * below.
 */
#ifndef TESTS_FILE_REFUSALS_H
#define TESTS_FILE_REFUSALS_H

#include <config.h>

#include "os/os-file.h"
#include "os/os-thread.h"
#include "refusals.h"

/* The error of the system for a file: a negative errno. */
static int file_refusal;

static inline int file_refusal_of(unsigned kind)
{
	return is_refused(kind) ? file_refusal : 0;
}

#define REFUSED_CALL(kind, result, name, parameters, arguments)                                    \
	result __real_##name parameters;                                                           \
	result __wrap_##name parameters;                                                           \
	result __wrap_##name parameters                                                            \
	{                                                                                          \
		int error = file_refusal_of(kind);                                                 \
                                                                                                   \
		return error ? error : __real_##name arguments;                                    \
	}

REFUSED_CALL(REFUSE_OPEN, int, reel_os_file_open_nameless, (const char *directory), (directory))
REFUSED_CALL(REFUSE_OPEN, int, reel_os_file_open_named, (char *path), (path))
REFUSED_CALL(REFUSE_OPEN, int, reel_os_file_open_new, (const char *path), (path))
REFUSED_CALL(REFUSE_OPEN, int, reel_os_file_open_to_read, (const char *path), (path))
REFUSED_CALL(REFUSE_ALLOCATION, int, reel_os_file_allocate,
	     (int file, uint64_t offset, uint64_t bytes), (file, offset, bytes))
REFUSED_CALL(REFUSE_WRITE, ssize_t, reel_os_file_write,
	     (int file, const struct iovec *pieces, int count, uint64_t offset),
	     (file, pieces, count, offset))
REFUSED_CALL(REFUSE_READ, ssize_t, reel_os_file_read,
	     (int file, const struct iovec *pieces, int count, uint64_t offset),
	     (file, pieces, count, offset))
REFUSED_CALL(REFUSE_SYNC, int, reel_os_file_sync, (int file), (file))
REFUSED_CALL(REFUSE_SYNC, int, reel_os_file_write_back,
	     (int file, uint64_t offset, uint64_t bytes), (file, offset, bytes))
REFUSED_CALL(REFUSE_NAME, int, reel_os_file_rename, (const char *from, const char *to), (from, to))
REFUSED_CALL(REFUSE_NAME, int, reel_os_file_unlink, (const char *path), (path))

int __real_reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
				const char *name);
int __wrap_reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
				const char *name);

int __wrap_reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
				const char *name)
{
	if (is_refused(REFUSE_THREAD))
		return -EAGAIN;
	return __real_reel_os_thread_start(thread, body, argument, name);
}

#endif
