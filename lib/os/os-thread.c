/* SPDX-License-Identifier: MIT */
/*
 * Threads of the library's own, in which no signal of the program is handled. Any thread starts
 * them; the mask of the calling thread is as before when this returns.
 */
#include "config.h"

#include <signal.h>

#include "os-thread.h"

/* All signals but those of a fault of the thread itself, which go to the program's handler. */
static void every_signal(sigset_t *signals)
{
	sigfillset(signals);
	sigdelset(signals, SIGBUS);
	sigdelset(signals, SIGFPE);
	sigdelset(signals, SIGILL);
	sigdelset(signals, SIGSEGV);
}

/* Blocks the signals while the thread starts, since it inherits the mask. */
int reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
			 const char *name)
{
	sigset_t signals, before;
	int error;

	every_signal(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	error = pthread_create(thread, NULL, body, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
#if defined(__linux__) && HAVE_PTHREAD_SETNAME_NP
	if (!error)
		pthread_setname_np(*thread, name);
#else
	(void)name;
#endif
	return -error;
}
