/* SPDX-License-Identifier: MIT */
/*
 * The transpose of tangent.c, its stages in reverse order. x_bar is dJ/dx.
 *
 * Each stage gathers: element (j, i) of its results is the sum over all
 * statements of the primal step in which that element occurs. Where the primal
 * reads its eastern neighbour, the adjoint therefore reads its western one,
 * and so on. Closed faces have tendency_bar = 0 and drop out of every sum.
 */
#include "model/shallow.h"

#include <math.h>

#include "model/stage.h"

/*
 * Transpose of the last statement of primal_eastward() and of its drag:
 * leaves in adjoint->u the terms of u within its own face.
 */
static STAGE void adjoint_eastward(const struct model *model, const double *depth,
				   const struct state *now, const struct state *next,
				   struct state *adjoint, struct sensitivities *sensitivities,
				   int j)
{
	const struct grid *grid = model->grid;
	ptrdiff_t here = grid_row(grid, j), south = grid_row(grid, j - 1);
	const double *h = depth + here, *eta = now->elevation + here;
	const double *u = now->u + here, *u_next = next->u + here;
	const double *v = now->v + here, *v_south = now->v + south;
	const double *open = model->open_east + here, *sponge = model->sponge + here;
	double *u_bar = adjoint->u + here;
	double *tendency_bar = sensitivities->tendency_x + here;
	double *mean_v_bar = sensitivities->mean_v + here;
	double *face_depth_bar = sensitivities->face_depth_x + here;
	double dt = model->time_step, drag = model->drag;
	double least_square = model->min_speed * model->min_speed;

	VECTOR_LOOP
	EACH_COLUMN (i, grid->columns) {
		double mean_v = 0.25 * (v[i] + v[i + 1] + v_south[i] + v_south[i + 1]);
		double speed = sqrt(u[i] * u[i] + mean_v * mean_v + least_square);
		double face_depth = 0.5 * (h[i] + eta[i] + h[i + 1] + eta[i + 1]);
		double resistance = 1.0 + dt * (0.5 * (sponge[i] + sponge[i + 1]) +
						drag * speed / face_depth);
		double next_bar = open[i] * u_bar[i] / resistance;
		double resistance_bar = -u_next[i] * next_bar;
		double speed_bar = dt * drag * resistance_bar / face_depth;

		tendency_bar[i] = next_bar;
		mean_v_bar[i] = speed_bar * mean_v / speed;
		face_depth_bar[i] = -speed_bar * speed / face_depth;
		u_bar[i] = next_bar + speed_bar * u[i] / speed;
	}
}

/* The same for primal_northward(). */
static STAGE void adjoint_northward(const struct model *model, const double *depth,
				    const struct state *now, const struct state *next,
				    struct state *adjoint, struct sensitivities *sensitivities,
				    int j)
{
	const struct grid *grid = model->grid;
	ptrdiff_t here = grid_row(grid, j), north = grid_row(grid, j + 1);
	const double *h = depth + here, *h_north = depth + north;
	const double *eta = now->elevation + here, *eta_north = now->elevation + north;
	const double *u = now->u + here, *u_north = now->u + north;
	const double *v = now->v + here, *v_next = next->v + here;
	const double *open = model->open_north + here;
	const double *sponge = model->sponge + here, *sponge_north = model->sponge + north;
	double *v_bar = adjoint->v + here;
	double *tendency_bar = sensitivities->tendency_y + here;
	double *mean_u_bar = sensitivities->mean_u + here;
	double *face_depth_bar = sensitivities->face_depth_y + here;
	double dt = model->time_step, drag = model->drag;
	double least_square = model->min_speed * model->min_speed;

	VECTOR_LOOP
	EACH_COLUMN (i, grid->columns) {
		double mean_u = 0.25 * (u[i] + u[i - 1] + u_north[i] + u_north[i - 1]);
		double speed = sqrt(v[i] * v[i] + mean_u * mean_u + least_square);
		double face_depth = 0.5 * (h[i] + eta[i] + h_north[i] + eta_north[i]);
		double resistance = 1.0 + dt * (0.5 * (sponge[i] + sponge_north[i]) +
						drag * speed / face_depth);
		double next_bar = open[i] * v_bar[i] / resistance;
		double resistance_bar = -v_next[i] * next_bar;
		double speed_bar = dt * drag * resistance_bar / face_depth;

		tendency_bar[i] = next_bar;
		mean_u_bar[i] = speed_bar * mean_u / speed;
		face_depth_bar[i] = -speed_bar * speed / face_depth;
		v_bar[i] = next_bar + speed_bar * v[i] / speed;
	}
}

