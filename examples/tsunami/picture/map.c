/* SPDX-License-Identifier: MIT */
#include "map.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "picture.h"
#include "common/report.h"

/* The page, in pixels: the map's longer side and the room around it. */
#define LONGER_SIDE 1200.0
#define MARGIN_LEFT 70.0
#define MARGIN_RIGHT 150.0
#define MARGIN_TOP 78.0
#define MARGIN_BOTTOM 46.0
#define BAR_DISTANCE 28.0
#define BAR_WIDTH 22.0

/* The colours end at this quantile of the field's modulus in the water. */
#define QUANTILE 0.995

/*
 * Colours run with the signed square root of the field: the beam between source
 * and gauge is an order of magnitude stronger than the scattered waves that
 * make the picture.
 */
#define SCALE_POWER 0.5

static const struct colour land = {0.78, 0.77, 0.74};
static const struct colour ink = {0.15, 0.15, 0.17};
static const struct colour coast = {0.33, 0.32, 0.31};

/* From negative to positive. */
static const struct colour diverging[] = {
	{0.03, 0.14, 0.35}, {0.10, 0.36, 0.65}, {0.35, 0.62, 0.81}, {0.72, 0.85, 0.93},
	{0.98, 0.98, 0.97},
	{0.98, 0.84, 0.74}, {0.92, 0.56, 0.42}, {0.76, 0.20, 0.20}, {0.38, 0.02, 0.12},
};

struct frame {
	double left, top, width, height; /* of the map on the page */
	double limit;                    /* the field at the ends of the colours */
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double colour_limit(const struct map *map)
{
	const struct grid *grid = &map->basin->grid;
	size_t elements = grid_elements(grid), count = 0;
	double *modulus = allocate(elements, sizeof(double));
	double limit;

	for (size_t k = 0; k < elements; k++)
		if (map->basin->wet[k] > 0.0 && fabs(map->field[k]) > 0.0)
			modulus[count++] = fabs(map->field[k]);
	qsort(modulus, count, sizeof(double), compare_doubles);
	limit = count ? modulus[(size_t)(QUANTILE * (double)(count - 1))] : 0.0;
	free(modulus);
	return limit > 0.0 ? limit : 1.0;
}

/* Position -1 to 1 on the colour bar of a value in units of the limit, and back. */
static double bar_position(double value)
{
	return copysign(pow(fmin(fabs(value), 1.0), SCALE_POWER), value);
}

static double bar_value(double position)
{
	return copysign(pow(fabs(position), 1.0 / SCALE_POWER), position);
}

static struct colour diverging_colour(double position)
{
	int last = (int)(sizeof(diverging) / sizeof(diverging[0])) - 1;
	double place = 0.5 * (position + 1.0) * last;
	int below = (int)fmin(fmax(floor(place), 0.0), last - 1.0);
	double part = fmin(fmax(place - below, 0.0), 1.0);
	const struct colour *a = &diverging[below], *b = &diverging[below + 1];

