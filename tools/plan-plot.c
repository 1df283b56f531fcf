/* SPDX-License-Identifier: MIT */
/*
 * Draws a plan: time goes to the right, steps go up. The working state is a line that rises where
 * steps are run and falls where they are reversed. A kept state is a horizontal bar at its step, as
 * long as it is kept.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plan.h"
#include "plan/plan.h"
#include "verb.h"

#define WIDTH 960.0
#define HEIGHT 560.0
#define LEFT 64.0
#define RIGHT 24.0
#define TOP 64.0
#define BOTTOM 44.0
#define TICKS 5
/* A larger picture would be a black area. */
#define MAX_ACTIONS 200000
/* The options of the verb describe memory and a disk. */
#define PLAN_TIERS 2

struct kept {
	double since;
	int64_t state;
};

struct drawing {
	FILE *file;
	reel_schedule *schedule;
	const struct reel_problem *problem;
	int64_t steps;
	double duration;
	double now;
	/* For each tier, the slots that the plan uses. */
	struct kept *slots[PLAN_TIERS];
};

/* The style has a class for each action that is a line, and for each of these bars. */
static const char *const bars[PLAN_TIERS] = {"memory", "disk"};

static const char *const kept_in[PLAN_TIERS] = {"kept in memory", "kept on the disk"};

static double across(const struct drawing *drawing, double time)
{
	double share = drawing->duration > 0 ? time / drawing->duration : 0;

	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double up(const struct drawing *drawing, int64_t step)
{
	double share = drawing->steps ? (double)step / (double)drawing->steps : 0;

	return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

/* ---- The frame of the picture ---- */

static void put_head(FILE *file)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\">\n"
		"<title>A plan of checkpoints: steps over time</title>\n"
		"<style>\n"
		"text { font: 12px sans-serif; fill: #222 }\n"
		".sheet { fill: #fff }\n"
		".grid { stroke: #ddd }\n"
		"path { fill: none; stroke-width: 1.5; stroke-linecap: round }\n"
		".advance { stroke: #0072b2 }\n"
		".record { stroke: #d55e00 }\n"
		".reverse { stroke: #009e73 }\n"
		".bars { stroke-width: 2.5; stroke-opacity: 0.55; stroke-linecap: butt }\n"
		".memory { stroke: #e69f00 }\n"
		".disk { stroke: #cc79a7 }\n"
		"@media (prefers-color-scheme: dark) {\n"
		"text { fill: #ddd }\n"
		".sheet { fill: #161616 }\n"
		".grid { stroke: #333 }\n"
		"}\n"
		"</style>\n"
		"<rect class=\"sheet\" width=\"100%%\" height=\"100%%\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
}

static void put_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
		text);
}

static double put_entry(FILE *file, double x, const char *line_class, const char *text)
{
	fprintf(file, "<path class=\"%s\" d=\"M%.1f 36h24\"/>\n", line_class, x);
	put_text(file, x + 30, 40, "start", text);
	return x + 48 + 7.0 * (double)strlen(text);
}

static void put_legend(const struct drawing *drawing)
{
	double x = LEFT;

	for (unsigned k = 0; k < 3; k++)
		x = put_entry(drawing->file, x, reel_action_name(k), reel_action_name(k));
	for (unsigned t = 0; t < drawing->problem->tiers; t++) {
		char line_class[32];

		snprintf(line_class, sizeof line_class, "bars %s", bars[t]);
		x = put_entry(drawing->file, x, line_class, kept_in[t]);
	}
}

/* Returns the smallest of 1, 2 and 5 times a power of ten of which TICKS cover the whole. */
static double round_distance(double whole)
{
	static const double factor[] = {1.0, 2.0, 5.0};
	double least = whole / TICKS, power = 1.0;

	if (!(whole > 0.0))
		return 1.0;
	while (power > least)
		power /= 10.0;
	for (;; power *= 10.0)
		for (int i = 0; i < 3; i++)
			if (factor[i] * power >= least)
				return factor[i] * power;
}

/* The axis of the steps is at the left, the axis of the time at the bottom. */
static void put_axes(const struct drawing *drawing)
{
	FILE *file = drawing->file;
	double between = round_distance(drawing->duration);
	int64_t steps_between = (int64_t)round_distance((double)drawing->steps);
	char label[32];

	if (steps_between < 1)
		steps_between = 1;
	for (int64_t step = 0; step <= drawing->steps; step += steps_between) {
		fprintf(file, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", LEFT,
			up(drawing, step), WIDTH - RIGHT);
		snprintf(label, sizeof label, "%lld", (long long)step);
		put_text(file, LEFT - 8, up(drawing, step) + 4, "end", label);
	}
	for (int i = 0; i <= TICKS && i * between <= drawing->duration; i++) {
		double time = i * between;

		snprintf(label, sizeof label, "%.6g", time);
		put_text(file, across(drawing, time), HEIGHT - BOTTOM + 18, "middle", label);
	}
	put_text(file, LEFT - 8, TOP - 14, "end", "step");
	put_text(file, WIDTH - RIGHT, HEIGHT - 8, "end",
		 "time of one worker, in advances of a step, nothing overlapped");
}

