/* SPDX-License-Identifier: MIT */
/*
 * The forward kernels of examples/sedov in complex numbers: their own tangent.
 */
#ifndef TESTS_SEDOV_TANGENT_H
#define TESTS_SEDOV_TANGENT_H

#ifdef SEDOV_TANGENT
/* The program has them twice: names of functions, and with these of members. */
#define controls_create tangent_controls_create
#define controls_destroy tangent_controls_destroy
#define controls_publish tangent_controls_publish
#define state_create tangent_state_create
#define state_destroy tangent_state_destroy
#define state_start tangent_state_start
#define model_create tangent_model_create
#define model_destroy tangent_model_destroy
#define parameters_published tangent_parameters_published
#define fields_create tangent_fields_create
#define fields_destroy tangent_fields_destroy
#define adjoint_create tangent_adjoint_create
#define adjoint_destroy tangent_adjoint_destroy
#define force tangent_force
#define force_reverse tangent_force_reverse
#define motion tangent_motion
#define motion_reverse tangent_motion_reverse
#define gather_reverse tangent_gather_reverse
#define kinematics tangent_kinematics
#define kinematics_reverse tangent_kinematics_reverse
#define viscosity tangent_viscosity
#define viscosity_reverse tangent_viscosity_reverse
#define gas tangent_gas
#define gas_reverse tangent_gas_reverse
#define limits tangent_limits
#define clock_begin tangent_clock_begin
#define clock_begin_reverse tangent_clock_begin_reverse
#define clock_end tangent_clock_end
#define clock_end_reverse tangent_clock_end_reverse
#define share_of tangent_share_of
#define step_forward tangent_step_forward
#define step_reverse tangent_step_reverse
#define report_trouble tangent_report_trouble
#define run_is_finished tangent_run_is_finished
#define objective_of tangent_objective_of
#define objective_reverse tangent_objective_reverse
#define controls_reverse tangent_controls_reverse
#endif

/* A run, and where it is. */
struct sedov_run {
	int size, steps, objective, sensor, freezes_time_step;
	/* The controls, one after another: energies, positions along each axis, coefficients. */
	const double *controls;
};

/* The derivative of the run's objective along a direction of its controls, and its value. */
double sedov_tangent(const struct sedov_run *run, const double *direction, double *value);

#endif
