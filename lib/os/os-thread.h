/* SPDX-License-Identifier: MIT */
#ifndef REEL_LIB_OS_THREAD_H
#define REEL_LIB_OS_THREAD_H

#include <pthread.h>

/*
 * A thread of the library's own: no signal of the program is handled there. The
 * name, of at most 15 characters, is what debuggers show. 0, or -errno.
 */
int reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
			 const char *name);

#endif
