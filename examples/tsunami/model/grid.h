/* SPDX-License-Identifier: MIT */
/*
 * A longitude-latitude grid of square (in degrees) cells, and fields on it.
 *
 * Fields are placed as on Arakawa's C-grid. Element (j, i) of a field is, for
 * the cell in row j (from the south) and column i (from the west):
 *
 *	centre          elevation, depth, kinetic energy
 *	eastern face    eastward velocity and transport
 *	northern face   northward velocity and transport
 *	north-eastern corner    vorticity
 *
 * Every field has a rim of one element on all sides, so that loops over rows
 * and columns read their neighbours without a test; rows and columns count
 * from -1 to rows and columns.
 */
#ifndef TSUNAMI_GRID_H
#define TSUNAMI_GRID_H

#include <stddef.h>

#include "stage.h"

/* A block of rows, first <= row < last. */
struct rows {
	int first, last;
};

/* Part number `part` of `rows` rows that are dealt to `parts` threads or ranks in turn. */
static inline struct rows rows_of_part(int rows, int part, int parts)
{
	return (struct rows){(int)((long long)rows * part / parts),
			     (int)((long long)rows * (part + 1) / parts)};
}

static inline int rows_hold(struct rows rows, int row)
{
	return rows.first <= row && row < rows.last;
}

struct region {
	double west, east, south, north; /* degrees, west < east <= west + 360 */
};

/* The geometry of a row of cells on the sphere. */
struct row_metric {
	double latitude;     /* of the centres, degrees */
	double cosine;       /* of the latitude of the centres */
	double cosine_north; /* of the latitude of the northern faces and corners */
	double per_dx;       /* 1 / width of a cell at its centre [1/m] */
	double per_dx_north; /* 1 / width of a cell at its northern face [1/m] */
	double coriolis;     /* 2 Omega sin(latitude) at the corners [1/s] */
};

struct grid {
	int columns, rows;
	ptrdiff_t stride;          /* elements from one row to the next */
	struct region region;
	double spacing;            /* degrees */
	double per_dy;             /* 1 / height of a cell [1/m] */
	struct row_metric *metric; /* of rows -1 to rows */
};

/* A grid over the region; its eastern and northern edges are moved to whole cells. */
struct grid grid_create(struct region region, double resolution_minutes);
void grid_destroy(struct grid *grid);

/* A field of zeros on the grid. */
double *grid_field(const struct grid *grid);

/* Elements of a field, its rim included. */
static inline size_t grid_elements(const struct grid *grid)
{
	return (size_t)grid->stride * (size_t)(grid->rows + 2);
}

/* Where in a field row j begins: field[grid_row(grid, j) + i] is element (j, i). */
STAGE_HELPER static inline ptrdiff_t grid_row(const struct grid *grid, int j)
{
	return ((ptrdiff_t)j + 1) * grid->stride + 1;
}

static inline double grid_longitude(const struct grid *grid, int i)
{
	return grid->region.west + (i + 0.5) * grid->spacing;
}

static inline double grid_latitude(const struct grid *grid, int j)
{
	return grid->region.south + (j + 0.5) * grid->spacing;
}

/* The area of a cell of row j [m^2]. */
double grid_cell_area(const struct grid *grid, int j);

/* The longitude, by whole turns, that lies in the 360 degrees east of `west`. */
double longitude_east_of(double west, double longitude);

/* The great-circle distance of two places, in metres. */
double great_circle_distance(double latitude_1, double longitude_1, double latitude_2,
			     double longitude_2);

#define EARTH_RADIUS 6371.0e3      /* [m] */
#define EARTH_ROTATION 7.292115e-5 /* [1/s] */
#define PI 3.14159265358979323846
#define RADIANS (PI / 180.0)

#endif
