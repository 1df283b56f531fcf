/* SPDX-License-Identifier: MIT */
/*
 * Parts common to the map and the chart: a page, text, ticks.
 */
#ifndef TSUNAMI_PICTURE_H
#define TSUNAMI_PICTURE_H

#include <cairo.h>

struct colour {
	double red, green, blue;
};

enum anchor { ANCHOR_LEFT, ANCHOR_MIDDLE, ANCHOR_RIGHT };

/* A white page; width and height in pixels. */
cairo_t *picture_open(int width, int height);

/* Write it as PNG, or fail, and free it. */
void picture_close(cairo_t *page, const char *path);

void picture_colour(cairo_t *page, struct colour colour);
void picture_text(cairo_t *page, double x, double y, double size, enum anchor anchor,
		  const char *text);

/* The same, turned to read upwards. */
void picture_text_upwards(cairo_t *page, double x, double y, double size, const char *text);

void picture_line(cairo_t *page, double x_0, double y_0, double x_1, double y_1, double width);

/* A distance of ticks from 1, 2, 5 x 10^n that gives about `count` of them over a length. */
double picture_tick_distance(double length, int count);

#endif
