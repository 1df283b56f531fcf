/* SPDX-License-Identifier: MIT */
/*
 * Writes to files that are not the library's own: stderr, and files that a program names. The
 * system sends the writer SIGPIPE if nobody reads a pipe any more, and SIGXFSZ at the limit of the
 * size of files; both end the program by default. Reports must not end it. Therefore each function
 * that writes to such a file has
 *
 *	REEL_UNSIGNALLED;
 *
 * which blocks both signals of the thread until the function returns, and then takes those that the
 * function's writes have sent. A signal that was pending before, and the handlers of the program,
 * stay as they are. It nests, and costs some requests to the system, as the write does.
 */
#ifndef REEL_LIB_SIGNALS_H
#define REEL_LIB_SIGNALS_H

#include <signal.h>
#include <time.h>

struct reel_signals {
	sigset_t mask;
	sigset_t sent; /* by writes: the signals of the two that were not pending */
};

static inline struct reel_signals reel_signals_block(void)
{
	struct reel_signals before;
	sigset_t pending;

	sigpending(&pending);
	sigemptyset(&before.sent);
	/* A signal that is pending is blocked. */
	if (!sigismember(&pending, SIGPIPE))
		sigaddset(&before.sent, SIGPIPE);
	if (!sigismember(&pending, SIGXFSZ))
		sigaddset(&before.sent, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &before.sent, &before.mask);
	return before;
}

static inline void reel_signals_restore(const struct reel_signals *before)
{
	const struct timespec now = {0};

	while (sigtimedwait(&before->sent, NULL, &now) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
}

#define REEL_UNSIGNALLED                                                                           \
	__attribute__((cleanup(reel_signals_restore), unused)) const struct reel_signals           \
		reel_signals_before = reel_signals_block()

#endif
