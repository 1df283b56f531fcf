/* SPDX-License-Identifier: MIT */
#include "shallow.h"

#include <math.h>

#include "stage.h"

STAGE void primal_transport(const struct model *model, const double *depth,
			    const struct state *now, struct diagnostics *diagnostics, int first,
			    int last)
{
	const struct grid *grid = model->grid;

	EACH_ROW (j, first, last) {
		ptrdiff_t here = grid_row(grid, j), north = grid_row(grid, j + 1);
		const double *h = depth + here, *h_north = depth + north;
		const double *eta = now->elevation + here, *eta_north = now->elevation + north;
		const double *u = now->u + here, *u_north = now->u + north;
		const double *v = now->v + here;
		double *transport_x = diagnostics->transport_x + here;
		double *transport_y = diagnostics->transport_y + here;
		double *vorticity = diagnostics->vorticity + here;
		const struct row_metric *metric = &grid->metric[j];
		double per_dx_north = metric->per_dx_north;
		double curl_north = metric[1].cosine / metric->cosine_north * grid->per_dy;
		double curl_here = metric->cosine / metric->cosine_north * grid->per_dy;

		VECTOR_LOOP
		EACH_COLUMN (i, grid->columns) {
			double depth_here = h[i] + eta[i];
			double depth_east = h[i + 1] + eta[i + 1];
			double depth_north = h_north[i] + eta_north[i];
			double depth_corner = 0.25 * (depth_here + depth_east + depth_north +
						      h_north[i + 1] + eta_north[i + 1]);
			double relative_vorticity = per_dx_north * (v[i + 1] - v[i]) -
						    (curl_north * u_north[i] - curl_here * u[i]);

			transport_x[i] = 0.5 * (depth_here + depth_east) * u[i];
			transport_y[i] = 0.5 * (depth_here + depth_north) * v[i];
			vorticity[i] = (metric->coriolis + relative_vorticity) / depth_corner;
		}
	}
}

STAGE void primal_continuity(const struct model *model, const struct state *now,
			     struct state *next, struct diagnostics *diagnostics, int first,
			     int last)
{
	const struct grid *grid = model->grid;
	double dt = model->time_step;

	EACH_ROW (j, first, last) {
		ptrdiff_t here = grid_row(grid, j), south = grid_row(grid, j - 1);
		const double *eta = now->elevation + here;
		const double *u = now->u + here;
		const double *v = now->v + here, *v_south = now->v + south;
		const double *transport_x = diagnostics->transport_x + here;
		const double *transport_y = diagnostics->transport_y + here;
		const double *transport_y_south = diagnostics->transport_y + south;
		const double *wet = model->wet + here, *sponge = model->sponge + here;
		double *eta_next = next->elevation + here;
		double *bernoulli = diagnostics->bernoulli + here;
		const struct row_metric *metric = &grid->metric[j];
		double per_dx = metric->per_dx, per_dy = grid->per_dy;
		double ratio_north = metric->cosine_north / metric->cosine;
		double ratio_south = metric[-1].cosine_north / metric->cosine;

		VECTOR_LOOP
		EACH_COLUMN (i, grid->columns) {
			double divergence = per_dx * (transport_x[i] - transport_x[i - 1]) +
					    per_dy * (ratio_north * transport_y[i] -
						      ratio_south * transport_y_south[i]);
			double kinetic = 0.25 * (u[i] * u[i] + u[i - 1] * u[i - 1] +
						 ratio_north * v[i] * v[i] +
						 ratio_south * v_south[i] * v_south[i]);

			eta_next[i] = wet[i] * (eta[i] - dt * divergence) / (1.0 + dt * sponge[i]);
			bernoulli[i] = GRAVITY * eta_next[i] + kinetic;
		}
	}
}

