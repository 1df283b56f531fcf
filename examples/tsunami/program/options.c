/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gradient/gpu.h"
#include "gradient/look-ahead.h"
#include "common/digits.h"
#include "common/numbers.h"
#include "common/parallel.h"
#include "common/report.h"

#define MAX_THREADS 1024
#define HIGHEST_LATITUDE 85.0

static const struct region pacific = {115.0, 290.0, -60.0, 62.0};
static const struct region idealised_region = {160.0, 220.0, -5.0, 35.0};

static const struct named_place {
	const char *name;
	struct place place;
} gauges[] = {
	{"Hilo", {19.73, -155.06}},         {"Honolulu", {21.31, -157.87}},
	{"Midway", {28.21, -177.36}},       {"Wake", {19.29, 166.62}},
	{"Guam", {13.44, 144.65}},          {"Adak", {51.86, -176.63}},
	{"Sand Point", {55.33, -160.50}},   {"Crescent City", {41.75, -124.18}},
	{"Monterey", {36.60, -121.89}},     {"Acapulco", {16.84, -99.90}},
	{"Galapagos", {-0.75, -90.31}},     {"Callao", {-12.07, -77.17}},
	{"Valparaiso", {-33.03, -71.63}},   {"Easter Island", {-27.15, -109.45}},
	{"Papeete", {-17.53, -149.57}},     {"Pago Pago", {-14.28, -170.69}},
};

static void print_help(void)
{
	puts("Usage: tsunami [OPTION]...\n"
	     "How does the wave at a tide gauge depend on the initial displacement of the sea\n"
	     "surface, and on the depth, everywhere? The adjoint of a tsunami answers in one\n"
	     "sweep.\n"
	     "\n"
	     "  --grid FILE            relief in NetCDF: ROSE(latitude, longitude) in metres\n"
	     "                         (default: a file of the package ferret-datasets)\n"
	     "  --basin idealised      an analytic ocean with an island, which needs no data\n"
	     "  --region W,E,S,N       degrees (default 115,-70,-60,62: the Pacific)\n"
	     "  --resolution MINUTES   width of a cell (default 30)\n"
	     "  --hours H              simulated time (default 10)\n"
	     "  --steps N              number of time steps instead\n"
	     "  --time-step SECONDS    (default: 0.8 of the longest stable one)\n"
	     "  --epicentre LAT,LON    (default 38.3,142.4: Tohoku 2011)\n"
	     "  --magnitude MW         moment magnitude (default 9.1)\n"
	     "  --strike DEGREES       of the fault, clockwise from north (default 200)\n"
	     "  --gauge LAT,LON|NAME   (default Hilo; --gauge help lists the names)\n"
	     "  --min-depth M          shallower water is deepened to this (default 50)\n"
	     "  --device cpu|cuda      what runs the steps: threads (default), or a GPU\n"
	     "  --threads N            (default: as OpenMP does)\n"
	     "  --reverse-threads N    of the reverse sweep (default: as many)\n"
	     "  --budget BYTES         memory for the tapes: 512M, 4G (default: no bound; on a\n"
	     "                         GPU of its memory, three quarters of what is free there)\n"
	     "  --spill DIR            a directory on a disk for what is above the budget\n"
	     "  --checkpoint PLANNER   keep some states and run steps again, as planned by one of\n"
	     "                         those below (default: all steps on tape, or auto if they\n"
	     "                         do not fit and there is no --spill)\n"
	     "  --segment N            steps that are recorded on one tape (default: what fits;\n"
	     "                         of auto 1)\n"
	     "  --audit                with --checkpoint: compare states that are reached again\n"
	     "  --tolerance T          with --checkpoint: round stored states to T times their\n"
	     "                         largest value, in fewer bytes\n"
	     "  --digits N             with --checkpoint: find the tolerance for N digits of the\n"
	     "                         gradient, and bound its error\n"
	     "  --look-ahead           with --checkpoint: each thread records segments of its\n"
	     "                         own, ahead of the one that is reversed\n"
	     "  --restart FILE         with --checkpoint: begin where the run that wrote it was,\n"
	     "                         and write it again every ten minutes, and when asked to\n"
	     "                         end\n"
	     "  --output DIR           (default tsunami-out)\n"
	     "  --verify               test the gradient: Taylor remainders and dot products\n"
	     "  --quiet                no report, no progress bar\n"
	     "  --help\n"
	     "\n"
	     "Planners of --checkpoint (SLOTS: states in memory, STORE_SLOTS: on the disk):");
	scheme_print_help();
	puts("\n"
	     "Writes to DIR: sensitivity.png, sensitivity-depth.png, gauge.png, gradient.nc,\n"
	     "summary.json. Exit status: 0, 1 if --verify fails, 2 if the input is unusable,\n"
	     "75 if the run was asked to end (REEL_END_SIGNAL=TERM, REEL_END_AFTER=SECONDS) and\n"
	     "is in the file of --restart.");
}

