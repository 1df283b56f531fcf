/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "count.h"

#if defined(__linux__)

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void run_between_stops(const struct measure_variant *variant, size_t n)
{
	if (variant->before)
		variant->before(variant->context, n);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
		raise(SIGSTOP);
		measure_sink = variant->run(variant->context, n);
		raise(SIGSTOP);
	}
	_exit(1);
}

static bool stops_by(pid_t child, int signal)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFSTOPPED(status) &&
	       WSTOPSIG(status) == signal;
}

/*
 * Returns the number of single steps from one SIGSTOP of the child to the next, or -1 if the child
 * ends or stops for another reason.
 */
static long steps_between_stops(pid_t child)
{
	long steps = 0;
	int status;

	if (!stops_by(child, SIGSTOP))
		return -1;
	for (;; steps++) {
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) ||
		    waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGSTOP)
			return steps;
		if (WSTOPSIG(status) != SIGTRAP)
			return -1;
	}
}

static long steps_of(const struct measure_variant *variant, size_t n)
{
	pid_t child = fork();
	long steps;

	if (child < 0)
		return -1;
	if (child == 0)
		run_between_stops(variant, n);
	steps = steps_between_stops(child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return steps;
}

double count_instructions(const struct measure_variant *variant, size_t n)
{
	long once = steps_of(variant, n);
	long twice = once < 0 ? -1 : steps_of(variant, 2 * n);

	return twice < 0 ? -1 : (double)(twice - once) / (double)n;
}

#else

double count_instructions(const struct measure_variant *variant, size_t n)
{
	(void)variant;
	(void)n;
	return -1;
}

#endif
