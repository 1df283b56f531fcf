/* SPDX-License-Identifier: MIT */
#include "parameters.h"

struct parameters parameters_published(void)
{
	return (struct parameters){
		.adiabatic_exponent = 5.0 / 3.0,
		.hourglass = 0.03,
		.linear_viscosity = 0.5,
		.quadratic_viscosity = 2.0 / 3.0,
		.limiter_slope = 2.0,
		.limiter_max = 1.0,
		.velocity_cutoff = 1e-7,
		.energy_cutoff = 1e-7,
		.pressure_cutoff = 1e-7,
		.viscosity_cutoff = 1e-7,
		.volume_cutoff = 1e-10,
		.min_volume = 1e-9,
		.max_volume = 1e9,
		.min_energy = -1e15,
		.max_viscosity = 1e12,
		.courant_viscosity = 2.0,
		.max_volume_change = 0.1,
		.min_growth = 1.1,
		.max_growth = 1.2,
		.max_time_step = 1e-2,
		.end_time = 1e-2,
	};
}
