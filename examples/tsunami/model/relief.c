/* SPDX-License-Identifier: MIT */
/* Reading a relief: all that needs NetCDF of the input. */
#define _POSIX_C_SOURCE 200809L
#include "bathymetry.h"

#include <math.h>
#include <netcdf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/report.h"

#define VARIABLE "ROSE"

/* Heights beyond this are fill values; they count as land. */
#define LARGEST_HEIGHT 2.0e4
#define HEIGHT_OF_MISSING 1.0f

/* Axes are even to this part of their spacing. */
#define EVEN 1.0e-2

static void require(int status, const char *path, const char *what)
{
	if (status != NC_NOERR)
		fail("%s: %s: %s; --grid wants a NetCDF file with " VARIABLE "(latitude, "
		     "longitude) in metres", path, what, nc_strerror(status));
}

/*
 * The NetCDF library reads zeros beyond the end of a truncated classic file.
 * A file must be at least as long as its variables.
 */
static void require_whole(int file, const char *path)
{
	int format, variables;
	double bytes = 0.0;
	struct stat status;

	require(nc_inq_format(file, &format), path, "format");
	if (format != NC_FORMAT_CLASSIC && format != NC_FORMAT_64BIT_OFFSET)
		return;
	require(nc_inq_nvars(file, &variables), path, "variables");
	for (int variable = 0; variable < variables; variable++) {
		nc_type type;
		int dimensions, dimension[NC_MAX_VAR_DIMS];
		size_t size, length;

		require(nc_inq_var(file, variable, NULL, &type, &dimensions, dimension, NULL),
			path, "variable");
		require(nc_inq_type(file, type, NULL, &size), path, "type");
		for (int k = 0; k < dimensions; k++) {
			require(nc_inq_dimlen(file, dimension[k], &length), path, "dimension");
			size *= length;
		}
		bytes += (double)size;
	}
	if (stat(path, &status) != 0 || (double)status.st_size < bytes)
		fail("%s is cut short: its header promises at least %.0f bytes and it has %.0f; "
		     "install the file again", path, bytes, (double)status.st_size);
}

static struct axis read_axis(int file, int dimension, const char *path)
{
	struct axis axis;
	char name[NC_MAX_NAME + 1];
	int variable;
	double *value;

	require(nc_inq_dim(file, dimension, name, &axis.points), path, "dimension of " VARIABLE);
	require(nc_inq_varid(file, name, &variable), path, name);
	if (axis.points < 2)
		fail("%s: the axis %s has fewer than two points", path, name);
	value = allocate(axis.points, sizeof(double));
	require(nc_get_var_double(file, variable, value), path, name);
	axis.first = value[0];
	axis.spacing = (value[axis.points - 1] - value[0]) / (double)(axis.points - 1);
	for (size_t k = 0; k < axis.points; k++)
		if (!(fabs(value[k] - axis.first - (double)k * axis.spacing) <=
		      EVEN * fabs(axis.spacing)))
			fail("%s: the axis %s is not evenly spaced in degrees", path, name);
	free(value);
	if (!(fabs(axis.spacing) > 0.0 && fabs(axis.first) <= 720.0))
		fail("%s: the axis %s is not one of degrees", path, name);
	return axis;
}

/* Files may run from north to south: turn them. */
static void put_south_first(struct relief *relief)
{
	size_t columns = relief->longitude.points, rows = relief->latitude.points;

	if (relief->latitude.spacing > 0.0)
		return;
	for (size_t j = 0; j < rows / 2; j++)
		for (size_t i = 0; i < columns; i++) {
			float *south = &relief->height[j * columns + i];
			float *north = &relief->height[(rows - 1 - j) * columns + i];
			float other = *south;

			*south = *north;
			*north = other;
		}
	relief->latitude.first += relief->latitude.spacing * (double)(rows - 1);
	relief->latitude.spacing = -relief->latitude.spacing;
}

struct relief relief_read(const char *path)
{
	struct relief relief;
	int file, variable, dimensions, dimension[NC_MAX_VAR_DIMS];
	size_t points;

	if (access(path, R_OK) != 0)
		fail("cannot read %s: apt-get install --no-install-recommends ferret-datasets, "
		     "name another file with --grid, or run --basin idealised, which needs none",
		     path);
	require(nc_open(path, NC_NOWRITE, &file), path, "no NetCDF file");
	require(nc_inq_varid(file, VARIABLE, &variable), path, "variable " VARIABLE);
	require(nc_inq_var(file, variable, NULL, NULL, &dimensions, dimension, NULL), path,
		VARIABLE);
	if (dimensions != 2)
		fail("%s: " VARIABLE " has %d dimensions; it must be " VARIABLE "(latitude, "
		     "longitude)", path, dimensions);
	require_whole(file, path);
	relief.latitude = read_axis(file, dimension[0], path);
	relief.longitude = read_axis(file, dimension[1], path);
	if (relief.longitude.spacing < 0.0)
		fail("%s: longitudes must run eastwards", path);
	points = relief.latitude.points * relief.longitude.points;
	relief.height = allocate(points, sizeof(float));
	require(nc_get_var_float(file, variable, relief.height), path, VARIABLE);
	require(nc_close(file), path, "closing");
	for (size_t k = 0; k < points; k++)
		if (!(fabsf(relief.height[k]) < (float)LARGEST_HEIGHT))
			relief.height[k] = HEIGHT_OF_MISSING;
	put_south_first(&relief);
	return relief;
}
