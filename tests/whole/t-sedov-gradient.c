/* SPDX-License-Identifier: MIT */
/*
 * The gradient of the blast of examples/sedov is the transpose of the tangent, and its remainder
 * falls as Taylor's theorem says. Its bits depend neither on the teams that record and reverse it,
 * nor on where the tape is, nor on the plan.
 */
#include "config.h"

#include <math.h>

#include "helpers/omp-reports.h"
#include "helpers/sedov-tangent.h"
#include "helpers/support.h"

#include <reel.h>

#include "common/parallel.h"
#include "gradient/gradient.h"
#include "gradient/sweep.h"

/*
 * Most elements are at rest at first, and a small move along a direction soon changes their
 * branches. It changes none in a run of FEW_STEPS steps.
 */
enum { SIZE = 3, STEPS = 25, FEW_STEPS = 8, MANY_STEPS = 60, SENSOR_ELEMENT = SIZE + 1 };

static struct mesh mesh;

static int controls_count(void)
{
	return mesh.elements + AXES * mesh.nodes + 3;
}

/* Lists the arrays of the controls, to copy them to one array or from it. */
static void list_controls(struct controls *controls, double **field, int *count)
{
	field[0] = controls->energy;
	count[0] = mesh.elements;
	for (int a = 0; a < AXES; a++) {
		field[1 + a] = controls->position[a];
		count[1 + a] = mesh.nodes;
	}
	field[4] = &controls->linear_viscosity;
	field[5] = &controls->quadratic_viscosity;
	field[6] = &controls->adiabatic_exponent;
	count[4] = count[5] = count[6] = 1;
}

static void pack_controls(struct controls *controls, double *vector)
{
	double *field[7];
	int count[7];

	list_controls(controls, field, count);
	for (int i = 0; i < 7; vector += count[i++])
		memcpy(vector, field[i], (size_t)count[i] * sizeof(double));
}

static void unpack_controls(const double *vector, struct controls *controls)
{
	double *field[7];
	int count[7];

	list_controls(controls, field, count);
	for (int i = 0; i < 7; vector += count[i++])
		memcpy(field[i], vector, (size_t)count[i] * sizeof(double));
}

static double uniform(void)
{
	static uint64_t state = 4;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) * 0x1p-53;
}

/* The published problem, less regular, and a direction in which all controls change. */
static void draw_controls(double *at, double *direction)
{
	struct controls controls = controls_create(&mesh), change = controls_create(&mesh);

	controls_publish(&mesh, &controls);
	for (int e = 0; e < mesh.elements; e++) {
		double energy = 0.01 * controls.energy[0] * uniform();

		controls.energy[e] += energy;
		change.energy[e] = 0.1 * controls.energy[e] * (0.5 + uniform());
	}
	for (int n = 0; n < mesh.nodes; n++)
		for (int a = 0; a < AXES; a++) {
			if (mesh.held[n] >> a & 1)
				continue;
			controls.position[a][n] += 0.1 / SIZE * uniform();
			change.position[a][n] = 0.05 / SIZE * uniform();
		}
	change.linear_viscosity = 0.1 * uniform();
	change.quadratic_viscosity = 0.1 * uniform();
	change.adiabatic_exponent = 0.05 * uniform();
	pack_controls(&controls, at);
	pack_controls(&change, direction);
	controls_destroy(&controls);
	controls_destroy(&change);
}

struct recording {
	struct controls controls;
	struct model model;
	struct state state;
};

static struct recording start(const struct sedov_run *run)
{
	struct recording recording = {.controls = controls_create(&mesh)};

	unpack_controls(run->controls, &recording.controls);
	recording.model = model_create(&mesh, &recording.controls);
	recording.model.sensor = run->sensor;
	recording.model.freezes_time_step = run->freezes_time_step;
	recording.state = state_create(&mesh);
	state_start(&recording.model, &recording.controls, &recording.state);
	return recording;
}

static void finish(struct recording *recording)
{
	controls_destroy(&recording->controls);
	model_destroy(&recording->model);
	state_destroy(&recording->state);
}

