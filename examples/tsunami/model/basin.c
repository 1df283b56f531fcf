/* SPDX-License-Identifier: MIT */
#include "basin.h"

#include <math.h>
#include <stdlib.h>

#include "common/report.h"
#include "shallow.h"

/*
 * The sponge: sigma = SPONGE_RATE sin^2 over SPONGE_WIDTH degrees, less in
 * small regions. At 200 m/s a wave is weakened by about exp(-3) on its way in
 * and again on its way out.
 */
#define SPONGE_RATE 2.5e-3 /* [1/s] */
#define SPONGE_WIDTH 4.0   /* degrees */
#define SPONGE_PART 0.15   /* of a side of the region, at most */

/* Largest distance in cells that a gauge may be moved: harbours lie on coarse-grid land. */
#define GAUGE_REACH 2

static double sponge_profile(double distance, double width)
{
	double slope;

	if (distance >= width)
		return 0.0;
	slope = sin(0.5 * PI * (1.0 - distance / width));
	return SPONGE_RATE * slope * slope;
}

static void set_sponge(struct basin *basin)
{
	const struct grid *grid = &basin->grid;
	struct region r = grid->region;
	double width_x = fmin(SPONGE_WIDTH, SPONGE_PART * (r.east - r.west));
	double width_y = fmin(SPONGE_WIDTH, SPONGE_PART * (r.north - r.south));

	for (int j = 0; j < grid->rows; j++) {
		double *sponge = basin->sponge + grid_row(grid, j);
		double latitude = grid_latitude(grid, j);
		double along_y = sponge_profile(latitude - r.south, width_y) +
				 sponge_profile(r.north - latitude, width_y);

		for (int i = 0; i < grid->columns; i++) {
			double longitude = grid_longitude(grid, i);

			sponge[i] = along_y + sponge_profile(longitude - r.west, width_x) +
				    sponge_profile(r.east - longitude, width_x);
		}
	}
}

static void set_coasts(struct basin *basin)
{
	const struct grid *grid = &basin->grid;

	for (int j = 0; j < grid->rows; j++) {
		const double *wet = basin->wet + grid_row(grid, j);
		const double *wet_north = basin->wet + grid_row(grid, j + 1);

		for (int i = 0; i < grid->columns; i++) {
			basin->open_east[grid_row(grid, j) + i] = wet[i] * wet[i + 1];
			basin->open_north[grid_row(grid, j) + i] = wet[i] * wet_north[i];
		}
	}
}

/* Fill the basin from depths that are negative on land. */
static struct basin basin_create(struct grid grid, const double *depth, double min_depth)
{
	struct basin basin = {.grid = grid,
			      .depth = grid_field(&grid),
			      .wet = grid_field(&grid),
			      .open_east = grid_field(&grid),
			      .open_north = grid_field(&grid),
			      .sponge = grid_field(&grid)};

	for (size_t k = 0; k < grid_elements(&grid); k++)
		basin.depth[k] = fmax(depth[k], min_depth);
	for (int j = 0; j < grid.rows; j++)
		for (int i = 0; i < grid.columns; i++) {
			ptrdiff_t k = grid_row(&grid, j) + i;

			if (depth[k] > 0.0) {
				basin.wet[k] = 1.0;
				basin.wet_cells++;
				basin.deepened_cells += depth[k] < min_depth;
			}
		}
	if (!basin.wet_cells)
		fail("the region %g,%g,%g,%g has no water: choose another --region",
		     grid.region.west, grid.region.east, grid.region.south, grid.region.north);
	set_coasts(&basin);
	set_sponge(&basin);
	return basin;
}

struct basin basin_from_relief(struct grid grid, const struct relief *relief, double min_depth)
{
	double *depth = grid_field(&grid);
	struct basin basin;

	for (int j = 0; j < grid.rows; j++)
		for (int i = 0; i < grid.columns; i++)
			depth[grid_row(&grid, j) + i] =
				-relief_mean_height(relief, grid_latitude(&grid, j),
						    grid_longitude(&grid, i), grid.spacing);
	basin = basin_create(grid, depth, min_depth);
	free(depth);
	return basin;
}

