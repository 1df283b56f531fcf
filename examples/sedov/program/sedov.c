/* SPDX-License-Identifier: MIT */
/*
 * Run the blast, reverse it, and print the results.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/digits.h"
#include "common/parallel.h"
#include "common/progress.h"
#include "common/report.h"
#include "gradient/sweep.h"
#include "gradient/verify.h"
#include "gradient-file.h"
#include "model/ranks.h"
#include "options.h"
#include "picture/slice.h"

#define PATH_LENGTH 4096
/*
 * In a long run branches change along the line down to small steps: there the remainder does not
 * fall as the square, but difference quotients come close to the gradient's prediction.
 */
#define MAX_ERROR 1e-6

struct results {
	const struct options *options;
	const struct mesh *mesh, *whole; /* this rank's part; on the first rank: the whole cube */
	struct cost cost;
	double primal_seconds, objective, energy;
	struct taylor taylor;
	struct digits digits;
};

/* The path stays valid until the next call. */
static const char *path_of(const char *directory, const char *name)
{
	static char path[PATH_LENGTH];

	if (snprintf(path, PATH_LENGTH, "%s/%s", directory, name) >= PATH_LENGTH)
		fail("--output: the name is too long");
	return path;
}

static void make_directory(const char *directory)
{
	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		fail("--output %s: %s", directory, strerror(errno));
}

static double bytes_per_element(const struct results *results)
{
	return (double)results->cost.tape_bytes / (double)results->cost.steps /
	       pow(results->options->size, AXES);
}

static int count_ranks(const struct results *results)
{
	return results->mesh->ranks ? results->mesh->ranks->world->number : 1;
}

/* With --frozen, --verify compares only digits: runs of other controls have other time steps. */
static bool compares_differences(const struct options *options)
{
	return options->verify && !options->freezes_time_step;
}

static double adjoint_over_primal(const struct results *results)
{
	return (results->cost.forward_seconds + results->cost.reverse_seconds) /
	       results->primal_seconds;
}

static void write_digits(FILE *file, const struct digits *digits)
{
	fprintf(file, "  \"digits\": %d,\n  \"error_bound\": %.3e,\n  \"tolerance\": %.3e,\n"
		"  \"gradients\": %u,\n", digits->wanted, digits->bound, digits->tolerance,
		digits->gradients);
	if (digits->error >= 0.0)
		fprintf(file, "  \"error\": %.3e,\n", digits->error);
}

static void write_summary(const struct results *results, const struct controls *gradient)
{
	const struct options *options = results->options;
	const struct cost *cost = &results->cost;
	FILE *file = fopen(path_of(options->output, "summary.json"), "w");

	if (!file)
		fail("--output %s: %s", options->output, strerror(errno));
	fprintf(file, "{\n  \"size\": %d,\n  \"threads\": %d,\n  \"ranks\": %d,\n"
		"  \"steps\": %lld,\n", options->size, options->threads, count_ranks(results),
		(long long)cost->steps);
	fprintf(file, "  \"origin_energy\": %.6e,\n", results->energy);
	fprintf(file, "  \"objective\": \"%s\",\n  \"value\": %.17g,\n",
		objective_name(options->objective), results->objective);
	fprintf(file, "  \"by_origin_energy\": %.17g,\n  \"by_linear_viscosity\": %.17g,\n",
		gradient->energy[0], gradient->linear_viscosity);
	fprintf(file, "  \"by_quadratic_viscosity\": %.17g,\n  \"by_adiabatic_exponent\": %.17g,\n",
		gradient->quadratic_viscosity, gradient->adiabatic_exponent);
	if (compares_differences(options))
		fprintf(file, "  \"taylor_slope\": %.4f,\n  \"taylor_decades\": %d,\n"
			"  \"relative_error\": %.2e,\n",
			results->taylor.slope, results->taylor.decades, results->taylor.error);
	if (cost->planner)
		fprintf(file, "  \"planner\": \"%s\",\n  \"segment\": %lld,\n",
			cost->planner, (long long)cost->segment);
	if (cost->rounded_bytes)
		fprintf(file, "  \"rounded_bytes\": %llu,\n  \"kept_bytes\": %llu,\n",
			(unsigned long long)cost->rounded_bytes,
			(unsigned long long)cost->kept_bytes);
	if (results->digits.wanted)
		write_digits(file, &results->digits);
	fprintf(file, "  \"steps_run_again\": %lld,\n  \"tape_bytes\": %llu,\n",
		(long long)cost->advanced, (unsigned long long)cost->tape_bytes);
	fprintf(file, "  \"peak_resident_bytes\": %llu,\n  \"spilled_bytes\": %llu,\n",
		(unsigned long long)cost->resident_bytes, (unsigned long long)cost->spilled_bytes);
	fprintf(file, "  \"primal_seconds\": %.3f,\n  \"forward_seconds\": %.3f,\n",
		results->primal_seconds, cost->forward_seconds);
	fprintf(file, "  \"reverse_seconds\": %.3f,\n  \"adjoint_over_primal\": %.2f\n}\n",
		cost->reverse_seconds, adjoint_over_primal(results));
	if (fclose(file) != 0)
		fail("cannot write summary.json: %s", strerror(errno));
}