/* Records with a team of `recorders` threads and reverses with `reversers`, on tapes of a pool. */
static void gradient_of(const struct sedov_run *run, int recorders, int reversers,
			  reel_pool *pool, double *gradient)
{
	struct recording recording = start(run);
	struct adjoint adjoint = adjoint_create(&mesh);
	struct controls result = controls_create(&mesh);
	reel_lane *root;

	if (reel_lane_open(&root, pool, 0))
		abort();
	request_threads(recorders);
	forward_sweep(&recording.model, &recording.state, run->steps, root, 0);
	objective_reverse((enum objective)run->objective, &recording.model, &recording.state,
			  &adjoint);
	request_threads(reversers);
	reverse_sweep(&recording.model, &recording.state, root, &adjoint);
	ok(reel_lane_is_empty(root), "the reverse sweep pops all that was pushed");
	controls_reverse(&recording.model, &recording.controls, &adjoint, &result);
	pack_controls(&result, gradient);
	controls_destroy(&result);
	reel_lane_close(root);
	adjoint_destroy(&adjoint);
	finish(&recording);
}

/* Returns the objective. *branches is another number if any branch of the run goes another way. */
static double run_forward(const struct sedov_run *run, uint64_t *branches)
{
	struct recording recording = start(run);
	struct fields fields = fields_create(&mesh);
	double objective;

	*branches = 0;
	for (int step = 0; step < run->steps; step++) {
		const struct clock *clock = &recording.state.clock;

		step_forward(&recording.model, &recording.state, &fields);
		for (int e = 0; e < mesh.elements; e++)
			*branches = *branches * 6364136223846793005u + fields.branches[e];
		for (int n = 0; n < mesh.nodes; n++)
			*branches = *branches * 6364136223846793005u + fields.stopped[n];
		*branches = *branches * 6364136223846793005u + clock->branches +
			    256u * (uint64_t)clock->element[COURANT_LIMIT] +
			    65536u * (uint64_t)clock->element[VOLUME_LIMIT];
	}
	objective = objective_of((enum objective)run->objective, &recording.model,
				 &recording.state);
	fields_destroy(&fields);
	finish(&recording);
	return objective;
}

static void test_transpose(const struct sedov_run *run, const double *direction, const char *name)
{
	double value, tangent = sedov_tangent(run, direction, &value), adjoint = 0.0;
	double *gradient = calloc((size_t)controls_count(), sizeof(double));

	gradient_of(run, 2, 2, NULL, gradient);
	for (int i = 0; i < controls_count(); i++)
		adjoint += gradient[i] * direction[i];
	ok(fabs(adjoint - tangent) <= 1e-12 * fabs(tangent),
	   "%s%s: the adjoint %.15e is the transpose of the tangent %.15e", name,
	   run->freezes_time_step ? ", time steps frozen" : "", adjoint, tangent);
	free(gradient);
}

static void test_taylor(const struct sedov_run *run, const double *direction, const char *name)
{
	int count = controls_count(), equal = 0;
	double *at = calloc((size_t)count, sizeof(double)), value, remainder[5];
	double slope = sedov_tangent(run, direction, &value), step = 1e-2;
	struct sedov_run moved = *run;
	uint64_t branches, others;

	run_forward(run, &branches);
	moved.controls = at;
	for (int k = 0; k < 5; k++, step /= 10.0) {
		for (int i = 0; i < count; i++)
			at[i] = run->controls[i] + step * direction[i];
		remainder[k] = fabs(run_forward(&moved, &others) - value - step * slope);
		equal += others == branches;
		tap_note("step %g: remainder %g", step, remainder[k]);
	}
	is_int(equal, 5, "%s: no branch of any step changes along the direction", name);
	slope = log10(remainder[0] / remainder[4]) / 4.0;
	ok(fabs(slope - 2.0) <= 0.05, "%s: over four decades the remainder falls with slope %.3f",
	   name, slope);
	free(at);
}

static void test_bits(const struct sedov_run *run)
{
	static const int teams[][2] = {{2, 2}, {3, 1}, {8, 3}, {1, 8}};
	struct reel_pool_options options = {.hard_budget = 1 << 16, .slab_bytes = 1 << 12};
	size_t bytes = (size_t)controls_count() * sizeof(double);
	double *one = malloc(bytes), *gradient = malloc(bytes);
	struct reel_pool_stats stats;
	reel_pool *pool;

	gradient_of(run, 1, 1, NULL, one);
	for (int i = 0; i < 4; i++) {
		gradient_of(run, teams[i][0], teams[i][1], NULL, gradient);
		ok(memcmp(gradient, one, bytes) == 0, "recorded by %d threads and reversed by %d, "
		   "it has the bits of one thread", teams[i][0], teams[i][1]);
	}
	if (reel_store_open(&options.store, "file", ".") || reel_pool_open(&pool, &options))
		abort();
	gradient_of(run, 2, 3, pool, gradient);
	reel_pool_get_stats(pool, &stats);
	ok(stats.written_bytes > 0 && memcmp(gradient, one, bytes) == 0,
	   "it has the bits of one thread with a spilled tape, too");
	reel_pool_close(pool);
	free(one);
	free(gradient);
}

