/* SPDX-License-Identifier: MIT */
/*
 * The adjoint of a tsunami: how the wave recorded at a gauge depends on the
 * initial displacement of the sea surface, and on the depth, everywhere.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "account.h"
#include "model/basin.h"
#include "gradient/objective.h"
#include "options.h"
#include "output.h"
#include "common/parallel.h"
#include "common/progress.h"
#include "common/report.h"
#include "gradient/reversal.h"
#include "model/ranks.h"
#include "model/source.h"
#include "verify.h"

#define COURANT 0.8
#define DRAG 2.5e-3        /* of a smooth sea floor */
#define MIN_SPEED 1.0e-2 /* [m/s] */
#define VISCOSITY 1.0e3    /* [m^2/s] */

static int is_first_rank(const struct ranks *ranks)
{
	return !ranks || ranks->rank == 0;
}

static struct basin make_basin(const struct options *options, const char **bathymetry)
{
	struct grid grid = grid_create(options->region, options->resolution);
	const char *path = options->grid_file;
	struct relief relief;
	struct basin basin;

	if (options->idealised) {
		*bathymetry = "idealised";
		return basin_idealised(grid, options->min_depth);
	}
	if (!path)
		path = relief_default_path(options->resolution);
	*bathymetry = path;
	relief = relief_read(path);
	relief_require_cover(&relief, grid.region, path);
	basin = basin_from_relief(grid, &relief, options->min_depth);
	relief_destroy(&relief);
	return basin;
}

static void choose_steps(const struct options *options, const struct basin *basin,
			 struct model *model)
{
	double longest = basin_longest_time_step(basin);
	double seconds = 3600.0 * options->hours;

	model->time_step = options->time_step > 0.0 ? options->time_step : COURANT * longest;
	model->steps = options->steps;
	if (!model->steps && seconds / model->time_step > MAX_STEPS)
		fail("%g hours are more than %d steps of %.4g s: choose fewer --hours or a longer "
		     "--time-step", options->hours, MAX_STEPS, model->time_step);
	if (!model->steps)
		model->steps = (int)ceil(seconds / model->time_step - 1e-9);
	if (seconds > 0.0)
		model->time_step = seconds / model->steps;
	if (model->time_step > longest)
		fail("a time step of %.4g s is unstable here: choose --time-step below %.4g or "
		     "more --steps", model->time_step, longest);
}

static void choose_gauge(const struct options *options, const struct basin *basin,
			 struct model *model)
{
	struct place place = options->gauge;
	int column, row;

	if (!basin_locate(basin, place, &column, &row))
		fail("the gauge %.2f,%.2f is outside the region: choose another --gauge or "
		     "--region", place.latitude, place.longitude);
	if (!basin_is_wet(basin, column, row)) {
		if (!basin_nearest_wet(basin, place, &column, &row))
			fail("the gauge %.2f,%.2f is on land: choose a --gauge in the sea or a "
			     "finer --resolution", place.latitude, place.longitude);
		if (!options->quiet)
			printf("The gauge is on land of this grid and moved to the water at "
			       "%.2f,%.2f.\n", grid_latitude(&basin->grid, row),
			       longitude_east_of(-180.0, grid_longitude(&basin->grid, column)));
	}
	model->gauge_column = column;
	model->gauge_row = row;
}

static struct model make_model(const struct options *options, const struct basin *basin)
{
	struct model model = {.grid = &basin->grid,
			      .drag = DRAG,
			      .min_speed = MIN_SPEED,
			      .viscosity = VISCOSITY,
			      .wet = basin->wet,
			      .open_east = basin->open_east,
			      .open_north = basin->open_north,
			      .sponge = basin->sponge};

	choose_steps(options, basin, &model);
	choose_gauge(options, basin, &model);
	return model;
}

