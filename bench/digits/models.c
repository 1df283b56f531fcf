/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel.h>
#include <reel/plan.h>

#define TURN 6.283185307179586

/* ---- Shallow water: elevations over a depth of 1, then velocities u, then v ---- */

enum { SIDE = 96, CELLS = SIDE * SIDE };

/* Time steps over widths of cells, and a linear drag. */
#define COURANT 0.4
#define DRAG 1e-3

static int east(int k)
{
	return k % SIDE == SIDE - 1 ? k - SIDE + 1 : k + 1;
}

static int north(int k)
{
	return (k + SIDE) % CELLS;
}

static void water_start(const struct model *model, double *x)
{
	(void)model;
	memset(x, 0, 3 * CELLS * sizeof *x);
	for (int k = 0; k < CELLS; k++) {
		double a = TURN * (k % SIDE) / SIDE, b = TURN * (k / SIDE) / SIDE;

		x[k] = 0.2 * exp(2 * (cos(a) + cos(b) - 2)) + 0.02 * sin(3 * a + 2 * b);
	}
}

static void water_step(const struct model *model, double *x)
{
	double *elevation = x, *u = x + CELLS, *v = x + 2 * CELLS;
	double flux_u[CELLS], flux_v[CELLS];

	(void)model;
	for (int k = 0; k < CELLS; k++) {
		flux_u[k] = (1 + 0.5 * (elevation[k] + elevation[east(k)])) * u[k];
		flux_v[k] = (1 + 0.5 * (elevation[k] + elevation[north(k)])) * v[k];
	}
	for (int k = 0; k < CELLS; k++) {
		elevation[k] -= COURANT * (flux_u[k] + flux_v[k]);
		elevation[east(k)] += COURANT * flux_u[k];
		elevation[north(k)] += COURANT * flux_v[k];
	}
	for (int k = 0; k < CELLS; k++) {
		u[k] -= COURANT * (elevation[east(k)] - elevation[k]) + DRAG * u[k];
		v[k] -= COURANT * (elevation[north(k)] - elevation[k]) + DRAG * v[k];
	}
}

static void water_turn(const struct model *model, const double *x, double *bar)
{
	memset(bar, 0, model->values * sizeof *bar);
	for (int k = 0; k < CELLS; k++)
		if (k % SIDE < SIDE / 8 && k / SIDE < SIDE / 8)
			bar[k] = x[k];
}

static void water_reverse(const struct model *model, const double *x, double *bar, double *by_rate)
{
	const double *elevation = x, *u = x + CELLS, *v = x + 2 * CELLS;
	double *elevation_bar = bar, *u_bar = bar + CELLS, *v_bar = bar + 2 * CELLS;
	double by_flux_u[CELLS], by_flux_v[CELLS];

	(void)model;
	(void)by_rate;
	for (int k = 0; k < CELLS; k++) {
		elevation_bar[k] += COURANT * (u_bar[k] + v_bar[k]);
		elevation_bar[east(k)] -= COURANT * u_bar[k];
		elevation_bar[north(k)] -= COURANT * v_bar[k];
		u_bar[k] *= 1 - DRAG;
		v_bar[k] *= 1 - DRAG;
	}
	for (int k = 0; k < CELLS; k++) {
		by_flux_u[k] = COURANT * (elevation_bar[east(k)] - elevation_bar[k]);
		by_flux_v[k] = COURANT * (elevation_bar[north(k)] - elevation_bar[k]);
	}
	for (int k = 0; k < CELLS; k++) {
		u_bar[k] += (1 + 0.5 * (elevation[k] + elevation[east(k)])) * by_flux_u[k];
		v_bar[k] += (1 + 0.5 * (elevation[k] + elevation[north(k)])) * by_flux_v[k];
		elevation_bar[k] += 0.5 * (u[k] * by_flux_u[k] + v[k] * by_flux_v[k]);
		elevation_bar[east(k)] += 0.5 * u[k] * by_flux_u[k];
		elevation_bar[north(k)] += 0.5 * v[k] * by_flux_v[k];
	}
}

#define FIELD {REEL_FIELD_DOUBLE, 2, {SIDE, SIDE}}

const struct model shallow_water = {
	.name = "shallow water", .steps = 320, .segment = 4,
	.fields = 3, .field = {FIELD, FIELD, FIELD}, .values = 3 * CELLS, .components = CELLS,
	.start = water_start, .step = water_step, .turn = water_turn, .reverse = water_reverse,
};

/* ---- Burgers' equation, as in examples/gradients/burgers-1d.c ---- */

enum { RING = 10000 };

/* dt / (2 dx), and nu dt / dx^2. */
#define C 0.1
#define D 0.2

static void burgers_start(const struct model *model, double *x)
{
	(void)model;
	for (int i = 0; i < RING; i++)
		x[i] = 1 + 0.5 * sin(5 * TURN * i / RING) + 0.1 * cos(37 * TURN * i / RING);
}

static double around(const double *x, int i)
{
	return x[(i + RING) % RING];
}

