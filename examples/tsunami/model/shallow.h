/* SPDX-License-Identifier: MIT */
/*
 * The shallow-water model: its parameters, its fields, and one time step of
 * the primal model, of its tangent-linear model and of its adjoint.
 *
 *	d eta / dt = - div(U)
 *	d u   / dt = q k x U - grad(g eta + |u|^2 / 2) + nu lap(u) - C |u| u / H - sigma u
 *
 * with elevation eta, depth h, total depth H = h + eta, velocity u, transport
 * U = H u and potential vorticity q = (f + curl u) / H, on the sphere.
 *
 * Space: the energy-conserving scheme of Sadourny (1975, J. Atmos. Sci. 32,
 * 680) on the C-grid of Arakawa (Arakawa and Lamb 1977, Methods Comput. Phys.
 * 17, 173). Time: forward-backward (Mesinger and Arakawa 1976, GARP Publ. Ser.
 * 17): the elevation first, then the velocity with the new elevation, neutral
 * for gravity waves up to a Courant number of one. Rotation and advection are
 * taken at the old time: an inertial oscillation grows by (f dt)^2 / 2 a step,
 * by a few per cent in a run of hours. Drag and sponge are taken implicitly. Drag
 * is quadratic in sqrt(u^2 + v^2 + eps^2), which has all its derivatives at rest.
 *
 * Coasts are closed faces: nothing floods and nothing falls dry. Faces are
 * closed by multiplication with 0, so the rows of the fields are run through
 * without a branch. Land carries the smallest depth allowed, which keeps the
 * averages over four cells at coastal corners positive.
 *
 * A step is cut into stages. A stage computes some rows of its results from
 * any rows of the results of earlier stages, so threads divide the rows among
 * themselves, with a barrier between stages. This holds for the adjoint as
 * well: a row gathers the terms of its neighbours instead of scattering terms
 * to them. So no row is written by two threads, and every sum has one order,
 * independent of the number of threads. Nor is an element computed from others
 * of its stage, so that a thread of a kernel may have one alone: on a GPU the
 * stages are kernels (gpu.cu), of the same source.
 */
#ifndef TSUNAMI_SHALLOW_H
#define TSUNAMI_SHALLOW_H

#include <stdint.h>

#include "grid.h"

#define GRAVITY 9.81 /* [m/s^2] */

struct ranks;

struct model {
	const struct grid *grid;
	double time_step;       /* [s] */
	int steps;
	double drag;            /* the coefficient C of the quadratic bottom drag */
	double min_speed;     /* eps, added to the speed in the drag, in quadrature [m/s] */
	double viscosity;       /* nu [m^2/s] */
	const double *wet;      /* at centres: 1 in water, 0 on land */
	const double *open_east;  /* at eastern faces: 1 between two wet cells, else 0 */
	const double *open_north; /* at northern faces */
	const double *sponge;   /* at centres: sigma, the relaxation towards rest [1/s] */
	int gauge_column, gauge_row;
	struct ranks *ranks;    /* that share the basin (ranks.h); NULL: all of it is here */
};

/* The inputs that the recorded wave depends on. */
struct controls {
	double *displacement; /* of the sea surface at the start [m] */
	double *depth;        /* of the water at rest [m] */
};

/* The state of the model between two steps, or its tangent or adjoint. */
struct state {
	double *elevation; /* at centres [m] */
	double *u;         /* eastward velocity at eastern faces [m/s] */
	double *v;         /* northward velocity at northern faces [m/s] */
};

/* Intermediate values of a step, or their tangents. */
struct diagnostics {
	double *transport_x; /* at eastern faces [m^2/s] */
	double *transport_y; /* at northern faces [m^2/s] */
	double *vorticity;   /* potential, at corners [1/(m s)] */
	double *bernoulli;   /* g eta + |u|^2 / 2 at centres [m^2/s^2] */
};

/* Intermediate values of an adjoint step; each is dJ/d(quantity in its name). */
struct sensitivities {
	double *tendency_x;     /* of the velocities before division by drag and sponge */
	double *tendency_y;
	double *mean_v;         /* of the means of v and u in the speeds of the drag */
	double *mean_u;
	double *bernoulli;
	double *relative_vorticity;
	double *corner_depth;   /* of the total depths at corners and faces */
	double *face_depth_x;
	double *face_depth_y;
};

/* The primal step from `now` to `next`, rows first <= j < last. */
void primal_transport(const struct model *model, const double *depth, const struct state *now,
		      struct diagnostics *diagnostics, int first, int last);
void primal_continuity(const struct model *model, const struct state *now, struct state *next,
		       struct diagnostics *diagnostics, int first, int last);
void primal_momentum(const struct model *model, const double *depth, const struct state *now,
		     struct state *next, const struct diagnostics *diagnostics, int first,
		     int last);

/* Number of steps from one check of the total depth to the next; the last state is also checked. */
#define DEPTH_CHECK_INTERVAL 8

static inline int step_is_checked(const struct model *model, int64_t step)
{
	return step % DEPTH_CHECK_INTERVAL == 0 || step == model->steps;
}

/* Whether the total depth is positive in all these rows (a NaN is not). */
int primal_is_wet(const struct model *model, const double *depth, const struct state *now,
		  int first, int last);

/*
 * The tangent-linear step: the derivative of the primal step in the direction
 * (d_depth, d_now), whose primal stage must have been computed before.
 */
void tangent_transport(const struct model *model, const double *depth, const struct state *now,
		       const double *d_depth, const struct state *d_now,
		       const struct diagnostics *diagnostics, struct diagnostics *d_diagnostics,
		       int first, int last);
void tangent_continuity(const struct model *model, const struct state *now,
			const struct state *d_now, struct state *d_next,
			struct diagnostics *d_diagnostics, int first, int last);
void tangent_momentum(const struct model *model, const double *depth, const struct state *now,
		      const struct state *next, const struct diagnostics *diagnostics,
		      const double *d_depth, const struct state *d_now, struct state *d_next,
		      const struct diagnostics *d_diagnostics, int first, int last);

/*
 * The adjoint step: turns `adjoint`, dJ/d(next), into dJ/d(now) in place and
 * adds dJ/d(depth) of this step to depth_gradient. It needs the transports and
 * the vorticity of the primal step, and `next` in its own rows only.
 */
void adjoint_momentum(const struct model *model, const double *depth, const struct state *now,
		      const struct state *next, struct state *adjoint,
		      struct sensitivities *sensitivities, int first, int last);
void adjoint_continuity(const struct model *model, const double *depth, const struct state *now,
			const struct diagnostics *diagnostics, struct state *adjoint,
			struct sensitivities *sensitivities, int first, int last);
void adjoint_transport(const struct model *model, const double *depth, const struct state *now,
		       const struct diagnostics *diagnostics, struct state *adjoint,
		       struct sensitivities *sensitivities, int first, int last);
void adjoint_depth(const struct model *model, struct state *adjoint,
		   const struct sensitivities *sensitivities, double *depth_gradient, int first,
		   int last);

struct state state_create(const struct grid *grid);
void state_destroy(struct state *state);
struct diagnostics diagnostics_create(const struct grid *grid);
void diagnostics_destroy(struct diagnostics *diagnostics);
struct sensitivities sensitivities_create(const struct grid *grid);
void sensitivities_destroy(struct sensitivities *sensitivities);

#endif
