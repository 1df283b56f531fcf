/* SPDX-License-Identifier: MIT */
/*
 * Reports that nobody can read go to a pipe without a reader, or to a file at the limit of the size
 * of files. Each case runs in its own child, because the signals of such writes end a process.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "helpers/process-support.h"
#include "helpers/support.h"
#include "os/environment.h"
#include "os/error.h"
#include "os/signals.h"

static volatile sig_atomic_t handled;

static void handle(int signal)
{
	handled = signal;
}

static void use_broken_pipe(void)
{
	int ends[2];

	if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
		_exit(CANNOT);
	close(ends[0]);
	close(ends[1]);
}

/* The lines differ, because equal lines are only counted. */
static void report_twice(void)
{
	reel_report(NULL, -EDQUOT, "no room");
	reel_report(NULL, -EDQUOT, "no time");
	reel_environment_refuse("REEL_BUDGET", "much", "it must be bytes");
}

static int report_to_pipe(void)
{
	use_broken_pipe();
	report_twice();
	return 0;
}

static int report_to_full_file(void)
{
	int file = open("full", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (file < 0 || dup2(file, STDERR_FILENO) < 0)
		return CANNOT;
	LIMIT(RLIMIT_FSIZE, 10);
	report_twice();
	return 0;
}

static int report_with_handler(void)
{
	use_broken_pipe();
	signal(SIGPIPE, handle);
	report_twice();
	return handled;
}

static int report_with_pending_signal(void)
{
	sigset_t set;

	use_broken_pipe();
	signal(SIGPIPE, handle);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGPIPE);
	report_twice();
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return handled == SIGPIPE ? 0 : 1;
}

static int write_itself(void)
{
	use_broken_pipe();
	report_twice();
	return write(STDERR_FILENO, "x", 1) < 0;
}

static int status_of(int (*run)(void))
{
	pid_t child = fork_with_timeout();
	int status = -1;

	if (!child)
		_exit(run());
	waitpid(child, &status, 0);
	return status;
}

int main(void)
{
	tap_begin();
	is_int(status_of(report_to_pipe), 0, "a report to a pipe without a reader ends no program");
	is_int(status_of(report_to_full_file), 0, "a report to a full file ends no program");
	is_int(status_of(report_with_handler), 0, "the program's handler is not called");
	is_int(status_of(report_with_pending_signal), 0, "a signal of the program's own stays pending");
	is_int(WTERMSIG(status_of(write_itself)), SIGPIPE, "the program's own writes are signalled");
	return tap_end();
}