static struct region read_region(const char *text)
{
	double edge[4];
	struct region region;

	if (!read_numbers(text, 4, edge) || fabs(edge[0]) > 360.0 || fabs(edge[1]) > 360.0)
		fail("--region %s: give west,east,south,north in degrees, as 115,-70,-60,62", text);
	if (!(edge[2] < edge[3]) || edge[2] < -HIGHEST_LATITUDE || edge[3] > HIGHEST_LATITUDE)
		fail("--region %s: south must be below north, both within %g degrees of the "
		     "equator", text, HIGHEST_LATITUDE);
	region = (struct region){edge[0], edge[1], edge[2], edge[3]};
	if (region.east > region.west + 360.0)
		fail("--region %s: from west to east it is more than 360 degrees", text);
	if (region.east <= region.west)
		region.east = longitude_east_of(region.west, region.east);
	if (region.east == region.west)
		fail("--region %s: west and east are the same meridian", text);
	return region;
}

static struct place read_place(const char *option, const char *text)
{
	double number[2];

	if (!read_numbers(text, 2, number) || fabs(number[0]) > 90.0 || fabs(number[1]) > 360.0)
		fail("--%s %s: give latitude,longitude in degrees, as 38.3,142.4", option, text);
	return (struct place){number[0], number[1]};
}

static void read_gauge(const char *text, struct options *options)
{
	size_t count = sizeof(gauges) / sizeof(gauges[0]);

	if (strcmp(text, "help") == 0) {
		for (size_t k = 0; k < count; k++)
			printf("%-14s %7.2f,%.2f\n", gauges[k].name, gauges[k].place.latitude,
			       gauges[k].place.longitude);
		exit(EXIT_WELL);
	}
	for (size_t k = 0; k < count; k++)
		if (strcasecmp(text, gauges[k].name) == 0) {
			options->gauge = gauges[k].place;
			options->gauge_name = gauges[k].name;
			return;
		}
	if (isalpha((unsigned char)*text))
		fail("--gauge %s: no such name; --gauge help lists them, or give "
		     "latitude,longitude", text);
	options->gauge = read_place("gauge", text);
	options->gauge_name = NULL;
}

enum option_code {
	OPTION_GRID = 256, OPTION_BASIN, OPTION_REGION, OPTION_RESOLUTION, OPTION_HOURS,
	OPTION_STEPS, OPTION_TIME_STEP, OPTION_EPICENTRE, OPTION_MAGNITUDE, OPTION_STRIKE,
	OPTION_GAUGE, OPTION_MIN_DEPTH, OPTION_DEVICE, OPTION_THREADS, OPTION_REVERSE_THREADS,
	OPTION_BUDGET, OPTION_SPILL,
	OPTION_CHECKPOINT, OPTION_SEGMENT, OPTION_AUDIT, OPTION_TOLERANCE, OPTION_DIGITS,
	OPTION_LOOK_AHEAD, OPTION_RESTART, OPTION_OUTPUT, OPTION_VERIFY, OPTION_QUIET, OPTION_HELP
};

static const struct option long_options[] = {
	{"grid", required_argument, NULL, OPTION_GRID},
	{"basin", required_argument, NULL, OPTION_BASIN},
	{"region", required_argument, NULL, OPTION_REGION},
	{"resolution", required_argument, NULL, OPTION_RESOLUTION},
	{"hours", required_argument, NULL, OPTION_HOURS},
	{"steps", required_argument, NULL, OPTION_STEPS},
	{"time-step", required_argument, NULL, OPTION_TIME_STEP},
	{"epicentre", required_argument, NULL, OPTION_EPICENTRE},
	{"magnitude", required_argument, NULL, OPTION_MAGNITUDE},
	{"strike", required_argument, NULL, OPTION_STRIKE},
	{"gauge", required_argument, NULL, OPTION_GAUGE},
	{"min-depth", required_argument, NULL, OPTION_MIN_DEPTH},
	{"device", required_argument, NULL, OPTION_DEVICE},
	{"threads", required_argument, NULL, OPTION_THREADS},
	{"reverse-threads", required_argument, NULL, OPTION_REVERSE_THREADS},
	{"budget", required_argument, NULL, OPTION_BUDGET},
	{"spill", required_argument, NULL, OPTION_SPILL},
	{"checkpoint", required_argument, NULL, OPTION_CHECKPOINT},
	{"segment", required_argument, NULL, OPTION_SEGMENT},
	{"audit", no_argument, NULL, OPTION_AUDIT},
	{"tolerance", required_argument, NULL, OPTION_TOLERANCE},
	{"digits", required_argument, NULL, OPTION_DIGITS},
	{"look-ahead", no_argument, NULL, OPTION_LOOK_AHEAD},
	{"restart", required_argument, NULL, OPTION_RESTART},
	{"output", required_argument, NULL, OPTION_OUTPUT},
	{"verify", no_argument, NULL, OPTION_VERIFY},
	{"quiet", no_argument, NULL, OPTION_QUIET},
	{"help", no_argument, NULL, OPTION_HELP},
	{NULL, 0, NULL, 0},
};

