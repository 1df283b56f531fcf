/* SPDX-License-Identifier: MIT */
/*
 * Reads traces (lib/trace) into the figures of a report. A line is an event. The files are read
 * twice: first for the stretch of time and the names, then for the figures.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "verb.h"

/* ---- Lines ---- */

struct event {
	char name[MAX_LABEL];
	char phase;
	int64_t process, track;
	double begin, ns;
	const char *arguments; /* the rest of the line, behind "args" */
};

/* Returns the text behind "key":, or NULL. */
static const char *value_of(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = text; (at = strstr(at, key)); at += length)
		if (at > text && at[-1] == '"' && !strncmp(at + length, "\":", 2))
			return at + length + 2;
	return NULL;
}

static double number_of(const char *text, const char *key, double otherwise)
{
	const char *value = text ? value_of(text, key) : NULL;

	return value ? strtod(value, NULL) : otherwise;
}

/* Copies a string without its quotes. The library writes none that has an escape. */
static bool copy_string(const char *text, const char *key, char copy[MAX_LABEL])
{
	const char *value = text ? value_of(text, key) : NULL;
	size_t length;

	if (!value || *value != '"')
		return false;
	length = strcspn(++value, "\"");
	if (length >= MAX_LABEL)
		length = MAX_LABEL - 1;
	memcpy(copy, value, length);
	copy[length] = '\0';
	return true;
}

/* Returns false if the line has no event. */
static bool parse(const char *line, struct event *event)
{
	const char *phase = value_of(line, "ph");

	if (!copy_string(line, "name", event->name) || !phase || *phase != '"')
		return false;
	event->phase = phase[1];
	event->process = (int64_t)number_of(line, "pid", 0);
	event->track = (int64_t)number_of(line, "tid", 0);
	/* Microseconds with three decimals. */
	event->begin = rint(1000 * number_of(line, "ts", 0));
	event->ns = rint(1000 * number_of(line, "dur", 0));
	event->arguments = value_of(line, "args");
	return isfinite(event->begin) && isfinite(event->ns) && event->ns >= 0;
}

typedef void look_at(struct report *report, const struct event *event);

static bool for_each_event(struct report *report, const char *path, look_at *look)
{
	FILE *file = fopen(path, "r");
	struct event event;
	char *line = NULL;
	size_t room = 0;
	bool is_trace;

	if (!file) {
		fprintf(stderr, "reel report: cannot read '%s': %s\n", path, strerror(errno));
		return false;
	}
	is_trace = getline(&line, &room, file) > 0 && line[0] == '[' &&
		   parse(line, &event) && !strcmp(event.name, "process_name");
	report->offset_ns = 0;
	report->dropped_here = 0;
	if (is_trace) {
		/* One machine needs no calendar: its clock may have been set meanwhile. */
		if (report->traces > 1)
			report->offset_ns = number_of(event.arguments, "clock_began_ns", 0);
		look(report, &event);
	}
	while (is_trace && getline(&line, &room, file) > 0)
		/* A line that was being written when the process was killed has no end. */
		if (parse(line, &event) && event.arguments) {
			event.begin += report->offset_ns;
			look(report, &event);
		}
	report->dropped += report->dropped_here;
	free(line);
	fclose(file);
	if (!is_trace)
		fprintf(stderr,
			"reel report: '%s' is no trace; run the program with REEL_TRACE=FILE\n",
			path);
	return is_trace;
}

/* ---- Lists ---- */

static struct track *track_of(struct report *report, const struct event *event)
{
	struct track *track;

	for (int i = 0; i < report->tracks; i++)
		if (report->track[i].process == event->process &&
		    report->track[i].number == event->track)
			return &report->track[i];
	report->track = grow(report->track, report->tracks, &report->track_room, sizeof *track);
	track = &report->track[report->tracks++];
	memset(track, 0, sizeof *track);
	track->process = event->process;
	track->number = event->track;
	snprintf(track->name, sizeof track->name, "thread %lld", (long long)event->track);
	return track;
}

/* Where the series of a process and a number is in its list. */
struct place_in_list {
	int64_t process, number;
	int at;
};

