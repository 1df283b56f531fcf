/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "output.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "picture/chart.h"
#include "picture/map.h"
#include "common/report.h"

#define PATH_LENGTH 4096
#define FILL_VALUE NC_FILL_DOUBLE /* on land */

static char temporary_path[PATH_LENGTH], final_path[PATH_LENGTH];

static void remove_temporary(void)
{
	unlink(temporary_path);
}

static const char *begin_file(const char *directory, const char *name)
{
	snprintf(final_path, PATH_LENGTH, "%s/%s", directory, name);
	snprintf(temporary_path, PATH_LENGTH, "%s/.%s.%ld", directory, name, (long)getpid());
	set_failure_cleanup(remove_temporary);
	return temporary_path;
}

static void finish_file(void)
{
	if (rename(temporary_path, final_path) != 0)
		fail("cannot write %s: %s", final_path, strerror(errno));
	set_failure_cleanup(NULL);
}

void output_check_directory(const char *directory)
{
	char path[PATH_LENGTH];
	struct stat status;
	const char *parent;

	/* Room for the names of the files in it. */
	if (strlen(directory) > PATH_LENGTH - 128)
		fail("--output: the name is too long");
	if (stat(directory, &status) == 0) {
		if (!S_ISDIR(status.st_mode))
			fail("--output %s: it is not a directory", directory);
		if (access(directory, W_OK | X_OK) != 0)
			fail("--output %s: %s", directory, strerror(errno));
		return;
	}
	strcpy(path, directory);
	parent = dirname(path);
	if (access(parent, W_OK | X_OK) != 0)
		fail("--output %s: cannot make it in %s: %s", directory, parent, strerror(errno));
}

/* A sensitivity per 1000 km^2, which does not depend on the size of the cells. */
static void per_area(const struct grid *grid, const double *sensitivity, double *density)
{
	for (int j = 0; j < grid->rows; j++) {
		ptrdiff_t here = grid_row(grid, j);
		double area = grid_cell_area(grid, j) / 1e9;

		for (int i = 0; i < grid->columns; i++)
			density[here + i] = sensitivity[here + i] / area;
	}
}

static void draw_pictures(const struct results *results)
{
	const struct options *options = results->options;
	const struct grid *grid = &results->basin->grid;
	double *density = grid_field(grid);
	char title[160], subtitle[200];
	struct map map = {.basin = results->basin,
			  .field = density,
			  .title = title,
			  .subtitle = subtitle,
			  .unit = "m² s / m",
			  .source = options->earthquake.epicentre,
			  .gauge = results->gauge_cell,
			  .gauge_name = results->gauge_name};
	struct chart chart = {.count = results->model->steps,
			      .interval_hours = results->model->time_step / 3600.0,
			      .value = results->gauge,
			      .arrival_hours = results->arrival_hours,
			      .title = title};

	snprintf(title, sizeof(title),
		 "Sensitivity to the initial displacement of the sea surface");
	snprintf(subtitle, sizeof(subtitle),
		 "J = ½ ∫ η² dt of the wave at %s over %.1f h;  Mw %.1f;  %g′ cells, %d steps",
		 results->gauge_name, results->model->steps * results->model->time_step / 3600.0,
		 options->earthquake.magnitude, options->resolution, results->model->steps);
	per_area(grid, results->gradient->displacement, density);
	map.quantity = "∂J/∂η₀ per 1000 km²";
	map_draw(&map, begin_file(options->output, "sensitivity.png"));
	finish_file();

	snprintf(title, sizeof(title), "Sensitivity to the depth of the water");
	per_area(grid, results->gradient->depth, density);
	map.quantity = "∂J/∂h per 1000 km²";
	map_draw(&map, begin_file(options->output, "sensitivity-depth.png"));
	finish_file();

	snprintf(title, sizeof(title), "The wave at %s", results->gauge_name);
	chart_draw(&chart, begin_file(options->output, "gauge.png"));
	finish_file();
	free(density);
}

static void require(int status)
{
	if (status != NC_NOERR)
		fail("cannot write %s: %s; is the disk full?", final_path, nc_strerror(status));
}

static int define(int file, const char *name, int dimensions, const int *dimension,
		  const char *long_name, const char *units)
{
	int variable;

	require(nc_def_var(file, name, NC_DOUBLE, dimensions, dimension, &variable));
	require(nc_put_att_text(file, variable, "long_name", strlen(long_name), long_name));
	require(nc_put_att_text(file, variable, "units", strlen(units), units));
	return variable;
}

static int define_field(int file, const char *name, const int *dimension, const char *long_name,
			const char *units)
{
	int variable = define(file, name, 2, dimension, long_name, units);
	double fill = FILL_VALUE;

	require(nc_put_att_double(file, variable, "_FillValue", NC_DOUBLE, 1, &fill));
	return variable;
}