/* Options whose defaults depend on others, and whether they were given. */
struct given {
	int region, epicentre, gauge, hours;
};

static void read_basin(const char *text, struct options *options)
{
	if (strcmp(text, "idealised") != 0)
		fail("--basin %s: the only one is idealised", text);
	options->idealised = 1;
}

static int read_device(const char *text)
{
	if (strcmp(text, "cpu") != 0 && strcmp(text, "cuda") != 0)
		fail("--device %s: give cpu or cuda", text);
	return strcmp(text, "cuda") == 0;
}

static void read_option(int code, const char *text, struct options *options, struct given *given)
{
	switch (code) {
	case OPTION_GRID: options->grid_file = text; break;
	case OPTION_BASIN: read_basin(text, options); break;
	case OPTION_REGION:
		options->region = read_region(text);
		given->region = 1;
		break;
	case OPTION_RESOLUTION:
		options->resolution = read_number("resolution", text, 0.5, 600.0);
		break;
	case OPTION_HOURS:
		options->hours = read_number("hours", text, 0.01, 1000.0);
		given->hours = 1;
		break;
	case OPTION_STEPS: options->steps = read_integer("steps", text, 1, MAX_STEPS); break;
	case OPTION_TIME_STEP:
		options->time_step = read_number("time-step", text, 1e-3, 1e4);
		break;
	case OPTION_EPICENTRE:
		options->earthquake.epicentre = read_place("epicentre", text);
		given->epicentre = 1;
		break;
	case OPTION_MAGNITUDE:
		options->earthquake.magnitude = read_number("magnitude", text, 5.0, 10.0);
		break;
	case OPTION_STRIKE:
		options->earthquake.strike = read_number("strike", text, -360.0, 360.0);
		break;
	case OPTION_GAUGE:
		read_gauge(text, options);
		given->gauge = 1;
		break;
	case OPTION_MIN_DEPTH:
		options->min_depth = read_number("min-depth", text, 0.1, 5000.0);
		break;
	case OPTION_DEVICE: options->on_gpu = read_device(text); break;
	case OPTION_THREADS:
		options->threads = read_integer("threads", text, 1, MAX_THREADS);
		break;
	case OPTION_REVERSE_THREADS:
		options->reverse_threads = read_integer("reverse-threads", text, 1, MAX_THREADS);
		break;
	case OPTION_BUDGET: options->budget = read_bytes("budget", text); break;
	case OPTION_SPILL: options->spill = text; break;
	case OPTION_CHECKPOINT: options->scheme = scheme_read(text); break;
	case OPTION_SEGMENT:
		options->segment = read_integer("segment", text, 1, MAX_STEPS);
		break;
	case OPTION_AUDIT: options->audit = 1; break;
	case OPTION_TOLERANCE:
		options->tolerance = read_number("tolerance", text, 1e-15, 0.5);
		break;
	case OPTION_DIGITS: options->digits = read_integer("digits", text, 1, MAX_DIGITS); break;
	case OPTION_LOOK_AHEAD: options->look_ahead = 1; break;
	case OPTION_RESTART: options->restart = text; break;
	case OPTION_OUTPUT: options->output = text; break;
	case OPTION_VERIFY: options->verify = 1; break;
	case OPTION_QUIET: options->quiet = 1; break;
	case OPTION_HELP:
		print_help();
		exit(EXIT_WELL);
	}
}

static void set_idealised_defaults(struct options *options, const struct given *given)
{
	if (!given->region)
		options->region = idealised_region;
	if (!given->epicentre)
		options->earthquake.epicentre = idealised_source(options->region);
	if (!given->gauge) {
		options->gauge = idealised_gauge(options->region);
		options->gauge_name = "Island";
	}
}

static _Noreturn void refuse_option(const char *argument)
{
	if (optopt > 0 && optopt < OPTION_GRID)
		fail("-%c: no such option; --help lists them", optopt);
	fail("%s: no such option, or not with a value, or ambiguous; --help lists them", argument);
}

