/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel report`: one page of HTML that shows traces and a profile. The page has its
 * figures as JSON, and what draws them; it needs no network.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "os/numerals.h"
#include "profile.h"
#include "report.h"
#include "verb.h"

const char report_help[] =
	"Usage: reel report [--profile PROFILE] [--output FILE] TRACE...\n"
	"\n"
	"Makes a page of HTML of what a program did, from the trace that it has written with\n"
	"REEL_TRACE=FILE: memory over time, traffic of the store, what each thread waited\n"
	"for, the plan as drawn and as carried out, and in words what was slow and what would\n"
	"help.  The traces of several processes, as of ranks, are shown together.  The page\n"
	"is one file and needs no network.  It is drawn with uPlot, without which this build\n"
	"refuses: configure --with-uplot.\n"
	"\n"
	"  --profile PROFILE\n"
	"                what the same run has written with REEL_PROFILE: bytes by line, and\n"
	"                the lines by their names; of one process, with its trace alone\n"
	"  --output FILE the page (default: report.html)\n"
	"  --help        this text\n";

static FILE *out;

/* ---- JSON ---- */

/* In HTML a "<" could end the data. A string of JSON may have any character by its number. */
static void write_string(const char *text)
{
	char *quoted = NULL;
	size_t length;
	FILE *memory = open_memstream(&quoted, &length);

	if (!memory)
		return;
	json_print_string(memory, text);
	fclose(memory);
	for (const char *at = quoted; *at; at++)
		if (*at == '<' || *at == '>' || *at == '&')
			fprintf(out, "\\u%04x", (unsigned)*at);
		else
			fputc(*at, out);
	free(quoted);
}

/* Writes null in place of a value below 0, which stands for none. */
static void write_values(const double values[BINS])
{
	fputc('[', out);
	for (int bin = 0; bin < BINS; bin++) {
		if (values[bin] < 0)
			fputs(bin ? ",null" : "null", out);
		else
			fprintf(out, bin ? ",%.*g" : "%.*g", values[bin] > 2 ? 9 : 4, values[bin]);
	}
	fputc(']', out);
}

static void write_series(const char *name, const double values[BINS], bool *is_first)
{
	fputs(*is_first ? "{\"name\":" : ",\n{\"name\":", out);
	write_string(name);
	fputs(",\"values\":", out);
	write_values(values);
	fputc('}', out);
	*is_first = false;
}

/* ---- The parts of the data ---- */

static void write_memory(const struct report *report)
{
	fputs(",\n\"memory\":[", out);
	for (int i = 0; i < report->in_use.count && i < MAX_SHOWN; i++) {
		const struct series *pool = &report->in_use.one[i];
		double hard = 0;

		for (int j = 0; j < report->budgets; j++)
			if (report->budget[j].pool == pool->number &&
			    report->budget[j].process == pool->process)
				hard = report->budget[j].hard_budget;
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		write_string(report->in_use.one[i].name);
		fprintf(out, ",\"hard_budget\":%.17g,\"in_use\":", hard);
		write_values(report->in_use.one[i].values);
		fputs(",\"resident\":", out);
		write_values(report->resident.one[i].values);
		fputc('}', out);
	}
	fputc(']', out);
}

static int compare_greatest(const void *one, const void *other)
{
	const struct series *a = one, *b = other;

	if (a->greatest != b->greatest)
		return a->greatest < b->greatest ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* The largest ones, and all others together. */
static void write_list(const char *key, struct series_list *list)
{
	static double others[BINS];
	bool is_first = true;

	fprintf(out, ",\n\"%s\":[", key);
	if (list->count)
		qsort(list->one, (size_t)list->count, sizeof *list->one, compare_greatest);
	memset(others, 0, sizeof others);
	for (int i = 0; i < list->count; i++) {
		if (i < MAX_SHOWN)
			write_series(list->one[i].name, list->one[i].values, &is_first);
		for (int bin = 0; i >= MAX_SHOWN && bin < BINS; bin++)
			others[bin] += list->one[i].values[bin];
	}
	if (list->count > MAX_SHOWN)
		write_series("all others", others, &is_first);
	fputc(']', out);
}

/* Tapes have the addresses of their structs in a trace; a reader wants small numbers. */
static void number_tapes(struct report *report)
{
	for (int i = 0; i < report->tapes.count; i++)
		snprintf(report->tapes.one[i].name, MAX_LABEL, "tape %d", i + 1);
}

static const char *const activity_names[ACTIVITIES] = {
	[ADVANCING] = "advance",
	[RECORDING] = "record",
	[REVERSING] = "reverse",
	[IN_LANES] = "lanes",
	[PUTTING] = "put",
	[GETTING] = "get",
	[WAITING_FOR_MEMORY] = "wait for memory",
	[WAITING_FOR_SLAB] = "wait for a slab",
	[WAITING_FOR_PUTS] = "wait for puts",
	[WAITING_FOR_THREADS] = "wait for threads",
	[WAITING_FOR_RANK] = "wait for a rank",
};

/* Nothing, if no bin of any kind has a step. */
static void write_plan(const char *key, const struct series plan[PLANNED_ACTIVITIES])
{
	bool is_first = true, is_empty = true;

	for (int kind = 0; kind < PLANNED_ACTIVITIES; kind++)
		for (int bin = 0; bin < BINS; bin++)
			is_empty &= plan[kind].values[bin] < 0;
	fprintf(out, ",\n\"%s\":[", key);
	for (int kind = 0; !is_empty && kind < PLANNED_ACTIVITIES; kind++)
		write_series(activity_names[kind], plan[kind].values, &is_first);
	fputc(']', out);
}

/*
 * Waits lie within actions and lanes, and lanes within actions: what is shown of an action is the
 * time in which it did not wait, and lanes are shown where there are no actions.
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

static void write_tracks(struct report *report)
{
	fputs(",\n\"tracks\":[", out);
	if (report->tracks)
		qsort(report->track, (size_t)report->tracks, sizeof *report->track, compare_tracks);
	for (int i = 0; i < report->tracks; i++) {
		struct track *track = &report->track[i];
		bool is_first = true;

		make_exclusive(track);
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		write_string(track->name);
		fputs(",\"kinds\":[", out);
		for (int kind = 0; i < MAX_TRACKS && kind < ACTIVITIES; kind++)
			if (track->busy[kind] > 0)
				write_series(activity_names[kind], track->bin[kind], &is_first);
		fputs("]}", out);
	}
	fputc(']', out);
}

static void write_sums(const struct report *report)
{
	fputs(",\n\"sums\":[", out);
	for (int i = 0; i < report->sums; i++) {
		const struct sum *sum = &report->sum[i];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		write_string(sum->name);
		fprintf(out, ",\"count\":%" PRId64 ",\"seconds\":%.9f,\"longest\":%.9f,\"bytes\":%" PRId64 "}",
			sum->count, 1e-9 * sum->ns, 1e-9 * sum->longest_ns, sum->bytes);
	}
	fputc(']', out);
}

/* Places of a trace get the names that the profile has of them. */
static void name_places(struct report *report, const struct profile *profile)
{
	for (int i = 0; i < report->places.count; i++) {
		unsigned number = (unsigned)report->places.one[i].number;

		for (int j = 0; j < profile->places; j++)
			if (profile->place[j].number == number)
				snprintf(report->places.one[i].name, MAX_LABEL, "%.*s",
					 MAX_LABEL - 1, profile->place[j].line);
	}
}

/* Several places may have one line. */
static void merge_places(struct series_list *list)
{
	int count = 0;

	for (int i = 0; i < list->count; i++) {
		int j = 0;

		while (j < count && strcmp(list->one[j].name, list->one[i].name) != 0)
			j++;
		if (j == count) {
			list->one[count++] = list->one[i];
			continue;
		}
		list->one[j].greatest += list->one[i].greatest;
		for (int bin = 0; bin < BINS; bin++)
			list->one[j].values[bin] += list->one[i].values[bin];
		free(list->one[i].sample);
	}
	list->count = count;
}

static void write_lines(const struct profile *profile)
{
	fprintf(out, ",\n\"peak_bytes\":%" PRId64 ",\"lines\":[", profile->peak);
	for (int i = 0; i < profile->places; i++) {
		const struct place *place = &profile->place[i];

		fputs(i ? ",\n{\"line\":" : "\n{\"line\":", out);
		write_string(place->line);
		fputs(",\"function\":", out);
		write_string(place->function);
		fprintf(out, ",\"pushed_bytes\":%" PRId64 ",\"bytes_at_peak\":%" PRId64 "}",
			place->bytes, place->at_peak);
	}
	fputc(']', out);
}

static bool is_first_sentence;

static void write_sentence(const char *sentence)
{
	fputs(is_first_sentence ? "" : ",", out);
	write_string(sentence);
	is_first_sentence = false;
}

static void write_data(struct report *report, struct profile *profile)
{
	REEL_POINT_NUMERALS;
	bool is_first = true;

	fputs("{\"program\":", out);
	write_string(report->program);
	fprintf(out, ",\"seconds\":%.9g,\"bins\":%d,\"events\":%" PRId64 ",\"dropped\":%" PRId64
		     ",\"findings\":[",
		1e-9 * (report->end_ns - report->begin_ns), BINS, report->events, report->dropped);
	is_first_sentence = true;
	report_advise(report, write_sentence);
	if (report->places.count && !profile->places)
		write_sentence("The lines that push have numbers instead of names: a page of one process "
			       "names them by the profile that the same run has written, --profile "
			       "PROFILE.");
	fputc(']', out);
	write_memory(report);
	name_places(report, profile);
	merge_places(&report->places);
	write_list("places", &report->places);
	number_tapes(report);
	write_list("tapes", &report->tapes);
	fputs(",\n\"traffic\":[", out);
	write_series("put", report->put.values, &is_first);
	write_series("get", report->get.values, &is_first);
	fputc(']', out);
	write_plan("plan", report->plan);
	write_plan("drawn", report->drawn);
	write_tracks(report);
	write_sums(report);
	profile_merge_lines(profile);
	write_lines(profile);
	fputc('}', out);
}

/* ---- The page ---- */

static int write_page(struct report *report, struct profile *profile, const char *path)
{
	int error;

	out = fopen(path, "w");
	if (!out) {
		fprintf(stderr, "reel report: cannot write '%s': %s\n", path, strerror(errno));
		return EXIT_FAILURE;
	}
	fputs(report_page_begin, out);
	write_data(report, profile);
	fputs(report_page_end, out);
	error = ferror(out);
	if (fclose(out) || error) {
		fprintf(stderr, "reel report: cannot write '%s': there is no room, or the disk failed\n",
			path);
		return EXIT_FAILURE;
	}
	printf("%s: open it in a browser\n", path);
	return EXIT_SUCCESS;
}

int report_run(int count, char **words)
{
	static struct profile profile;
	static struct report report;
	const char *output = "report.html", *profile_path = NULL;
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"profile", required_argument, NULL, 'p'},
						{0}};
	int status, option;

	while ((option = next_option(count, words, options)) != -1) {
		if (option == '?')
			return EXIT_USAGE;
		*(option == 'o' ? &output : &profile_path) = optarg;
	}
	count -= optind;
	words += optind;
	if (!count) {
		fprintf(stderr, "reel report: give a trace; 'reel report --help' says how to make one\n");
		return EXIT_USAGE;
	}
	if (profile_path && count > 1) {
		fprintf(stderr, "reel report: a profile is of one process: give its trace alone\n");
		return EXIT_USAGE;
	}
	if (!report_page_begin) {
		fprintf(stderr, "reel report: this build has no library to draw with: configure it with "
				"--with-uplot=DIRECTORY; Perfetto (https://ui.perfetto.dev) shows the trace\n");
		return EXIT_FAILURE;
	}
	if (profile_path && profile_open(&profile, "report", profile_path))
		return EXIT_FAILURE;
	status = report_read(&report, words, count);
	if (status == EXIT_SUCCESS)
		status = write_page(&report, &profile, output);
	report_close(&report);
	profile_close(&profile);
	return status;
}
