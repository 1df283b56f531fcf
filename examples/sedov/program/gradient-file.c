/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "gradient-file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/report.h"

#if HAVE_NETCDF

#include <netcdf.h>

const char *const gradient_file_name = "gradient.nc";

static void require(int status)
{
	if (status != NC_NOERR)
		fail("cannot write %s: %s", gradient_file_name, nc_strerror(status));
}

static void put_text(int file, int variable, const char *name, const char *text)
{
	require(nc_put_att_text(file, variable, name, strlen(text), text));
}

/* Returns the number of the variable. */
static int define(int file, const char *name, nc_type type, int dimensions, const int *dimension,
		  const char *long_name)
{
	int variable;

	require(nc_def_var(file, name, type, dimensions, dimension, &variable));
	put_text(file, variable, "long_name", long_name);
	return variable;
}

static void put_axes(int file, int variable, double *const field[AXES], int nodes)
{
	for (size_t a = 0; a < AXES; a++) {
		const size_t start[] = {a, 0}, count[] = {1, (size_t)nodes};

		require(nc_put_vara_double(file, variable, start, count, field[a]));
	}
}

void gradient_file_write(const char *path, const char *objective, const struct mesh *mesh,
			 const struct controls *controls, const struct controls *gradient)
{
	int file, element, node[2], corner[2];
	int energy, position, linear, quadratic, exponent, mesh_position, mesh_node;

	require(nc_create(path, NC_CLOBBER | NC_64BIT_OFFSET, &file));
	require(nc_def_dim(file, "element", (size_t)mesh->elements, &element));
	require(nc_def_dim(file, "axis", AXES, &node[0]));
	require(nc_def_dim(file, "node", (size_t)mesh->nodes, &node[1]));
	require(nc_def_dim(file, "corner", CORNERS, &corner[1]));
	corner[0] = element;
	put_text(file, NC_GLOBAL, "title", "Gradient of the Sedov blast");
	put_text(file, NC_GLOBAL, "objective", objective);
	energy = define(file, "energy", NC_DOUBLE, 1, &element,
			"derivative by the initial energy per volume");
	position = define(file, "position", NC_DOUBLE, 2, node,
			  "derivative by the initial position");
	linear = define(file, "linear_viscosity", NC_DOUBLE, 0, NULL,
			"derivative by the linear coefficient of the viscosity");
	quadratic = define(file, "quadratic_viscosity", NC_DOUBLE, 0, NULL,
			   "derivative by the quadratic coefficient of the viscosity");
	exponent = define(file, "adiabatic_exponent", NC_DOUBLE, 0, NULL,
			  "derivative by the adiabatic exponent");
	mesh_position = define(file, "mesh_position", NC_DOUBLE, 2, node, "initial position");
	mesh_node = define(file, "mesh_node", NC_INT, 2, corner, "node at a corner, from 0");
	require(nc_enddef(file));
	require(nc_put_var_double(file, energy, gradient->energy));
	put_axes(file, position, gradient->position, mesh->nodes);
	require(nc_put_var_double(file, linear, &gradient->linear_viscosity));
	require(nc_put_var_double(file, quadratic, &gradient->quadratic_viscosity));
	require(nc_put_var_double(file, exponent, &gradient->adiabatic_exponent));
	put_axes(file, mesh_position, controls->position, mesh->nodes);
	require(nc_put_var_int(file, mesh_node, mesh->node));
	require(nc_close(file));
}

#else

const char *const gradient_file_name = "gradient.bin";

static void write_values(FILE *file, const double *value, int count)
{
	if (fwrite(value, sizeof(double), (size_t)count, file) != (size_t)count)
		fail("cannot write %s: %s", gradient_file_name, strerror(errno));
}

/* By the energies, by the positions along each axis, by the three coefficients. */
void gradient_file_write(const char *path, const char *objective, const struct mesh *mesh,
			 const struct controls *controls, const struct controls *gradient)
{
	const double coefficients[] = {gradient->linear_viscosity, gradient->quadratic_viscosity,
				       gradient->adiabatic_exponent};
	FILE *file = fopen(path, "wb");

	(void)objective;
	(void)controls;
	if (!file)
		fail("cannot write %s: %s", path, strerror(errno));
	write_values(file, gradient->energy, mesh->elements);
	for (int a = 0; a < AXES; a++)
		write_values(file, gradient->position[a], mesh->nodes);
	write_values(file, coefficients, 3);
	if (fclose(file) != 0)
		fail("cannot write %s: %s", gradient_file_name, strerror(errno));
}

#endif