static void check_checkpointing(const struct options *options)
{
	if (!options->scheme.text && (options->segment || options->audit))
		fail("--segment and --audit are for checkpointing: give --checkpoint, too");
	if (options->tolerance > 0 && (!options->scheme.text || options->on_gpu))
		fail("--tolerance is for checkpointing by threads: give --checkpoint, too");
	if (options->tolerance > 0 && options->audit)
		fail("--tolerance: states that are reached again differ from the first ones, which "
		     "--audit compares: leave one of them out");
	if (options->reverse_threads && options->scheme.text)
		fail("--reverse-threads is for all steps on tape: leave it out, or --checkpoint");
	if (options->look_ahead && !options->scheme.text)
		fail("--look-ahead is for checkpointing: give --checkpoint, too");
	if (options->look_ahead && options->audit)
		fail("--look-ahead runs steps side by side, --audit compares them one after the "
		     "other: leave one of them out");
	if (options->look_ahead && options->scheme.planner == REEL_AUTO)
		fail("--look-ahead: --checkpoint auto fills the memory with one tape and leaves "
		     "no room for tapes recorded ahead; name another planner");
	if (options->look_ahead && !look_ahead_is_there())
		fail("--look-ahead: this program was built without OpenMP; leave it out");
}

static void check_digits(const struct options *options)
{
	if (!options->digits)
		return;
	if (!options->scheme.text || options->on_gpu)
		fail("--digits is for checkpointing by threads: give --checkpoint, too");
	if (options->tolerance > 0)
		fail("--digits finds the tolerance: leave --tolerance out");
	if (options->audit)
		fail("--digits: states that are reached again differ from the first ones, which "
		     "--audit compares: leave one of them out");
	if (options->restart)
		fail("--digits is several gradients, and a file of --restart is of one; leave one "
		     "of them out");
}

/* Ends the program for a run that a restart file cannot continue. */
static void check_restart(const struct options *options)
{
	const struct scheme *scheme = &options->scheme;

	if (!options->restart)
		return;
	if (!scheme->text)
		fail("--restart is for checkpointing: give --checkpoint, too");
	if (scheme->planner == REEL_STORE_ALL || scheme->planner == REEL_MIXED)
		fail("--restart: --checkpoint %s holds tapes, which no file has; choose a planner "
		     "that holds states alone, as binomial", scheme->text);
	if (options->look_ahead)
		fail("--restart: what --look-ahead has recorded ahead is in no file; leave one of "
		     "them out");
	if (options->on_gpu)
		fail("--restart: with --device cuda the adjoint is on the device, and in no file; "
		     "leave one of them out");
	if (options->verify)
		fail("--restart: --verify is several runs, and a file is of one; leave one of "
		     "them out");
}

/* Ends the program for options without meaning on a GPU, or if the build has no GPU. */
static void check_gpu(const struct options *options)
{
	if (!options->on_gpu)
		return;
	if (options->reverse_threads)
		fail("--reverse-threads: with --device cuda no thread reverses steps; leave it "
		     "out");
	if (options->look_ahead)
		fail("--look-ahead: with --device cuda all its threads share out each step; leave "
		     "it out");
	if (options->scheme.planner == REEL_AUTO)
		fail("--checkpoint auto: it weighs tapes against states in one memory, and with "
		     "--device cuda they are in two; name a planner");
	if (options->scheme.text && options->scheme.planner == REEL_MIXED)
		fail("--checkpoint %s: with --device cuda tapes are not where states are and "
		     "cannot take their place; choose binomial", options->scheme.text);
	if (!gpu_built_in())
		fail("--device cuda: this program was built without CUDA; configure "
		     "--with-cuda=yes on a machine with nvcc, or leave it out");
}

struct options options_read(int count, char **arguments)
{
	struct options options = {
		.region = pacific,
		.resolution = 30.0,
		.hours = 10.0,
		.earthquake = {{38.3, 142.4}, 9.1, 200.0},
		.gauge = gauges[0].place,
		.gauge_name = gauges[0].name,
		.min_depth = 50.0,
		.threads = default_threads(),
		.output = "tsunami-out",
	};
	struct given given = {0};
	int code;

	opterr = 0;
	while ((code = getopt_long(count, arguments, ":", long_options, NULL)) != -1) {
		if (code == ':')
			fail("%s: its value is missing; --help says which", arguments[optind - 1]);
		if (code == '?')
			refuse_option(arguments[optind - 1]);
		read_option(code, optarg, &options, &given);
	}
	if (optind < count)
		fail("%s: not an option; --help lists them", arguments[optind]);
	if (options.idealised && options.grid_file)
		fail("--grid and --basin idealised exclude each other");
	if (options.steps && given.hours && options.time_step > 0.0)
		fail("--hours, --steps and --time-step: give two of them at most");
	if (options.steps && !given.hours)
		options.hours = 0.0;
	check_restart(&options);
	check_checkpointing(&options);
	check_digits(&options);
	check_gpu(&options);
	if (!*options.output)
		fail("--output: give the name of a directory");
	if (options.idealised)
		set_idealised_defaults(&options, &given);
	return options;
}
