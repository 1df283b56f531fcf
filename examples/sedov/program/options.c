/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/digits.h"
#include "common/numbers.h"
#include "common/parallel.h"
#include "common/report.h"
#include "gradient/look-ahead.h"

#define MAX_THREADS 1024

static const char *const objective_names[] = {
	[ORIGIN] = "origin", [KINETIC] = "kinetic", [SENSOR] = "sensor",
};

static const struct option long_options[] = {
	{"size", required_argument, NULL, 's'},
	{"threads", required_argument, NULL, 't'},
	{"objective", required_argument, NULL, 'j'},
	{"sensor", required_argument, NULL, 'e'},
	{"frozen", no_argument, NULL, 'f'},
	{"checkpoint", required_argument, NULL, 'c'},
	{"tolerance", required_argument, NULL, 'l'},
	{"digits", required_argument, NULL, 'd'},
	{"look-ahead", no_argument, NULL, 'a'},
	{"budget", required_argument, NULL, 'b'},
	{"spill", required_argument, NULL, 'p'},
	{"restart", required_argument, NULL, 'r'},
	{"output", required_argument, NULL, 'o'},
	{"verify", no_argument, NULL, 'v'},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void print_help(void)
{
	puts("Usage: sedov [OPTION]...\n"
	     "How does the Sedov blast depend on its initial energy, mesh and coefficients?\n\n"
	     "  --size N          elements along an edge of the cube (20)\n"
	     "  --threads N       (as OpenMP says)\n"
	     "  --objective NAME  origin: energy of element 0 at the end; kinetic: energy of all\n"
	     "                    nodes; sensor: time integral of an element's pressure (origin)\n"
	     "  --sensor E        the number of that element (the middle of the first edge)\n"
	     "  --frozen          derivatives take the time steps as given\n"
	     "  --checkpoint PLANNER  instead of the tapes of all steps; auto is taken without it\n"
	     "                    if they exceed the budget and there is no --spill:");
	scheme_print_help();
	puts("  --tolerance T     with --checkpoint: round stored states to T times their largest\n"
	     "                    value, in fewer bytes\n"
	     "  --digits N        with --checkpoint: find the tolerance for N digits of the\n"
	     "                    gradient, and bound its error\n"
	     "  --look-ahead      with --checkpoint: each thread records segments of its own\n"
	     "  --budget BYTES    of tapes and states in memory, as 256M\n"
	     "  --spill DIR       a directory for what exceeds it\n"
	     "  --restart FILE    with --checkpoint: go on from it, and write it when asked to\n"
	     "  --output DIR      pictures, the gradient and summary.json (sedov-out)\n"
	     "  --verify          compare with the objective along a line\n"
	     "  --quiet           no summary and no progress bar\n\n"
	     "Exit status: 0, 1 if --verify fails, 2 if the input is unusable.");
}

const char *objective_name(enum objective objective)
{
	return objective_names[objective];
}

static enum objective read_objective(const char *text)
{
	for (int i = ORIGIN; i <= SENSOR; i++)
		if (strcmp(text, objective_names[i]) == 0)
			return (enum objective)i;
	fail("--objective %s: give origin, kinetic or sensor", text);
}

static void read_option(int code, const char *text, struct options *options)
{
	switch (code) {
	case 's': options->size = read_integer("size", text, 1, MAX_SIZE); break;
	case 't': options->threads = read_integer("threads", text, 1, MAX_THREADS); break;
	case 'j': options->objective = read_objective(text); break;
	case 'e': options->sensor = read_integer("sensor", text, 0, 1 << 28); break;
	case 'f': options->freezes_time_step = 1; break;
	case 'c': options->scheme = scheme_read(text); break;
	case 'l': options->tolerance = read_number("tolerance", text, 1e-15, 0.5); break;
	case 'd': options->digits = read_integer("digits", text, 1, MAX_DIGITS); break;
	case 'a': options->looks_ahead = 1; break;
	case 'b': options->budget = read_bytes("budget", text); break;
	case 'p': options->spill = text; break;
	case 'r': options->restart = text; break;
	case 'o': options->output = text; break;
	case 'v': options->verify = 1; break;
	case 'q': options->quiet = 1; break;
	default:
		print_help();
		exit(EXIT_WELL);
	}
}

static void check_rounding(const struct options *options)
{
	if ((options->tolerance > 0 || options->digits) && !options->scheme.text)
		fail("--tolerance and --digits are of stored states: give --checkpoint, too");
	if (options->tolerance > 0 && options->digits)
		fail("--digits finds the tolerance: leave --tolerance out");
	if (options->digits && options->restart)
		fail("--digits is several gradients, and a file of --restart is of one; leave one "
		     "of them out");
}

static void check_options(const struct options *options)
{
	const struct scheme *scheme = &options->scheme;
	int learns = scheme->text && scheme->planner == REEL_AUTO;
	int disk = learns || (scheme->text && scheme->has_disk);

	if (options->spill && !disk && !options->budget)
		fail("--spill %s: nothing goes there without a --budget", options->spill);
	if (options->restart && !options->scheme.text)
		fail("--restart %s: only a run with --checkpoint can be gone on with",
		     options->restart);
	if (options->looks_ahead && learns)
		fail("--look-ahead: --checkpoint auto fills the memory with one tape and leaves "
		     "no room for tapes recorded ahead; name another planner");
	if (options->looks_ahead && (!scheme->text || options->restart))
		fail("--look-ahead: it goes with --checkpoint, and not with --restart, whose file "
		     "would lack what is recorded ahead");
	if (options->looks_ahead && !look_ahead_is_there())
		fail("--look-ahead: this program was built without OpenMP; leave it out");
	if (options->sensor >= options->size * options->size * options->size)
		fail("--sensor %d: there are elements 0 to %d", options->sensor,
		     options->size * options->size * options->size - 1);
}

struct options options_read(int count, char **arguments)
{
	struct options options = {.size = 20, .threads = default_threads(), .sensor = -1,
				  .output = "sedov-out"};
	int code;

	opterr = 0;
	while ((code = getopt_long(count, arguments, ":", long_options, NULL)) != -1) {
		if (code == ':')
			fail("%s: its value is missing; --help says which", arguments[optind - 1]);
		if (code == '?')
			fail("%s: no such option; --help lists them", arguments[optind - 1]);
		read_option(code, optarg, &options);
	}
	if (optind < count)
		fail("%s: not an option; --help lists them", arguments[optind]);
	if (options.sensor < 0)
		options.sensor = options.size / 2;
	check_options(&options);
	check_rounding(&options);
	return options;
}