static double bell(double x, double y, double radius)
{
	return exp(-(x * x + y * y) / (radius * radius));
}

/*
 * The idealised basin in coordinates x, y from 0 to 1 across the region: an
 * ocean of 4500 m with shores on all sides, a ridge from south-west to
 * north-east, a seamount, and an island in the east.
 */
static double idealised_depth(double x, double y)
{
	double shore = 1.0 - pow(2.0 * x - 1.0, 8.0) - pow(2.0 * y - 1.0, 8.0);
	double ridge = 0.35 * exp(-pow((x - 0.5 - 0.3 * (y - 0.5)) / 0.05, 2.0));
	double island = 1.25 * bell(x - 0.75, y - 0.55, 0.045);
	double seamount = 0.7 * bell(x - 0.42, y - 0.7, 0.04);

	return 4500.0 * (shore - ridge - island - seamount);
}

static struct place place_in(struct region r, double x, double y)
{
	return (struct place){r.south + y * (r.north - r.south), r.west + x * (r.east - r.west)};
}

struct place idealised_source(struct region region)
{
	return place_in(region, 0.2, 0.45);
}

struct place idealised_gauge(struct region region)
{
	return place_in(region, 0.70, 0.55);
}

struct basin basin_idealised(struct grid grid, double min_depth)
{
	double *depth = grid_field(&grid);
	struct basin basin;

	for (int j = 0; j < grid.rows; j++)
		for (int i = 0; i < grid.columns; i++)
			depth[grid_row(&grid, j) + i] =
				idealised_depth((i + 0.5) / grid.columns, (j + 0.5) / grid.rows);
	basin = basin_create(grid, depth, min_depth);
	free(depth);
	return basin;
}

void basin_destroy(struct basin *basin)
{
	free(basin->depth);
	free(basin->wet);
	free(basin->open_east);
	free(basin->open_north);
	free(basin->sponge);
	grid_destroy(&basin->grid);
}

double basin_longest_time_step(const struct basin *basin)
{
	const struct grid *grid = &basin->grid;
	double fastest = 0.0;

	for (int j = 0; j < grid->rows; j++) {
		double per_width = hypot(grid->metric[j].per_dx, grid->per_dy);

		for (int i = 0; i < grid->columns; i++) {
			ptrdiff_t k = grid_row(grid, j) + i;
			double speed = sqrt(GRAVITY * basin->depth[k]);

			fastest = fmax(fastest, basin->wet[k] * speed * per_width);
		}
	}
	return 1.0 / fastest;
}

int basin_locate(const struct basin *basin, struct place place, int *column, int *row)
{
	const struct grid *grid = &basin->grid;
	double longitude = longitude_east_of(grid->region.west, place.longitude);

	*column = (int)floor((longitude - grid->region.west) / grid->spacing);
	*row = (int)floor((place.latitude - grid->region.south) / grid->spacing);
	return 0 <= *column && *column < grid->columns && 0 <= *row && *row < grid->rows;
}

int basin_is_wet(const struct basin *basin, int column, int row)
{
	const struct grid *grid = &basin->grid;

	if (column < 0 || column >= grid->columns || row < 0 || row >= grid->rows)
		return 0;
	return basin->wet[grid_row(grid, row) + column] > 0.0;
}

int basin_nearest_wet(const struct basin *basin, struct place place, int *column, int *row)
{
	const struct grid *grid = &basin->grid;
	int from_column = *column, from_row = *row, found = 0;
	double nearest = HUGE_VAL;

	for (int j = from_row - GAUGE_REACH; j <= from_row + GAUGE_REACH; j++)
		for (int i = from_column - GAUGE_REACH; i <= from_column + GAUGE_REACH; i++) {
			double distance;

			if (!basin_is_wet(basin, i, j))
				continue;
			distance = great_circle_distance(place.latitude, place.longitude,
							 grid_latitude(grid, j),
							 grid_longitude(grid, i));
			if (distance < nearest) {
				nearest = distance;
				*column = i;
				*row = j;
				found = 1;
			}
		}
	return found;
}