static STAGE void primal_eastward(const struct model *model, const double *depth,
				  const struct state *now, struct state *next,
				  const struct diagnostics *diagnostics, int j)
{
	const struct grid *grid = model->grid;
	ptrdiff_t here = grid_row(grid, j);
	ptrdiff_t north = grid_row(grid, j + 1), south = grid_row(grid, j - 1);
	const double *h = depth + here, *eta = now->elevation + here;
	const double *u = now->u + here, *u_north = now->u + north, *u_south = now->u + south;
	const double *v = now->v + here, *v_south = now->v + south;
	const double *vorticity = diagnostics->vorticity + here;
	const double *vorticity_south = diagnostics->vorticity + south;
	const double *transport_y = diagnostics->transport_y + here;
	const double *transport_y_south = diagnostics->transport_y + south;
	const double *bernoulli = diagnostics->bernoulli + here;
	const double *open = model->open_east + here, *sponge = model->sponge + here;
	double *u_next = next->u + here;
	double dt = model->time_step, drag = model->drag;
	double least_square = model->min_speed * model->min_speed;
	double per_dx = grid->metric[j].per_dx;
	double viscosity_x = model->viscosity * per_dx * per_dx;
	double viscosity_y = model->viscosity * grid->per_dy * grid->per_dy;

	VECTOR_LOOP
	EACH_COLUMN (i, grid->columns) {
		double rotation = 0.25 * (vorticity[i] * (transport_y[i] + transport_y[i + 1]) +
					  vorticity_south[i] * (transport_y_south[i] +
								transport_y_south[i + 1]));
		double pressure = per_dx * (bernoulli[i + 1] - bernoulli[i]);
		double viscous = viscosity_x * (u[i + 1] - 2.0 * u[i] + u[i - 1]) +
				 viscosity_y * (u_north[i] - 2.0 * u[i] + u_south[i]);
		double mean_v = 0.25 * (v[i] + v[i + 1] + v_south[i] + v_south[i + 1]);
		double speed = sqrt(u[i] * u[i] + mean_v * mean_v + least_square);
		double face_depth = 0.5 * (h[i] + eta[i] + h[i + 1] + eta[i + 1]);
		double resistance = 1.0 + dt * (0.5 * (sponge[i] + sponge[i + 1]) +
						drag * speed / face_depth);

		u_next[i] = open[i] * (u[i] + dt * (rotation - pressure + viscous)) / resistance;
	}
}

static STAGE void primal_northward(const struct model *model, const double *depth,
				   const struct state *now, struct state *next,
				   const struct diagnostics *diagnostics, int j)
{
	const struct grid *grid = model->grid;
	ptrdiff_t here = grid_row(grid, j);
	ptrdiff_t north = grid_row(grid, j + 1), south = grid_row(grid, j - 1);
	const double *h = depth + here, *h_north = depth + north;
	const double *eta = now->elevation + here, *eta_north = now->elevation + north;
	const double *u = now->u + here, *u_north = now->u + north;
	const double *v = now->v + here, *v_north = now->v + north, *v_south = now->v + south;
	const double *vorticity = diagnostics->vorticity + here;
	const double *transport_x = diagnostics->transport_x + here;
	const double *transport_x_north = diagnostics->transport_x + north;
	const double *bernoulli = diagnostics->bernoulli + here;
	const double *bernoulli_north = diagnostics->bernoulli + north;
	const double *open = model->open_north + here;
	const double *sponge = model->sponge + here, *sponge_north = model->sponge + north;
	double *v_next = next->v + here;
	double dt = model->time_step, drag = model->drag;
	double least_square = model->min_speed * model->min_speed;
	const struct row_metric *metric = &grid->metric[j];
	double ratio_here = metric->cosine / metric->cosine_north;
	double ratio_north = metric[1].cosine / metric->cosine_north;
	double per_dy = grid->per_dy;
	double viscosity_x = model->viscosity * metric->per_dx_north * metric->per_dx_north;
	double viscosity_y = model->viscosity * per_dy * per_dy;

	VECTOR_LOOP
	EACH_COLUMN (i, grid->columns) {
		double rotation = -0.25 * (vorticity[i] * (ratio_here * transport_x[i] +
							   ratio_north * transport_x_north[i]) +
					   vorticity[i - 1] *
						   (ratio_here * transport_x[i - 1] +
						    ratio_north * transport_x_north[i - 1]));
		double pressure = per_dy * (bernoulli_north[i] - bernoulli[i]);
		double viscous = viscosity_x * (v[i + 1] - 2.0 * v[i] + v[i - 1]) +
				 viscosity_y * (v_north[i] - 2.0 * v[i] + v_south[i]);
		double mean_u = 0.25 * (u[i] + u[i - 1] + u_north[i] + u_north[i - 1]);
		double speed = sqrt(v[i] * v[i] + mean_u * mean_u + least_square);
		double face_depth = 0.5 * (h[i] + eta[i] + h_north[i] + eta_north[i]);
		double resistance = 1.0 + dt * (0.5 * (sponge[i] + sponge_north[i]) +
						drag * speed / face_depth);

		v_next[i] = open[i] * (v[i] + dt * (rotation - pressure + viscous)) / resistance;
	}
}

STAGE void primal_momentum(const struct model *model, const double *depth, const struct state *now,
			   struct state *next, const struct diagnostics *diagnostics, int first,
			   int last)
{
	EACH_ROW (j, first, last) {
		primal_eastward(model, depth, now, next, diagnostics, j);
		primal_northward(model, depth, now, next, diagnostics, j);
	}
}

STAGE int primal_is_wet(const struct model *model, const double *depth, const struct state *now,
			int first, int last)
{
	const struct grid *grid = model->grid;
	int dry = 0;

	EACH_ROW (j, first, last) {
		const double *h = depth + grid_row(grid, j);
		const double *eta = now->elevation + grid_row(grid, j);

		EACH_COLUMN (i, grid->columns)
			dry |= !(h[i] + eta[i] > 0.0);
	}
	return !dry;
}