static double make_source(const struct options *options, const struct basin *basin,
			  double *displacement)
{
	struct place centre = options->earthquake.epicentre;
	int column, row;
	double volume;

	if (!basin_locate(basin, centre, &column, &row))
		fail("the epicentre %.2f,%.2f is outside the region: choose another --epicentre or "
		     "--region", centre.latitude, centre.longitude);
	volume = source_displace(&options->earthquake, basin, displacement);
	if (!(volume > 0.0))
		fail("the earthquake at %.2f,%.2f moves no water: choose another --epicentre",
		     centre.latitude, centre.longitude);
	return volume;
}

/* Figures of the rank whose model is the largest. */
static uint64_t full_tape_bytes(const struct model *model)
{
	struct grid grid = largest_grid(model);

	return tapes_need(&grid, model->steps);
}

/* Options that are refused on several ranks. */
static void check_ranks(const struct options *options)
{
	if (options->on_gpu)
		fail("--device cuda: on several ranks threads of the CPU run the steps; leave it "
		     "out, or start one rank");
}

/*
 * Returns true if the tape of all steps has no room in the budget, or else in the memory that the
 * system allows, of a rank.
 */
static int exceeds_memory(const struct options *options, const struct model *model)
{
	double room = options->budget ? (double)options->budget : memory_limit_bytes();
	int exceeds = (double)full_tape_bytes(model) > room;

	return model->ranks ? model->ranks->world->lowest(exceeds) >= 0 : exceeds;
}

/*
 * A run without --checkpoint keeps all steps on tape. If they have no room in memory, and there is
 * no directory to spill to, it takes --checkpoint auto.
 */
static void choose_scheme(struct options *options, const struct model *model)
{
	double need = (double)full_tape_bytes(model);

	if (options->spill && !options->budget)
		fail("--spill %s: nothing goes there without a --budget", options->spill);
	if (options->spill)
		return;
	if (exceeds_memory(options, model)) {
		if (options->reverse_threads)
			fail("--reverse-threads is for all steps on tape, which needs %.1f MB and "
			     "exceeds the memory: leave it out, or choose a larger --budget, or a "
			     "directory on a disk with --spill", need / 1e6);
		options->scheme = scheme_read("auto");
		if (!options->quiet)
			printf("The tape of all steps needs %.1f MB, which is too much: "
			       "--checkpoint auto is used.\n", need / 1e6);
	} else if (need > memory_limit_bytes()) {
		fail("the tape of all steps needs %.1f GiB, which --budget allows, but the system "
		     "allows %.1f: choose a smaller --budget", need / 0x1p30,
		     memory_limit_bytes() / 0x1p30);
	}
}

static double euclidean_norm(const struct grid *grid, const struct controls *controls)
{
	double sum = 0.0;

	for (size_t k = 0; k < grid_elements(grid); k++)
		sum += controls->displacement[k] * controls->displacement[k] +
		       controls->depth[k] * controls->depth[k];
	return sqrt(sum);
}

/*
 * The run without tape that the gradient's cost is compared with: the faster of two. A run that may
 * be asked to end, and goes on later, has no time for it.
 */
static void time_primal(struct results *results, struct reversal *reversal, double *gauge)
{
	results->primal_seconds = NAN;
	if (results->options->restart)
		return;
	for (int k = 0; k < 2; k++) {
		double start = wall_time();

		reversal_primal(reversal, results->controls, gauge);
		results->primal_seconds = fmin(results->primal_seconds, wall_time() - start);
	}
}

/* J_bar: J is a number of the rank that has the gauge. */
static double seed_of(const struct model *here)
{
	return here->ranks ? here->ranks->seed(here->ranks, gauge_row_of_all(here)) : 1.0;
}

static void compute_gradient(struct results *results, struct reversal *reversal, double *gauge,
			     struct controls *gradient)
{
	const struct model *model = results->model;
	double *weights = allocate((size_t)model->steps, sizeof(double));
	double start = wall_time();

	reversal_forward(reversal, results->controls, gauge);
	results->forward_seconds = wall_time() - start;
	if (reversal->tapes)
		results->tape_bytes = tapes_bytes(reversal->tapes);
	results->objective = objective(model, gauge);
	results->arrival_hours = arrival_hours(model, gauge);