/* ---- The plan ---- */

static void put_line(const struct drawing *drawing, const reel_action *action, double until)
{
	bool down = action->kind == REEL_ACTION_REVERSE;

	fprintf(drawing->file, "<path class=\"%s\" d=\"M%.2f %.2fL%.2f %.2f\"/>\n",
		reel_action_name(action->kind), across(drawing, drawing->now),
		up(drawing, down ? action->last : action->first), across(drawing, until),
		up(drawing, down ? action->first : action->last));
}

static void put_bar(const struct drawing *drawing, const reel_action *action,
		    const struct kept *kept)
{
	fprintf(drawing->file, "<path class=\"bars %s\" d=\"M%.2f %.2fH%.2f\"/>\n",
		bars[action->tier], across(drawing, kept->since), up(drawing, kept->state),
		across(drawing, drawing->now));
}

/* Draws an action that begins at the present time of the drawing. */
static void put_action(struct drawing *drawing, const reel_action *action)
{
	double until = drawing->now + reel_action_cost(drawing->problem, action);

	if (action->kind <= REEL_ACTION_REVERSE)
		put_line(drawing, action, until);
	else if (action->kind == REEL_ACTION_STORE)
		drawing->slots[action->tier][action->slot] =
			(struct kept){drawing->now, action->first};
	else if (action->kind == REEL_ACTION_DROP)
		put_bar(drawing, action, &drawing->slots[action->tier][action->slot]);
	drawing->now = until;
}

/*
 * Adds up the time of the plan, for the scale, and makes room for the slots that it uses. Returns
 * 0, or -E2BIG: there are too many actions.
 */
static int measure(struct drawing *drawing)
{
	size_t used[PLAN_TIERS] = {0};
	reel_action action = {0};

	for (int n = 0; action.kind != REEL_ACTION_DONE; n++) {
		if (n > MAX_ACTIONS)
			return -E2BIG;
		plan_next_action(drawing->schedule, drawing->steps, &action);
		drawing->duration += reel_action_cost(drawing->problem, &action);
		if (action.kind == REEL_ACTION_STORE && action.slot >= used[action.tier])
			used[action.tier] = (size_t)action.slot + 1;
	}
	for (unsigned t = 0; t < PLAN_TIERS; t++)
		drawing->slots[t] = need_memory(NULL, (used[t] + 1) * sizeof *drawing->slots[t]);
	reel_schedule_begin(drawing->schedule);
	return 0;
}

static void put_plan(struct drawing *drawing)
{
	reel_action action;

	do {
		plan_next_action(drawing->schedule, drawing->steps, &action);
		put_action(drawing, &action);
	} while (action.kind != REEL_ACTION_DONE);
}

static void put_picture(struct drawing *drawing)
{
	put_head(drawing->file);
	put_legend(drawing);
	put_axes(drawing);
	put_plan(drawing);
	fputs("</svg>\n", drawing->file);
}

/* ---- The file ---- */

static int close_file(FILE *file)
{
	int lost = ferror(file) ? -EIO : 0;

	errno = 0;
	if (fclose(file))
		return errno ? -errno : -EIO;
	return lost;
}

/* Removes regular files only: an output such as /dev/full must stay. */
static void remove_file(const char *path)
{
	struct stat status;

	if (lstat(path, &status) == 0 && S_ISREG(status.st_mode))
		remove(path);
}

static int write_file(struct drawing *drawing, const char *path)
{
	int error;

	drawing->file = fopen(path, "w");
	if (!drawing->file)
		return -errno;
	put_picture(drawing);
	error = close_file(drawing->file);
	if (error)
		remove_file(path);
	return error;
}

int plan_draw(const reel_plan *plan, const struct reel_problem *problem, int64_t steps,
	      const char *path)
{
	struct drawing drawing = {.problem = problem, .steps = steps};
	int error = reel_schedule_open(&drawing.schedule, plan);

	if (error)
		return plan_status(error);
	error = measure(&drawing);
	if (!error)
		error = write_file(&drawing, path);
	for (unsigned t = 0; t < PLAN_TIERS; t++)
		free(drawing.slots[t]);
	reel_schedule_close(drawing.schedule);
	if (error == -E2BIG) {
		fprintf(stderr,
			"reel plan: cannot draw to %s: the plan has more than %d actions\n", path,
			MAX_ACTIONS);
		return EXIT_FAILURE;
	}
	if (!error)
		return EXIT_SUCCESS;
	fprintf(stderr, "reel plan: cannot draw to %s: %s\n", path, strerror(-error));
	return EXIT_FAILURE;
}
