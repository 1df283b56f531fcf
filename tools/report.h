/* SPDX-License-Identifier: MIT */
/* A report of traces: figures over time, sums, and advice that follows from them. */
#ifndef REEL_TOOLS_REPORT_H
#define REEL_TOOLS_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Number of bins into which a report divides the time that it shows. */
#define BINS 500
#define MAX_LABEL 160
/*
 * Maximum number of pools, tapes, places and tracks shown. Other tapes and places are one series.
 */
#define MAX_SHOWN 8
#define MAX_TRACKS 48

struct sample {
	double time, value;
};

struct samples {
	struct sample *one;
	int count, room;
};

/* Values over time. */
struct series {
	char name[MAX_LABEL];
	int64_t process, number; /* of the counted object: the first argument of the counter */
	double greatest;
	double hard_budget; /* of a pool; 0: none */
	/* As they are read: a trace is in the order of its blocks, not of time. */
	struct samples samples;
	double values[BINS];
};

struct series_list {
	struct series *one;
	int count, room;
	void *index; /* a tree (tsearch) of the series: a program may have 100,000 tapes */
};

/* Activities that a report shows of a track. Waits come last. */
enum activity {
	ADVANCING,
	RECORDING,
	REVERSING,
	PLANNED_ACTIVITIES, /* number of those before: the actions of a plan */
	IN_LANES = PLANNED_ACTIVITIES,
	PUTTING,
	GETTING,
	WAITING_FOR_MEMORY,
	WAITING_FOR_SLAB,
	WAITING_FOR_PUTS,
	WAITING_FOR_THREADS,
	WAITING_FOR_RANK,
	ACTIVITIES
};

/* How the events of an activity are called, and which colour it has in charts. */
struct activity_kind {
	const char *name, *colour;
};
extern const struct activity_kind report_activities[ACTIVITIES];

struct track {
	int64_t process, number;
	char name[MAX_LABEL];
	double busy[ACTIVITIES]; /* seconds */
	double bin[ACTIVITIES][BINS];
};

struct sum {
	char name[MAX_LABEL];
	int64_t count;
	double ns, longest_ns;
	int64_t bytes, stored_bytes;
};

/* The loop that the runs of a process reverse. */
struct loop {
	int64_t process;
	double steps; /* as far as the runs have come */
	int runs;     /* reverse sweeps that have ended */
};

/* The costs that the plan of a run knew last, and its choices. */
struct learnt {
	double step; /* at which it learnt; below 0: no plan learnt anything */
	double state_bytes, tape_bytes, memory_bytes;
	double first_advance; /* the first step that it advanced; below 0: none */
	double first_advance_ns;
	double forgotten;     /* steps whose tape it gave up */
};

/* The bound of the gradient that was computed last with rounded states. */
struct bound {
	double error;     /* in parts of the largest component */
	double gradients; /* computed so far; 0: none had a bound */
};

struct report {
	char program[MAX_LABEL];
	double begin_ns, end_ns; /* by the clock of the traces */
	double offset_ns; /* of the trace that is read: to be added to its times */
	int64_t events, dropped, dropped_here;
	int traces;
	struct track *track;
	int tracks, track_room;
	struct series_list resident, in_use, tapes, places; /* the first two: one for each pool */
	struct series put, get;                  /* bytes a second */
	/* The step at which the run is in each action of the plan; -1: none. */
	struct series plan[PLANNED_ACTIVITIES];
	double steps[PLANNED_ACTIVITIES]; /* that were advanced, recorded and reversed */
	struct learnt learnt;
	struct bound bound;
	struct loop *loop;
	int loops, loop_room;
	struct samples transfers; /* of all stores: when it began, and when it ended */
	double store_busy; /* share of the time in which any transfer was under way */
	int64_t refused_by_budget;
	struct sum *sum;
	int sums, sum_room;
};

/*
 * report-trace.c: reads traces, once in the life of the command. Returns EXIT_SUCCESS, or
 * EXIT_FAILURE after a message on stderr.
 */
int report_read(struct report *report, char **paths, int count);
/* The sum of the events of this name; all 0: there is none. */
const struct sum *report_sum(const struct report *report, const char *name);

double report_seconds(const struct report *report);

/* report-advice.c: calls say() for each sentence about slow parts. */
void report_advise(const struct report *report, void (*say)(const char *sentence));

/* report-charts.c: writes all charts. Sorts lists and tracks. */
void report_draw_charts(FILE *out, struct report *report);

/* report-figure.c */
enum unit { BYTES, SHARES, STEPS, SECONDS };

struct chart {
	char title[MAX_LABEL + 16];
	const char *note;
	enum unit unit;
	bool is_stacked; /* no value is below 0 */
	struct line {
		const char *name, *colour;
		const double *values; /* of BINS; below 0: there is none */
		bool is_dashed;
	} line[ACTIVITIES];
	int lines;
};

void report_draw(FILE *out, const struct report *report, const struct chart *chart);
/* Writes "12M", "12 %", "12" or "12 s", and returns `text`. */
const char *report_text(enum unit unit, double value, char text[24]);

/* Made of report/page.css and page.js. */
extern const char report_css[], report_js[];

#endif
