/* SPDX-License-Identifier: MIT */
#include "sedov-tangent.h"

#include "gradient/objective.h"
#include "kernel/step.h"

#define STEP 1e-40 /* of a derivative in an imaginary part */

static void set_field(real *field, int count, const double **value, const double **derivative)
{
	for (int i = 0; i < count; i++)
		field[i] = *(*value)++ + I * (STEP * *(*derivative)++);
}

double sedov_tangent(const struct sedov_run *run, const double *direction, double *value)
{
	struct mesh mesh = mesh_cube(run->size);
	struct controls controls = controls_create(&mesh);
	struct fields fields = fields_create(&mesh);
	struct state state = state_create(&mesh);
	const double *at = run->controls;
	struct model model;
	real objective;

	set_field(controls.energy, mesh.elements, &at, &direction);
	for (int a = 0; a < AXES; a++)
		set_field(controls.position[a], mesh.nodes, &at, &direction);
	set_field(&controls.linear_viscosity, 1, &at, &direction);
	set_field(&controls.quadratic_viscosity, 1, &at, &direction);
	set_field(&controls.adiabatic_exponent, 1, &at, &direction);
	model = model_create(&mesh, &controls);
	model.sensor = run->sensor;
	model.freezes_time_step = run->freezes_time_step;
	state_start(&model, &controls, &state);
	while (state.clock.steps < run->steps && !run_is_finished(&model, &state))
		step_forward(&model, &state, &fields);
	objective = objective_of((enum objective)run->objective, &model, &state);
	controls_destroy(&controls);
	fields_destroy(&fields);
	state_destroy(&state);
	model_destroy(&model);
	mesh_destroy(&mesh);
	*value = creal(objective);
	return cimag(objective) / STEP;
}
