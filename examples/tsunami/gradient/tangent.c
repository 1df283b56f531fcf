/* SPDX-License-Identifier: MIT */
/*
 * The derivative of shallow.c, statement by statement: d_x is the derivative
 * of x.
 */
#include "model/shallow.h"

#include <math.h>

#include "model/stage.h"

void tangent_transport(const struct model *model, const double *depth, const struct state *now,
		       const double *d_depth, const struct state *d_now,
		       const struct diagnostics *diagnostics, struct diagnostics *d_diagnostics,
		       int first, int last)
{
	const struct grid *grid = model->grid;

	for (int j = first; j < last; j++) {
		ptrdiff_t here = grid_row(grid, j), north = grid_row(grid, j + 1);
		const double *h = depth + here, *h_north = depth + north;
		const double *d_h = d_depth + here, *d_h_north = d_depth + north;
		const double *eta = now->elevation + here, *eta_north = now->elevation + north;
		const double *d_eta = d_now->elevation + here;
		const double *d_eta_north = d_now->elevation + north;
		const double *u = now->u + here, *v = now->v + here;
		const double *d_u = d_now->u + here, *d_u_north = d_now->u + north;
		const double *d_v = d_now->v + here;
		const double *vorticity = diagnostics->vorticity + here;
		double *d_transport_x = d_diagnostics->transport_x + here;
		double *d_transport_y = d_diagnostics->transport_y + here;
		double *d_vorticity = d_diagnostics->vorticity + here;
		const struct row_metric *metric = &grid->metric[j];
		double per_dx_north = metric->per_dx_north;
		double curl_north = metric[1].cosine / metric->cosine_north * grid->per_dy;
		double curl_here = metric->cosine / metric->cosine_north * grid->per_dy;

		VECTOR_LOOP
		for (int i = 0; i < grid->columns; i++) {
			double depth_here = h[i] + eta[i], d_depth_here = d_h[i] + d_eta[i];
			double depth_east = h[i + 1] + eta[i + 1];
			double d_depth_east = d_h[i + 1] + d_eta[i + 1];
			double depth_north = h_north[i] + eta_north[i];
			double d_depth_north = d_h_north[i] + d_eta_north[i];
			double depth_corner = 0.25 * (depth_here + depth_east + depth_north +
						      h_north[i + 1] + eta_north[i + 1]);
			double d_depth_corner =
				0.25 * (d_depth_here + d_depth_east + d_depth_north +
					d_h_north[i + 1] + d_eta_north[i + 1]);
			double d_relative_vorticity =
				per_dx_north * (d_v[i + 1] - d_v[i]) -
				(curl_north * d_u_north[i] - curl_here * d_u[i]);

			d_transport_x[i] = 0.5 * ((d_depth_here + d_depth_east) * u[i] +
						  (depth_here + depth_east) * d_u[i]);
			d_transport_y[i] = 0.5 * ((d_depth_here + d_depth_north) * v[i] +
						  (depth_here + depth_north) * d_v[i]);
			d_vorticity[i] = (d_relative_vorticity - vorticity[i] * d_depth_corner) /
					 depth_corner;
		}
	}
}

void tangent_continuity(const struct model *model, const struct state *now,
			const struct state *d_now, struct state *d_next,
			struct diagnostics *d_diagnostics, int first, int last)
{
	const struct grid *grid = model->grid;
	double dt = model->time_step;

	for (int j = first; j < last; j++) {
		ptrdiff_t here = grid_row(grid, j), south = grid_row(grid, j - 1);
		const double *d_eta = d_now->elevation + here;
		const double *u = now->u + here, *d_u = d_now->u + here;
		const double *v = now->v + here, *v_south = now->v + south;
		const double *d_v = d_now->v + here, *d_v_south = d_now->v + south;
		const double *d_transport_x = d_diagnostics->transport_x + here;
		const double *d_transport_y = d_diagnostics->transport_y + here;
		const double *d_transport_y_south = d_diagnostics->transport_y + south;
		const double *wet = model->wet + here, *sponge = model->sponge + here;
		double *d_eta_next = d_next->elevation + here;
		double *d_bernoulli = d_diagnostics->bernoulli + here;
		const struct row_metric *metric = &grid->metric[j];
		double per_dx = metric->per_dx, per_dy = grid->per_dy;
		double ratio_north = metric->cosine_north / metric->cosine;
		double ratio_south = metric[-1].cosine_north / metric->cosine;

		VECTOR_LOOP
		for (int i = 0; i < grid->columns; i++) {
			double d_divergence =
				per_dx * (d_transport_x[i] - d_transport_x[i - 1]) +
				per_dy * (ratio_north * d_transport_y[i] -
					  ratio_south * d_transport_y_south[i]);
			double d_kinetic = 0.5 * (u[i] * d_u[i] + u[i - 1] * d_u[i - 1] +
						  ratio_north * v[i] * d_v[i] +
						  ratio_south * v_south[i] * d_v_south[i]);

			d_eta_next[i] = wet[i] * (d_eta[i] - dt * d_divergence) /
					(1.0 + dt * sponge[i]);
			d_bernoulli[i] = GRAVITY * d_eta_next[i] + d_kinetic;
		}
	}
}