static void put_field(int file, int variable, const struct basin *basin, const double *field)
{
	const struct grid *grid = &basin->grid;
	double *row = allocate((size_t)grid->columns, sizeof(double));

	for (int j = 0; j < grid->rows; j++) {
		size_t start[2] = {(size_t)j, 0}, count[2] = {1, (size_t)grid->columns};

		for (int i = 0; i < grid->columns; i++)
			row[i] = basin_is_wet(basin, i, j) ? field[grid_row(grid, j) + i]
							   : FILL_VALUE;
		require(nc_put_vara_double(file, variable, start, count, row));
	}
	free(row);
}

static void put_axes(int file, int longitude, int latitude, int time,
		     const struct results *results)
{
	const struct grid *grid = &results->basin->grid;

	for (int i = 0; i < grid->columns; i++) {
		size_t index = (size_t)i;
		double value = grid_longitude(grid, i);

		require(nc_put_var1_double(file, longitude, &index, &value));
	}
	for (int j = 0; j < grid->rows; j++) {
		size_t index = (size_t)j;
		double value = grid_latitude(grid, j);

		require(nc_put_var1_double(file, latitude, &index, &value));
	}
	for (int n = 0; n < results->model->steps; n++) {
		size_t index = (size_t)n;
		double value = (n + 1) * results->model->time_step;

		require(nc_put_var1_double(file, time, &index, &value));
	}
}

static void write_gradient(const struct results *results)
{
	const struct grid *grid = &results->basin->grid;
	static const char conventions[] = "CF-1.8";
	static const char title[] = "Sensitivity of J = 1/2 integral of (elevation at the gauge)^2 "
				    "dt to the initial displacement and the depth used, per cell";
	int file, axis[2], time_axis, longitude, latitude, time, gauge;
	int depth, displacement, by_displacement, by_depth;

	require(nc_create(begin_file(results->options->output, "gradient.nc"), NC_CLOBBER,
			  &file));
	require(nc_def_dim(file, "lat", (size_t)grid->rows, &axis[0]));
	require(nc_def_dim(file, "lon", (size_t)grid->columns, &axis[1]));
	require(nc_def_dim(file, "time", (size_t)results->model->steps, &time_axis));
	longitude = define(file, "lon", 1, &axis[1], "longitude", "degrees_east");
	latitude = define(file, "lat", 1, &axis[0], "latitude", "degrees_north");
	time = define(file, "time", 1, &time_axis, "time since the earthquake", "s");
	depth = define_field(file, "depth", axis, "depth of the water used", "m");
	displacement = define_field(file, "initial_displacement", axis,
				    "initial displacement of the sea surface", "m");
	by_displacement = define_field(file, "sensitivity_to_displacement", axis,
				       "dJ/d(initial_displacement) of each cell", "m s");
	by_depth = define_field(file, "sensitivity_to_depth", axis, "dJ/d(depth) of each cell",
				"m s");
	gauge = define(file, "gauge_elevation", 1, &time_axis,
		       "elevation of the sea surface at the gauge", "m");
	require(nc_put_att_text(file, NC_GLOBAL, "Conventions", strlen(conventions), conventions));
	require(nc_put_att_text(file, NC_GLOBAL, "title", strlen(title), title));
	require(nc_put_att_text(file, NC_GLOBAL, "bathymetry", strlen(results->bathymetry),
				results->bathymetry));
	require(nc_enddef(file));
	put_axes(file, longitude, latitude, time, results);
	put_field(file, depth, results->basin, results->controls->depth);
	put_field(file, displacement, results->basin, results->controls->displacement);
	put_field(file, by_displacement, results->basin, results->gradient->displacement);
	put_field(file, by_depth, results->basin, results->gradient->depth);
	require(nc_put_var_double(file, gauge, results->gauge));
	require(nc_close(file));
	finish_file();
}

static void put_json_number(FILE *file, const char *key, double value)
{
	if (isfinite(value))
		fprintf(file, "  \"%s\": %.17g,\n", key, value);
	else
		fprintf(file, "  \"%s\": null,\n", key);
}

static void put_json_text(FILE *file, const char *key, const char *text)
{
	fprintf(file, "  \"%s\": \"", key);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		if ((unsigned char)*text < 0x20)
			fprintf(file, "\\u%04x", (unsigned)(unsigned char)*text);
		else
			fputc(*text, file);
	}
	fputs("\",\n", file);
}

static void put_json_count(FILE *file, const char *key, uint64_t number)
{
	fprintf(file, "  \"%s\": %llu,\n", key, (unsigned long long)number);
}

static void put_counts(FILE *file, const char *prefix, const struct counts *counts)
{
	const uint64_t number[] = {(uint64_t)counts->advanced, (uint64_t)counts->recorded,
				   (uint64_t)counts->reversed, counts->stores[0],
				   counts->loads[0], counts->stores[1], counts->loads[1]};
	static const char *const name[] = {"advanced", "recorded", "reversed", "memory_stores",
					   "memory_loads", "disk_stores", "disk_loads"};

	for (size_t k = 0; k < sizeof(number) / sizeof(number[0]); k++) {
		char key[64];

		snprintf(key, sizeof(key), "%s%s", prefix, name[k]);
		put_json_count(file, key, number[k]);
	}
}

