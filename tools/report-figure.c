/* SPDX-License-Identifier: MIT */
/*
 * A chart of a report: a picture in SVG, its legend, a table of the greatest values, and the
 * figures as JSON, from which report/page.js draws it again where there is dygraphs.
 */
#include "config.h"

#include <math.h>

#include "json.h"
#include "os/bytes.h"
#include "report.h"

/* Height of the picture in its own units; its width is BINS. */
#define HEIGHT 1000

const char *report_text(enum unit unit, double value, char text[24])
{
	if (unit == BYTES)
		reel_bytes_text(text, 24, value, false);
	else if (unit == SECONDS)
		snprintf(text, 24, value >= 1000 ? "%.0f s" : "%.4g s", value);
	else if (unit == SHARES)
		snprintf(text, 24, "%.0f %%", 100 * value);
	else
		snprintf(text, 24, "%.0f", value);
	return text;
}

/* Each line of a stacked chart lies on those after it, as in dygraphs. Below 0: there is none. */
static double height_of(const struct chart *chart, int line, int bin)
{
	double height = chart->line[line].values[bin];

	for (int i = line + 1; chart->is_stacked && i < chart->lines; i++)
		height += chart->line[i].values[bin];
	return height;
}

static int greatest_bin(const double values[BINS])
{
	int greatest = 0;

	for (int bin = 1; bin < BINS; bin++)
		if (values[bin] > values[greatest])
			greatest = bin;
	return greatest;
}

static double top_of(const struct chart *chart)
{
	double top = 0;

	if (chart->unit == SHARES)
		return 1;
	for (int line = 0; line < chart->lines; line++)
		for (int bin = 0; bin < BINS; bin++)
			top = fmax(top, height_of(chart, line, bin));
	return top > 0 ? 1.05 * top : 1;
}

/* Returns 1, 2 or 5 times a power of ten, or of a unit of bytes, of which `ticks` reach the top. */
static double tick_distance(enum unit unit, double top, int ticks)
{
	double scale = 1, least, power;

	while (unit == BYTES && top >= 1024 * scale)
		scale *= 1024;
	least = top / scale / ticks;
	power = pow(10, floor(log10(least)));
	least /= power;
	power *= least <= 1 ? 1 : least <= 2 ? 2 : least <= 5 ? 5 : 10;
	return unit == BYTES || unit == STEPS ? fmax(scale * power, 1) : power;
}

static void put_axes(FILE *out, enum unit unit, double top, double seconds)
{
	double distance = tick_distance(unit, top, 5);
	char text[24];

	for (int i = 0; i * distance <= top; i++) {
		double y = 100 - 100 * i * distance / top;

		fprintf(out,
			"<line x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>"
			"<text x=\"-8\" y=\"%.2f%%\" dy=\"4\" text-anchor=\"end\">%s</text>\n",
			y, y, y, report_text(unit, i * distance, text));
	}
	distance = tick_distance(SECONDS, seconds, 8);
	for (int i = 0; i * distance <= seconds; i++)
		fprintf(out,
			"<text x=\"%.2f%%\" y=\"100%%\" dy=\"18\" "
			"text-anchor=\"middle\">%s</text>\n",
			100 * i * distance / seconds, report_text(SECONDS, i * distance, text));
}

/* Each bin is a step. An area begins and ends at the axis; a line has gaps without values. */
static void put_path(FILE *out, const struct chart *chart, int line, double top)
{
	int last = chart->is_stacked ? HEIGHT : -1;

	fprintf(out, "<path %s=\"%s\"%s d=\"%s", chart->is_stacked ? "fill" : "stroke",
		chart->line[line].colour, chart->line[line].is_dashed ? " class=\"dashed\"" : "",
		chart->is_stacked ? "M0 1000" : "");
	for (int bin = 0; bin < BINS; bin++) {
		double height = height_of(chart, line, bin);
		int y = height < 0 ? -1 : (int)lrint(HEIGHT - HEIGHT * height / top);

		if (y == last)
			continue;
		if (last >= 0)
			fprintf(out, "H%d", bin);
		if (y >= 0 && last < 0)
			fprintf(out, "M%d %d", bin, y);
		else if (y >= 0)
			fprintf(out, "V%d", y);
		last = y;
	}
	if (last >= 0)
		fprintf(out, "H%d", BINS);
	fputs(chart->is_stacked ? "V1000\"/>\n" : "\"/>\n", out);
}

static void put_picture(FILE *out, const struct chart *chart, double top, double seconds)
{
	fputs("<div class=\"plot\"><svg role=\"img\" aria-label=\"", out);
	html_print(out, chart->title);
	fputs("\">\n", out);
	put_axes(out, chart->unit, top, seconds);
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">\n", BINS, HEIGHT);
	for (int line = 0; line < chart->lines; line++)
		put_path(out, chart, line, top);
	fputs("</svg></svg></div>\n", out);
}

static void put_legend(FILE *out, const struct chart *chart)
{
	fputs("<p class=\"legend\">", out);
	for (int line = 0; line < chart->lines; line++) {
		fprintf(out, "<span><i style=\"border-top: 3px %s %s\"></i> ",
			chart->line[line].is_dashed ? "dashed" : "solid", chart->line[line].colour);
		html_print(out, chart->line[line].name);
		fputs("</span> ", out);
	}
	fputs("</p>\n", out);
}

static void put_greatest(FILE *out, const struct chart *chart, double seconds)
{
	char value[24], time[24];

	fputs("<details><summary>The greatest values</summary><table>\n"
	      "<thead><tr><th scope=\"col\">name</th><th scope=\"col\">greatest</th>"
	      "<th scope=\"col\">at</th></tr></thead>\n<tbody>\n",
	      out);
	for (int line = 0; line < chart->lines; line++) {
		const double *values = chart->line[line].values;
		int bin = greatest_bin(values);

		fputs("<tr><th scope=\"row\">", out);
		html_print(out, chart->line[line].name);
		fprintf(out, "</th><td>%s</td><td>%s</td></tr>\n",
			report_text(chart->unit, fmax(values[bin], 0), value),
			report_text(SECONDS, (bin + 0.5) * seconds / BINS, time));
	}
	fputs("</tbody></table></details>\n", out);
}

/* A row for each bin: the time, and the value of each line; null: there is none. */
static void put_figures(FILE *out, const struct chart *chart, double top, double seconds)
{
	static const char *const units[] = {"bytes", "share", "steps"};

	fprintf(out,
		"<script type=\"application/json\">"
		"{\"unit\":\"%s\",\"stacked\":%s,\"top\":%.9g,\"rows\":[",
		units[chart->unit], chart->is_stacked ? "true" : "false", top);
	for (int bin = 0; bin < BINS; bin++) {
		fprintf(out, bin ? ",[%.6g" : "[%.6g", (bin + 0.5) * seconds / BINS);
		for (int line = 0; line < chart->lines; line++) {
			double value = chart->line[line].values[bin];

			if (value < 0)
				fputs(",null", out);
			else
				fprintf(out, ",%.*g", value > 2 ? 9 : 4, value);
		}
		fputc(']', out);
	}
	fputs("]}</script>\n", out);
}

void report_draw(FILE *out, const struct report *report, const struct chart *chart)
{
	double top = top_of(chart), seconds = report_seconds(report);

	fputs("<figure><figcaption>", out);
	html_print(out, chart->title);
	fprintf(out, " <span>%s</span></figcaption>\n", chart->note);
	put_picture(out, chart, top, seconds);
	put_legend(out, chart);
	put_greatest(out, chart, seconds);
	put_figures(out, chart, top, seconds);
	fputs("</figure>\n", out);
}
