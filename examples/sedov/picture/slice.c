/* SPDX-License-Identifier: MIT */
#include "slice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/report.h"

#define SIDE 800.0
#define MARGIN 40.0

/* The corners of an element in the plane, in the order in which they are drawn. */
static const int corners[] = {0, 1, 2, 3};

static void draw_element(FILE *file, const struct mesh *mesh, double *const position[AXES], int e,
			 double extent, double value)
{
	int faded = (int)lround(255.0 * (1.0 - sqrt(fabs(value))));

	fputs("<polygon points=\"", file);
	for (int i = 0; i < 4; i++) {
		int node = mesh->node[CORNERS * e + corners[i]];

		fprintf(file, "%.2f,%.2f ", MARGIN + SIDE * position[0][node] / extent,
			MARGIN + SIDE * (1.0 - position[1][node] / extent));
	}
	fprintf(file, "\" fill=\"rgb(%d,%d,%d)\"/>\n", value < 0.0 ? faded : 255, faded,
		value > 0.0 ? faded : 255);
}

void slice_write(const char *path, const char *title, const struct mesh *mesh,
		 double *const position[AXES], const double *value)
{
	double extent = 0.0, largest = 0.0;
	FILE *file = fopen(path, "w");

	if (!file)
		fail("cannot write %s: %s", path, strerror(errno));
	for (int n = 0; n < mesh->nodes; n++)
		extent = fmax(extent, fmax(position[0][n], position[1][n]));
	for (int e = 0; e < mesh->size * mesh->size; e++)
		largest = fmax(largest, fabs(value[e]));
	fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
		"stroke=\"#999\" stroke-width=\"0.3\">\n<rect width=\"100%%\" height=\"100%%\" "
		"fill=\"white\"/>\n", SIDE + 2.0 * MARGIN, SIDE + 2.0 * MARGIN);
	fprintf(file, "<text x=\"%g\" y=\"25\" font-family=\"sans-serif\" font-size=\"16\" "
		"stroke=\"none\">%s; largest magnitude %.3g</text>\n", MARGIN, title, largest);
	for (int e = 0; e < mesh->size * mesh->size; e++)
		draw_element(file, mesh, position, e, extent,
			     largest > 0.0 ? value[e] / largest : 0.0);
	fputs("</svg>\n", file);
	if (ferror(file) | fclose(file))
		fail("cannot write %s: is the disk full?", path);
}