static void put_digits(FILE *file, const struct digits *digits)
{
	put_json_count(file, "digits", (uint64_t)digits->wanted);
	put_json_number(file, "error_bound", digits->bound);
	put_json_number(file, "tolerance", digits->tolerance);
	put_json_count(file, "gradients", digits->gradients);
	if (digits->error >= 0.0)
		put_json_number(file, "error", digits->error);
}

static void put_checkpointing(FILE *file, const struct results *results)
{
	const struct checkpointing_use *use = results->checkpointing;

	put_json_text(file, "checkpoint", use->scheme);
	put_json_text(file, "planner", reel_planner_name(use->layout.planner));
	put_json_count(file, "segment_steps", (uint64_t)use->layout.segment);
	put_json_count(file, "segments", (uint64_t)use->layout.segments);
	if (!layout_learns(&use->layout))
		put_counts(file, "planned_", &use->planned);
	put_counts(file, "", &use->done);
	put_json_count(file, "snapshot_bytes", use->snapshot_bytes);
	if (use->gpu.name) {
		put_json_text(file, "device", use->gpu.name);
		put_json_count(file, "device_tape_memory_bytes", use->gpu.memory_bytes);
		put_json_count(file, "segments_repeated", use->gpu.repeats);
	}
	if (use->rounded_bytes) {
		put_json_count(file, "rounded_bytes", use->rounded_bytes);
		put_json_count(file, "kept_bytes", use->kept_bytes);
	}
	if (use->look_ahead.threads) {
		put_json_count(file, "look_ahead_threads", (uint64_t)use->look_ahead.threads);
		put_json_count(file, "recorded_ahead", (uint64_t)use->look_ahead.ahead);
	}
}

void output_write_summary(const struct results *results)
{
	const struct grid *grid = &results->basin->grid;
	const char *path = begin_file(results->options->output, "summary.json");
	FILE *file = fopen(path, "w");
	double gradient_seconds = results->forward_seconds + results->reverse_seconds;
	int written;

	if (!file)
		fail("cannot write %s: %s", final_path, strerror(errno));
	fputs("{\n", file);
	put_json_number(file, "gauge_arrival_hours", results->arrival_hours);
	put_json_number(file, "objective", results->objective);
	put_json_number(file, "gradient_norm", results->gradient_norm);
	fprintf(file, "  \"steps\": %d,\n  \"cells\": %ld,\n  \"columns\": %d,\n"
		"  \"threads\": %d,\n  \"ranks\": %d,\n",
		results->model->steps, (long)grid->rows * grid->columns, grid->columns,
		results->options->threads, results->ranks);
	fprintf(file, "  \"tape_bytes\": %llu,\n  \"peak_resident_bytes\": %llu,\n",
		(unsigned long long)results->tape_bytes, peak_resident_bytes());
	put_json_number(file, "primal_seconds", results->primal_seconds);
	put_json_number(file, "forward_seconds", results->forward_seconds);
	put_json_number(file, "reverse_seconds", results->reverse_seconds);
	put_json_number(file, "adjoint_over_primal", gradient_seconds / results->primal_seconds);
	if (results->verification) {
		put_json_number(file, "taylor_slope", results->verification->taylor_slope);
		put_json_number(file, "dot_product_error",
				results->verification->dot_product_error);
		put_json_number(file, "warm_forward_seconds",
				results->verification->forward_seconds);
		put_json_number(file, "warm_reverse_seconds",
				results->verification->reverse_seconds);
	}
	if (results->digits)
		put_digits(file, results->digits);
	if (results->checkpointing)
		put_checkpointing(file, results);
	put_json_number(file, "time_step_seconds", results->model->time_step);
	put_json_text(file, "bathymetry", results->bathymetry);
	put_json_text(file, "gauge", results->gauge_name);
	fprintf(file, "  \"region\": [%.10g, %.10g, %.10g, %.10g],\n", grid->region.west,
		grid->region.east, grid->region.south, grid->region.north);
	fprintf(file, "  \"tape_resident_bytes\": %llu,\n  \"tape_spilled_bytes\": %llu,\n",
		(unsigned long long)results->tapes_use.resident_bytes,
		(unsigned long long)results->tapes_use.spilled_bytes);
	put_json_number(file, "stall_seconds", results->tapes_use.stall_seconds);
	fprintf(file, "  \"stalls\": %llu\n}\n", (unsigned long long)results->tapes_use.stalls);
	written = !ferror(file);
	written &= fclose(file) == 0;
	if (!written)
		fail("cannot write %s: %s", final_path, strerror(errno));
	finish_file();
}

void output_write(const struct results *results)
{
	const char *directory = results->options->output;

	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		fail("cannot make the directory %s: %s", directory, strerror(errno));
	draw_pictures(results);
	write_gradient(results);
}
