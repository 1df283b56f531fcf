/* SPDX-License-Identifier: MIT */
/*
 * A thread that is cancelled before it calls the library: each cancellation point would end it,
 * whether it waits there or not.
 */
#ifndef TESTS_CANCEL_SUPPORT_H
#define TESTS_CANCEL_SUPPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct cancelled {
	void (*body)(void *argument);
	void *argument;
	bool came_back;
	bool went_on;
};

static inline void *run_cancelled(void *argument)
{
	struct cancelled *cancelled = (struct cancelled *)argument;

	pthread_cancel(pthread_self());
	cancelled->body(cancelled->argument);
	cancelled->came_back = true;
	pthread_testcancel();
	cancelled->went_on = true;
	return NULL;
}

/*
 * Calls body(argument), which may not print, in such a thread. True: the thread came back, and
 * ended at the first cancellation point after that. If it did not come back, it may have left a
 * lock locked, so the program ends.
 */
static inline bool outlasts_cancellation(void (*body)(void *argument), void *argument)
{
	struct cancelled cancelled = {body, argument, false, false};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_cancelled, &cancelled))
		abort();
	pthread_join(thread, NULL);
	if (!cancelled.came_back) {
		printf("Bail out! a function of the library is a cancellation point\n");
		exit(EXIT_FAILURE);
	}
	return !cancelled.went_on;
}

#endif
