/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include <math.h>
#include <stdlib.h>

#include "common/report.h"

#define LARGEST_GRID 40.0e6
#define SMALLEST_SIDE 8

static void set_metric(struct grid *grid, int j)
{
	struct row_metric *metric = &grid->metric[j];
	double step = grid->spacing * RADIANS;
	double north = grid_latitude(grid, j) + 0.5 * grid->spacing;

	metric->latitude = grid_latitude(grid, j);
	metric->cosine = cos(metric->latitude * RADIANS);
	metric->cosine_north = cos(north * RADIANS);
	metric->per_dx = 1.0 / (EARTH_RADIUS * metric->cosine * step);
	metric->per_dx_north = 1.0 / (EARTH_RADIUS * metric->cosine_north * step);
	metric->coriolis = 2.0 * EARTH_ROTATION * sin(north * RADIANS);
}

struct grid grid_create(struct region region, double resolution_minutes)
{
	struct grid grid = {.region = region, .spacing = resolution_minutes / 60.0};
	double columns = round((region.east - region.west) / grid.spacing);
	double rows = round((region.north - region.south) / grid.spacing);

	if (columns < SMALLEST_SIDE || rows < SMALLEST_SIDE)
		fail("the region is only %.0f x %.0f cells of %g': widen --region or refine "
		     "--resolution (at least %d x %d)", columns, rows, resolution_minutes,
		     SMALLEST_SIDE, SMALLEST_SIDE);
	if (columns * rows > LARGEST_GRID)
		fail("the region is %.0f x %.0f cells of %g', more than %.0f million: narrow "
		     "--region or coarsen --resolution", columns, rows, resolution_minutes,
		     LARGEST_GRID / 1e6);

	grid.columns = (int)columns;
	grid.rows = (int)rows;
	grid.stride = grid.columns + 2;
	grid.region.east = region.west + grid.columns * grid.spacing;
	grid.region.north = region.south + grid.rows * grid.spacing;
	grid.per_dy = 1.0 / (EARTH_RADIUS * grid.spacing * RADIANS);
	grid.metric = (struct row_metric *)allocate((size_t)grid.rows + 2,
						    sizeof(struct row_metric)) + 1;
	for (int j = -1; j <= grid.rows; j++)
		set_metric(&grid, j);
	return grid;
}

void grid_destroy(struct grid *grid)
{
	free(grid->metric - 1);
	grid->metric = NULL;
}

double *grid_field(const struct grid *grid)
{
	return allocate(grid_elements(grid), sizeof(double));
}

double grid_cell_area(const struct grid *grid, int j)
{
	return 1.0 / (grid->metric[j].per_dx * grid->per_dy);
}

double longitude_east_of(double west, double longitude)
{
	double turns = floor((longitude - west) / 360.0);

	return longitude - 360.0 * turns;
}

double great_circle_distance(double latitude_1, double longitude_1, double latitude_2,
			     double longitude_2)
{
	double half_dlat = 0.5 * (latitude_2 - latitude_1) * RADIANS;
	double half_dlon = 0.5 * (longitude_2 - longitude_1) * RADIANS;
	double haversine = sin(half_dlat) * sin(half_dlat) +
			   cos(latitude_1 * RADIANS) * cos(latitude_2 * RADIANS) *
				   sin(half_dlon) * sin(half_dlon);

	return 2.0 * EARTH_RADIUS * asin(sqrt(fmin(1.0, haversine)));
}