static void tangent_eastward(const struct model *model, const double *depth,
			     const struct state *now, const struct state *next,
			     const struct diagnostics *diagnostics, const double *d_depth,
			     const struct state *d_now, struct state *d_next,
			     const struct diagnostics *d_diagnostics, int j)
{
	const struct grid *grid = model->grid;
	ptrdiff_t here = grid_row(grid, j);
	ptrdiff_t north = grid_row(grid, j + 1), south = grid_row(grid, j - 1);
	const double *h = depth + here, *eta = now->elevation + here;
	const double *d_h = d_depth + here, *d_eta = d_now->elevation + here;
	const double *u = now->u + here, *u_next = next->u + here;
	const double *d_u = d_now->u + here;
	const double *d_u_north = d_now->u + north, *d_u_south = d_now->u + south;
	const double *v = now->v + here, *v_south = now->v + south;
	const double *d_v = d_now->v + here, *d_v_south = d_now->v + south;
	const double *vorticity = diagnostics->vorticity + here;
	const double *vorticity_south = diagnostics->vorticity + south;
	const double *d_vorticity = d_diagnostics->vorticity + here;
	const double *d_vorticity_south = d_diagnostics->vorticity + south;
	const double *transport_y = diagnostics->transport_y + here;
	const double *transport_y_south = diagnostics->transport_y + south;
	const double *d_transport_y = d_diagnostics->transport_y + here;
	const double *d_transport_y_south = d_diagnostics->transport_y + south;
	const double *d_bernoulli = d_diagnostics->bernoulli + here;
	const double *open = model->open_east + here, *sponge = model->sponge + here;
	double *d_u_next = d_next->u + here;
	double dt = model->time_step, drag = model->drag;
	double least_square = model->min_speed * model->min_speed;
	double per_dx = grid->metric[j].per_dx;
	double viscosity_x = model->viscosity * per_dx * per_dx;
	double viscosity_y = model->viscosity * grid->per_dy * grid->per_dy;

	VECTOR_LOOP
	for (int i = 0; i < grid->columns; i++) {
		double d_rotation =
			0.25 * (d_vorticity[i] * (transport_y[i] + transport_y[i + 1]) +
				vorticity[i] * (d_transport_y[i] + d_transport_y[i + 1]) +
				d_vorticity_south[i] *
					(transport_y_south[i] + transport_y_south[i + 1]) +
				vorticity_south[i] *
					(d_transport_y_south[i] + d_transport_y_south[i + 1]));
		double d_pressure = per_dx * (d_bernoulli[i + 1] - d_bernoulli[i]);
		double d_viscous = viscosity_x * (d_u[i + 1] - 2.0 * d_u[i] + d_u[i - 1]) +
				   viscosity_y * (d_u_north[i] - 2.0 * d_u[i] + d_u_south[i]);
		double mean_v = 0.25 * (v[i] + v[i + 1] + v_south[i] + v_south[i + 1]);
		double d_mean_v = 0.25 * (d_v[i] + d_v[i + 1] + d_v_south[i] + d_v_south[i + 1]);
		double speed = sqrt(u[i] * u[i] + mean_v * mean_v + least_square);
		double d_speed = (u[i] * d_u[i] + mean_v * d_mean_v) / speed;
		double face_depth = 0.5 * (h[i] + eta[i] + h[i + 1] + eta[i + 1]);
		double d_face_depth = 0.5 * (d_h[i] + d_eta[i] + d_h[i + 1] + d_eta[i + 1]);
		double resistance = 1.0 + dt * (0.5 * (sponge[i] + sponge[i + 1]) +
						drag * speed / face_depth);
		double d_resistance =
			dt * drag * (d_speed - speed * d_face_depth / face_depth) / face_depth;

		d_u_next[i] = (open[i] * (d_u[i] + dt * (d_rotation - d_pressure + d_viscous)) -
			       u_next[i] * d_resistance) / resistance;
	}
}

