/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <signal.h>

#include "os-thread.h"

/* A fault of the thread itself still goes to the program's handler. */
static void every_signal(sigset_t *signals)
{
	sigfillset(signals);
	sigdelset(signals, SIGBUS);
	sigdelset(signals, SIGFPE);
	sigdelset(signals, SIGILL);
	sigdelset(signals, SIGSEGV);
}

/* The new thread inherits the mask. */
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
