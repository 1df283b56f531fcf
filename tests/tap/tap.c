/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "tap/tap.h"

#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Guarded by the lock of stdout, so that numbers come in the order of lines. */
static int checks;
static int failures;

static pid_t owner;
static char directory[PATH_MAX];

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

static void remove_directory(void)
{
	if (getpid() != owner || chdir("/") != 0)
		return;
	if (nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
		printf("# cannot remove %s\n", directory);
}

/* A child ends with an error for its own failures only. */
static void forget_failures(void)
{
	failures = 0;
}

void tap_begin(void)
{
	const char *parent = getenv("TMPDIR");

	/* A child of fork() must not find lines of its parent in its buffer. */
	setvbuf(stdout, NULL, _IOLBF, 0);

	owner = getpid();
	snprintf(directory, sizeof(directory), "%s/reel-test-XXXXXX", parent ? parent : "/tmp");
	if (!mkdtemp(directory) || chdir(directory) != 0) {
		printf("Bail out! cannot make %s\n", directory);
		exit(EXIT_FAILURE);
	}
	atexit(remove_directory);
	pthread_atfork(NULL, NULL, forget_failures);
}

int tap_end(void)
{
	printf("1..%d\n", checks);
	return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void tap_skip_all(const char *format, ...)
{
	va_list arguments;

	printf("1..0 # SKIP ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	exit(EXIT_SUCCESS);
}

#if REEL_COVERAGE && defined __clang__
int __llvm_profile_write_file(void);
#define WRITE_COUNTS() ((void)__llvm_profile_write_file())
#elif REEL_COVERAGE
void __gcov_dump(void);
#define WRITE_COUNTS() __gcov_dump()
#else
#define WRITE_COUNTS() ((void)0)
#endif

/* What the child has counted for coverage, unless it could not write a file of that size. */
static void write_counts(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur == RLIM_INFINITY)
		WRITE_COUNTS();
}

void tap_child_end(void)
{
	write_counts();
	/* Not exit(): handlers and streams are the parent's. */
	_exit(failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

bool tap_child_passed(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child &&
	       WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

void tap_case(const char *name)
{
	printf("# %s\n", name);
}

void tap_note(const char *format, ...)
{
	va_list arguments;

	flockfile(stdout);
	printf("# ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	funlockfile(stdout);
}

void tap_skip(int number, const char *format, ...)
{
	va_list arguments;

	flockfile(stdout);
	/* Those of a child are not numbered, as its other checks. */
	while (getpid() == owner && number-- > 0) {
		printf("ok %d # SKIP ", ++checks);
		va_start(arguments, format);
		vprintf(format, arguments);
		va_end(arguments);
		printf("\n");
	}
	funlockfile(stdout);
}

/* One line for one check. Returns with stdout locked, for lines that say more. */
static void report(bool passed, struct tap_place place, const char *format, va_list arguments)
{
	bool numbered = getpid() == owner;

	flockfile(stdout);
	failures += !passed;
	if (numbered)
		printf("%s %d - ", passed ? "ok" : "not ok", ++checks);
	else if (!passed)
		printf("# in a child, not ok - ");
	if (numbered || !passed) {
		vprintf(format, arguments);
		printf("\n");
	}
	if (!passed)
		printf("#   %s:%d: %s\n", place.file, place.line, place.text);
}

/* What all checks end with: the arguments print what was seen and wanted. */
#define REPORT(passed, ...) \
	do { \
		va_list arguments; \
		va_start(arguments, format); \
		report((passed), place, format, arguments); \
		va_end(arguments); \
		if (!(passed)) \
			printf(__VA_ARGS__); \
		funlockfile(stdout); \
	} while (0)

bool tap_ok(bool passed, struct tap_place place, const char *format, ...)
{
	REPORT(passed, "%s", "");
	return passed;
}

bool tap_is_int(long long seen, long long wanted, struct tap_place place, const char *format, ...)
{
	bool passed = seen == wanted;

	REPORT(passed, "#   seen %lld, wanted %lld\n", seen, wanted);
	return passed;
}

bool tap_is_double(double seen, double wanted, struct tap_place place, const char *format, ...)
{
	bool passed = memcmp(&seen, &wanted, sizeof(seen)) == 0;

	REPORT(passed, "#   seen %a, wanted %a\n", seen, wanted);
	return passed;
}

bool tap_is_pointer(const void *seen, const void *wanted, struct tap_place place, const char *format, ...)
{
	bool passed = seen == wanted;

	REPORT(passed, "#   seen %p, wanted %p\n", seen, wanted);
	return passed;
}

bool tap_is_string(const char *seen, const char *wanted, struct tap_place place, const char *format, ...)
{
	bool passed = seen && wanted ? strcmp(seen, wanted) == 0 : seen == wanted;

	REPORT(passed, "#   seen \"%s\", wanted \"%s\"\n", seen ? seen : "(null)", wanted ? wanted : "(null)");
	return passed;
}
