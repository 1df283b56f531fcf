/* SPDX-License-Identifier: MIT */
/* What the parts of `reel plan` share. */
#ifndef REEL_TOOLS_PLAN_H
#define REEL_TOOLS_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <reel/plan.h>

struct request {
	struct reel_problem problem;
	enum reel_planner planner;
	struct reel_costs costs;
	int64_t workers;
	const char *plot; /* NULL: none */
	/* The first option that was given of those for a plan, and for a choice by cost. */
	const char *plan_option;
	const char *cost_option;
	bool has_planner;
	bool has_steps;
	bool has_disk;
	bool json;
	bool actions;
};

/* Read the words to a request: 0 or an exit status, what is wrong having been said. */
int plan_read_request(struct request *request, int count, char **words);

/* Say what is wrong with the call; returns EXIT_USAGE. */
int plan_refuse(const char *what, const char *why);

/* Say what has gone wrong; an exit status. 0: nothing. */
int plan_status(int error);

/* What a worker, or several by look-ahead, take; the counts are those of a checked plan. */
struct plan_workers {
	bool look_ahead;
	double makespan;
	int64_t peak_tape_steps;
};
struct plan_workers plan_look_ahead(const struct reel_problem *problem, int64_t workers,
				    const struct reel_schedule_report *report);

/* The verb's other way: an exit status. */
int plan_by_costs(const struct request *request);

/* Print the actions if they are asked for, and draw the plan if that is: an exit status. */
int plan_show_parts(const struct request *request, const reel_plan *plan,
		    const struct reel_problem *problem, int64_t steps);

/*
 * The next action, where the end of a loop that is unknown comes after `steps` steps. An
 * advance of no steps is passed over.
 */
void plan_next_action(reel_schedule *schedule, int64_t steps, reel_action *action);

/* Draw the plan as SVG; 0 or -errno, and no file is left then. */
int plan_draw(const reel_plan *plan, const struct reel_problem *problem, int64_t steps,
	      const char *path);

#endif