	start = wall_time();
	objective_weights(model, gauge, seed_of(reversal->model), weights);
	reversal_reverse(reversal, results->controls, weights, gradient);
	results->reverse_seconds = wall_time() - start;
	results->gradient_norm = euclidean_norm(model->grid, gradient);
	free(weights);
}

/* The arguments of compute_gradient(), which --digits calls several times. */
struct computation {
	struct results *results;
	struct reversal *reversal;
	double *gauge;
	struct controls *gradient;
};

static void compute_with_tolerance(void *context, double tolerance)
{
	struct computation *computation = context;

	checkpointing_set_tolerance(computation->reversal->checkpointing, tolerance);
	compute_gradient(computation->results, computation->reversal, computation->gauge,
			 computation->gradient);
}

/* The two controls have derivatives of unlike units. */
enum { PARTS = 2 };

static void list_parts(const struct grid *grid, const struct controls *gradient,
		       struct gradient_part part[PARTS])
{
	part[0] = (struct gradient_part){gradient->displacement, grid_elements(grid)};
	part[1] = (struct gradient_part){gradient->depth, grid_elements(grid)};
}

static void compute_digits(struct results *results, struct reversal *reversal, double *gauge,
			   struct controls *gradient, struct digits *digits)
{
	struct computation computation = {results, reversal, gauge, gradient};
	struct gradient_part part[PARTS];

	list_parts(results->model->grid, gradient, part);
	*digits = digits_compute(results->options->digits, part, PARTS, compute_with_tolerance,
				 &computation);
	results->digits = digits;
}

/* Replaces the gradient by the gradient without rounding, for the other tests of --verify. */
static void compare_digits(const struct results *results, struct reversal *reversal, double *gauge,
			   struct controls *gradient, struct digits *digits)
{
	struct results others = *results;
	const struct grid *grid = results->model->grid;
	struct controls exact = {grid_field(grid), grid_field(grid)};
	struct computation computation = {&others, reversal, gauge, &exact};
	struct gradient_part part[PARTS], exact_part[PARTS];
	struct controls rounded = *gradient;

	compute_with_tolerance(&computation, 0.0);
	list_parts(grid, &rounded, part);
	list_parts(grid, &exact, exact_part);
	digits->error = digits_error(part, exact_part, PARTS);
	*gradient = exact;
	free(rounded.displacement);
	free(rounded.depth);
}

static void take_account_here(struct results *results, struct reversal *reversal,
			      struct checkpointing_use *use)
{
	if (reversal->tapes) {
		results->tapes_use = tapes_use(reversal->tapes);
		return;
	}
	*use = checkpointing_use(reversal->checkpointing);
	results->checkpointing = use;
	results->tape_bytes = use->tape_bytes;
	results->tapes_use = (struct tapes_use){.stalls = use->waits,
						.stall_seconds = use->wait_seconds,
						.resident_bytes = use->resident_bytes,
						.spilled_bytes = use->disk_bytes};
}

/* Bytes and waits are sums over all ranks. */
static void take_account(struct results *results, struct reversal *reversal,
			 struct checkpointing_use *use)
{
	struct ranks *ranks = reversal->model->ranks;
	uint64_t *numbers[] = {&results->tape_bytes, &results->tapes_use.stalls,
			       &results->tapes_use.resident_bytes,
			       &results->tapes_use.spilled_bytes, &use->snapshot_bytes,
			       &use->tape_bytes, &use->resident_bytes, &use->disk_bytes,
			       &use->waits};

	take_account_here(results, reversal, use);
	for (size_t k = 0; ranks && k < sizeof(numbers) / sizeof(numbers[0]); k++)
		ranks->world->add_up(numbers[k], 1);
}

