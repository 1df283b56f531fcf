/* SPDX-License-Identifier: MIT */
#include "slice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/report.h"

#define SIDE 800.0
#define TOP 40.0
#define LEFT 70.0
#define BOTTOM 60.0
#define BAR_LEFT (LEFT + SIDE + 30.0)
#define BAR_WIDTH 24.0
#define RIGHT 150.0
#define BAR_STEPS 64
#define TICKS 4

/* The corners of an element in the plane, in the order in which they are drawn. */
static const int corners[] = {0, 1, 2, 3};

/* The colour of a part, -1 to 1, of the largest magnitude. */
static void fill_colour(FILE *file, double part)
{
	int faded = (int)lround(255.0 * (1.0 - sqrt(fabs(part))));

	fprintf(file, " fill=\"rgb(%d,%d,%d)\"/>\n", part < 0.0 ? faded : 255, faded,
		part > 0.0 ? faded : 255);
}

static void draw_element(FILE *file, const struct mesh *mesh, double *const position[AXES], int e,
			 double extent, double part)
{
	fputs("<polygon points=\"", file);
	for (int i = 0; i < 4; i++) {
		int node = mesh->node[CORNERS * e + corners[i]];

		fprintf(file, "%.2f,%.2f ", LEFT + SIDE * position[0][node] / extent,
			TOP + SIDE * (1.0 - position[1][node] / extent));
	}
	fputc('"', file);
	fill_colour(file, part);
}

static void draw_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
	fprintf(file, "<text x=\"%g\" y=\"%g\" text-anchor=\"%s\" stroke=\"none\">%s</text>\n",
		x, y, anchor, text);
}

static void draw_number(FILE *file, double x, double y, const char *anchor, double number)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3g", number);
	draw_text(file, x, y, anchor, text);
}

/* Both axes go from the origin of the blast to the largest coordinate. */
static void draw_axes(FILE *file, double extent)
{
	fprintf(file, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\"/>\n",
		LEFT, TOP, SIDE, SIDE);
	for (int k = 0; k <= TICKS; k++) {
		double part = (double)k / TICKS;

		draw_number(file, LEFT + SIDE * part, TOP + SIDE + 20.0, "middle", part * extent);
		draw_number(file, LEFT - 8.0, TOP + SIDE * (1.0 - part) + 5.0, "end",
			    part * extent);
	}
	draw_text(file, LEFT + 0.5 * SIDE, TOP + SIDE + 45.0, "middle", "x, without a unit");
	draw_text(file, LEFT - 30.0, TOP + SIDE * 1.5 / TICKS, "middle", "y");
}

/* From the largest magnitude down to its negative, or to 0 if no value is negative. */
static void draw_bar(FILE *file, double largest, int has_negative)
{
	double least = has_negative ? -1.0 : 0.0;

	for (int k = 0; k < BAR_STEPS; k++) {
		double position = 1.0 + (least - 1.0) * (k + 0.5) / BAR_STEPS;

		fprintf(file, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" stroke=\"none\"",
			BAR_LEFT, TOP + SIDE * k / BAR_STEPS, BAR_WIDTH, SIDE / BAR_STEPS + 0.5);
		fill_colour(file, position * fabs(position));
	}
	for (int k = 0; k <= TICKS; k++) {
		double position = 1.0 + (least - 1.0) * k / TICKS;

		draw_number(file, BAR_LEFT + BAR_WIDTH + 8.0, TOP + SIDE * k / TICKS + 5.0, "start",
			    position * fabs(position) * largest);
	}
}

void slice_write(const char *path, const char *title, const struct mesh *mesh,
		 double *const position[AXES], const double *value)
{
	double extent = 0.0, largest = 0.0;
	int has_negative = 0;
	FILE *file = fopen(path, "w");

	if (!file)
		fail("cannot write %s: %s", path, strerror(errno));
	for (int n = 0; n < mesh->nodes; n++)
		extent = fmax(extent, fmax(position[0][n], position[1][n]));
	for (int e = 0; e < mesh->size * mesh->size; e++) {
		largest = fmax(largest, fabs(value[e]));
		has_negative |= value[e] < 0.0;
	}
	fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
		"stroke=\"#999\" stroke-width=\"0.3\" "
		"font-family=\"sans-serif\" font-size=\"14\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n", LEFT + SIDE + RIGHT,
		TOP + SIDE + BOTTOM);
	for (int e = 0; e < mesh->size * mesh->size; e++)
		draw_element(file, mesh, position, e, extent,
			     largest > 0.0 ? value[e] / largest : 0.0);
	draw_text(file, LEFT, 25.0, "start", title);
	draw_text(file, LEFT + SIDE + RIGHT - 10.0, 25.0, "end", "scaled as the square root");
	draw_axes(file, extent);
	draw_bar(file, largest, has_negative);
	fputs("</svg>\n", file);
	if (ferror(file) | fclose(file))
		fail("cannot write %s: is the disk full?", path);
}
