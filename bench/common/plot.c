/* SPDX-License-Identifier: MIT */
/*
 * The picture has a panel for each size, a row for each kernel (or the row named in plot_dot()),
 * and a dot for each variant. The axis is logarithmic and the same in all panels. The variants of a
 * row lie one below the other, in the order of the legend. So equal times do not hide each other,
 * and a reader can tell the variants apart without colours.
 */
#include "config.h"

#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KERNELS 16
#define MAX_PANELS 4
#define MAX_VARIANTS 12
#define NAME_BYTES 32

#define MARGIN 16.0
#define NAMES_WIDTH 84.0
#define PANEL_WIDTH 360.0
#define PANEL_GAP 36.0
#define HEAD 84.0
#define FOOT 28.0
#define LANE 8.0
#define ROW_GAP 8.0
#define LEGEND_WIDTH 88.0

struct names {
	char text[MAX_KERNELS][NAME_BYTES];
	size_t count;
};

static struct names kernels, panels, variants;
static const char *title = "Gradient time over primal time";
static const char *headline =
	"Time of a gradient over that of its primal; logarithmic, less is better";
/* Times over the time of the primal; 0: not measured. */
static double times[MAX_KERNELS][MAX_PANELS][MAX_VARIANTS];

/* In the order of the legend. Each colour can be seen on white and on black. */
static const char *const colours[MAX_VARIANTS] = {
	"#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
	"#8c6d31", "#888888", "#b2182b", "#7570b3", "#66a61e", "#1b9e77",
};

static size_t number_of(struct names *names, size_t most, const char *text, size_t length)
{
	size_t i = 0;

	if (length >= NAME_BYTES)
		length = NAME_BYTES - 1;
	while (i < names->count &&
	       (strncmp(names->text[i], text, length) || names->text[i][length]))
		i++;
	if (i == most)
		abort();
	if (i == names->count)
		memcpy(names->text[names->count++], text, length);
	return i;
}

void plot_entitle(const char *new_title, const char *line)
{
	title = new_title;
	headline = line;
}

static void put_dot_in(size_t kernel, size_t panel, const char *variant, double value)
{
	times[kernel][panel][number_of(&variants, MAX_VARIANTS, variant, strlen(variant))] = value;
}

void plot_dot(const char *row, const char *panel, const char *variant, double value)
{
	put_dot_in(number_of(&kernels, MAX_KERNELS, row, strlen(row)),
		   number_of(&panels, MAX_PANELS, panel, strlen(panel)), variant, value);
}

static double time_of_primal(const struct bench_case *one, const struct measure_result *results)
{
	for (size_t v = 0; v < one->count; v++)
		if (strcmp(one->variants[v].name, "primal") == 0)
			return results[v].median;
	return 0;
}

void plot_note(const struct bench_case *one, const struct measure_result *results)
{
	static const char prefix[] = "kernel/";
	const char *name = one->name + sizeof prefix - 1, *slash = strrchr(one->name, '/');
	double primal = time_of_primal(one, results);
	size_t kernel, panel;

	if (strncmp(one->name, prefix, sizeof prefix - 1) || slash < name || primal <= 0)
		return;
	kernel = number_of(&kernels, MAX_KERNELS, name, (size_t)(slash - name));
	panel = number_of(&panels, MAX_PANELS, slash + 1, strlen(slash + 1));
	for (size_t v = 0; v < one->count; v++) {
		const char *variant = one->variants[v].name;

		if (strcmp(variant, "primal"))
			put_dot_in(kernel, panel, variant, results[v].median / primal);
	}
}

/* ---- The axis: 1, 2, 5, 10, ... ---- */

static double tick(int number)
{
	static const double steps[] = {1, 2, 5};
	int decade = (number + 300) / 3 - 100;

	return steps[number - 3 * decade] * pow(10, decade);
}

struct axis {
	int first;
	int last;
};

/* Returns an axis that contains all times, and 1. */
static struct axis axis_of_all(void)
{
	struct axis axis = {0, 1};

	for (size_t k = 0; k < kernels.count; k++)
		for (size_t p = 0; p < panels.count; p++)
			for (size_t v = 0; v < variants.count; v++) {
				double time = times[k][p][v];

				while (time > 0 && tick(axis.first) > time)
					axis.first--;
				while (tick(axis.last) < time)
					axis.last++;
			}
	return axis;
}

