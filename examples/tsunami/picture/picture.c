/* SPDX-License-Identifier: MIT */
#include "picture.h"

#include <math.h>

#include "common/report.h"

cairo_t *picture_open(int width, int height)
{
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
	cairo_t *page = cairo_create(surface);

	cairo_surface_destroy(surface);
	cairo_select_font_face(page, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			       CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_source_rgb(page, 1.0, 1.0, 1.0);
	cairo_paint(page);
	return page;
}

void picture_close(cairo_t *page, const char *path)
{
	cairo_status_t status = cairo_status(page);

	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_write_to_png(cairo_get_target(page), path);
	cairo_destroy(page);
	if (status != CAIRO_STATUS_SUCCESS)
		fail("cannot write %s: %s; is the disk full?", path,
		     cairo_status_to_string(status));
}

void picture_colour(cairo_t *page, struct colour colour)
{
	cairo_set_source_rgb(page, colour.red, colour.green, colour.blue);
}

void picture_text(cairo_t *page, double x, double y, double size, enum anchor anchor,
		  const char *text)
{
	static const double part_left[] = {0.0, 0.5, 1.0};
	cairo_text_extents_t extents;

	cairo_set_font_size(page, size);
	cairo_text_extents(page, text, &extents);
	cairo_move_to(page, x - part_left[anchor] * extents.x_advance, y);
	cairo_show_text(page, text);
}

void picture_text_upwards(cairo_t *page, double x, double y, double size, const char *text)
{
	cairo_save(page);
	cairo_translate(page, x, y);
	cairo_rotate(page, -0.5 * 3.14159265358979323846);
	picture_text(page, 0.0, 0.0, size, ANCHOR_MIDDLE, text);
	cairo_restore(page);
}

void picture_line(cairo_t *page, double x_0, double y_0, double x_1, double y_1, double width)
{
	cairo_set_line_width(page, width);
	cairo_move_to(page, x_0, y_0);
	cairo_line_to(page, x_1, y_1);
	cairo_stroke(page);
}

double picture_tick_distance(double length, int count)
{
	double raw = length / count;
	double power = pow(10.0, floor(log10(raw)));
	double digit = raw / power;

	return power * (digit < 1.5 ? 1.0 : digit < 3.5 ? 2.0 : digit < 7.5 ? 5.0 : 10.0);
}
