/* SPDX-License-Identifier: MIT */
/*
 * Requests to save all runs of the process. Any thread and any signal handler makes them; the
 * threads that own runs look for them between two actions. The environment is read once.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <reel/run.h>

#include "os/clock.h"
#include "os/environment.h"
#include "os/numerals.h"
#include "save-request.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t requests;
static _Atomic bool ends;
/* The time at which all sweeps are to end, in ns; 0: none, or it has come. */
static _Atomic uint64_t end_at;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_BOOL_LOCK_FREE == 2,
	       "a signal handler may use atomics only if they are lock-free");

void reel_save_now(int end)
{
	/* Relaxed: the release below orders it. */
	if (end)
		atomic_store_explicit(&ends, true, memory_order_relaxed);
	/* Release: pairs with the acquire in reel_save_requests(). Makes `ends` visible. */
	atomic_fetch_add_explicit(&requests, 1, memory_order_release);
}

uint32_t reel_save_requests(void)
{
	/* Relaxed: of all threads that see that the time has come, one takes it. */
	uint64_t end = atomic_load_explicit(&end_at, memory_order_relaxed);

	if (end && reel_clock_ns() >= end &&
	    atomic_exchange_explicit(&end_at, 0, memory_order_relaxed))
		reel_save_now(1);
	/* Acquire: pairs with the release in reel_save_now(). */
	return atomic_load_explicit(&requests, memory_order_acquire);
}

bool reel_save_ends(void)
{
	/* Relaxed: the acquire in reel_save_requests() came before. */
	return atomic_load_explicit(&ends, memory_order_relaxed);
}

/* ---- The environment ---- */

static void save(int signal)
{
	(void)signal;
	reel_save_now(0);
}

static void save_and_end(int signal)
{
	(void)signal;
	reel_save_now(1);
}

static int signal_of(const char *name)
{
	static const struct {
		const char *name;
		int signal;
	} known[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"INT", SIGINT},
		     {"HUP", SIGHUP}, {"CONT", SIGCONT}, {"XCPU", SIGXCPU}};

	if (!strncmp(name, "SIG", 3))
		name += 3;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(name, known[i].name))
			return known[i].signal;
	return 0;
}

/*
 * Returns why the signal is left alone, or NULL. A handler of the program's own stays: the program
 * knows best how it ends.
 */
static const char *problem_with(int signal)
{
	struct sigaction before;

	if (!signal)
		return "it must be USR1, USR2, TERM, INT, HUP, CONT or XCPU";
	if (sigaction(signal, NULL, &before))
		return strerror(errno);
	if (before.sa_handler == save)
		return "REEL_SAVE_SIGNAL names the same signal; name another one";
	return before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN
		       ? NULL
		       : "the program handles this signal itself: let it call reel_save_now()";
}

static void handle(const char *variable, void (*handler)(int))
{
	const char *name = reel_environment(variable);
	int signal = name ? signal_of(name) : 0;
	const char *problem = name ? problem_with(signal) : NULL;
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	if (!name)
		return;
	if (problem) {
		reel_environment_refuse(variable, name, problem);
		return;
	}
	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

static void read_end(void)
{
	const char *text = reel_environment("REEL_END_AFTER");
	char *rest;
	double seconds;

	if (!text)
		return;
	seconds = reel_parse_number(text, &rest);
	if (*rest || !(seconds > 0 && seconds < 1e9)) {
		reel_environment_refuse("REEL_END_AFTER", text, "it must be a number of seconds");
		return;
	}
	/* Relaxed: pthread_once() makes it visible. */
	atomic_store_explicit(&end_at, reel_clock_ns() + (uint64_t)(seconds * REEL_SECOND_NS),
			      memory_order_relaxed);
}

static void read_environment(void)
{
	handle("REEL_SAVE_SIGNAL", save);
	handle("REEL_END_SIGNAL", save_and_end);
	read_end();
}

void reel_save_request_open(void)
{
	pthread_once(&once, read_environment);
}
