/* SPDX-License-Identifier: MIT */
#include "source.h"

#include <math.h>

#define RIGIDITY 4.0e10 /* [Pa] */
#define DIP 15.0        /* degrees, of a plate interface */

struct rupture rupture_of(const struct earthquake *earthquake)
{
	double magnitude = earthquake->magnitude;
	double moment = pow(10.0, 1.5 * magnitude + 9.1);
	struct rupture rupture;
	double spread;

	rupture.length = 1.0e3 * pow(10.0, -2.37 + 0.57 * magnitude);
	rupture.width = 1.0e3 * pow(10.0, -1.86 + 0.46 * magnitude);
	rupture.slip = moment / (RIGIDITY * rupture.length * rupture.width);
	/* The integral of the Gaussian is 2 pi (L / 4) (W / 4) times its peak. */
	spread = 2.0 * PI / 16.0;
	rupture.uplift = rupture.slip * sin(DIP * RADIANS) / spread;
	return rupture;
}

double source_displace(const struct earthquake *earthquake, const struct basin *basin,
		       double *displacement)
{
	const struct grid *grid = &basin->grid;
	struct rupture rupture = rupture_of(earthquake);
	struct place centre = earthquake->epicentre;
	double along_north = cos(earthquake->strike * RADIANS);
	double along_east = sin(earthquake->strike * RADIANS);
	double longitude_0 = longitude_east_of(grid->region.west, centre.longitude);
	double volume = 0.0;

	for (int j = 0; j < grid->rows; j++)
		for (int i = 0; i < grid->columns; i++) {
			ptrdiff_t k = grid_row(grid, j) + i;
			double north = EARTH_RADIUS * RADIANS *
				       (grid_latitude(grid, j) - centre.latitude);
			double east = EARTH_RADIUS * RADIANS * grid->metric[j].cosine *
				      (grid_longitude(grid, i) - longitude_0);
			double along = (north * along_north + east * along_east) /
				       (0.25 * rupture.length);
			double across = (east * along_north - north * along_east) /
					(0.25 * rupture.width);

			displacement[k] = basin->wet[k] * rupture.uplift *
					  exp(-0.5 * (along * along + across * across));
			volume += displacement[k] * grid_cell_area(grid, j);
		}
	return volume;
}
