/* SPDX-License-Identifier: MIT */
#include "scheme.h"

#include <stdio.h>

#include <reel.h>

#include "report.h"

static struct reel_problem read_problem(const char *text, int64_t steps, enum reel_planner *planner)
{
	struct reel_problem problem = {.steps = steps};

	if (reel_problem_from_text(&problem, planner, text))
		fail("--checkpoint: %s; --help explains them", reel_error_text(0));
	if (*planner == REEL_ONLINE)
		problem.steps = REEL_UNKNOWN_STEPS;
	return problem;
}

struct scheme scheme_read(const char *text)
{
	struct scheme scheme = {.text = text};
	struct reel_problem problem = read_problem(text, 1, &scheme.planner);
	reel_plan *plan;

	/* Refuses numbers that are too large before the program calculates with them. */
	if (reel_plan_open(&plan, scheme.planner, &problem))
		fail("--checkpoint %s: %s", text, reel_error_text(0));
	reel_plan_close(plan);
	scheme.has_disk = problem.tiers > 1;
	return scheme;
}

struct reel_problem scheme_problem(const struct scheme *scheme, int64_t steps)
{
	enum reel_planner planner;

	return read_problem(scheme->text, steps, &planner);
}

void scheme_print_help(void)
{
	puts("    store-all                         the tape of all steps\n"
	     "    binomial:SLOTS                    least steps run again (Revolve)\n"
	     "    online:SLOTS                      not told the number of steps\n"
	     "    mixed:SLOTS:TAPE_STATES           keeps tapes instead of states where it pays\n"
	     "    multistage:SLOTS:STORE_SLOTS      binomial over both, the busiest in memory\n"
	     "    two-level:SLOTS:PERIOD            a state on the disk each PERIOD segments\n"
	     "    hierarchical:SLOTS:STORE_SLOTS    least time (H-Revolve)\n"
	     "    disk-revolve:SLOTS                the same, any number on the disk, read once\n"
	     "    periodic:SLOTS:PERIOD             the same with even gaps\n"
	     "    all                               the state before each segment, on the disk\n"
	     "    auto                              measures steps, memory and disk as it runs");
}
