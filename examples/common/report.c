/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <reel.h>

static const char *program = "example";
static void (*failure_cleanup)(void);

void report_as(const char *name)
{
	program = name;
}

static void keep_silent(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

void report_alone(void)
{
	reel_set_error_handler(keep_silent, NULL);
}

void set_failure_cleanup(void (*cleanup)(void))
{
	failure_cleanup = cleanup;
}

_Noreturn void fail(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", program);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	if (failure_cleanup)
		failure_cleanup();
	exit(EXIT_UNUSABLE);
}

_Noreturn void stop(const char *text)
{
	fprintf(stderr, "%s: %s with the same options\n", program, text);
	if (failure_cleanup)
		failure_cleanup();
	exit(EXIT_CONTINUED);
}

void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		fail("no memory for %zu values of %zu bytes; choose a smaller problem",
		     count, size);
	return memory;
}

double wall_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A pool that obeys the limits, of control groups, too, has this budget. */
uint64_t default_budget_bytes(void)
{
	const struct reel_pool_options options = {.flags = REEL_POOL_OBEY_LIMITS};
	struct reel_pool_stats stats;
	reel_pool *pool;

	if (reel_pool_open(&pool, &options))
		fail("the memory that can be used is not known: %s; choose a --budget",
		     reel_error_text(0));
	reel_pool_get_stats(pool, &stats);
	reel_pool_close(pool);
	return stats.hard_budget;
}

double memory_limit_bytes(void)
{
	return 2.0 * (double)default_budget_bytes();
}

unsigned long long peak_resident_bytes(void)
{
	struct rusage usage;

	/* Linux reports kibibytes. */
	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return 0;
	return 1024ull * (unsigned long long)usage.ru_maxrss;
}