static double panel_left(size_t panel)
{
	return MARGIN + NAMES_WIDTH + (double)panel * (PANEL_WIDTH + PANEL_GAP);
}

static double across(struct axis axis, size_t panel, double time)
{
	double low = log(tick(axis.first)), high = log(tick(axis.last));

	return panel_left(panel) + PANEL_WIDTH * (log(time) - low) / (high - low);
}

static double row_height(void)
{
	return (double)variants.count * LANE + ROW_GAP;
}

static double row_top(size_t kernel)
{
	return HEAD + (double)kernel * row_height();
}

/* ---- Drawing ---- */

static void put_escaped(FILE *file, const char *text)
{
	for (; *text; text++)
		if (*text == '&')
			fputs("&amp;", file);
		else if (*text == '<')
			fputs("&lt;", file);
		else if (*text == '>')
			fputs("&gt;", file);
		else
			putc(*text, file);
}

static void put_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	put_escaped(file, text);
	fputs("</text>\n", file);
}

static void put_head(FILE *file, double width, double height)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\">\n"
		"<title>%s</title>\n"
		"<style>\n"
		"text { font: 12px sans-serif; fill: #222 }\n"
		".sheet { fill: #fff }\n"
		".band { fill: #f3f3f3 }\n"
		".line { stroke: #ccc }\n"
		"@media (prefers-color-scheme: dark) {\n"
		"text { fill: #ddd }\n"
		".sheet { fill: #161616 }\n"
		".band { fill: #222 }\n"
		".line { stroke: #444 }\n"
		"}\n"
		"</style>\n"
		"<rect class=\"sheet\" width=\"100%%\" height=\"100%%\"/>\n",
		width, height, width, height, title);
	put_text(file, MARGIN, 24, "start", headline);
}

static void put_legend(FILE *file)
{
	for (size_t v = 0; v < variants.count; v++) {
		double x = MARGIN + (double)v * LEGEND_WIDTH;

		fprintf(file,
			"<rect x=\"%.1f\" y=\"36\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x,
			colours[v]);
		put_text(file, x + 15, 45, "start", variants.text[v]);
	}
}

static void put_rows(FILE *file, double width)
{
	for (size_t k = 0; k < kernels.count; k++) {
		if (k % 2 == 0)
			fprintf(file,
				"<rect class=\"band\" x=\"0\" y=\"%.1f\" width=\"%.0f\" "
				"height=\"%.1f\"/>\n",
				row_top(k), width, row_height());
		put_text(file, MARGIN, row_top(k) + row_height() / 2 + 4, "start",
			 kernels.text[k]);
	}
}

static void put_ticks(FILE *file, struct axis axis, size_t panel)
{
	double bottom = row_top(kernels.count);
	char label[32];

	for (int i = axis.first; i <= axis.last; i++) {
		double x = across(axis, panel, tick(i));

		fprintf(file,
			"<line class=\"line\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
			x, HEAD, x, bottom);
		snprintf(label, sizeof label, "%g", tick(i));
		put_text(file, x, bottom + 16, "middle", label);
	}
}

static void put_dots(FILE *file, struct axis axis, size_t k, size_t p)
{
	for (size_t v = 0; v < variants.count; v++) {
		double y = row_top(k) + ROW_GAP / 2 + LANE * ((double)v + 0.5);

		if (times[k][p][v] <= 0)
			continue;
		fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>",
			across(axis, p, times[k][p][v]), y, colours[v]);
		put_escaped(file, kernels.text[k]);
		putc(' ', file);
		put_escaped(file, panels.text[p]);
		fputs(", ", file);
		put_escaped(file, variants.text[v]);
		fprintf(file, ": %.2f</title></circle>\n", times[k][p][v]);
	}
}

bool plot_write(FILE *file)
{
	struct axis axis = axis_of_all();
	double width = panel_left(panels.count) - PANEL_GAP + MARGIN;
	double legend = 2 * MARGIN + (double)variants.count * LEGEND_WIDTH;

	if (kernels.count == 0)
		return false;
	if (width < legend)
		width = legend;
	put_head(file, width, row_top(kernels.count) + FOOT);
	put_legend(file);
	put_rows(file, width);
	for (size_t p = 0; p < panels.count; p++) {
		put_text(file, panel_left(p), HEAD - 10, "start", panels.text[p]);
		put_ticks(file, axis, p);
		for (size_t k = 0; k < kernels.count; k++)
			put_dots(file, axis, k, p);
	}
	fputs("</svg>\n", file);
	return true;
}
