/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel report`: one page of HTML that shows traces and a profile, and needs no network.
 * Its charts are pictures. Where the library dygraphs is installed, it puts charts that zoom in
 * their place.
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
	"Usage: reel report [--profile PROFILE] [--output FILE] [--dygraphs FILE] TRACE...\n"
	"\n"
	"Makes a page of HTML of what a program did, from the trace that it has written with\n"
	"REEL_TRACE=FILE: memory over time, traffic of the store, what each thread waited\n"
	"for, the plan as carried out, and in words what was slow and what would help.\n"
	"The traces of several processes, as of ranks, are shown together.  The page\n"
	"is one file and needs no network.\n"
	"\n"
	"  --profile PROFILE\n"
	"                what the same run has written with REEL_PROFILE: bytes by line, and\n"
	"                the lines by their names; of one process, with its trace alone\n"
	"  --output FILE the page (default: report.html)\n"
	"  --dygraphs FILE\n"
	"                the library dygraphs, of which the page gets a copy so that charts zoom\n"
	"                (default: /usr/share/javascript/dygraphs/dygraph.min.js, where Debian's\n"
	"                package libjs-dygraphs has it); without it charts are still pictures\n"
	"  --help        this text\n";

static FILE *out;

/* ---- The parts of the page ---- */

/* Tapes have the addresses of their structs in a trace; a reader wants small numbers. */
static void name_tapes(struct report *report)
{
	for (int i = 0; i < report->tapes.count; i++)
		snprintf(report->tapes.one[i].name, MAX_LABEL, "tape %d", i + 1);
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
		free(list->one[i].samples.one);
	}
	list->count = count;
}

static void write_sentence(const char *sentence)
{
	fputs("<li>", out);
	html_print(out, sentence);
	fputs("</li>\n", out);
}

static void write_findings(const struct report *report, const struct profile *profile)
{
	fputs("<h2>What was slow, and what would help</h2>\n<ul id=\"findings\">\n", out);
	report_advise(report, write_sentence);
	if (report->places.count && !profile->places)
		write_sentence(
			"The lines that push have numbers instead of names: a page of one process "
			"names them by the profile that the same run has written, --profile "
			"PROFILE.");
	fputs("</ul>\n", out);
}

/* Titles are separated by commas. */
static void begin_table(const char *heading, const char *id, const char *titles)
{
	fprintf(out,
		"<h2>%s</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
		"<table id=\"%s\">\n<thead><tr>",
		heading, heading, id);
	for (size_t length; *titles; titles += length + (titles[length] == ',')) {
		length = strcspn(titles, ",");
		fprintf(out, "<th scope=\"col\">%.*s</th>", (int)length, titles);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
}

/* The exact value is shown where the pointer rests. */
static void write_cell(enum unit unit, double value, int decimals)
{
	char text[24];

	if (value > 0)
		fprintf(out, "<td title=\"%.*f\">%s</td>", decimals, value,
			report_text(unit, value, text));
	else
		fputs("<td></td>", out);
}

static void write_sums(const struct report *report)
{
	begin_table("All events", "sums", "event,number,time,longest,bytes");
	for (int i = 0; i < report->sums; i++) {
		const struct sum *sum = &report->sum[i];

		fputs("<tr><th scope=\"row\">", out);
		html_print(out, sum->name);
		fprintf(out, "</th><td>%" PRId64 "</td>", sum->count);
		write_cell(SECONDS, 1e-9 * sum->ns, 9);
		write_cell(SECONDS, 1e-9 * sum->longest_ns, 9);
		write_cell(BYTES, (double)sum->bytes, 0);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

static void write_lines(const struct profile *profile)
{
	begin_table("Lines that push", "lines", "line,pushed,at the peak,share of the peak");
	for (int i = 0; i < profile->places; i++) {
		const struct place *place = &profile->place[i];

		fputs("<tr><th scope=\"row\">", out);
		html_print(out, place->line);
		fputs(place->function[0] ? ", " : "", out);
		html_print(out, place->function);
		fputs("</th>", out);
		write_cell(BYTES, (double)place->bytes, 0);
		write_cell(BYTES, (double)place->at_peak, 0);
		write_cell(SHARES, (double)place->at_peak / fmax((double)profile->peak, 1), 3);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

/* ---- The page ---- */

static void write_head(const struct report *report, bool has_scripts)
{
	char text[24];

	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'%s\"/>\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		"<style>\n%s</style>\n<title>Reel: ",
		has_scripts ? "; script-src 'unsafe-inline'" : "", report_css);
	html_print(out, report->program);
	fputs("</title>\n</head>\n<body>\n<main>\n<h1>Reel: ", out);
	html_print(out, report->program);
	fprintf(out, "</h1>\n<p>%s, %" PRId64 " events on %d tracks",
		report_text(SECONDS, report_seconds(report), text), report->events, report->tracks);
	if (report->dropped)
		fprintf(out, "; %" PRId64 " older events were dropped", report->dropped);
	fputs("</p>\n", out);
}

/* Copies the library, and the script for its charts, which has to follow the page. */
static void write_scripts(FILE *library)
{
	char piece[4096];
	size_t length;

	fputs("<script>\n", out);
	while ((length = fread(piece, 1, sizeof piece, library)))
		fwrite(piece, 1, length, out);
	fprintf(out, "\n</script>\n<script>\n%s</script>\n", report_js);
}

static void write_all(struct report *report, struct profile *profile, FILE *library)
{
	REEL_POINT_NUMERALS;

	name_tapes(report);
	name_places(report, profile);
	merge_places(&report->places);
	/* The lines that it adds up are one place then. */
	profile_merge_lines(profile);
	write_head(report, library != NULL);
	write_findings(report, profile);
	fprintf(out, "<h2 id=\"charts\" data-seconds=\"%.9g\">Over time</h2>\n",
		report_seconds(report));
	report_draw_charts(out, report);
	write_sums(report);
	if (profile->places)
		write_lines(profile);
	fputs("</main>\n", out);
	if (library)
		write_scripts(library);
	fputs("</body>\n</html>\n", out);
}

static int write_page(struct report *report, struct profile *profile, const char *path,
		      const char *library_path)
{
	FILE *library = fopen(library_path, "r");
	int error = 0;

	out = fopen(path, "w");
	if (out) {
		write_all(report, profile, library);
		errno = 0;
		error = ferror(out);
		error |= fclose(out);
	}
	if (!out || error)
		fprintf(stderr, "reel report: cannot write '%s': %s\n", path,
			errno ? strerror(errno) : "there is no room, or the disk failed");
	else if (library)
		printf("%s: open it in a browser\n", path);
	else
		printf("%s: open it in a browser; its charts do not zoom, since there is no "
		       "dygraphs in "
		       "'%s' (Debian: libjs-dygraphs)\n",
		       path, library_path);
	if (library)
		fclose(library);
	return out && !error ? EXIT_SUCCESS : EXIT_FAILURE;
}

int report_run(int count, char **words)
{
	static struct profile profile;
	static struct report report;
	const char *output = "report.html", *profile_path = NULL;
	const char *library = "/usr/share/javascript/dygraphs/dygraph.min.js";
	static const struct option options[] = {{"dygraphs", required_argument, NULL, 'd'},
						{"output", required_argument, NULL, 'o'},
						{"profile", required_argument, NULL, 'p'},
						{0}};
	int status, option;

	while ((option = next_option(count, words, options)) != -1) {
		if (option == '?')
			return EXIT_USAGE;
		*(option == 'o' ? &output : option == 'p' ? &profile_path : &library) = optarg;
	}
	count -= optind;
	words += optind;
	if (!count) {
		fprintf(stderr,
			"reel report: give a trace; 'reel report --help' says how to make one\n");
		return EXIT_USAGE;
	}
	if (profile_path && count > 1) {
		fprintf(stderr, "reel report: a profile is of one process: give its trace alone\n");
		return EXIT_USAGE;
	}
	if (profile_path && profile_open(&profile, "report", profile_path))
		return EXIT_FAILURE;
	status = report_read(&report, words, count);
	if (status == EXIT_SUCCESS)
		status = write_page(&report, &profile, output, library);
	return status;
}
