/* SPDX-License-Identifier: MIT */
#include "step.h"

#include <string.h>

#include "common/report.h"

int step_is_wet(const struct model *model, const double *depth, const struct state *now,
		struct rows rows, int64_t step)
{
	return !step_is_checked(model, step) ||
	       primal_is_wet(model, depth, now, rows.first, rows.last);
}

int is_dry_somewhere(const struct model *model, int here, int64_t step)
{
	if (!model->ranks || !step_is_checked(model, step))
		return here;
	return model->ranks->world->lowest(here) >= 0;
}

static int has_dry_row(const struct model *model, const double *depth, const struct state *state)
{
	struct rows own = own_rows(model);

	return !primal_is_wet(model, depth, state, own.first, own.last);
}

_Noreturn void report_dry(const struct model *model, const double *depth,
			  const struct state *state, int step)
{
	const struct grid *grid = model->grid;

	if (model->ranks)
		report_from(model->ranks->world->lowest(has_dry_row(model, depth, state)));
	for (int j = 0; j < grid->rows; j++)
		for (int i = 0; i < grid->columns; i++) {
			double total = depth[grid_row(grid, j) + i] +
				       state->elevation[grid_row(grid, j) + i];

			if (!(total > 0.0))
				fail("the total depth is %.3g m at latitude %.2f, longitude %.2f "
				     "after %d steps (%.2f h): choose a larger --min-depth or a "
				     "smaller --time-step", total, grid_latitude(grid, j),
				     grid_longitude(grid, i), step,
				     step * model->time_step / 3600.0);
		}
	fail("the total depth was not positive after %d steps: choose a larger --min-depth",
	     step);
}

void state_start(const struct model *model, const double *displacement, struct state *state)
{
	size_t bytes = grid_elements(model->grid) * sizeof(double);

	memcpy(state->elevation, displacement, bytes);
	memset(state->u, 0, bytes);
	memset(state->v, 0, bytes);
}

void state_pack(const struct grid *grid, const struct state *state, struct rows rows,
		double *packed)
{
	size_t columns = (size_t)grid->columns, bytes = columns * sizeof(double);

	for (int j = rows.first; j < rows.last; j++) {
		ptrdiff_t here = grid_row(grid, j);
		double *row = packed + (size_t)(j - rows.first) * row_values(grid);

		memcpy(row, state->elevation + here, bytes);
		memcpy(row + columns, state->u + here, bytes);
		memcpy(row + 2 * columns, state->v + here, bytes);
	}
}

void state_unpack(const struct grid *grid, struct state *state, struct rows rows,
		  const double *packed)
{
	size_t columns = (size_t)grid->columns, bytes = columns * sizeof(double);

	for (int j = rows.first; j < rows.last; j++) {
		ptrdiff_t here = grid_row(grid, j);
		const double *row = packed + (size_t)(j - rows.first) * row_values(grid);

		memcpy(state->elevation + here, row, bytes);
		memcpy(state->u + here, row + columns, bytes);
		memcpy(state->v + here, row + 2 * columns, bytes);
	}
}

void copy_wet(const struct model *model, const double *source, double *target)
{
	size_t elements = grid_elements(model->grid);

	for (size_t k = 0; k < elements; k++)
		target[k] = model->wet[k] * source[k];
}
