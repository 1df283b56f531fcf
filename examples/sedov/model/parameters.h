/* SPDX-License-Identifier: MIT */
/*
 * The coefficients and limits of the scheme.
 */
#ifndef SEDOV_PARAMETERS_H
#define SEDOV_PARAMETERS_H

#include "number.h"

struct parameters {
	/* The material: an ideal gas. Its density is 1 where the relative volume is 1. */
	real adiabatic_exponent;

	/* Coefficients that keep the mesh and the shock smooth. */
	double hourglass;         /* of the forces that oppose hourglass modes */
	real linear_viscosity;    /* of the artificial viscosity: its term in the velocity jump */
	real quadratic_viscosity; /* and the one in the square of the jump */
	double limiter_slope;     /* of the monotonic limiter: neighbour's over own gradient */
	double limiter_max;       /* the largest value of the limiter */

	/* Smaller magnitudes are 0; a relative volume this close to 1 is 1. */
	double velocity_cutoff;
	double energy_cutoff;
	double pressure_cutoff;
	double viscosity_cutoff;
	double volume_cutoff;

	/* Beyond these a run is not usable. */
	double min_volume, max_volume; /* relative */
	double min_energy;
	double max_viscosity;

	/* The time step. */
	double courant_viscosity; /* of the viscous part of the signal speed */
	double max_volume_change; /* relative, in a step */
	double min_growth;        /* of the time step: a smaller growth is none */
	double max_growth;        /* from one step to the next */
	double max_time_step, end_time;
};

/* The values with which the benchmark's figures are published. */
struct parameters parameters_published(void);

#endif