/* Each plan reverses the whole run. ONLINE does not know its number of steps. */
static void test_plans(const struct sedov_run *run)
{
	static const char *const plans[] = {
		"store-all", "binomial:5", "mixed:20:2", "online:6", "multistage:3:4",
		"two-level:3:10", "hierarchical:3:4", "disk-revolve:3", "periodic:3:10", "auto",
	};
	size_t bytes = (size_t)controls_count() * sizeof(double);
	double *lanes = malloc(bytes), *gradient = malloc(bytes);
	struct recording recording = start(run);
	struct controls result = controls_create(&mesh);
	struct method method = {.spill = "."};
	struct cost cost;

	request_threads(2);
	take_gradient(&recording.model, &recording.controls, ORIGIN, &method, &result, &cost);
	pack_controls(&result, lanes);
	for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
		struct scheme scheme = scheme_read(plans[i]);

		method.scheme = &scheme;
		method.steps = cost.steps;
		take_gradient(&recording.model, &recording.controls, ORIGIN, &method, &result,
			      &cost);
		pack_controls(&result, gradient);
		ok(memcmp(gradient, lanes, bytes) == 0,
		   "%s: the bits of lanes, after %d steps and %d that were run again", plans[i],
		   (int)cost.steps, (int)cost.advanced);
	}
	controls_destroy(&result);
	finish(&recording);
	free(lanes);
	free(gradient);
}

/*
 * The forces of an element sum up to 0, so momentum is conserved, and a mesh that is moved as a
 * whole gives the same run: the derivatives by the positions along an axis sum up to 0.
 */
static void test_translation(const struct sedov_run *run, const char *name)
{
	double *gradient = calloc((size_t)controls_count(), sizeof(double));

	gradient_of(run, 2, 2, NULL, gradient);
	for (int a = 0; a < AXES; a++) {
		const double *position = gradient + mesh.elements + a * mesh.nodes;
		double sum = 0.0, magnitudes = 0.0;

		for (int n = 0; n < mesh.nodes; n++) {
			sum += position[n];
			magnitudes += fabs(position[n]);
		}
		ok(magnitudes > 0.0 && fabs(sum) <= 1e-12 * magnitudes,
		   "%s: moving the mesh along axis %d changes nothing: %.1e of %.1e", name, a, sum,
		   magnitudes);
	}
	free(gradient);
}

int main(void)
{
	static const char *const names[] = {
		[ORIGIN] = "energy at the origin", [KINETIC] = "kinetic energy",
		[SENSOR] = "pressure at a sensor",
	};
	double *at, *direction;
	struct sedov_run run = {SIZE, STEPS, ORIGIN, SENSOR_ELEMENT, 0, NULL};

	tap_begin();
	if (OMP_IS_UNSEEN)
		tap_skip_all("ThreadSanitizer does not see the barriers of this OpenMP runtime");
	mesh = mesh_cube(SIZE);
	at = calloc((size_t)controls_count(), sizeof(double));
	direction = calloc((size_t)controls_count(), sizeof(double));
	draw_controls(at, direction);
	run.controls = at;
	for (run.objective = ORIGIN; run.objective <= SENSOR; run.objective++) {
		for (run.freezes_time_step = 0; run.freezes_time_step < 2; run.freezes_time_step++)
			test_transpose(&run, direction, names[run.objective]);
		run.freezes_time_step = 0;
		test_translation(&run, names[run.objective]);
		run.steps = FEW_STEPS;
		test_taylor(&run, direction, names[run.objective]);
		run.steps = STEPS;
	}
	run.objective = ORIGIN;
	run.steps = MANY_STEPS;
	test_bits(&run);
	test_plans(&run);
	free(at);
	free(direction);
	mesh_destroy(&mesh);
	return tap_end();
}
