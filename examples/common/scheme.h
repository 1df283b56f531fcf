/* SPDX-License-Identifier: MIT */
/*
 * The text of --checkpoint: a plan, such as binomial:8 or auto, which reel_problem_from_text() of
 * reel/plan.h reads.
 */
#ifndef EXAMPLES_SCHEME_H
#define EXAMPLES_SCHEME_H

#include <stdint.h>

#include <reel/plan.h>

struct scheme {
	const char *text;
	enum reel_planner planner;
	int has_disk;              /* the plan keeps states on a disk */
};

/* Ends the program if the text is no plan. */
struct scheme scheme_read(const char *text);

/* The problem of a loop of this number of steps, without its end for REEL_ONLINE. */
struct reel_problem scheme_problem(const struct scheme *scheme, int64_t steps);

/* The lines of --help. */
void scheme_print_help(void);

#endif