static void print_setting(const struct results *results)
{
	const struct options *options = results->options;
	const struct grid *grid = &results->basin->grid;
	struct rupture rupture = rupture_of(&options->earthquake);

	printf("Bathymetry      %s\n", results->bathymetry);
	printf("Grid            %d x %d cells of %g', %ld wet, %ld deepened to %g m\n",
	       grid->columns, grid->rows, options->resolution, results->basin->wet_cells,
	       results->basin->deepened_cells, options->min_depth);
	if (results->ranks > 1)
		printf("Ranks           %d, with %d rows of the grid each, or one more\n",
		       results->ranks, grid->rows / results->ranks);
	printf("Time            %d steps of %.2f s: %.2f h\n", results->model->steps,
	       results->model->time_step,
	       results->model->steps * results->model->time_step / 3600.0);
	printf("Earthquake      Mw %.1f: rupture %.0f x %.0f km, slip %.1f m, uplift up to "
	       "%.1f m, %.0f km^3 of water\n", options->earthquake.magnitude, rupture.length / 1e3,
	       rupture.width / 1e3, rupture.slip, rupture.uplift, results->volume / 1e9);
	printf("Gauge           %s, cell at %.2f,%.2f, %.0f m deep\n", results->gauge_name,
	       results->gauge_cell.latitude, results->gauge_cell.longitude,
	       results->controls->depth[grid_row(grid, results->model->gauge_row) +
					results->model->gauge_column]);
	fflush(stdout);
}

static void print_tapes(const struct results *results)
{
	const struct tapes_use *use = &results->tapes_use;

	if (results->checkpointing) {
		account_print(results->checkpointing, full_tape_bytes(results->model),
			      results->options->audit, results->digits);
		return;
	}
	printf("Tape            %.1f MB on %d thread%s", (double)results->tape_bytes / 1e6,
	       results->options->threads, results->options->threads == 1 ? "" : "s");
	if (results->ranks > 1)
		printf(" of each of %d ranks", results->ranks);
	if (use->spilled_bytes)
		printf(", at most %.1f MB of it in memory, %.1f MB spilled, %.2f s of waiting",
		       (double)use->resident_bytes / 1e6, (double)use->spilled_bytes / 1e6,
		       use->stall_seconds);
	puts("");
}

static void print_results(const struct results *results)
{
	double gradient_seconds = results->forward_seconds + results->reverse_seconds;

	if (isfinite(results->arrival_hours))
		printf("Arrival         %.2f h after the earthquake (%.0f %% of the largest "
		       "wave)\n", results->arrival_hours, 100.0 * ARRIVAL_PART);
	else
		printf("Arrival         none within the run\n");
	printf("Objective       J = %.6g m^2 s\n", results->objective);
	printf("Gradient        |dJ| = %.6g m s over %ld cells and two fields\n",
	       results->gradient_norm, results->basin->wet_cells);
	print_tapes(results);
	printf("Seconds         forward sweep %.2f, reverse sweep %.2f", results->forward_seconds,
	       results->reverse_seconds);
	if (isfinite(results->primal_seconds))
		printf(", primal %.2f: the gradient costs %.1f runs", results->primal_seconds,
		       gradient_seconds / results->primal_seconds);
	puts("");
}

/* The first gradient had to touch the memory of its tapes for the first time. */
static void print_warm_cost(const struct results *results)
{
	double forward = results->verification->forward_seconds;
	double reverse = results->verification->reverse_seconds;

	printf("Seconds, again  forward sweep %.2f, reverse sweep %.2f", forward, reverse);
	if (isfinite(results->primal_seconds))
		printf(": %.1f runs", (forward + reverse) / results->primal_seconds);
	puts(results->tapes_use.spilled_bytes ? ""
					      : "; the first one touched the tape's memory first");
}

static int report_verification(const struct results *results, const struct ranks *ranks)
{
	const struct verification *verification = results->verification;

	if (!results->options->quiet) {
		if (results->digits)
			digits_print_error(results->digits);
		verification_print(verification);
		print_warm_cost(results);
	}
	if (results->digits && !digits_hold(results->digits)) {
		if (is_first_rank(ranks))
			fprintf(stderr, "tsunami: --digits: the error %.2e is above the bound "
				"%.2e\n", results->digits->error, results->digits->bound);
		return EXIT_UNVERIFIED;
	}
	if (verification_passed(verification))
		return EXIT_WELL;
	if (is_first_rank(ranks))
		fprintf(stderr, "tsunami: the gradient failed verification: Taylor slope %.4f, "
			"dot-product error %.2e\n", verification->taylor_slope,
			verification->dot_product_error);
	return EXIT_UNVERIFIED;
}