STAGE void adjoint_momentum(const struct model *model, const double *depth,
			    const struct state *now, const struct state *next,
			    struct state *adjoint, struct sensitivities *sensitivities, int first,
			    int last)
{
	EACH_ROW (j, first, last) {
		adjoint_eastward(model, depth, now, next, adjoint, sensitivities, j);
		adjoint_northward(model, depth, now, next, adjoint, sensitivities, j);
	}
}

/*
 * Transpose of the rotation with respect to the vorticity, of the pressure, and
 * of primal_continuity() down to the divergence: leaves in adjoint->elevation
 * dJ/d(eta - dt divergence).
 */
STAGE void adjoint_continuity(const struct model *model, const double *depth,
			      const struct state *now, const struct diagnostics *diagnostics,
			      struct state *adjoint, struct sensitivities *sensitivities,
			      int first, int last)
{
	const struct grid *grid = model->grid;
	double dt = model->time_step;

	EACH_ROW (j, first, last) {
		ptrdiff_t here = grid_row(grid, j);
		ptrdiff_t north = grid_row(grid, j + 1), south = grid_row(grid, j - 1);
		const double *h = depth + here, *h_north = depth + north;
		const double *eta = now->elevation + here, *eta_north = now->elevation + north;
		const double *transport_x = diagnostics->transport_x + here;
		const double *transport_x_north = diagnostics->transport_x + north;
		const double *transport_y = diagnostics->transport_y + here;
		const double *vorticity = diagnostics->vorticity + here;
		const double *tendency_x_bar = sensitivities->tendency_x + here;
		const double *tendency_x_north_bar = sensitivities->tendency_x + north;
		const double *tendency_y_bar = sensitivities->tendency_y + here;
		const double *tendency_y_south_bar = sensitivities->tendency_y + south;
		const double *wet = model->wet + here, *sponge = model->sponge + here;
		double *eta_bar = adjoint->elevation + here;
		double *bernoulli_bar = sensitivities->bernoulli + here;
		double *relative_vorticity_bar = sensitivities->relative_vorticity + here;
		double *depth_corner_bar = sensitivities->corner_depth + here;
		const struct row_metric *metric = &grid->metric[j];
		double ratio_here = metric->cosine / metric->cosine_north;
		double ratio_north = metric[1].cosine / metric->cosine_north;
		double per_dx = metric->per_dx, per_dy = grid->per_dy;

		VECTOR_LOOP
		EACH_COLUMN (i, grid->columns) {
			double depth_corner = 0.25 * (h[i] + eta[i] + h[i + 1] + eta[i + 1] +
						      h_north[i] + eta_north[i] +
						      h_north[i + 1] + eta_north[i + 1]);
			double vorticity_bar =
				0.25 * dt * ((tendency_x_bar[i] + tendency_x_north_bar[i]) *
						     (transport_y[i] + transport_y[i + 1]) -
					     (tendency_y_bar[i] + tendency_y_bar[i + 1]) *
						     (ratio_here * transport_x[i] +
						      ratio_north * transport_x_north[i]));

			relative_vorticity_bar[i] = vorticity_bar / depth_corner;
			depth_corner_bar[i] = -vorticity[i] * relative_vorticity_bar[i];
			bernoulli_bar[i] =
				dt * (per_dx * (tendency_x_bar[i] - tendency_x_bar[i - 1]) +
				      per_dy * (tendency_y_bar[i] - tendency_y_south_bar[i]));
			eta_bar[i] = wet[i] * (eta_bar[i] + GRAVITY * bernoulli_bar[i]) /
				     (1.0 + dt * sponge[i]);
		}
	}
}

/*
 * Transpose with respect to u: of the rotation and the divergence by way of
 * transport_x, and of the kinetic energy, the relative vorticity, the viscous
 * term and the speed in primal_northward().
 */