static void burgers_step(const struct model *model, double *x)
{
	double next[RING];

	(void)model;
	for (int i = 0; i < RING; i++)
		next[i] = x[i] - C * x[i] * (around(x, i + 1) - around(x, i - 1)) +
			  D * (around(x, i + 1) - 2 * x[i] + around(x, i - 1));
	memcpy(x, next, sizeof next);
}

static void burgers_turn(const struct model *model, const double *x, double *bar)
{
	(void)model;
	for (int i = 0; i < RING; i++)
		bar[i] = x[i] / RING;
}

static void burgers_reverse(const struct model *model, const double *x, double *bar,
			    double *by_rate)
{
	double before[RING];

	(void)model;
	(void)by_rate;
	for (int i = 0; i < RING; i++)
		before[i] = bar[i] * (1 - 2 * D - C * (around(x, i + 1) - around(x, i - 1))) +
			    around(bar, i - 1) * (D - C * around(x, i - 1)) +
			    around(bar, i + 1) * (D + C * around(x, i + 1));
	memcpy(bar, before, sizeof before);
}

const struct model burgers = {
	.name = "Burgers", .steps = 1000, .segment = 20,
	.fields = 1, .field = {{REEL_FIELD_DOUBLE, 1, {RING}}}, .values = RING,
	.components = RING,
	.start = burgers_start, .step = burgers_step, .turn = burgers_turn,
	.reverse = burgers_reverse,
};

/* ---- Lorenz: x of all trajectories, then y, then z. J is the mean of the last z ---- */

enum { PATHS = 500 };
#define TIME_STEP 0.005

static void lorenz_start(const struct model *model, double *x)
{
	(void)model;
	for (int i = 0; i < PATHS; i++) {
		x[i] = 1 + 0.1 * sin(TURN * i / PATHS);
		x[PATHS + i] = 1 + 0.1 * cos(TURN * i / PATHS);
		x[2 * PATHS + i] = 20;
	}
}

static void lorenz_step(const struct model *model, double *state)
{
	double *x = state, *y = x + PATHS, *z = y + PATHS;
	const double *rate = model->rate;

	for (int i = 0; i < PATHS; i++) {
		double dx = rate[0] * (y[i] - x[i]);
		double dy = x[i] * (rate[1] - z[i]) - y[i];
		double dz = x[i] * y[i] - rate[2] * z[i];

		x[i] += TIME_STEP * dx;
		y[i] += TIME_STEP * dy;
		z[i] += TIME_STEP * dz;
	}
}

static void lorenz_turn(const struct model *model, const double *state, double *bar)
{
	(void)state;
	memset(bar, 0, model->values * sizeof *bar);
	for (int i = 0; i < PATHS; i++)
		bar[2 * PATHS + i] = 1.0 / PATHS;
}

static void lorenz_reverse(const struct model *model, const double *state, double *bar,
			   double *by_rate)
{
	const double *x = state, *y = x + PATHS, *z = y + PATHS, *rate = model->rate;

	for (int i = 0; i < PATHS; i++) {
		double by_dx = TIME_STEP * bar[i], by_dy = TIME_STEP * bar[PATHS + i];
		double by_dz = TIME_STEP * bar[2 * PATHS + i];

		bar[i] += by_dy * (rate[1] - z[i]) + by_dz * y[i] - by_dx * rate[0];
		bar[PATHS + i] += by_dx * rate[0] - by_dy + by_dz * x[i];
		bar[2 * PATHS + i] -= by_dy * x[i] + by_dz * rate[2];
		by_rate[0] += by_dx * (y[i] - x[i]);
		by_rate[1] += by_dy * x[i];
		by_rate[2] -= by_dz * z[i];
	}
}

#define PATH_FIELD {REEL_FIELD_DOUBLE, 1, {PATHS}}
#define LORENZ(name_, segment_, slots_) {                                                         \
	.name = name_, .steps = 8000, .segment = segment_, .slots = slots_,                       \
	.fields = 3, .field = {PATH_FIELD, PATH_FIELD, PATH_FIELD}, .values = 3 * PATHS,          \
	.components = 3, .is_by_rate = true, .rate = {10, 28, 8.0 / 3},                           \
	.start = lorenz_start, .step = lorenz_step, .turn = lorenz_turn,                          \
	.reverse = lorenz_reverse }

const struct model lorenz = LORENZ("Lorenz", 20, 0);
const struct model lorenz_chaotic = LORENZ("Lorenz, one state", 400, 1);

/* ---- Runs ---- */

static _Noreturn void bail_out(void)
{
	fprintf(stderr, "digits: %s\n", reel_error_text(0));
	exit(EXIT_FAILURE);
}

static double *allocate(size_t values)
{
	double *memory = calloc(values, sizeof *memory);

	if (!memory)
		bail_out();
	return memory;
}

