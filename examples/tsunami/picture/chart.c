/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>
#include <stdio.h>

#include "picture.h"

#define PAGE_WIDTH 1200
#define PAGE_HEIGHT 480
#define LEFT 90.0
#define RIGHT 1170.0
#define TOP 60.0
#define BOTTOM 410.0

static const struct colour ink = {0.15, 0.15, 0.17};
static const struct colour pale = {0.87, 0.87, 0.87};
static const struct colour wave = {0.10, 0.36, 0.65};
static const struct colour arrival = {0.76, 0.20, 0.20};

/* Heights -limit to limit are shown, the limit being a whole number of ticks. */
struct scale {
	double hours, tick, limit;
};

static double page_x(const struct scale *scale, double hours)
{
	return LEFT + (RIGHT - LEFT) * hours / scale->hours;
}

static double page_y(const struct scale *scale, double height)
{
	return 0.5 * (TOP + BOTTOM) - 0.5 * (BOTTOM - TOP) * height / scale->limit;
}

static struct scale choose_scale(const struct chart *chart)
{
	struct scale scale = {.hours = chart->count * chart->interval_hours};
	double largest = 0.0;

	for (int n = 0; n < chart->count; n++)
		largest = fmax(largest, fabs(chart->value[n]));
	if (!(largest > 0.0))
		largest = 1.0;
	scale.tick = picture_tick_distance(2.0 * largest, 7);
	scale.limit = scale.tick * ceil(largest / scale.tick);
	return scale;
}

static void draw_axes(cairo_t *page, const struct scale *scale)
{
	double hour_tick = picture_tick_distance(scale->hours, 10);
	long ticks = lround(scale->limit / scale->tick);
	char text[32];

	for (double hours = 0.0; hours <= scale->hours * (1.0 + 1e-9); hours += hour_tick) {
		double x = page_x(scale, hours);

		picture_colour(page, pale);
		picture_line(page, x, TOP, x, BOTTOM, 1.0);
		picture_colour(page, ink);
		snprintf(text, sizeof(text), "%g", hours);
		picture_text(page, x, BOTTOM + 22.0, 15.0, ANCHOR_MIDDLE, text);
	}
	for (long k = -ticks; k <= ticks; k++) {
		double y = page_y(scale, (double)k * scale->tick);

		picture_colour(page, k ? pale : ink);
		picture_line(page, LEFT, y, RIGHT, y, 1.0);
		picture_colour(page, ink);
		snprintf(text, sizeof(text), "%g", (double)k * scale->tick);
		picture_text(page, LEFT - 10.0, y + 5.0, 15.0, ANCHOR_RIGHT, text);
	}
	cairo_set_line_width(page, 1.0);
	cairo_rectangle(page, LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
	cairo_stroke(page);
	picture_text(page, 0.5 * (LEFT + RIGHT), BOTTOM + 50.0, 16.0, ANCHOR_MIDDLE,
		     "time since the earthquake [h]");
	picture_text_upwards(page, 28.0, 0.5 * (TOP + BOTTOM), 16.0, "sea surface elevation [m]");
}

static void draw_wave(cairo_t *page, const struct chart *chart, const struct scale *scale)
{
	cairo_move_to(page, page_x(scale, 0.0), page_y(scale, 0.0));
	for (int n = 0; n < chart->count; n++)
		cairo_line_to(page, page_x(scale, (n + 1) * chart->interval_hours),
			      page_y(scale, chart->value[n]));
	picture_colour(page, wave);
	cairo_set_line_width(page, 2.0);
	cairo_set_line_join(page, CAIRO_LINE_JOIN_ROUND);
	cairo_stroke(page);
}

static void draw_arrival(cairo_t *page, const struct chart *chart, const struct scale *scale)
{
	const double dashes[] = {7.0, 5.0};
	double x = page_x(scale, chart->arrival_hours);
	enum anchor anchor = chart->arrival_hours > 0.3 * scale->hours ? ANCHOR_RIGHT : ANCHOR_LEFT;
	char text[64];

	picture_colour(page, arrival);
	cairo_set_dash(page, dashes, 2, 0.0);
	picture_line(page, x, TOP, x, BOTTOM, 1.6);
	cairo_set_dash(page, NULL, 0, 0.0);
	snprintf(text, sizeof(text), "arrival after %.2f h", chart->arrival_hours);
	picture_text(page, x + (anchor == ANCHOR_LEFT ? 9.0 : -9.0), TOP + 24.0, 16.0, anchor,
		     text);
}

void chart_draw(const struct chart *chart, const char *path)
{
	struct scale scale = choose_scale(chart);
	cairo_t *page = picture_open(PAGE_WIDTH, PAGE_HEIGHT);

	draw_axes(page, &scale);
	draw_wave(page, chart, &scale);
	if (isfinite(chart->arrival_hours))
		draw_arrival(page, chart, &scale);
	picture_colour(page, ink);
	picture_text(page, LEFT, 36.0, 22.0, ANCHOR_LEFT, chart->title);
	picture_close(page, path);
}
