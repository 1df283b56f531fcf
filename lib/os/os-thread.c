/* SPDX-License-Identifier: MIT */
/*
 * Threads of the library's own, in which no signal of the program is handled. Any thread starts
 * them; the mask of the calling thread is as before when this returns.
 *
 * A new thread inherits the processors of the thread that starts it. OpenMP or the program may have
 * bound that thread to one processor, where the new thread would only run when the other one waits.
 * So the library's threads get the processors that the process had when the library was loaded.
 */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

#include "error.h"
#include "os-thread.h"

/* All signals except faults of the thread itself, which go to the program's handler. */
static void every_signal(sigset_t *signals)
{
	sigfillset(signals);
	sigdelset(signals, SIGBUS);
	sigdelset(signals, SIGFPE);
	sigdelset(signals, SIGILL);
	sigdelset(signals, SIGSEGV);
}

#ifdef __linux__
/* Room for 8192 processors. */
struct processors {
	cpu_set_t set[8192 / CPU_SETSIZE];
};

/* The processors of the process. Written when the library is loaded. All 0: not known. */
static struct processors all;

/* Functions of OpenMP, which a program without it does not have. */
extern int omp_get_num_places(void) __attribute__((weak));
extern int omp_get_place_num_procs(int place) __attribute__((weak));
extern void omp_get_place_proc_ids(int place, int *processors) __attribute__((weak));
/* Only LLVM's runtime has this one. It binds no thread before the first parallel region. */
extern void __kmpc_fork_call(void) __attribute__((weak));

/*
 * GCC's runtime binds the first thread when it is loaded, which may be before this library is. Then
 * the places of OpenMP, which it has read by then, have the processors of the process.
 */
static bool add_places(struct processors *processors)
{
	int places = omp_get_num_places && omp_get_place_num_procs && omp_get_place_proc_ids &&
				     !__kmpc_fork_call
			     ? omp_get_num_places() : 0;
	int number[8192];

	for (int place = 0; place < places; place++) {
		int n = omp_get_place_num_procs(place);

		if (n > (int)(sizeof number / sizeof *number))
			return false;
		omp_get_place_proc_ids(place, number);
		for (int i = 0; i < n; i++)
			CPU_SET_S((size_t)number[i], sizeof processors->set, processors->set);
	}
	return places > 0;
}

/* The processors of the first thread: the thread that loads the library may be another one. */
__attribute__((constructor)) static void note_processors(void)
{
	if (!add_places(&all) && sched_getaffinity(getpid(), sizeof all.set, all.set))
		memset(&all, 0, sizeof all);
}

/*
 * Threads that inherit all processors are left alone: they get others if a batch system changes the
 * processors of the process. The kernel takes off processors that the process may not use any more.
 * If none is left it refuses, and the thread stays where it was started.
 */
static void unbind(pthread_t thread)
{
	struct processors own;

	if (!CPU_COUNT_S(sizeof all.set, all.set) ||
	    pthread_getaffinity_np(thread, sizeof own.set, own.set) ||
	    CPU_EQUAL_S(sizeof own.set, own.set, all.set))
		return;
	(void)pthread_setaffinity_np(thread, sizeof all.set, all.set);
}

unsigned reel_os_processors(void)
{
	int count = CPU_COUNT_S(sizeof all.set, all.set);

	return count > 0 ? (unsigned)count : 1;
}
#else
static void unbind(pthread_t thread)
{
	(void)thread;
}

unsigned reel_os_processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (unsigned)count : 1;
}
#endif

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
	if (!error)
		unbind(*thread);
#if defined(__linux__) && HAVE_PTHREAD_SETNAME_NP
	if (!error)
		pthread_setname_np(*thread, name);
#else
	(void)name;
#endif
	return error ? reel_fail(-error,
				 "the system starts no more threads: %s; raise the limit of "
				 "processes (ulimit -u, pids.max of the control group) or of "
				 "address space (ulimit -v)",
				 strerror(error))
		     : 0;
}
