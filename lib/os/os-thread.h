/* SPDX-License-Identifier: MIT */
#ifndef REEL_LIB_OS_THREAD_H
#define REEL_LIB_OS_THREAD_H

#include <pthread.h>

/*
 * Starts a thread in which no signal of the program is handled, on all processors of the process.
 * Debuggers show its name, of at most 15 characters. Returns 0, or -errno with a text: the remedy.
 */
int reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
			 const char *name);

/* Returns the number of processors that the process may use, at least 1. */
unsigned reel_os_processors(void);

#endif
