/* SPDX-License-Identifier: MIT */
/* What the source of a program says about an address in it. */
#ifndef REEL_TOOLS_PROFILE_H
#define REEL_TOOLS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* Where code lies in memory: an address less `bias` is one in the file. */
struct code {
	uint64_t begin, end, bias;
	const char *path;
};

struct frame {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	int line;
};

struct source;

/* Opens the files that can be read. NULL: nothing is known of any address. */
struct source *source_open(const struct code *code, int count);
void source_close(struct source *source);
/* What stands at an address. What it names is kept until the source is closed. */
struct frame source_frame(struct source *source, uint64_t address);

#endif
