/* SPDX-License-Identifier: MIT */
#include "bathymetry.h"

#include <math.h>
#include <stdlib.h>

#include "common/report.h"

#define DATA_DIRECTORY "/usr/share/ferret-vis/data/"

const char *relief_default_path(double resolution_minutes)
{
	/* Two points or more in a cell each way, so that its mean depth is one. */
	if (resolution_minutes < 40.0)
		return DATA_DIRECTORY "etopo5.cdf";
	if (resolution_minutes < 80.0)
		return DATA_DIRECTORY "etopo20.cdf";
	return DATA_DIRECTORY "etopo40.cdf";
}

void relief_destroy(struct relief *relief)
{
	free(relief->height);
	relief->height = NULL;
}

static double axis_last(const struct axis *axis)
{
	return axis->first + axis->spacing * (double)(axis->points - 1);
}

/* Points in a full turn, or 0 if the axis does not go round the Earth. */
static size_t points_per_turn(const struct axis *longitude)
{
	size_t turn = (size_t)lround(360.0 / longitude->spacing);

	return longitude->points >= turn ? turn : 0;
}

void relief_require_cover(const struct relief *relief, struct region region, const char *path)
{
	const struct axis *latitude = &relief->latitude, *longitude = &relief->longitude;
	double south = latitude->first - latitude->spacing;
	double north = axis_last(latitude) + latitude->spacing;
	double west = longitude_east_of(longitude->first - longitude->spacing, region.west);
	double east = west + region.east - region.west;
	int covered = south <= region.south && region.north <= north;

	if (!points_per_turn(longitude))
		covered = covered && east <= axis_last(longitude) + longitude->spacing;
	if (!covered)
		fail("%s covers latitudes %.1f to %.1f and longitudes %.1f to %.1f, not all of the "
		     "region: narrow --region", path, south, north, longitude->first,
		     axis_last(longitude));
}

/* The two points next to a coordinate, held at the ends, and the weight of the second. */
static double neighbours(const struct axis *axis, double coordinate, size_t *before,
			 size_t *after)
{
	double position = (coordinate - axis->first) / axis->spacing;
	double last = (double)(axis->points - 1);
	double whole = floor(fmin(fmax(position, 0.0), last - 1.0));

	*before = (size_t)whole;
	*after = *before + 1;
	return fmin(fmax(position - whole, 0.0), 1.0);
}

static double neighbours_around(const struct axis *longitude, double degrees, size_t *west,
				size_t *east)
{
	size_t turn = points_per_turn(longitude);
	double position, whole;

	degrees = longitude_east_of(longitude->first, degrees);
	if (!turn)
		return neighbours(longitude, degrees, west, east);
	position = (degrees - longitude->first) / longitude->spacing;
	whole = floor(position);
	*west = (size_t)whole % turn;
	*east = (*west + 1) % turn;
	return position - whole;
}

static double height_at(const struct relief *relief, double latitude, double longitude)
{
	size_t south, north, west, east, columns = relief->longitude.points;
	double y = neighbours(&relief->latitude, latitude, &south, &north);
	double x = neighbours_around(&relief->longitude, longitude, &west, &east);
	const float *row_south = relief->height + south * columns;
	const float *row_north = relief->height + north * columns;

	return (1.0 - y) * ((1.0 - x) * (double)row_south[west] + x * (double)row_south[east]) +
	       y * ((1.0 - x) * (double)row_north[west] + x * (double)row_north[east]);
}

double relief_mean_height(const struct relief *relief, double latitude, double longitude,
			  double width)
{
	int points = (int)ceil(width / relief->latitude.spacing - 1e-6);
	double sum = 0.0;

	if (points < 1)
		points = 1;
	for (int j = 0; j < points; j++)
		for (int i = 0; i < points; i++) {
			double y = (j + 0.5) / points - 0.5, x = (i + 0.5) / points - 0.5;

			sum += height_at(relief, latitude + y * width, longitude + x * width);
		}
	return sum / ((double)points * points);
}