static void print_summary(const struct results *results, const struct controls *gradient)
{
	const struct options *options = results->options;
	const struct cost *cost = &results->cost;

	printf("Blast           %d^3 elements, %lld steps, energy at the origin %.6e\n",
	       options->size, (long long)cost->steps, results->energy);
	printf("Objective       %s: %.6e\n", objective_name(options->objective),
	       results->objective);
	printf("Gradient        by the energy at the origin %.6e, by the adiabatic exponent %.6e\n",
	       gradient->energy[0], gradient->adiabatic_exponent);
	printf("                by the viscosity, linear %.6e, quadratic %.6e\n",
	       gradient->linear_viscosity, gradient->quadratic_viscosity);
	printf("Tape            %.1f MB at most, %.1f MB resident, %.1f MB to the disk\n",
	       (double)cost->tape_bytes / 1e6, (double)cost->resident_bytes / 1e6,
	       (double)cost->spilled_bytes / 1e6);
	if (cost->planner)
		printf("Plan            %s, segments of %lld steps: %lld steps were run again\n",
		       cost->planner, (long long)cost->segment,
		       (long long)cost->advanced);
	else
		printf("                %.1f bytes an element and step\n",
		       bytes_per_element(results));
	if (results->digits.wanted)
		digits_print(&results->digits, cost->rounded_bytes, cost->kept_bytes);
	else if (cost->rounded_bytes)
		printf("Rounding        states in 1/%.1f of their bytes\n",
		       (double)cost->rounded_bytes / (double)cost->kept_bytes);
	if (results->digits.error >= 0.0 && results->digits.wanted)
		digits_print_error(&results->digits);
	printf("Seconds         primal %.3f, forward %.3f, reverse %.3f: %.2f primal runs\n",
	       results->primal_seconds, cost->forward_seconds, cost->reverse_seconds,
	       adjoint_over_primal(results));
	for (int k = 0; k < TAYLOR_STEPS && compares_differences(options); k++)
		printf("%-16sstep %.0e: remainder %.3e\n", k ? "" : "Taylor",
		       results->taylor.step[k], results->taylor.remainder[k]);
	if (compares_differences(options))
		printf("%-16sa difference quotient is off by %.1e (to be at most %.0e)\n", "",
		       results->taylor.error, MAX_ERROR);
	if (results->taylor.decades)
		printf("                slope %.4f over %d decades\n", results->taylor.slope,
		       results->taylor.decades);
}

static bool is_first_rank(const struct mesh *mesh)
{
	return !mesh->ranks || mesh->ranks->world->rank == 0;
}

/*
 * Returns the controls, or fields like theirs, of the whole cube; on ranks other than the first one
 * they are empty.
 */
static struct controls gather_whole(const struct results *results, const struct controls *here)
{
	struct ranks *ranks = results->mesh->ranks;
	struct controls whole = {0};

	if (!ranks)
		return *here;
	if (results->whole)
		whole = controls_create(results->whole);
	ranks->gather_elements(ranks, here->energy, whole.energy);
	for (int a = 0; a < AXES; a++)
		ranks->gather_nodes(ranks, here->position[a], whole.position[a]);
	whole.linear_viscosity = here->linear_viscosity;
	whole.quadratic_viscosity = here->quadratic_viscosity;
	whole.adiabatic_exponent = here->adiabatic_exponent;
	return whole;
}

static void release_whole(const struct results *results, struct controls *whole)
{
	if (results->mesh->ranks)
		controls_destroy(whole);
}

static void draw(const struct results *results, const char *name, const char *title,
		 double *const position[AXES], double *value)
{
	struct controls here = {value, {position[0], position[1], position[2]}, 0.0, 0.0, 0.0};
	struct controls whole = gather_whole(results, &here);

	if (results->whole)
		slice_write(path_of(results->options->output, name), title, results->whole,
			    whole.position, whole.energy);
	release_whole(results, &whole);
}

