/* SPDX-License-Identifier: MIT */
/*
 * What --checkpoint says: a planner and its numbers, as binomial:8, or auto.
 */
#ifndef EXAMPLES_SCHEME_H
#define EXAMPLES_SCHEME_H

#include <stdint.h>

#include <reel/plan.h>

struct scheme {
	const char *text;
	int automatic;
	enum reel_planner planner;
	int64_t states;      /* in memory */
	int64_t disk_states; /* 0: none, or without limit */
	int64_t period;      /* in segments */
	int64_t tape_states; /* a segment's tape, in states */
};

/* Ends the program for a text that is none. */
struct scheme scheme_read(const char *text);

/* Whether it keeps states on the disk. */
int scheme_has_disk(const struct scheme *scheme);

/* The lines of --help. */
void scheme_print_help(void);

#endif