/* The state of a run: the numbers, and then the step that comes next, for store_way. */
static int advance(void *context, void *state, int64_t first, int64_t last)
{
	const struct sweep *sweep = context;
	double *x = state;

	for (int64_t i = first; i < last; i++)
		sweep->model->step(sweep->model, x);
	x[sweep->model->values] = (double)last;
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	const struct sweep *sweep = context;
	size_t values = sweep->model->values;

	for (int64_t i = first; i < last; i++) {
		double *kept = reel_push_span(tape, double, values);

		if (!kept)
			return reel_tape_error(tape);
		memcpy(kept, state, values * sizeof *kept);
		advance(context, state, i, i + 1);
	}
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	const struct sweep *sweep = context;

	for (int64_t i = last; i-- > first;) {
		const double *kept = reel_pop_span(tape, double, sweep->model->values);

		if (!kept)
			return reel_tape_error(tape);
		sweep->model->reverse(sweep->model, kept, adjoint, sweep->gradient);
	}
	return 0;
}

static int save(void *context, const void *state, void *snapshot)
{
	const struct sweep *sweep = context;
	size_t values = sweep->model->values;
	const double *x = state;

	memcpy(snapshot, state, (values + 1) * sizeof *x);
	if (sweep->way)
		sweep->way(sweep->model, x, (int)x[values], snapshot);
	return 0;
}

static int load(void *context, void *state, const void *snapshot)
{
	const struct sweep *sweep = context;

	memcpy(state, snapshot, (sweep->model->values + 1) * sizeof(double));
	return 0;
}

struct sweep *sweep_open(const struct model *model, store_way way)
{
	struct reel_problem problem = {.steps = (model->steps + model->segment - 1) /
						model->segment,
				       .tiers = 1};
	reel_model callbacks = {.state_bytes = (model->values + 1) * sizeof(double),
				.advance = advance, .record = record, .reverse = reverse,
				.save = save, .load = load};
	struct reel_loss loss = {.field = model->field, .fields = model->fields};
	struct reel_run_options options = {.loss = &loss, .segment_steps = model->segment,
					   .steps = model->steps};
	struct sweep *sweep = calloc(1, sizeof *sweep);

	if (!sweep)
		bail_out();
	problem.tier[0].slots = model->slots ? model->slots : problem.steps;
	sweep->model = model;
	sweep->way = way;
	sweep->x = allocate(model->values + 1);
	sweep->bar = allocate(model->values);
	sweep->gradient = allocate(model->components);
	if (reel_plan_open(&sweep->plan, REEL_BINOMIAL, &problem) ||
	    reel_run_open(&sweep->run, sweep->plan, &callbacks, &options))
		bail_out();
	return sweep;
}

void sweep_close(struct sweep *sweep)
{
	reel_run_close(sweep->run);
	reel_plan_close(sweep->plan);
	free(sweep->x);
	free(sweep->bar);
	free(sweep->gradient);
	free(sweep);
}

void sweep_run(struct sweep *sweep, double tolerance)
{
	const struct model *model = sweep->model;

	model->start(model, sweep->x);
	sweep->x[model->values] = 0;
	memset(sweep->gradient, 0, model->components * sizeof *sweep->gradient);
	if (reel_run_set_tolerance(sweep->run, tolerance) ||
	    reel_run_forward(sweep->run, sweep, sweep->x))
		bail_out();
	model->turn(model, sweep->x, sweep->bar);
	if (reel_run_reverse(sweep->run, sweep, sweep->x, sweep->bar))
		bail_out();
	if (!model->is_by_rate)
		memcpy(sweep->gradient, sweep->bar, model->components * sizeof *sweep->bar);
}

double sweep_bytes(const struct sweep *sweep)
{
	struct reel_run_stats stats;

	reel_run_get_stats(sweep->run, &stats);
	return (double)stats.kept_bytes / (double)stats.rounded_bytes;
}

double sweep_error(const struct sweep *sweep, const struct sweep *exact)
{
	double largest = 0, error = 0;

	for (size_t i = 0; i < sweep->model->components; i++) {
		double difference = fabs(sweep->gradient[i] - exact->gradient[i]);

		largest = fmax(largest, fabs(exact->gradient[i]));
		error = isnan(difference) || difference > error ? difference : error;
	}
	return error / largest;
}

struct digits_outcome take_digits(const struct model *model, unsigned digits)
{
	struct sweep *sweep = sweep_open(model, NULL), *exact = sweep_open(model, NULL);
	struct digits_outcome outcome;
	reel_accuracy *accuracy;

	if (reel_accuracy_open(&accuracy, sweep->run, digits, model->components))
		bail_out();
	do
		sweep_run(sweep, reel_accuracy_tolerance(accuracy));
	while (reel_accuracy_again(accuracy, sweep->gradient) > 0);
	reel_accuracy_get_report(accuracy, &outcome.report);
	sweep_run(exact, 0);
	outcome.bound = outcome.report.error / outcome.report.largest;
	outcome.error = sweep_error(sweep, exact);
	outcome.bytes = sweep_bytes(sweep);
	reel_accuracy_close(accuracy);
	sweep_close(sweep);
	sweep_close(exact);
	return outcome;
}
