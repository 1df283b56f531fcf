/* SPDX-License-Identifier: MIT */
/* The functions that the files of `reel plan` share. */
#ifndef REEL_TOOLS_PLAN_H
#define REEL_TOOLS_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <reel/plan.h>

struct request {
	struct reel_problem problem;
	enum reel_planner planner;
	const char *plan_text; /* as reel_problem_from_text() reads it; NULL: the default */
	struct reel_costs costs;
	int64_t workers;
	const char *plot;       /* NULL: none */
	const char *steps_file; /* of the costs of each step; NULL: none */
	/* The first given option of those for a plan, and for a choice by cost; or NULL. */
	const char *plan_option;
	const char *cost_option;
	bool has_steps;
	bool json;
	bool actions;
};

/* Read the words to a request: 0, or an exit status after reporting the mistake. */
int plan_read_request(struct request *request, int count, char **words);

/* Report a mistake of the call; returns EXIT_USAGE. */
int plan_refuse(const char *what, const char *why);

/* Report an error (0: none) and return the exit status. */
int plan_status(int error);

/* Read a number of bytes such as 1.5G. */
bool plan_read_size(double *bytes, const char *text);

/* Carry out `reel plan --costs` of costs, and of a file: an exit status. */
int plan_by_costs(const struct request *request);
int plan_uneven(const struct request *request);

/* Print the counts of a plan, or the parts that the request asks for: an exit status. */
int plan_show(const struct request *request, const reel_plan *plan, int64_t steps);

/* Print the actions and draw the plan, each if the request asks for it: an exit status. */
int plan_show_parts(const struct request *request, const reel_plan *plan,
		    const struct reel_problem *problem, int64_t steps);

/*
 * Get the next action. A loop of unknown length ends after `steps` steps. Skips an advance of 0
 * steps.
 */
void plan_next_action(reel_schedule *schedule, int64_t steps, reel_action *action);

/* Draw the plan as SVG: an exit status. On failure, report it and remove the file. */
int plan_draw(const reel_plan *plan, const struct reel_problem *problem, int64_t steps,
	      const char *path);

#endif
