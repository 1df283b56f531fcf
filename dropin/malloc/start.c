/* SPDX-License-Identifier: MIT */
/*
 * Reads the environment when the library is loaded, and writes the statistics at exit. One thread
 * runs the constructor, before the program starts. Requests before that, such as those of the
 * loader, go to the system's allocator.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"
#include "os/cancel.h"
#include "os/environment.h"
#include "os/signals.h"

#define DEFAULT_MIN ((size_t)128 << 10)
/* In smaller blocks the page for the offset would waste more than the eighth that classes waste. */
#define SMALLEST_MIN ((size_t)32 << 10)

static bool wants_stats;

static size_t read_bytes(const char *name, size_t least, size_t otherwise, const char *remedy)
{
	const char *text = reel_environment(name);
	size_t bytes;
	int error;

	if (!text)
		return otherwise;
	error = reel_parse_bytes(text, &bytes);
	if (!error && bytes >= least)
		return bytes;
	if (error == -ERANGE)
		remedy = "it is more than can be addressed";
	reel_environment_refuse(name, text, remedy);
	return otherwise;
}

static bool read_switch(const char *name)
{
	const char *text = reel_environment(name);

	if (!text || !strcmp(text, "0"))
		return false;
	if (!strcmp(text, "1"))
		return true;
	reel_environment_refuse(name, text, "it must be 0 or 1");
	return false;
}

static size_t memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
}

__attribute__((constructor)) static void start(void)
{
	struct blocks_settings settings = {.memory = memory_bytes()};

	wants_stats = read_switch("REEL_MALLOC_STATS");
	settings.least = read_bytes("REEL_MALLOC_MIN", SMALLEST_MIN, DEFAULT_MIN,
				    "it must be at least 32K: bytes, or a number with K, M, G or T");
	settings.budget = read_bytes("REEL_MALLOC_BUDGET", 0, settings.memory / 2,
				     "it must be bytes, or a number with K, M, G or T");
	blocks_open(&settings);
}

/* Uses write() and not stdio, because many programs close stderr in an exit handler. */
__attribute__((destructor)) static void report(void)
{
	REEL_UNCANCELLED;
	REEL_UNSIGNALLED;
	struct blocks_counts counts;
	char line[200];
	ssize_t written;
	int bytes;

	if (!wants_stats)
		return;
	blocks_get_counts(&counts);
	bytes = snprintf(line, sizeof line,
			 "reel: malloc: %" PRIu64 " blocks, %" PRIu64 " recycled, peak %" PRIu64
			 " bytes, given back %" PRIu64 " bytes\n",
			 counts.served, counts.recycled, counts.peak_bytes, counts.given_back);
	written = write(STDERR_FILENO, line, (size_t)bytes);
	(void)written;
}