/* The derivative by a move of all corners of an element away from the origin. */
static double outward_derivative(const struct mesh *mesh, const struct controls *controls,
				 const struct controls *gradient, int element)
{
	double sum = 0.0;

	for (int i = 0; i < CORNERS; i++) {
		int node = mesh->node[CORNERS * element + i];
		double along = 0.0, square = 0.0;

		for (int a = 0; a < AXES; a++) {
			along += gradient->position[a][node] * controls->position[a][node];
			square += controls->position[a][node] * controls->position[a][node];
		}
		if (square > 0.0)
			sum += along / sqrt(square);
	}
	return sum;
}

/*
 * The derivative by the energies is not drawn: it is 0 where an element has no energy at first,
 * since energies below a cutoff are set to 0.
 */
static void draw_sensitivity(const struct results *results, const struct controls *controls,
			     const struct controls *gradient)
{
	struct controls place = gather_whole(results, controls);
	struct controls by = gather_whole(results, gradient);
	double *value;

	if (results->whole) {
		value = allocate((size_t)results->whole->elements, sizeof(double));
		for (int e = 0; e < results->whole->size * results->whole->size; e++)
			value[e] = outward_derivative(results->whole, &place, &by, e);
		slice_write(path_of(results->options->output, "sensitivity.svg"),
			    "How the objective changes if the corners of an element move outwards",
			    results->whole, place.position, value);
		free(value);
	}
	release_whole(results, &place);
	release_whole(results, &by);
}

static void write_gradient(const struct results *results, const struct controls *controls,
			   const struct controls *gradient)
{
	const struct options *options = results->options;
	struct controls whole_controls = gather_whole(results, controls);
	struct controls whole_gradient = gather_whole(results, gradient);

	if (results->whole)
		gradient_file_write(path_of(options->output, gradient_file_name),
				    objective_name(options->objective), results->whole,
				    &whole_controls, &whole_gradient);
	release_whole(results, &whole_controls);
	release_whole(results, &whole_gradient);
}

/* Bytes are sums over all ranks. */
static void add_up_bytes(const struct mesh *mesh, struct cost *cost)
{
	uint64_t *bytes[] = {&cost->tape_bytes, &cost->resident_bytes, &cost->spilled_bytes};

	for (size_t k = 0; mesh->ranks && k < sizeof(bytes) / sizeof(bytes[0]); k++)
		mesh->ranks->world->add_up(bytes[k], 1);
}

/* Draws the pressure at the end. Returns the number of steps. */
static int run_primal(struct results *results, const struct model *model,
		      const struct controls *controls)
{
	struct state state = state_create(model->mesh);
	double start;
	int steps;

	state_start(model, controls, &state);
	start = wall_time();
	forward_sweep(model, &state, 0, NULL, 0);
	results->primal_seconds = wall_time() - start;
	results->energy = state.energy[0];
	steps = state.clock.steps;
	draw(results, "pressure.svg", "Pressure at the end of the blast", state.position,
	     state.pressure);
	state_destroy(&state);
	return steps;
}

/* The arguments of take_gradient(), which --digits calls several times. */
struct computation {
	struct results *results;
	const struct model *model;
	const struct controls *controls;
	struct method *method;
	struct controls *gradient;
	struct cost *cost;
};

static void compute_with_tolerance(void *context, double tolerance)
{
	struct computation *computation = context;
	struct results *results = computation->results;

	computation->method->tolerance = tolerance;
	results->objective = take_gradient(computation->model, computation->controls,
					   results->options->objective, computation->method,
					   computation->gradient, computation->cost);
}

enum { MAX_PARTS = 4 + AXES };

/*
 * Returns the number of parts: each kind of control has a largest derivative of its own. Elements
 * that set a time step together, by symmetry, do so no longer if their states are rounded. There
 * the objective has a kink along the positions, whose derivatives have no digits then.
 */
static int list_parts(const struct model *model, const struct controls *gradient,
		      struct gradient_part part[MAX_PARTS])
{
	const struct mesh *mesh = model->mesh;

	*part++ = (struct gradient_part){gradient->energy, (size_t)mesh->elements};
	*part++ = (struct gradient_part){&gradient->linear_viscosity, 1};
	*part++ = (struct gradient_part){&gradient->quadratic_viscosity, 1};
	*part++ = (struct gradient_part){&gradient->adiabatic_exponent, 1};
	for (int a = 0; a < AXES; a++)
		*part++ = (struct gradient_part){gradient->position[a], (size_t)mesh->nodes};
	return model->freezes_time_step ? MAX_PARTS : MAX_PARTS - AXES;
}