	return (struct colour){a->red + part * (b->red - a->red),
			       a->green + part * (b->green - a->green),
			       a->blue + part * (b->blue - a->blue)};
}

/* The field between the centres of the wet cells around column x and row y. */
static double interpolate(const struct map *map, double x, double y)
{
	const struct grid *grid = &map->basin->grid;
	int west = (int)floor(x), south = (int)floor(y);
	double sum = 0.0, weights = 0.0;

	for (int j = south; j <= south + 1; j++)
		for (int i = west; i <= west + 1; i++) {
			ptrdiff_t k = grid_row(grid, j) + i;
			double weight = map->basin->wet[k] * (1.0 - fabs(x - i)) *
					(1.0 - fabs(y - j));

			sum += weight * map->field[k];
			weights += weight;
		}
	return weights > 0.0 ? sum / weights : 0.0;
}

static uint32_t pixel_value(struct colour colour)
{
	return (uint32_t)lround(255.0 * colour.red) << 16 |
	       (uint32_t)lround(255.0 * colour.green) << 8 |
	       (uint32_t)lround(255.0 * colour.blue);
}

static void paint_field(cairo_t *page, const struct map *map, const struct frame *frame)
{
	const struct grid *grid = &map->basin->grid;
	int width = (int)frame->width, height = (int)frame->height;
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
	unsigned char *data = cairo_image_surface_get_data(surface);
	ptrdiff_t stride = cairo_image_surface_get_stride(surface);

	if (!data)
		fail("no memory for a picture of %d x %d pixels", width, height);
	cairo_surface_flush(surface);
	for (int row = 0; row < height; row++) {
		uint32_t *pixel = (uint32_t *)(void *)(data + row * stride);
		double y = (1.0 - (row + 0.5) / height) * grid->rows;

		for (int column = 0; column < width; column++) {
			double x = (column + 0.5) / width * grid->columns;
			double value;

			if (!basin_is_wet(map->basin, (int)x, (int)y)) {
				pixel[column] = pixel_value(land);
				continue;
			}
			value = interpolate(map, x - 0.5, y - 0.5) / frame->limit;
			pixel[column] = pixel_value(diverging_colour(bar_position(value)));
		}
	}
	cairo_surface_mark_dirty(surface);
	cairo_set_source_surface(page, surface, frame->left, frame->top);
	cairo_paint(page);
	cairo_surface_destroy(surface);
}

static double page_x(const struct map *map, const struct frame *frame, double longitude)
{
	const struct region *r = &map->basin->grid.region;

	return frame->left + frame->width * (longitude - r->west) / (r->east - r->west);
}

static double page_y(const struct map *map, const struct frame *frame, double latitude)
{
	const struct region *r = &map->basin->grid.region;

	return frame->top + frame->height * (r->north - latitude) / (r->north - r->south);
}

static void draw_coast(cairo_t *page, const struct map *map, const struct frame *frame)
{
	const struct basin *basin = map->basin;
	const struct grid *grid = &basin->grid;
	double dx = frame->width / grid->columns, dy = frame->height / grid->rows;

	for (int j = 0; j < grid->rows; j++)
		for (int i = 0; i < grid->columns; i++) {
			int wet = basin_is_wet(basin, i, j);
			double east = frame->left + (i + 1) * dx;
			double north = frame->top + frame->height - (j + 1) * dy;

			if (i + 1 < grid->columns && wet != basin_is_wet(basin, i + 1, j)) {
				cairo_move_to(page, east, north);
				cairo_line_to(page, east, north + dy);
			}
			if (j + 1 < grid->rows && wet != basin_is_wet(basin, i, j + 1)) {
				cairo_move_to(page, east - dx, north);
				cairo_line_to(page, east, north);
			}
		}
	picture_colour(page, coast);
	cairo_set_line_width(page, 0.9);
	cairo_set_line_cap(page, CAIRO_LINE_CAP_ROUND);
	cairo_stroke(page);
}

static void label_longitude(char *text, size_t size, double longitude)
{
	double turned = longitude_east_of(-180.0, longitude);

	if (fabs(turned) < 1e-9 || fabs(turned + 180.0) < 1e-9)
		snprintf(text, size, "%g°", fabs(turned));
	else
		snprintf(text, size, "%g°%c", fabs(turned), turned < 0.0 ? 'W' : 'E');
}

static void label_latitude(char *text, size_t size, double latitude)
{
	if (fabs(latitude) < 1e-9)
		snprintf(text, size, "0°");
	else
		snprintf(text, size, "%g°%c", fabs(latitude), latitude < 0.0 ? 'S' : 'N');
}

static double degree_ticks(double degrees)
{
	static const double distances[] = {1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0};

	for (size_t k = 0; k < sizeof(distances) / sizeof(distances[0]); k++)
		if (degrees / distances[k] <= 10.0)
			return distances[k];
	return 60.0;
}

static void draw_axes(cairo_t *page, const struct map *map, const struct frame *frame)
{
	const struct region *r = &map->basin->grid.region;
	double bottom = frame->top + frame->height;
	double distance = degree_ticks(fmax(r->east - r->west, r->north - r->south));
	char text[32];

	picture_colour(page, ink);
	cairo_set_line_width(page, 1.0);
	cairo_rectangle(page, frame->left, frame->top, frame->width, frame->height);
	cairo_stroke(page);
	for (double tick = ceil(r->west / distance) * distance; tick <= r->east;
	     tick += distance) {
		double x = page_x(map, frame, tick);

		picture_line(page, x, bottom, x, bottom + 6.0, 1.0);
		label_longitude(text, sizeof(text), tick);
		picture_text(page, x, bottom + 24.0, 15.0, ANCHOR_MIDDLE, text);
	}
	for (double tick = ceil(r->south / distance) * distance; tick <= r->north;
	     tick += distance) {
		double y = page_y(map, frame, tick);

		picture_line(page, frame->left - 6.0, y, frame->left, y, 1.0);
		label_latitude(text, sizeof(text), tick);
		picture_text(page, frame->left - 11.0, y + 5.0, 15.0, ANCHOR_RIGHT, text);
	}
}

/* The power of ten, by thousands, in which the field is labelled. */
static int label_exponent(double limit)
{
	return 3 * (int)floor(log10(limit) / 3.0 + 0.25);
}

static void label_quantity(char *text, size_t size, const struct map *map, int exponent)
{
	static const char *const superscript[] = {"⁰", "¹", "²", "³", "⁴",
						  "⁵", "⁶", "⁷", "⁸", "⁹"};
	int digits = abs(exponent);

	if (!exponent)
		snprintf(text, size, "%s  [%s], scaled as the square root", map->quantity,
			 map->unit);
	else
		snprintf(text, size, "%s  [10%s%s%s%s %s], scaled as the square root",
			 map->quantity, exponent < 0 ? "⁻" : "",
			 digits > 99 ? superscript[digits / 100 % 10] : "",
			 digits > 9 ? superscript[digits / 10 % 10] : "", superscript[digits % 10],
			 map->unit);
}

static void draw_colour_bar(cairo_t *page, const struct map *map, const struct frame *frame)
{
	double left = frame->left + frame->width + BAR_DISTANCE;
	int height = (int)frame->height, exponent = label_exponent(frame->limit);
	char text[160];

	for (int row = 0; row < height; row++) {
		double position = 1.0 - 2.0 * (row + 0.5) / height;

		picture_colour(page, diverging_colour(position));
		cairo_rectangle(page, left, frame->top + row, BAR_WIDTH, 1.0);
		cairo_fill(page);
	}
	picture_colour(page, ink);
	cairo_set_line_width(page, 1.0);
	cairo_rectangle(page, left, frame->top, BAR_WIDTH, frame->height);
	cairo_stroke(page);
	for (int k = -4; k <= 4; k++) {
		double position = k / 4.0;
		double y = frame->top + 0.5 * frame->height * (1.0 - position);

		picture_line(page, left + BAR_WIDTH, y, left + BAR_WIDTH + 5.0, y, 1.0);
		snprintf(text, sizeof(text), "%.2g",
			 bar_value(position) * frame->limit / pow(10.0, exponent));
		picture_text(page, left + BAR_WIDTH + 9.0, y + 5.0, 14.0, ANCHOR_LEFT, text);
	}
	label_quantity(text, sizeof(text), map, exponent);
	picture_text_upwards(page, left + BAR_WIDTH + 78.0, frame->top + 0.5 * frame->height,
			     15.0, text);
}

/* Text beside a mark at x, y, with a light rim to be read on any colour. */
static void draw_label(cairo_t *page, const struct frame *frame, double x, double y,
		       const char *text)
{
	cairo_text_extents_t extents;

	cairo_set_font_size(page, 16.0);
	cairo_text_extents(page, text, &extents);
	if (x + 16.0 + extents.x_advance < frame->left + frame->width)
		cairo_move_to(page, x + 14.0, y - 9.0);
	else
		cairo_move_to(page, x - 14.0 - extents.x_advance, y - 9.0);
	cairo_text_path(page, text);
	cairo_set_source_rgba(page, 1.0, 1.0, 1.0, 0.85);
	cairo_set_line_width(page, 4.0);
	cairo_set_line_join(page, CAIRO_LINE_JOIN_ROUND);
	cairo_stroke_preserve(page);
	picture_colour(page, ink);
	cairo_fill(page);
}

static void trace_star(cairo_t *page, double x, double y, double radius)
{
	cairo_new_path(page);
	for (int k = 0; k < 10; k++) {
		double r = k % 2 ? 0.42 * radius : radius;

		cairo_line_to(page, x + r * sin(PI * k / 5.0), y - r * cos(PI * k / 5.0));
	}
	cairo_close_path(page);
}

static void draw_marks(cairo_t *page, const struct map *map, const struct frame *frame)
{
	double west = map->basin->grid.region.west;
	double x = page_x(map, frame, longitude_east_of(west, map->source.longitude));
	double y = page_y(map, frame, map->source.latitude);

	trace_star(page, x, y, 13.0);
	cairo_set_source_rgb(page, 1.0, 0.85, 0.1);
	cairo_fill_preserve(page);
	picture_colour(page, ink);
	cairo_set_line_width(page, 1.2);
	cairo_stroke(page);
	draw_label(page, frame, x, y, "epicentre");

	x = page_x(map, frame, longitude_east_of(west, map->gauge.longitude));
	y = page_y(map, frame, map->gauge.latitude);
	cairo_new_sub_path(page);
	cairo_arc(page, x, y, 5.5, 0.0, 2.0 * PI);
	cairo_set_source_rgb(page, 0.35, 0.95, 0.45);
	cairo_fill_preserve(page);
	picture_colour(page, ink);
	cairo_set_line_width(page, 1.4);
	cairo_stroke(page);
	draw_label(page, frame, x, y, map->gauge_name);
}

static struct frame frame_for(const struct map *map)
{
	const struct region *r = &map->basin->grid.region;
	/* Degrees of longitude are drawn as long as they are in the middle latitude. */
	double width = (r->east - r->west) * cos(0.5 * (r->south + r->north) * RADIANS);
	double height = r->north - r->south;
	double scale = LONGER_SIDE / fmax(width, height);
	struct frame frame = {.left = MARGIN_LEFT, .top = MARGIN_TOP};

	frame.width = fmax(200.0, floor(scale * width));
	frame.height = fmax(200.0, floor(scale * height));
	frame.limit = colour_limit(map);
	return frame;
}

void map_draw(const struct map *map, const char *path)
{
	struct frame frame = frame_for(map);
	cairo_t *page = picture_open((int)(frame.width + MARGIN_LEFT + MARGIN_RIGHT),
				     (int)(frame.height + MARGIN_TOP + MARGIN_BOTTOM));

	paint_field(page, map, &frame);
	draw_coast(page, map, &frame);
	draw_axes(page, map, &frame);
	draw_colour_bar(page, map, &frame);
	draw_marks(page, map, &frame);
	picture_colour(page, ink);
	picture_text(page, frame.left, 34.0, 22.0, ANCHOR_LEFT, map->title);
	picture_text(page, frame.left, 60.0, 15.0, ANCHOR_LEFT, map->subtitle);
	picture_close(page, path);
}