static STAGE void adjoint_transport_x(const struct model *model, const double *depth,
				      const struct state *now,
				      const struct diagnostics *diagnostics, struct state *adjoint,
				      struct sensitivities *sensitivities, int j)
{
	const struct grid *grid = model->grid;
	ptrdiff_t here = grid_row(grid, j);
	ptrdiff_t north = grid_row(grid, j + 1), south = grid_row(grid, j - 1);
	const double *h = depth + here, *eta = now->elevation + here, *u = now->u + here;
	const double *vorticity = diagnostics->vorticity + here;
	const double *vorticity_south = diagnostics->vorticity + south;
	const double *divergence_bar = adjoint->elevation + here;
	const double *tendency_x_bar = sensitivities->tendency_x + here;
	const double *tendency_x_north_bar = sensitivities->tendency_x + north;
	const double *tendency_x_south_bar = sensitivities->tendency_x + south;
	const double *tendency_y_bar = sensitivities->tendency_y + here;
	const double *tendency_y_south_bar = sensitivities->tendency_y + south;
	const double *mean_u_bar = sensitivities->mean_u + here;
	const double *mean_u_south_bar = sensitivities->mean_u + south;
	const double *bernoulli_bar = sensitivities->bernoulli + here;
	const double *curl_bar = sensitivities->relative_vorticity + here;
	const double *curl_south_bar = sensitivities->relative_vorticity + south;
	double *face_depth_bar = sensitivities->face_depth_x + here;
	double *u_bar = adjoint->u + here;
	double dt = model->time_step;
	const struct row_metric *metric = &grid->metric[j];
	double ratio_here = metric->cosine / metric->cosine_north;
	double ratio_south = metric->cosine / metric[-1].cosine_north;
	double per_dx = metric->per_dx, per_dy = grid->per_dy;
	double viscosity_x = model->viscosity * per_dx * per_dx;
	double viscosity_y = model->viscosity * per_dy * per_dy;

	VECTOR_LOOP
	EACH_COLUMN (i, grid->columns) {
		double transport_bar =
			dt * (per_dx * (divergence_bar[i + 1] - divergence_bar[i]) -
			      0.25 * (ratio_here * vorticity[i] *
					      (tendency_y_bar[i] + tendency_y_bar[i + 1]) +
				      ratio_south * vorticity_south[i] *
					      (tendency_y_south_bar[i] +
					       tendency_y_south_bar[i + 1])));
		double kinetic_bar = 0.5 * (bernoulli_bar[i] + bernoulli_bar[i + 1]);
		double rotational_bar = per_dy * (ratio_here * curl_bar[i] -
						  ratio_south * curl_south_bar[i]);
		double viscous_bar =
			dt * (viscosity_x * (tendency_x_bar[i + 1] - 2.0 * tendency_x_bar[i] +
					     tendency_x_bar[i - 1]) +
			      viscosity_y * (tendency_x_north_bar[i] - 2.0 * tendency_x_bar[i] +
					     tendency_x_south_bar[i]));
		double speed_bar = 0.25 * (mean_u_bar[i] + mean_u_bar[i + 1] +
					   mean_u_south_bar[i] + mean_u_south_bar[i + 1]);
		double face_depth = 0.5 * (h[i] + eta[i] + h[i + 1] + eta[i + 1]);

		u_bar[i] += face_depth * transport_bar + u[i] * kinetic_bar + rotational_bar +
			    viscous_bar + speed_bar;
		face_depth_bar[i] += u[i] * transport_bar;
	}
}

/* The same with respect to v. */
static STAGE void adjoint_transport_y(const struct model *model, const double *depth,
				      const struct state *now,
				      const struct diagnostics *diagnostics, struct state *adjoint,
				      struct sensitivities *sensitivities, int j)
{
	const struct grid *grid = model->grid;
	ptrdiff_t here = grid_row(grid, j);
	ptrdiff_t north = grid_row(grid, j + 1), south = grid_row(grid, j - 1);
	const double *h = depth + here, *h_north = depth + north;
	const double *eta = now->elevation + here, *eta_north = now->elevation + north;
	const double *v = now->v + here, *vorticity = diagnostics->vorticity + here;
	const double *divergence_bar = adjoint->elevation + here;
	const double *divergence_north_bar = adjoint->elevation + north;
	const double *tendency_x_bar = sensitivities->tendency_x + here;
	const double *tendency_x_north_bar = sensitivities->tendency_x + north;
	const double *tendency_y_bar = sensitivities->tendency_y + here;
	const double *tendency_y_north_bar = sensitivities->tendency_y + north;
	const double *tendency_y_south_bar = sensitivities->tendency_y + south;
	const double *mean_v_bar = sensitivities->mean_v + here;
	const double *mean_v_north_bar = sensitivities->mean_v + north;
	const double *bernoulli_bar = sensitivities->bernoulli + here;
	const double *bernoulli_north_bar = sensitivities->bernoulli + north;
	const double *curl_bar = sensitivities->relative_vorticity + here;
	double *face_depth_bar = sensitivities->face_depth_y + here;
	double *v_bar = adjoint->v + here;
	double dt = model->time_step;
	const struct row_metric *metric = &grid->metric[j];
	double ratio_here = metric->cosine_north / metric->cosine;
	double ratio_north = metric->cosine_north / metric[1].cosine;
	double per_dx_north = metric->per_dx_north, per_dy = grid->per_dy;
	double viscosity_x = model->viscosity * per_dx_north * per_dx_north;
	double viscosity_y = model->viscosity * per_dy * per_dy;