static void compute_digits(struct computation *computation)
{
	struct results *results = computation->results;
	struct controls exact = controls_create(computation->model->mesh);
	struct computation other = *computation;
	struct cost cost;
	struct gradient_part part[MAX_PARTS], exact_part[MAX_PARTS];
	int parts = list_parts(computation->model, computation->gradient, part);

	results->digits = digits_compute(results->options->digits, part, parts,
					 compute_with_tolerance, computation);
	if (results->options->verify) {
		other.gradient = &exact;
		other.cost = &cost;
		compute_with_tolerance(&other, 0.0);
		list_parts(computation->model, &exact, exact_part);
		results->digits.error = digits_error(part, exact_part, parts);
		if (compares_differences(results->options))
			results->taylor = verify_gradient(other.model, other.controls,
							  results->options->objective, &exact);
	}
	controls_destroy(&exact);
}

/* Returns the exit status. */
static int run(const struct options *options, const struct mesh *mesh, const struct mesh *whole)
{
	struct results results = {.options = options, .mesh = mesh, .whole = whole};
	struct controls controls = controls_create(mesh), gradient = controls_create(mesh);
	struct model model;
	struct method method = {
		.scheme = options->scheme.text ? &options->scheme : NULL,
		.budget = options->budget, .spill = options->spill, .restart = options->restart,
		.looks_ahead = options->looks_ahead,
		.rounds = options->tolerance > 0 || options->digits,
		.tolerance = options->tolerance,
	};
	struct computation computation = {&results, &model, &controls, &method, &gradient,
					  &results.cost};
	int status = EXIT_WELL;

	controls_publish(mesh, &controls);
	model = model_create(mesh, &controls);
	model.sensor = mesh_element_here(mesh, options->sensor);
	model.freezes_time_step = options->freezes_time_step;
	require_gradient(&model, &controls, &method);
	method.steps = run_primal(&results, &model, &controls);
	if (options->digits)
		compute_digits(&computation);
	else
		compute_with_tolerance(&computation, options->tolerance);
	add_up_bytes(mesh, &results.cost);
	if (compares_differences(options) && !options->digits)
		results.taylor = verify_gradient(&model, &controls, options->objective, &gradient);
	if (compares_differences(options) && !(results.taylor.error <= MAX_ERROR))
		status = EXIT_UNVERIFIED;
	draw_sensitivity(&results, &controls, &gradient);
	write_gradient(&results, &controls, &gradient);
	if (whole)
		write_summary(&results, &gradient);
	if (!options->quiet)
		print_summary(&results, &gradient);
	if (options->verify && options->digits && !digits_hold(&results.digits)) {
		fprintf(stderr, "sedov: --digits: the error %.2e is above the bound %.2e\n",
			results.digits.error, results.digits.bound);
		status = EXIT_UNVERIFIED;
	} else if (whole && status == EXIT_UNVERIFIED) {
		fprintf(stderr, "sedov: differences are off the gradient by %.1e of it or more\n",
			results.taylor.error);
	}
	controls_destroy(&controls);
	controls_destroy(&gradient);
	model_destroy(&model);
	return status;
}

/* Sets *mesh to the part of this rank, and *whole on the first of several ranks. */
static void make_mesh(struct ranks *ranks, int size, struct mesh *mesh, struct mesh *whole)
{
	if (!ranks) {
		*mesh = mesh_cube(size);
		return;
	}
	ranks->cut(ranks, size, mesh);
	if (is_first_rank(mesh))
		*whole = mesh_cube(size);
}

static void check_options(const struct options *options, const struct ranks *ranks)
{
	if (options->verify && options->freezes_time_step && !options->digits)
		fail("--verify: runs of other controls have other time steps; leave --frozen out");
	if (ranks && options->digits)
		fail("--digits: each rank has a part of the gradient, and would find a tolerance "
		     "of its own; give --tolerance, or start one rank");
	if (ranks && options->looks_ahead)
		fail("--look-ahead: threads that are at different steps cannot exchange with other "
		     "ranks; leave it out, or start one rank");
}

int main(int count, char **arguments)
{
	struct mesh mesh, whole = {0};
	struct options options;
	struct ranks *ranks;
	int status;

	report_as("sedov");
	ranks = ranks_begin(&count, &arguments);
	options = options_read(count, arguments);
	check_options(&options, ranks);
	make_mesh(ranks, options.size, &mesh, &whole);
	options.threads = request_threads(options.threads);
	if (is_first_rank(&mesh)) {
		if (!options.quiet)
			progress_enable();
		make_directory(options.output);
	}
	status = run(&options, &mesh, !ranks ? &mesh : is_first_rank(&mesh) ? &whole : NULL);
	mesh_destroy(&mesh);
	mesh_destroy(&whole);
	return status;
}
