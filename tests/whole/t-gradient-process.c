/* SPDX-License-Identifier: MIT */
/*
 * A whole program in processes that are killed, limited and interrupted. A process that is killed
 * at any time leaves nothing but its restart file, from which another process computes the right
 * gradient. A process that runs beside it has the right gradient, too. GRADIENT_KILLS=N kills N
 * processes, at times drawn by GRADIENT_SEED; GRADIENT_ONLY=kills runs no other test.
 * GRADIENT_RUNS=N runs no test, but the program N times in this process, for tools that make its
 * calls fail: each run has the right gradient or an error.
 */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <reel/extend.h>

#include "os/annotate.h"
#ifdef _OPENMP
#include <omp.h>
#endif

#include "helpers/gradient-program.h"
#include "helpers/pool-support.h"
#include "helpers/process-support.h"

/* Exit statuses of a child, besides 0. */
enum { WRONG = 1, REFUSED = 2 };

#define NOBODY 65534

static struct gradient_options options;
static struct gradient expected;

/* Threads of OpenMP do not survive a fork: only children run the program. */
static pid_t start(void (*body)(void))
{
	pid_t child = fork_with_timeout();

	if (child == 0) {
		body();
		_exit(WRONG);
	}
	return child;
}

static int end_of(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Returns 0 for the right gradient, REFUSED for an error with a text, and WRONG otherwise. */
static int run_once(void)
{
	struct gradient_report report;
	struct gradient gradient;
	int error = gradient_run(&options, &gradient, &report);

	if (!error)
		return memcmp(&gradient, &expected, sizeof expected) ? WRONG : 0;
	if (getenv("GRADIENT_VERBOSE"))
		fprintf(stderr, "# error %d: %s\n", error, report.message);
	return *report.message && !report.told_twice ? REFUSED : WRONG;
}

static void run_and_exit(void)
{
	_exit(run_once());
}

static void run_for_ever(void)
{
	while (!run_once())
		;
}

/* ---- Kills ---- */

/* Runs beside the process that is killed, in a directory with another restart file. */
static void survive(void)
{
	if (chdir("beside"))
		_exit(WRONG);
	run_and_exit();
}

static bool is_restart_file(const char *name)
{
	return !strcmp(name, "restart") || !strcmp(name, "restart.new");
}

/* Returns the number of files other than the restart file and the file that is to replace it. */
static unsigned strangers(void)
{
	DIR *names = opendir(".");
	struct dirent *name;
	unsigned count = 0;

	while ((name = readdir(names)))
		count += name->d_name[0] != '.' && strcmp(name->d_name, "beside") &&
			 !is_restart_file(name->d_name);
	closedir(names);
	return count;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
	nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

static int64_t run_ns(void)
{
	int64_t begin = now_ns();

	is_int(end_of(start(run_and_exit)), 0, "the program runs");
	return now_ns() - begin;
}

static struct {
	unsigned killed, wrong, left, resumed, torn;
} kills;

/* Kills the program at a random time, so in any of its states. */
static void kill_one(unsigned number, int64_t max_ns)
{
	pid_t child = start(run_for_ever), beside = start(survive);

	sleep_ns((int64_t)(scramble(number) % (uint64_t)max_ns));
	kill(child, SIGKILL);
	kills.killed += end_of(child) == -SIGKILL;
	kills.left += strangers();
	kills.resumed += access("restart", F_OK) == 0;
	kills.torn += access("restart.new", F_OK) == 0;
	kills.wrong += end_of(start(run_and_exit)) != 0;
	kills.wrong += end_of(beside) != 0;
	kills.left += names_in(".") != 3 || names_in("beside") != 2;
}

static unsigned number_in(const char *variable, unsigned otherwise)
{
	const char *number = getenv(variable);

	return number ? (unsigned)strtoul(number, NULL, 10) : otherwise;
}

static void processes_are_killed(void)
{
	unsigned wanted = number_in("GRADIENT_KILLS", is_brief() ? 5 : 15);
	unsigned shared = names_shared(), first = number_in("GRADIENT_SEED", 0);
	int64_t max_ns;

	tap_case("processes that are killed");
	mkdir("beside", 0700);
	max_ns = 2 * run_ns();
	for (unsigned i = 0; i < wanted; i++)
		kill_one(first + i, max_ns);
	is_int(kills.killed, wanted, "as many processes as wanted are killed");
	is_int(kills.wrong, 0, "resumed processes, and those beside them, have the right gradient");
	if (files_have_no_name())
		is_int(kills.left, 0, "nothing but restart files is left, and those are used up");
	else
		tap_skip(1, "a file has a name here until it is unlinked");
	is_int(names_shared(), shared, "no shared memory is left");
	tap_note("kills %u resumed %u torn %u", kills.killed, kills.resumed, kills.torn);
	rmdir("beside");
}

/* ---- Limits ---- */

static rlim_t most;

static void limit_file_size(void)
{
	LIMIT(RLIMIT_FSIZE, most << 14);
	run_and_exit();
}

static void limit_descriptors(void)
{
#ifdef _OPENMP
	/* Starts OpenMP before the limit: it opens a file at its start, or ends the program. */
	omp_get_max_threads();
#endif
	LIMIT(RLIMIT_NOFILE, 3 + most);
	run_and_exit();
}

#if defined(REEL_ADDRESS_SANITIZER) || defined(REEL_THREAD_SANITIZER)
static void limit_address_space(void)
{
	_exit(CANNOT);
}
#else
/* One thread: OpenMP ends the program if it cannot start a thread. */
static void limit_address_space(void)
{
	if (is_emulated())
		_exit(CANNOT);
	options.threads = 1;
	LIMIT(RLIMIT_AS, address_space() + (most << 22));
	run_and_exit();
}
#endif

/* Root has no limit of threads, so it becomes another user. */
static void limit_threads(void)
{
	options.threads = 1;
	if (getuid() == 0 &&
	    (chmod(".", 0777) || setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		_exit(CANNOT);
	LIMIT(RLIMIT_NPROC, most);
	run_and_exit();
}

/* Raises the limit until the program has what it needs. */
static void a_limit(const char *what, void (*body)(void), bool is_reached)
{
	unsigned refused = 0;
	int end = REFUSED;

	tap_case(what);
	for (most = 0; most < 400 && end == REFUSED; most += 1 + most / 8) {
		end = end_of(start(body));
		refused += end == REFUSED;
	}
	if (end == CANNOT) {
		tap_skip(1, "%s cannot be limited here", what);
		return;
	}
	unlink("restart");
	unlink("restart.new");
	is_int(end, is_reached ? 0 : end == REFUSED ? REFUSED : 0,
	       "is an error %u times, then the right gradient", refused);
	is_int(names_in("."), 2, "nothing is left");
}

/* ---- Signals ---- */

static void note_alarm(int signal)
{
	(void)signal;
}

/* Without SA_RESTART each wait ends early. */
static void be_interrupted(void)
{
	struct sigaction action = {.sa_handler = note_alarm};
	struct itimerval timer = {{0, 200}, {0, 200}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	run_and_exit();
}

static void signals_interrupt_everything(void)
{
	tap_case("a signal every 200 us");
	is_int(end_of(start(be_interrupted)), 0, "a signal is no error");
}

/* One thread: OpenMP's runtimes end the program when a call of theirs fails. */
static int run_here(unsigned runs)
{
	unsigned ends[REFUSED + 1] = {0};

	options.threads = 1;
	for (unsigned i = 0; i < runs; i++)
		ends[run_once()]++;
	printf("# runs %u wrong %u errors %u\n", runs, ends[WRONG], ends[REFUSED]);
	return ends[WRONG] ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(void)
{
	unsigned runs = number_in("GRADIENT_RUNS", 0);

	options = gradient_defaults();
	gradient_expected(&options, &expected);
	if (runs)
		return run_here(runs);
	tap_begin();
	processes_are_killed();
	if (getenv("GRADIENT_ONLY"))
		return tap_end();
	a_limit("file size", limit_file_size, true);
	a_limit("descriptors", limit_descriptors, true);
	a_limit("address space", limit_address_space, true);
	a_limit("threads", limit_threads, false);
	signals_interrupt_everything();
	return tap_end();
}
