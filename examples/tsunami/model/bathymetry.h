/* SPDX-License-Identifier: MIT */
/*
 * The relief of the Earth, read from a NetCDF file in the form of the etopo
 * files of the Debian package ferret-datasets: a variable ROSE(latitude,
 * longitude) in metres above sea level on evenly spaced axes.
 */
#ifndef TSUNAMI_BATHYMETRY_H
#define TSUNAMI_BATHYMETRY_H

#include <stddef.h>

#include "grid.h"

/* An evenly spaced coordinate axis, ascending. */
struct axis {
	double first, spacing; /* degrees */
	size_t points;
};

struct relief {
	struct axis longitude, latitude;
	float *height; /* [m], rows from south to north */
};

/* Where the data package keeps the file that suits a resolution. */
const char *relief_default_path(double resolution_minutes);

/* Read the file or end the program with a line that names the fault in it. */
struct relief relief_read(const char *path);
void relief_destroy(struct relief *relief);

/* End the program unless the relief covers the region. */
void relief_require_cover(const struct relief *relief, struct region region, const char *path);

/*
 * The mean height of a square cell of the given width: the mean of the bilinear
 * interpolant over a number of points equal to the number of data in the cell.
 */
double relief_mean_height(const struct relief *relief, double latitude, double longitude,
			  double width);

#endif