static void use_threads(int threads)
{
	int obtained = request_threads(threads);

	if (obtained != threads)
		fail("--threads %d: %d can be had here; choose that", threads, obtained);
}

static void name_gauge(struct results *results, char *text, size_t size)
{
	const struct options *options = results->options;
	const struct model *model = results->model;

	snprintf(text, size, "%.2f,%.2f", options->gauge.latitude, options->gauge.longitude);
	results->gauge_name = options->gauge_name ? options->gauge_name : text;
	results->gauge_cell.latitude = grid_latitude(model->grid, model->gauge_row);
	results->gauge_cell.longitude =
		longitude_east_of(-180.0, grid_longitude(model->grid, model->gauge_column));
}

/* Compute, write, verify; returns the exit status. `here` is the rank's model. */
static int run(struct results *results, const struct model *here, struct controls *gradient)
{
	const struct options *options = results->options;
	struct reversal reversal = reversal_open(options, here);
	struct checkpointing_use use = {0};
	double *gauge = allocate((size_t)results->model->steps, sizeof(double));
	struct verification verification;
	struct digits digits;
	int status = EXIT_WELL;

	results->gauge = gauge;
	results->gradient = gradient;
	time_primal(results, &reversal, gauge);
	if (options->digits)
		compute_digits(results, &reversal, gauge, gradient, &digits);
	else
		compute_gradient(results, &reversal, gauge, gradient);
	take_account(results, &reversal, &use);
	if (!options->quiet)
		print_results(results);
	if (is_first_rank(here->ranks))
		output_write(results);
	if (!options->quiet) {
		printf("Written to      %s/\n", options->output);
		fflush(stdout);
	}
	if (options->verify) {
		if (options->digits)
			compare_digits(results, &reversal, gauge, gradient, &digits);
		verification = verify_gradient(results->model, results->controls, gauge, gradient,
					       options->threads, &reversal);
		results->verification = &verification;
		status = report_verification(results, here->ranks);
	}
	reversal_close(&reversal);
	if (is_first_rank(here->ranks))
		output_write_summary(results);
	results->verification = NULL;
	results->digits = NULL;
	results->checkpointing = NULL;
	free(gauge);
	return status;
}

/* Returns the model of this rank. */
static struct model share_out(struct ranks *ranks, struct options *options,
			      const struct model *whole)
{
	struct model here;

	if (ranks) {
		check_ranks(options);
		ranks->cut(ranks, whole->grid);
	}
	here = model_here(ranks, whole);
	if (!options->scheme.text && !options->on_gpu)
		choose_scheme(options, &here);
	return here;
}

int main(int count, char **arguments)
{
	struct ranks *ranks;
	struct options options;
	struct results results = {.options = &options};
	struct controls controls, gradient;
	struct basin basin;
	struct model model, here;
	char gauge_text[64];
	int status;

	report_as("tsunami");
	ranks = ranks_begin(&count, &arguments);
	options = options_read(count, arguments);
	if (!options.quiet && is_first_rank(ranks))
		progress_enable();
	use_threads(options.threads);
	if (is_first_rank(ranks))
		output_check_directory(options.output);
	basin = make_basin(&options, &results.bathymetry);
	model = make_model(&options, &basin);
	here = share_out(ranks, &options, &model);
	results.ranks = ranks ? ranks->number : 1;
	controls = (struct controls){grid_field(&basin.grid), basin.depth};
	gradient = (struct controls){grid_field(&basin.grid), grid_field(&basin.grid)};
	results.basin = &basin;
	results.model = &model;
	results.controls = &controls;
	results.volume = make_source(&options, &basin, controls.displacement);
	name_gauge(&results, gauge_text, sizeof(gauge_text));
	if (!options.quiet)
		print_setting(&results);
	status = run(&results, &here, &gradient);
	free(controls.displacement);
	free(gradient.displacement);
	free(gradient.depth);
	basin_destroy(&basin);
	return status;
}
