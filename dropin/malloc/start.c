/* SPDX-License-Identifier: MIT */
/*
 * Reads the environment when the library is loaded, and writes the statistics at exit. One thread
 * runs the constructor, before the program starts. Earlier requests, such as the loader makes, go
 * to the system's allocator.
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

/* Leaves *bytes as it is, and says so, if the text is not a number of at least `least` bytes. */
static void read_bytes(const char *name, const char *text, size_t least, size_t *bytes,
		       const char *remedy)
{
	size_t number;
	int error = text ? reel_parse_bytes(text, &number) : -EINVAL;

	if (!error && number >= least) {
		*bytes = number;
		return;
	}
	if (error == -ERANGE)
		remedy = "it is more than can be addressed";
	reel_environment_refuse(name, text ? text : "", remedy);
}

/* A setting that is refused leaves the others in force. */
static void read_settings(struct blocks_settings *settings)
{
	enum { BUDGET, MIN, STATS };
	char *const names[] = {[BUDGET] = "budget", [MIN] = "min", [STATS] = "stats", NULL};
	const char *text = reel_environment("REEL_MALLOC");
	char *copy = text ? strdup(text) : NULL, *rest = copy, *value;

	while (rest && *rest) {
		switch (getsubopt(&rest, names, &value)) {
		case BUDGET:
			read_bytes("REEL_MALLOC=budget", value, 0, &settings->budget,
				   "it must be bytes, or a number with K, M, G or T");
			break;
		case MIN:
			read_bytes("REEL_MALLOC=min", value, SMALLEST_MIN, &settings->least,
				   "it must be at least 32K: bytes, or a number with K, M, G or T");
			break;
		case STATS:
			wants_stats |= !value;
			if (value)
				reel_environment_refuse("REEL_MALLOC=stats", value,
							"stats has no value");
			break;
		default:
			reel_environment_refuse("REEL_MALLOC", value,
						"it must be budget=BYTES, min=BYTES or stats");
		}
	}
	free(copy);
}

static size_t memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
}

__attribute__((constructor)) static void start(void)
{
	size_t memory = memory_bytes();
	struct blocks_settings settings = {
		.least = DEFAULT_MIN, .budget = memory / 2, .memory = memory};

	read_settings(&settings);
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