static int compare_places(const void *one, const void *other)
{
	const struct place_in_list *a = one, *b = other;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Returns the place, which is the end of the list if there is no such series yet. */
static int place_of(struct series_list *list, int64_t process, int64_t number)
{
	const struct place_in_list key = {process, number, list->count};
	struct place_in_list *const *found = tfind(&key, &list->index, compare_places), *fresh;

	if (found)
		return (*found)->at;
	fresh = need_memory(NULL, sizeof *fresh);
	*fresh = key;
	if (!tsearch(fresh, &list->index, compare_places))
		end_without_memory();
	return list->count;
}

/* Says whose it is, where a report has several processes. */
static void add_process(const struct report *report, char name[MAX_LABEL], int64_t process)
{
	size_t length = strlen(name);

	if (report->traces > 1)
		snprintf(name + length, MAX_LABEL - length, " of process %lld", (long long)process);
}

static struct series *series_of(struct report *report, struct series_list *list, int64_t process,
				int64_t number, const char *kind)
{
	int at = place_of(list, process, number);
	struct series *series;

	if (at < list->count)
		return &list->one[at];
	list->one = grow(list->one, list->count, &list->room, sizeof *series);
	series = &list->one[list->count++];
	memset(series, 0, sizeof *series);
	series->process = process;
	series->number = number;
	snprintf(series->name, sizeof series->name, "%s %lld", kind, (long long)number);
	add_process(report, series->name, process);
	return series;
}

static struct sum *find_sum(const struct report *report, const char *name)
{
	int i = 0;

	while (i < report->sums && strcmp(report->sum[i].name, name) != 0)
		i++;
	return i < report->sums ? &report->sum[i] : NULL;
}

const struct sum *report_sum(const struct report *report, const char *name)
{
	static const struct sum none;
	const struct sum *sum = find_sum(report, name);

	return sum ? sum : &none;
}

static struct sum *sum_named(struct report *report, const char *name)
{
	struct sum *sum = find_sum(report, name);

	if (sum)
		return sum;
	report->sum = grow(report->sum, report->sums, &report->sum_room, sizeof *sum);
	sum = &report->sum[report->sums++];
	*sum = (struct sum){.count = 0};
	snprintf(sum->name, MAX_LABEL, "%s", name);
	return sum;
}

double report_seconds(const struct report *report)
{
	return 1e-9 * (report->end_ns - report->begin_ns);
}

/* ---- First: names, and the stretch of time ---- */

static void name_track(struct report *report, const struct event *event)
{
	struct track *track = track_of(report, event);
	char name[MAX_LABEL];

	if (!copy_string(event->arguments, "name", name))
		return;
	/* The system calls a thread like its program if nobody has named it. */
	if (!strcmp(name, report->program))
		snprintf(name, sizeof name, "thread %lld", (long long)event->track);
	snprintf(track->name, sizeof track->name, "%.100s", name);
	add_process(report, track->name, event->process);
}

static void look_at_time(struct report *report, const struct event *event)
{
	double end = event->begin + event->ns;

	if (event->phase == 'M') {
		if (!strcmp(event->name, "thread_name"))
			name_track(report, event);
		else if (!report->program[0])
			copy_string(event->arguments, "name", report->program);
		return;
	}
	report->events++;
	if (report->end_ns <= 0 || event->begin < report->begin_ns)
		report->begin_ns = event->begin;
	if (end > report->end_ns)
		report->end_ns = end;
}

/* ---- Then: the figures ---- */

static int bin_of(const struct report *report, double ns)
{
	double bin = (ns - report->begin_ns) / (report->end_ns - report->begin_ns) * BINS;

	return bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (int)bin;
}

static double bin_ns(const struct report *report)
{
	return (report->end_ns - report->begin_ns) / BINS;
}

/* Adds `amount` to the bins, as much to each as it has of the time from `begin` to `end`. */
static void spread(const struct report *report, double values[BINS], double begin, double end,
		   double amount)
{
	double width = bin_ns(report);

	for (int bin = bin_of(report, begin); bin <= bin_of(report, end); bin++) {
		double from = fmax(begin, report->begin_ns + bin * width);
		double to = fmin(end, report->begin_ns + (bin + 1) * width);

		if (end <= begin)
			values[bin] += amount;
		else if (to > from)
			values[bin] += amount * (to - from) / (end - begin);
	}
}

static void add_sample(struct samples *samples, double time, double value)
{
	samples->one = grow(samples->one, samples->count, &samples->room, sizeof *samples->one);
	samples->one[samples->count++] = (struct sample){time, value};
}

/* Adds the value of a counter, whose name ends with a number, to its series. */
static void count(struct report *report, struct series_list *list, const struct event *event,
		  const char *kind, const char *argument)
{
	int64_t number = atoll(event->name + strcspn(event->name, "0123456789"));
	struct series *series = series_of(report, list, event->process, number, kind);

	add_sample(&series->samples, event->begin, number_of(event->arguments, argument, 0));
}

static int compare_samples(const void *one, const void *other)
{
	const struct sample *a = one, *b = other;

	return a->time < b->time ? -1 : a->time > b->time;
}

static void sort_samples(const struct samples *samples)
{
	if (samples->count)
		qsort(samples->one, (size_t)samples->count, sizeof *samples->one, compare_samples);
}

/* A counter keeps its value until the next event. A bin has the greatest value that was in it. */
static void fill_bins(const struct report *report, struct series *series)
{
	double now = 0;
	int at = 0;

	sort_samples(&series->samples);
	for (int i = 0; i < series->samples.count; i++) {
		int bin = bin_of(report, series->samples.one[i].time);

		while (at < bin)
			series->values[++at] = now;
		now = series->samples.one[i].value;
		series->values[at] = fmax(series->values[at], now);
		series->greatest = fmax(series->greatest, now);
	}
	while (at < BINS - 1)
		series->values[++at] = now;
}

static void look_at_counter(struct report *report, const struct event *event)
{
	if (!strncmp(event->name, "memory of pool ", 15)) {
		count(report, &report->resident, event, "pool", "resident");
		count(report, &report->in_use, event, "pool", "in_use");
	} else if (!strncmp(event->name, "bytes of tape ", 14)) {
		count(report, &report->tapes, event, "tape", "bytes");
	} else if (!strncmp(event->name, "bytes of place ", 15)) {
		count(report, &report->places, event, "place", "bytes");
	} else if (!strcmp(event->name, "events dropped")) {
		double dropped = number_of(event->arguments, "events", 0);

		report->dropped_here = (int64_t)fmax(dropped, (double)report->dropped_here);
	}
}

/* A transfer that failed is one as well. */
static enum activity activity_of(const char *name)
{
	int kind = 0;

	name += strncmp(name, "failed ", 7) ? 0 : 7;
	while (kind < ACTIVITIES && strcmp(name, report_activities[kind].name) != 0)
		kind++;
	return (enum activity)kind;
}

/* Sets the bins from `begin` to `end` to values on the line between these two. */
static void draw_line(const struct report *report, struct series *series, double begin, double end,
		      double from, double to)
{
	for (int bin = bin_of(report, begin); bin <= bin_of(report, end); bin++) {
		double middle = report->begin_ns + (bin + 0.5) * bin_ns(report);
		double done = end > begin ? (middle - begin) / (end - begin) : 1;

		series->values[bin] = from + (to - from) * fmin(fmax(done, 0), 1);
	}
}

static struct loop *loop_of(struct report *report, int64_t process)
{
	int i = 0;

	while (i < report->loops && report->loop[i].process != process)
		i++;
	if (i == report->loops) {
		report->loop = grow(report->loop, report->loops, &report->loop_room,
				    sizeof *report->loop);
		report->loop[report->loops++] = (struct loop){.process = process};
	}
	return &report->loop[i];
}

/* A reverse goes from its last step to its first. */
static void look_at_action(struct report *report, const struct event *event, enum activity kind)
{
	double first = number_of(event->arguments, "first", 0);
	double last = number_of(event->arguments, "last", 0);
	double from = kind == REVERSING ? last : first, to = kind == REVERSING ? first : last;

	struct loop *loop = loop_of(report, event->process);

	report->steps[kind] += last - first;
	if (kind == ADVANCING && (report->learnt.first_advance < 0 ||
				  event->begin < report->learnt.first_advance_ns)) {
		report->learnt.first_advance = first;
		report->learnt.first_advance_ns = event->begin;
	}
	if (kind != REVERSING)
		loop->steps = fmax(loop->steps, last);
	loop->runs += kind == REVERSING && first <= 0;
	draw_line(report, &report->plan[kind], event->begin, event->begin + event->ns, from, to);
}

/* A transfer that failed took time, and moved no bytes. */
static void look_at_transfer(struct report *report, const struct event *event, enum activity kind)
{
	double end = event->begin + event->ns;

	add_sample(&report->transfers, event->begin, end);
	if (strncmp(event->name, "failed", 6) != 0)
		spread(report, kind == PUTTING ? report->put.values : report->get.values,
		       event->begin, end, number_of(event->arguments, "bytes", 0));
}

static void look_at_span(struct report *report, const struct event *event)
{
	struct track *track = track_of(report, event);
	enum activity kind = activity_of(event->name);

	if (kind == ACTIVITIES)
		return;
	track->busy[kind] += 1e-9 * event->ns;
	spread(report, track->bin[kind], event->begin, event->begin + event->ns, event->ns);
	if (kind < PLANNED_ACTIVITIES)
		look_at_action(report, event, kind);
	if (kind == PUTTING || kind == GETTING)
		look_at_transfer(report, event, kind);
}

static void add_to_sum(struct report *report, const struct event *event)
{
	struct sum *sum = sum_named(report, event->name);

	sum->count++;
	sum->ns += event->ns;
	sum->longest_ns = fmax(sum->longest_ns, event->ns);
	sum->bytes += (int64_t)number_of(event->arguments, "bytes", 0);
	sum->stored_bytes += (int64_t)number_of(event->arguments, "stored_bytes", 0);
}

static void note_budget(struct report *report, const struct event *event)
{
	int64_t pool = (int64_t)number_of(event->arguments, "pool", 0);
	double hard = number_of(event->arguments, "hard_budget", -1);

	/* A pool is at the same place of both lists. -1: it has no budget. */
	series_of(report, &report->resident, event->process, pool, "pool");
	series_of(report, &report->in_use, event->process, pool, "pool")->hard_budget =
		hard > 0 && hard < 1e18 ? hard : 0;
}

static void note_costs(struct report *report, const struct event *event)
{
	struct learnt *learnt = &report->learnt;
	double step = number_of(event->arguments, "step", 0);

	if (step < learnt->step)
		return;
	learnt->step = step;
	learnt->state_bytes = number_of(event->arguments, "state_bytes", 0);
	learnt->tape_bytes = number_of(event->arguments, "tape_bytes", 0);
	learnt->memory_bytes = number_of(event->arguments, "memory_bytes", 0);
}

static void note_bound(struct report *report, const struct event *event)
{
	struct bound *bound = &report->bound;
	double gradients = number_of(event->arguments, "gradients", 0);

	if (gradients > bound->gradients)
		*bound = (struct bound){1e-15 * number_of(event->arguments, "parts_of_1e15", 0),
					gradients};
}

static void look_at_figures(struct report *report, const struct event *event)
{
	switch (event->phase) {
	case 'C':
		look_at_counter(report, event);
		return;
	case 'X':
		look_at_span(report, event);
		break;
	case 'i':
		if (!strcmp(event->name, "pool opened"))
			note_budget(report, event);
		if (!strcmp(event->name, "refused") &&
		    (int)number_of(event->arguments, "error", 0) == -EDQUOT)
			report->refused_by_budget++;
		if (!strcmp(event->name, "learn"))
			note_costs(report, event);
		if (!strcmp(event->name, "error bounded"))
			note_bound(report, event);
		if (!strcmp(event->name, "forget"))
			report->learnt.forgotten += number_of(event->arguments, "last", 0) -
						    number_of(event->arguments, "first", 0);
		if (!strcmp(event->name, "trace ends"))
			return;
		break;
	default:
		return;
	}
	add_to_sum(report, event);
}

/* ---- Reading ---- */

/* Transfers overlap: the time in which there is at least one. */
static void measure_store(struct report *report)
{
	double busy = 0, until = 0;

	sort_samples(&report->transfers);
	for (int i = 0; i < report->transfers.count; i++) {
		double end = report->transfers.one[i].value;

		busy += fmax(end - fmax(report->transfers.one[i].time, until), 0);
		until = fmax(until, end);
	}
	report->store_busy = busy / (report->end_ns - report->begin_ns);
}

/* Nanoseconds in a bin become shares of it, and bytes become bytes a second. */
static void complete(struct report *report)
{
	const struct series_list *const lists[] = {&report->resident, &report->in_use,
						   &report->tapes, &report->places};
	double width = bin_ns(report);

	for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
		for (int j = 0; j < lists[i]->count; j++)
			fill_bins(report, &lists[i]->one[j]);
	measure_store(report);
	for (int bin = 0; bin < BINS; bin++) {
		report->put.values[bin] /= 1e-9 * width;
		report->get.values[bin] /= 1e-9 * width;
		for (int i = 0; i < report->tracks; i++)
			for (int kind = 0; kind < ACTIVITIES; kind++)
				report->track[i].bin[kind][bin] /= width;
	}
}

int report_read(struct report *report, char **paths, int number)
{
	memset(report, 0, sizeof *report);
	report->learnt.step = report->learnt.first_advance = -1;
	report->traces = number;
	for (int kind = 0; kind < PLANNED_ACTIVITIES; kind++)
		for (int bin = 0; bin < BINS; bin++)
			report->plan[kind].values[bin] = -1;
	for (int i = 0; i < number; i++)
		if (!for_each_event(report, paths[i], look_at_time))
			return EXIT_FAILURE;
	if (report->end_ns <= report->begin_ns)
		report->end_ns = report->begin_ns + 1;
	for (int i = 0; i < number; i++)
		if (!for_each_event(report, paths[i], look_at_figures))
			return EXIT_FAILURE;
	complete(report);
	return EXIT_SUCCESS;
}
