/* SPDX-License-Identifier: MIT */
/*
 * Cancellation. A thread that is cancelled (pthread_cancel) ends at its next cancellation point: a
 * wait, most requests to the system, output. A thread that ended so inside the library would leave
 * a lock locked, or memory that a transfer still writes to, and other threads would wait for ever.
 * Therefore no function of the library is a cancellation point. Each function that waits, makes
 * such a request, or calls a store, begins with
 *
 *	REEL_UNCANCELLED;
 *
 * which disables cancellation until the function returns. The request stays pending, and the
 * program meets it at a cancellation point of its own. This nests, and costs some nanoseconds;
 * no push or pop that is served from memory calls such a function.
 *
 * A callback or an error handler of the program may leave by longjmp(), which would leave
 * cancellation disabled. So no such function calls one, except in the threads of reel_omp_call().
 */
#ifndef REEL_LIB_CANCEL_H
#define REEL_LIB_CANCEL_H

#include <pthread.h>

/* A system without cancellation does not define its states. */
static inline int reel_cancel_disable(void)
{
	int before = 0;

#ifdef PTHREAD_CANCEL_DISABLE
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
#endif
	return before;
}

static inline void reel_cancel_restore(const int *before)
{
#ifdef PTHREAD_CANCEL_DISABLE
	int ignored;

	pthread_setcancelstate(*before, &ignored);
#else
	(void)before;
#endif
}

#define REEL_UNCANCELLED                                                                           \
	__attribute__((cleanup(reel_cancel_restore), unused)) const int reel_cancel_before =       \
		reel_cancel_disable()

#endif
