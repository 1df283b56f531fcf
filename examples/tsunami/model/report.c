/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void (*failure_cleanup)(void);

void set_failure_cleanup(void (*cleanup)(void))
{
	failure_cleanup = cleanup;
}

_Noreturn void fail(const char *format, ...)
{
	va_list arguments;

	fputs("tsunami: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	if (failure_cleanup)
		failure_cleanup();
	exit(EXIT_UNUSABLE);
}

void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		fail("no memory for %zu values of %zu bytes; choose a coarser --resolution",
		     count, size);
	return memory;
}

double wall_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double physical_memory_bytes(void)
{
	return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

unsigned long long peak_resident_bytes(void)
{
	struct rusage usage;

	/* Linux reports kibibytes. */
	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return 0;
	return 1024ull * (unsigned long long)usage.ru_maxrss;
}
