/* SPDX-License-Identifier: MIT */
/* The charts of a report: which there are, and which lines each of them has. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* Colours that colour-blind readers can tell apart (Okabe and Ito). */
static const char *const colours[MAX_SHOWN + 1] = {
	"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7",
	"#56b4e9", "#8c6d31", "#b8a800", "#808080",
};

/* An activity has one colour on all tracks. */
const struct activity_kind report_activities[ACTIVITIES] = {
	[ADVANCING] = {"advance", "#56b4e9"},
	[RECORDING] = {"record", "#0072b2"},
	[REVERSING] = {"reverse", "#009e73"},
	[IN_LANES] = {"lane", "#0072b2"},
	[PUTTING] = {"put", "#0072b2"},
	[GETTING] = {"get", "#56b4e9"},
	[WAITING_FOR_MEMORY] = {"wait for memory", "#d55e00"},
	[WAITING_FOR_SLAB] = {"wait for a slab", "#e69f00"},
	[WAITING_FOR_PUTS] = {"wait for puts", "#cc79a7"},
	[WAITING_FOR_THREADS] = {"wait for threads", "#808080"},
	[WAITING_FOR_RANK] = {"wait for a rank", "#b8a800"},
};

static void add_line(struct chart *chart, const char *name, const char *colour,
		     const double values[BINS])
{
	chart->line[chart->lines++] = (struct line){name, colour, values, false};
}

static void draw_memory(FILE *out, const struct report *report)
{
	for (int i = 0; i < report->in_use.count && i < MAX_SHOWN; i++) {
		const struct series *pool = &report->in_use.one[i];
		struct chart chart = {.note = "bytes over time", .unit = BYTES};
		double budget[BINS];

		snprintf(chart.title, sizeof chart.title,
			 report->in_use.count > 1 ? "Memory of %s" : "Memory", pool->name);
		add_line(&chart, "on tapes, in parcels and in snapshots, in memory or not",
			 colours[0], pool->values);
		add_line(&chart, "in memory", colours[1], report->resident.one[i].values);
		if (pool->hard_budget > 0) {
			for (int bin = 0; bin < BINS; bin++)
				budget[bin] = pool->hard_budget;
			add_line(&chart, "hard budget", colours[2], budget);
			chart.line[2].is_dashed = true;
		}
		report_draw(out, report, &chart);
	}
}

static int compare_greatest(const void *one, const void *other)
{
	const struct series *a = one, *b = other;

	if (a->greatest != b->greatest)
		return a->greatest < b->greatest ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* The largest ones, and all others together. */
static void draw_list(FILE *out, const struct report *report, struct series_list *list,
		      const char *title, const char *note)
{
	struct chart chart = {.note = note, .unit = BYTES, .is_stacked = true};
	double others[BINS] = {0};

	if (!list->count)
		return;
	qsort(list->one, (size_t)list->count, sizeof *list->one, compare_greatest);
	snprintf(chart.title, sizeof chart.title, "%s", title);
	for (int i = 0; i < list->count; i++) {
		if (i < MAX_SHOWN)
			add_line(&chart, list->one[i].name, colours[i], list->one[i].values);
		for (int bin = 0; i >= MAX_SHOWN && bin < BINS; bin++)
			others[bin] += list->one[i].values[bin];
	}
	if (list->count > MAX_SHOWN)
		add_line(&chart, "all others", colours[MAX_SHOWN], others);
	report_draw(out, report, &chart);
}

static void draw_store(FILE *out, const struct report *report)
{
	struct chart chart = {
		.title = "Store", .note = "bytes a second to and from it", .unit = BYTES};

	add_line(&chart, "put", colours[0], report->put.values);
	add_line(&chart, "get", colours[1], report->get.values);
	if (report_sum(report, "put")->bytes + report_sum(report, "get")->bytes > 0)
		report_draw(out, report, &chart);
}

/* Draws a line for each kind of action that the plan has in any bin. */
static void draw_plan(FILE *out, const struct report *report)
{
	struct chart chart = {
		.title = "Plan", .note = "the step at which the run is, over time", .unit = STEPS};

	for (int kind = 0; kind < PLANNED_ACTIVITIES; kind++)
		for (int bin = 0; bin < BINS; bin++)
			if (report->plan[kind].values[bin] >= 0) {
				add_line(&chart, report_activities[kind].name,
					 report_activities[kind].colour,
					 report->plan[kind].values);
				break;
			}
	if (chart.lines)
		report_draw(out, report, &chart);
}

/*
 * Waits lie within actions and lanes, and lanes within actions: the part of an action that is shown
 * is the time in which it did not wait, and lanes are shown where there are no actions.
 */
static void make_exclusive(struct track *track)
{
	for (int bin = 0; bin < BINS; bin++) {
		double waits = 0, actions = 0, left;

		for (int kind = WAITING_FOR_MEMORY; kind < ACTIVITIES; kind++)
			waits += track->bin[kind][bin];
		for (int kind = ADVANCING; kind <= REVERSING; kind++)
			actions += track->bin[kind][bin];
		if (actions > 0)
			track->bin[IN_LANES][bin] = 0;
		actions += track->bin[IN_LANES][bin];
		left = actions > 0 ? fmax(actions - waits, 0) / actions : 0;
		for (int kind = ADVANCING; kind <= IN_LANES; kind++)
			track->bin[kind][bin] *= left;
	}
}

static double busy_seconds(const struct track *track)
{
	double sum = 0;

	for (int kind = 0; kind < ACTIVITIES; kind++)
		sum += track->busy[kind];
	return sum;
}

/* Threads first, then transfers; of each those that have most to show. */
static int compare_tracks(const void *one, const void *other)
{
	const struct track *a = one, *b = other;
	bool a_moves = a->busy[PUTTING] + a->busy[GETTING] > 0;
	bool b_moves = b->busy[PUTTING] + b->busy[GETTING] > 0;

	if (a_moves != b_moves)
		return a_moves ? 1 : -1;
	return busy_seconds(a) < busy_seconds(b) ? 1 : busy_seconds(a) > busy_seconds(b) ? -1 : 0;
}

static void draw_tracks(FILE *out, struct report *report)
{
	if (report->tracks)
		qsort(report->track, (size_t)report->tracks, sizeof *report->track, compare_tracks);
	for (int i = 0; i < report->tracks && i < MAX_TRACKS; i++) {
		struct track *track = &report->track[i];
		struct chart chart = {.note = "share of the time", .is_stacked = true};

		chart.unit = SHARES;
		snprintf(chart.title, sizeof chart.title, "%s", track->name);
		make_exclusive(track);
		for (int kind = 0; kind < ACTIVITIES; kind++)
			if (track->busy[kind] > 0)
				add_line(&chart, report_activities[kind].name,
					 report_activities[kind].colour, track->bin[kind]);
		if (chart.lines)
			report_draw(out, report, &chart);
	}
}

void report_draw_charts(FILE *out, struct report *report)
{
	draw_memory(out, report);
	draw_list(out, report, &report->places, "Memory by line",
		  "bytes on tapes over time, by the lines that pushed them");
	draw_list(out, report, &report->tapes, "Memory by tape", "bytes over time");
	draw_store(out, report);
	draw_plan(out, report);
	draw_tracks(out, report);
}