	VECTOR_LOOP
	EACH_COLUMN (i, grid->columns) {
		double transport_bar =
			dt * (per_dy * (ratio_north * divergence_north_bar[i] -
					ratio_here * divergence_bar[i]) +
			      0.25 * (vorticity[i] *
					      (tendency_x_bar[i] + tendency_x_north_bar[i]) +
				      vorticity[i - 1] * (tendency_x_bar[i - 1] +
							  tendency_x_north_bar[i - 1])));
		double kinetic_bar = 0.5 * (ratio_here * bernoulli_bar[i] +
					    ratio_north * bernoulli_north_bar[i]);
		double rotational_bar = per_dx_north * (curl_bar[i - 1] - curl_bar[i]);
		double viscous_bar =
			dt * (viscosity_x * (tendency_y_bar[i + 1] - 2.0 * tendency_y_bar[i] +
					     tendency_y_bar[i - 1]) +
			      viscosity_y * (tendency_y_north_bar[i] - 2.0 * tendency_y_bar[i] +
					     tendency_y_south_bar[i]));
		double speed_bar = 0.25 * (mean_v_bar[i] + mean_v_bar[i - 1] +
					   mean_v_north_bar[i] + mean_v_north_bar[i - 1]);
		double face_depth = 0.5 * (h[i] + eta[i] + h_north[i] + eta_north[i]);

		v_bar[i] += face_depth * transport_bar + v[i] * kinetic_bar + rotational_bar +
			    viscous_bar + speed_bar;
		face_depth_bar[i] += v[i] * transport_bar;
	}
}

STAGE void adjoint_transport(const struct model *model, const double *depth,
			     const struct state *now, const struct diagnostics *diagnostics,
			     struct state *adjoint, struct sensitivities *sensitivities, int first,
			     int last)
{
	EACH_ROW (j, first, last) {
		adjoint_transport_x(model, depth, now, diagnostics, adjoint, sensitivities, j);
		adjoint_transport_y(model, depth, now, diagnostics, adjoint, sensitivities, j);
	}
}

/* Transpose of the total depths at faces and corners. */
STAGE void adjoint_depth(const struct model *model, struct state *adjoint,
			 const struct sensitivities *sensitivities, double *depth_gradient,
			 int first, int last)
{
	const struct grid *grid = model->grid;

	EACH_ROW (j, first, last) {
		ptrdiff_t here = grid_row(grid, j), south = grid_row(grid, j - 1);
		const double *face_x_bar = sensitivities->face_depth_x + here;
		const double *face_y_bar = sensitivities->face_depth_y + here;
		const double *face_y_south_bar = sensitivities->face_depth_y + south;
		const double *corner_bar = sensitivities->corner_depth + here;
		const double *corner_south_bar = sensitivities->corner_depth + south;
		double *eta_bar = adjoint->elevation + here, *h_bar = depth_gradient + here;

		VECTOR_LOOP
		EACH_COLUMN (i, grid->columns) {
			double total_depth_bar =
				0.5 * (face_x_bar[i] + face_x_bar[i - 1] + face_y_bar[i] +
				       face_y_south_bar[i]) +
				0.25 * (corner_bar[i] + corner_bar[i - 1] +
					corner_south_bar[i] + corner_south_bar[i - 1]);

			eta_bar[i] += total_depth_bar;
			h_bar[i] += total_depth_bar;
		}
	}
}