static void tangent_northward(const struct model *model, const double *depth,
			      const struct state *now, const struct state *next,
			      const struct diagnostics *diagnostics, const double *d_depth,
			      const struct state *d_now, struct state *d_next,
			      const struct diagnostics *d_diagnostics, int j)
{
	const struct grid *grid = model->grid;
	ptrdiff_t here = grid_row(grid, j);
	ptrdiff_t north = grid_row(grid, j + 1), south = grid_row(grid, j - 1);
	const double *h = depth + here, *h_north = depth + north;
	const double *d_h = d_depth + here, *d_h_north = d_depth + north;
	const double *eta = now->elevation + here, *eta_north = now->elevation + north;
	const double *d_eta = d_now->elevation + here, *d_eta_north = d_now->elevation + north;
	const double *u = now->u + here, *u_north = now->u + north;
	const double *d_u = d_now->u + here, *d_u_north = d_now->u + north;
	const double *v = now->v + here, *v_next = next->v + here;
	const double *d_v = d_now->v + here;
	const double *d_v_north = d_now->v + north, *d_v_south = d_now->v + south;
	const double *vorticity = diagnostics->vorticity + here;
	const double *d_vorticity = d_diagnostics->vorticity + here;
	const double *transport_x = diagnostics->transport_x + here;
	const double *transport_x_north = diagnostics->transport_x + north;
	const double *d_transport_x = d_diagnostics->transport_x + here;
	const double *d_transport_x_north = d_diagnostics->transport_x + north;
	const double *d_bernoulli = d_diagnostics->bernoulli + here;
	const double *d_bernoulli_north = d_diagnostics->bernoulli + north;
	const double *open = model->open_north + here;
	const double *sponge = model->sponge + here, *sponge_north = model->sponge + north;
	double *d_v_next = d_next->v + here;
	double dt = model->time_step, drag = model->drag;
	double least_square = model->min_speed * model->min_speed;
	const struct row_metric *metric = &grid->metric[j];
	double ratio_here = metric->cosine / metric->cosine_north;
	double ratio_north = metric[1].cosine / metric->cosine_north;
	double per_dy = grid->per_dy;
	double viscosity_x = model->viscosity * metric->per_dx_north * metric->per_dx_north;
	double viscosity_y = model->viscosity * per_dy * per_dy;

	VECTOR_LOOP
	for (int i = 0; i < grid->columns; i++) {
		double d_rotation =
			-0.25 * (d_vorticity[i] * (ratio_here * transport_x[i] +
						   ratio_north * transport_x_north[i]) +
				 vorticity[i] * (ratio_here * d_transport_x[i] +
						 ratio_north * d_transport_x_north[i]) +
				 d_vorticity[i - 1] * (ratio_here * transport_x[i - 1] +
						       ratio_north * transport_x_north[i - 1]) +
				 vorticity[i - 1] * (ratio_here * d_transport_x[i - 1] +
						     ratio_north * d_transport_x_north[i - 1]));
		double d_pressure = per_dy * (d_bernoulli_north[i] - d_bernoulli[i]);
		double d_viscous = viscosity_x * (d_v[i + 1] - 2.0 * d_v[i] + d_v[i - 1]) +
				   viscosity_y * (d_v_north[i] - 2.0 * d_v[i] + d_v_south[i]);
		double mean_u = 0.25 * (u[i] + u[i - 1] + u_north[i] + u_north[i - 1]);
		double d_mean_u = 0.25 * (d_u[i] + d_u[i - 1] + d_u_north[i] + d_u_north[i - 1]);
		double speed = sqrt(v[i] * v[i] + mean_u * mean_u + least_square);
		double d_speed = (v[i] * d_v[i] + mean_u * d_mean_u) / speed;
		double face_depth = 0.5 * (h[i] + eta[i] + h_north[i] + eta_north[i]);
		double d_face_depth = 0.5 * (d_h[i] + d_eta[i] + d_h_north[i] + d_eta_north[i]);
		double resistance = 1.0 + dt * (0.5 * (sponge[i] + sponge_north[i]) +
						drag * speed / face_depth);
		double d_resistance =
			dt * drag * (d_speed - speed * d_face_depth / face_depth) / face_depth;

		d_v_next[i] = (open[i] * (d_v[i] + dt * (d_rotation - d_pressure + d_viscous)) -
			       v_next[i] * d_resistance) / resistance;
	}
}

void tangent_momentum(const struct model *model, const double *depth, const struct state *now,
		      const struct state *next, const struct diagnostics *diagnostics,
		      const double *d_depth, const struct state *d_now, struct state *d_next,
		      const struct diagnostics *d_diagnostics, int first, int last)
{
	for (int j = first; j < last; j++) {
		tangent_eastward(model, depth, now, next, diagnostics, d_depth, d_now, d_next,
				 d_diagnostics, j);
		tangent_northward(model, depth, now, next, diagnostics, d_depth, d_now, d_next,
				  d_diagnostics, j);
	}
}
