/* SPDX-License-Identifier: MIT */
/*
 * The basin: where there is water and how deep, coasts, and the sponges along
 * the edges of the region.
 */
#ifndef TSUNAMI_BASIN_H
#define TSUNAMI_BASIN_H

#include "bathymetry.h"
#include "grid.h"

struct place {
	double latitude, longitude;
};

struct basin {
	struct grid grid;
	double *depth;      /* as used: on land and in the rim the smallest depth [m] */
	double *wet;        /* 1 in water, 0 on land and in the rim */
	double *open_east;  /* 1 at eastern faces between two wet cells, else 0 */
	double *open_north; /* the same at northern faces */
	double *sponge;     /* relaxation towards rest [1/s] */
	long wet_cells;
	long deepened_cells; /* wet cells shallower than the smallest depth */
};

/* The basin of the real relief, or an idealised one with an island, fitted to the region. */
struct basin basin_from_relief(struct grid grid, const struct relief *relief, double min_depth);
struct basin basin_idealised(struct grid grid, double min_depth);
void basin_destroy(struct basin *basin);

/* Where the idealised basin of a region has its default source and gauge. */
struct place idealised_source(struct region region);
struct place idealised_gauge(struct region region);

/* The longest stable time step: the Courant number is one [s]. */
double basin_longest_time_step(const struct basin *basin);

/* The cell that a place lies in; 0 if it is outside the region. */
int basin_locate(const struct basin *basin, struct place place, int *column, int *row);

/* Move to the nearest wet cell, at most a few cells away; returns 0 if there is none. */
int basin_nearest_wet(const struct basin *basin, struct place place, int *column, int *row);

int basin_is_wet(const struct basin *basin, int column, int row);

#endif
