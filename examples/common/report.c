/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <reel.h>

static const char *program = "example";
static void (*failure_cleanup)(void);
static int own_rank, reporter; /* the rank that reports an error at once */
static void (*end_processes)(int status);

/* Seconds in which the reporter has ended the other ranks, if it has found the same error. */
#define MOMENT 2

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

void report_as_rank(int rank, void (*end_all)(int status))
{
	own_rank = rank;
	end_processes = end_all;
}

void report_from(int rank)
{
	reporter = rank;
}

static _Noreturn void end(int status)
{
	if (failure_cleanup)
		failure_cleanup();
	if (end_processes)
		end_processes(status);
	exit(status);
}

_Noreturn void fail(const char *format, ...)
{
	va_list arguments;
	char text[2000], from[32] = "";

	if (own_rank != reporter) {
		sleep(MOMENT);
		snprintf(from, sizeof(from), "rank %d: ", own_rank);
	}
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* In one piece, since other processes may write there. */
	fprintf(stderr, "%s: %s%s\n", program, from, text);
	end(EXIT_UNUSABLE);
}

_Noreturn void stop(const char *text)
{
	if (own_rank == 0)
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

/* A pool that obeys the limits, also of control groups, has this budget. */
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

const char *budget_remedy(int error)
{
	return error == -EDQUOT ? "; choose a larger --budget" : "";
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
